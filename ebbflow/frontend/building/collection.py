"""Collections: what people build programs of.

A collection is a node of a graph.  Every method is a few lines that add nodes; nothing is computed before the program
runs, and a collection can be used any number of times.

Rule: a method never changes its collection; it gives a new one, or refuses and leaves the plan as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Never, NoReturn, overload

from ebbflow.columns.ddl import schema_of
from ebbflow.columns.schema import Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import (
    NoOrder,
    NotAnExpression,
    NoValueYet,
    PlanError,
    UnclearJoin,
    UnknownColumn,
    UnknownMethod,
    did_you_mean,
    users_place,
)
from ebbflow.expressions.ast import Named
from ebbflow.expressions.resolve import condition, unknown_column, with_type
from ebbflow.expressions.typed import Expr
from ebbflow.frontend import aliases
from ebbflow.frontend.building import joining, looping, shaping
from ebbflow.frontend.building.column import Column
from ebbflow.frontend.building.delaying import later
from ebbflow.frontend.building.exploding import with_exploded
from ebbflow.frontend.building.grouping import Grouped
from ebbflow.frontend.building.key_sets import cubed, rolled_up
from ebbflow.frontend.building.lineage import called
from ebbflow.frontend.building.mistakes import refuse_pyspark
from ebbflow.frontend.building.ordering import Ordered
from ebbflow.frontend.building.ordering_keys import order_of
from ebbflow.frontend.building.shaping import computed, every_column, own_function, project, projected
from ebbflow.frontend.building.windows import with_windows
from ebbflow.frontend.lines import Lines
from ebbflow.frontend.options import refuse_unknown
from ebbflow.frontend.running import inspecting


class Collection:  # long: what can be made of a collection, each method with its example
    """A multiset of typed records that changes over time.

    `c.x` and `c["x"]` are its columns; a column that is named like a method is reached by the second.
    """

    __slots__ = ("__weakref__", "_graph", "_node")

    def __init__(self, graph: Graph, node: int):
        self._graph, self._node = graph, node

    # ---- columns ----------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """The names and types of the columns, in order.

        >>> import ebbflow as ebb
        >>> print(ebb.Dataflow().input("edges", {"src": int, "dst": int}).schema)
        src long, dst long
        """
        return self._graph.schemas[self._node]

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order.

        >>> import ebbflow as ebb
        >>> ebb.Dataflow().input("edges", "src long, dst long").columns
        ['src', 'dst']
        """
        return list(self.schema.names)

    def select(self, /, *names: object, **exprs: object) -> Collection:
        """These columns: names keep theirs, keywords name or compute.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> edges = flow.input("edges", "src long, dst long")
        >>> flow.output("steps", edges.select("src", to="dst", length=lambda r: r.dst - r.src))
        >>> flow.compute(edges=[(1, 4)])["steps"].rows()
        [(1, 4, 3, 1)]
        """
        columns: list[tuple[str, Expr]] = []
        here, (*kept, named) = self._windows([*_flat(names), exprs], "select")
        for given in kept:
            every = isinstance(given, str) and given == "*"
            columns += every_column(self.schema) if every else [here._kept(given, "select")]
        columns += [(name, here._expr(given, "select")) for name, given in named.items()]
        if not columns:
            raise NotAnExpression("select keeps no column.", hint=f"Name some of: {', '.join(self.columns)}.")
        return self._at(projected(self._graph, here._node, columns))

    def with_columns(self, /, *named: object, **exprs: object) -> Collection:
        """The columns there are, and these: a known name is replaced where it stands, a new one put at the end.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> edges = flow.input("edges", "src long, dst long")
        >>> flow.output("later", edges.with_columns(dst=edges.dst + 1, far=edges.dst > 3))
        >>> flow.compute(edges=[(1, 4)])["later"].rows()
        [(1, 5, True, 1)]
        """
        columns = dict(every_column(self.schema))
        here, all_given = self._windows([*_flat(named), exprs], "with_columns")
        for given in all_given:
            if isinstance(given, Mapping):
                columns |= {name: here._expr(value, "with_columns") for name, value in given.items()}
            else:
                columns |= [here._kept(given, "with_columns")]
        return self._at(projected(self._graph, here._node, columns.items()))

    def drop(self, *names: object) -> Collection:
        """Without these columns.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.input("edges", "src long, dst long, weight double").drop("weight").columns
        ['src', 'dst']
        """
        dropped = {self._there(name, "drop") for name in _flat(names)}
        kept = [column for column in every_column(self.schema) if column[0] not in dropped]
        if not kept:
            raise NotAnExpression("drop leaves no column.", hint="A collection has at least one.")
        return self._at(project(self._graph, self._node, kept))

    def rename(self, names: Mapping[str, str] | None = None, /, **named: str) -> Collection:
        """Other names for some columns: `rename({"old": "new"})`.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.input("edges", "src long, dst long").rename({"src": "dst", "dst": "src"}).columns
        ['dst', 'src']
        """
        if names is not None and not isinstance(names, Mapping):
            raise NotAnExpression(
                f"rename takes a dictionary from old names to new ones; got {names!r}.",
                hint='For example rename({"old": "new"}).',
            )
        new = {self._there(old, "rename"): name for old, name in {**(names or {}), **named}.items()}
        return self._at(
            projected(
                self._graph, self._node, [(new.get(name, name), expr) for name, expr in every_column(self.schema)]
            )
        )

    def print_schema(self) -> None:
        """Print the columns as PySpark does, one a line; those of an input that take no nulls say so.

        >>> import ebbflow as ebb
        >>> ebb.Dataflow().input("edges", "src long not null, dst long").print_schema()
        root
         |-- src: long not null
         |-- dst: long
        """
        print("\n".join(["root", *(f" |-- {_printed(field)}" for field in self.schema)]))  # noqa: T201

    @overload
    def __getitem__(self, name: str) -> Column: ...

    @overload
    def __getitem__(self, name: list[str] | tuple[str, ...] | Column) -> Collection: ...

    def __getitem__(self, name: object) -> Column | Collection:
        if isinstance(name, list | tuple):
            return self.select(*name)
        if isinstance(name, Column):
            return self.filter(name)
        return Column(Named(self._there(name, "[...]"), self._node))

    def __getattr__(self, name: str) -> Column:
        if name.startswith("_"):  # Python and notebooks probe for these
            raise AttributeError(name)
        if name in self.schema:
            return Column(Named(name, self._node))
        where = called(self._graph, self._node)
        if name in aliases.FOREIGN:
            raise UnknownMethod(f'{where} has no "{name}".', hint=aliases.ours(aliases.FOREIGN[name]))
        methods = [word for word in dir(Collection) if not word.startswith("_")]
        topic = UnknownColumn if did_you_mean(name, self.columns) or not did_you_mean(name, methods) else UnknownMethod
        raise topic(
            f'{where} has no column and no method "{name}"; its columns are: {", ".join(self.columns)}.',
            hint=did_you_mean(name, [*self.columns, *methods]) or "A column is c.name; dir(c) lists the methods.",
        )

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self.columns]

    # ---- rows -------------------------------------------------------------------------------

    def filter(self, *conditions: object) -> Collection:
        """The rows for which every condition is true (not false, not null).

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> edges = flow.input("edges", "src long, dst long")
        >>> flow.output("up", edges.filter(edges.src < edges.dst, lambda r: r.dst.is_in([2, 3])))
        >>> flow.compute(edges=[(1, 2), (3, 1), (1, 9)])["up"].rows()
        [(1, 2, 1)]
        """
        node = self._node
        for given in _flat(conditions):
            if isinstance(given, str) and given not in self.schema and not given.isidentifier():
                raise NotAnExpression(
                    f'filter does not read SQL: "{given}".',
                    hint='Write it with columns: col("x") > 3.',
                )
            holds = condition(self._expr(given, "filter"), "filter")
            node = self._graph.add(n.Linear(node, n.Filter(holds)), users_place())
        return self._at(node)

    def distinct(self) -> Collection:
        """One copy of each row whose count is above zero.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> flow.compute(xs=[(3,), (3,), (5,)])["once"].rows()
        [(3, 1), (5, 1)]
        """
        return self._at(shaping.distinct(self._graph, self._node))

    def union(self, *others: Collection) -> Collection:
        """All the rows of all of them, by the names of their columns; duplicates are kept.  Also `concat`, and `a + b`.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> a, b = flow.input("a", "x long, y long"), flow.input("b", "y long, x long")
        >>> flow.output("both", a.union(b))
        >>> flow.compute(a=[(1, 2)], b=[(2, 1)])["both"].rows()
        [(1, 2, 2)]
        """
        nodes = [self._node, *(self._other(other, "union") for other in _flat(others))]
        return self._at(shaping.sum_of(self._graph, nodes, "union"))

    concat = union

    def __add__(self, other: Collection) -> Collection:
        return self.union(other)

    def __sub__(self, other: Collection) -> Collection:
        """The counts of the other subtracted; a row may end with a count below zero."""
        here, there = shaping.unified(self._graph, [self._node, self._other(other, "-")], "-")
        return self._at(self._graph.add(n.Concat((here, shaping.negated(self._graph, there))), users_place()))

    def negate(self) -> Collection:
        """Every count with its sign changed.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("less", flow.input("xs", "x long").negate())
        >>> flow.compute(xs=[(3,), (3,)])["less"].rows()
        [(3, -2)]
        """
        return self._at(shaping.negated(self._graph, self._node))

    def __neg__(self) -> Collection:
        return self.negate()

    def threshold(self, fn: Callable[[int], int]) -> Collection:
        """Each row with its count n replaced by `fn(n)`; fn is not asked about 0.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("halves", flow.input("xs", "x long").threshold(lambda n: n // 2))
        >>> flow.compute(xs=[(3,), (3,), (3,), (3,), (5,)])["halves"].rows()
        [(3, 2)]
        """
        reducer = n.Threshold(own_function(fn, "threshold"))
        return self._new(n.Reduce(self._node, self.schema.names, reducer, self.schema))

    def consolidate(self) -> Collection:
        """The same collection: changes of one row at one time are always added up, in loops too.

        >>> import ebbflow as ebb
        >>> xs = ebb.Dataflow().input("xs", "x long")
        >>> xs.consolidate() is xs
        True
        """
        return self

    # ---- joins ------------------------------------------------------------------------------

    def join(
        self, other: Collection, on: object = None, how: str = "inner", suffix: str | None = None, **foreign: object
    ) -> Collection:
        """Pairs of rows that belong together: left columns, then the right's other columns.

        on: a name, a list of names, {"left": "right"}, or `a.x == b.y`, several with &.
        how: inner left right full semi anti cross.  Null keys match nothing.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> people, towns = flow.input("people", "name string, town long"), flow.input("towns", "id long, at string")
        >>> flow.output("where", people.join(towns, on={"town": "id"}, how="left"))
        >>> flow.compute(people=[("Ann", 1), ("Bob", None)], towns=[(1, "Aix")])["where"].rows()
        [('Ann', 1, 'Aix', 1), ('Bob', None, None, 1)]
        """
        if foreign:
            raise UnclearJoin(
                f'join has no option "{next(iter(foreign))}".',
                hint='Say which columns belong together: on={"left": "right"}; suffix="_right" for equal names.',
            )
        return self._at(joining.join(self._graph, self._node, self._other(other, "join"), on, how, suffix))

    def semijoin(self, other: Collection, on: object = None) -> Collection:
        """The rows that have a partner, once, however many partners there are.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> all, wanted = flow.input("all", "x long"), flow.input("wanted", "x long")
        >>> flow.output("found", all.semijoin(wanted, on="x"))
        >>> flow.compute(all=[(1,), (2,)], wanted=[(2,), (2,), (3,)])["found"].rows()
        [(2, 1)]
        """
        return self.join(other, on, how="semi")

    def antijoin(self, other: Collection, on: object = None) -> Collection:
        """The rows that have no partner; those with a null key are among them.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> all, gone = flow.input("all", "x long"), flow.input("gone", "x long")
        >>> flow.output("left", all.antijoin(gone, on="x"))
        >>> flow.compute(all=[(1,), (2,), (None,)], gone=[(2,), (2,)])["left"].rows()
        [(None, 1), (1, 1)]
        """
        return self.join(other, on, how="anti")

    # ---- groups and order -------------------------------------------------------------------

    def group_by(self, /, *keys: object, **named: object) -> Grouped[Collection]:
        """The rows by key, for `.agg(...)`, `.count()`, `.top(...)`, `.reduce(...)`; keys may be computed.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> xs = flow.input("xs", "x long")
        >>> flow.output("sizes", xs.group_by(odd=xs.x % 2 == 1).count())
        >>> flow.compute(xs=[(1,), (2,), (5,)])["sizes"].rows()
        [(False, 1, 1), (True, 2, 1)]
        """
        asked = [self._kept(key, "group_by") for key in _flat(keys)]
        asked += [(name, self._expr(key, "group_by")) for name, key in named.items()]
        return Grouped(self._graph, self._node, [(name, with_type(expr, name)) for name, expr in asked], self._at)

    def rollup(self, /, *keys: object, **named: object) -> Grouped[Collection]:
        """Groups by all of these keys, by all but the last, and so on, and one of all rows; null for keys left out.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> sales = flow.input("sales", "shop string, n long")
        >>> flow.output("totals", sales.rollup("shop").sum("n"))
        >>> flow.compute(sales=[("a", 1), ("b", 2), ("a", 3)])["totals"].rows()
        [(None, 6, 1), ('a', 4, 1), ('b', 2, 1)]
        """
        grouped = self.group_by(*keys, **named)
        return Grouped(self._graph, self._node, grouped._keys, self._at, rolled_up(len(grouped._keys)))

    def cube(self, /, *keys: object, **named: object) -> Grouped[Collection]:
        """Groups by every choice of these keys; null for keys left out.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> sales = flow.input("sales", "shop string, kind string, n long")
        >>> flow.output("totals", sales.cube("shop", "kind").sum("n"))
        >>> flow.compute(sales=[("a", "x", 1), ("a", "y", 2)])["totals"].rows()[:4]
        [(None, None, 3, 1), (None, 'x', 1, 1), (None, 'y', 2, 1), ('a', None, 3, 1)]
        """
        grouped = self.group_by(*keys, **named)
        return Grouped(self._graph, self._node, grouped._keys, self._at, cubed(len(grouped._keys)))

    def grouping_sets(self, sets: object, /, *keys: object) -> Grouped[Collection]:
        """Groups by each of these sets of keys, as lists of names; null for keys left out.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> sales = flow.input("sales", "shop string, kind string, n long")
        >>> flow.output("totals", sales.grouping_sets([["shop"], ["kind"]], "shop", "kind").sum("n"))
        >>> flow.compute(sales=[("a", "x", 1), ("b", "x", 2)])["totals"].rows()
        [(None, 'x', 3, 1), ('a', None, 1, 1), ('b', None, 2, 1)]
        """
        grouped = self.group_by(*keys)
        names = [name for name, _ in grouped._keys]
        chosen = []
        for one in sets if isinstance(sets, list | tuple) else [sets]:
            found = [str(each) if isinstance(each, str) else each.output_name for each in _flat((one,))]
            for name in found:
                if name not in names:
                    raise unknown_column(f'grouping_sets looks for the key "{name}"', name, names)
            chosen.append(tuple(names.index(name) for name in found))
        return Grouped(self._graph, self._node, grouped._keys, self._at, tuple(chosen))

    def agg(self, /, *columns: Column, **named: object) -> Collection:
        """Aggregates of all rows: `group_by().agg(...)`.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("all", flow.input("xs", "x long").agg(n=ebb.count(), total=ebb.sum("x")))
        >>> flow.compute(xs=[(3,), (4,)])["all"].rows()
        [(2, 7, 1)]
        """
        return self.group_by().agg(*columns, **named)

    def order_by(self, *order: object, ascending: bool | list[bool] = True) -> Ordered[Collection]:
        """`order_by("-x", "y").limit(n)`: the first n rows.  A collection has no order otherwise.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("best", flow.input("xs", "x long").order_by("-x").limit(2))
        >>> flow.compute(xs=[(1,), (7,), (5,)])["best"].rows()
        [(5, 1), (7, 1)]
        """
        by = order_of(self._graph, self._node, _flat(order), "order_by")
        up = ascending if isinstance(ascending, list) else [bool(ascending)] * len(by)
        if len(up) != len(by):
            raise NoOrder(
                f"order_by has {len(by)} columns, and ascending= says it for {len(up)}.", hint="One for each."
            )
        return Ordered(
            self._graph, self._node, [(expr, down == rises) for (expr, down), rises in zip(by, up)], self._at
        )

    # ---- loops and times --------------------------------------------------------------------

    def iterate(
        self, body: Callable[..., object], max_rounds: int | None = None, on_limit: str = "return", **unknown: Never
    ) -> Collection:
        """This collection, replaced by what the body makes of it, again and again until nothing changes.

        The body is called once, with the loop's variable.  It may use any collection from outside, and loops inside.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> edges = flow.input("edges", "src long, dst long")
        >>> paths = edges.iterate(lambda paths: paths.join(edges, on={"dst": "src"}, suffix="_next")
        ...     .select("src", dst="dst_next").union(edges).distinct())
        >>> flow.output("paths", paths)
        >>> flow.compute(edges=[(1, 2), (2, 3)])["paths"].rows()
        [(1, 2, 1), (1, 3, 1), (2, 3, 1)]
        """
        refuse_unknown("iterate", unknown, ("max_rounds", "on_limit"))
        starts = {looping.name_of_variable(body): self._node}
        number = self._next_round
        results, _ = looping.iterate(self._graph, starts, body, number, self._at, max_rounds, on_limit)
        return results[0]

    def wait(self, rounds: object) -> Collection:
        """In the body of a loop: this collection from outside, each row from a round of its own on.

        Where a loop only adds rows, or improves a minimum, it comes to the same in the end; how much it does on the way
        is not the same.  Names that seldom win are best let in late, as here the larger ones.  Null and numbers below 0
        are 0; rounds beyond `max_rounds` never come.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> edges = flow.input("edges", "src long, dst long")
        >>> start = edges.select(id="src", name="src").union(edges.select(id="dst", name="dst"))
        >>> least = start.filter(ebb.lit(False)).iterate(lambda least: least.join(edges, on={"id": "src"})
        ...     .select("name", id="dst").union(start.wait(lambda r: r.name * 10)).group_by("id").min("name"))
        >>> flow.output("least", least)
        >>> flow.compute(edges=[(1, 2), (2, 3)])["least"].rows()
        [(1, 1, 1), (2, 1, 1), (3, 1, 1)]
        """
        return self._at(looping.waiting(self._graph, self._node, rounds))

    def delay(self, fn: Callable[..., object]) -> Collection:
        """Every change at a later time: `delay(lambda t: t + 10)`.

        With several coordinates `fn` gets one argument for each, or one with all by name, and returns as many times.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("later", flow.input("xs", "x long").delay(lambda t: t + 10))
        >>> live = flow.run()
        >>> live.insert("xs", [(1,)], time=2)
        >>> live.advance_to(20)
        >>> live.changes("later").rows()
        [(1, 12, 1)]
        """
        if self._graph.scopes[self._node]:
            raise PlanError(
                "delay moves the times of inputs, and this collection is inside a loop.",
                hint="Delay it before the loop, or delay the loop's result.",
            )
        return self._new(n.Linear(self._node, n.Delay(later(fn, self._graph.coordinates))))

    # ---- your own code ----------------------------------------------------------------------

    def map_batches(self, fn: Callable[..., object], schema: object) -> Collection:
        """Your function over whole arrays: a dict of columns in, one of `schema` with as many rows out.

        Numbers and booleans come as arrays of their type; text, dates, decimals, and columns with nulls, as objects.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("double", flow.input("xs", "x long").map_batches(lambda b: {"y": b["x"] * 2}, "y long"))
        >>> flow.compute(xs=[(1,), (4,)])["double"].rows()
        [(2, 1), (8, 1)]
        """
        return self._applied(fn, schema, "batches", "map_batches")

    def map_rows(self, fn: Callable[..., object], schema: object) -> Collection:
        """Your function over each row, a named tuple, gives a row of `schema`.  Slower than expressions.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("hex", flow.input("xs", "x long").map_rows(lambda row: (hex(row.x),), "x string"))
        >>> flow.compute(xs=[(255,)])["hex"].rows()
        [('0xff', 1)]
        """
        return self._applied(fn, schema, "rows", "map_rows")

    def flat_map(self, fn: Callable[..., object], schema: object) -> Collection:
        """Your function over each row gives any number of rows of `schema`.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> lines = flow.input("lines", "line string")
        >>> flow.output("words", lines.flat_map(lambda r: [(w,) for w in r.line.split()], "word string"))
        >>> flow.compute(lines=[("to be or not to be",)])["words"].rows()
        [('be', 2), ('not', 1), ('or', 1), ('to', 2)]
        """
        return self._applied(fn, schema, "flat", "flat_map")

    # ---- PySpark's spellings ----------------------------------------------------------------

    where = filter
    groupBy = group_by
    groupby = group_by
    groupingSets = grouping_sets
    unionByName = union
    unionAll = union
    orderBy = order_by
    printSchema = print_schema

    def withColumn(self, name: str, value: object) -> Collection:
        """PySpark's spelling of `with_columns(name=value)`.

        >>> import ebbflow as ebb
        >>> xs = ebb.Dataflow().input("xs", "x long")
        >>> xs.withColumn("y", xs.x + 1).columns
        ['x', 'y']
        """
        return self.with_columns({name: value})

    def withColumns(self, columns: Mapping[str, object]) -> Collection:
        """PySpark's spelling of `with_columns({name: value, ...})`.

        >>> import ebbflow as ebb
        >>> xs = ebb.Dataflow().input("xs", "x long")
        >>> xs.withColumns({"y": xs.x + 1, "z": xs.x - 1}).columns
        ['x', 'y', 'z']
        """
        return self.with_columns(columns)

    def withColumnRenamed(self, old: str, new: str) -> Collection:
        """PySpark's spelling of `rename({old: new})`.

        >>> import ebbflow as ebb
        >>> ebb.Dataflow().input("xs", "x long").withColumnRenamed("x", "y").columns
        ['y']
        """
        return self.rename({old: new})

    def withColumnsRenamed(self, names: Mapping[str, str]) -> Collection:
        """PySpark's spelling of `rename({old: new, ...})`.

        >>> import ebbflow as ebb
        >>> ebb.Dataflow().input("xs", "x long, y long").withColumnsRenamed({"x": "y", "y": "x"}).columns
        ['y', 'x']
        """
        return self.rename(names)

    def crossJoin(self, other: Collection, suffix: str | None = None) -> Collection:
        """PySpark's spelling of `join(other, how="cross")`.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.input("xs", "x long").crossJoin(flow.input("ys", "y long")).columns
        ['x', 'y']
        """
        return self.join(other, how="cross", suffix=suffix)

    # ---- looking ----------------------------------------------------------------------------

    def inspect(self, fn: Callable[..., object]) -> Collection:
        """The same collection; `fn(changes)` is shown what passes, a Table with `_time` and `_diff`.

        Use what is returned: the rest is not run.  In a loop, every round is shown, at the time of the input.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("xs", "x long").inspect(lambda changes: print(changes.rows())))
        >>> _ = flow.compute(xs=[(1,), (2,)])
        [(1, 0, 1), (2, 0, 1)]
        """
        looks = inspecting.inspector(own_function(fn, "inspect"), self.schema, self._graph.coordinates)
        return self._new(n.Linear(self._node, n.Inspect(looks)))

    def explain(self) -> Lines:
        """The plan that leads to this collection, as text.

        >>> import ebbflow as ebb
        >>> edges = ebb.Dataflow().input("edges", "src long, dst long")
        >>> "filter" in edges.filter(edges.src > 1).explain()
        True
        """
        from ebbflow.dataflow import explain  # only who looks waits for it
        from ebbflow.engine.plan_notes import notes

        graph = self._graph.leading_to(self._node)
        if self._graph.scopes[self._node]:
            return Lines(explain.text(graph))  # what leads out of the loop is not known yet
        asked = self._graph.leading_to(self._node)
        asked.add(n.Output("this", len(asked.nodes) - 1))
        return Lines(explain.text(graph, notes(asked)))

    def __repr__(self) -> str:
        return f"Collection {called(self._graph, self._node)} ({self.schema})"

    def __setitem__(self, name: object, value: object) -> NoReturn:
        raise PlanError(
            "a collection is never changed; what is made of it is another collection.",
            hint=f"Write c = c.with_columns({name}=...).",
        )

    def __iter__(self) -> NoReturn:
        raise NoValueYet(
            "a collection cannot be looped over: its rows are known when the program runs.",
            hint="Name it with flow.output(name, c); then flow.compute(...)[name] is a Table, or live.snapshot(name).",
        )

    def __len__(self) -> NoReturn:
        raise NoValueYet(
            "a collection has no length before the program runs.",
            hint="group_by().count() counts its rows and keeps the count right.",
        )

    def __bool__(self) -> NoReturn:
        raise NoValueYet(
            "a collection is neither true nor false before the program runs.",
            hint="Whether it has rows is a result: group_by().count().",
        )

    # ---- what they share --------------------------------------------------------------------

    def _at(self, node: int) -> Collection:
        return Collection(self._graph, node)

    def _new(self, node: n.Node) -> Collection:
        return self._at(self._graph.add(node, users_place()))

    def _expr(self, given: object, verb: str) -> Expr:
        return computed(self._graph, self._node, given, verb)[1]

    def _there(self, name: object, verb: str) -> str:
        """The name of a column that exists."""
        found = name.output_name if isinstance(name, Column) else name
        if not isinstance(found, str):
            refuse_pyspark(found)
            spelled = f'c["{self.columns[0]}"]' if verb == "[...]" else f'{verb}("{self.columns[0]}")'
            raise NotAnExpression(
                f"{verb} takes the names of columns; got {_shown(found)}.",
                hint=f"For example {spelled}.",
            )
        if found not in self.schema:
            raise unknown_column(
                f'{verb} looks for the column "{found}" in {called(self._graph, self._node)}', found, self.columns
            )
        return str(found)

    def _windows(self, given: list[Any], verb: str) -> tuple[Collection, list[Any]]:
        """The collection with the results of the window functions in what was given, and that over it."""
        flat = [x for one in given for x in (one.values() if isinstance(one, Mapping) else [one])]
        node, found = with_windows(self._graph, self._node, flat, verb)
        each = iter(found)  # a function is called once, so what it gave is used
        over = [{name: next(each) for name in one} if isinstance(one, Mapping) else next(each) for one in given]
        node, over = with_exploded(self._graph, node, over, verb)
        return self if node == self._node else self._at(node), over

    def _kept(self, given: object, verb: str) -> tuple[str, Expr]:
        """A positional column: a name, or an expression that has one."""
        column, expr = computed(self._graph, self._node, given, verb)
        if column.output_name is None:
            raise NotAnExpression(
                f"{verb} does not know what to call {column.tree}.",
                hint=f'Name it: {verb}(total=...), or .alias("total").',
            )
        name = column.output_name
        if name not in self.schema and column.given_name is None:
            name = name.rpartition(".")[2]  # a field of a struct is called as the field
        return name, expr

    def _other(self, other: object, verb: str) -> int:
        if not isinstance(other, Collection):
            refuse_pyspark(other)
            raise PlanError(
                f"{verb} takes a collection; got {_shown(other)}.",
                hint="Inputs are collections: flow.input(name, schema).",
            )
        if other._graph is not self._graph:
            raise PlanError(
                f"{verb} mixes two dataflows: that of {called(self._graph, self._node)}"
                f" and that of {called(other._graph, other._node)}.",
                hint="Make both inputs of one Dataflow.",
            )
        return other._node

    def _next_round(self, answer: object) -> int:
        if not isinstance(answer, Collection):
            raise PlanError(
                f"the body of iterate returns a collection, its next round; got {_shown(answer)}.",
                hint="For example c.iterate(lambda c: c.union(start).distinct()).",
            )
        return self._other(answer, "the body of iterate")

    def _applied(self, fn: object, schema: object, how: str, verb: str) -> Collection:
        return self._new(n.Linear(self._node, n.Apply(own_function(fn, verb), how, schema_of(schema))))


def iterate_together(body: Callable[..., object], /, **starts: Collection) -> tuple[Collection, ...]:
    """`flow.iterate` for who has collections and no flow: a loop of several variables, which start with these."""
    some = next(iter(starts.values()))
    nodes = {name: some._other(start, "iterate") for name, start in starts.items()}
    results, _ = looping.iterate(some._graph, nodes, body, some._next_round, some._at, None, "return")
    return tuple(results)


def _flat(given: Iterable[Any]) -> list[Any]:
    """Arguments one by one, also where they came as a list."""
    return [one for each in given for one in (each if isinstance(each, list | tuple) else [each])]


def _shown(value: object) -> str:
    return f"{value!r}" if value is None or isinstance(value, str | int | float) else f"a {type(value).__name__}"


def _printed(field: Field) -> str:
    return f"{field.name}: {field.type}" + ("" if field.nullable else " not null")
