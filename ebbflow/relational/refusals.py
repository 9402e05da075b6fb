"""What a query asks for that cannot be had: said before anything runs, at its place in the text.

Rule: every refusal names the part of the query, its line and column, and what to write instead.
"""

from __future__ import annotations

from sqlglot import exp

from ebbflow.errors import SqlError

OWN_PART = "Write it another way, or build that part with collections: map_rows(fn, schema) runs your own function."


def place_of(node: exp.Expression) -> str:
    """Where in the query's text a part begins."""
    at = min(
        ((part.meta["line"], part.meta["col"], len(part.name)) for part in node.walk() if "line" in part.meta),
        default=None,
    )
    return "" if at is None else f" (line {at[0]}, column {max(at[1] - at[2] + 1, 1)})"


def shown(node: exp.Expression) -> str:
    text = node.sql(dialect="spark")
    return text if len(text) <= 60 else text[:57] + "..."


def refused(what: str, node: exp.Expression, hint: str | None = None) -> SqlError:
    return SqlError(f"{what.rstrip('.')}, in {shown(node)}{place_of(node)}.", hint=hint)


def word_for(node: exp.Expression) -> str:
    """What people call this part of a query: a function by the name under which it is called."""
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name.lower()}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name().lower()}"
    return {"tuple": "a row of several values"}.get(node.key, node.key.replace("_", " "))


def unsupported(node: exp.Expression, what: str | None = None, hint: str = OWN_PART) -> SqlError:
    """Something that SQL has and ebbflow does not."""
    return SqlError(f"{what or word_for(node)} is not supported, in {shown(node)}{place_of(node)}.", hint=hint)


PARTS_SAY: dict[type[exp.Expression], set[str]] = {
    exp.Star: {"except_", "replace", "rename"},
    exp.Ordered: {"this", "desc", "nulls_first"},
    exp.Order: {"expressions"},
    exp.Limit: {"expression"},
    exp.Fetch: {"direction", "count", "limit_options"},
    exp.LimitOptions: {"rows", "row"},
    exp.Offset: {"expression"},
    exp.Distinct: {"expressions", "on"},
    exp.Column: {"this", "table"},
    exp.Subquery: {"this", "alias", "pivots", "with_", "order", "limit", "offset", "joins"},
    exp.Values: {"expressions", "alias", "order", "limit", "offset", "with_"},
    exp.CTE: {"this", "alias", "materialized"},
    exp.With: {"expressions", "recursive"},
    exp.TableAlias: {"this", "columns"},
    exp.In: {"this", "expressions", "query"},
    exp.Exists: {"this"},
    exp.Filter: {"this", "expression"},
    exp.WithinGroup: {"this", "expression"},
    exp.IgnoreNulls: {"this"},
    exp.RespectNulls: {"this"},
    exp.From: {"this"},
    exp.Where: {"this"},
    exp.Having: {"this"},
    exp.Qualify: {"this"},
}
"""What is read of the parts that make up a query; operators and functions are looked at when they are bound."""
SAID = {
    "db": "a column with the name of a database", "limit_options": "a limit with ties or of a part",
    "percent": "fetch of a part of the rows", "with_ties": "fetch with ties", "join_mark": "an outer join by (+)",
    "sample": "a random sample", "unnest": "in unnest(...)", "with_fill": "an order that fills in rows",
}  # fmt: skip


def check_said(query: exp.Expression) -> None:
    """Refuse a part of a query that says something which is not read."""
    for node in query.walk():
        allowed = PARTS_SAY.get(type(node))
        if allowed is None:
            continue
        for name, value in node.args.items():
            if value not in (None, False, []) and name not in allowed:
                raise unsupported(node, SAID.get(name, f"{word_for(node)} with {name.rstrip('_').replace('_', ' ')}"))


def says_only(node: exp.Expression, allowed: set[str]) -> None:
    """Refuse a clause that is not read: a word that nobody reads would be a wrong answer."""
    for name, value in node.args.items():
        if value not in (None, False, []) and name not in allowed:
            raise unsupported(node, f"{node.key} with {name.rstrip('_').replace('_', ' ')}")
