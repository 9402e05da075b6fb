"""Aliases of a select: what they stand for, where other parts of the query name them.

Rule: a subquery has names of its own, which no alias around it touches.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ebbflow.relational.refusals import written


def spelled_out(query: exp.Select, aliases: dict[str, exp.Expression]) -> exp.Select:
    """The query with what an alias stands for where a later part of select names it."""
    known: dict[str, exp.Expression] = {}
    parts = []
    for part in query.expressions:
        meant = with_aliases(part, known) if known else part
        if meant is not part and meant != part and not isinstance(part, exp.Alias):
            meant = exp.alias_(meant, name_of(part), quoted=True)
        parts.append(meant)
        if isinstance(part, exp.Alias) and part.alias.lower() in aliases:
            known[part.alias.lower()] = meant.this
    if parts == query.expressions:
        return query
    found = query.copy()
    found.set("expressions", parts)
    return found


def name_of(part: exp.Expression) -> str:
    """What a column of select is called."""
    if isinstance(part, exp.Alias):
        return str(part.alias)
    return str(part.name) if isinstance(part, exp.Column) else written(part).lower()


def with_aliases(node: exp.Expression, aliases: dict[str, exp.Expression]) -> exp.Expression:
    """What aliases stand for in their place.  A subquery has names of its own, and keeps them."""

    def change(part: exp.Expression) -> exp.Expression:
        if isinstance(part, exp.Column) and part.args.get("table") is None and part.name.lower() in aliases:
            return exp.Paren(this=aliases[part.name.lower()].copy())
        return part

    return outside_subqueries(node, change)


def outside_subqueries(node: exp.Expression, change: Callable[[exp.Expression], exp.Expression]) -> exp.Expression:
    """An expression with its parts changed, but for those of subqueries."""

    def kept_or_changed(part: exp.Expression) -> exp.Expression:
        return _kept_aside(part, hidden) if isinstance(part, exp.Query) else change(part)

    hidden: list[exp.Expression] = []
    changed = node.transform(kept_or_changed)
    if not hidden:
        return changed
    return changed.transform(lambda part: hidden[part.this] if isinstance(part, exp.Placeholder) else part)


def _kept_aside(part: exp.Expression, hidden: list[exp.Expression]) -> exp.Expression:
    hidden.append(part)
    return exp.Placeholder(this=len(hidden) - 1)
