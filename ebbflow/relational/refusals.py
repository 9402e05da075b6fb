"""What a query asks for that cannot be had: said before anything runs, at its place in the text.

Rule: every refusal names the part of the query, its line and column, and what to write instead.
"""

from __future__ import annotations

from sqlglot import exp

from ebbflow.errors import SqlError


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


def unsupported(node: exp.Expression, what: str | None = None) -> SqlError:
    """Something that SQL has and ebbflow does not."""
    said = what or word_for(node)
    return SqlError(
        f"{said} is not supported, in {shown(node)}{place_of(node)}.",
        hint="Write it another way, or build that part with collections: map_rows(fn, schema) runs your own function.",
    )


def says_only(node: exp.Expression, allowed: set[str]) -> None:
    """Refuse a clause that is not read: a word that nobody reads would be a wrong answer."""
    for name, value in node.args.items():
        if value not in (None, False, []) and name not in allowed:
            raise unsupported(node, f"{node.key} with {name.rstrip('_').replace('_', ' ')}")
