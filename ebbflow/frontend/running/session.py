"""Session: a running program.

Rows go in with their times, `advance_to` declares that no earlier ones will follow and does the work, results come out
with the times at which they hold. A session checks and buffers its input; the runtime gets rows only when there is work
to do with them, so that a step that is refused leaves both as they were.

Several threads may call one session: calls run one at a time, in order, and subscribers are called between them.

Rule: a call either happens or raises and changes nothing. What is complete was shown once, and is never taken back.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock, get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, overload

import numpy as np

from ebbflow import interrupts
from ebbflow.columns.schema import Schema
from ebbflow.columns.zones import checked
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.zoned import follow, zoned
from ebbflow.errors import (
    ChangesNotKept,
    FrontierMovedBack,
    HistoryGone,
    NoKey,
    NotComplete,
    SessionClosed,
    TypeMismatch,
    UnknownInput,
    UnknownOption,
    UnknownOutput,
    WrongTime,
    did_you_mean,
)
from ebbflow.frontend.aliases import FOREIGN_SESSION, unknown_method
from ebbflow.frontend.extensions import extension
from ebbflow.frontend.running import forked, on_spark
from ebbflow.frontend.running.input_buffer import SEVERAL, Due, InputBuffer, as_time, is_iterator, listed, told, whole
from ebbflow.frontend.running.output_log import END, Antichain, Array, Changes, OutputLog, corners, joined, nothing
from ebbflow.frontend.running.persistence import Persistence
from ebbflow.frontend.running.table import Table, plain
from ebbflow.runtime.contract import RESTLESS, Runtime
from ebbflow.runtime.runtimes import runtime_named
from ebbflow.times import lattice
from ebbflow.times.frontier import Frontier, Time, antichain, before
from ebbflow.turns import Turns

if TYPE_CHECKING:
    from ebbflow.columns.text_pool import Pool

UTC = "UTC"
KNOWN_TEXTS = 1 << 16  # ids remembered beside the pool, for rows that come one by one


class Program(Protocol):
    """What a session needs of a Dataflow."""

    graph: Graph


Notice = tuple[Callable[[Table, list[Time]], object], Table, list[Time]]


class Standing:
    """What every call looks at.  Not the session's own attributes: a class that knows what to say of a method it does
    not have (`__getattr__`) takes three times as long to read one.
    """

    __slots__ = (
        "advance_moment",
        "inputs",
        "is_closed",
        "is_pulled",
        "is_restless",
        "notices",
        "outputs",
        "stages",
        "steps",
        "telling",
        "turns",
    )

    def __init__(
        self, inputs: dict[str, InputBuffer], outputs: dict[str, OutputLog], advance_moment: Callable[..., int] | None
    ):
        self.turns = Turns()
        self.inputs, self.outputs, self.advance_moment = inputs, outputs, advance_moment
        self.is_closed = False
        self.is_pulled = False  # whether it is known that the runtime has nothing to show that no output has
        self.steps = 0  # how many were begun in which the runtime may have got something to show
        self.is_restless = False  # whether the last step left something to put in order
        self.stages = False  # whether the runtime takes frames of Spark
        self.notices: deque[Notice] = deque()  # what subscribers have not been told yet, in the order of the steps
        self.telling = Lock()  # of the thread that tells them


class Session:
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
        from ebbflow.native.kernel import compile_all  # the kernels load when a program runs, not when one is written

        compile_all()
        from ebbflow.columns.text_pool import Pool

        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise TypeMismatch(
                f"workers is a number of threads, 1 or more, not {plain(repr(workers))[:60]}.", hint="run(workers=2)"
            )
        how_far = 0 if history is None or (isinstance(history, str) and history == "all") else whole(history)
        if how_far is None or how_far < 0:
            raise TypeMismatch(
                f"history says how far back snapshots reach, not {plain(history)}.",
                hint='Leave it out, or write run(history="all") or run(history=1000), a number of time units.',
            )
        if runtime is None:
            runtime = chosen = runtime_named("local" if checkpoint is None else "durable")
            for option in options:
                if option not in chosen.OPTIONS:
                    known = ["workers", "history", "checkpoint", *chosen.OPTIONS]
                    raise UnknownOption(
                        f'run has no option "{plain(option)}".',
                        hint=did_you_mean(option, known) or "It has workers=, history= and checkpoint=.",
                    )
            if checkpoint is None:
                options = {**options, "glancing": True}
        if checkpoint is not None:
            options = {**options, "checkpoint": checkpoint}
        self._written, self._history = flow.graph, history
        self._graph = zoned(flow.graph, checked(timezone or flow.graph.timezone or UTC))
        self._coordinates = tuple(flow.graph.coordinates)
        width = len(self._coordinates)
        self._pool: Pool = Pool()
        self._text_ids: dict[str, int] = {}
        self._inputs = {
            node.name: InputBuffer(node, self._coordinates, self._pool, self._text_id)
            for node in self._graph.nodes
            if isinstance(node, n.Input)
        }
        self._constants = {
            node.name: node.rows for node in flow.graph.nodes if isinstance(node, n.Input) and node.rows is not None
        }
        self._tables = {
            name: leaf for name, leaf in getattr(flow, "_leaves", {}).items() if not leaf.is_streaming
        }  # of Spark's: what they hold is there from the first time on
        for given in self._inputs.values():
            if given.key and width > 1:
                raise NoKey(
                    f'the input "{plain(given.name)}" has a key, and this flow\'s times have {width} coordinates '
                    f"({listed(self._coordinates)}); rows are replaced by key along one coordinate only.",
                    hint="Leave out key=, and delete the row that is replaced.",
                )
        self._runtime: Runtime = runtime(self._graph, workers=workers, pool=self._pool, **options)
        for name, columns in self._runtime.text_predicates.items():
            self._inputs[name].answer(columns)
        self._runtime.guard = self._refuse_overflow
        self._refused: dict[str, Antichain] = {}  # where the last step would have led, if it was refused
        self._outputs: dict[str, OutputLog] = {}
        moments = self._runtime.moments if width == 1 else None
        self._at = Standing(self._inputs, self._outputs, moments.advance_moment if moments is not None else None)
        for node in self._graph.nodes:
            if isinstance(node, n.Output):
                self._show(node, ((0,) * width,), ((0,) * width,))
        self._persistence: Persistence | None = None
        self._at.stages = self._runtime.staging is not None
        forked.note(self)
        keeper = self._runtime.keeper
        if keeper is not None:
            try:
                self._persistence = Persistence(keeper, self._inputs, self._outputs, width)
            except BaseException:
                self._runtime.close()
                raise
        try:
            self._begin_with()
        except BaseException:
            self._runtime.close()
            raise

    def _begin_with(self) -> None:
        """Feed what is there from the first time on, unless it was fed already, by another process perhaps."""
        origin = (0,) * len(self._coordinates)
        for name in (*self._constants, *self._tables):
            given = self._inputs[name]
            if given.frontier != (origin,) or not given.is_empty or given.waiting_rows():
                continue
            if name in self._constants:
                given.edit("run", list(self._constants[name]), origin, 1)
            elif self._at.stages:
                on_spark.give(self, given, "run", self._tables[name].frame(), origin, 1)
            else:
                given.edit("run", self._tables[name].rows(), origin, 1)

    def _show(self, node: n.Output, since: Antichain, frontier: Antichain) -> None:
        schema = self._graph.schemas[node.source]
        shown = self._outputs[node.name] = OutputLog(node.name, schema, node.changes, since, frontier)
        shown.fill = self._watch

    def _watch(self) -> None:
        """From here on the runtime asks of every step."""
        self._runtime.watches = True

    def _refuse_overflow(self, results: Mapping[str, Sequence[tuple[Array, Array, Array]]]) -> None:
        """Refuse results of a step that does not count yet, if a row of an output would be there too often."""
        for name, blocks in results.items():
            shown = self._outputs.get(name)
            if shown is None:  # one that is being added
                node = self._declared(name)
                if node is None:
                    continue
                shown = OutputLog(name, self._graph.schemas[node.source], False, (), ())
            else:
                self._pull(shown)  # what earlier steps have shown;
                shown.pulled_at = -1  # this one has more to show when it counts
            shown.refuse_overflow([Changes(*block) for block in blocks], partial(self._row_told, shown.schema))

    def _row_told(self, schema: Schema, lanes: Array) -> str:
        """A row as people read it."""
        from ebbflow.columns.lanes import row_of

        values = row_of(lanes.tolist(), schema, self._pool)
        return ", ".join(f"{name}={value!r:.60}" for name, value in zip(schema.names, values)) or "()"

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(self._at, forked.Forked):
            return  # the session is the parent's
        if kind is not None:
            self._release()
            return
        try:
            if self._persistence is None:
                self.close()
            else:
                self._at.turns.take("close", self._leave, self._persistence)
                self._tell_all()
        except BaseException:
            turns = self._at.turns
            if not turns.is_taken and not turns.line:  # else this one has waited, and waits no longer
                self._release()
            raise

    def _leave(self, keeping: Persistence) -> None:
        """It goes on another day: what was given and read is kept."""
        if not self._at.is_closed:
            staging = self._runtime.staging
            if keeping.has_news or (staging is not None and staging.since_step):  # rows in files
                self._work({})
            self._let_go()

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
            given = self._given(verb, name)  # which says why not
        if verb == "upsert" and not given.key:
            raise NoKey(
                f'upsert replaces rows by key, and the input "{plain(name)}" has no key.',
                hint=f'Declare it as flow.input("{plain(name)}", ..., key="..."), or use insert and delete.',
            )
        if here.stages and on_spark.is_frame(rows):
            on_spark.give(self, given, verb, rows, time, diff)
        else:
            given.edit(verb, rows, time, diff)

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
        taken = self._at.turns.take("deliver", on_spark.deliver, self, frames, query_id, batch_id, frontiers, most)
        self._tell_all()
        return taken

    def _given(self, verb: str, name: str) -> InputBuffer:
        given = self._inputs.get(name) if isinstance(name, str) else None
        if given is None:
            if isinstance(name, str) and name in self._outputs:
                hint: str | None = f'"{plain(name)}" is an output: it follows from the inputs.'
            elif any(isinstance(node, n.Input) and node.name == name for node in self._written.nodes):
                hint = "It was declared after the session began: start another with flow.run()."
            else:
                hint = did_you_mean(name, list(self._inputs)) or "Inputs are declared with flow.input(name, schema)."
            raise UnknownInput(
                f'{verb} looks for the input "{plain(name)}"; this flow has: {listed(list(self._inputs))}.', hint=hint
            )
        if self._at.is_closed or not given.frontier:
            self._refuse_closed(verb, f'the input "{plain(name)}"')
        return given

    def _refuse_closed(self, verb: str, what: str) -> NoReturn:
        whose = "the session" if self._at.is_closed else what
        raise SessionClosed(
            f"{verb} comes after {whose} was closed, which said that no more input follows.",
            hint="Results stay readable. Start another session with flow.run() for more input.",
        )

    def _text_id(self, text: str) -> int | None:
        known = self._text_ids.get(text)
        if known is None:
            if len(self._text_ids) >= KNOWN_TEXTS:
                self._text_ids.clear()
            try:
                known = self._text_ids[text] = int(self._pool.encode_texts([text])[0])
            except UnicodeEncodeError:
                return None
        return known

    # ---- time goes on ----------------------------------------------------------------------------

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
            turns.serve("advance_to", self._advance_to, time, inputs)
        else:
            with turns.lock:
                try:
                    turns.is_taken = True
                    if type(time) is not int or inputs or here.advance_moment is None or not self._take_moment(time):
                        self._advance_to(time, inputs)
                finally:
                    turns.is_taken = False
        if here.notices:
            self._tell_all()

    def _advance_to(self, time: Any, inputs: dict[str, Any]) -> None:
        if self._at.is_closed:
            self._refuse_closed("advance_to", "")
        targets: dict[str, Antichain] = {}
        if time is not None:
            target = self._as_frontier(time)
            targets = {
                name: target for name, given in self._inputs.items() if given.frontier and name not in self._constants
            }
            if not targets:
                self._refuse_closed("advance_to", "every input")
        elif not inputs:
            raise WrongTime("advance_to is not told where to.", hint="Write advance_to(8), or advance_to(edges=8).")
        for name, value in inputs.items():
            self._given("advance_to", name)
            targets[name] = self._as_frontier(value)
        for name, target in targets.items():
            at = self._inputs[name].frontier
            if _goes_back(at, target):
                raise FrontierMovedBack(
                    f'advance_to would move the frontier of the input "{plain(name)}" back from {told(at)} to '
                    f"{told(target)}; what is complete stays complete.",
                    hint="Give a later time"
                    + ("." if len(self._inputs) == 1 else ", or name the inputs that go on: advance_to(name=time)."),
                )
        self._work(targets)

    def _take_moment(self, time: int) -> bool:
        """The shortest step: rows of one input at one time, and all inputs go on alike.  Whether it was that."""
        here = self._at
        only: InputBuffer | None = None
        moment, at = SEVERAL, None
        if here.is_closed:
            return False  # which will be refused
        for given in here.inputs.values():
            if at is None:
                at = given.frontier
            elif given.frontier is not at and given.frontier != at:
                return False
            if given.moment is not None:
                if only is not None:
                    return False
                only, moment = given, given.moment
        if only is None or not at or not moment < time <= END or not (rows := only.rows_now()):
            return False
        frontier, history = ((time,),), self._history
        results: dict[str, Array] = {}
        is_held = interrupts.hold()
        try:
            here.turns.stepping = get_ident()
            try:
                assert here.advance_moment is not None
                taken = here.advance_moment(only.name, moment, rows, frontier, results)
            finally:
                here.turns.stepping = 0
            if not taken:
                return False
            for given in here.inputs.values():
                if given is only:
                    given.settle_at(frontier)
                else:
                    given.frontier = frontier
            for shown in here.outputs.values():
                if history is None:
                    shown.go_on(frontier)
                else:
                    shown.since, shown.frontier = self._moved(shown)
                if not here.is_pulled:
                    self._pull(shown)
                if (words := results.get(shown.name)) is not None:
                    new = Changes.of_words(words)
                    shown.add(new)
                    if shown.subscribers:
                        self._tell(shown, new)
            here.is_pulled = True
        finally:
            if is_held:
                interrupts.let_go()
        if taken == RESTLESS:
            here.is_restless = True
            if not here.notices:
                self._rest()
        return True

    def _as_frontier(self, value: Any, verb: str = "advance_to") -> Antichain:
        if type(value) is int and len(self._coordinates) == 1 and -END <= value <= END:
            return ((value,),)
        several = isinstance(value, (list, set, frozenset)) and not (
            len(self._coordinates) > 1 and len(value) > 0 and all(whole(part) is not None for part in value)
        )
        return antichain(as_time(verb, part, self._coordinates) for part in (value if several else [value]))

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
        tables = turns.take("commit", self._commit_now)
        if tables is None:  # subscribers hear of it first
            self._tell_all()
            tables = turns.take("commit", self._read_all)
        return tables

    def _commit_now(self) -> dict[str, Table] | None:
        open_ = [given for given in self._inputs.values() if given.frontier]
        if self._at.is_closed or not open_:
            self._refuse_closed("commit", "every input")
        times = [given.open_time("commit") for given in open_]
        now = tuple(map(max, *times)) if len(times) > 1 else times[0]
        if now[-1] == END:
            raise WrongTime(
                f"commit would open the time after {told(now)}, and there is none: a time fits 64 bits.",
                hint="close() says that no more input comes, and does what is left to do.",
            )
        self._work({given.name: ((*now[:-1], now[-1] + 1),) for given in open_})
        return None if self._at.notices else self._read_all()

    def _read_all(self) -> dict[str, Table]:
        """The changes of every output that keeps them; nothing is gone before all of it is there."""
        kept = [shown for shown in self._outputs.values() if shown.keeps_changes]
        tables = {shown.name: self._unread(shown) for shown in kept}
        for shown in kept:
            shown.unread = []
        return tables

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
        self._at.turns.take("close", self._close_now)
        self._tell_all()

    def _close_now(self) -> None:
        if not self._at.is_closed:
            self._work(dict.fromkeys(self._inputs, ()), release=True)

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
        self._at.turns.take("discard", self._discard_now)

    def _discard_now(self) -> None:
        for name, frontier in self._refused.items():
            self._inputs[name].drop_waiting(frontier)
        if self._runtime.staging is not None:
            self._runtime.staging.drop_staged(self._refused)
        self._refused = {}
        self._drop_given()

    def _drop_given(self) -> None:
        """Drop the rows given since the last step that succeeded; those that already waited go on waiting."""
        for given in self._inputs.values():
            given.clear()
        if self._runtime.staging is not None:
            self._runtime.staging.discard_staged()
        self._begin_with()

    if not TYPE_CHECKING:  # a type checker knows the methods there are

        def __getattr__(self, name: str) -> NoReturn:
            known = [x for x in dir(Session) if not x.startswith("_")]
            raise unknown_method(name, "A session", FOREIGN_SESSION, known)

    def _work(self, targets: dict[str, Antichain], release: bool = False) -> None:
        """A step, in this thread's turn; `_tell_all` calls subscribers after it, if there is something to tell."""
        with interrupts.held():
            self._advance(targets)
            if release:
                self._let_go()
        self._at.is_restless = True
        if not self._at.notices:
            self._rest()

    def _tell_all(self) -> None:
        """After a turn: subscribers hear of the step, and then what it left is put in order."""
        if self._at.notices:
            self._deliver()
            if self._at.is_restless:
                self._at.turns.take("advance_to", self._rest)

    def _advance(self, targets: dict[str, Antichain]) -> None:
        """Do the work that these frontiers allow, and take note of it."""
        frontiers = {name: targets.get(name, given.frontier) for name, given in self._inputs.items()}
        if self._constants:
            furthest = self._furthest(frontiers)
            frontiers |= dict.fromkeys(self._constants, furthest)
        dues: dict[str, Due] = {}
        new: dict[str, Changes] = {}
        self._begin_to_show()
        self._at.turns.stepping = get_ident()
        try:
            for name, given in self._inputs.items():
                interrupts.look()
                due = dues[name] = given.due(frontiers[name])
                for block in due.now:
                    if len(block.diffs):
                        self._runtime.feed(name, *block)
            self._runtime.advance(frontiers)
            if self._persistence is not None:
                new = self._commit(self._persistence, dues)
        except BaseException:
            self._runtime.discard()  # the session still has the rows
            self._refused = frontiers
            raise
        finally:
            self._at.turns.stepping = 0
        self._refused = {}
        for name, given in self._inputs.items():
            given.settle(dues[name])
        for shown in self._outputs.values():
            self._move_on(shown, new.get(shown.name))
        if self._persistence is not None:
            self._persistence.settled()

    def _furthest(self, frontiers: dict[str, Antichain]) -> Antichain:
        """How far rows that never change are known: as far as anybody asks."""
        others = [times for name, times in frontiers.items() if times and name not in self._constants]
        furthest = Frontier(frontiers[next(iter(self._constants))])
        if not others:
            return ()
        for times in others:
            furthest = furthest.join(Frontier(times))
        return furthest.times

    def _commit(self, keeping: Persistence, dues: dict[str, Due]) -> dict[str, Changes]:
        """Make a step that succeeded last, or take it back: what it shows."""
        try:
            taken = {name: Changes(*self._runtime.take(name)) for name in self._outputs}
            new = {name: changes for name, changes in taken.items() if len(changes.diffs)}
            keeping.commit(dues, new, {name: self._moved(shown) for name, shown in self._outputs.items()})
        except BaseException:
            keeping.keeper.undo()
            raise
        return new

    def _moved(self, shown: OutputLog) -> tuple[Antichain, Antichain]:
        """From where an output's times can be told apart, and its frontier, after a step."""
        was, frontier, since = shown.frontier, self._runtime.frontier(shown.name), shown.since
        if was != frontier and frontier and self._history != "all":  # a close takes nothing away that could be seen
            since = was
            if self._history is not None:
                back = [tuple(max(c - int(self._history), 0) for c in time) for time in frontier or was]
                since = antichain([*was, *back])
            if not all(map(shown.is_kept, since)):  # what was summed up when a late output began stays so
                since = Frontier(since).join(Frontier(shown.since)).times
        return since, frontier

    def _move_on(self, shown: OutputLog, new: Changes | None) -> None:
        """Take note of an output's frontier, and of what is new, if it was taken already."""
        shown.since, shown.frontier = self._moved(shown)
        self._note(shown, new)

    def _note(self, shown: OutputLog, new: Changes | None) -> None:
        """Take note of what somebody waits for."""
        if new is not None:
            shown.add(new)
        elif shown.subscribers or not shown.keeps_changes:
            new = self._pull(shown)
        if shown.subscribers and new is not None:
            self._tell(shown, new)

    def _tell(self, shown: OutputLog, new: Changes) -> None:
        changes = self._as_table(shown, new)
        for fn in tuple(shown.subscribers):
            self._at.notices.append((fn, changes, list(shown.frontier)))

    def _deliver(self) -> None:
        """Call the subscribers.  All of them hear of everything, in order, whatever one of them raises or starts.

        It is nobody's turn meanwhile: they may call the session.  One thread tells them at a time; what another one's
        step has to tell, or a step that a subscriber makes, is told by the thread that is at it.  A subscriber that is
        interrupted by Ctrl-C has not heard: it is told again after the next step.
        """
        raised: list[BaseException] = []
        notices, telling = self._at.notices, self._at.telling
        with interrupts.held():
            while notices and telling.acquire(blocking=False):
                try:
                    while notices:
                        fn, changes, frontier = notices[0]
                        try:
                            with interrupts.allowed():
                                fn(changes, frontier)
                        except Exception as error:
                            raised.append(error)
                        notices.popleft()
                finally:
                    telling.release()
        if raised:
            for other in raised[1:]:
                raised[0].add_note(f"another subscriber raised too: {other!r}")
            raise raised[0]

    def _rest(self) -> None:
        """A step is done and shown: what it left is put in order, unless it was the last or a subscriber closed."""
        self._at.is_restless = False
        if not self._at.is_closed:
            with interrupts.allowed():
                self._runtime.rest()

    def _release(self) -> None:
        """Give everything back that the runtime holds, when nobody is in the middle of something."""
        self._at.turns.take("close", self._let_go)

    def _let_go(self) -> None:
        if not self._at.is_closed:
            for shown in self._outputs.values():
                self._pull(shown)
            self._at.is_closed = True
            self._runtime.close()

    # ---- results out -------------------------------------------------------------------------------

    def _shown(self, verb: str, name: str) -> OutputLog:
        shown = self._at.outputs.get(name) if isinstance(name, str) else None
        if shown is None and self._declared(name) is not None:
            self._add_output(name)
            shown = self._outputs[name]
        if shown is None:
            if isinstance(name, str) and name in self._inputs:
                hint: str | None = f'"{plain(name)}" is an input; flow.output("{plain(name)}", ...) would show it.'
            else:
                hint = (
                    did_you_mean(name, list(self._outputs))
                    or "Outputs are declared with flow.output(name, collection)."
                )
            raise UnknownOutput(
                f'{verb} looks for the output "{plain(name)}"; this flow has: {listed(list(self._outputs))}.', hint=hint
            )
        return shown

    def _declared(self, name: object) -> n.Output | None:
        follow(self._graph, self._written)
        return next((node for node in self._graph.nodes if isinstance(node, n.Output) and node.name == name), None)

    def _begin_to_show(self) -> None:
        """From here on the runtime may have something to show that no output has."""
        self._at.is_pulled = False
        self._at.steps += 1

    def _pull(self, shown: OutputLog) -> Changes | None:
        """What became complete since the runtime was last asked."""
        here = self._at
        if here.is_closed or here.is_pulled or shown.pulled_at == here.steps:
            return None
        with interrupts.held():  # what the runtime has given, and no output has yet, would be lost
            taken, shown.pulled_at = self._runtime.take(shown.name), here.steps
            if not len(taken[2]):
                return None
            new = Changes(*taken)
            shown.add(new)
        return new

    def _as_table(self, shown: OutputLog, changes: Changes) -> Table:
        words = changes.words
        if words is not None:
            return Table.of_words(shown.schema, words, self._coordinates, self._pool)
        return Table(shown.schema, changes.lanes, changes.times, changes.diffs, self._coordinates, self._pool)

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
            return turns.serve("changes", self._changes, name, as_spark, since)
        with turns.lock:
            try:
                turns.is_taken = True
                return self._changes(name, as_spark, since)
            finally:
                turns.is_taken = False

    def _changes(self, name: str, as_spark: bool, since: Any) -> Any:
        here = self._at
        shown = here.outputs.get(name) if type(name) is str else None
        if shown is None:
            shown = self._shown("changes", name)
        if not shown.keeps_changes:
            raise ChangesNotKept(
                f'the output "{plain(name)}" was declared with changes=False: its changes are not kept.',
                hint="Leave changes=False out of flow.output, use subscribe to see changes go by, or read snapshot.",
            )
        cursor = None if since is None else self._as_frontier(since, "changes")
        if not here.is_pulled:
            self._pull(shown)
        found = joined(shown.unread) if shown.unread else self._nothing(shown)
        table: Any = self._as_table(shown, found if cursor is None else _from(found, cursor))
        if as_spark:
            table = on_spark.as_frame(self, table)
        shown.unread = []  # a list of its own, also if nothing was read: reading is news
        return table

    def _unread(self, shown: OutputLog, cursor: Antichain | None = None) -> Table:
        """What nobody has read yet; it stays unread."""
        if not self._at.is_pulled:
            self._pull(shown)
        found = joined(shown.unread) if shown.unread else self._nothing(shown)
        return self._as_table(shown, found if cursor is None else _from(found, cursor))

    def _nothing(self, shown: OutputLog) -> Changes:
        return nothing(shown.schema.width, len(self._coordinates))

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
        return self._at.turns.take("snapshot", self._snapshot, name, at, as_spark)

    def _snapshot(self, name: str, at: Any, as_spark: bool) -> Any:
        shown = self._shown("snapshot", name)
        time = self._last_time(shown) if at is None else self._readable("snapshot", shown, at)
        self._pull(shown)
        if time is None:
            lanes, _, counts = self._nothing(shown)
        else:
            lanes, counts = shown.at(time)
        table = Table(shown.schema, lanes, None, counts, self._coordinates, self._pool)
        return on_spark.as_frame(self, table) if as_spark else table

    def _last_time(self, shown: OutputLog) -> Time | None:
        kept = shown.last_time(len(self._coordinates))
        if kept is None and corners(shown.frontier, len(self._coordinates)):
            raise NotComplete(
                f'snapshot asks for "{plain(shown.name)}", which was declared while the program ran: its past is '
                f"summed up at {told(shown.since)}, and its frontier is {told(shown.frontier)}.",
                hint="Call advance_to for the inputs that are behind.",
            )
        return kept

    def _readable(self, verb: str, shown: OutputLog, at: Any) -> Time:
        time = as_time(verb, at, self._coordinates)
        if any(before(element, time) for element in shown.frontier):
            raise NotComplete(
                f'{verb} asks for "{plain(shown.name)}" at {told(time)}, which is not complete: its frontier is '
                f"{told(shown.frontier)}.",
                hint="Call advance_to with a later time first, or leave at= out for the last complete time.",
            )
        if not shown.is_kept(time):
            began = ", where the last advance began" if self._history is None else ""
            raise HistoryGone(
                f'{verb} asks for "{plain(shown.name)}" at {told(time)}, which is no longer kept: '
                f"it reaches back to {told(shown.since)}{began}.",
                hint='To look further back, start with run(history="all"), or run(history=1000), so many time units.',
            )
        return time

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
        return self._at.turns.take("frontier", self._frontier, name)

    def _frontier(self, name: str) -> list[Time]:
        if isinstance(name, str) and name in self._inputs and name not in self._outputs:
            return list(self._inputs[name].frontier)
        return list(self._shown("frontier", name).frontier)

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
        return self._at.turns.take("subscribe", self._subscribe, name, fn)

    def _subscribe(self, name: str, fn: Callable[[Table, list[Time]], object]) -> Callable[[], None]:
        shown = self._shown("subscribe", name)
        if not callable(fn):
            raise TypeMismatch(
                f"subscribe takes a function of (changes, frontier), not {plain(fn)}.",
                hint="live.subscribe(name, lambda changes, frontier: print(changes))",
            )
        self._pull(shown)  # what is complete already is not news
        shown.subscribers.append(fn)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):  # it has ended already; in any thread, at any time
                shown.subscribers.remove(fn)

        return unsubscribe

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
        self._at.turns.take("add_output", self._add_output, name)

    def _add_output(self, name: str) -> None:
        if name in self._outputs:
            return
        node = self._declared(name)
        if node is None:
            self._shown("add_output", name)
        assert node is not None, "an unknown output is refused above"
        if self._at.is_closed:
            raise SessionClosed(
                f'the output "{plain(name)}" was declared after the session was closed, which computes nothing more.',
                hint="Declare it before, or start another session with flow.run().",
            )
        late = self._runtime.late_outputs
        if late is None:
            raise UnknownOutput(
                f'the output "{plain(name)}" was declared after the session began, and this runtime shows only those '
                "it was started with.",
                hint="Declare it before flow.run().",
            )
        self._begin_to_show()
        since = late.add_output(name, {shown.name: partial(self._past, shown) for shown in self._outputs.values()})
        frontier = tuple(tuple(max(number, 0) for number in time) for time in self._runtime.frontier(name))
        self._show(node, since or frontier, frontier)

    def _past(self, shown: OutputLog) -> tuple[Antichain, Changes]:
        """All that an output has shown, and from where on its times can be told apart."""
        self._pull(shown)
        return shown.since, shown.all() or self._nothing(shown)

    def counters(self) -> dict[str, Any]:
        """What the runtime counts about its work; nothing if it counts nothing.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run()
        >>> "rows" in live.counters()
        True
        """
        return self._at.turns.take("counters", self._counters)

    def _counters(self) -> dict[str, Any]:
        return dict(self._runtime.counters())


def _from(changes: Changes, cursor: Antichain) -> Changes:
    """The changes that are not before the cursor."""
    kept = lattice.reached(changes.times, np.array(cursor, np.int64))
    return Changes(np.ascontiguousarray(changes.lanes[:, kept]), changes.times[kept], changes.diffs[kept])


def _goes_back(at: Antichain, target: Antichain) -> bool:
    """Whether a frontier would open what another has closed."""
    if len(at) == len(target) == 1 and len(at[0]) == 1:
        return target < at
    return target != at and not all(any(before(old, new) for old in at) for new in target)


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
            session._given("compute", name).edit("compute", rows, None, 1)
    return {name: session.snapshot(name) for name in session._outputs}
