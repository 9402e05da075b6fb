"""What a query asks for that cannot be had: said before anything runs, at its place in the text.

Rule: every refusal names the part of the query, its line and column, and what to write instead.
"""

from __future__ import annotations

from sqlglot import ErrorLevel, exp

from ebbflow.errors import SqlError

WITH_COLLECTIONS = (
    "Write it another way, or build that part with collections: map_rows(fn, schema) runs your own function."
)


def place_of(node: exp.Expression) -> str:
    """Where in the query's text a part begins."""
    at = min(
        ((part.meta["line"], part.meta["col"] - _length(part) + 1) for part in node.walk() if "line" in part.meta),
        default=None,
    )
    return "" if at is None else f" (line {at[0]}, column {max(at[1], 1)})"


def _length(part: exp.Expression) -> int:
    """Of the word or number that sqlglot read: `col` is where it ends."""
    read, is_one_word = part.meta, not isinstance(part.parent, exp.Command)
    return read["end"] - read["start"] + 1 if is_one_word and "start" in read else len(part.name)


def shown(node: exp.Expression) -> str:
    """A part of the query, as Spark writes it."""
    text = written(node)
    return text if len(text) <= 60 else text[:57] + "..."


def written(node: exp.Expression) -> str:
    """The same, all of it."""
    return str(node.transform(_as_called).sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE))


def _as_called(node: exp.Expression) -> exp.Expression:
    """A function that came as it was written, under its own name."""
    if isinstance(node, exp.Anonymous) and type(node) is not exp.Anonymous:
        return exp.Anonymous(this=node.this, expressions=node.expressions)
    return node


def refused(what: str, node: exp.Expression, hint: str | None = None) -> SqlError:
    return SqlError(f"{what.rstrip('.')}, in {shown(node)}{place_of(node)}.", hint=hint)


PART_WORDS = {
    "tuple": "a row of several values", "similarto": "similar to", "querytransform": "a transform by another program",
    "attimezone": "at time zone", "is": "is with anything but null, true, false or unknown", "bracket": "a[...]",
    "placeholder": "a place for a value that comes later", "parameter": "a place for a value that comes later",
    "escape": "like with an escape of its own", "interval": "a length of time as a value",
    "star": "* as a value", "distinct": "distinct behind a value", "filter": "a filter of what is no aggregate",
}  # fmt: skip
A_CLOCK = "Give it as a column of an input: a result that changes by itself cannot be kept."
WAYS = {
    "similarto": "Use a regular expression: s rlike '^(a.*|b)$'.",
    "attimezone": "from_utc_timestamp, to_utc_timestamp.",
    "is": "Compare with =, or is not distinct from.", "placeholder": "Put the value into the text.",
    "parameter": "Put the value into the text.", "escape": "Escape with a backslash: like 'a\\\\_%'.",
    "interval": "Add it to a date or a timestamp, or say in which unit: timestampdiff(second, start, end).",
    "iff": "Write if(condition, a, b).", "strftime": "Write date_format(d, 'yyyy-MM').", "xor": "Write a ^ b.",
    "getdate": A_CLOCK, "now": A_CLOCK, "current_date": A_CLOCK, "current_timestamp": A_CLOCK, "current_time": A_CLOCK,
    "current_user": A_CLOCK, "localtimestamp": A_CLOCK, "rand": A_CLOCK, "random": A_CLOCK, "randn": A_CLOCK,
    "uuid": A_CLOCK, "nextval": "Number rows by a column: row_number() over (order by ...).",
    "first": "Say which: min_by(x, order), any_value(x).", "last": "Say which: max_by(x, order), any_value(x).",
    **dict.fromkeys(
        ("rank", "dense_rank", "row_number", "ntile", "lag", "lead", "percent_rank", "cume_dist", "nth_value"),
        "Say over which rows: row_number() over (partition by k order by x).",
    ),
    "star": "count(*) counts rows; other aggregates are of a column.",
    "distinct": "Put it first: count(distinct a, b).",
    "filter": "Filters stand behind aggregates: sum(x) filter (where ...).",
    "zeroifnull": "Write coalesce(x, 0).", "to_number": "Write cast(x as decimal(10, 2)).",
    "convert": "Write cast(x as type).", "safe_cast": "Write try_cast(x as type).",
    "safe_divide": "Write a / nullif(b, 0).",
    "datetrunc": "Write date_trunc('month', d).", "listagg": "Write string_agg.",
    "string_to_array": "Write split(s, ',').", "collate": "Compare lower(a) with lower(b).",
}  # fmt: skip
"""What to write in Spark's SQL for words that it has not, or that cannot be kept."""


def _called(node: exp.Expression) -> str:
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else str(node.key)


def word_for(node: exp.Expression) -> str:
    """What people call this part of a query: a function by the name under which it is called."""
    if isinstance(node, exp.Func) and not isinstance(node, exp.SimilarTo):
        return f"the function {_called(node)}"
    return PART_WORDS.get(node.key, node.key.replace("_", " "))


def unsupported(node: exp.Expression, what: str | None = None, hint: str | None = None) -> SqlError:
    """Something that SQL has and ebbflow does not."""
    return SqlError(
        f"{what or word_for(node)} is not supported, in {shown(node)}{place_of(node)}.",
        hint=hint or WAYS.get(_called(node), WITH_COLLECTIONS),
    )


PARTS_SAY: dict[type[exp.Expression], set[str]] = {
    exp.Star: {"except_", "replace", "rename"},
    exp.Ordered: {"this", "desc", "nulls_first"},
    exp.Order: {"this", "expressions"},  # `this` in an aggregate: what is collected in that order
    exp.Limit: {"expression"},
    exp.Fetch: {"direction", "count", "limit_options"},
    exp.LimitOptions: {"rows", "row"},
    exp.Offset: {"expression"},
    exp.Distinct: {"expressions", "on"},
    exp.Column: {"this", "table", "db", "catalog"},  # of a struct: table.column.field
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
UNREAD = {
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
                raise unsupported(node, UNREAD.get(name, f"{word_for(node)} with {name.rstrip('_').replace('_', ' ')}"))


NO_ORDER = "Leave it out: the rows of a result have no places."
CLAUSES: dict[str, tuple[str, str | None]] = {
    "cluster": ("cluster by", NO_ORDER), "distribute": ("distribute by", NO_ORDER), "sort": ("sort by", NO_ORDER),
    "into": ("select into", "Name the result: flow.output(name, flow.sql(...))."),
    "locks": ("for update", "Leave it out: a query reads a consistent time."),
    "sample": ("a random sample", "Keep rows by a column: where id % 10 = 0."),
    "version": ("a table as of another time", "Ask for the time when you read: live.snapshot(name, at=time)."),
    "connect": ("connect by", "Write: with recursive t as (select ... union select ... from t ...)."),
    "kind": ("select as struct or value", "Select the columns."),
}  # fmt: skip
"""Clauses that are not read: what people call them, and what to do."""


def says_only(node: exp.Expression, allowed: set[str]) -> None:
    """Refuse a clause that is not read: a word that nobody reads would be a wrong answer."""
    for name, value in node.args.items():
        if value not in (None, False, []) and name not in allowed:
            said, hint = CLAUSES.get(name, (f"{node.key} with {name.rstrip('_').replace('_', ' ')}", None))
            raise unsupported(node, said, hint)
