import itertools
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.errors import AddressTaken
from ebbflow.trace import heap as h
from ebbflow.trace.failures import BACKWARDS, OVERFLOW, USED_UP, fail
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.reserved_heap import Heap
from ebbflow.trace.rounds import join_rounds, rounds_precede
from ebbflow.trace.worker_fields import Vector, Worker
from tests.trace.heaps import Bench

SIZES = st.integers(1, 40) | st.integers(1, 3000)
WORD = (1 << 64) - 1


@pytest.mark.interpreted
def test_a_block_has_the_size_of_the_least_class_that_holds_it():
    sizes = [h.class_size(i) for i in range(60)]
    assert sizes == sorted(sizes) and sizes[:6] == [4, 6, 8, 12, 16, 24]
    for n in [*range(1, 300), *(x + d for x in sizes[6:50] for d in (-1, 0, 1))]:
        i = h.size_class(n)
        assert sizes[i] >= n and (i == 0 or sizes[i - 1] < n)


def test_small_blocks_are_cut_out_of_a_middling_one_that_is_free():
    bench = Bench()
    W = bench.W
    middling = int(h.class_size(h.MIDDLING))
    assert h.size_class(middling) == h.MIDDLING
    p = int(h.alloc(W, middling))
    h.release(W, p, middling)
    bump, live = bench.header.bump, bench.header.live
    held = [int(h.alloc(W, 24)) for _ in range(middling // 24)]
    assert held == [p + 24 * i for i in range(middling // 24)] and bench.header.bump == bump
    assert bench.header.live == live + 24 * len(held)
    assert h.alloc(W, 24) == bump  # nothing is left of it
    h.release(W, held[0], 24)
    assert h.alloc(W, 24) == held[0]
    assert h.alloc(W, middling) > bump


LARGE_SIZES = st.sampled_from([8, h.LARGE - 1, h.LARGE, h.LARGE + 1, h.LARGE + 511, 2 * h.LARGE])


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(["ask", "give back", "trim"]), LARGE_SIZES, st.integers(0, 99)), max_size=40))
def test_large_blocks_that_are_free_are_returned_each_once_and_hold_nothing(asked):
    bench, held, calls = Bench(reserve=1 << 26), [], []
    H, W, heap = bench.H, bench.W, bench.heap
    advise, new = heap._map.madvise, set()  # large blocks that are free since the last trim

    class Counted:
        def madvise(self, *given):
            calls.append(given)
            advise(*given)

    heap._map, kept = Counted(), heap._map
    for what, n, pick in [*asked, ("trim", 0, 0)]:
        if what == "ask":
            held.append((int(h.alloc(W, n)), n))
            H[held[-1][0] : held[-1][0] + n] = 7
            new.discard(held[-1][0])
        elif what == "give back" and held:
            p, size = held.pop(pick % len(held))
            h.release(W, p, size)
            new |= {p} if h.class_size(h.size_class(size)) >= h.LARGE else set()
        elif what == "trim":
            heap.trim()
            assert len(calls) == len(new), "a block is returned once after it was given back"
            calls.clear()
            new.clear()
            for i in range(128):
                p, size = int(Worker(W).free[i]), int(h.class_size(i))
                while p and size >= h.LARGE:
                    assert not H.words[p + 1024 : p + size - 512].any()
                    p = int(H.words[p])
    assert all((H[p : p + n] == 7).all() for p, n in held)
    heap._map = kept


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), SIZES, st.integers(0, 10**6)), max_size=120))
def test_blocks_that_are_held_never_overlap_and_keep_their_words(asked):
    bench, held = Bench(), {}
    H, W, start, live = bench.H, bench.W, bench.header.bump, bench.header.live
    for number, (gives_back, n, pick) in enumerate(asked):
        if gives_back and held:
            p = sorted(held)[pick % len(held)]
            size, mark = held.pop(p)
            assert (H[p : p + size] == mark).all()
            h.release(W, p, size)
        else:
            p = int(h.alloc(W, n))
            assert start <= p and p + n <= bench.header.limit
            assert all(p + n <= q or q + size <= p for q, (size, _) in held.items())
            held[p] = (n, -number - 1)
            H[p : p + n] = -number - 1
    for p, (n, mark) in held.items():
        assert (H[p : p + n] == mark).all()
    assert bench.header.live - live == sum(h.class_size(h.size_class(n)) for n, _ in held.values())


@pytest.mark.interpreted
def test_a_block_goes_back_to_the_list_of_its_class_and_to_no_other():
    bench = Bench()
    p = h.alloc(bench.W, 20)
    h.release(bench.W, p, 20)
    assert p not in [h.alloc(bench.W, n) for n in (1, 4, 6, 8, 12, 16, 25, 32, 100)]
    assert h.alloc(bench.W, 24) == p  # the class of 20 holds 24
    assert h.alloc(bench.W, 24) != p


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(0, 40))
def test_what_lies_side_by_side_is_gathered_and_given_out_again(seed, held_back):
    """Blocks of 256 words come back in any order, but for a few that somebody still holds, between other blocks."""
    bench, random = Bench(reserve=1 << 25), Random(seed)
    H, W = bench.H, bench.W
    blocks, others = [], []
    for i in range(3000):
        blocks.append(int(h.alloc(W, 256)))
        H[blocks[-1]], H[blocks[-1] + 255] = i, -i
        if i % 700 == 0:
            others.append(bench.heap.keep([i] * 50))
    random.shuffle(blocks)
    held, freed = blocks[:held_back], blocks[held_back:]
    content = {p: (int(H[p]), int(H[p + 255])) for p in held}
    for p in freed:
        h.release(W, p, 256)
    live, top = bench.header.live, bench.header.bump
    bench.heap.gather()
    assert bench.header.live == live and bench.header.loose == int(h.count_free(W, h.COALESCED) > 0)
    left, large = int(h.count_free(W, h.MIDDLING)), int(h.count_free(W, h.COALESCED))
    assert left + 128 * large == len(freed) and left >= h.MIDDLING_KEPT
    if held_back == 0:
        assert large > 10
    bench.heap.trim()
    bench.heap.gather()  # again is nothing
    assert h.count_free(W, h.COALESCED) == large
    again = []
    for i in range(len(freed)):
        n = random.choice([1, 6, 40, 64]) if i % 5 == 0 else 256
        p = int(h.alloc(W, n))
        H[p], H[p + n - 1] = 7, 7
        again.append((p, n))
    places = sorted([*again, *((p, 256) for p in held), *((p, 50) for p in others)])
    assert all(p + n <= q for (p, n), (q, _) in itertools.pairwise(places))
    assert {p: (int(H[p]), int(H[p + 255])) for p in held} == content
    assert bench.header.bump - top < 256 * 2 * (held_back + 10)  # what was gathered is where they come from


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("pppprld"), st.integers(0, 400)), max_size=150))
def test_vectors_keep_their_content_when_they_grow(asked):
    bench = Bench()
    W = bench.W
    vectors, model = (
        [Vector(bench.heap.zeros(Vector.SIZE)) for _ in range(4)],
        [[] for _ in range(4)],
    )
    for number, (which, what, n) in enumerate(asked):
        v = vectors[which]
        if what == "p":
            for i in range(n % 7):
                h.push_word(W, v, number * 10 + i)
                model[which].append(number * 10 + i)
        elif what == "r":
            p = h.reserve(W, v, n)
            assert Vector(v).capacity >= n and p == Vector(v).pointer
        elif what == "l":
            model[which] = list(range(n))
            bench.heap.load(v, model[which])
        else:
            h.drop_vector(W, v)
            model[which] = []
        assert [bench.vector(v) for v in vectors] == model


@pytest.mark.interpreted
def test_words_that_are_kept_stay():
    bench = Bench()
    zeros, kept, none = bench.heap.zeros(100), bench.heap.keep([3, -1, 4]), bench.heap.keep([])
    for n in range(1, 50):
        p = h.alloc(bench.W, n)
        bench.H[p : p + n] = 7
    assert bench.words(zeros, 100) == [0] * 100 and bench.words(kept, 3) == [3, -1, 4] and none


@pytest.mark.interpreted
def test_who_goes_beyond_the_limit_gets_its_block_and_an_error_is_written_down():
    bench = Bench(reserve=1 << 20)
    H, W = bench.H, bench.W
    p = bench.heap.keep(range(1000))
    assert bench.header.error == 0 and not bench.heap.is_overdrawn
    q = int(h.alloc(W, 1 << 17))
    assert bench.header.error == USED_UP and 0 < bench.header.error_word <= 1 << 17 and bench.heap.is_overdrawn
    H[q : q + (1 << 17)] = 7
    assert bench.words(p, 1000) == list(range(1000))
    h.release(W, q, 1 << 17)
    bench.header.error = 0
    assert h.alloc(W, 1 << 10) and bench.header.error == 0  # the limit is one of what is held, not of what was


@pytest.mark.interpreted
def test_where_most_of_the_space_behind_the_limit_is_gone_an_error_is_written_down_whatever_is_held():
    bench = Bench(reserve=1 << 20)
    bench.header.space_end = bench.header.bump + 8192
    bench.header.limit = bench.header.bump
    bench.header.live = 0
    for _ in range(32):
        h.alloc(bench.W, 128)
    assert bench.header.error == 0
    h.alloc(bench.W, 128)
    assert bench.header.error == USED_UP


def test_a_heap_whose_space_is_used_up_says_so_and_what_was_held_is_there():
    bench = Bench(reserve=1 << 20)
    p = bench.heap.keep(range(1000))
    with pytest.raises(MemoryError):
        h.alloc(bench.W, 1 << 34)
    assert bench.header.broken and bench.words(p, 1000) == list(range(1000))
    assert h.alloc(bench.W, 100)


@pytest.mark.interpreted
def test_the_first_thing_that_goes_wrong_is_remembered():
    bench = Bench()
    fail(bench.W, OVERFLOW, 3, 4, 5)
    fail(bench.W, BACKWARDS, 6, 7, 8)
    assert [bench.header.error, bench.header.error_node, bench.header.error_rank, bench.header.error_word] == [
        OVERFLOW,
        3,
        4,
        5,
    ]


def hashed(words):
    """The same in Python's integers: what every machine must give."""
    x = 0
    for word in words:
        x = ((x ^ (word & WORD)) * -7046029254386353131) & WORD
        x ^= (x >> 29) & 0x7FFFFFFFF
    x = (x * -4658895280553007687) & WORD
    return (x ^ (x >> 32)) & (WORD >> 1)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5))
def test_a_hash_is_the_same_on_every_machine(words):
    bench = Bench()
    assert hash_lanes(bench.heap.keep(words), len(words)) == hashed(words)


def rounds_pairs():
    """A depth, and two tuples of rounds of that depth, up to the largest that fit."""

    def two(depth):
        field = st.integers(0, 5) | st.integers(0, (1 << (62 // depth - 1)) - 1)
        field |= st.sampled_from([(1 << (62 // depth - 1)) - 1, 1 << (62 // depth - 2)])
        one = st.tuples(*[field] * depth)
        return st.tuples(st.just(depth), one, one)

    return st.integers(1, 4).flatmap(two)


@settings(max_examples=300)
@given(rounds_pairs())
def test_rounds_in_a_word_are_ordered_and_joined_like_tuples(pair):
    depth, a, b = pair
    bench = Bench(depth)
    guard, x, y = bench.header.guard, bench.rounds(*a), bench.rounds(*b)
    assert bool(rounds_precede(x, y, guard)) == all(i <= j for i, j in zip(a, b, strict=True))
    assert bench.fields(int(join_rounds(x, y, guard, bench.bits))) == tuple(map(max, a, b))
    assert (x < y) == (a < b)  # a scan by the word meets causes before effects
    assert x & guard == 0 and x >= 0


@pytest.mark.interpreted
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_rounds_are_compared_field_by_field(depth):
    bench = Bench(depth)
    most = (1 << bench.bits) - 1
    low, high = bench.rounds(*[0] * depth), bench.rounds(*[most] * depth)
    assert rounds_precede(low, high, bench.header.guard) and not rounds_precede(high, low, bench.header.guard)
    if depth > 1:
        left, right = bench.rounds(most, *[0] * (depth - 1)), bench.rounds(*[0] * (depth - 1), most)
        assert not rounds_precede(left, right, bench.header.guard)
        assert not rounds_precede(right, left, bench.header.guard)
        assert bench.fields(int(join_rounds(left, right, bench.header.guard, bench.bits)))[0] == most


def test_a_heap_at_a_chosen_place_lies_there_and_gives_it_back():
    base = 0x2B00_0000_0000
    heap = Heap(1 << 26, base)
    assert base + 64 == 8 * (heap.W + 1)
    p = heap.keep([1, 2, 3])
    assert heap.words[p - heap.W + 8] == 1
    with pytest.raises(AddressTaken, match="in use in this process"):
        Heap(1 << 26, base)
    heap.wipe()
    assert heap.H[p] == 0
    heap.close()
    again = Heap(1 << 26, base)
    assert again.H.words[p + 1] == 0  # which nobody holds
    del again  # nobody said goodbye
    Heap(1 << 26, base).close()


@pytest.mark.interpreted
def test_a_vector_that_lies_last_grows_where_it_is():
    bench = Bench()
    W = bench.W
    v = Vector(bench.heap.zeros(Vector.SIZE))
    first = h.reserve(W, v, 1000)
    held = bench.header.live
    assert h.reserve(W, v, 5000) == first and bench.header.bump == first + int(Vector(v).capacity)
    assert bench.header.live - held == bench.header.bump - first - h.class_size(h.size_class(1000))
    behind = h.alloc(W, 1000)
    assert behind == first + int(Vector(v).capacity) and h.reserve(W, v, 9000) > behind


def test_a_vector_that_is_filled_and_dropped_again_and_again_takes_no_more_room_each_time():
    """Where it lies last and grows where it is, it leaves large free blocks behind: the next one has to take them."""
    bench = Bench()
    W, v, ends = bench.W, bench.heap.zeros(Vector.SIZE), []
    for _ in range(50):
        for word in range(5000):
            h.push_word(W, v, word)
        h.drop_vector(W, v)
        ends.append(int(Worker(W).bump))
    assert ends[-1] == ends[20]
