"""Catalyst's plans made into relations.

Catalyst knows a column by a number of its own; a relation knows it by position.  Each plan becomes `Rows`: a relation,
and the number of each of its columns.  A scalar subquery adds a column to the rows that it is compared with.

Rule: the rows of a plan have the columns that Catalyst says it has, in that order; a plan that has no line here is
refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ebbflow.columns.schema import BOOLEAN, LONG, Type
from ebbflow.expressions import guards
from ebbflow.expressions.operations import VOID, cast, common_type, typed
from ebbflow.expressions.typed import Call, Column, Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.catalyst import groups, nested, tree
from ebbflow.relational.catalyst.expressions import bound
from ebbflow.relational.catalyst.refusals import refused, unsupported
from ebbflow.relational.catalyst.rows import Rows
from ebbflow.relational.catalyst.tree import Node
from ebbflow.relational.catalyst.windows import with_windows
from ebbflow.relational.conditions import conjunction, conjuncts, same_value
from ebbflow.relational.traversal import why_not_linear

Leaf = Callable[[Node], tuple[Relation, list[int]]]
LEAVES = {
    "LogicalRelation", "LogicalRelationWithTable", "DataSourceV2Relation", "DataSourceV2ScanRelation", "LogicalRDD",
    "LocalRelation", "Range", "HiveTableRelation", "StreamingRelation", "StreamingRelationV2",
    "StreamingExecutionRelation", "StreamingDataSourceV2Relation", "StreamingDataSourceV2ScanRelation",
    "InMemoryRelation", "ExternalRDD", "CommandResult",
}  # fmt: skip
SAME_ROWS = {
    "SubqueryAlias", "View", "Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions", "ResolvedHint",
    "Subquery", "ReturnAnswer", "LocalLimit",
}  # fmt: skip
JOINS = {
    "Inner": "inner", "Cross": "inner", "LeftOuter": "left", "RightOuter": "right", "FullOuter": "full",
    "LeftSemi": "semi", "LeftAnti": "anti",
}  # fmt: skip
WHY_NOT_ROWS = {
    "EventTimeWatermark": (
        "a watermark (Spark drops the rows behind it)",
        "Leave withWatermark out: every row counts here, however late it comes.",
    ),
    "Sample": ("a random sample", "Filter by a hash of the key instead."),
    "ArrowEvalPython": ("a Python function", "Use a collection: map_rows(fn, schema) or map_batches(fn, schema)."),
    "BatchEvalPython": ("a Python function", "Use a collection: map_rows(fn, schema) or map_batches(fn, schema)."),
    "MapInPandas": ("a function of your own", "Use a collection's map_batches(fn, schema)."),
    "MapInArrow": ("a function of your own", "Use a collection's map_batches(fn, schema)."),
    "FlatMapGroupsInPandas": ("a function of your own", "Use a collection's group_by(...).reduce(fn, schema)."),
    "Tail": ("tail", "Turn the order around and use limit."),
}


class Plans:
    """Makes rows of plans.  leaf: what a leaf of the plan becomes; rounds: that a recursive table has at most."""

    def __init__(self, leaf: Leaf, rounds: int):
        self._leaf, self._rounds = leaf, rounds
        self._loops: dict[int, a.Variable] = {}

    def rows(self, node: Node) -> Rows:
        if node.kind in LEAVES:
            relation, ids = self._leaf(node)
            return Rows(relation, ids, self)
        if node.kind in SAME_ROWS:
            return self.rows(node.children[0])
        made = getattr(self, f"_{node.kind.lower()}", None)
        if made is not None:
            return made(node)  # type: ignore[no-any-return]
        raise unsupported(node, *WHY_NOT_ROWS.get(node.kind, ()))

    # ---- rows one by one --------------------------------------------------------------------

    def _onerowrelation(self, node: Node) -> Rows:
        return Rows(a.ONE, [], self)

    def _project(self, node: Node) -> Rows:
        return self._computed(self.rows(node.children[0]), node["projectList"])

    def _computed(self, rows: Rows, columns: Sequence[Node]) -> Rows:
        exprs = tuple(_typed(rows.expr(column)) for column in columns)
        return Rows(a.Project(rows.relation, exprs), [column.id for column in columns], self)

    def _filter(self, node: Node) -> Rows:
        rows = self.rows(node.children[0])
        width = len(rows.ids)
        condition = rows.condition(node["condition"])
        rows.relation = a.Filter(rows.relation, condition)
        return rows.first(width)

    def _union(self, node: Node) -> Rows:
        parts = [self.rows(child) for child in node.children]
        types: list[Type] = []
        for i, kinds in enumerate(zip(*(part.relation.types for part in parts))):
            kind = common_type(kinds)
            if kind is None:
                raise refused(f"column {i + 1} of a union is of {' and '.join(map(str, kinds))}", node, "Cast one.")
            types.append(kind)
        return Rows(a.Union(tuple(a.as_types(part.relation, tuple(types)) for part in parts)), parts[0].ids, self)

    def _expand(self, node: Node) -> Rows:
        rows = self.rows(node.children[0])
        lists = node["projections"]
        if not lists or not all(isinstance(one, Node) for each in lists for one in each):
            found = node.java.projections()
            lists = [
                [tree.of(found.apply(i).apply(k)) for k in range(found.apply(i).size())] for i in range(found.size())
            ]
        exprs = [[rows.expr(one) for one in each] for each in lists]
        types = [common_type([each[i].type for each in exprs]) or VOID for i in range(len(exprs[0]))]
        parts = tuple(
            a.Project(rows.relation, tuple(_typed(cast(one, kind)) for one, kind in zip(each, types))) for each in exprs
        )
        ids = [one.id for one in node["output"]]
        return Rows(a.Union(parts) if len(parts) > 1 else parts[0], ids, self)

    def _generate(self, node: Node) -> Rows:
        """Arrays and maps taken apart; columns of the child that nobody reads behind it are left out."""
        generator = node["generator"]
        rows = self.rows(node.children[0])
        width = len(rows.ids)
        if generator.kind in nested.TAKEN_APART_BY:
            array = rows.expr(generator.children[0])
            rows.relation = nested.taken_apart(rows.relation, node, array)
        elif generator.kind in nested.SEVERAL_ROWS:
            given = [rows.expr(one) for one in generator.children]
            rows.relation = nested.SEVERAL_ROWS[generator.kind](rows.relation, node, given)
        else:
            said = "a function that makes several rows of one in its own way"
            raise unsupported(node, said, "Explode an array of structs: inline(array(struct(...), ...)).")
        left_out = node.java.unrequiredChildIndex()
        gone = {int(left_out.apply(i)) for i in range(left_out.size())}
        behind = range(len(rows.relation.types) - len(node["generatorOutput"]), len(rows.relation.types))
        kept = [i for i in range(width) if i not in gone]
        columns = a.columns_of(rows.relation)
        ids = [*(rows.ids[i] for i in kept), *(one.id for one in node["generatorOutput"])]
        return Rows(a.Project(rows.relation, tuple(columns[i] for i in (*kept, *behind))), ids, self)

    def _distinct(self, node: Node) -> Rows:
        rows = self.rows(node.children[0])
        return Rows(a.Distinct(rows.relation), rows.ids, self)

    def _unionloop(self, node: Node) -> Rows:
        """`with recursive`: Spark has `union all` there, and an error beyond so many rounds."""
        number, start = int(node["id"]), self.rows(node.children[0])
        if node["limit"] is not None:
            raise unsupported(node, "a limit inside a recursive table", "Limit what is read from it.")
        ids = [int(one["id"]) for one in node["outputAttrIds"]]
        variable = self._loops[number] = a.Variable(f"recursive table {number}", start.relation.types)
        step = self.rows(node.children[1]).relation
        problem = why_not_linear(step, variable)
        if problem is not None:
            raise refused(f"the step of a recursive table {problem}", node, "flow.sql has `with recursive ... union`.")
        most = self._rounds if node["maxDepth"] is None else int(node["maxDepth"])
        rounds = None if most < 0 else most + 1  # one more finds out that nothing follows
        loop = a.Loop(variable.name, start.relation, a.as_types(step, variable.types), False, rounds)
        return Rows(loop, ids, self)

    def _unionloopref(self, node: Node) -> Rows:
        return Rows(self._loops[int(node["loopId"])], [one.id for one in node["output"]], self)

    # ---- order ------------------------------------------------------------------------------

    def _globallimit(self, node: Node) -> Rows:
        return self._cut_off(node)

    def _offset(self, node: Node) -> Rows:
        return self._cut_off(node)

    def _cut_off(self, node: Node) -> Rows:
        """Limits and offsets, the projections between them and the order, and the order."""
        cuts: list[tuple[str, int]] = []
        projections: list[Node] = []
        while True:
            if node.kind in ("GlobalLimit", "Offset") and not projections:
                name = "limitExpr" if node.kind == "GlobalLimit" else "offsetExpr"
                cuts.append((node.kind, self._number(node[name])))
            elif node.kind == "Project" and _leads_to_order(node):
                projections.append(node)
            elif node.kind not in ("LocalLimit", "SubqueryAlias"):
                break
            node = node.children[0]
        count, skipped = None, 0
        for kind, number in reversed(cuts):
            if kind == "Offset":
                skipped += number
                count = None if count is None else max(count - number, 0)
            else:
                count = number if count is None else min(count, number)
        order = node["order"] if node.kind == "Sort" else []
        rows = self.rows(node.children[0] if node.kind == "Sort" else node)
        width = len(rows.ids)
        by = tuple(
            (rows.expr(one.children[0]), one["direction"] == "Descending", one["nullOrdering"] == "NullsFirst")
            for one in order
        )
        rows.relation = a.Top(rows.relation, (), by, count, skipped)
        rows = rows.first(width)
        for projection in reversed(projections):
            rows = self._computed(rows, projection["projectList"])
        return rows

    def _number(self, node: Node) -> int:
        if node.kind != "Literal" or node["value"] is None:
            raise unsupported(node, "a limit that is computed", "Write the number itself.")
        return int(node["value"])

    # ---- joins ------------------------------------------------------------------------------

    def _join(self, node: Node) -> Rows:
        left, right = (self.rows(child) for child in node.children)
        how, written = node["joinType"], node["condition"]
        if isinstance(how, dict):
            name = how["product-class"].rsplit(".", 1)[-1]
            if name != "ExistenceJoin":
                raise unsupported(node, f"a join of the kind {name}")
            return self._existence(node, left, right, written)
        if how == "LeftSingle":
            return self._at_most_one(left, right, written)
        if how not in JOINS:
            raise unsupported(node, f"a join of the kind {how}")
        kind = JOINS[how]
        width = len(left.ids)
        condition = self._condition(left, right, written)  # may add columns to the left
        if kind == "anti" and (found := self._not_in(left, right, condition)) is not None:
            return Rows(found, left.ids, self).first(width)
        relation: Relation = a.Join(left.relation, right.relation, kind, condition)
        if kind in ("semi", "anti"):
            return Rows(relation, left.ids, self).first(width)
        extra = len(left.ids) - width
        if extra:
            columns = a.columns_of(relation)
            relation = a.Project(relation, (*columns[:width], *columns[width + extra :]))
        return Rows(relation, [*left.ids[:width], *right.ids], self)

    def _condition(self, left: Rows, right: Rows, written: Node | None) -> Expr | None:
        """A condition over the columns of both; subqueries in it add columns to the left."""
        if written is None:
            return None
        far = bound(written, _Both(left, right))
        return _brought_near(far, len(left.relation.types))

    def _existence(self, node: Node, left: Rows, right: Rows, written: Node | None) -> Rows:
        """The left, with one more column that says whether there is a partner."""
        width = len(left.ids)
        condition = self._condition(left, right, written)
        (mark,) = [found for found in _found_in(node["joinType"]) if found.kind == "AttributeReference"]
        own = a.columns_of(left.relation)[:width]
        parts = tuple(
            a.Project(a.Join(left.relation, right.relation, kind, condition), (*own, Literal(there, BOOLEAN)))
            for kind, there in (("semi", True), ("anti", False))
        )
        return Rows(a.Union(parts), [*left.ids[:width], mark.id], self)

    def _at_most_one(self, left: Rows, right: Rows, written: Node | None) -> Rows:
        """A left join whose rows have at most one partner: more refuse the step."""
        width = len(left.ids)
        condition = self._condition(left, right, written)
        wide = len(left.relation.types)
        partners = a.Join(a.Distinct(left.relation), right.relation, "inner", condition)
        single = a.Single(partners, a.columns_of(partners)[:wide])
        same = [same_value(x, y) for x, y in zip(a.columns_of(left.relation), a.columns_of(single, wide))]
        found: Relation = a.Join(left.relation, single, "left", conjunction(same))
        columns = a.columns_of(found)
        found = a.Project(found, (*columns[:width], *columns[2 * wide :]))
        return Rows(found, [*left.ids[:width], *right.ids], self)

    def _not_in(self, left: Rows, right: Rows, condition: Expr | None) -> Relation | None:
        """`not in`, as Catalyst writes it: an anti join by (x = y or (x = y) is null), perhaps with more conditions."""
        plain: list[Expr] = []
        aware: list[tuple[Expr, Expr]] = []
        width = len(left.relation.types)
        for part in conjuncts(condition):
            sides = _null_aware(part, width)
            if sides is None:
                plain.append(part)
            else:
                aware.append(sides)
        if len(aware) != 1:
            return None
        value, other = aware[0]
        rest = conjunction(plain)
        here = a.Join(left.relation, right.relation, "anti", conjunction([*plain, typed("eq", (value, other))]))
        nulls = a.Filter(right.relation, typed("is_null", (a.shifted(other, -width),)))
        known = a.Filter(a.Join(here, nulls, "anti", rest), guards.is_there(value))
        unknown = a.Filter(left.relation, typed("is_null", (value,)))
        return a.Union((known, a.Join(unknown, right.relation, "anti", rest)))

    # ---- groups -----------------------------------------------------------------------------

    def _aggregate(self, node: Node) -> Rows:
        rows = self.rows(node.children[0])
        grouped = groups.Grouped(rows, node["groupingExpressions"], node["aggregateExpressions"])
        shown = node["aggregateExpressions"]
        exprs = tuple(_typed(bound(one, grouped)) for one in shown)
        return Rows(a.Project(grouped.relation, exprs), [one.id for one in shown], self)

    def _window(self, node: Node) -> Rows:
        return with_windows(self.rows(node.children[0]), node)


@dataclass
class _Both:
    """What the condition of a join reads: the columns of the left, and those of the right, far behind them."""

    left: Rows
    right: Rows

    def column(self, node: Node) -> Expr:
        if node.id in self.left.ids:
            return self.left.column(node)
        return a.shifted(self.right.column(node), FAR)

    def scalar(self, node: Node) -> Expr:
        return self.left.scalar(node)

    def known(self, node: Node) -> Expr | None:
        return None


FAR = 1 << 20


def _brought_near(condition: Expr, width: int) -> Expr:
    """The columns of the right, right behind those of the left, of which there are so many."""

    def change(read: Column) -> Expr:
        position = a.position_of(read.name)
        assert position is not None
        return read if position < FAR else a.column(position - FAR + width, read.type)

    return a.rewritten(condition, change)


def _null_aware(part: Expr, width: int) -> tuple[Expr, Expr] | None:
    """The two sides of (x = y or (x = y) is null), the left's first."""
    match part:
        case Call("or", (Call("eq", (one, two)) as equal, Call("is_null", (again,)))) if again == equal:
            ones, twos = a.positions_in(one), a.positions_in(two)
            if ones and max(ones) < width and twos and min(twos) >= width:
                return one, two
            if twos and max(twos) < width and ones and min(ones) >= width:
                return two, one
    return None


def _leads_to_order(node: Node) -> bool:
    """Whether there are only projections between it and an order."""
    while node.kind in ("Project", "SubqueryAlias", "LocalLimit"):
        node = node.children[0]
    return node.kind == "Sort"


def _found_in(value: object) -> list[Node]:
    if isinstance(value, Node):
        return [value]
    if isinstance(value, dict):
        return [found for one in value.values() for found in _found_in(one)]
    if isinstance(value, list):
        return [found for one in value for found in _found_in(one)]
    return []


def _typed(expr: Expr) -> Expr:
    """A null that nothing gave a type is a long."""
    return cast(expr, LONG) if expr.type == VOID else expr
