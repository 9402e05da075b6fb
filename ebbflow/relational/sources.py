"""What stands in a `from`: tables, queries, joins of every kind, lateral subqueries.

Rule: the columns of what is written first come first; `using` and `natural` make two columns one, which comes first.
"""

from __future__ import annotations

from sqlglot import exp

from ebbflow.errors import did_you_mean
from ebbflow.expressions.operations import typed
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational import unnest
from ebbflow.relational.algebra import Relation
from ebbflow.relational.asof import asof
from ebbflow.relational.conditions import conjunction, same_value
from ebbflow.relational.nested import generated, is_generator
from ebbflow.relational.operators import alike
from ebbflow.relational.pivots import pivoted
from ebbflow.relational.refusals import refused, says_only, unsupported
from ebbflow.relational.rows import Ask, Bound, Rows, Tables, conjuncts_of
from ebbflow.relational.scope import Known, Scope, named, read
from ebbflow.relational.series import is_series, series_of

SIDES = {"LEFT": "left", "RIGHT": "right", "FULL": "full", "": "inner"}
JOIN_SAYS = {"this", "side", "kind", "on", "using", "method"}


def rows_of(query: exp.Select, tables: Tables, around: Scope | None, ask: Ask) -> Rows:
    start = query.args.get("from_")
    if start is None:
        return Rows(a.ONE, Scope([], around), tables, ask)
    relation, columns = _source(start.this, tables, around, ask)
    rows = Rows(relation, Scope(columns, around), tables, ask)
    for join in [*start.this.args.get("joins", []), *query.args.get("joins", [])]:
        _join(rows, join, around)
    for lateral in query.args.get("laterals") or []:
        says_only(lateral, {"this", "view", "outer", "alias"})
        if not is_generator(lateral.this):
            raise unsupported(lateral, "this lateral view")
        generated(rows, lateral.this, *_names_of(lateral.args.get("alias")), bool(lateral.args.get("outer")))
    return rows


def _names_of(alias: exp.Expression | None) -> tuple[str, list[str]]:
    """What a source is called, and its columns."""
    if alias is None:
        return "", []
    return alias.name, [column.name for column in alias.args.get("columns") or []]


def _source(node: exp.Expression, tables: Tables, around: Scope | None, ask: Ask) -> tuple[Relation, list[Known]]:
    """What stands in a from: its relation, and the names of its columns."""
    alias = node.args.get("alias")
    called, renamed = _names_of(alias)
    generator = node.this if isinstance(node, exp.Table) else node
    if is_generator(generator):
        if isinstance(node, exp.Table):
            says_only(node, {"this", "alias", "joins"})
        rows = Rows(a.ONE, Scope([], around), tables, ask)
        generated(rows, generator, called, renamed, False)
        return rows.relation, rows.scope.columns
    match node:
        case exp.Table():
            says_only(node, {"this", "alias", "joins", "pivots", "db", "catalog"})
            if not isinstance(node.this, exp.Identifier):
                if not is_series(node.this):
                    raise unsupported(node, "this function in from", "range and generate_series stand there.")
                found = series_of(node.this, called, tables, around, ask)
            else:
                found = _table(node, tables)
                called = called or node.name
        case exp.Subquery() if isinstance(node.this, exp.Table):  # brackets around joins
            relation, columns = _source(node.this, tables, around, ask)
            inner = Rows(relation, Scope(columns, around), tables, ask)
            for join in node.this.args.get("joins", []):
                _join(inner, join, around)
            return inner.relation, inner.scope.columns
        case exp.Subquery() | exp.Values() | exp.Select():
            found = ask(node if isinstance(node, exp.Values) else node.this, tables, around)
        case _:
            raise unsupported(node)
    for pivot in node.args.get("pivots") or []:  # the names behind it are those of what it makes
        given = Rows(found.relation, Scope(named("", found.names, found.relation.types), around), tables, ask)
        found = pivoted(given, pivot)
        alias = pivot.args.get("alias") or alias
        called, renamed = _names_of(alias)
    names = [*renamed, *found.names[len(renamed) :]]
    if len(renamed) > len(found.names):
        raise refused(
            f"{len(renamed)} names are given to {len(found.names)} columns", node, "Name as many as there are."
        )
    return found.relation, named(called, names, found.relation.types)


def _table(node: exp.Expression, tables: Tables) -> Bound:
    """An input or a common table; lake.orders is the input of that name."""
    written = ".".join(part.name for part in (node.args.get("catalog"), node.args.get("db"), node.this) if part)
    found = tables.get(written.lower())
    if found is None:
        plain = "" if written == node.name or node.name.lower() not in tables else f'Write "{node.name}" alone.'
        raise refused(
            f'there is no input or table "{written}"; there are: {", ".join(tables) or "none"}', node,
            plain or did_you_mean(written, list(tables)) or "Inputs are declared with flow.input(name, schema).",
        )  # fmt: skip
    return found


def _join(rows: Rows, join: exp.Expression, around: Scope | None) -> None:
    says_only(join, JOIN_SAYS)
    side, how = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
    method = (join.args.get("method") or "").upper()
    kind = {"SEMI": "semi", "ANTI": "anti"}.get(how) or SIDES.get(side)
    if kind is None or method not in ("", "NATURAL", "ASOF"):
        raise unsupported(join, f"{method or side} join".lower())
    generator = join.this.this if isinstance(join.this, exp.Lateral | exp.Table) else join.this
    if is_generator(generator):
        on = join.args.get("on")
        if kind not in ("inner", "left") or not (on is None or (isinstance(on, exp.Boolean) and on.this)):
            raise unsupported(join, "a join with the elements of an array by a condition")
        is_outer_apply = isinstance(join.this, exp.Lateral) and join.this.args.get("cross_apply") is False
        generated(rows, generator, *_names_of(join.this.args.get("alias")), kind == "left" or is_outer_apply)
        return
    if _reads_before(join.this):
        _lateral(rows, join, kind)
        return
    if isinstance(join.this, exp.Lateral):
        is_outer_apply = join.this.args.get("cross_apply") is False
        _lateral(rows, join, "left" if is_outer_apply else kind)
        return
    relation, columns = _source(join.this, rows.tables, around, rows.ask)
    width = len(rows.relation.types)
    theirs = [Known(c.table, c.name, c.position + width, c.type, c.is_hidden) for c in columns]
    using = [column.name for column in join.args.get("using") or []]
    if method == "NATURAL":
        shown = {column.name.lower() for column in theirs if not column.is_hidden}
        using = [column.name for column in rows.scope.shown() if column.name.lower() in shown]
    both = Rows(
        a.Join(rows.relation, relation, "inner"), Scope([*rows.scope.columns, *theirs], around), rows.tables, rows.ask
    )
    parts: list[Expr] = []
    pairs: list[tuple[Known, Known]] = []
    for name in using:
        mine, other = rows.scope.found(name), Scope(theirs).found(name)
        if len(mine) != 1 or len(other) != 1:
            raise refused(f'using ({name}) needs one column "{name}" on each side', join, "Write on a.x = b.y.")
        pairs.append((mine[0], other[0]))
        parts.append(typed("eq", alike(read(mine[0], 0), read(other[0], 0))))
    on = join.args.get("on")
    if method == "ASOF":
        if on is not None:
            parts += [both.expr(part) for part in conjuncts_of(on)]
        elif parts:  # the last of using is what the nearest is looked for by
            parts[-1] = typed("ge", alike(read(pairs[-1][0], 0), read(pairs[-1][1], 0)))
        rows.relation = asof(rows.relation, relation, kind, parts, join)
    elif on is not None and on.find(exp.Query, exp.Exists):
        both.relation = a.Join(rows.relation, relation, "inner", conjunction(parts))
        both.keep(on)
        rows.relation = _of_pairs(rows.relation, relation, kind, both.relation)
    else:
        if on is not None:
            parts.append(both.condition(on))
        rows.relation = a.Join(rows.relation, relation, kind, conjunction(parts))
    if kind not in ("semi", "anti"):
        rows.scope.columns += theirs
    for at, (one, two) in enumerate(pairs):
        _merge(rows, kind, one, two, at)


def _of_pairs(left: Relation, right: Relation, kind: str, pairs: Relation) -> Relation:
    """A join of which the pairs are known: those, and the rows of a side that are in none of them."""
    width = len(left.types)
    both = width + len(right.types)
    pairs = a.Project(pairs, a.columns_of(pairs)[:both])
    if kind == "inner":
        return pairs

    def rest(side: Relation, start: int, how: str) -> Relation:
        there = a.Distinct(a.Project(pairs, a.columns_of(pairs)[start : start + len(side.types)]))
        behind = a.columns_of(there, len(side.types))
        same = [same_value(one, two) for one, two in zip(a.columns_of(side), behind)]
        return a.Join(side, there, how, conjunction(same))

    if kind in ("semi", "anti"):
        return rest(left, 0, kind)
    found: list[Relation] = [pairs]
    if kind in ("left", "full"):
        nulls = [Literal(None, type_) for type_ in right.types]
        found.append(a.Project(rest(left, 0, "anti"), (*a.columns_of(left), *nulls)))
    if kind in ("right", "full"):
        nulls = [Literal(None, type_) for type_ in left.types]
        found.append(a.Project(rest(right, width, "anti"), (*nulls, *a.columns_of(right))))
    return a.Union(tuple(found))


def _merge(rows: Rows, kind: str, mine: Known, other: Known, at: int) -> None:
    """The two columns of `using` are one, which comes first, also before those of joins before; each keeps its name
    with its table's."""
    columns = rows.scope.columns
    if kind in ("semi", "anti"):
        columns.insert(at, columns.pop(columns.index(mine)))
        return
    hidden = (mine, other)
    merged = mine if kind in ("inner", "left") else other
    position, type_ = merged.position, merged.type
    if kind == "full":
        value = typed("coalesce", (read(mine, 0), read(other, 0)))
        rows.relation = a.Project(rows.relation, (*a.columns_of(rows.relation), value))
        position, type_ = len(rows.relation.types) - 1, value.type
    rest = [Known(c.table, c.name, c.position, c.type, True) if c in hidden else c for c in columns]
    rest.insert(at, Known("", mine.name, position, type_))
    rows.scope.columns = rest


def _reads_before(node: exp.Expression) -> bool:
    """Whether it is a series of what stands before it in from, which needs no `lateral`."""
    return isinstance(node, exp.Table) and is_series(node.this) and node.this.find(exp.Column) is not None


def _lateral(rows: Rows, join: exp.Expression, kind: str) -> None:
    """A subquery, or a series, that reads what stands before it in from."""
    node = join.this
    alias = node.args.get("alias")
    if kind not in ("inner", "left") or not (isinstance(node.this, exp.Subquery) or is_series(node.this)):
        raise unsupported(join, "this lateral join", "cross join lateral (...), left join lateral (...) on true.")
    if is_series(node.this):
        called = alias.name if alias is not None else ""
        found = series_of(node.this, called, rows.tables, rows.scope, rows.ask)
    else:
        found = rows.ask(node.this.this, rows.tables, rows.scope)
    renamed = [column.name for column in alias.args.get("columns") or []] if alias is not None else []
    names = [*renamed, *found.names[len(renamed) :]]
    width = len(rows.relation.types)
    theirs = [
        Known(alias.name if alias is not None else "", name, width + i, type_)
        for i, (name, type_) in enumerate(zip(names, found.relation.types))
    ]
    on = join.args.get("on")
    scope = Scope([*rows.scope.columns, *theirs], rows.scope.around)
    both = Rows(a.Join(rows.relation, found.relation, "inner"), scope, rows.tables, rows.ask)
    asked = [] if on is None or (isinstance(on, exp.Boolean) and on.this) else [both.expr(on)]

    def combine(left: Relation, right: Relation, parts: list[Expr]) -> Relation:
        joined = a.Join(left, right, kind, conjunction([*asked, *parts]))
        return a.Project(joined, a.columns_of(joined)[: width + len(theirs)])

    rows.relation = unnest.attached(rows.relation, found.relation, combine)
    rows.scope.columns += theirs
