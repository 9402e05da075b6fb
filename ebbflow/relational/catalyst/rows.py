"""Rows of a plan: a relation, and the numbers by which Catalyst knows its columns.

Rule: columns are only ever added at the end, so that what was bound before stays right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ebbflow.columns.schema import BOOLEAN
from ebbflow.expressions.operations import VOID, cast
from ebbflow.expressions.typed import Expr
from ebbflow.relational import algebra as a
from ebbflow.relational import unnest
from ebbflow.relational.algebra import Relation
from ebbflow.relational.catalyst.expressions import bound
from ebbflow.relational.catalyst.refusals import unsupported
from ebbflow.relational.catalyst.tree import Node


class Plans(Protocol):
    """What makes rows of a plan: of the one inside a subquery, too."""

    def rows(self, node: Node) -> Rows: ...


@dataclass
class Rows:
    """A relation, and the numbers by which Catalyst knows its columns; subqueries add columns at its end."""

    relation: Relation
    ids: list[int]
    plans: Plans

    def column(self, node: Node) -> Expr:
        at = self.ids.index(node.id) if node.id in self.ids else None
        if at is None:
            raise unsupported(node, "a column of a query around this one", "Write the subquery as a join.")
        return a.column(at, self.relation.types[at])

    def scalar(self, node: Node) -> Expr:
        if node.children:
            raise unsupported(node, "a subquery that reads the query around it in this way", "Write it as a join.")
        inner = self.plans.rows(node["plan"]).relation
        self.relation = unnest.with_scalar(self.relation, inner)
        self.ids.append(-len(self.ids))
        return a.columns_of(self.relation)[-1]

    def known(self, node: Node) -> Expr | None:
        return None

    def expr(self, node: Node) -> Expr:
        return bound(node, self)

    def condition(self, node: Node) -> Expr:
        found = self.expr(node)
        return cast(found, BOOLEAN) if found.type == VOID else found

    def first(self, width: int) -> Rows:
        """Without the columns of subqueries."""
        if len(self.relation.types) == width:
            return self
        return Rows(a.Project(self.relation, a.columns_of(self.relation)[:width]), self.ids[:width], self.plans)
