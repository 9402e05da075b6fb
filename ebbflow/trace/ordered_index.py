"""Ordered index: the values of one key in the order of a window, in chunks, with a directory that counts them.

A chunk holds up to 64 values `count, lanes` in order. The directory has an entry for each chunk: its address, how
many values it holds, and how many rows, copies counted. A value is found by two binary searches; to add or remove one
moves at most a chunk. Where a value is among all is the sum of the directory before it.

Rule: values are in order, each once, none with a count of zero; a chunk is never empty. Rows whose count is below zero
are there and count as none.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import At, Struct, Words
from ebbflow.trace.heap import Worker, alloc, class_size, copy_words, release, size_class


class Chunk(Struct):
    """What the directory says of a chunk."""

    at: Words  # its values
    values: int
    rows: int  # copies counted


class OrderedIndex(Struct):
    """The values of a key in order."""

    chunks: int
    directory: At[Chunk]
    room: int  # words of the directory
    values: int  # of all chunks
    rows: int
    step: int  # words of a value


CHUNK = 64  # values
# ---- a cursor: the chunk, and the place in it ---------------------------------------------------------------------
PLACES = 8  # bits


@kernel
def new_index(worker: Worker, step: int) -> OrderedIndex:
    """An empty index of values of so many words."""
    index = OrderedIndex(alloc(worker, OrderedIndex.SIZE))
    for k in range(OrderedIndex.SIZE):
        Words(index)[k] = 0
    index.step = step
    return index


@kernel
def drop_index(worker: Worker, index: OrderedIndex) -> None:
    for k in range(index.chunks):
        release(worker, index.directory[k].at, CHUNK * index.step)
    if index.room:
        release(worker, Words(index.directory), index.room)
    release(worker, Words(index), OrderedIndex.SIZE)


@kernel
def open_chunk(worker: Worker, index: OrderedIndex, k: int) -> Chunk:
    """An empty chunk more, the kth."""
    n = index.chunks
    if (n + 1) * Chunk.SIZE > index.room:
        room = class_size(size_class(max(4 * Chunk.SIZE, 2 * index.room)))
        p = alloc(worker, room)
        copy_words(Words(index.directory), p, n * Chunk.SIZE)
        if index.room:
            release(worker, Words(index.directory), index.room)
        index.directory = Chunk(p)
        index.room = room
    d = Words(index.directory)
    for i in range(n * Chunk.SIZE - 1, k * Chunk.SIZE - 1, -1):
        d[i + Chunk.SIZE] = d[i]
    index.chunks = n + 1
    chunk = index.directory[k]
    chunk.at = alloc(worker, CHUNK * index.step)
    chunk.values = 0
    chunk.rows = 0
    return chunk


@kernel
def close_chunk(worker: Worker, index: OrderedIndex, k: int) -> None:
    """The kth chunk, which is empty, is gone."""
    release(worker, index.directory[k].at, CHUNK * index.step)
    n = index.chunks - 1
    d = Words(index.directory)
    for i in range(k * Chunk.SIZE, n * Chunk.SIZE):
        d[i] = d[i + Chunk.SIZE]
    index.chunks = n


@kernel
def append_value(worker: Worker, index: OrderedIndex, value: Words) -> None:
    """Add a value behind all others: `count, lanes`."""
    step = index.step
    n = index.chunks
    chunk = index.directory[n - 1]
    if n == 0 or chunk.values >= CHUNK // 2:  # half full: what comes between finds room
        chunk = open_chunk(worker, index, n)
    copy_words(value, chunk.at + chunk.values * step, step)
    chunk.values += 1
    chunk.rows += max(value[0], 0)
    index.values += 1
    index.rows += max(value[0], 0)


@kernel
def split_chunk(worker: Worker, index: OrderedIndex, k: int) -> None:
    """The second half of the kth chunk becomes a chunk of its own."""
    step = index.step
    new = open_chunk(worker, index, k + 1)
    old = new[-1]
    half = old.values // 2
    n = old.values - half
    copy_words(old.at + half * step, new.at, n * step)
    old.values = half
    new.values = n
    moved = 0
    for i in range(n):
        moved += max(new.at[i * step], 0)
    new.rows = moved
    old.rows -= moved


@kernel
def put_value(worker: Worker, index: OrderedIndex, cursor: int, lanes: Words, diff: int) -> int:
    """Add a value that is not there, at this place; returns the cursor of where it is now."""
    step = index.step
    k = cursor >> PLACES
    j = cursor & ((1 << PLACES) - 1)
    if index.chunks == 0:
        open_chunk(worker, index, 0)
    if index.directory[k].values == CHUNK:
        split_chunk(worker, index, k)
        half = index.directory[k].values
        if j > half:
            k += 1
            j -= half
    chunk = index.directory[k]
    p = chunk.at
    for i in range(chunk.values * step - 1, j * step - 1, -1):
        p[i + step] = p[i]
    p[j * step] = diff
    copy_words(lanes, p + j * step + 1, step - 1)
    chunk.values += 1
    chunk.rows += max(diff, 0)
    index.values += 1
    index.rows += max(diff, 0)
    return (k << PLACES) + j


@kernel
def change_value(worker: Worker, index: OrderedIndex, cursor: int, diff: int) -> None:
    """The count of the value at a cursor changes; one whose count is zero is gone."""
    step = index.step
    k = cursor >> PLACES
    j = cursor & ((1 << PLACES) - 1)
    chunk = index.directory[k]
    p = chunk.at + j * step
    rows = max(p[0] + diff, 0) - max(p[0], 0)
    p[0] += diff
    chunk.rows += rows
    index.rows += rows
    if p[0] == 0:
        chunk.values -= 1
        index.values -= 1
        copy_words(p + step, p, (chunk.values - j) * step)
        if chunk.values == 0:
            close_chunk(worker, index, k)


# ---- places ---------------------------------------------------------------------------------------


@inline
def value_at(index: OrderedIndex, cursor: int) -> Words:
    """The value at a cursor."""
    return index.directory[cursor >> PLACES].at + (cursor & ((1 << PLACES) - 1)) * index.step


@kernel
def place_of(index: OrderedIndex, cursor: int) -> int:
    """How many values are before a cursor."""
    n = cursor & ((1 << PLACES) - 1)
    for k in range(cursor >> PLACES):
        n += index.directory[k].values
    return n


@kernel
def cursor_of(index: OrderedIndex, place: int) -> int:
    """The cursor of the value before which so many are; behind the last one, that of its chunk's end."""
    k = 0
    n = index.chunks
    while k + 1 < n and place >= index.directory[k].values:
        place -= index.directory[k].values
        k += 1
    return (k << PLACES) + place


@kernel
def rows_before(index: OrderedIndex, place: int) -> int:
    """How many rows are before the value before which so many values are."""
    rows = 0
    k = 0
    n = index.chunks
    step = index.step
    while k < n and place >= index.directory[k].values:
        place -= index.directory[k].values
        rows += index.directory[k].rows
        k += 1
    if k < n:
        p = index.directory[k].at
        for i in range(place):
            rows += max(p[i * step], 0)
    return rows
