from pathlib import Path

import pytest

from ebbflow import limits
from ebbflow.columns.schema import DOUBLE, LONG, STRING, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, Loop
from ebbflow.dataflow.rules.check import RULES, check, page
from ebbflow.errors import Place, PlanError
from ebbflow.expressions.typed import Call, Column, Literal
from tests.dataflow.random_graphs import race

PAIR = Schema((Field("a", LONG), Field("b", LONG)))
TEXT = Schema((Field("a", STRING), Field("b", LONG)))
A, B = Column("a", LONG), Column("b", LONG)
PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


class Draft:
    """A graph put together without asking anybody, so that it can be wrong."""

    def __init__(self, *coordinates):
        self.graph = Graph(coordinates or ("time",))

    def put(self, node, schema=PAIR, scope=()):
        self.graph.nodes.append(node)
        self.graph.schemas.append(schema)
        self.graph.scopes.append(scope)
        self.graph.places.append(Place("program.py", len(self.graph.nodes)))
        return len(self.graph.nodes) - 1

    def loop(self, parent=None, max_rounds=None, on_limit="return"):
        self.graph.loops.append(Loop(parent, max_rounds, on_limit))
        return len(self.graph.loops) - 1


def drafted(*shapes):
    """A draft that begins with the inputs x, y, ... of these schemas."""
    d = Draft()
    for name, shape in zip("xyz", shapes, strict=False):
        d.put(n.Input(name, shape), shape)
    return d


BROKEN = {}


def breaks(sentence, words):
    def keep(make):
        BROKEN.setdefault(sentence, []).append((make, words))
        return make

    return keep


@breaks("A node reads nodes that stand before it", "iterate")
def a_cycle_without_a_variable():
    d = drafted(PAIR)
    d.put(n.Concat((0, 2)))
    d.put(n.Linear(1, n.Negate()))
    return d


@breaks("Every loop stands in an earlier loop, or in none", "not made before it")
def a_loop_inside_itself():
    d = drafted(PAIR)
    d.loop(parent=0)
    return d


@breaks("Every loop stands in an earlier loop, or in none", "at least once")
def a_loop_of_no_rounds():
    d = drafted(PAIR)
    d.loop(max_rounds=0)
    return d


@breaks("Every loop stands in an earlier loop, or in none", "do not lie in each other")
def a_node_in_loops_side_by_side():
    d = drafted(PAIR)
    d.loop()
    d.loop()
    d.put(n.Linear(0, n.Enter(1)), scope=(0, 1))
    return d


@breaks("Nothing is wider than the engine's own fields", "columns; there can be")
def too_many_columns():
    d = Draft()
    d.put(n.Input("x", PAIR, ()), Schema(tuple(Field(f"c{i}", LONG) for i in range(limits.COLUMNS + 1))))
    return d


@breaks("Nothing is wider than the engine's own fields", "coordinates; there can be")
def too_many_coordinates():
    return Draft(*(f"t{i}" for i in range(limits.COORDINATES + 1)))


@breaks("Unions of unions pass a row on a limited number of times", "131,072 times")
def unions_of_unions():
    d = drafted(PAIR)
    for number in range(17):
        d.put(n.Concat((number, number)))
    return d


@breaks("Inputs and outputs stand outside all loops", "after the loop")
def an_output_inside_a_loop():
    d = drafted(PAIR)
    d.loop()
    d.put(n.Output("out", d.put(n.Linear(0, n.Enter(0)), scope=(0,))), scope=(0,))
    return d


@breaks("Enter leads into a loop that stands where the collection is", "outermost first")
def two_loops_entered_at_once():
    d = drafted(PAIR)
    d.loop()
    d.loop(parent=0)
    d.put(n.Linear(0, n.Enter(1)), scope=(0, 1))
    return d


WAITS = "What waits for a round has just entered the loop, with the round in a column of whole numbers"


def waiting(column, *between):
    d = drafted(Schema((Field("a", LONG), Field("b", DOUBLE))))
    d.loop()
    at = d.put(n.Linear(0, n.Enter(0)), d.graph.schemas[0], scope=(0,))
    for action in between:
        at = d.put(n.Linear(at, action), d.graph.schemas[0], scope=(0,))
    d.put(n.Linear(at, n.Wait(column)), d.graph.schemas[0], scope=(0,))
    return d


@breaks(WAITS, "does not come from outside")
def a_wait_after_something_in_the_loop():
    return waiting("a", n.Negate())


@breaks(WAITS, "no column of type long")
def a_wait_for_a_fraction():
    return waiting("b")


@breaks(WAITS, "no column of type long")
def a_wait_for_a_column_that_is_not_there():
    return waiting("c")


@breaks("Leave leads out of the loop the collection is in", "innermost loop first")
def leaving_from_outside():
    d = drafted(PAIR)
    d.loop()
    d.put(n.Linear(0, n.Leave(0)))
    return d


@breaks("Both sides of a join live in the same loop", "different loops")
def a_join_across_the_border():
    d = drafted(PAIR)
    d.loop()
    inside = d.put(n.Arrange(d.put(n.Linear(0, n.Enter(0)), scope=(0,)), ("a",)), scope=(0,))
    outside = d.put(n.Arrange(0, ("a",)))
    d.put(n.Join(inside, outside, (("a", 0, "a"), ("b", 1, "b"))), scope=(0,))
    return d


@breaks("All parts of a union live in the same loop", "different loops")
def a_union_across_the_border():
    d = drafted(PAIR)
    d.loop()
    d.put(n.Concat((0, d.put(n.Linear(0, n.Enter(0)), scope=(0,)))), scope=(0,))
    return d


@breaks("A loop variable starts with a collection that has entered its loop", "Enter the loop")
def a_variable_that_starts_outside():
    d = drafted(PAIR)
    d.loop()
    d.graph.next_of[1] = d.put(n.Feedback(0, 0, 0), scope=(0,))
    return d


@breaks("Every other node lives where its source lives", "what iterate returns")
def a_filter_that_looks_into_a_loop():
    d = drafted(PAIR)
    d.loop()
    d.put(n.Linear(d.put(n.Linear(0, n.Enter(0)), scope=(0,)), n.Negate()))
    return d


@breaks("Nothing that has left a loop enters it again", "variable of the loop")
def a_loop_that_reads_its_own_result():
    d = drafted(PAIR)
    d.loop()
    inside = d.put(n.Linear(0, n.Enter(0)), scope=(0,))
    result = d.put(n.Linear(d.put(n.Linear(inside, n.Negate()), scope=(0,)), n.Leave(0)))
    d.put(n.Linear(result, n.Enter(0)), scope=(0,))
    return d


BOUND = "Every loop variable is given its next value once, by a collection of its loop with the same columns"


def with_variable(schema=PAIR):
    d = drafted(schema)
    d.loop()
    d.put(n.Linear(0, n.Enter(0)), schema, scope=(0,))
    d.put(n.Feedback(1, 0, 0), schema, scope=(0,))
    return d


@breaks(BOUND, "no next value")
def a_variable_without_a_next_value():
    return with_variable()


@breaks(BOUND, "outside all loops")
def a_next_value_from_outside():
    d = with_variable()
    d.graph.next_of[2] = 0
    return d


@breaks(BOUND, "body returns \\(b long\\)")
def a_body_with_other_columns():
    d = with_variable()
    d.graph.next_of[2] = d.put(n.Linear(2, n.Map((("b", B),))), Schema((Field("b", LONG),)), scope=(0,))
    return d


@breaks(BOUND, "not a loop variable")
def a_next_value_for_a_filter():
    d = with_variable()
    d.graph.next_of = {2: 2, 1: 2}
    return d


def delayed(*times):
    d = drafted(PAIR)
    d.put(n.Linear(0, n.Delay(times)))
    return d


NOW = Column("time", LONG)


@breaks("Time never goes backwards", "earlier")
def a_delay_into_the_past():
    return delayed(Call("sub", (NOW, Literal(1, LONG)), LONG))


@breaks("Time never goes backwards", "earlier")
def a_delay_by_less_than_nothing():
    return delayed(Call("add", (Literal(-1, LONG), NOW), LONG))


@breaks("Time never goes backwards", "only the time")
def a_delay_that_reads_the_row():
    return delayed(A)


@breaks("Time never goes backwards", "coordinate")
def a_delay_with_a_coordinate_too_many():
    return delayed(NOW, NOW)


@breaks("Time never goes backwards", "whole number")
def a_delay_by_a_fraction():
    return delayed(Call("div", (NOW, Literal(2, LONG)), DOUBLE))


@breaks("Time never goes backwards", "before the loop")
def a_delay_inside_a_loop():
    d = drafted(PAIR)
    d.loop()
    d.put(n.Linear(d.put(n.Linear(0, n.Enter(0)), scope=(0,)), n.Delay((NOW,))), scope=(0,))
    return d


@breaks("Columns of one collection have different names", "Rename one")
def two_columns_of_one_name():
    d = drafted(PAIR)
    d.put(n.Linear(0, n.Map((("a", A), ("a", B)))), Schema((Field("a", LONG), Field("a", LONG))))
    return d


READ = "Every column that is read is there, with the type it is read as"


@breaks(READ, "Did you mean")
def a_misspelt_key():
    d = drafted(Schema((Field("source", LONG),)))
    d.put(n.Arrange(0, ("sorce",)), d.graph.schemas[0])
    return d


@breaks(READ, "as string")
def a_column_of_another_type():
    d = drafted(PAIR)
    d.put(n.Linear(0, n.Map((("a", Column("a", STRING)),))), Schema((Field("a", STRING),)))
    return d


@breaks(READ, '"c"')
def an_aggregate_of_a_missing_column():
    d = drafted(PAIR)
    d.put(n.Reduce(0, ("a",), n.Aggregates((n.Aggregate("min", "c", "m"),)), PAIR))
    return d


@breaks(READ, '"c"')
def an_order_by_a_missing_column():
    d = drafted(PAIR)
    d.put(n.Reduce(0, ("a",), n.Top(1, (("c", True),)), PAIR))
    return d


@breaks("A filter's condition is true or false", "Compare it")
def a_filter_by_a_number():
    d = drafted(PAIR)
    d.put(n.Linear(0, n.Filter(A)))
    return d


@breaks("All parts of a union have the same columns, in the same order", "cast where")
def a_union_of_different_columns():
    d = drafted(PAIR, TEXT)
    d.put(n.Concat((0, 1)))
    return d


KEYS = "A join reads arrangements whose keys pair up in number and type"
TAKEN = (("a", 0, "a"), ("b", 1, "b"))


@breaks(KEYS, "not arranged")
def a_join_of_bare_collections():
    d = drafted(PAIR, PAIR)
    d.put(n.Join(0, 1, TAKEN))
    return d


@breaks(KEYS, "2 key columns")
def a_join_of_two_keys_with_one():
    d = drafted(PAIR)
    d.put(n.Join(d.put(n.Arrange(0, ("a", "b"))), d.put(n.Arrange(0, ("a",))), TAKEN))
    return d


@breaks(KEYS, "Cast one")
def a_join_of_text_with_numbers():
    d = drafted(PAIR, TEXT)
    d.put(n.Join(d.put(n.Arrange(0, ("a",))), d.put(n.Arrange(1, ("a",)), TEXT), TAKEN))
    return d


FITS = "A reducer is one we have, and fits the type of its column"


def reduced(reducer, key=("b",), schema=TEXT):
    d = drafted(schema)
    d.put(n.Reduce(0, key, reducer, schema), schema)
    return d


@breaks(FITS, "There are:")
def an_aggregate_nobody_knows():
    return reduced(n.Aggregates((n.Aggregate("median", "a", "m"),)))


@breaks(FITS, "wants numbers")
def a_sum_of_texts():
    return reduced(n.Aggregates((n.Aggregate("sum", "a", "m"),)))


@breaks(FITS, "needs a column")
def a_minimum_of_nothing():
    return reduced(n.Aggregates((n.Aggregate("min", None, "m"),)))


@breaks(FITS, "1 or more")
def the_first_none():
    return reduced(n.Top(0, ()))


@breaks(FITS, "whole row")
def a_distinct_by_a_part_of_the_row():
    return reduced(n.Threshold(None))


@breaks(FITS, "rows")
def a_reduction_of_an_unknown_kind():
    return reduced(n.Own(n.Function(len, id(len), "len"), "columns", TEXT))


@breaks("A function of your own works on batches, on rows, or gives any number of rows for each", "applied to")
def a_function_over_nothing_known():
    d = drafted(PAIR)
    d.put(n.Linear(0, n.Apply(n.Function(len, id(len), "len"), "columns", PAIR)))
    return d


@breaks("What a node yields has the columns its parts say", "the plan says")
def a_schema_that_is_not_so():
    d = drafted(PAIR)
    d.put(n.Linear(0, n.Map((("a", A),))), PAIR)
    return d


@breaks("Inputs have different names, known keys, and none of our own column names", "another name")
def two_inputs_of_one_name():
    d = drafted(PAIR)
    d.put(n.Input("x", PAIR))
    return d


@breaks("Inputs have different names, known keys, and none of our own column names", "are ours")
def an_input_with_a_column_of_ours():
    return drafted(Schema((Field("_time", LONG),)))


@breaks("Inputs have different names, known keys, and none of our own column names", "replaced by key")
def an_input_with_an_unknown_key():
    d = Draft()
    d.put(n.Input("x", PAIR, ("id",)))
    return d


@breaks("Outputs have different names, and none of our own column names", "another name")
def two_outputs_of_one_name():
    d = drafted(PAIR)
    d.put(n.Output("out", 0))
    d.put(n.Output("out", 0, False))
    return d


@breaks("Outputs have different names, and none of our own column names", "rename")
def an_output_with_a_column_of_ours():
    d = drafted(PAIR)
    mine = Schema((Field("_count", LONG),))
    d.put(n.Output("out", d.put(n.Linear(0, n.Map((("_count", A),))), mine)), mine)
    return d


CASES = [(sentence, make, words) for sentence, made in BROKEN.items() for make, words in made]


@pytest.mark.parametrize("sentence, make, words", CASES, ids=[make.__name__ for _, make, _ in CASES])
def test_a_breach_is_told_by_its_own_rule(sentence, make, words):
    graph = make().graph
    broken = next(rule.sentence for rule in RULES if list(rule.breaches(graph)))
    assert broken == sentence
    with pytest.raises(PlanError, match=words) as refused:
        check(graph)
    told = str(refused.value)
    assert not any(word in told.lower() for word in ("invalid", "bad ", "unable", "nonetype"))


def test_every_rule_has_a_program_that_breaks_it():
    assert [rule.sentence for rule in RULES] == list(BROKEN)


def test_every_rule_says_why():
    assert all(rule.reason for rule in RULES)


def test_a_breach_names_the_line_that_made_the_node():
    with pytest.raises(PlanError) as refused:
        check(a_misspelt_key().graph)
    assert refused.value.at == Place("program.py", 2)
    assert "source" in refused.value.hint


def test_a_graph_that_keeps_every_rule_passes():
    check(race()[0])


def test_an_arrangement_may_enter_a_loop():
    d = drafted(PAIR)
    d.loop()
    arranged = d.put(n.Arrange(0, ("a",)))
    inside = d.put(n.Linear(arranged, n.Enter(0)), scope=(0,))
    d.put(n.Join(inside, inside, TAKEN), scope=(0,))
    check(d.graph)


def test_a_wait_for_a_round_passes():
    check(waiting("a").graph)


def test_a_delay_to_a_later_time_passes():
    check(delayed(Call("add", (NOW, Literal(10, LONG)), LONG)).graph)


def test_the_page_lists_the_rules_as_they_are():
    assert PAGE.read_text() == page(), "write page() to docs/rules.md again"
