from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.trace import heap as h
from ebbflow.trace import tally as t
from tests.trace.heaps import Bench


class Tally:
    """A tally on a fresh heap, and what it should hold."""

    def __init__(self, keys, words=1):
        self.bench = Bench()
        self.keys, self.words = keys, words
        self.at = self.bench.heap.zeros(t.Tally.SIZE)
        t.Tally(self.at).keys, t.Tally(self.at).words, t.Tally(self.at).mask = keys, words, -1

    def entry(self, key):
        p = self.bench.heap.keep(key)
        found = int(t.entry_of(self.bench.W, self.at, p))
        h.release(self.bench.W, p, max(1, len(key)))
        return found

    def moment(self):
        t.Tally(self.at).open.length = 0
        t.Tally(self.at).moment += 1

    def add(self, key, diff):
        H, W = self.bench.H, self.bench.W
        t.begin_log(W, self.at)
        e = self.entry(key)
        if H[e] != t.Tally(self.at).moment:
            t.open_entry(W, self.at, e, self.keys, self.words)
        t.Total(e).lanes[self.keys] += diff

    def content(self):
        H, found = self.bench.H, {}
        width = 1 + self.keys + self.words
        for i in range(int(t.Tally(self.at).mask) + 1):
            e = int(t.Tally(self.at).slots) + i * width
            if H[e] and H[e + 1 + self.keys]:
                key = tuple(H[e + 1 : e + 1 + self.keys].tolist())
                assert key not in found
                found[key] = int(H[e + 1 + self.keys])
        return found


def moments(keys):
    key = st.tuples(*[st.integers(-3, 40)] * keys)
    return st.lists(st.lists(st.tuples(key, st.sampled_from([1, 1, -1, 5])), max_size=30), max_size=6)


@settings(max_examples=60)
@pytest.mark.parametrize("keys", [0, 1, 2])
@given(data=st.data())
def test_a_tally_holds_what_every_key_adds_up_to(keys, data):
    tally, total = Tally(keys), Counter()
    for changes in data.draw(moments(keys)):
        tally.moment()
        for key, diff in changes:
            tally.add(key, diff)
            total[key] += diff
        assert tally.content() == {key: n for key, n in total.items() if n}


@settings(max_examples=60)
@given(before=moments(1), during=moments(1))
def test_undoing_an_advance_leaves_every_sum_as_it_was(before, during):
    tally = Tally(1)
    for i, moments_ in enumerate((before, during)):
        tally.bench.header.first = i + 1
        was = tally.content()
        for changes in moments_:
            tally.moment()
            for key, diff in changes:
                tally.add(key, diff)
    t.undo_tally(tally.bench.W, tally.at)
    assert tally.content() == was


def test_an_advance_that_touched_nothing_has_nothing_to_undo():
    tally = Tally(1)
    tally.moment()
    tally.add((1,), 1)
    tally.bench.header.first = 2
    t.undo_tally(tally.bench.W, tally.at)
    assert tally.content() == {(1,): 1}


def test_open_entries_are_followed_when_the_table_grows():
    tally = Tally(1)
    tally.moment()
    for i in range(1000):
        tally.add((i,), i + 1)
    H, p = tally.bench.H, int(t.Tally(tally.at).open.pointer)
    seen = {int(t.Total(H[p + at]).lanes[0]): int(H[p + at + 1]) for at in range(0, 2000, 2)}
    assert seen == dict.fromkeys(range(1000), 0)


def test_keys_that_come_and_go_leave_no_room_behind():
    tally = Tally(1)
    for i in range(10_000):
        tally.bench.header.first = i + 1
        tally.moment()
        tally.add((i,), 1)
        if i:
            tally.add((i - 1,), -1)
    assert tally.content() == {(9_999,): 1}
    assert t.Tally(tally.at).mask < 256
