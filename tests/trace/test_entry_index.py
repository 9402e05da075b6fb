"""Entries of large keys against a dictionary: each where it belongs, at every slice, and undone to the last."""

import random
from collections import Counter

import pytest

from ebbflow.operators import node as kinds
from ebbflow.operators.reduce.window_index import undo_indexes
from ebbflow.trace import entry_index as e
from ebbflow.trace import segment as s
from ebbflow.trace import table as t
from ebbflow.trace.append import push_entry
from ebbflow.trace.ordered_index import OrderedIndex
from ebbflow.trace.segment import DIFF_AT_MOST
from ebbflow.trace.spine import in_one_piece
from tests.trace.heaps import Bench


class Key:
    """A key of an arrangement that has an index from two entries on."""

    def __init__(self, values=1):
        self.bench, self.w = Bench(reserve=1 << 26), 2 + values
        self.header = self.bench.header
        self.header.index_entries = 2
        self.table = t.Table(self.bench.table(self.bench.node(kinds.ARRANGE, 1, [self.w])))
        self.table.hangs_index = 1
        self.record = t.Record(self.bench.record(self.table, (7,)))
        self.segment = t.segment_of(self.table, self.record, 0)

    def push(self, rounds, diff, *lanes, rank=1):
        e.touch_key(self.header, self.table, self.record, self.segment, self.w)
        words = self.bench.heap.keep(lanes)
        push_entry(self.header, self.segment, self.w, rounds, rank, diff, words)

    def next_slice(self, advance=True):
        self.bench.next_slice()
        if advance:
            self.header.first = self.header.step

    @property
    def index(self):
        return OrderedIndex(t.Marks(self.record + 1).index)

    def entries(self):
        """All entries, as a reader who wants them in one piece gets them; those of the index are in order."""
        whole = in_one_piece(self.header, self.table, 0, self.segment)
        found = self.bench.entries(int(whole), self.w)
        inside = [(lanes, rounds) for rounds, _, _, lanes in found[: int(self.index.values) if self.index else 0]]
        assert inside == sorted(inside)
        return found

    def counts(self):
        total = Counter()
        for rounds, _, diff, lanes in self.entries():
            total[rounds, lanes] += diff
        return {key: diff for key, diff in total.items() if diff}


@pytest.mark.parametrize("values", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_what_an_index_holds_is_the_sum_of_what_came(seed, values):
    rng, key, right, indexed = random.Random(seed), Key(values), Counter(), 0
    for _ in range(60):
        for _ in range(rng.choice([1, 2, 40])):
            rounds, lanes = rng.randint(0, 2), tuple(rng.randint(0, 30) for _ in range(values))
            diff = rng.choice([1, 1, -1, 2])
            key.push(rounds, diff, *lanes, rank=rng.randint(1, 5))
            right[rounds, lanes] += diff
        assert key.counts() == {place: diff for place, diff in right.items() if diff}
        key.next_slice()
        if key.index:
            indexed += 1
    assert 20 < indexed < 60  # a slice of many entries brings all into one piece


def test_a_sum_that_one_entry_cannot_hold_has_several():
    key = Key()
    for lane in (1, 2, 3):
        key.push(0, DIFF_AT_MOST, lane)
    for _ in range(4):
        key.next_slice()
        key.push(0, DIFF_AT_MOST - 5, 2)
    key.next_slice()
    key.push(0, -7, 2)
    assert key.counts()[0, (2,)] == DIFF_AT_MOST + 4 * (DIFF_AT_MOST - 5) - 7


def test_an_advance_of_several_slices_is_undone():
    key, rng = Key(), random.Random(1)
    for lane in range(0, 400, 2):
        key.push(0, 1, lane)
    for _ in range(3):
        key.next_slice()
        key.push(0, 1, 1001)
    before = key.counts()
    key.next_slice()
    key.header.saves_segments = 1
    for _ in range(4):
        for _ in range(30):
            key.push(0, rng.choice([1, -1]), rng.randint(0, 400))
        key.next_slice(advance=False)
    key.push(0, 1, 5)
    assert key.counts() != before
    key.segment.length = key.segment.old  # as the walk cuts what an advance added
    undo_indexes(key.header)
    assert key.counts() == before


def test_an_index_that_is_empty_is_dropped():
    key = Key()
    for lane in range(100):
        key.push(0, 1, lane)
    for _ in range(2):
        key.next_slice()
        e.touch_key(key.header, key.table, key.record, key.segment, key.w)
    assert key.index and e.has_index(key.header, key.table, key.record)
    live = int(key.header.live)
    for _ in range(100):
        e.fold_entry(key.header, key.index, s.Entry(key.index.directory[0].at), key.w, -1)
    assert not e.has_index(key.header, key.table, key.record) and not key.index
    assert key.header.live < live and key.counts() == {}


def test_a_key_that_shrinks_entry_by_entry_becomes_a_segment_again():
    key = Key()
    key.header.index_entries = 50
    for lane in range(100):
        key.push(0, 1, lane)
    for lane in range(100):
        key.next_slice()
        key.push(0, -1, lane)
        if lane == 3:
            assert key.index
    assert not key.index and key.counts() == {}
