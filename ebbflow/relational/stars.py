"""`*` in a select: all columns, without some, with some computed otherwise, or under other names.

Rule: what is said of a column that `*` does not stand for is refused; columns keep their places.
"""

from __future__ import annotations

from sqlglot import exp

from ebbflow.errors import did_you_mean
from ebbflow.expressions.typed import Expr
from ebbflow.relational.refusals import refused
from ebbflow.relational.rows import Rows
from ebbflow.relational.scope import Known, read


def star_of(part: exp.Expression) -> exp.Expression | None:
    """The star of `*` or `table.*`; None for any other part of select."""
    if isinstance(part, exp.Star):
        return part
    return part.this if isinstance(part, exp.Column) and isinstance(part.this, exp.Star) else None


def starred(rows: Rows, star: exp.Expression, known: list[Known]) -> list[tuple[str, Expr]]:
    """The columns that a star stands for, by name.  known: all of them."""
    left_out = [part.name for part in star.args.get("except_") or []]
    computed = {part.alias.lower(): part.this for part in star.args.get("replace") or []}
    renamed = {part.this.name.lower(): part.alias for part in star.args.get("rename") or []}
    names = [one.name.lower() for one in known]
    for name in (*left_out, *computed, *renamed):
        if name.lower() not in names:
            raise refused(
                f'there is no column "{name}" among those that * stands for: {", ".join(one.name for one in known)}',
                star, did_you_mean(name, [one.name for one in known]) or "Name one of these.",
            )  # fmt: skip
    gone = {name.lower() for name in left_out}
    found: list[tuple[str, Expr]] = []
    for one in known:
        name = one.name.lower()
        if name in gone:
            continue
        if name in computed:
            value = rows.expr(computed[name])
        elif rows.grouped is not None:
            value = rows.expr(_written(one, star))
        else:
            value = read(one, 0)
        found.append((renamed.get(name, one.name), value))
    if not found:
        raise refused("nothing is left of *", star, "Leave some columns.")
    return found


def _written(known: Known, star: exp.Expression) -> exp.Expression:
    """A column as if it were written where the star is."""
    column = exp.column(known.name, table=known.table or None)
    if "line" in star.meta:
        column.this.meta.update(line=star.meta["line"], col=star.meta["col"] + len(known.name) - 1)
    return column
