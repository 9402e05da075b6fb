import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.operators import node as kinds
from ebbflow.operators.exchange.receive import receive_at
from ebbflow.trace import table as t
from tests.operators.test_edges import Plan
from tests.trace.heaps import entries, records

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(-2, 2), st.integers(-3, 3), st.integers(-5, 5)),
    max_size=31,
)


def left_by(rows, kind, worth, crowd=False, upper=None, **edge):
    """What rows leave at a node that takes blocks from so many rows on: entries by key, what waits, what is held."""
    plan = Plan(coordinates=1, general=upper is not None)
    bench = plan.bench
    bench.header.seal = worth
    nd = plan.to(kind, plan.copy(1, 0), sign=-1, **edge)
    if upper is not None:
        for time in range(4):
            bench.rank((time,))
        bench.frontiers(upper=[(upper,)])
    bench.header.delivers_bulk = int(crowd)
    plan.send(rows)
    return left_at(bench, nd)


def left_at(bench, nd):
    H, tb = bench.H, bench.table(nd)
    keys = {rc: int(H[rc]) for rc in records(H, tb)}
    stored = {key: entries(H, int(t.segment_of(tb, rc, 0)), 3) for rc, key in keys.items()}
    waiting = []
    words = bench.vector(kinds.Node(nd).buckets)
    for b in range(0, len(words), kinds.Bucket.SIZE):
        bucket = kinds.Bucket(kinds.Node(nd).buckets.pointer + b)
        for name in ("items", "bulk"):
            items = bench.vector(getattr(bucket, name))
            waiting.append((int(bucket.rounds), name, [keys.get(item, item) for item in items]))
    return stored, waiting, bench.vector(kinds.Node(nd).hold)


SINGLY, AS_A_BLOCK = 1 << 20, 1  # from so many rows on


@settings(max_examples=60)
@given(ROWS)
@pytest.mark.parametrize("kind", [kinds.ARRANGE, kinds.REDUCE], ids=["arrange", "reduce"])
def test_a_block_leaves_what_its_rows_would_leave_one_by_one(kind, rows):
    assert left_by(rows, kind, AS_A_BLOCK, upper=4) == left_by(rows, kind, SINGLY, upper=4)


@settings(max_examples=60)
@given(ROWS)
@pytest.mark.parametrize("kind", [kinds.ARRANGE, kinds.REDUCE], ids=["arrange", "reduce"])
def test_a_block_of_a_crowd_waits_as_its_rows_would(kind, rows):
    assert left_by(rows, kind, AS_A_BLOCK) == left_by(rows, kind, SINGLY, crowd=True)


@settings(max_examples=60)
@given(ROWS, st.integers(0, 4))
@pytest.mark.parametrize("kind", [kinds.ARRANGE, kinds.REDUCE], ids=["arrange", "reduce"])
def test_rows_of_a_block_whose_time_is_not_complete_are_held_at_the_rounds_that_they_keep(kind, rows, upper):
    found = left_by(rows, kind, AS_A_BLOCK, upper=upper, mask=0)
    assert found == left_by(rows, kind, SINGLY, upper=upper, mask=0)
    assert all(rounds == 0 for rounds, _, _ in found[1])


@settings(max_examples=60)
@given(ROWS, st.integers(-1, 4), st.integers(0, 1))
@pytest.mark.parametrize("kind", [kinds.ARRANGE, kinds.REDUCE], ids=["arrange", "reduce"])
def test_a_block_goes_round_a_loop_as_its_rows_would(kind, rows, most, raises):
    round_again = {"add": 1, "most": most, "raises": raises, "upper": 4}
    found = left_by(rows, kind, AS_A_BLOCK, **round_again)
    assert found == left_by(rows, kind, SINGLY, **round_again)
    assert raises or most < 0 or all(rounds < most for rounds, _, _ in found[1])


def left_by_two(rows, kind, worth, upper):
    """The same, at two workers, the first of which has all the rows and sends half of the keys to the other."""
    plans = [Plan(coordinates=1, general=True) for _ in range(2)]
    nodes = []
    for me, plan in enumerate(plans):
        bench = plan.bench
        bench.header.workers, bench.header.me, bench.header.seal = 2, me, worth
        nodes.append(plan.to(kind, plan.copy(1, 0), sign=-1, exchange=1))
        kinds.Node(nodes[-1]).partition_lanes = bench.heap.keep([1, 0])
        for time in range(4) if me == 0 else (2, 0, 3, 1):  # the two do not number times alike
            bench.rank((time,))
        bench.frontiers(upper=[(upper,)])
    first, second = (plan.bench for plan in plans)
    plans[0].send(rows)
    mail = first.heap.vector(first.header.outboxes[1]).copy()
    second.header.nodes = second.heap.keep([nodes[1]])
    receive_at(second.W, second.heap.keep(mail), len(mail))
    return [left_at(plan.bench, nd) for plan, nd in zip(plans, nodes)]


@settings(max_examples=60)
@given(ROWS, st.integers(0, 4))
@pytest.mark.parametrize("kind", [kinds.ARRANGE, kinds.REDUCE], ids=["arrange", "reduce"])
def test_a_block_leaves_at_two_workers_what_its_rows_would_leave_there(kind, rows, upper):
    assert left_by_two(rows, kind, AS_A_BLOCK, upper) == left_by_two(rows, kind, SINGLY, upper)
