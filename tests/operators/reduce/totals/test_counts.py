from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ebbflow as ebb
from ebbflow.engine import result_buffer
from ebbflow.native.kernel import address_of
from ebbflow.operators import block
from ebbflow.operators import consolidate as c
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce.answers import COUNT_OF_ROWS
from ebbflow.operators.reduce.totals import close, counts, fold
from ebbflow.trace import tally as t
from ebbflow.trace.failures import DIFF_OVERFLOW
from ebbflow.trace.worker_fields import Worker
from tests.trace.heaps import Bench

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 6), st.sampled_from([1, 1, -1, -1, 4])), max_size=40)


class Counts:
    """A node that counts by one lane, the output behind it, and what they should say."""

    def __init__(self, sorts=True, room=None):
        self.bench = Bench()
        W = self.bench.W
        self.nd, self.output = self.bench.node(kinds.REDUCE, lanes=2), self.bench.node(kinds.OUTPUT, lanes=2)
        self.ty = self.bench.heap.zeros(t.Tally.SIZE)
        kinds.Node(self.nd).op, kinds.Node(self.nd).tally, kinds.Node(self.output).raw = COUNT_OF_ROWS, self.ty, 1
        t.Tally(self.ty).keys, t.Tally(self.ty).words, t.Tally(self.ty).mask = 1, 1, -1
        t.Tally(self.ty).sorts, t.Tally(self.ty).output = int(sorts), self.output
        self.place = np.full((4, (room or 0) + 3), 99, np.int64)
        self.times = np.arange(100, 100 + 500)  # four blocks of forty rows, three ranks apart at most
        if room is not None:
            kinds.Node(self.output).direct_at, kinds.Node(self.output).direct_step = address_of(self.place), room + 3
            kinds.Node(self.output).direct_room = room
            kinds.Node(self.output).direct_times = address_of(self.times) - 1
        t.begin_log(W, self.ty)
        self.sums, self.found, self.open, self.wanted = Counter(), {}, {}, []

    def run(self, ranks, keys, diffs, sign=1):
        """A block through the kernel."""
        H, W = self.bench.H, self.bench.W
        held = [np.array(column, np.int64) for column in (ranks, keys, diffs)]
        columns = block.Block(Worker(W).block).columns
        H[columns], H[columns + 1] = address_of(held[1]), 1
        fold.run_block(W, self.nd, address_of(held[0]), 1, address_of(held[2]), 1, sign, len(keys))

    def expect(self, ranks, keys, diffs, sorts):
        """The same, in Python."""
        for rank, key, diff in zip(ranks, keys, diffs, strict=True):
            if self.open and rank != self.open["rank"]:
                self.close(sorts)
            self.open.setdefault("rank", rank)
            self.open.setdefault(key, self.sums[key])
            self.found.setdefault(key, self.sums[key])
            self.sums[key] += diff

    def close(self, sorts):
        rank = self.open.pop("rank")
        keys = sorted(self.open) if sorts and len(self.open) <= close.SORTED_BY_HAND else list(self.open)
        for key in keys:
            was, now = self.open[key], self.sums[key]
            pair = sorted(x for x in ((was, -1), (now, 1)) if x[0])
            self.wanted += [(key, count, rank, diff) for count, diff in pair if was != now]
        self.open = {}

    def said(self):
        """Rows in the place, with ranks for times, then those in the buffer."""
        n = int(kinds.Node(self.output).direct_rows)
        assert (self.place[:, n + 1 + 2 :] == 99).all()
        placed = [(k, count, time - 99, diff) for k, count, time, diff in self.place[:, :n].T.tolist()]
        words = self.bench.vector(kinds.Node(self.nd).buffer)
        rows = [tuple(words[i : i + 5]) for i in range(0, len(words), 5)]
        assert all(row[0] == 0 for row in rows)
        return placed, [(row[3], row[4], row[1], row[2]) for row in rows]

    def content(self):
        H, ty = self.bench.H, self.ty
        found = {}
        for e in range(int(t.Tally(ty).slots), int(t.Tally(ty).slots) + 3 * int(t.Tally(ty).mask + 1), 3):
            if H[e]:
                assert int(t.Total(e).lanes[0]) not in found
                found[int(t.Total(e).lanes[0])] = int(t.Total(e).lanes[1])
        return found


@settings(max_examples=150)
@pytest.mark.interpreted
@pytest.mark.parametrize("room", [None, 0, 60, 10_000])
@given(blocks=st.lists(ROWS, max_size=4), sorts=st.booleans(), sign=st.sampled_from([1, -1]))
def test_what_each_moment_changed_is_said_and_the_last_one_stays_open(room, blocks, sorts, sign):
    totals, rank = Counts(sorts, room), 1
    for rows in blocks:
        ranks = [rank + x for x in np.cumsum([more for more, _, _ in rows]).tolist()]
        if rows:
            rank = ranks[-1]
            keys, diffs = [row[1] for row in rows], [row[2] for row in rows]
            totals.run(ranks, keys, [diff * sign for diff in diffs], sign)
            totals.expect(ranks, keys, diffs, sorts)
    placed, buffered = totals.said()
    assert placed + buffered == totals.wanted
    assert room is not None or not placed
    assert room != 10_000 or not buffered
    bench = totals.bench
    assert {k: n for k, n in totals.content().items() if n} == {k: n for k, n in totals.sums.items() if n}
    opened = bench.vector(t.Tally(totals.ty).open)
    assert [(int(t.Total(opened[i]).lanes[0]), opened[i + 1]) for i in range(0, len(opened), 2)] == [
        (k, n) for k, n in totals.open.items() if k != "rank"
    ]
    assert int(t.Tally(totals.ty).rank) == totals.open.get("rank", 0)
    assert bench.header.deltas == len(totals.wanted) and bench.header.inserts == len(placed)


@given(steps=st.lists(ROWS, min_size=1, max_size=4), undone=st.integers(0, 3))
def test_an_advance_of_counts_is_undone(steps, undone):
    totals = Counts()
    W, before = totals.bench.W, {}
    for i, rows in enumerate(steps):
        totals.bench.header.first = i + 1
        for start in range(0, len(rows), 7):
            part = rows[start : start + 7]
            totals.run([1 + start] * len(part), [row[1] for row in part], [row[2] for row in part])
        while close.close_moment(W, totals.nd, totals.ty):
            pass
        if i == undone:
            t.undo_tally(W, totals.ty)
            assert {k: n for k, n in totals.content().items() if n} == before
        before = {k: n for k, n in totals.content().items() if n}


@pytest.mark.parametrize("many", [1000, 30_000])
def test_many_keys_that_share_slots_are_found_and_made(many):
    """In a table that is at hand, and in one that is not."""
    totals = Counts()
    for start in range(0, 4 * many, 200):
        keys = [(7 * i) % many << 20 for i in range(start, start + 200)]
        totals.run([1 + start] * 200, keys, [1] * 200)
        kinds.Node(totals.nd).buffer.length = 0
    assert totals.content() == {i << 20: 4 for i in range(many)}


def test_a_row_that_comes_too_often_fails_and_what_was_found_is_written_down():
    totals = Counts()
    totals.run([1, 2, 3], [5, 5, 6], [1, 1 << 50, 1])
    assert totals.bench.header.error == DIFF_OVERFLOW and totals.bench.header.error_rank == 2
    t.undo_tally(totals.bench.W, totals.ty)
    assert not any(totals.content().values())


def test_rows_wait_in_the_buffer_behind_others_that_do():
    totals = Counts(room=10_000)
    kinds.Node(totals.output).buffer.length = 4
    totals.run([1, 2], [1, 2], [1, 1])
    assert totals.said() == ([], [(1, 1, 1, 1)])
    kinds.Node(totals.output).buffer.length = 0
    totals.run([3], [1], [1])
    assert totals.said() == ([], [(1, 1, 1, 1), (2, 1, 2, 1)])


def test_a_moment_of_more_entries_than_a_block_is_closed_elsewhere():
    totals = Counts()
    for start in range(0, 4 * block.BLOCK_ROWS, block.BLOCK_ROWS):
        totals.run([1] * block.BLOCK_ROWS, range(start, start + block.BLOCK_ROWS), [1] * block.BLOCK_ROWS)
    assert not counts.counts_by_lane(totals.nd, totals.ty)
    totals.run([2, 3], [0, 0], [1, 1])
    assert Counter(rank for _, _, rank, _ in totals.said()[1]) == {1: 4 * block.BLOCK_ROWS, 2: 2}


@pytest.mark.parametrize("lanes", [0, 1, 3])
@pytest.mark.parametrize("room", [4, 5, 9])
def test_blocks_go_to_the_place_until_it_is_full_and_then_wait_behind_it(lanes, room):
    bench = Bench()
    W, nd = bench.W, bench.node(kinds.OUTPUT, lanes=lanes)
    place, times = np.full((lanes + 2, room + 1), 99, np.int64), np.array([70, 80, 90])
    kinds.Node(nd).raw, kinds.Node(nd).direct_at, kinds.Node(nd).direct_step = 1, address_of(place), room + 1
    kinds.Node(nd).direct_room, kinds.Node(nd).direct_times = room, address_of(times) - 1
    rows = np.array([[10 * k + i for i in range(9)] for k in range(lanes)], np.int64).reshape(lanes, 9)
    ranks, diffs = np.array([1, 1, 2, 2, 3, 3, 3, 3, 3]), np.array([1, -1, 2, 1, 1, 0, 1, 1, 1])
    wanted = [(*rows[:, i].tolist(), int(times[ranks[i] - 1]), -int(diffs[i])) for i in range(9) if diffs[i]]
    columns = block.Block(Worker(W).block).columns
    for start, n in ((0, 4), (4, 1), (5, 2), (7, 2)):
        for k in range(lanes):
            block.set_column(columns, k, address_of(rows[k]) + start, 1)
        c.absorb_block(W, nd, address_of(ranks) + start, 1, address_of(diffs) + start, 1, -1, n)
    out = np.empty((lanes + 2, c.count_rows(nd)), np.int64)
    c.take_rows(nd, out, 0, times)
    n = int(c.stop_direct(nd))
    assert n == {4: 4, 5: 5, 9: 5}[room] and (place[:, n:] == 99).all()  # where a diff is zero, rows wait as well
    assert [tuple(row) for row in [*place[:, :n].T.tolist(), *out.T.tolist()]] == wanted
    node = kinds.Node(nd)
    assert not any((node.direct_at, node.direct_step, node.direct_room, node.direct_rows, node.direct_times))


def degrees(flow, name, rows):
    totals = rows.group_by("k").agg(n=ebb.count())
    flow.output(name, totals.group_by("n").agg(keys=ebb.count()))
    flow.output(name + " sums", rows.group_by("k").agg(s=ebb.sum("v")))


@pytest.mark.parametrize("words", [40, 400, None])
def test_slices_that_go_straight_to_where_they_stay_are_what_one_slice_gives(monkeypatch, words):
    """Whatever room there is; and a step that fails half way leaves nothing of it."""
    if words is not None:
        monkeypatch.setattr(result_buffer, "ROOM", words)
        monkeypatch.setattr(result_buffer, "_spare", [])
    flow = ebb.Dataflow()
    rows = flow.input("rows", "k long, v long")
    degrees(flow, "degrees", rows.filter(rows.v * rows.v >= 0))
    random = np.random.default_rng(3)
    seven = {"slice_times": 7}
    with flow._run_tuned(seven) as sliced, flow.run() as whole, flow._run_tuned(seven, workers=2) as two:
        for step in range(3):
            n = 300
            part = {"k": random.integers(0, 9, n), "v": random.integers(0, 5, n)}
            part |= {"t": 100 * step + np.sort(random.integers(0, 100, n)), "d": random.choice([1, 1, -1], n)}
            bad = {**part, "v": np.where(np.arange(n) == 200, 1 << 40, part["v"])}
            sliced.apply("rows", bad, time="t", diff="d")
            with pytest.raises(ebb.errors.EbbflowError):
                sliced.advance_to(100 * step + 100)
            sliced.discard()
            for live in (sliced, whole, two):
                live.apply("rows", part, time="t", diff="d")
                live.advance_to(100 * step + 100)
            for name in ("degrees", "degrees sums"):
                shown = [live.changes(name).rows() for live in (sliced, whole, two)]
                assert shown[0] == shown[1] == shown[2] and len(shown[0]) > 100
                assert sliced.snapshot(name).rows() == whole.snapshot(name).rows() == two.snapshot(name).rows()
