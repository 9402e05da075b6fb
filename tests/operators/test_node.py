from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.operators import node as kinds
from tests.trace.heaps import Bench

ROUNDS = st.integers(0, 6) | st.sampled_from([2**40, 2**61])


@given(st.lists(st.tuples(ROUNDS, st.integers(0, 3)), max_size=60))
def test_the_last_bucket_has_the_least_rounds_and_every_key_is_in_its_own(asked):
    bench = Bench()
    nd = bench.node(kinds.REDUCE, 1, (3, 3))
    keys = [bench.record(bench.table(nd), (i,)) for i in range(4)]
    model = defaultdict(set)
    assert not kinds.has_bucket(nd)
    for rounds, which in asked:
        kinds.queue(bench.W, nd, keys[which], rounds)
        model[rounds].add(keys[which])
        assert kinds.has_bucket(nd)
        assert bench.least_rounds(nd) == min(model)
    found = bench.pending(nd)
    assert [rounds for rounds, _ in found] == sorted(model, reverse=True)
    assert {rounds: set(items) for rounds, items in found} == model


@pytest.mark.interpreted
def test_a_key_queued_again_for_the_same_rounds_waits_once():
    bench = Bench()
    nd = bench.node(kinds.REDUCE, 1, (3, 3))
    rc = bench.record(bench.table(nd), (5,))
    for _ in range(3):
        kinds.queue(bench.W, nd, rc, 9)
    assert bench.pending(nd) == [(9, [rc])]


@pytest.mark.interpreted
def test_buckets_have_serials_of_their_own():
    bench = Bench()
    nodes = [bench.node(kinds.REDUCE, 1, (3, 3)) for _ in range(2)]
    serials = [int(kinds.Bucket(kinds.bucket_for(bench.W, nd, r)).serial) for nd in nodes for r in (1, 2)]
    assert len(set(serials)) == 4 and 0 not in serials  # a record's marks begin at zero


@pytest.mark.interpreted
def test_what_is_forgotten_gives_its_memory_back():
    bench = Bench()
    nd = bench.node(kinds.REDUCE, 1, (3, 3), lanes=2)
    keys = [bench.record(bench.table(nd), (i,)) for i in range(50)]
    for i, rc in enumerate(keys):
        kinds.queue(bench.W, nd, rc, i % 3)
    lanes = kinds.emit(bench.W, nd, 1, 2, 3)
    bench.H[lanes : lanes + 2] = (8, 9)
    kinds.clear_pending(bench.W, nd)
    live = bench.header.live
    assert bench.pending(nd) == [] and bench.vector(kinds.Node(nd).buffer) == []
    for _ in range(20):  # what was given back is used again
        for i, rc in enumerate(keys):
            kinds.queue(bench.W, nd, rc, i % 3)
        kinds.clear_pending(bench.W, nd)
    assert bench.header.live == live
    kinds.queue(bench.W, nd, keys[0], 1)
    assert bench.pending(nd) == [(1, [keys[0]])]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-9, 9), st.integers(0, 9)), max_size=40))
def test_rows_on_their_way_out_stand_in_the_order_they_were_emitted(rows):
    bench = Bench()
    nd = bench.node(kinds.PASS, lanes=2)
    for rounds, rank, diff, value in rows:
        at = kinds.emit(bench.W, nd, rounds, rank, diff)
        bench.H[at], bench.H[at + 1] = value, -value
    assert bench.vector(kinds.Node(nd).buffer) == [x for *head, value in rows for x in (*head, value, -value)]
