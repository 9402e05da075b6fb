"""Session: a running program, as its user calls it.

Rows go in with their times, `advance_to` declares that no earlier ones will follow and does the work, results come out
with the times at which they hold. A session checks and buffers its input; the runtime gets rows only when there is work
to do with them, so that a step that is refused leaves both as they were.

Several threads may call one session: calls run one at a time, in order, and subscribers are called between them.

Rule: a call either happens or raises and changes nothing. What is complete was shown once, and is never taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

from ebbflow.errors import NoKey
from ebbflow.frontend.aliases import FOREIGN_SESSION, unknown_method
from ebbflow.frontend.extensions import extension
from ebbflow.frontend.lines import Lines
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running import deliveries, explaining, forked, on_spark, results, stepping, subscribers
from ebbflow.frontend.running.input_buffer import InputBuffer
from ebbflow.frontend.running.notation import told
from ebbflow.frontend.running.opening import Program, opened
from ebbflow.frontend.running.row_forms import is_iterator
from ebbflow.frontend.running.table import Table
from ebbflow.frontend.running.tables import Tables
from ebbflow.runtime.contract import Runtime
from ebbflow.times.frontier import Time


class Session:  # long: every call of a running program, each with its example
    """A running program; `flow.run()` makes it, `with` closes it.

    Rows may be a list of tuples or of dicts, a dict of arrays, or anything Arrow: pyarrow, pandas, Polars, DuckDB.
    A time is a whole number, or a tuple where the program has several coordinates; without one, the input's open time.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("copy", flow.input("edges", "src long, dst long"))
    >>> with flow.run() as live:
    ...     live.insert("edges", [(1, 2), (2, 3)], time=0)
    ...     live.delete("edges", [(2, 3)], time=7)
    ...     live.advance_to(8)
    ...     print(live.changes("copy"))
    ┌─────┬─────┬───────┬───────┐
    │ src │ dst │ _time │ _diff │
    ├─────┼─────┼───────┼───────┤
    │   1 │   2 │     0 │    +1 │
    │   2 │   3 │     0 │    +1 │
    │   2 │   3 │     7 │    -1 │
    └─────┴─────┴───────┴───────┘
    """

    def __init__(
        self,
        flow: Program,
        workers: int = 1,
        checkpoint: object = None,
        history: int | str | None = None,
        runtime: Callable[..., Runtime] | None = None,
        timezone: str | None = None,
        **options: Any,
    ):
        """timezone: of Spark's session, if the program runs there; otherwise it is that of the program."""
        self._at = opened(flow, workers, checkpoint, history, runtime, timezone, options)
        self._runtime, self._inputs, self._outputs = self._at.runtime, self._at.inputs, self._at.outputs
        forked.note(self)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(self._at, forked.Forked):
            return  # the session is the parent's
        if kind is not None:
            self._release()
            return
        try:
            if self._at.persistence is None:
                self.close()
            else:
                self._at.turns.take("close", stepping.leave, self._at, self._at.persistence)
                subscribers.tell_all(self._at)
        except BaseException:
            turns = self._at.turns
            if not turns.is_taken and not turns.line:  # else this one has waited, and waits no longer
                self._release()
            raise

    def _release(self) -> None:
        """Give everything back that the runtime holds, when nobody is in the middle of something."""
        self._at.turns.take("close", stepping.release, self._at)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{plain(given.name)} {told(given.frontier)}" for given in self._inputs.values())
        outputs = ", ".join(f"{plain(shown.name)} {told(shown.frontier)}" for shown in self._outputs.values())
        return f"Session(inputs: {inputs or 'none'}; outputs: {outputs or 'none'})"

    # ---- rows in -----------------------------------------------------------------------------

    def insert(self, name: str, rows: Any, time: Any = None) -> None:
        """Add rows at a time.  For an input with a key: the rows of their keys, from that time on.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> live.insert("edges", [(1, 2), (2, 3)], time=0)
        >>> live.insert("edges", {"src": [5, 6], "dst": [7, 8]}, time=4)
        >>> live.advance_to(5)
        >>> live.changes("copy").rows()
        [(1, 2, 0, 1), (2, 3, 0, 1), (5, 7, 4, 1), (6, 8, 4, 1)]
        """
        self._edit("insert", name, rows, time, 1)

    def delete(self, name: str, rows: Any, time: Any = None) -> None:
        """Take rows away at a time.  For an input with a key, rows or only their keys.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> live.insert("edges", [(1, 2)], time=0)
        >>> live.delete("edges", [(1, 2)], time=3)
        >>> live.advance_to(4)
        >>> live.changes("copy").rows()
        [(1, 2, 0, 1), (1, 2, 3, -1)]
        """
        self._edit("delete", name, rows, time, -1)

    def upsert(self, name: str, rows: Any, time: Any = None) -> None:
        """Give the rows of their keys from a time on, in place of those that were there.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("accounts", "id long, balance long", key="id"))
        >>> live = flow.run()
        >>> live.upsert("accounts", [(1, 100), (2, 50)], time=0)
        >>> live.upsert("accounts", [(1, 80)], time=3)
        >>> live.advance_to(4)
        >>> live.snapshot("copy", at=2).rows(), live.snapshot("copy").rows()
        ([(1, 100, 1), (2, 50, 1)], [(1, 80, 1), (2, 50, 1)])
        """
        self._edit("upsert", name, rows, time, 1)

    def apply(self, name: str, table: Any, time: Any = None, diff: Any = None) -> None:
        """Add changes in bulk.

        `time` and `diff` are the name of a column of the table, an array with one number a row, or one number for all.
        With several coordinates `time` is one time as a tuple, or a tuple with such a name, array or number for each.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> live.apply("edges", {"src": [1, 1], "dst": [2, 2], "ts": [0, 6], "d": [3, -1]}, time="ts", diff="d")
        >>> live.advance_to(9)
        >>> live.changes("copy").rows()
        [(1, 2, 0, 3), (1, 2, 6, -1)]
        """
        self._edit("apply", name, table, time, 1 if diff is None else diff)

    def _edit(self, verb: str, name: str, rows: Any, time: Any, diff: Any) -> None:
        here = self._at
        turns = here.turns
        if type(rows) is not list and name in here.inputs and is_iterator(rows):
            rows = list(rows)  # before its turn: whoever makes them may call this session
        if turns.is_taken or turns.line:
            turns.serve(verb, self._take_in, verb, name, rows, time, diff)
            return
        with turns.lock:
            try:
                turns.is_taken = True
                given = here.inputs.get(name) if type(name) is str else None
                if given is None or not given.frontier or here.is_closed or here.stages or verb == "upsert":
                    self._take_in(verb, name, rows, time, diff)
                else:
                    given.edit(verb, rows, time, diff)
            finally:
                turns.is_taken = False

    def _take_in(self, verb: str, name: str, rows: Any, time: Any, diff: Any) -> None:
        here = self._at
        given = here.inputs.get(name) if type(name) is str else None
        if given is None or not given.frontier or here.is_closed:
            given = here.input_named(verb, name)  # which says why not
        if verb == "upsert" and not given.key:
            raise NoKey(
                f'upsert replaces rows by key, and the input "{plain(name)}" has no key.',
                hint=f'Declare it as flow.input("{plain(name)}", ..., key="..."), or use insert and delete.',
            )
        if here.stages and on_spark.is_frame(rows):
            on_spark.give(here, given, verb, rows, time, diff)
        else:
            given.edit(verb, rows, time, diff)

    def _given(self, verb: str, name: str) -> InputBuffer:
        return self._at.input_named(verb, name)

    def deliver(
        self,
        frames: Mapping[str, Any],
        query_id: str,
        batch_id: int,
        frontiers: Any = None,
        most: int | None = None,
    ) -> Any:
        """Take in a micro-batch of a stream, whole and once, on Spark: {input: DataFrame}.  After it, it is durable.

        The batch that was taken in last is recognised by its query, number and rows, and answered without being taken
        in again; any other than the next one is refused.  `flow.stream` calls it for each micro-batch.  Who has counted
        says with `most` that there are no more rows than this: few are taken in faster.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> flow.run().deliver({}, query_id="6f1c", batch_id=0)
        Traceback (most recent call last):
        ebbflow.errors.TypeMismatch: deliver belongs to a program that runs on Spark.
        ...
        """
        taken = self._at.turns.take(
            "deliver", deliveries.deliver, self._at, frames, query_id, batch_id, frontiers, most
        )
        subscribers.tell_all(self._at)
        return taken

    # ---- time goes on ------------------------------------------------------------------------

    def advance_to(self, time: Any = None, /, **inputs: Any) -> None:
        """Say that no input comes before a time, and do the work this allows.

        One time for all the inputs, or for some by name; a list of times is an antichain: what is not at or after
        one of them is complete.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> live.advance_to(8)
        >>> live.advance_to(edges=9)
        >>> live.frontier("copy")
        [(9,)]
        """
        here = self._at
        turns = here.turns
        if turns.is_taken or turns.line:
            turns.serve("advance_to", stepping.advance_to, here, time, inputs)
        else:
            with turns.lock:
                try:
                    turns.is_taken = True
                    if (
                        type(time) is not int
                        or inputs
                        or here.advance_moment is None
                        or not stepping.take_moment(here, time)
                    ):
                        stepping.advance_to(here, time, inputs)
                finally:
                    turns.is_taken = False
        if here.notices:
            subscribers.tell_all(self._at)

    def commit(self) -> dict[str, Table]:
        """Close the current time, open the next, and give what changed in every output that keeps its changes.

        With several coordinates it is the last one that goes on.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> live.insert("edges", [(1, 2)])
        >>> live.commit()["copy"].rows()
        [(1, 2, 0, 1)]
        >>> live.delete("edges", [(1, 2)])
        >>> live.commit()["copy"].rows()
        [(1, 2, 1, -1)]
        """
        turns = self._at.turns
        tables = turns.take("commit", stepping.commit, self._at)
        if tables is None:  # subscribers hear of it first
            subscribers.tell_all(self._at)
            tables = turns.take("commit", results.read_all, self._at)
        return tables

    def close(self) -> None:
        """Say that no more input comes, ever, and do what is left to do.  Results stay readable.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> live.insert("edges", [(1, 2)], time=1000)
        >>> live.close()
        >>> live.frontier("copy"), live.changes("copy").rows()
        ([], [(1, 2, 1000, 1)])
        """
        self._at.turns.take("close", stepping.close, self._at)
        subscribers.tell_all(self._at)

    def discard(self) -> None:
        """Drop the rows given since the last step that succeeded.  If one was refused, drop all that it was to take.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> live.insert("edges", [(1, 2)])
        >>> live.discard()
        >>> live.commit()["copy"].rows()
        []
        """
        self._at.turns.take("discard", stepping.discard, self._at)

    # ---- results out -------------------------------------------------------------------------

    @overload
    def changes(self, name: str, as_spark: Literal[False] = False, since: Any = None) -> Table: ...

    @overload
    def changes(self, name: str, as_spark: bool, since: Any = None) -> Any: ...

    def changes(self, name: str, as_spark: bool = False, since: Any = None) -> Any:
        """What became complete since the last call: the columns, `_time` and `_diff`.  On Spark, if asked, a DataFrame.

        After a crash, what was read since the last step is given once more.  A reader who must see each change once
        keeps `live.frontier(name)` beside what it made of them, and says `since=` that frontier when it reads again.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> live.insert("edges", [(1, 2)], time=3)
        >>> live.advance_to(3)
        >>> live.changes("copy").rows()
        []
        >>> live.advance_to(4)
        >>> live.changes("copy").rows()
        [(1, 2, 3, 1)]
        """
        turns = self._at.turns
        if turns.is_taken or turns.line:
            return turns.serve("changes", results.changes, self._at, name, as_spark, since)
        with turns.lock:
            try:
                turns.is_taken = True
                return results.changes(self._at, name, as_spark, since)
            finally:
                turns.is_taken = False

    @overload
    def snapshot(self, name: str, at: Any = None, as_spark: Literal[False] = False) -> Table: ...

    @overload
    def snapshot(self, name: str, at: Any = None, *, as_spark: bool) -> Any: ...

    def snapshot(self, name: str, at: Any = None, as_spark: bool = False) -> Any:
        """The collection at a time: the columns and `_count`.  Without `at`, at the last complete time.

        With as_spark, where the program runs on Spark, it is a DataFrame.

        Where several coordinates leave no one last time, it is one that all of them have passed.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> live.insert("edges", [(1, 2), (1, 2)], time=0)
        >>> live.delete("edges", [(1, 2)], time=5)
        >>> live.advance_to(8)
        >>> live.snapshot("copy", at=4).rows(), live.snapshot("copy").rows()
        ([(1, 2, 2)], [(1, 2, 1)])
        """
        return self._at.turns.take("snapshot", results.snapshot, self._at, name, at, as_spark)

    def frontier(self, name: str) -> list[Time]:
        """The times that may still appear in an output (or an input); none when it is closed.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> live.advance_to(8)
        >>> live.frontier("copy")
        [(8,)]
        """
        return self._at.turns.take("frontier", results.frontier, self._at, name)

    def subscribe(self, name: str, fn: Callable[[Table, list[Time]], object]) -> Callable[[], None]:
        """Call `fn(changes, frontier)` whenever changes of an output become complete, from now on.

        `changes` still gives them too.  What is returned ends the subscription when called.  A function that Ctrl-C
        interrupts is told again, with the same frontier, after the next step.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> stop = live.subscribe("copy", lambda changes, frontier: print(changes.rows(), frontier))
        >>> live.insert("edges", [(1, 2)], time=3)
        >>> live.advance_to(8)
        [(1, 2, 3, 1)] [(8,)]
        >>> stop()
        """
        return self._at.turns.take("subscribe", subscribers.subscribe, self._at, name, fn)

    def add_output(self, name: str) -> None:
        """Show an output that the program was given after it began to run.

        Asking for its results does the same.  It reads what other outputs show, where it depends on them, and what
        is arranged of the inputs.  Its past is summed up at the times from which it is kept.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> edges = flow.input("edges", "src long, dst long")
        >>> flow.output("two", edges.join(edges, on={"dst": "src"}, suffix="2"))
        >>> live = flow.run()
        >>> live.insert("edges", [(1, 2), (2, 3)])
        >>> _ = live.commit()
        >>> flow.output("ends", edges.select("dst").distinct())
        >>> live.add_output("ends")
        >>> live.snapshot("ends").rows()
        [(2, 1), (3, 1)]
        """
        self._at.turns.take("add_output", results.add_output, self._at, name)

    def counters(self) -> dict[str, Any]:
        """What the runtime counts about its work; nothing if it counts nothing.  `visits` are those of keys.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> "rows" in live.counters()
        True
        """
        return dict(self._at.turns.take("counters", self._runtime.counters))

    def explain(self, analyze: bool = False) -> Lines:
        """The plan as text, as `flow.explain()` has it; with `analyze`, what was done at each node so far.

        That is how often a node was visited, which is once in every round that has something for it, by each worker
        that has; and how often each tactic has reduced a key.  A tactic is a way to find the changes of a key's result.
        A node of which nothing is told is done in one with others.  Nothing is counted on Spark, nor of outputs that
        were added while the program ran.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("degrees", flow.input("edges", "src long, dst long").group_by("src").count())
        >>> live = flow.run()
        >>> live.insert("edges", [(1, 2), (1, 3), (2, 3)])
        >>> _ = live.commit()
        >>> for line in live.explain(analyze=True).splitlines():
        ...     if "so far" in line:
        ...         print(line.strip())
        - so far: visited once; totals 2 times
        """
        return self._at.turns.take("explain", explaining.explain, self._at, analyze)

    def explore(self, *, show: Any = None, title: str | None = None) -> Any:
        """Show the session in a browser while it runs: its lattices, and what the engine does, step by step.

        A server of this process answers on this machine only, to whoever has the address it prints.  The session must
        have been begun with `run(explore=True)`; `close()` of what is returned ends the server.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run(explore=True)
        >>> page = live.explore()  # doctest: +SKIP
        LivePage('http://127.0.0.1:40123/?token=...')
        """
        return extension("serve")(self._runtime.recording, show, title)

    if not TYPE_CHECKING:  # a type checker knows the methods there are

        def __getattr__(self, name: str) -> NoReturn:
            known = [x for x in dir(Session) if not x.startswith("_")]
            raise unknown_method(name, "A session", FOREIGN_SESSION, known)


def compute(
    flow: Program,
    inputs: Mapping[str, Any],
    workers: int = 1,
    runtime: Callable[..., Runtime] | None = None,
    **options: Any,
) -> dict[str, Table]:
    """The program run once on these rows: the snapshot of every output."""
    session = Session(flow, workers=workers, runtime=runtime, **options)
    with session:
        for name, rows in inputs.items():
            session._at.input_named("compute", name).edit("compute", rows, None, 1)
    return Tables((name, session.snapshot(name)) for name in session._outputs)
