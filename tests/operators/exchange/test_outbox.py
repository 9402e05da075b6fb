from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.operators import node as kinds
from ebbflow.operators.block import Block, set_column
from ebbflow.operators.exchange import outbox
from ebbflow.trace.worker_fields import Worker
from tests.trace.heaps import Bench

LANES = st.integers(-(2**63), 2**63 - 1)


def sending(workers, places=(0,)):
    """A worker, the first of so many, and a node of two lanes that others have too."""
    bench = Bench()
    bench.header.workers = workers
    nd = bench.node(kinds.PASS, lanes=2)
    kinds.Node(nd).partition_lanes = bench.heap.keep([len(places), *places])
    return bench, nd


def letters(bench, workers):
    """What a worker has for each: node, rounds, and the rows of a run, `rank, diff, lanes` each."""
    found = []
    for other in range(workers):
        words, at, runs = bench.heap.vector(Worker(bench.W).outboxes[other]).tolist(), 0, []
        while at < len(words):
            lanes, node, rounds, count = words[at : at + outbox.Run.SIZE]
            step, at = outbox.SentRow.SIZE + lanes, at + outbox.Run.SIZE
            runs.append((node, rounds, [tuple(words[at + i * step : at + (i + 1) * step]) for i in range(count)]))
            at += count * step
        found.append(runs)
    return found


@given(st.tuples(LANES, LANES), LANES, st.integers(1, 64))
def test_the_owner_of_a_row_is_one_of_the_workers_and_decided_by_its_place_alone(row, other, workers):
    bench, nd = sending(workers, places=(1,))
    owners = {int(outbox.owner_of(bench.W, nd, bench.heap.keep([a, row[1]]))) for a in (row[0], other)}
    assert len(owners) == 1 and owners <= set(range(workers))
    kinds.Node(nd).partition_lanes = bench.heap.keep([0])
    assert outbox.owner_of(bench.W, nd, bench.heap.keep(row)) == 0  # with no lanes to go by, one worker has all


def test_owners_are_spread():
    bench, nd = sending(3)
    owners = Counter(int(outbox.owner_of(bench.W, nd, bench.heap.keep([i, 0]))) for i in range(3000))
    assert all(800 < owners[i] < 1200 for i in range(3))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(1, 9)), max_size=20))
def test_rows_for_one_node_at_one_round_that_follow_each_other_share_their_run(rows):
    bench, nd = sending(3)
    posted = [[], [], []]
    for rank, (owner, rounds, value) in enumerate(rows):
        outbox.send_row(bench.W, nd, owner, bench.heap.keep([value, -value]), rounds, rank, 1, 2)
        if not posted[owner] or posted[owner][-1][1] != rounds:
            posted[owner].append((0, rounds, []))
        posted[owner][-1][2].append((rank, 1, value, -value))
    assert letters(bench, 3) == posted


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(LANES, LANES, st.integers(-3, 3)), max_size=30),
    places=st.sampled_from([(0,), (1,), (1, 0), ()]),
    workers=st.integers(2, 4),
    sign=st.sampled_from([1, -1]),
)
def test_a_block_is_posted_as_its_rows_would_be(rows, places, workers, sign):
    (block, nd), (singly, _) = (sending(workers, places) for _ in range(2))
    n, held = len(rows), []
    b = block.header.block
    for k in range(2):
        held.append(block.heap.keep([row[k] for row in rows] or [0]))
        set_column(Block(b).columns, k, held[-1], 1)
    ranks, diffs = block.heap.keep(list(range(1, n + 2))), block.heap.keep([row[2] for row in rows] or [0])
    bank = block.heap.keep([0] * 2 * 256)
    kept = outbox.send_others(block.W, nd, 2, bank, 5, ranks, 1, diffs, 1, sign, n)
    stays = []
    for i, (x, y, diff) in enumerate(rows):
        row = singly.heap.keep([x, y])
        owner = outbox.owner_of(singly.W, nd, row)
        if owner == 0:
            stays.append(i)
        else:
            outbox.send_row(singly.W, nd, owner, row, 5, i + 1, diff * sign, 2)
    assert letters(block, workers) == letters(singly, workers)
    assert kept == len(stays) == n or [int(Block(b).chosen[i]) for i in range(kept)] == stays
