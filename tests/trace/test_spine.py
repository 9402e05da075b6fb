from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ebbflow.trace import spine as s
from ebbflow.trace import table as t
from ebbflow.trace.append import touch
from ebbflow.trace.draft import seal
from ebbflow.trace.merging import add_batch, cut_spine, tend
from ebbflow.trace.worker_fields import Segment, Worker
from tests.trace.made import hash_of, make_heap, make_stream, make_table, read_segment

pytestmark = pytest.mark.interpreted

WIDTH = 3  # entries with one value
keys = st.integers(0, 12).map(lambda k: (k,))
entries = st.lists(
    st.tuples(st.integers(0, 1), st.integers(1, 3), st.sampled_from([-2, -1, 1, 1, 3]), st.integers(0, 2)),
    min_size=1,
    max_size=3,
    unique_by=lambda e: (e[0], e[1], e[3]),
)
MANY = 1 << 40


def summed(found) -> Counter:
    """What entries say, whatever their times."""
    sums: Counter = Counter()
    for rounds, _, diff, *values in found:
        sums[rounds, *values] += diff
    return Counter({what: diff for what, diff in sums.items() if diff})


class Told:
    """A table with a spine, and a dictionary that says what should be in them."""

    def __init__(self):
        self.heap = make_heap()
        self.H, self.W = self.heap.H, self.heap.W
        self.tb = make_table(self.heap, 1, [WIDTH])
        Worker(self.W).effort = 0
        self.model: dict[tuple, Counter] = {}
        self.step = 0
        self.next()

    def next(self):
        """The next slice, an advance of its own."""
        self.step += 1
        Worker(self.W).step = Worker(self.W).first = self.step

    def record(self, key):
        return t.find(self.tb, self.heap.keep(key), hash_of(self.heap, key))

    def seal(self, content):
        stream = make_stream(self.heap, {key: [part] for key, part in content.items()})
        add_batch(self.W, self.tb, seal(self.W, self.tb, *stream))

    def add(self, content):
        for key, part in content.items():
            self.model.setdefault(key, Counter()).update(dict.fromkeys(summed(part), 0))
            self.model[key] = summed(
                [(*k[:1], 0, d, *k[1:]) for c in (self.model[key], summed(part)) for k, d in c.items()]
            )

    def load(self, key):
        rc = s.load_key(self.W, self.tb, self.heap.keep(key), hash_of(self.heap, key))
        if rc:
            touch(self.W, t.segment_of(self.tb, rc, 0), WIDTH)
        return rc

    def evict(self, key):
        rc = self.record(key)
        sg = t.segment_of(self.tb, rc, 0)
        part = read_segment(self.heap, sg, WIDTH)
        t.forget_key(self.tb, rc, hash_of(self.heap, key))
        self.seal({key: part})

    def read(self, key):
        """What is there of a key, by record or by spine."""
        rc = self.record(key)
        if rc:
            return read_segment(self.heap, t.segment_of(self.tb, rc, 0), WIDTH)
        if not t.Table(self.tb).spine:
            return []
        sg = s.read_sealed(self.W, self.tb, 0, self.heap.keep(key), hash_of(self.heap, key))
        return read_segment(self.heap, sg, WIDTH) if sg else []

    def batches(self):
        spine = int(t.Table(self.tb).spine)
        return self.heap.vector(t.Spine(spine).batches).tolist() if spine else []

    def merges(self):
        spine = int(t.Table(self.tb).spine)
        return self.heap.vector(t.Spine(spine).merges).tolist() if spine else []


class SpineAgainstDictionary(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.told = Told()

    @rule(content=st.dictionaries(keys, entries, min_size=1, max_size=6))
    def seal(self, content):
        self.told.next()
        content = {key: part for key, part in content.items() if not self.told.record(key)}
        if content:
            self.told.seal(content)
            self.told.add(content)
        self.told.next()

    @rule(content=st.dictionaries(keys, entries, min_size=1, max_size=6))
    def seal_and_undo(self, content):
        self.told.next()
        content = {key: part for key, part in content.items() if not self.told.record(key)}
        if content:
            self.told.seal(content)
        cut_spine(self.told.W, self.told.tb)
        self.told.next()

    @rule(key=keys)
    def load(self, key):
        self.told.next()
        if not self.told.record(key) and t.Table(self.told.tb).spine:
            self.told.load(key)

    @rule(key=keys)
    def evict(self, key):
        self.told.next()
        if self.told.record(key):
            self.told.evict(key)
        self.told.next()

    @rule(fuel=st.integers(1, 20))
    def tend(self, fuel):
        self.told.next()
        tend(self.told.W, self.told.tb, fuel)

    @precondition(lambda self: self.told.merges())
    @rule()
    def finish(self):
        tend(self.told.W, self.told.tb, MANY)

    @invariant()
    def every_key_is_as_it_should_be(self):
        if not hasattr(self, "told"):
            return
        for key in range(13):
            assert summed(self.told.read((key,))) == self.told.model.get((key,), Counter()), key


TestSpineAgainstDictionary = SpineAgainstDictionary.TestCase
TestSpineAgainstDictionary.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def ones(keys_, value=0):
    return {(k,): [(0, 1, 1, value)] for k in keys_}


def test_a_miss_makes_no_record():
    told = Told()
    told.seal(ones(range(10)))
    assert s.load_key(told.W, told.tb, told.heap.keep((99,)), hash_of(told.heap, (99,))) == 0
    assert t.Table(told.tb).count == 0


def test_a_key_sealed_in_this_slice_is_loaded_as_new_and_can_be_undone():
    told = Told()
    told.seal({(1,): [(0, 2, 1, 5), (0, 3, -1, 5)]})
    rc = told.load((1,))
    sg = t.segment_of(told.tb, rc, 0)
    assert Segment(sg).old == 0
    assert read_segment(told.heap, sg, WIDTH) == [(0, 2, 1, 5), (0, 3, -1, 5)]


def test_a_key_sealed_before_is_loaded_as_old_and_folded():
    told = Told()
    told.seal({(1,): [(0, 2, 1, 5), (0, 3, 2, 5)]})
    told.next()
    sg = t.segment_of(told.tb, told.load((1,)), 0)
    assert Segment(sg).old == 1
    assert read_segment(told.heap, sg, WIDTH) == [(0, 0, 3, 5)]


def test_a_key_of_several_batches_is_read_as_one():
    told = Told()
    told.seal(ones([1, 2], 5))
    told.next()
    told.seal({(1,): [(0, 1, -1, 5), (0, 1, 1, 6)]})
    told.next()
    assert told.read((1,)) == [(0, 0, 1, 6)]
    assert told.read((2,)) == [(0, 0, 1, 5)]


def test_a_key_that_left_during_a_merge_is_not_brought_back_by_it():
    told = Told()
    for start in (0, 40):
        told.seal(ones(range(start, start + 40)))
        told.next()
    tend(told.W, told.tb, 5)
    assert told.merges()
    told.load((3,))
    while told.merges():
        tend(told.W, told.tb, 7)
    (place,) = told.batches()
    assert s.Sealed(place).gone_count == 1
    t.forget_key(told.tb, told.record((3,)), hash_of(told.heap, (3,)))  # the spine has nothing of it
    assert told.read((3,)) == []
    assert told.read((4,)) == [(0, 0, 1, 0)]


def test_a_merge_drops_what_cancels_and_what_has_left():
    told = Told()
    told.seal(ones(range(32)))
    told.next()
    told.seal({(k,): [(0, 1, -1, 0)] for k in range(16)} | ones(range(50, 66)))
    told.next()
    told.load((20,))
    tend(told.W, told.tb, MANY)
    (place,) = told.batches()
    kept = int(s.Sealed(place).batch.key_count)
    assert kept == 32 - 16 - 1 + 16


def test_there_are_few_batches_and_no_addition_pays_for_a_large_merge():
    told = Told()
    most = 0
    for i in range(200):
        told.seal(ones(range(8 * i, 8 * i + 8)))
        told.next()
        most = max(most, len(told.batches()))
    assert most <= 2 * 11 + 2  # two a level
    assert all(told.read((k,)) for k in range(0, 1600, 37))


def test_what_an_advance_sealed_is_not_merged_with_what_was_there_before():
    told = Told()
    told.seal(ones(range(20)))
    told.next()
    told.seal(ones(range(20, 40)))  # a first slice of an advance
    told.step += 1
    Worker(told.W).step = told.step  # a second slice of it
    tend(told.W, told.tb, MANY)
    assert len(told.batches()) == 2
    cut_spine(told.W, told.tb)  # the advance is refused
    assert all(told.read((k,)) for k in range(20)) and not told.read((30,))


def test_fuel_bounds_what_a_merge_does_at_once():
    told = Told()
    for start in (0, 400):
        told.seal(ones(range(start, start + 400)))
        told.next()
    tend(told.W, told.tb, 100)
    (merge,) = told.merges()
    assert s.Merge(merge).one_at + s.Merge(merge).two_at <= 50  # a key and its entry cost two
    for _ in range(100):
        tend(told.W, told.tb, 100)
    assert not told.merges()


def test_a_batch_that_most_keys_left_shrinks_when_effort_is_spent():
    told = Told()
    told.seal(ones(range(100)))
    told.next()
    before = int(Worker(told.W).sealed)
    for k in range(60):
        told.load((k,))
    tend(told.W, told.tb, MANY)
    tend(told.W, told.tb, MANY)
    assert Worker(told.W).sealed < before
    for k in range(60, 100):
        told.load((k,))
    tend(told.W, told.tb, MANY)
    assert t.Table(told.tb).spine == 0 and Worker(told.W).sealed == 0


def test_what_is_sealed_and_dropped_leaves_no_word_behind():
    told = Told()
    live = int(Worker(told.W).live)
    told.next()
    stream = make_stream(told.heap, {key: [part] for key, part in ones(range(50)).items()})
    kept = int(Worker(told.W).live)
    add_batch(told.W, told.tb, seal(told.W, told.tb, *stream))
    draft = int(Worker(told.W).draft.capacity)
    cut_spine(told.W, told.tb)
    assert Worker(told.W).live == kept + draft
    assert live < kept


def test_a_key_that_is_read_for_a_visit_stays_where_it_is():
    told = Told()
    told.seal({(1,): [(0, 1, 1, 5), (1, 1, 1, 6)], (2,): [(0, 1, 1, 5)]})
    told.next()
    told.seal({(1,): [(1, 2, -1, 6), (1, 2, 1, 7)]})
    live = Worker(told.W).live
    key, hash_ = told.heap.keep((1,)), hash_of(told.heap, (1,))
    rc = int(s.read_key(told.W, told.tb, key, hash_))
    sg = int(t.segment_of(told.tb, rc, 0))
    assert read_segment(told.heap, sg, WIDTH) == [(0, 0, 1, 5), (1, 0, 1, 6), (1, 2, -1, 6), (1, 2, 1, 7)]
    assert Segment(sg).old == 2 and Segment(sg).stamp == told.step
    t.forget_key(told.tb, rc, hash_)
    assert Worker(told.W).live > live
    assert summed(told.read((1,))) == {(0, 5): 1, (1, 7): 1}
    assert s.read_key(told.W, told.tb, told.heap.keep((9,)), hash_of(told.heap, (9,))) == 0


@pytest.mark.parametrize("rounds, left", [(0, 1), (2, 3)])
def test_entries_of_two_batches_are_added_up_unless_their_rounds_tell_them_apart(rounds, left):
    told = Told()
    told.seal({(1,): [(0, 1, 1, 5), (0, 1, 1, 6)]})
    told.next()
    told.seal({(1,): [(rounds, 1, -1, 5)]})
    told.next()
    for _ in range(4):
        tend(told.W, told.tb, MANY)
        told.next()
    assert len(told.batches()) == 1
    assert len(told.read((1,))) == left
    assert summed(told.read((1,))) == summed([(0, 1, 1, 5), (0, 1, 1, 6), (rounds, 1, -1, 5)])
