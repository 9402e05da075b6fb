"""Ordered indexes against a sorted list: every value where it belongs, and the directory's counts right."""

import random

import pytest

from ebbflow.native.structs import Words
from ebbflow.trace import ordered_index as o
from tests.trace.heaps import Bench


def listed(index):
    """The values in the order of the index, and what its directory says of each chunk."""
    found = []
    for k in range(index.chunks):
        chunk = index.directory[k]
        values = [(int(chunk.at[2 * j + 1]), int(chunk.at[2 * j])) for j in range(chunk.values)]
        assert 0 < len(values) <= chunk.room and chunk.rows == sum(max(count, 0) for _, count in values)
        found += values
    return found


def cursor_at(index, place):
    """Where a value goes: behind the last of a chunk, or before one of the next."""
    return o.cursor_of(index, place) if index.chunks else 0


@pytest.mark.parametrize("seed", range(3))
def test_values_come_and_go_as_in_a_sorted_list(seed):
    rng, bench = random.Random(seed), Bench()
    worker = bench.header
    index = o.new_index(worker, 2, 0)
    word = Words(bench.heap.keep([0, 0]))
    here: list[tuple[int, int]] = [(x, 1 + x % 3) for x in range(0, 300 * seed, 3)]
    for value, count in here:
        word[0], word[1] = count, value
        o.append_value(worker, index, word)
    for _ in range(600):
        place = rng.randint(0, len(here))
        if place < len(here) and rng.random() < 0.5:
            value, count = here[place]
            diff = rng.choice([-count, -1, 1])
            o.change_value(worker, index, o.cursor_of(index, place), diff)
            here[place : place + 1] = [(value, count + diff)] if count + diff else []
        else:
            below = here[place - 1][0] if place else -10_000
            if place < len(here) and here[place][0] == below + 1:
                continue
            word[0] = below + 1
            o.put_value(worker, index, cursor_at(index, place), word, -1 if rng.random() < 0.1 else 2)
            found = o.cursor_of(index, place)
            here.insert(place, (below + 1, int(o.value_at(index, found)[0])))
        assert (index.values, index.rows) == (len(here), sum(max(count, 0) for _, count in here))
        if index.rows:
            k = o.chunk_at(index, rng.randrange(index.rows))
            assert index.finger_rows == sum(int(index.directory[i].rows) for i in range(k))
        assert (index.total, index.present) == (sum(count for _, count in here), sum(count > 0 for _, count in here))
    assert listed(index) == here
    for place in range(0, len(here), 7):
        cursor = o.cursor_of(index, place)
        assert o.value_at(index, cursor)[1] == here[place][0] and o.place_of(index, cursor) == place
        assert o.rows_before(index, place) == sum(max(count, 0) for _, count in here[:place])
    o.drop_index(worker, index)


def test_neither_a_chunk_nor_the_directory_grows_faster_than_the_square_root_of_the_values():
    bench, rng = Bench(reserve=1 << 26), random.Random(5)
    index = o.new_index(bench.header, 2, 0)
    word = Words(bench.heap.keep([0]))
    for n in range(1, 60_001):
        word[0] = n
        place = rng.randint(0, n - 1)
        o.put_value(bench.header, index, o.cursor_of(index, place), word, 1)
        if n % 10_000 == 0:
            widest = max(int(index.directory[k].room) for k in range(index.chunks))
            assert widest <= 4 * n**0.5 and index.chunks <= 4 * n**0.5
