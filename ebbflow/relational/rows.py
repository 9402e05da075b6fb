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
from ebbflow.relational.expressions import AGGREGATES, bound
from ebbflow.relational.operators import alike
from ebbflow.relational.refusals import place_of, refused, shown
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


COMPARED: dict[type[exp.Expression], str] = {
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge",
}  # fmt: skip
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
    later: tuple[str, ...] = ()  # the names that select gives, which where does not know yet

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
                return self._member(node, node.this, node.args["query"])
            case exp.Window():
                return self._window(node)
            case exp.EQ(expression=exp.Any() as choice):
                return self._member(node, node.this, choice.this)
            case exp.NEQ(expression=exp.All() as choice):
                return typed("not", (self._member(node, node.this, choice.this),))
            case exp.Binary(expression=exp.All() | exp.Any() as choice) if type(node) in COMPARED:
                return self._compared(node, choice)
            case exp.All() | exp.Any():
                raise refused("all and any stand behind a comparison", node, "For example: x > all (select y from u).")
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
            if len(known) == 1 and _has_fields(known[0].type):
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
        if table is None and node.name.lower() in self.later:
            return refused(
                f'"{node.name}" is a name that select gives, which is computed later', node,
                "Repeat what it stands for, or select from a query inside: select ... from (select ...) where ...",
            )  # fmt: skip
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
        return self._appended(unnest.with_scalar(self.relation, found.relation, f"{shown(node)}{place_of(node)}"))

    def _exists(self, node: exp.Expression) -> Expr:
        return self._appended(unnest.with_existence(self.relation, self.inner(node.this).relation))

    def _member(self, node: exp.Expression, value: exp.Expression, query: exp.Expression) -> Expr:
        values = _values_of(value)
        found = self.inner(query)
        if len(values) != len(found.names):
            raise _differ(node, values, found)
        tested, inside = self._comparable([self.expr(value) for value in values], found)
        if len(values) == 1:
            return self._appended(unnest.with_membership(self.relation, tested[0], inside))
        return self._appended(unnest.with_row_membership(self.relation, tested, inside))

    def _compared(self, node: exp.Expression, choice: exp.Expression) -> Expr:
        """x > all (select ...), x <= any (select ...)."""
        found = self.inner(choice.this)
        if len(found.names) != 1:
            raise _differ(node, [node.this], found)
        (tested,), inside = self._comparable([self.expr(node.this)], found)
        op, is_all = COMPARED[type(node)], isinstance(choice, exp.All)
        return self._appended(unnest.with_comparison(self.relation, op, tested, inside, is_all))

    def _comparable(self, values: list[Expr], found: Bound) -> tuple[list[Expr], Relation]:
        """The values and the subquery's columns with types that can be compared."""
        columns = a.columns_of(found.relation)
        pairs = [alike(one, two) for one, two in zip(values, columns)]
        theirs = tuple(two for _, two in pairs)
        return [one for one, _ in pairs], found.relation if theirs == columns else a.Project(found.relation, theirs)

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
                width = len(self.relation.types)
                found = self.condition(part)  # first: a subquery in it adds a column to the rows
                self.relation = a.Filter(self.relation, found)
                if len(self.relation.types) > width:  # nobody else reads it
                    self.relation = a.Project(self.relation, a.columns_of(self.relation)[:width])

    def condition(self, node: exp.Expression) -> Expr:
        """What is true or false of each row."""
        found = self.expr(node)
        if found.type not in (BOOLEAN, VOID):
            raise refused(f"a condition is true or false, and this is a {found.type}", node, "Compare it.")
        return cast(found, BOOLEAN) if found.type == VOID else found

    def _keep_members(self, node: exp.Expression) -> None:
        values = _values_of(node.this)
        found = self.inner(node.args["query"])
        if len(values) != len(found.names):
            raise _differ(node, values, found)
        mine = [self.expr(value) for value in values]
        width = len(self.relation.types)
        theirs = a.columns_of(found.relation, width)
        equal: list[Expr] = [typed("eq", alike(one, two)) for one, two in zip(mine, theirs)]
        self.relation = unnest.kept_where_exists(self.relation, found.relation, equal)


def _values_of(node: exp.Expression) -> list[exp.Expression]:
    node = bare(node)
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def _differ(node: exp.Expression, values: list[exp.Expression], found: Bound) -> Exception:
    how = "in (...)" if isinstance(node, exp.In) else "it"
    many, columns = len(values), len(found.names)
    return refused(
        f"{how} compares {many} value{'s' if many > 1 else ''}, and the subquery has {columns} "
        f"column{'s' if columns > 1 else ''}", node, "Select as many.",
    )  # fmt: skip


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


def _has_fields(kind: Type) -> bool:
    """A struct, or an array of structs, of which a field is the array of their fields."""
    return kind.name == "struct" or (kind.name == "array" and kind.element.name == "struct")
