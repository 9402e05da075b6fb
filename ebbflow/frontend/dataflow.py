"""A program: its inputs, what is computed of them, its outputs.

A Dataflow holds the plan and nothing else.  The same one can be computed once, run in a session that stays, or shown.

Rule: everything is added by name, names are used once, and what was added never changes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ebbflow.columns.ddl import schema_of
from ebbflow.columns.resolve import unknown_column
from ebbflow.columns.schema import RESERVED
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import DuplicateName, NotBuiltYet, PlanError, ReservedName, TypeMismatch, users_place
from ebbflow.frontend import looping
from ebbflow.frontend.collection import Collection, Lines
from ebbflow.frontend.column import refuse_pyspark

if TYPE_CHECKING:
    from ebbflow.frontend.session import Session
    from ebbflow.frontend.table import Table


class Dataflow:
    """A program over collections.

    `Dataflow(time=("valid", "system"))` has times of two coordinates.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> edges = flow.input("edges", "src long, dst long")
    >>> flow.output("degrees", edges.group_by("src").count())
    >>> flow.compute(edges=[(1, 2), (1, 3), (2, 3)])["degrees"].rows()
    [(1, 2, 1), (2, 1, 1)]
    """

    def __init__(self, time: str | Iterable[str] = "time"):
        self.graph = Graph(_coordinates(time))

    def input(self, name: str, schema: object, key: str | Iterable[str] | None = None) -> Collection:
        """Rows that come from outside.  With `key`, rows are replaced by key (upsert).

        >>> Dataflow().input("edges", {"src": int, "dst": int})
        Collection edges (src long, dst long)
        """
        _check_name(name, "input")
        if any(isinstance(node, n.Input) and node.name == name for node in self.graph.nodes):
            raise DuplicateName(
                f'the input "{name}" is there already.',
                hint="Use what flow.input returned, or give this one another name.",
            )
        columns = schema_of(schema)
        if not columns.fields:
            raise TypeMismatch(
                f'the input "{name}" has no columns.', hint='For example flow.input("edges", "src long, dst long").'
            )
        if key is not None and (isinstance(key, bytes) or not isinstance(key, Iterable)):
            raise TypeMismatch(
                f"key={key!r:.60} names no columns.", hint='For example flow.input(..., key="id") or key=["a", "b"].'
            )
        keys = () if key is None else (key,) if isinstance(key, str) else tuple(key)
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
        node = self.graph.add(n.Input(name, columns, keys), users_place())
        self.graph.names[node] = name
        return Collection(self.graph, node)

    def output(self, name: str, collection: Collection, changes: bool = True) -> None:
        """Name a result.  `changes=False` keeps no changes for `live.changes`, only what snapshots need.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> flow
        Dataflow(xs -> once)
        """
        _check_name(name, "output")
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
        if any(isinstance(node, n.Output) and node.name == name for node in self.graph.nodes):
            raise DuplicateName(f'the output "{name}" is there already.', hint="Give this one another name.")
        if self.graph.scopes[collection._node]:
            raise PlanError(
                f'the output "{name}" is a collection inside a loop.',
                hint="What comes out of a loop is what iterate returns.",
            )
        self.graph.names.setdefault(collection._node, name)
        self.graph.add(n.Output(name, collection._node, bool(changes)), users_place())

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
        **options: Any,
    ) -> Session:
        """A session: rows go in, results come out and stay right.

        With several workers your own functions are called from several threads; they should not share what they change.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> with flow.run(workers=2) as live:
        ...     live.insert("xs", [(3,), (3,)])
        ...     live.commit()["once"].rows()
        [(3, 0, 1)]
        """
        if spark is not None:
            from ebbflow.runtime.spark.opening import on

            options["runtime"] = on(spark, options.pop("shards", None))
        self._ready()
        from ebbflow.frontend.session import Session  # loads the engine

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
        from ebbflow.frontend.session import compute  # loads the engine

        return compute(self, inputs)

    def stream(
        self,
        spark: Any,
        *,
        checkpoint: str,
        inputs: Any,
        outputs: Any,
        trigger: Any = None,
        dead_letters: str | None = None,
        **options: Any,
    ) -> Any:
        """Start a query of Spark's Structured Streaming that feeds the program and publishes what changes.

        inputs: what each input reads, and how its rows count: ebb.changes, append, upsert, debezium, change_feed.
        outputs: where results go: ebb.table, change_log, view, each, kafka.  What is returned has StreamingQuery's
        methods.  docs/pipeline.md has examples that run.

        >>> flow.stream(spark, checkpoint="dir", trigger={"availableNow": True},
        ...     inputs={"edges": ebb.append(spark.readStream.schema("src long, dst long").json("edges"))},
        ...     outputs={"reach": ebb.table("out/reach")}).awaitTermination()  # doctest: +SKIP
        """
        pipeline = importlib.import_module("ebbflow.pipeline.stream")  # stands above this, and loads Spark
        return pipeline.stream(
            self, spark, checkpoint=checkpoint, inputs=inputs, outputs=outputs, trigger=trigger,
            dead_letters=dead_letters, **options,
        )  # fmt: skip

    def explore(self, path: Any = None, story: Any = None, /, **inputs: Any) -> Any:
        """Write the program as a page to walk through in a browser: every collection, at every time, row by row.

        The page holds the plan, the inputs, and an evaluator of its own: whoever reads it can insert and delete rows.
        `inputs` are rows from the first time on; `story(live)` is a function that feeds a session, step by step.
        Without a path the page goes to a temporary directory; at a terminal it is opened.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> edges = flow.input("edges", "src long, dst long")
        >>> flow.output("degrees", edges.group_by("src").count())
        >>> flow.explore("degrees.html", edges=[(1, 2), (1, 3)])  # doctest: +SKIP
        Page('degrees.html')
        """
        explorer = importlib.import_module("ebbflow.tools.explorer.page")  # stands above this
        return explorer.explore(self, path, story, inputs)

    def sql(self, query: str) -> Collection:
        """A collection from a query; not built yet."""
        raise NotBuiltYet(
            "SQL is not built yet.", hint="Write it with collections: select, filter, join, group_by, iterate."
        )

    def _ready(self) -> None:
        """Refuse a plan that could not run."""
        if not any(isinstance(node, n.Output) for node in self.graph.nodes):
            raise PlanError(
                "the program has no output, so there is nothing to keep right.",
                hint='Name a result: flow.output("result", collection).',
            )
        from ebbflow.dataflow.rules import check

        check(self.graph)

    # ---- showing ----------------------------------------------------------------------------

    def explain(self) -> Lines:
        """The plan as text, with what the planner made of it: shared arrangements, exchanges left out, short cuts.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> edges = flow.input("edges", "src long, dst long")
        >>> flow.output("degrees", edges.group_by("src").count())
        >>> [line.strip() for line in flow.explain().splitlines() if "- " in line and "<-" not in line]
        ['- short cut: its times are totally ordered; keeps no output']
        """
        from ebbflow.dataflow import explain  # only who looks waits for it
        from ebbflow.runtime.notes import notes

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


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not name:
        raise TypeMismatch(
            f"the name of an {what} is text; got {'none' if name == '' else type(name).__name__}.",
            hint=f'For example flow.{what}("edges", ...).',
        )


def _coordinates(time: object) -> tuple[str, ...]:
    names = (time,) if isinstance(time, str) else tuple(time) if isinstance(time, Iterable) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise TypeMismatch(
            f"time names the coordinates of a time; got {time!r}.",
            hint='For example Dataflow(time=("valid", "system")).',
        )
    if len(set(names)) < len(names):
        raise DuplicateName(
            f"two coordinates of a time have one name: {', '.join(names)}.", hint="Give each a name of its own."
        )
    for name in names:
        if name in RESERVED:
            raise ReservedName(f'"{name}" is kept for results.', hint=f'Call the coordinate "{name[1:]}".')
    return names
