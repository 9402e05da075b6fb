"""Windows of time: `group by window(ts, '1 hour')`, overlapping ones, and `window.start` and `window.end` of them.

The call adds a column to the rows of its query: the window that a row belongs to, a struct of its start and its end.
Where windows overlap, a row comes once for each of its own.  They begin where Spark's do: counted from 1970 on, by a
clock that runs through.

Rule: a row without a time belongs to no window, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from ebbflow.columns.schema import DATE, LONG, STRING, TIMESTAMP
from ebbflow.expressions.calendar_functions import MICROS
from ebbflow.expressions.operations import MOMENTS, cast, typed
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.aliases import outside_subqueries
from ebbflow.relational.functions import called
from ebbflow.relational.intervals import interval_parts
from ebbflow.relational.refusals import refused
from ebbflow.relational.rows import Rows
from ebbflow.relational.scope import Known

NAME, HIDDEN = "window", "\0window"
MOST_WINDOWS = 1000  # that a row belongs to
QUERY_PARTS = ("expressions", "group", "having", "qualify", "order")  # of a query, which may name a window


def with_time_windows(rows: Rows, query: exp.Select) -> exp.Select:
    """The query with the column of its window in place of the call; the rows have that column from here on."""
    calls = list(dict.fromkeys(call for part in _parts(query) for call in _calls(part)))
    if not calls:
        return query
    if len(calls) > 1:
        raise refused("a query has one window of time, and this is another one", calls[1], "Use a query around it.")
    _add(rows, calls[0])
    tables = [table.lower() for table in rows.scope.tables()]
    column = exp.column(NAME, table=HIDDEN)

    def read(node: exp.Expression) -> exp.Expression:
        if node == calls[0]:
            return column.copy()
        if isinstance(node, exp.Column):
            table = node.args.get("table")
            if table is None and node.name.lower() == NAME and not rows.scope.found(NAME):
                return column.copy()
            if table is not None and table.name.lower() == NAME not in tables:
                return exp.Dot(this=column.copy(), expression=node.this.copy())
        return node

    found = query.copy()
    for name in QUERY_PARTS:
        value = found.args.get(name)
        if isinstance(value, list):
            found.set(name, [_named(part, outside_subqueries(part, read)) for part in value])
        elif value is not None:
            found.set(name, outside_subqueries(value, read))
    return found


def _named(before: exp.Expression, after: exp.Expression) -> exp.Expression:
    """`window.start` in select is called start."""
    if isinstance(after, exp.Dot) and isinstance(before, exp.Column):
        return exp.alias_(after, before.name, quoted=True)
    return after


def _parts(query: exp.Select) -> Iterator[exp.Expression]:
    for name in QUERY_PARTS:
        value = query.args.get(name)
        yield from value if isinstance(value, list) else [] if value is None else [value]


def _calls(node: exp.Expression) -> Iterator[exp.Expression]:
    if isinstance(node, exp.Anonymous) and node.name.lower() == NAME:
        yield node
    elif not isinstance(node, exp.Query):
        for part in node.iter_expressions():
            yield from _calls(part)


def _add(rows: Rows, call: exp.Expression) -> None:
    """The window of each row as a column at the end."""
    if not 2 <= len(call.expressions) <= 4:
        raise refused(
            f"window takes 2 to 4 values, and is given {len(call.expressions)}", call,
            "window(ts, '1 hour'), with a slide and a start: window(ts, '1 hour', '10 minutes', '5 minutes').",
        )  # fmt: skip
    when, *given = call.expressions
    moment = rows.expr(when)
    if moment.type in (DATE, STRING):
        moment = cast(moment, TIMESTAMP)
    if moment.type not in MOMENTS:
        raise refused(f"window is of a timestamp, and this is a {moment.type}", call, "cast(x as timestamp)")
    lengths = [_length(rows, part, call) for part in given]
    length, slide, start = (*lengths, *(lengths[0], 0)[len(lengths) - 1 :])
    if not 0 < slide <= length or abs(start) >= slide:
        raise refused(
            "windows are longer than 0, begin at least as often as they are long, and their start is less than that",
            call, "window(ts, '1 hour', '10 minutes')",
        )  # fmt: skip
    many = -(-length // slide)
    if many > MOST_WINDOWS:
        raise refused(f"a row would belong to {many:,} windows; {MOST_WINDOWS:,} is the most", call, "Slide further.")
    position = len(rows.relation.types)
    rows.relation = a.Filter(rows.relation, typed("not", (typed("is_null", (moment,)),)))
    passed = called("unix_micros", call, [moment])
    if start:
        passed = typed("sub", (passed, Literal(start, LONG)))
    passed = called("pmod", call, [passed, Literal(slide, LONG)])  # since the last window began
    windows = [_window(call, moment, passed, i * slide, length) for i in range(many)]
    if many == 1:
        rows.relation = a.Project(rows.relation, (*a.columns_of(rows.relation), windows[0]))
    else:
        if length % slide:  # the first of them may have ended
            inside = typed("lt", (passed, Literal(length - (many - 1) * slide, LONG)))
            windows[-1] = typed("when", (inside, windows[-1], Literal(None, windows[-1].type)))
        rows.relation = a.Explode(rows.relation, typed("array", windows))
    kind = windows[0].type
    if many > 1 and length % slide:
        there = typed("not", (typed("is_null", (a.column(position, kind),)),))
        rows.relation = a.Filter(rows.relation, there)
    rows.scope.columns.append(Known(HIDDEN, NAME, position, kind, True))


def _window(call: exp.Expression, moment: Expr, passed: Expr, earlier: int, length: int) -> Expr:
    """The window that began so long before the last one."""
    none = Literal(0, LONG)
    start, end = (
        called("later", call, [moment, none, none, typed("sub", (Literal(by, LONG), passed))])
        for by in (-earlier, length - earlier)
    )
    return typed("named_struct", (Literal("start", STRING), start, Literal("end", STRING), end))


def _length(rows: Rows, node: exp.Expression, call: exp.Expression) -> int:
    """A length of time in the text, in microseconds."""
    if isinstance(node, exp.Literal) and node.is_string:
        node = exp.Interval(this=node.copy())
    micros = 0
    if isinstance(node, exp.Interval):
        for amount, unit in interval_parts(node, rows.expr):
            if not isinstance(amount, Literal) or not isinstance(amount.value, int) or unit not in MICROS:
                raise refused("a window is so many weeks, days or less long", call, "Write it in days: '30 days'.")
            micros += amount.value * MICROS[unit]
        return micros
    raise refused("the length of a window is written in the text", call, "For example window(ts, '10 minutes').")
