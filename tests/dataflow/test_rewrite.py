import pytest

from ebbflow.columns.schema import BOOLEAN, LONG, Field, Schema
from ebbflow.dataflow import narrow, simplify
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow import rewrite as r
from ebbflow.dataflow.rules.check import check
from ebbflow.errors import Place
from ebbflow.expressions.typed import Call, Column, Literal
from tests.meaning.cases import make_case
from tests.meaning.programs import ONE, Sketch, components, core, distances, lit, own, reach, renumbered, strong
from tests.meaning.runtimes import expected

WIDE = Schema(tuple(Field(name, LONG) for name in "abcde"))


def plus(x, y):
    return Call("add", (x, y), LONG)


def equal(x, y):
    return Call("eq", (x, y), BOOLEAN)


def kinds(graph):
    return [type(node.action if isinstance(node, n.Linear) else node) for node in graph.nodes]


def rewritten(sketch):
    graph, moved = r.rewrite(sketch.graph)
    check(graph)
    return graph, moved


def source_of_output(graph, name="out"):
    (number,) = (node.source for node in graph.nodes if isinstance(node, n.Output) and node.name == name)
    return graph.nodes[number]


@pytest.mark.parametrize("number", range(120))
def test_a_rewritten_program_means_what_it_meant(number):
    case, pool, right = make_case(33, number)
    graph, _ = r.rewrite(case.program.graph())
    check(graph)
    found = expected(graph, list(case.steps), pool)
    for name in (name for name in right if name != "largest weight"):
        assert found[name] == right[name]


def reading_less(program):
    """The same program, of whose results only the last column is read: columns go where they can."""
    sketch = Sketch(*program.coordinates)
    sketch.graph.loops.extend(program.loops)
    number = {}
    for i, node in enumerate(program.nodes):
        node = renumbered(node, number)
        if isinstance(node, n.Output):
            last = sketch.schema(node.source).names[-1]
            node = n.Output(node.name, sketch.map(node.source, only=last))
        number[i] = sketch.add(node)
    for variable, following in program.next_of.items():
        sketch.becomes(number[variable], number[following])
    return sketch.graph


@pytest.mark.parametrize("number", range(80))
def test_a_program_of_which_less_is_read_means_what_it_meant(number):
    case, pool, _ = make_case(36, number)
    graph = reading_less(case.program)
    right = expected(graph, list(case.steps), pool)
    shorter, _ = r.rewrite(graph)
    check(shorter)
    found = expected(shorter, list(case.steps), pool)
    for name in (name for name in right if name != "largest weight"):
        assert found[name] == right[name]


@pytest.mark.parametrize("step", [r.needed_only, simplify.simplified, narrow.narrowed])
@pytest.mark.parametrize("number", range(25))
def test_each_step_by_itself_keeps_the_meaning(number, step):
    case, pool, right = make_case(34, number)
    graph, _ = step(case.program.graph())
    check(graph)
    found = expected(graph, list(case.steps), pool)
    for name in (name for name in right if name != "largest weight"):
        assert found[name] == right[name]


@pytest.mark.parametrize("number", range(25))
def test_a_rewritten_program_has_nothing_left_to_save(number):
    case, _, _ = make_case(35, number)
    once, _ = r.rewrite(case.program.graph())
    twice, _ = r.rewrite(once)
    assert twice.nodes == once.nodes and twice.next_of == once.next_of


@pytest.mark.parametrize("make", [reach, distances])
def test_programs_that_people_know_keep_their_loops(make):
    s = Sketch()
    s.output("out", make(s, s.input("edges"), s.input("roots", ONE)))
    graph, _ = rewritten(s)
    assert sum(isinstance(node, n.Feedback) for node in graph.nodes) == 1
    assert len(graph.nodes) <= len(s.graph.nodes)


def test_inputs_and_outputs_keep_their_names_and_columns():
    s = Sketch()
    edges, unused = s.input("edges", WIDE), s.input("unused", WIDE)
    out = s.output("out", s.map(edges, x="a"))
    graph, moved = rewritten(s)
    assert graph.nodes[moved[edges]] == s.graph.nodes[edges]
    assert graph.nodes[moved[unused]] == s.graph.nodes[unused]
    assert graph.nodes[moved[out]].name == "out"
    assert graph.schemas[moved[out]] == s.graph.schemas[out]


def test_names_and_places_move_along():
    s = Sketch()
    x = s.input("x")
    dead = s.negate(x)
    kept = s.graph.add(n.Linear(x, n.Filter(equal(s.col(x, "a"), lit(1)))), Place("program.py", 7))
    s.graph.names[kept] = "ones"
    s.output("out", kept)
    graph, moved = rewritten(s)
    assert graph.names == {moved[kept]: "ones"}
    assert graph.places[moved[kept]] == Place("program.py", 7)
    assert dead not in moved


def test_what_no_output_needs_is_left_out_but_not_what_is_inspected():
    s = Sketch()
    x = s.input("x")
    s.distinct(x)
    seen = s.linear(s.negate(x), n.Inspect(own("minus_count")))
    s.output("out", x)
    graph, moved = rewritten(s)
    assert seen in moved
    assert n.Reduce not in kinds(graph)


def test_a_loop_that_nobody_reads_is_left_out():
    s = Sketch()
    edges = s.input("edges")
    strong(s, edges)
    s.output("out", edges)
    graph, _ = rewritten(s)
    assert len(graph.nodes) == 2 and graph.next_of == {}


def test_negating_twice_is_doing_nothing():
    s = Sketch()
    x = s.input("x")
    s.output("out", s.negate(s.negate(x)))
    assert isinstance(source_of_output(rewritten(s)[0]), n.Input)


def test_selections_become_one():
    s = Sketch()
    x = s.input("x")
    first = s.map(x, p=plus(s.col(x, "a"), lit(1)), q="b")
    s.output("out", s.map(first, q="q", r=plus(s.col(first, "p"), s.col(first, "q"))))
    graph, _ = rewritten(s)
    a, b = Column("a", LONG), Column("b", LONG)
    assert source_of_output(graph) == n.Linear(0, n.Map((("q", b), ("r", plus(plus(a, lit(1)), b)))))


def test_nothing_that_costs_is_computed_twice():
    s = Sketch()
    x = s.input("x")
    first = s.map(x, p=plus(s.col(x, "a"), lit(1)))
    s.output("out", s.map(first, q=plus(s.col(first, "p"), s.col(first, "p"))))
    s.output("other", s.distinct(s.map(x, p=plus(s.col(x, "b"), lit(1)))))
    shared = s.map(x, z=plus(s.col(x, "a"), s.col(x, "b")))
    s.output("one", s.map(shared, y=plus(s.col(shared, "z"), lit(2))))
    s.output("two", s.map(shared, y=plus(s.col(shared, "z"), lit(3))))
    graph, _ = rewritten(s)
    assert kinds(graph).count(n.Map) == kinds(s.graph).count(n.Map)


def test_selecting_everything_in_order_is_left_out():
    s = Sketch()
    x = s.input("x")
    s.output("out", s.map(x, a="a", b="b"))
    s.output("turned", s.map(x, b="b", a="a"))
    graph, _ = rewritten(s)
    assert isinstance(source_of_output(graph), n.Input)
    assert isinstance(source_of_output(graph, "turned"), n.Linear)


def test_rows_are_chosen_before_they_are_computed():
    s = Sketch()
    x = s.input("x")
    made = s.map(x, p="a", q=plus(s.col(x, "a"), s.col(x, "b")))
    s.output("out", s.filter(made, equal(s.col(made, "p"), lit(3))))
    graph, _ = rewritten(s)
    assert kinds(graph) == [n.Input, n.Filter, n.Map, n.Output]


def test_a_choice_by_a_computed_column_stays_after_it():
    s = Sketch()
    x = s.input("x")
    made = s.map(x, p="a", q=plus(s.col(x, "a"), s.col(x, "b")))
    s.output("out", s.filter(made, equal(s.col(made, "q"), lit(3))))
    assert kinds(rewritten(s)[0]) == [n.Input, n.Map, n.Filter, n.Output]


def test_two_conditions_become_one_unless_the_second_could_refuse_what_the_first_leaves_out():
    s = Sketch()
    x = s.input("x")
    some = s.filter(x, equal(s.col(x, "a"), lit(1)))
    s.output("out", s.filter(some, equal(s.col(x, "b"), lit(2))))
    assert kinds(rewritten(s)[0]).count(n.Filter) == 1
    s = Sketch()
    x = s.input("x")
    small = s.filter(x, Call("lt", (s.col(x, "a"), lit(10)), BOOLEAN))
    s.output("out", s.filter(small, equal(Call("mul", (s.col(x, "a"), s.col(x, "a")), LONG), lit(4))))
    assert kinds(rewritten(s)[0]).count(n.Filter) == 2


def test_a_union_of_unions_is_one_union():
    s = Sketch()
    x, y, z = (s.input(name) for name in "xyz")
    s.output("out", s.concat(s.concat(x, y), s.concat(z, x)))
    assert source_of_output(rewritten(s)[0]) == n.Concat((0, 1, 2, 0))


def test_distinct_of_a_set_is_that_set():
    s = Sketch()
    x = s.input("x")
    s.output("out", s.distinct(s.filter(s.distinct(x), equal(s.col(x, "a"), lit(1)))))
    s.output("counts", s.distinct(s.aggregate(x, ("a",), c=("count_rows", None))))
    s.output("bag", s.distinct(s.concat(s.distinct(x), s.distinct(x))))
    graph, _ = rewritten(s)
    assert isinstance(source_of_output(graph), n.Linear)
    assert isinstance(source_of_output(graph, "counts").reducer, n.Aggregates)
    assert isinstance(source_of_output(graph, "bag").reducer, n.Threshold)


def test_a_selection_after_a_join_is_made_by_the_join():
    s = Sketch()
    x, y = s.input("x"), s.input("y")
    pairs = s.join(x, y, {"a": "a"}, a="left.a", b="left.b", c="right.b")
    s.output("out", s.map(pairs, first="b", second="c"))
    graph, _ = rewritten(s)
    assert source_of_output(graph).columns == (("first", 0, "b"), ("second", 1, "b"))


def test_what_does_not_change_from_round_to_round_is_computed_outside():
    s = Sketch()
    edges, roots = s.input("edges"), s.input("roots")

    def body(reached, loop):
        inside = s.enter(edges, loop)
        some = s.distinct(s.filter(inside, equal(s.col(inside, "a"), lit(1))))
        twice = s.join(some, inside, {"b": "a"}, a="left.a", b="right.b")
        return s.distinct(s.concat(reached, twice, s.join(reached, twice, {"b": "a"}, a="left.a", b="right.b")))

    s.output("out", s.iterate(s.distinct(roots), body))
    graph, _ = rewritten(s)
    outside = [node for node, scope in zip(graph.nodes, graph.scopes, strict=True) if not scope]
    assert sum(isinstance(node, n.Join) for node in outside) == 1
    assert sum(isinstance(node, n.Reduce) for node in outside) == 2
    inside = [node for node, scope in zip(graph.nodes, graph.scopes, strict=True) if scope]
    assert sum(isinstance(node, n.Join) for node in inside) == 1


def test_what_only_passes_through_a_loop_does_not_enter_it():
    s = Sketch()
    x = s.input("x")
    loop = s.loop()
    s.output("out", s.leave(s.enter(x, loop), loop))
    assert isinstance(source_of_output(rewritten(s)[0]), n.Input)


def test_arrangements_carry_only_what_is_read():
    s = Sketch()
    x, y = s.input("x", WIDE), s.input("y", WIDE)
    pairs = s.join(x, y, {"a": "b"}, p="left.c", q="right.d", r="right.e")
    s.output("out", s.map(pairs, p="p", sum=plus(s.col(pairs, "p"), s.col(pairs, "q"))))
    graph, _ = rewritten(s)
    (join,) = (node for node in graph.nodes if isinstance(node, n.Join))
    assert graph.schemas[join.left].names == ("a", "c")
    assert graph.schemas[join.right].names == ("b", "d")
    assert join.columns == (("p", 0, "c"), ("q", 1, "d"))


def test_an_arrangement_carries_what_any_of_its_readers_reads():
    s = Sketch()
    x, y = s.input("x", WIDE), s.input("y", WIDE)
    s.output("one", s.join(x, y, {"a": "a"}, p="left.b", q="right.c"))
    s.output("two", s.join(x, y, {"a": "a"}, p="left.d", q="right.c"))
    graph, _ = rewritten(s)
    arranged = [graph.schemas[i].names for i, node in enumerate(graph.nodes) if isinstance(node, n.Arrange)]
    assert sorted(arranged) == [("a", "b", "d"), ("a", "c")]


def test_aggregates_that_nobody_reads_are_not_kept():
    s = Sketch()
    x = s.input("x", WIDE)
    all_of_them = s.aggregate(x, ("a",), n=("count_rows", None), low=("min", "b"), high=("max", "c"))
    s.output("out", s.map(all_of_them, a="a", low="low"))
    graph, _ = rewritten(s)
    (reduce,) = (node for node in graph.nodes if isinstance(node, n.Reduce))
    assert [each.name for each in reduce.reducer.aggregates] == ["low"]
    assert graph.schemas[reduce.source].names == ("a", "b")


def test_a_whole_row_is_kept_whole():
    s = Sketch()
    x = s.input("x", WIDE)
    s.output("distinct", s.map(s.distinct(x), a="a"))
    s.output("top", s.map(s.top(x, ("a",), 2, ("b", True)), c="c"))
    graph, _ = rewritten(s)
    for node in graph.nodes:
        if isinstance(node, n.Reduce):
            assert graph.schemas[node.source] == WIDE


def test_parts_of_a_union_stay_alike_when_columns_go():
    s = Sketch()
    x, y = s.input("x", WIDE), s.input("y", WIDE)
    both = s.concat(s.filter(x, equal(s.col(x, "e"), lit(1))), y)
    s.output("out", s.aggregate(both, ("a",), most=("max", "b")))
    graph, _ = rewritten(s)
    (concat,) = (node for node in graph.nodes if isinstance(node, n.Concat))
    assert {graph.schemas[source].names for source in concat.sources} == {("a", "b")}


def test_a_count_of_all_rows_keeps_a_column_to_count():
    s = Sketch()
    x = s.input("x", WIDE)
    y = s.input("y", WIDE)
    s.output("out", s.aggregate(s.join(x, y, {"a": "a"}, p="left.b", q="right.b"), (), n=("count_rows", None)))
    graph, _ = rewritten(s)
    (join,) = (node for node in graph.nodes if isinstance(node, n.Join))
    assert len(join.columns) == 1


@pytest.mark.parametrize("make", [strong, components, lambda s, edges: core(s, edges, 2)])
def test_loops_in_loops_keep_every_rule(make):
    s = Sketch()
    s.output("out", make(s, s.input("edges")))
    rewritten(s)


def test_literals_may_take_the_place_of_columns():
    s = Sketch()
    x = s.input("x")
    made = s.map(x, a="a", one=Literal(1, LONG))
    s.output("out", s.filter(made, equal(s.col(made, "one"), lit(1))))
    graph, _ = rewritten(s)
    assert kinds(graph) == [n.Input, n.Filter, n.Map, n.Output]
