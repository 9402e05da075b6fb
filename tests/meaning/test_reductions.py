"""Reductions: what is said of a group is true of the group at that time."""

from ebbflow.columns.schema import BOOLEAN, DATE, DOUBLE, LONG, STRING
from tests.meaning.claims import claim
from tests.meaning.programs import DECIMAL, ONE, WIDE, call, lit, own, schema


@claim(widths=(1, 2, 3), examples=30)
def test_distinct_is_one_where_the_count_is_above_zero(s, x, y):
    return s.distinct(x)


@claim(schemas={"x": ONE}, widths=(3,), examples=80, side=1)
def test_distinct_over_three_coordinates(s, x):
    return s.distinct(x)


@claim(widths=(1, 2, 3), examples=25)
def test_distinct_of_distinct_and_of_differences(s, x, y):
    return s.distinct(s.minus(s.distinct(x), s.distinct(y)))


def thresholds(name):
    @claim(examples=15)
    def test_threshold(s, x, y):
        return s.threshold(x, own(name))

    return test_threshold


test_threshold_maps_counts_to_counts = thresholds("count_mod_three")
test_threshold_may_answer_negative_counts = thresholds("minus_count")
test_threshold_is_not_asked_about_nothing = thresholds("one_if_even")


@claim(widths=(1, 2, 3), examples=25)
def test_count_is_the_number_of_rows(s, x, y):
    return s.aggregate(x, ("a",), n=("count_rows", None))


@claim(examples=15)
def test_a_group_whose_counts_cancel_is_absent(s, x, y):
    return s.aggregate(s.minus(x, y), ("a",), n=("count_rows", None), low=("min", "b"), total=("sum", "b"))


@claim(nulls=True)
def test_nulls_form_a_group(s, x, y):
    return s.aggregate(x, ("a",), n=("count_rows", None), c=("count", "b"))


@claim()
def test_the_whole_collection_is_a_group(s, x, y):
    return s.aggregate(x, (), n=("count_rows", None), total=("sum", "b"))


def aggregates(op, type):
    columns = {"x": schema(a=LONG, b=type)}

    @claim(schemas=columns, examples=15, nulls=True)
    def test_aggregate(s, x):
        return s.aggregate(x, ("a",), found=(op, "b"))

    return test_aggregate


test_count_skips_nulls = aggregates("count", LONG)
test_count_of_text = aggregates("count", STRING)
test_sum_of_longs = aggregates("sum", LONG)
test_sum_of_doubles_is_rounded_once = aggregates("sum", DOUBLE)
test_sum_of_decimals = aggregates("sum", DECIMAL)
test_sum_of_wide_decimals = aggregates("sum", WIDE)
test_avg_of_wide_decimals = aggregates("avg", WIDE)
test_min_of_wide_decimals = aggregates("min", WIDE)
test_max_of_wide_decimals = aggregates("max", WIDE)
test_distinct_wide_decimals = aggregates("count_distinct", WIDE)
test_mode_of_wide_decimals = aggregates("mode", WIDE)
test_avg_of_longs_is_a_double = aggregates("avg", LONG)
test_avg_of_doubles = aggregates("avg", DOUBLE)
test_min_of_longs = aggregates("min", LONG)
test_min_of_doubles = aggregates("min", DOUBLE)
test_min_of_text_goes_by_text = aggregates("min", STRING)
test_min_of_dates = aggregates("min", DATE)
test_max_of_longs = aggregates("max", LONG)
test_max_of_doubles_knows_nan_as_the_largest = aggregates("max", DOUBLE)
test_max_of_text_goes_by_text = aggregates("max", STRING)
test_max_of_booleans = aggregates("max", BOOLEAN)
test_any_value_is_the_least = aggregates("any_value", LONG)
test_any_value_of_text = aggregates("any_value", STRING)
test_count_distinct_of_longs = aggregates("count_distinct", LONG)
test_count_distinct_of_doubles = aggregates("count_distinct", DOUBLE)


test_a_percentile_lies_between_two_values = aggregates("percentile(0.3)", DOUBLE)
test_a_percentile_of_values_is_one_of_them = aggregates("percentile_disc(0.7)", STRING)
test_the_mode_is_the_most_frequent_value = aggregates("mode", STRING)
test_the_mode_of_doubles = aggregates("mode", DOUBLE)
test_a_product = aggregates("product", DOUBLE)
test_bits_that_all_have = aggregates("bit_and", LONG)
test_bits_that_any_has = aggregates("bit_or", LONG)
test_bits_that_an_odd_number_has = aggregates("bit_xor", LONG)


@claim(schemas={"x": schema(a=LONG, b=STRING, c=LONG)}, widths=(1, 2), examples=30, nulls=True)
def test_a_value_by_another(s, x):
    return s.aggregate(x, ("a",), last=("max_by", "b", "c"), first=("min_by", "b", "c"), text=("max_by", "c", "b"))


@claim(widths=(1, 2, 3), examples=15, nulls=True)
def test_many_aggregates_at_once(s, x, y):
    return s.aggregate(
        x, ("a",), n=("count_rows", None), c=("count", "b"), low=("min", "b"), high=("max", "b"),
        total=("sum", "b"), mean=("avg", "b"), kinds=("count_distinct", "b"), some=("any_value", "b"),
    )  # fmt: skip


@claim(examples=25)
def test_an_aggregate_of_an_aggregate(s, x, y):
    counts = s.aggregate(x, ("a",), n=("count_rows", None))
    return s.aggregate(counts, ("n",), m=("count_rows", None))


def tops(limit, *order, key=("a",)):
    @claim(schemas={"x": schema(a=LONG, b=LONG, c=STRING)}, examples=15, nulls=True)
    def test_top(s, x):
        return s.top(x, key, limit, *order)

    return test_top


test_top_one_is_the_first_by_the_column = tops(1, ("b", False))
test_top_descending_puts_nulls_last = tops(2, ("b", True))
test_top_goes_by_text_where_the_column_is_text = tops(2, ("c", False))
test_top_by_two_columns = tops(2, ("c", True), ("b", False))
test_top_without_an_order_goes_by_the_whole_row = tops(2)
test_top_of_the_whole_collection = tops(3, ("b", True), ("a", False), key=())


@claim(examples=25)
def test_top_counts_copies(s, x, y):
    return s.top(s.concat(x, x, y), ("a",), 3, ("b", True))


def owns(name):
    @claim(schemas={"x": schema(a=LONG, b=LONG, c=STRING)}, examples=15, nulls=True)
    def test_own(s, x):
        return s.own(x, ("a",), name)

    return test_own


test_a_persons_reduction_sees_the_rows_in_order = owns("first_row")
test_a_persons_reduction_may_answer_with_many_rows = owns("every_row_once")
test_a_persons_reduction_may_answer_with_nothing = owns("last_if_many")
test_a_persons_reduction_may_repeat_itself = owns("twice_the_first")


@claim(examples=25)
def test_reductions_feed_joins_and_reductions(s, x, y):
    lows = s.aggregate(x, ("a",), b=("min", "b"))
    highs = s.aggregate(y, ("a",), b=("max", "b"))
    both = s.join(lows, highs, {"a": "a"}, a="left.b", b="right.b")
    return s.distinct(s.filter(both, call("le", s.col(both, "a"), lit(1))))


@claim(widths=(1, 2, 3), examples=25)
def test_one_source_reduced_in_several_ways(s, x, y):
    counts = s.aggregate(x, ("a",), b=("count_rows", None))
    return s.concat(s.distinct(x), counts, s.aggregate(x, ("a",), b=("max", "b")), s.negate(s.top(x, ("a",), 1)))
