import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.trace import batch as b
from ebbflow.trace import batch_builder
from ebbflow.trace import packed_rows as k
from ebbflow.trace import spine as s
from ebbflow.trace import table as t
from ebbflow.trace.draft import seal
from ebbflow.trace.worker_fields import Worker
from tests.trace.made import hash_of, make_heap, make_stream, make_table

pytestmark = pytest.mark.interpreted

ROUNDS = 5
words = st.integers(-3, 300) | st.integers(2**40, 2**40 + 70000) | st.integers(-(2**63), 2**63 - 1)


def parts(values: int, least: int):
    entry = st.tuples(st.just(ROUNDS), st.integers(0, 3), st.sampled_from([-1, 1, 1, 1, 70]), *[words] * values)
    return st.lists(entry, min_size=least, max_size=4)


@st.composite
def contents(draw):
    """The lanes of a key, the values of each family, and keys with entries of one round, some of the first family."""
    keys, families = draw(st.integers(0, 3)), draw(st.lists(st.integers(0, 2), min_size=1, max_size=2))
    made = st.tuples(*(parts(values, 1 - i) for i, values in enumerate(families))).map(list)
    return keys, families, draw(st.dictionaries(st.tuples(*[words] * keys), made, max_size=60))


@given(contents())
@settings(max_examples=60, deadline=None)
def test_keys_that_are_put_down_become_the_batch_that_a_stream_of_them_becomes(given_):
    keys, families, content = given_
    heap = make_heap()
    H, W = heap.H, heap.W
    tb = make_table(heap, keys, [2 + n for n in families])
    expected = int(seal(W, tb, *make_stream(heap, content))) if content else 0
    pack = batch_builder.begin_batch(W, tb)
    step = 3 + keys + families[0]
    for key in sorted(content, key=lambda key: (hash_of(heap, key), key)):
        mine, said = [*content[key], []][:2]
        rows = heap.keep(
            [x for _, rank, diff, *values in mine for x in (rank, diff, hash_of(heap, key), *key, *values)]
        )
        deltas = heap.keep([x for _, *row in said for x in row])
        batch_builder.put_key_rows(W, tb, pack, rows, len(mine), step, deltas, len(said))
    batch_builder.finish_batch(W, tb, pack, ROUNDS)
    spine = int(t.Table(tb).spine)
    assert bool(spine) == bool(content)
    if content:
        (place,) = heap.vector(t.Spine(spine).batches).tolist()
        found, size = int(s.Sealed(place).batch), int(b.Batch(expected).size)
        assert H[found : found + size].tolist() == H[expected : expected + size].tolist()
    assert k.Pack(pack).rows == sum(len(parts[0]) for parts in content.values())
    assert Worker(W).stream.length == 0
