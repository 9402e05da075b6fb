import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.operators import value_index
from ebbflow.operators.reduce import presence_by_round
from ebbflow.trace import table as t
from ebbflow.trace.worker_fields import Worker
from tests.operators.reduce.test_visit import Key


def with_a_past():
    """A key that earlier slices left something of, so that its values get lines."""
    key = Key("each", 1)
    key.add(0, 1, 1, 99)
    assert key.visit() == [(0, 1, 1, (99,))]
    key.bench.next_slice()
    return key


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-40, 40), min_size=1, max_size=120))
def test_each_value_has_one_line_whether_few_or_many(lanes):
    key = Key("each", 1)
    W = key.bench.W
    so = int(t.segment_of(key.tb, key.rc, 1))
    number = presence_by_round.run_of(W, key.nd, key.rc)
    seen = []
    for lane in lanes:
        if lane not in seen:
            seen.append(lane)
        place = presence_by_round.line_of(W, number, key.sg, so, key.w, key.bench.heap.keep([lane]))
        assert place == seen.index(lane)
    run = int(Worker(W).runs.pointer) + number * presence_by_round.PresenceRun.SIZE
    assert presence_by_round.PresenceRun(run).line_count == len(seen)
    assert (presence_by_round.PresenceRun(run).mask > 0) == (len(seen) > value_index.SEARCHED_LINEARLY)


@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from([1, -1]))))
def test_points_are_in_the_order_of_their_ranks_each_once(events):
    key = Key("each", 1)
    W = key.bench.W
    so = int(t.segment_of(key.tb, key.rc, 1))
    number = presence_by_round.run_of(W, key.nd, key.rc)
    presence_by_round.line_of(W, number, key.sg, so, key.w, key.bench.heap.keep([7]))
    at = int(presence_by_round.PresenceRun(Worker(W).runs.pointer).first_line)
    for rank, diff in events:
        presence_by_round.add_point(W, at, rank, diff)
    base = int(Worker(W).presence_lines.pointer)
    words = key.bench.words(
        base + int(presence_by_round.Line(base + at).points),
        presence_by_round.Point.SIZE * int(presence_by_round.Line(base + at).point_count),
    )
    expected = []
    for rank in sorted({rank for rank, _ in events}):
        expected += [rank, sum(diff for r, diff in events if r == rank), 0]
    assert words == expected


@pytest.mark.interpreted
def test_a_value_whose_points_cancel_owes_nothing():
    key = with_a_past()
    key.add(2, 1, 1, 8)
    key.visit()
    key.bench.next_slice()
    before = key.bench.header.visits
    key.add(0, 3, 1, 8)
    key.add(0, 3, -1, 8)
    assert key.visit() == []
    assert key.bench.header.visits - before == 1  # although it has an entry at 2


@pytest.mark.interpreted
def test_entries_at_later_rounds_wait_until_their_rounds():
    key = with_a_past()
    key.add(2, 1, -1, 7)
    key.add(0, 1, 1, 7)
    key.add(2, 2, 1, 8)
    key.add(0, 2, 1, 9)
    assert sorted(key.visit()) == [(0, 1, 1, (7,)), (0, 2, 1, (9,)), (2, 1, -1, (7,)), (2, 2, 1, (8,))]


def test_where_there_are_too_many_runs_the_key_is_visited_without():
    key = with_a_past()
    key.bench.header.presence_slice = key.bench.header.step
    key.bench.header.runs.length = presence_by_round.PresenceRun.SIZE << presence_by_round.RUN_BITS
    key.add(0, 1, 1, 7)
    key.add(0, 2, -1, 7)
    assert key.visit() == [(0, 1, 1, (7,)), (0, 2, -1, (7,))]
    assert t.Marks(key.rc + 1).head == 0
