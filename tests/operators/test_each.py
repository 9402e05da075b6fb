from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.operators import each
from ebbflow.trace import heap as h
from tests.operators.test_reduce import Key
from tests.trace.heaps import Bench


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-40, 40), max_size=120))
def test_each_value_is_found_at_its_place_whether_few_or_many(lanes):
    bench = Bench()
    H, W = bench.H, bench.W
    mask, seen = 0, []
    for lane in lanes:
        mask = int(each.add_value(H, W, bench.heap.keep([lane]), 1, mask))
        if lane not in seen:
            seen.append(lane)
    assert (mask > 0) == (len(seen) > each.FEW_VALUES)
    values, slots = int(H[W + h.VALUES + h.PTR]), int(H[W + h.SLOTS + h.PTR])
    for lane in range(-41, 42):
        place = each.place_among(H, values, len(seen), bench.heap.keep([lane]), 1, slots, mask)
        assert place == (seen.index(lane) if lane in seen else len(seen))


def test_values_that_a_slice_does_not_touch_are_not_answered_again():
    key = Key("each", 1)
    for value in range(100):
        key.add(value % 3, 1, 1, value)
    assert len(key.visit()) == 100
    key.bench.next_slice()
    before = key.bench[h.EVALS]
    key.add(1, 1, -1, 1)
    assert key.visit() == [(1, 1, -1, (1,))]
    assert key.bench[h.EVALS] - before == 1


def test_a_value_is_looked_at_only_where_its_own_entries_are():
    key = Key("each", 1)
    key.add(5, 1, 1, 7)
    key.add(2, 1, 1, 8)
    assert sorted(key.visit()) == [(2, 1, 1, (8,)), (5, 1, 1, (7,))]
    key.bench.next_slice()
    before = key.bench[h.VISITS]
    key.add(1, 1, 1, 8)  # earlier than it was: at 2 it is said once too often
    assert sorted(key.visit()) == [(1, 1, 1, (8,)), (2, 1, -1, (8,))]
    assert key.bench[h.VISITS] - before == 2  # nothing is owed for the value at 5
