"""Map, filter, flat map, negate, concat, delay: what is done to each change is done to the collection."""

from ebbflow.columns.schema import LONG
from ebbflow.expressions.typed import Column
from tests.meaning.claims import claim
from tests.meaning.programs import add_mod, call, lit


@claim()
def test_an_input_is_what_was_fed(s, x, y):
    return x


@claim()
def test_map_computes_each_row(s, x, y):
    return s.map(x, a=add_mod(s.col(x, "a"), s.col(x, "b"), 3), b=call("mul", s.col(x, "b"), lit(2)))


@claim(nulls=True)
def test_map_computes_null_from_null(s, x, y):
    return s.map(x, a=call("add", s.col(x, "a"), s.col(x, "b")), b=call("div", s.col(x, "a"), s.col(x, "b")))


@claim()
def test_map_that_loses_columns_adds_up_what_became_equal(s, x, y):
    return s.map(x, a="a")


@claim(nulls=True)
def test_filter_keeps_what_is_true_and_neither_false_nor_null(s, x, y):
    return s.filter(x, call("lt", s.col(x, "a"), s.col(x, "b")))


@claim(nulls=True)
def test_filter_knows_three_truth_values(s, x, y):
    less, equal = call("lt", s.col(x, "a"), s.col(x, "b")), call("eq", s.col(x, "b"), lit(1))
    return s.filter(x, call("or", call("not", less), call("and", less, equal)))


@claim()
def test_negate_turns_every_count_around(s, x, y):
    return s.negate(x)


@claim()
def test_concat_adds_counts(s, x, y):
    return s.concat(x, y, x)


@claim()
def test_a_collection_minus_itself_is_nothing(s, x, y):
    return s.minus(x, x)


@claim()
def test_minus_subtracts_counts(s, x, y):
    return s.minus(s.distinct(x), s.distinct(y))


@claim(nulls=True)
def test_a_persons_function_over_rows_sees_each_row(s, x, y):
    return s.apply(x, "swapped", "rows")


@claim()
def test_flat_map_gives_any_number_of_rows(s, x, y):
    return s.concat(s.apply(x, "itself_and_swapped", "flat"), s.apply(y, "only_equal", "flat"))


@claim()
def test_a_persons_function_over_batches_sees_whole_columns(s, x, y):
    return s.apply(x, "swapped_columns", "batches")


def later(s, source, by=1):
    first, *rest = (Column(name, LONG) for name in s.graph.coordinates)
    return s.delay(source, call("add", first, lit(by)), *rest)


@claim()
def test_delay_moves_every_change_later(s, x, y):
    return later(s, x)


@claim()
def test_delay_to_the_next_multiple_gathers_changes(s, x, y):
    first, *rest = (Column(name, LONG) for name in s.graph.coordinates)
    return s.delay(x, call("mul", call("add", call("floordiv", first, lit(2)), lit(1)), lit(2)), *rest)


@claim(examples=25)
def test_what_is_there_now_and_was_not_before(s, x, y):
    now = s.distinct(x)
    return s.minus(now, later(s, now))


@claim()
def test_delayed_collections_join_with_present_ones(s, x, y):
    return s.join(later(s, s.distinct(x), 2), y, {"b": "a"}, a="left.a", b="right.b")


@claim()
def test_delay_after_delay_adds_up(s, x, y):
    return s.distinct(s.concat(later(s, later(s, x)), y))
