import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.trace import batch as b
from ebbflow.trace.draft import KEYS_A_BUCKET, seal
from ebbflow.trace.heap import alloc
from tests.trace.made import hash_of, make_heap, make_stream, make_table, read_entries

pytestmark = pytest.mark.interpreted

LEAST, MOST = -(2**63), 2**63 - 1
words = st.one_of(st.integers(-3, 300), st.integers(2**40, 2**40 + 70000), st.integers(LEAST, MOST))
entry_heads = st.tuples(st.integers(0, 5), st.integers(0, 300), st.integers(-(2**40), 2**40))


def entries(values: int):
    lanes = st.one_of(st.just([7] * values), st.lists(words, min_size=values, max_size=values))
    return st.lists(st.builds(lambda head, lanes: (*head, *lanes), entry_heads, lanes), max_size=4)


@st.composite
def contents(draw):
    """The lanes of a key, the values of each family, and keys with entries."""
    keys, families = draw(st.integers(0, 3)), draw(st.lists(st.integers(0, 2), min_size=1, max_size=3))
    key = st.tuples(*[words] * keys)
    return keys, families, draw(st.dictionaries(key, st.tuples(*map(entries, families)).map(list), max_size=40))


def sealed(heap, tb, content):
    return seal(heap.W, tb, *make_stream(heap, content))


def number_of(heap, batch, key):
    return b.search(batch, heap.keep(key), hash_of(heap, key))


def entries_of(heap, batch, family, i, width, fresh=1):
    f = batch + int(b.Batch(batch).families[family])
    start, end = (int(b.start_of(batch, f, k)) for k in (i, i + 1))
    p = heap.zeros(max(1, (end - start) * width))
    b.copy_entries(batch, f, start, end, p, fresh)
    return read_entries(heap, p, end - start, width)


@given(contents())
@settings(max_examples=60, deadline=None)
def test_what_was_sealed_is_found_again_and_nothing_else(given_):
    keys, families, content = given_
    heap = make_heap()
    tb = make_table(heap, keys, [2 + n for n in families])
    batch = sealed(heap, tb, content)
    assert b.Batch(batch).key_count == len(content)
    for key, parts in content.items():
        i = number_of(heap, batch, key)
        assert i >= 0
        for family, part in enumerate(parts):
            assert entries_of(heap, batch, family, i, 2 + families[family]) == part
    for key in content:
        if key and (other := (*key[:-1], key[-1] ^ 1)) not in content:
            assert number_of(heap, batch, other) == -1


@given(contents())
@settings(max_examples=20, deadline=None)
def test_a_batch_means_the_same_wherever_its_words_lie(given_):
    keys, families, content = given_
    heap, other = make_heap(), make_heap()
    tb = make_table(heap, keys, [2 + n for n in families])
    batch = sealed(heap, tb, content)
    size = int(b.Batch(batch).size)
    copy = other.keep(np.array(heap.H[batch : batch + size]))
    for key, parts in content.items():
        i = number_of(other, copy, key)
        for family, part in enumerate(parts):
            assert entries_of(other, copy, family, i, 2 + families[family]) == part


def test_ranks_are_told_only_to_the_slice_that_sealed_them():
    heap = make_heap()
    tb = make_table(heap, 1, [3])
    batch = sealed(heap, tb, {(5,): [[(0, 3, 1, 9), (0, 4, 1, 8)]]})
    assert entries_of(heap, batch, 0, 0, 3, fresh=1) == [(0, 3, 1, 9), (0, 4, 1, 8)]
    assert entries_of(heap, batch, 0, 0, 3, fresh=0) == [(0, 0, 1, 9), (0, 0, 1, 8)]
    assert b.is_raw(batch)


@pytest.mark.parametrize(
    "values, bits",
    [([7] * 400, 0), ([7, 8] * 200, 1), (range(400), 16), (range(10**9, 10**9 + 400), 16), ([0, 2**40] * 200, 64)],
    ids=["constant", "two values", "a small range", "a small range far away", "a large range"],
)
def test_a_lane_takes_the_bits_that_its_range_needs(values, bits):
    heap = make_heap()
    tb = make_table(heap, 1, [3])
    batch = sealed(heap, tb, {(i,): [[(0, 1, 1, value)]] for i, value in enumerate(values)})
    assert b.family_at(batch, 0).values.bits == bits


def test_static_data_stores_keys_and_values_and_little_else():
    heap = make_heap()
    tb = make_table(heap, 1, [3])
    rng = np.random.default_rng(3)
    n = 512
    keys, values = rng.integers(LEAST, MOST, (2, n)).tolist()
    batch = sealed(heap, tb, {(k,): [[(0, 1, 1, v)]] for k, v in zip(keys, values, strict=True)})
    directory = n // KEYS_A_BUCKET // 2 + 1
    header = b.Batch.SIZE + b.Lane.SIZE + b.Family.SIZE + b.Lane.SIZE
    assert b.Batch(batch).size == 2 * n + directory + header


@pytest.mark.parametrize("most, bits", [(3, 8), (40, 16)])
def test_keys_with_different_numbers_of_entries_cost_a_byte_or_two_each(most, bits):
    heap = make_heap()
    tb = make_table(heap, 1, [2])
    content = {(i,): [[(r, 0, 1) for r in range(1 + i % most)]] for i in range(256)}
    batch = sealed(heap, tb, content)
    assert b.family_at(batch, 0).start_bits == bits
    for key, (part,) in content.items():
        assert entries_of(heap, batch, 0, number_of(heap, batch, key), 2) == part


def test_words_that_were_used_before_leave_no_trace():
    heap = make_heap()
    tb = make_table(heap, 1, [3])
    content = {(i,): [[(0, 0, 1, i % 5)]] for i in range(100)}
    first = sealed(heap, tb, content)
    size = int(b.Batch(first).size)
    b.release_batch(heap.W, first)
    p = int(alloc(heap.W, size))
    heap.H[p : p + size] = -1
    b.release(heap.W, p, size)
    second = sealed(heap, tb, content)
    assert second == p
    for key, (part,) in content.items():
        assert entries_of(heap, second, 0, number_of(heap, second, key), 3) == part
