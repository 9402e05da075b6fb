"""A program: its inputs, what is computed of them, its outputs.

A Dataflow holds the plan and nothing else.  The same one can be computed once, run in a session that stays, or shown.

Rule: everything is added by name, names are used once, and what was added never changes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Never

from ebbflow.columns.ddl import schema_of
from ebbflow.columns.zones import checked
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import (
    MissingPackage,
    PlanError,
    TypeMismatch,
    UnknownOption,
    did_you_mean,
    users_place,
)
from ebbflow.expressions.resolve import unknown_column
from ebbflow.frontend.building import looping
from ebbflow.frontend.building.collection import Collection
from ebbflow.frontend.building.declaring import check_name, coordinates_of, refuse_twice, refuse_without_output
from ebbflow.frontend.building.mistakes import refuse_pyspark
from ebbflow.frontend.extensions import extension
from ebbflow.frontend.lines import Lines
from ebbflow.frontend.options import OF_A_RUN, OF_A_STREAM, ON_SPARK, check_task_bytes, refuse_unknown
from ebbflow.runtime.runtimes import runtime_named

if TYPE_CHECKING:
    from ebbflow.frontend.running.session import Session
    from ebbflow.frontend.running.table import Table


class Dataflow:  # long: every call of a program, each with its example
    """A program over collections.

    `Dataflow(time=("valid", "system"))` has times of two coordinates.  `Dataflow(timezone="America/New_York")` reads
    the clocks and the calendar of that zone off its timestamps; otherwise those of UTC, and on Spark its session's.
    `Dataflow(ansi=True)` refuses a step in which a number is divided by zero or a cast fails, as Spark's ANSI mode
    raises an error; otherwise both give null.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> edges = flow.input("edges", "src long, dst long")
    >>> flow.output("degrees", edges.group_by("src").count())
    >>> flow.compute(edges=[(1, 2), (1, 3), (2, 3)])["degrees"].rows()
    [(1, 2, 1), (2, 1, 1)]
    """

    def __init__(
        self, time: str | Iterable[str] = "time", timezone: str | None = None, ansi: bool = False, **unknown: Never
    ):
        refuse_unknown("Dataflow", unknown, ("time", "timezone", "ansi"))
        self.graph = Graph(coordinates_of(time))
        self.graph.timezone = None if timezone is None else checked(timezone) or "UTC"
        if not isinstance(ansi, bool):
            raise TypeMismatch(f"ansi says whether an error refuses the step; got {ansi!r:.60}.", hint="True or False.")
        self.graph.ansi = ansi
        self._explored: weakref.ref[Session] | None = None  # the last session that is recorded
        self._leaves: dict[str, Any] = {}  # inputs that are tables of Spark's, which a session begins with

    def input(self, name: str, schema: object, key: str | Iterable[str] | None = None, **unknown: Never) -> Collection:
        """Rows that come from outside.  With `key`, rows are replaced by key (upsert).

        >>> Dataflow().input("edges", {"src": int, "dst": int})
        Collection edges (src long, dst long)
        """
        refuse_unknown("input", unknown, ("schema", "key"))
        check_name(name, "input")
        refuse_twice(self.graph, n.Input, name)
        columns = schema_of(schema)
        if not columns.fields:
            raise TypeMismatch(
                f'the input "{name}" has no columns.', hint='For example flow.input("edges", "src long, dst long").'
            )
        keys = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, Iterable) else ()
        if key is not None and (isinstance(key, bytes) or not keys):
            raise TypeMismatch(
                f"key={key!r:.60} names no columns.", hint='For example flow.input(..., key="id") or key=["a", "b"].'
            )
        for each in keys:
            if each not in columns:
                raise unknown_column(
                    f'the key of the input "{name}" is the column "{each}" of its schema', each, columns.names
                )
        if keys and len(self.graph.coordinates) > 1:
            raise PlanError(
                "rows are replaced by key only where times have one coordinate.",
                hint="Leave out key=, and give changes with diffs: live.apply(...).",
            )
        with self.graph.lock:
            refuse_twice(self.graph, n.Input, name)  # again: another thread may have been quicker
            number = self.graph.add(n.Input(name, columns, keys), users_place())
            self.graph.names[number] = name
        return Collection(self.graph, number)

    def output(self, name: str, collection: Collection, changes: bool = True, **unknown: Never) -> None:
        """Name a result.  `changes=False` keeps no changes for `live.changes`, only what snapshots need.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> flow
        Dataflow(xs -> once)
        """
        refuse_unknown("output", unknown, ("changes",))
        check_name(name, "output")
        if not isinstance(changes, bool):
            raise TypeMismatch(
                f"changes says whether an output keeps its changes, True or False, not {changes!r:.60}.",
                hint='For example flow.output("reach", reach, changes=False).',
            )
        if not isinstance(collection, Collection):
            unfinished = {
                "Ordered": "order_by(...).limit(n) gives the first rows.",
                "Grouped": "group_by(...).agg(...).",
            }
            refuse_pyspark(collection)
            got = type(collection).__name__
            raise PlanError(
                f'the output "{name}" takes a collection; got {got}.',
                hint=unfinished.get(got, 'For example flow.output("reach", reach).'),
            )
        if collection._graph is not self.graph:
            raise PlanError(
                f'the output "{name}" belongs to another dataflow.', hint="Build it from inputs of this one."
            )
        refuse_twice(self.graph, n.Output, name)
        if self.graph.scopes[collection._node]:
            raise PlanError(
                f'the output "{name}" is a collection inside a loop.',
                hint="What comes out of a loop is what iterate returns.",
            )
        with self.graph.lock:
            refuse_twice(self.graph, n.Output, name)
            self.graph.names.setdefault(collection._node, name)
            self.graph.add(n.Output(name, collection._node, changes), users_place())

    def iterate(
        self,
        /,
        body: Callable[..., object],
        max_rounds: int | None = None,
        on_limit: str = "return",
        **starts: Collection,
    ) -> Any:
        """Mutual recursion: the body gets one variable for each start, and returns their next rounds in the same order.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> steps, zero = flow.input("steps", "a long, b long"), flow.input("zero", "n long")
        >>> none = zero.filter(ebb.lit(False))
        >>> even, odd = flow.iterate(lambda even, odd: (
        ...     odd.join(steps, on={"n": "a"}).select(n="b").union(zero).distinct(),
        ...     even.join(steps, on={"n": "a"}).select(n="b").distinct()), even=zero, odd=none)
        >>> flow.output("even", even)
        >>> flow.compute(steps=[(0, 1), (1, 2), (2, 3)], zero=[(0,)])["even"].rows()
        [(0, 1), (2, 1)]
        """
        known = ("max_rounds", "on_limit")
        meant = {
            name: given
            for name, given in starts.items()
            if not isinstance(given, Collection) and did_you_mean(name, known)
        }
        refuse_unknown("iterate", meant, known)
        if not starts:
            raise PlanError(
                "iterate has no variables.",
                hint="Name what each starts with: flow.iterate(body, a=start_a, b=start_b).",
            )
        number = lambda given: _of_this(self.graph, given)
        results, single = looping.iterate(
            self.graph,
            {name: number(start) for name, start in starts.items()},
            body,
            number,
            lambda i: Collection(self.graph, i),
            max_rounds,
            on_limit,
        )
        return results[0] if single else tuple(results)

    # ---- running ----------------------------------------------------------------------------

    def run(
        self,
        spark: object = None,
        *,
        workers: int = 1,
        checkpoint: object = None,
        history: object = None,
        explore: bool = False,
        **options: Any,
    ) -> Session:
        """A session: rows go in, results come out and stay right.

        With several workers your own functions are called from several threads; they should not share what they change.
        With `explore=True` the session is recorded, and `live.explore()` shows it in a browser while it runs.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> with flow.run(workers=2) as live:
        ...     live.insert("xs", [(3,), (3,)])
        ...     live.commit()["once"].rows()
        [(3, 0, 1)]
        """
        if "timezone" in options:
            raise UnknownOption(
                'run has no option "timezone": it is a part of what the program means.',
                hint='Dataflow(timezone="America/New_York"); on Spark the session\'s zone counts.',
            )
        if spark is None:
            refuse_unknown("run", options, OF_A_RUN)
        else:
            refuse_unknown("run on Spark", options, ON_SPARK)
        if explore:
            if spark is not None or checkpoint is not None:
                raise UnknownOption(
                    "explore=True records a session in this process that has no checkpoint.",
                    hint="Explore the program on a part of its rows: flow.run(explore=True).",
                )
            self._ready()
            recorded: Session = extension("recorded_session")(self, workers=workers, history=history)
            self._explored = weakref.ref(recorded)
            return recorded
        return self._run_tuned({}, spark, workers=workers, checkpoint=checkpoint, history=history, **options)

    def _run_tuned(
        self,
        tuning: Mapping[str, Any],
        spark: object = None,
        *,
        workers: int = 1,
        checkpoint: object = None,
        history: object = None,
        shards: Any = None,
        **options: Any,
    ) -> Session:
        """The same with sizes of the engine's own, as `OPTIONS` of the runtime names them: for tests and benchmarks.

        No result depends on them within their limits; beyond them the runtime asserts.
        """
        if "task_bytes" in options:
            check_task_bytes(options["task_bytes"])
        options = {**options, **tuning}
        if spark is not None:
            from ebbflow.runtime.spark.opening import zone_for

            options["runtime"] = runtime_named("spark")(spark, shards)
            options["timezone"] = zone_for(spark, self.graph)
        self._ready()
        from ebbflow.frontend.running.session import Session  # loads the engine

        return Session(self, workers=workers, checkpoint=checkpoint, history=history, **options)  # type: ignore[arg-type]

    def compute(self, /, **inputs: Any) -> dict[str, Table]:
        """Run the program once on these rows: every output by name.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> flow.compute(xs=[(3,), (3,)])["once"].rows()
        [(3, 1)]
        """
        self._ready()
        from ebbflow.frontend.running.session import compute  # loads the engine

        return compute(self, inputs)

    def stream(
        self,
        spark: Any,
        *,
        checkpoint: str,
        inputs: Any = None,
        outputs: Any,
        trigger: Any = None,
        dead_letters: str | None = None,
        **options: Any,
    ) -> Any:
        """Start a query of Spark's Structured Streaming that feeds the program and publishes what changes.

        inputs: what each input reads, and how its rows count: ebb.changes, append, upsert, debezium, change_feed.  Of
        a DataFrame's inputs, those that are streams are read as they are, and tables of which nothing is said are taken
        in once.
        outputs: where results go: ebb.table, change_log, view, each, kafka.  What is returned has StreamingQuery's
        methods.  docs/pipeline.md has examples that run.

        >>> flow.stream(spark, checkpoint="dir", trigger={"availableNow": True},
        ...     inputs={"edges": ebb.append(spark.readStream.schema("src long, dst long").json("edges"))},
        ...     outputs={"reach": ebb.table("out/reach")}).awaitTermination()  # doctest: +SKIP
        """
        refuse_unknown("stream", options, OF_A_STREAM)
        return extension("stream")(
            self, spark, checkpoint=checkpoint, inputs=inputs, outputs=outputs, trigger=trigger,
            dead_letters=dead_letters, **options,
        )  # fmt: skip

    def explore(
        self,
        path: Any = None,
        story: Any = None,
        /,
        *,
        export: Any = None,
        figure: Any = False,
        show: Any = None,
        title: str | None = None,
        times: bool = False,
        **inputs: Any,
    ) -> Any:
        """Write the program as a page to walk through in a browser: every collection, at every time, row by row.

        The page holds the plan, the inputs, and an evaluator of its own: whoever reads it can insert and delete rows.
        `inputs` are rows from the first time on; `story(live)` is a function that feeds a session, step by step.
        Without a path (`export=` is another word for it) the page goes to a temporary directory; at a terminal it is
        opened.  `show` is the collection it begins with, by name or as a Collection.  `figure=True` is a page to put
        into a text, only the lattice and its rows; or name the parts: plan, lattice, rows, story, inputs.  `times=True`
        says how long the story's steps took, and how much of it at each node.

        While a session runs that was begun with `run(explore=True)`, `explore()` shows that session.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> edges = flow.input("edges", "src long, dst long")
        >>> flow.output("degrees", edges.group_by("src").count())
        >>> flow.explore("degrees.html", edges=[(1, 2), (1, 3)])  # doctest: +SKIP
        Page('degrees.html')
        """
        running = self._explored() if self._explored is not None else None
        runs = running is not None and not running._at.is_closed
        if running is not None and runs and path is None and export is None and story is None and not inputs:
            return running.explore(show=show, title=title)
        look = extension("look")(title, show, figure, times)
        return extension("explore")(self, path if path is not None else export, story, inputs, look)

    def sql(self, query: str) -> Collection:
        """A collection from a query in Spark's SQL; tables are the inputs and outputs of the program, by name.

        `with recursive` becomes a loop.  What cannot be kept up to date is refused, by its place in the text.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> orders = flow.input("orders", "id long, customer string, price double")
        >>> flow.output("totals", flow.sql("select customer, sum(price) as total from orders group by customer"))
        >>> flow.compute(orders=[(1, "ann", 2.5), (2, "ann", 4.0)])["totals"].rows()
        [('ann', 6.5, 1)]
        """
        try:
            collection_of = extension("sql")
        except ModuleNotFoundError as missing:
            raise MissingPackage(
                f"SQL is read by {missing.name}, which is not installed.", hint='pip install "ebbflow[sql]"'
            ) from None
        return Collection(self.graph, collection_of(self.graph, query))

    def dataframe(self, df: Any, inputs: Any = None) -> Collection:
        """A collection from a DataFrame of PySpark, or from `spark.sql(...)`: what it asks for, kept up to date.

        Every table that it reads becomes an input of the program, under its name, with the columns that are used.  A
        session begins with the rows that the table has, and is then told what changes.  inputs: collections of this
        program that stand for tables, by name.  What cannot be kept up to date is refused.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> totals = spark.sql("select customer, sum(price) from orders group by 1")  # doctest: +SKIP
        >>> flow.output("totals", flow.dataframe(totals))  # doctest: +SKIP
        >>> live = flow.run()  # has the rows of orders  # doctest: +SKIP
        >>> live.insert("orders", [("ann", 4.0)])  # doctest: +SKIP
        >>> live.commit()  # doctest: +SKIP
        """
        return Collection(self.graph, extension("dataframe")(self, df, inputs))

    def _ready(self) -> None:
        """Refuse a plan that could not run."""
        refuse_without_output(self.graph)
        from ebbflow.dataflow.rules.check import check

        check(self.graph)

    # ---- showing ----------------------------------------------------------------------------

    def explain(self) -> Lines:
        """The plan as text, with what the planner made of it: shared arrangements, exchanges left out, short cuts.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> edges = flow.input("edges", "src long, dst long")
        >>> flow.output("degrees", edges.group_by("src").count())
        >>> for line in flow.explain().splitlines():
        ...     if line.strip().startswith("- "):
        ...         print(line.strip())
        - short cut: its times are totally ordered; keeps no output
        - tactic: totals, a hash table of sums
        """
        from ebbflow.dataflow import explain  # only who looks waits for it
        from ebbflow.engine.plan_notes import notes

        return Lines(explain.text(self.graph, notes(self.graph)))

    def __str__(self) -> str:
        from ebbflow.dataflow import explain

        return f"{self!r}\n{explain.text(self.graph)}" if self.graph.nodes else repr(self)

    def __repr__(self) -> str:
        inputs = [node.name for node in self.graph.nodes if isinstance(node, n.Input)]
        outputs = [node.name for node in self.graph.nodes if isinstance(node, n.Output)]
        return f"Dataflow({', '.join(inputs) or 'no inputs'} -> {', '.join(outputs) or 'no outputs'})"

    def _repr_html_(self) -> str:
        from ebbflow.dataflow import explain

        return explain.html(self.graph)


def _of_this(graph: Graph, given: object) -> int:
    if not isinstance(given, Collection):
        raise PlanError(
            f"iterate takes and returns collections; got {given!r}.",
            hint="For example flow.iterate(lambda a, b: (..., ...), a=start_a, b=start_b).",
        )
    if given._graph is not graph:
        raise PlanError("iterate mixes two dataflows.", hint="Make all inputs with one Dataflow.")
    return given._node
