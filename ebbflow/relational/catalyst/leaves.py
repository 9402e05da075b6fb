"""The leaves of a plan: the tables and streams that a DataFrame reads.

Rule: a leaf that is read several times is one leaf, with the columns that are read anywhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ebbflow.columns.ddl import checked
from ebbflow.columns.schema import Field, Schema
from ebbflow.errors import ClusterFailed, EbbflowError
from ebbflow.relational.catalyst import plan
from ebbflow.relational.catalyst.relations import LEAVES
from ebbflow.relational.catalyst.tree import Node
from ebbflow.relational.catalyst.types import type_of

NARROWING = {"Project", "Aggregate"}  # what is read below them is in their expressions
PASSING = {
    "Filter", "Join", "Sort", "GlobalLimit", "LocalLimit", "Offset", "SubqueryAlias", "View", "Repartition",
    "RepartitionByExpression", "RebalancePartitions", "ResolvedHint", "Subquery", "ReturnAnswer", "Window", "Generate",
}  # fmt: skip


@dataclass
class Leaf:
    """A table or a stream.  fields: the positions of the columns that are read, and what they are."""

    name: str
    node: Node
    df: Any
    hash: int
    columns: dict[int, Field] = field(default_factory=dict)

    @property
    def is_streaming(self) -> bool:
        return bool(self.node.java.isStreaming())

    @property
    def schema(self) -> Schema:
        return checked(self.columns[i] for i in sorted(self.columns))

    def frame(self) -> Any:
        """Its rows as a DataFrame, with the columns that are read."""
        whole = plan.frame_of(self.df, self.node)
        renamed = whole.toDF(*(f"c{i}" for i in range(len(whole.columns))))
        return renamed.select(*(renamed[f"c{i}"].alias(self.columns[i].name) for i in sorted(self.columns)))

    def delta_path(self) -> str | None:
        """Where it lies, if it is a table of Delta's."""
        if not self.node.kind.startswith("LogicalRelation"):
            return None
        relation = self.node.java.relation()
        if not _is_of_files(relation):
            return None
        files = relation.location()
        return str(files.path().toString()) if ".delta." in files.getClass().getName() else None

    def rows(self) -> Any:
        """Its rows as a table of Arrow."""
        try:
            return self.frame().toArrow()
        except EbbflowError:
            raise
        except Exception as problem:
            said = next((line for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
            raise ClusterFailed(said[:300]) from problem

    def is_same(self, other: Node) -> bool:
        return bool(self.node.java.sameResult(other.java))


def leaves_of(node: Node) -> Iterator[tuple[Node, bool]]:
    """Every leaf of a plan, and whether all its columns are read."""

    def walk(node: Node, is_whole: bool) -> Iterator[tuple[Node, bool]]:
        if node.kind in LEAVES:
            yield node, is_whole
            return
        for tree in node.trees:
            for part in tree.within():
                for inner in part.trees:
                    if inner.is_plan:
                        yield from walk(inner, True)
        below = False if node.kind in NARROWING else is_whole if node.kind in PASSING else True
        for child in node.children:
            yield from walk(child, below)

    yield from walk(node, True)


def read_in(node: Node) -> set[int]:
    """The numbers of all columns that expressions of a plan read; what leaves say of themselves does not count."""
    found: set[int] = set()

    def walk(node: Node) -> None:
        if node.kind in LEAVES:
            return
        if node.kind == "AttributeReference":
            found.add(node.id)
        for tree in node.trees:
            walk(tree)
        for child in node.children:
            walk(child)

    walk(node)
    return found


def local_in(analysed: Node) -> set[tuple[str, str]]:
    """Names and types of the columns of rows that were written in the query, or given to createDataFrame."""
    local = [part for part in analysed.walk() if part.kind == "LocalRelation"]
    return {(one["name"], json.dumps(one["dataType"])) for part in local for one in part["output"]}


def fields_of(leaf: Node, positions: list[int]) -> dict[int, Field]:
    output = leaf["output"]
    return {i: Field(output[i]["name"], type_of(output[i]["dataType"], output[i])) for i in positions}


class Names:
    """What the user calls the leaves of a plan: the name of a view or a table, an alias, a directory."""

    def __init__(self, analysed: Node):
        self._by_hash, self._by_column = _names_in(analysed)

    def of(self, leaf: Node, hash_: int) -> str:
        by_column = [self._by_column[one.id] for one in leaf["output"] if one.id in self._by_column]
        return self._by_hash.get(hash_) or next(iter(by_column), "") or _own_name(leaf) or "table"


def _names_in(analysed: Node) -> tuple[dict[int, str], dict[int, str]]:
    found: dict[int, tuple[int, str]] = {}
    columns: dict[int, str] = {}

    def walk(node: Node, called: str, rank: int) -> None:
        if node.kind == "SubqueryAlias":
            is_of_one = node.children[0].kind == "View" or node.children[0].kind in LEAVES
            called, rank = node["identifier"]["name"], 2 if is_of_one else 1
        elif node.kind in LEAVES:
            own = _own_name(node)
            choice = (rank, called) if rank == 2 or (rank and not own) else (3, own) if own else (0, "")
            if choice[1] and choice > found.get(node.java.semanticHash(), (0, "")):
                found[node.java.semanticHash()] = choice
                columns.update((one.id, choice[1]) for one in node["output"])
            return
        elif node.kind not in ("View", "Project", "Filter"):
            called, rank = "", 0
        for tree in node.trees:
            for part in tree.within():
                for inner in part.trees:
                    if inner.is_plan:
                        walk(inner, "", 0)
        for child in node.children:
            walk(child, called, rank)

    walk(analysed, "", 0)
    return {hash_: name for hash_, (_, name) in found.items()}, columns


def _own_name(leaf: Node) -> str:
    """What a leaf says that it is called: its table, or the directory that it reads."""
    java = leaf.java
    if leaf.kind.startswith("LogicalRelation"):
        table = java.catalogTable()
        if table.isDefined():
            return str(table.get().identifier().table())
        relation = java.relation()
        if _is_of_files(relation):
            paths = relation.location().rootPaths()
            return _stem(str(paths.apply(0).toString())) if paths.size() == 1 else ""
    if leaf.kind == "StreamingRelation":
        source = re.search(r"\[(.*)\]$", str(java.sourceName()))
        path = java.dataSource().options().get("path")
        return _stem(str(path.get())) if path.isDefined() else _stem(source[1]) if source else ""
    if leaf.kind.startswith("DataSourceV2") or leaf.kind.startswith("StreamingRelationV2"):
        identifier = java.identifier()
        return str(identifier.get().name()) if identifier.isDefined() else ""
    return {"Range": "range", "LocalRelation": "values"}.get(leaf.kind, "")


def _is_of_files(relation: Any) -> bool:
    """Whether a relation reads files; Delta's is a class without a name, made of Spark's."""
    kind = relation.getClass()
    while kind is not None and kind.getSimpleName() != "HadoopFsRelation":
        kind = kind.getSuperclass()
    return kind is not None


def _stem(path: str) -> str:
    return os.path.basename(path.rstrip("/*")).split(".")[0]
