import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.operators import value_index
from ebbflow.operators.reduce import presence_by_value
from ebbflow.trace.worker_fields import Worker
from tests.operators.reduce.test_visit import Key
from tests.trace.heaps import Bench


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-40, 40), max_size=120))
def test_each_value_is_found_at_its_place_whether_few_or_many(lanes):
    bench = Bench()
    W = bench.W
    mask, seen = 0, []
    for lane in lanes:
        mask = int(presence_by_value.add_value(W, bench.heap.keep([lane]), 1, mask))
        if lane not in seen:
            seen.append(lane)
    assert (mask > 0) == (len(seen) > value_index.SEARCHED_LINEARLY)
    values, slots = int(Worker(W).values.pointer), int(Worker(W).slots.pointer)
    for lane in range(-41, 42):
        place = value_index.index_among(
            values + presence_by_value.Value.SIZE,
            1 + presence_by_value.Value.SIZE,
            len(seen),
            bench.heap.keep([lane]),
            1,
            slots,
            mask,
        )
        assert place == (seen.index(lane) if lane in seen else len(seen))


def at(key, rounds):
    """Rounds of the first of the loops around a key."""
    return key.bench.rounds(rounds, *[0] * (key.bench.depth - 1))


# A key of one loop has lines of its values; one of two has none.


@pytest.mark.interpreted
@pytest.mark.parametrize("depth", [1, 2])
def test_values_that_a_slice_does_not_touch_are_not_answered_again(depth):
    key = Key("each", depth)
    for value in range(100):
        key.add(at(key, value % 3), 1, 1, value)
    assert len(key.visit()) == 100
    key.bench.next_slice()
    before = key.bench.header.evals
    key.add(at(key, 1), 1, -1, 1)
    assert key.visit() == [(at(key, 1), 1, -1, (1,))]
    assert key.bench.header.evals - before == 1


@pytest.mark.interpreted
@pytest.mark.parametrize("depth", [1, 2])
def test_a_value_is_looked_at_only_where_its_own_entries_are(depth):
    key = Key("each", depth)
    key.add(at(key, 5), 1, 1, 7)
    key.add(at(key, 2), 1, 1, 8)
    assert sorted(key.visit()) == [(at(key, 2), 1, 1, (8,)), (at(key, 5), 1, 1, (7,))]
    key.bench.next_slice()
    before = key.bench.header.visits
    key.add(at(key, 1), 1, 1, 8)  # earlier than it was: at 2 it is said once too often
    assert sorted(key.visit()) == [(at(key, 1), 1, 1, (8,)), (at(key, 2), 1, -1, (8,))]
    assert key.bench.header.visits - before == 2  # nothing is owed for the value at 5
