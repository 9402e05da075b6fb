"""A DataFrame made into a collection: `flow.dataframe(df)`.

Each table or stream that the DataFrame reads becomes an input of the program, under the name that people call it by.
What a table holds is there when a session begins; from then on it changes as the session is told.

Rule: a DataFrame that is refused leaves the program as it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ebbflow.columns.ddl import checked
from ebbflow.columns.schema import Field, Type
from ebbflow.columns.zones import checked as checked_zone
from ebbflow.columns.zones import same as same_zone
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import DataFrameError, TypeMismatch, UnknownInput, ZoneDiffers, did_you_mean, users_place
from ebbflow.expressions.operations import cast
from ebbflow.expressions.typed import Expr
from ebbflow.frontend.building.shaping import project
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.build import Builder, unique
from ebbflow.relational.catalyst import plan
from ebbflow.relational.catalyst.expressions import reads_clock
from ebbflow.relational.catalyst.leaves import Leaf, Names, fields_of, leaves_of, local_in, read_in
from ebbflow.relational.catalyst.refusals import unsupported
from ebbflow.relational.catalyst.relations import Plans
from ebbflow.relational.catalyst.tree import Node
from ebbflow.relational.catalyst.types import type_of
from ebbflow.relational.traversal import expressions_of, sources_of

MOVING = {
    "CurrentDate", "CurrentTimestamp", "CurrentTime", "Now", "LocalTimestamp", "CurrentBatchTimestamp", "Rand", "Randn",
    "RandStr", "Uniform", "Uuid", "Shuffle", "MonotonicallyIncreasingID", "SparkPartitionID", "InputFileName",
    "InputFileBlockStart", "InputFileBlockLength",
}  # fmt: skip
"""Expressions that mean something else each time they are computed."""

SESSION_MARK = "spark.sessionWindow"  # how Spark marks them: it brings rows of a session together when it runs
OF_SESSIONS = "Number the sessions: sum(if(at - lag(at) is large, 1, 0)) over a window, then group by that number."


class Program(Protocol):
    """What is needed of a Dataflow."""

    graph: Graph
    _leaves: dict[str, Leaf]


class Given(Protocol):
    """What is needed of a Collection."""

    _graph: Graph
    _node: int


@dataclass(frozen=True)
class Built:
    """A DataFrame in a program.  number: of the node that gives it; narrower: (column, its type here, in Spark)."""

    number: int
    relation: Relation
    narrower: tuple[tuple[str, Type, Type], ...]


def collection_of(flow: Program, df: Any, inputs: Any) -> int:
    """The number of the node that gives what the DataFrame asks for."""
    return built(flow, df, inputs).number


def built(flow: Program, df: Any, inputs: Any = None) -> Built:
    """The DataFrame in the program, with inputs for the tables and streams that it reads."""
    bound = _checked_inputs(flow, inputs)
    written = plan.analysed(plan.checked(df))
    for part in written.walk():
        if part.kind in MOVING:
            raise unsupported(
                part,
                "what has another value whenever it is computed",
                "Give it as a column of an input, or a constant.",
            )
        for key in part["groupingExpressions"] or () if part.kind == "Aggregate" else ():
            if isinstance(key["dataType"], dict) and key.has("metadata") and key.java.metadata().contains(SESSION_MARK):
                raise unsupported(key, "a session window", OF_SESSIONS)
    found = plan.optimised(df)
    plan.note_replaced(found, written)
    leaves = _Leaves(flow, df, bound, Names(written), local_in(written))
    graph = flow.graph
    with graph.lock:
        before = len(graph.nodes), len(graph.loops)
        try:
            used, read = read_in(found), [one for one in leaves_of(found) if not leaves.is_nothing(one[0])]
            leaves.check_bound([node for node, _ in read])
            for node, is_whole in read:
                leaves.add(node, used, is_whole)
            rounds = int(df.sparkSession.conf.get("spark.sql.cteRecursionLevelLimit", "100"))
            rows = Plans(leaves.rows, rounds).rows(found)
            relation = _as_spark(rows.relation, df)
            _check_zone(graph, df, relation)
            names = unique(tuple(df.columns))
            checked(Field(name, kind) for name, kind in zip(names, relation.types))
            made = Builder(graph).node(relation)
            number = project(graph, made, [(name, read) for name, read in zip(names, a.columns_of(relation))])
        except BaseException:
            leaves.undo()
            graph._forget(*before)
            raise
    flow._leaves.update(leaves.new)
    return Built(number, relation, tuple(_narrower(names, relation, df)))


def _checked_inputs(flow: Program, inputs: Any) -> dict[str, Given]:
    if inputs is None:
        return {}
    if not isinstance(inputs, Mapping):
        raise TypeMismatch(
            f"inputs= says which collection stands for a table, by its name; got {type(inputs).__name__}.",
            hint='flow.dataframe(df, inputs={"orders": orders})',
        )
    for name, given in inputs.items():
        if getattr(given, "_graph", None) is not flow.graph:
            raise TypeMismatch(
                f'the table "{name}" is to be {type(given).__name__}, which is no collection of this program.',
                hint='flow.dataframe(df, inputs={"orders": orders}), with orders = flow.input("orders", ...).',
            )
    return dict(inputs)


class _Leaves:
    """The leaves of one DataFrame, and the inputs or collections that they are in the program."""

    def __init__(self, flow: Program, df: Any, bound: dict[str, Given], names: Names, local: set[tuple[str, str]]):
        self.flow, self.df, self.bound, self.names, self._local = flow, df, bound, names, local
        self.new: dict[str, Leaf] = {}
        self._read: dict[int, tuple[int, list[int], list[Field]]] = {}  # id of a node -> number, positions, columns
        self._widened: list[tuple[int, n.Input, Leaf, dict[int, Field]]] = []

    def is_nothing(self, node: Node) -> bool:
        """Whether Catalyst put an empty relation where a condition is never true: no table that could change."""
        if node.kind != "LocalRelation" or not node.java.data().isEmpty():
            return False
        return not {(one["name"], json.dumps(one["dataType"])) for one in node["output"]} <= self._local

    def add(self, node: Node, used: set[int], is_whole: bool) -> None:
        """A leaf of the plan, and which of its columns are read."""
        positions = [i for i, one in enumerate(node["output"]) if is_whole or one.id in used]
        if not positions and node["output"]:
            positions = [0]  # its rows count all the same
        columns = fields_of(node, positions)
        hash_ = int(node.java.semanticHash())
        known = {**self.flow._leaves, **self.new}
        leaf = next((one for one in known.values() if one.hash == hash_ and one.is_same(node)), None)
        called = self.names.of(node, hash_)
        if called in self.bound:
            self._bind(node, self.bound[called], called, columns)
            return
        if leaf is None:
            name = self._free(called, known)
            leaf = self.new[name] = Leaf(name, node, self.df, hash_)
            leaf.columns = columns
            schema = leaf.schema
            number = self.flow.graph.add(n.Input(name, schema), users_place())
            self.flow.graph.names[number] = name
        else:
            number = self._widen(leaf, columns)
        self._read[id(node)] = (number, sorted(columns), [columns[i] for i in sorted(columns)])

    def _bind(self, node: Node, given: Given, called: str, columns: dict[int, Field]) -> None:
        """A collection of the program stands for the leaf."""
        schema = given._graph.schemas[given._node]
        for column in columns.values():
            if column.name not in schema.names:
                raise UnknownInput(
                    f'the DataFrame reads the column "{column.name}" of "{called}", and the collection given for it '
                    f"has: {', '.join(schema.names)}.",
                    hint=did_you_mean(column.name, list(schema.names)) or "Give a collection that has it.",
                )
            if schema[column.name] != column.type:
                raise TypeMismatch(
                    f'the column "{column.name}" of "{called}" is a {column.type} in the DataFrame and a '
                    f"{schema[column.name]} in the collection given for it.",
                    hint=f'Cast it: with_columns({column.name}=col("{column.name}").cast("{column.type}")).',
                )
        self._read[id(node)] = (given._node, sorted(columns), [columns[i] for i in sorted(columns)])

    def _free(self, called: str, known: Mapping[str, Leaf]) -> str:
        taken = {node.name for node in self.flow.graph.nodes if isinstance(node, n.Input)}
        name, number = called, 1
        if called in taken and called not in known:
            raise DataFrameError(
                f'the DataFrame reads "{called}", and the program has an input of that name.',
                hint=f'Say that it is the same: flow.dataframe(df, inputs={{"{called}": {called}}}); or give it '
                f'another name: df.createOrReplaceTempView("{called}_table").',
            )
        while name in taken:
            number += 1
            name = f"{called} {number}"
        return name

    def _widen(self, leaf: Leaf, columns: dict[int, Field]) -> int:
        """A leaf that is there already is read with these columns too."""
        graph = self.flow.graph
        number = next(i for i, node in enumerate(graph.nodes) if isinstance(node, n.Input) and node.name == leaf.name)
        if columns.keys() <= leaf.columns.keys():
            return number
        old = graph.nodes[number]
        assert isinstance(old, n.Input)
        for reader in graph.consumers()[number]:
            node = graph.nodes[reader]
            assert isinstance(node, n.Linear) and isinstance(node.action, n.Map), "what reads a leaf names its columns"
        self._widened.append((number, old, leaf, leaf.columns))
        leaf.columns = {**leaf.columns, **columns}
        self._replace(number, n.Input(old.name, leaf.schema, old.key, old.rows))
        return number

    def _replace(self, number: int, node: n.Input) -> None:
        graph = self.flow.graph
        del graph._known[graph.nodes[number]]
        graph.nodes[number], graph.schemas[number] = node, node.schema
        graph._known[node] = number

    def undo(self) -> None:
        for number, node, leaf, columns in reversed(self._widened):
            leaf.columns = columns
            self._replace(number, node)

    def check_bound(self, nodes: list[Node]) -> None:
        """Refuse a collection for a table that is not read."""
        called = list(dict.fromkeys(self.names.of(node, int(node.java.semanticHash())) for node in nodes))
        for name in self.bound:
            if name not in called:
                raise UnknownInput(
                    f'inputs= names the table "{name}"; the DataFrame reads: {", ".join(called)}.',
                    hint=did_you_mean(name, called) or "Name one of these.",
                )

    def rows(self, node: Node) -> tuple[Relation, list[int]]:
        if self.is_nothing(node):
            types = tuple(type_of(one["dataType"], one) for one in node["output"])
            return a.Values((), types), [one.id for one in node["output"]]
        number, positions, columns = self._read[id(node)]
        relation = a.Given(number, tuple(one.name for one in columns), tuple(one.type for one in columns))
        return relation, [node["output"][i].id for i in positions]


def _as_spark(relation: Relation, df: Any) -> Relation:
    """With the types that Spark gives the columns, where ours hold the same values."""
    columns: list[Expr] = []
    for read, field in zip(a.columns_of(relation), df.schema.fields):
        target = _spark_type(field.dataType)
        columns.append(cast(read, target) if target is not None and _holds(read.type, target) else read)
    return relation if tuple(columns) == a.columns_of(relation) else a.Project(relation, tuple(columns))


def _narrower(names: list[str], relation: Relation, df: Any) -> Iterator[tuple[str, Type, Type]]:
    """Columns with fewer digits than Spark gives them."""
    for name, kind, field in zip(names, relation.types, df.schema.fields):
        target = _spark_type(field.dataType)
        if target is not None and target != kind:
            yield name, kind, target


def _spark_type(given: Any) -> Type | None:
    written = json.loads(given.json())
    if written == "void" or (isinstance(written, dict) and written.get("type") == "udt"):
        return None
    return type_of(written, Node("", {}, [], lambda: None))


def _holds(here: Type, target: Type) -> bool:
    if here == target or (here.is_integer and target.is_integer) or (here.is_float and target.is_float):
        return True
    both = here.name == target.name == "decimal"
    return both and here.scale == target.scale and here.precision <= target.precision


def _check_zone(graph: Graph, df: Any, relation: Relation) -> None:
    if not any(map(reads_clock, _expressions(relation))):
        return
    name = str(df.sparkSession.conf.get("spark.sql.session.timeZone"))
    theirs, ours = checked_zone(name), checked_zone(graph.timezone or "UTC")
    if not same_zone(theirs, ours):
        raise ZoneDiffers(
            f"the DataFrame reads clocks of its session's time zone, {name}, and the program has "
            f"{graph.timezone or 'UTC'}.",
            hint=f'ebb.Dataflow(timezone="{name}")',
        )


def _expressions(relation: Relation) -> Iterator[Expr]:
    seen: set[int] = set()
    todo = [relation]
    while todo:
        one = todo.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield from expressions_of(one)
            todo += sources_of(one)
