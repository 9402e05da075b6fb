"""The rows that a part of a query is computed for, and expressions over them.

A subquery inside an expression becomes a column (or a condition) of the rows it is computed for, see `unnest`.

Rule: columns are only ever added at the end, so that what was bound before stays right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from ebbflow.columns.schema import BOOLEAN, STRING, Type
from ebbflow.errors import did_you_mean
from ebbflow.expressions.operations import VOID, cast, typed
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational import unnest
from ebbflow.relational.algebra import Relation
from ebbflow.relational.expressions import AGGREGATES, alike, bound
from ebbflow.relational.refusals import refused, unsupported
from ebbflow.relational.scope import Scope, lookup, read


@dataclass(frozen=True)
class Bound:
    """A relation, what its columns are called, and which of them are nothing but null, of any type."""

    relation: Relation
    names: tuple[str, ...]
    nulls: frozenset[int] = frozenset()

    @property
    def types(self) -> tuple[Type, ...]:
        """Of a column that is nothing but null, VOID."""
        return tuple(VOID if i in self.nulls else kind for i, kind in enumerate(self.relation.types))

    def as_types(self, types: tuple[Type, ...]) -> Relation:
        """With its columns cast to these types."""
        if not self.nulls:
            return a.as_types(self.relation, types)
        read: list[Expr] = list(a.columns_of(self.relation))
        for i in self.nulls:
            read[i] = Literal(None, types[i])
        return a.Project(self.relation, tuple(cast(column, kind) for column, kind in zip(read, types)))


Tables = dict[str, Bound]
Ask = Callable[[exp.Expression, Tables, Scope | None], Bound]


class Groups(Protocol):
    """What rows behind a `group by` know of the rows before it."""

    def lookup(self, rows: Rows, node: exp.Expression) -> Expr | None:
        """The column that holds an expression, if it is a key or an aggregate."""

    def scope_behind(self) -> Scope:
        """What subqueries of grouped rows can name."""


@dataclass
class Rows:
    """The rows that a part of a query is computed for; subqueries in expressions add columns at their end."""

    relation: Relation
    scope: Scope
    tables: Tables
    ask: Ask  # a whole query: what a subquery is
    grouped: Groups | None = None
    windows: dict[exp.Expression, Expr] | None = None  # where they may stand: those that were computed

    # ---- expressions ------------------------------------------------------------------------

    def expr(self, node: exp.Expression) -> Expr:
        """An expression over these rows."""
        if self.grouped is not None:
            found = self.grouped.lookup(self, node)
            if found is not None:
                return found
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Subquery() | exp.Select():
                return self._scalar(node)
            case exp.Exists():
                return self._exists(node)
            case exp.In() if node.args.get("query") is not None:
                return self._member(node.this, node.args["query"])
            case exp.Window():
                return self._window(node)
            case exp.EQ(expression=exp.Any() as choice):
                return self._member(node.this, choice.this)
            case exp.NEQ(expression=exp.All() as choice):
                return typed("not", (self._member(node.this, choice.this),))
            case exp.All() | exp.Any():
                raise unsupported(node, "a comparison with all or any rows of a subquery")
        if type(node) in AGGREGATES:
            raise refused(
                "an aggregate stands where each row has a value of its own",
                node,
                "Aggregates stand in select and having.",
            )
        return bound(node, self.expr)

    def _window(self, node: exp.Expression) -> Expr:
        if self.windows is None or node not in self.windows:
            raise refused(
                "a window function stands in select, qualify and order by only, and not inside another one",
                node,
                "Compute it in a query inside: select ... from (select ..., rank() over (...) as r from t).",
            )
        return self.windows[node]

    def _column(self, node: exp.Expression) -> Expr:
        table = node.args.get("table")
        if isinstance(node.this, exp.Star):
            raise refused("* stands for all columns, and one is wanted", node, "Name the column.")
        found, level = lookup(self.scope, node.name, table.name if table is not None else "")
        if len(found) == 1:
            return read(found[0], level)
        if not found:
            inside = self._field(node)
            if inside is not None:
                return inside
        if found:
            raise refused(
                f'the column "{node.name}" could be any of: {", ".join(map(str, found))}',
                node,
                "Say which: table.column.",
            )
        raise self._unknown(node, table)

    def _field(self, node: exp.Expression) -> Expr | None:
        """A field of a struct: column.field or table.column.field; None where there is no such column."""
        names = [node.args[part].name for part in ("catalog", "db", "table", "this") if node.args.get(part) is not None]
        for start in (1, 0):
            if len(names) <= start + 1:
                continue
            known, _ = lookup(self.scope, names[start], names[0] if start else "")
            if len(known) == 1 and known[0].type.name in ("struct", "array"):
                column = self.expr(exp.column(names[start], table=names[0] if start else None))
                for name in names[start + 1 :]:
                    column = typed("get_field", (column, Literal(name, STRING)))
                return column
        return None

    def _unknown(self, node: exp.Expression, table: exp.Expression | None) -> Exception:
        scopes: list[Scope] = []
        scope: Scope | None = self.scope
        while scope is not None:
            scopes.append(scope)
            scope = scope.around
        tables = [name for one in scopes for name in one.tables()]
        if table is not None and table.name.lower() not in (name.lower() for name in tables):
            return refused(
                f'there is no table "{table.name}" here; there are: {", ".join(tables) or "none"}',
                node, did_you_mean(table.name, tables) or "Name a table of the query's from.",
            )  # fmt: skip
        names = [column.name for one in scopes for column in one.shown(table.name if table is not None else "")]
        where = f'"{table.name}"' if table is not None else ", ".join(tables) or "the query"
        return refused(
            f'there is no column "{node.name}" in {where}, which has: {", ".join(names) or "no columns"}',
            node, did_you_mean(node.name, names) or "Name one of these.",
        )  # fmt: skip

    # ---- subqueries -------------------------------------------------------------------------

    def inner(self, node: exp.Expression) -> Bound:
        """A subquery of these rows."""
        query = node.this if isinstance(node, exp.Subquery) and not node.args.get("with_") else node
        return self.ask(query, self.tables, self.scope if self.grouped is None else self.grouped.scope_behind())

    def _appended(self, relation: Relation) -> Expr:
        self.relation = relation
        return a.columns_of(relation)[-1]

    def _scalar(self, node: exp.Expression) -> Expr:
        found = self.inner(node)
        if len(found.relation.types) != 1:
            raise refused(f"a subquery stands for one value, and has {len(found.names)} columns", node, "Select one.")
        return self._appended(unnest.with_scalar(self.relation, found.relation))

    def _exists(self, node: exp.Expression) -> Expr:
        return self._appended(unnest.with_existence(self.relation, self.inner(node.this).relation))

    def _member(self, value: exp.Expression, query: exp.Expression) -> Expr:
        if isinstance(value, exp.Tuple):
            raise unsupported(value, "a row of several values, other than in where ... in (select ...)")
        found = self._one_column(self.inner(query), query)
        tested = self.expr(value)
        tested, inside = _comparable(tested, found)
        return self._appended(unnest.with_membership(self.relation, tested, inside))

    def _one_column(self, found: Bound, node: exp.Expression) -> Relation:
        if len(found.names) != 1:
            raise refused(
                f"in (...) compares one value, and the subquery has {len(found.names)} columns", node, "Select one."
            )
        return found.relation

    # ---- conditions -------------------------------------------------------------------------

    def keep(self, condition: exp.Expression) -> None:
        """Only the rows for which a condition is true; a subquery that stands for itself becomes a semijoin."""
        for part in sorted(conjuncts_of(condition), key=_has_subquery):  # plain ones connect the tables of from
            negated = isinstance(part, exp.Not)
            asked = bare(part.this) if negated else part
            if isinstance(asked, exp.Exists):
                inner = self.inner(asked.this).relation
                self.relation = unnest.kept_where_exists(self.relation, inner, [], negated)
            elif isinstance(asked, exp.In) and asked.args.get("query") is not None and not negated:
                self._keep_members(asked)
            else:
                found = self.expr(part)
                if found.type not in (BOOLEAN, VOID):
                    raise refused(f"a condition is true or false, and this is a {found.type}", part, "Compare it.")
                self.relation = a.Filter(self.relation, found)

    def _keep_members(self, node: exp.Expression) -> None:
        values = list(node.this.expressions) if isinstance(node.this, exp.Tuple) else [node.this]
        found = self.inner(node.args["query"])
        if len(values) != len(found.names):
            raise refused(
                f"in (...) compares {len(values)} value{'s' if len(values) > 1 else ''}, and the subquery has "
                f"{len(found.names)} columns", node, "Select as many.",
            )  # fmt: skip
        mine = [self.expr(value) for value in values]
        width = len(self.relation.types)
        theirs = a.columns_of(found.relation, width)
        equal: list[Expr] = [typed("eq", alike(one, two)) for one, two in zip(mine, theirs)]
        self.relation = unnest.kept_where_exists(self.relation, found.relation, equal)


def _comparable(value: Expr, inner: Relation) -> tuple[Expr, Relation]:
    """The value and the subquery's column with types that can be compared."""
    one, two = alike(value, a.column(0, inner.types[0]))
    return one, inner if two == a.column(0, inner.types[0]) else a.Project(inner, (two,))


def _has_subquery(node: exp.Expression) -> bool:
    return node.find(exp.Query, exp.Exists) is not None


def bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def conjuncts_of(node: exp.Expression) -> Iterator[exp.Expression]:
    node = bare(node)
    if isinstance(node, exp.And):
        yield from conjuncts_of(node.this)
        yield from conjuncts_of(node.expression)
    else:
        yield node
