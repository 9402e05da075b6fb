import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.operators.node import REDUCE
from ebbflow.trace import heap as h
from ebbflow.trace import table as t
from ebbflow.trace.hashing import hash_lanes
from tests.trace.heaps import Bench, records
from tests.trace.made import hash_of, make_heap, make_table

WORD = (1 << 64) - 1
FIRST, LAST = -7046029254386353131, -4658895280553007687


def signed(x):
    x &= WORD
    return x - (1 << 64) if x >> 63 else x


def shifted_back(x, by):
    """The x of which `x ^ (x >> by)` was given."""
    found = x
    for _ in range(64 // by + 1):
        found = x ^ (found >> by)
    return found


def partner(first, code):
    """The second lane that gives a key with this first lane the hash `code`."""
    x = shifted_back(code, 32)
    x = (x * pow(LAST, -1, 1 << 64)) & WORD
    x = shifted_back(x, 29)
    x = (x * pow(FIRST, -1, 1 << 64)) & WORD
    y = ((first & WORD) * FIRST) & WORD
    y ^= y >> 29
    return signed(x ^ y)


COLLIDING = [(i, partner(i, 0x1234_5678_9ABC_DEF0)) for i in range(40)]
ONE_SLOT = [(i, partner(i, (i << 44) | 5)) for i in range(40)]  # the same low bits, so one place in every table


def bench(keys=2, widths=(3,)):
    made = Bench()
    return made, made.table(made.node(REDUCE, keys, widths))


def look(made, tb, key):
    p = made.heap.keep(key)
    found = int(t.find(tb, p, hash_lanes(p, len(key))))
    h.release(made.W, p, max(1, len(key)))
    return found


@pytest.mark.interpreted
def test_the_colliding_keys_do_collide():
    made = Bench()
    codes = {int(hash_lanes(made.heap.keep(key), 2)) for key in COLLIDING}
    assert len(codes) == 1
    assert {int(hash_lanes(made.heap.keep(key), 2)) & 0xFFFF for key in ONE_SLOT} == {5}


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.booleans(), st.sampled_from(COLLIDING + ONE_SLOT) | st.tuples(st.integers(0, 9), st.integers(0, 9))
        ),
        max_size=200,
    )
)
def test_keys_are_found_as_in_a_dict_whatever_their_hashes(asked):
    made, tb = bench()
    model = {}
    for adds, key in asked:
        found = look(made, tb, key)
        assert found == model.get(key, 0)
        if adds and not found:
            model[key] = made.record(tb, key)
    assert t.Table(tb).count == len(model)
    assert sorted(records(made.H, tb)) == sorted(model.values())
    assert all(made.words(rc, 2) == list(key) for key, rc in model.items())


@pytest.mark.parametrize("keys", [1, 3])
def test_records_stay_at_their_address_while_the_table_grows(keys):
    made, tb = bench(keys)
    found = {}
    for i in range(2000):
        key = (i * 7919 - 5000,) * keys
        found[key] = made.record(tb, key)
    assert {key: look(made, tb, key) for key in found} == found
    assert look(made, tb, (1,) * keys) == 0
    live = made.header.live
    t.resize(made.W, tb, 1 << 14)
    assert {key: look(made, tb, key) for key in found} == found
    t.resize(made.W, tb, 1 << 12)
    assert made.header.live <= live  # the slots of before were given back
    assert {key: look(made, tb, key) for key in found} == found


@pytest.mark.interpreted
def test_a_table_with_no_key_columns_has_one_record():
    made, tb = bench(1)
    t.Table(tb).keys, t.Table(tb).record = 0, t.Table(tb).record - 1
    assert look(made, tb, ()) == 0
    rc = made.record(tb, ())
    assert look(made, tb, ()) == made.record(tb, ()) == rc


@pytest.mark.interpreted
def test_a_new_record_is_empty_and_its_families_do_not_overlap():
    made, tb = bench(2, (3, 4))
    dirty = h.alloc(made.W, int(t.Table(tb).record))
    made.H[dirty : dirty + int(t.Table(tb).record)] = 77
    h.release(made.W, dirty, int(t.Table(tb).record))
    rc = made.record(tb, (8, 9))
    size = int(t.Table(tb).record)
    assert made.words(rc, size) == [8, 9] + [0] * (size - 2)
    one, two = (int(t.segment_of(tb, rc, family)) for family in (0, 1))
    for i in range(20):
        made.push(one, 3, 0, 1, i + 1, (i,))
        made.push(two, 4, 0, 1, -i - 1, (i, -i))
    assert made.entries(one, 3) == [(0, 1, i + 1, (i,)) for i in range(20)]
    assert made.entries(two, 4) == [(0, 1, -i - 1, (i, -i)) for i in range(20)]
    assert made.words(rc, 5) == [8, 9, 0, 0, 0]
    assert two + 5 <= rc + size


def test_a_forgotten_key_hides_no_other():
    heap = make_heap()
    tb = make_table(heap, 1, [2])
    keys = [(k,) for k in range(300)]
    added = {key: t.add_key(heap.W, tb, heap.keep(key), hash_of(heap, key)) for key in keys}
    for n, gone in enumerate(keys[::2]):
        t.forget_key(tb, added.pop(gone), hash_of(heap, gone))
        if n % 10 == 0:
            for key in keys:
                assert t.find(tb, heap.keep(key), hash_of(heap, key)) == added.get(key, 0)
    assert t.Table(tb).count == len(added)
