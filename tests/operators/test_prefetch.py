import pytest

from ebbflow.native.kernel import twin
from ebbflow.operators import node as kinds
from ebbflow.operators import prefetch
from ebbflow.trace import batch as b
from ebbflow.trace import spine as s
from ebbflow.trace import table as t
from ebbflow.trace.draft import seal
from ebbflow.trace.merging import add_batch
from ebbflow.trace.worker_fields import Segment, Vector
from tests.trace.heaps import Bench
from tests.trace.made import hash_of, make_stream

pytestmark = pytest.mark.interpreted

KEYS = 40


@pytest.fixture
def bench():
    """A reduction whose even keys have records and whose odd ones are sealed, read by a join with itself."""
    bench = Bench()
    bench.header.cached_slots = 0
    nd = bench.node(kinds.REDUCE, keys=1, widths=[3])
    tb = bench.table(nd)
    for key in range(0, KEYS, 2):
        rc = int(t.add_key(bench.W, tb, bench.heap.keep([key]), hash_of(bench.heap, (key,))))
        bench.push(int(t.segment_of(tb, rc, 0)), 3, 0, 0, 1, [7])
    stream = make_stream(bench.heap, {(key,): [[(0, 0, 1, 7)]] for key in range(1, KEYS, 2)})
    add_batch(bench.W, tb, seal(bench.W, tb, *stream))
    join = bench.node(kinds.JOIN)
    kinds.Node(join).left = kinds.Node(join).right = nd
    kinds.Node(nd).readers.joins, kinds.Node(nd).readers.count = bench.heap.keep([join, 1]), 1
    bench.nd, bench.tb = nd, tb
    return bench


def words_of(bench):
    """Everything but the room in which hashes are written down."""
    words = bench.heap.words.copy()
    room = bench.header.block - bench.W + 8
    words[room : room + prefetch.KEYS_AHEAD] = 0
    return words.tolist()


def test_asking_for_keys_that_are_there_sealed_or_nowhere_changes_nothing(bench):
    hashes = bench.heap.keep([hash_of(bench.heap, (key,)) for key in range(KEYS + 10)])
    before = words_of(bench)
    prefetch.prefetch_keys(bench.W, bench.tb, 0, hashes, 1, KEYS + 10)
    prefetch.prefetch_joined(bench.W, bench.nd, 0, hashes, 5, (KEYS + 10) // 5)
    assert words_of(bench) == before


@pytest.fixture
def asked(monkeypatch):
    """Every word that is asked for: the kernels run as the Python functions that they were made of."""
    for name, found in list(vars(prefetch).items()):
        if callable(found) and twin(found).__module__ == prefetch.__name__:
            monkeypatch.setattr(prefetch, name, twin(found))
    words = []
    monkeypatch.setattr(prefetch, "prefetch", words.append)
    return words


def test_slots_records_and_entries_are_asked_for_and_of_sealed_keys_where_they_lie(bench, asked):
    tb = bench.tb
    hashes = [hash_of(bench.heap, (key,)) for key in range(KEYS)]
    prefetch.prefetch_keys(bench.W, tb, 0, bench.heap.keep(hashes), 1, KEYS)
    lines = set(asked)
    assert {int(t.Table(tb).slots) + (int(h_) & int(t.Table(tb).mask)) for h_ in hashes} <= lines
    found = [int(prefetch.likely_record(tb, h_)) for h_ in hashes]
    for rc in filter(None, found):
        assert {rc, int(Vector(t.segment_of(tb, rc, 0)).pointer)} <= lines
    batch = int(s.Sealed(bench.vector(t.Table(tb).spine.batches)[0]).batch)
    directory = batch + int(b.Batch(batch).directory)
    down = b.HASH_BITS - int(b.Batch(batch).radix)
    assert {directory + (int(h_) >> (down + 1)) for h_, rc in zip(hashes, found) if not rc} <= lines


def test_a_join_is_looked_ahead_for_where_keys_are_shown_to_it(bench, asked):
    at = bench.heap.keep([t.find(bench.tb, bench.heap.keep([4]), hash_of(bench.heap, (4,)))])
    prefetch.prefetch_visits(bench.W, bench.nd, bench.tb, 0, at, 1, 1)
    own = len(asked)
    kinds.Node(bench.nd).readers.count = 0
    prefetch.prefetch_visits(bench.W, bench.nd, bench.tb, 0, at, 1, 1)
    assert 0 < len(asked) - own < own


def test_a_table_that_is_near_is_not_asked_for(bench, asked):
    bench.header.cached_slots = 1 << 20
    small = bench.table(bench.node(kinds.REDUCE, keys=1, widths=[3]))
    prefetch.prefetch_keys(bench.W, small, 0, bench.heap.keep([hash_of(bench.heap, (4,))]), 1, 1)
    assert asked == []


def test_asking_for_what_visits_need_changes_nothing(bench):
    records = [t.find(bench.tb, bench.heap.keep([k]), hash_of(bench.heap, (k,))) for k in range(0, KEYS, 2)]
    at = bench.heap.keep(records)
    before = words_of(bench)
    prefetch.prefetch_visits(bench.W, bench.nd, bench.tb, 0, at, 1, len(records))
    assert words_of(bench) == before


def test_what_is_likely_the_record_of_a_key_is_it_or_nothing(bench):
    found = 0
    for key in range(KEYS):
        h_ = hash_of(bench.heap, (key,))
        likely = int(prefetch.likely_record(bench.tb, h_))
        assert likely in (0, int(t.find(bench.tb, bench.heap.keep([key]), h_)))
        found += likely > 0
    assert found > KEYS // 4  # some stand behind another one


def test_a_table_is_far_when_it_is_large_or_has_something_sealed(bench):
    small = bench.table(bench.node(kinds.REDUCE, keys=1, widths=[3]))
    assert prefetch.may_miss_cache(bench.W, bench.tb)
    assert prefetch.may_miss_cache(bench.W, small)
    bench.header.cached_slots = 1 << 20
    assert prefetch.may_miss_cache(bench.W, bench.tb)
    assert not prefetch.may_miss_cache(bench.W, small)


def test_a_small_table_is_far_where_all_that_is_beside_it_does_not_fit(bench):
    small = bench.table(bench.node(kinds.REDUCE, keys=1, widths=[3]))
    bench.header.cached_slots = 1 << 13
    t.Table(small).mask = prefetch.NEAR_SLOTS
    assert not prefetch.may_miss_cache(bench.W, small)
    bench.header.live = prefetch.WORDS_A_SLOT << 13
    assert prefetch.may_miss_cache(bench.W, small)
    t.Table(small).mask = prefetch.NEAR_SLOTS - 1
    assert not prefetch.may_miss_cache(bench.W, small), "the first of its keys bring the others"


def test_of_a_long_segment_the_entries_of_the_slice_are_asked_for_too(bench, asked):
    segment = t.segment_of(bench.tb, t.find(bench.tb, bench.heap.keep([4]), hash_of(bench.heap, (4,))), 0)
    for value in range(50):
        bench.push(int(segment), 3, 0, 0, 1, [100 + value])
    there = Segment(segment)
    there.old = 40
    prefetch.prefetch_keys(bench.W, bench.tb, 0, bench.heap.keep([hash_of(bench.heap, (4,))]), 1, 1)
    assert there.length == 51 and int(there.pointer) + 3 * 40 in asked


def test_a_record_without_entries_has_none_to_ask_for():
    bench = Bench()
    bench.header.cached_slots = 0
    tb = bench.table(bench.node(kinds.SETTLE, keys=1, widths=[]))
    hash_ = hash_of(bench.heap, (5,))
    t.add_key(bench.W, tb, bench.heap.keep([5]), hash_)
    hashes = bench.heap.keep([hash_])
    before = words_of(bench)  # in checked mode, a look beyond the record would end the process
    prefetch.prefetch_keys(bench.W, tb, 0, hashes, 1, 1)
    assert words_of(bench) == before
