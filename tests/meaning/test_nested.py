"""Arrays: what is collected of a group, and what an array is taken apart into, at every time and in loops."""

from ebbflow.columns.schema import LONG, STRING, Field, Schema, array_of
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import result_type
from ebbflow.dataflow.collecting import with_order
from ebbflow.dataflow.exploding import add_exploded
from ebbflow.expressions.typed import Column
from ebbflow.frontend.building.collecting import reduced
from tests.meaning.claims import claim
from tests.meaning.programs import call, lit, schema

RUNTIMES = ["local-1", "local-2", "local-durable"]
DOWN, LAST = with_order("collect_list", ((True, True),)), with_order("last", ((False, False), (True, False)))


def grouped(s, source, key, **aggregates):
    here = s.schema(source)
    asked = [n.Aggregate(op, column, name, *by) for name, (op, column, *by) in aggregates.items()]
    added = [Field(a.name, result_type(a.op, here[a.column] if a.column else None)) for a in asked]
    fields = (*(Field(name, here[name]) for name in key), *added)
    return reduced(s.graph, source, key, asked, Schema(fields), None)


def exploded(s, source, column, **how):
    has_position, is_outer = how.get("has_position", False), how.get("is_outer", False)
    found, _ = add_exploded(s.graph, source, s.col(source, column), has_position, is_outer, None)
    return s.map(found, **{f.name.replace("\0", "e"): Column(f.name, f.type) for f in s.schema(found)})


@claim(schemas={"x": schema(a=LONG, b=LONG, c=STRING)}, nulls=True, examples=6, runtimes=RUNTIMES)
def test_lists_beside_other_aggregates(s, x):
    by = call("named_struct", lit("0", STRING), s.col(x, "b"))
    pair = call("named_struct", lit("0", STRING), s.col(x, "c"), lit("1", STRING), s.col(x, "b"))
    with_orders = s.map(x, a="a", b="b", c="c", one=by, two=pair)
    return grouped(
        s, with_orders, ("a",), listed=("collect_list", "c"), once=("collect_set", "c"), rows=("count_rows", None),
        sums=("sum", "b"), down=(DOWN, "c", "one"), end=(LAST, "b", "two"), first=("first_not_null", "c"),
    )  # fmt: skip


@claim(schemas={"x": schema(a=LONG, b=LONG)}, nulls=True, examples=4, widths=(1,), runtimes=["local-1", "local-2"])
def test_lists_of_all_rows(s, x):
    return grouped(s, x, (), listed=("collect_list", "b"), once=("collect_set", "a"))


@claim(schemas={"x": schema(a=LONG, b=array_of(STRING))}, nulls=True, examples=6, runtimes=[*RUNTIMES, "tasks"])
def test_arrays_taken_apart(s, x):
    flat = exploded(s, x, "b", has_position=True, is_outer=True)
    return grouped(s, flat, ("e1",), listed=("collect_list", "a"), rows=("count_rows", None))


@claim(schemas={"x": schema(a=LONG, b=LONG)}, examples=4, runtimes=["local-1", "local-2"])
def test_lists_in_a_loop(s, x):
    """The neighbours of what is reached, collected and taken apart again in every round."""
    with s.graph.loop(None, "return") as loop:
        (start, edges) = s.graph.lift((s.map(x, a="a"), x), s.graph.here, None)
        variable = s.add(n.Feedback(start, loop, 0))
        mine, theirs = s.add(n.Arrange(variable, ("a",))), s.add(n.Arrange(edges, ("a",)))
        near = s.add(n.Join(mine, theirs, (("a", 0, "a"), ("b", 1, "b"))))
        lists = grouped(s, near, ("a",), listed=("collect_set", "b"))
        step = s.map(exploded(s, lists, "listed"), a="e0")
        bound = s.graph.bind(variable, s.distinct(s.concat(start, step)))
        return s.add(n.Linear(bound, n.Leave(loop)))
