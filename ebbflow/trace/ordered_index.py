"""Ordered index: the values of one key in order, in chunks, with a directory that counts them.

A chunk holds values `count, lanes` in order. The directory has an entry for each chunk: its address, how many values it
holds, and how many rows, copies counted. A value is found by two binary searches; to add or remove one moves at most a
chunk. Where a value is among all is the sum of the directory before it. A full chunk is split, or gets twice the room
once there are more chunks than values in it, so that neither the directory nor a chunk grows faster than the square
root of the values. A *finger* remembers how many rows are before one chunk, so that a place near the last one that was
looked for is found without adding up the directory.

Rule: values are in order, each once, none with a count of zero; a chunk is never empty. Rows whose count is below zero
are there and count as none, except in `total`.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import At, Struct, Words, several
from ebbflow.trace.heap import alloc, class_size, copy_words, release, reserve, size_class
from ebbflow.trace.table import Marks
from ebbflow.trace.worker_fields import Worker


class Chunk(Struct):
    """What the directory says of a chunk."""

    at: Words  # its values
    values: int
    rows: int  # copies counted
    room: int  # for so many values


class OrderedIndex(Struct):
    """The values of a key in order."""

    chunks: int
    directory: At[Chunk]
    room: int  # words of the directory
    values: int  # of all chunks
    rows: int
    step: int  # words of a value
    total: int  # the sum of all counts
    present: int  # values whose count is above zero
    chunk_room: int  # of a new chunk
    finger: int  # a chunk, and how many rows are before it: where a place was last looked for
    finger_rows: int


class IndexChange(Struct):
    """What an advance did to an index; without lanes the index was made.  Its words stand behind it, too."""

    words: int
    step: int  # the slice
    marks: At[Marks]  # where the index hangs
    order: int  # the address of the order of its values; 0: they are entries, and the lanes are one
    diff: int
    lanes: Words = several(0)


CHUNK = 64  # values, of the smallest
# ---- a cursor: the chunk, and the place in it ---------------------------------------------------------------------
PLACE_BITS = 24


@inline
def value_at(index: OrderedIndex, cursor: int) -> Words:
    """The value at a cursor."""
    return index.directory[cursor >> PLACE_BITS].at + (cursor & ((1 << PLACE_BITS) - 1)) * index.step


@kernel
def new_index(worker: Worker, step: int, values: int) -> OrderedIndex:
    """An empty index for so many values of so many words, to begin with."""
    index = OrderedIndex(alloc(worker, OrderedIndex.SIZE))
    for k in range(OrderedIndex.SIZE):
        Words(index)[k] = 0
    index.step = step
    room = CHUNK
    while room * room < values:
        room *= 2
    index.chunk_room = room
    return index


@kernel
def drop_index(worker: Worker, index: OrderedIndex) -> None:
    for k in range(index.chunks):
        release(worker, index.directory[k].at, index.directory[k].room * index.step)
    if index.room:
        release(worker, Words(index.directory), index.room)
    release(worker, Words(index), OrderedIndex.SIZE)


@kernel
def open_chunk(worker: Worker, index: OrderedIndex, k: int, room: int) -> Chunk:
    """An empty chunk more, the kth."""
    n = index.chunks
    if (n + 1) * Chunk.SIZE > index.room:
        words = class_size(size_class(max(4 * Chunk.SIZE, 2 * index.room)))
        p = alloc(worker, words)
        copy_words(Words(index.directory), p, n * Chunk.SIZE)
        if index.room:
            release(worker, Words(index.directory), index.room)
        index.directory = Chunk(p)
        index.room = words
    d = Words(index.directory)
    for i in range(n * Chunk.SIZE - 1, k * Chunk.SIZE - 1, -1):
        d[i + Chunk.SIZE] = d[i]
    index.chunks = n + 1
    chunk = index.directory[k]
    chunk.at = alloc(worker, room * index.step)
    chunk.values = 0
    chunk.rows = 0
    chunk.room = room
    return chunk


@kernel
def close_chunk(worker: Worker, index: OrderedIndex, k: int) -> None:
    """The kth chunk, which is empty, is gone."""
    release(worker, index.directory[k].at, index.directory[k].room * index.step)
    n = index.chunks - 1
    d = Words(index.directory)
    for i in range(k * Chunk.SIZE, n * Chunk.SIZE):
        d[i] = d[i + Chunk.SIZE]
    index.chunks = n
    if k < index.finger:
        index.finger -= 1
    elif index.finger >= n:
        index.finger = 0
        index.finger_rows = 0


@kernel
def append_gap(worker: Worker, index: OrderedIndex) -> Words:
    """Room for a value behind all others, for the caller to fill."""
    n = index.chunks
    chunk = index.directory[n - 1]
    if n == 0 or chunk.values >= chunk.room // 2:  # half full: what comes between finds room
        chunk = open_chunk(worker, index, n, index.chunk_room)
    chunk.values += 1
    index.values += 1
    return chunk.at + (chunk.values - 1) * index.step


@kernel
def append_value(worker: Worker, index: OrderedIndex, value: Words) -> None:
    """Add a value behind all others: `count, lanes`."""
    copy_words(value, append_gap(worker, index), index.step)
    index.directory[index.chunks - 1].rows += max(value[0], 0)
    index.rows += max(value[0], 0)
    index.total += value[0]
    index.present += 1 if value[0] > 0 else 0


@kernel
def widen_chunk(worker: Worker, index: OrderedIndex, k: int) -> None:
    """The kth chunk gets twice the room, and those that will be opened, too."""
    chunk = index.directory[k]
    room = 2 * chunk.room
    p = alloc(worker, room * index.step)
    copy_words(chunk.at, p, chunk.values * index.step)
    release(worker, chunk.at, chunk.room * index.step)
    chunk.at = p
    chunk.room = room
    index.chunk_room = max(index.chunk_room, room)


@kernel
def split_chunk(worker: Worker, index: OrderedIndex, k: int) -> None:
    """The second half of the kth chunk becomes a chunk of its own."""
    step = index.step
    new = open_chunk(worker, index, k + 1, index.directory[k].room)
    if k < index.finger:
        index.finger += 1
    old = new[-1]
    half = old.values // 2
    n = old.values - half
    copy_words(old.at + half * step, new.at, n * step)
    old.values = half
    new.values = n
    moved = 0
    if old.rows:
        for i in range(n):
            moved += max(new.at[i * step], 0)
    new.rows = moved
    old.rows -= moved


@kernel
def make_gap(worker: Worker, index: OrderedIndex, cursor: int) -> int:
    """Room for a value at this place, for the caller to fill; returns the cursor of where it is now."""
    step = index.step
    k = cursor >> PLACE_BITS
    j = cursor & ((1 << PLACE_BITS) - 1)
    if index.chunks == 0:
        open_chunk(worker, index, 0, index.chunk_room)
    if index.directory[k].values == index.directory[k].room:
        if index.chunks > index.directory[k].room:
            widen_chunk(worker, index, k)
        else:
            split_chunk(worker, index, k)
            half = index.directory[k].values
            if j > half:
                k += 1
                j -= half
    chunk = index.directory[k]
    p = chunk.at
    for i in range(chunk.values * step - 1, j * step - 1, -1):
        p[i + step] = p[i]
    chunk.values += 1
    index.values += 1
    return (k << PLACE_BITS) + j


@kernel
def close_gap(worker: Worker, index: OrderedIndex, cursor: int) -> None:
    """The value at a cursor is gone."""
    step = index.step
    k = cursor >> PLACE_BITS
    j = cursor & ((1 << PLACE_BITS) - 1)
    chunk = index.directory[k]
    chunk.values -= 1
    index.values -= 1
    p = chunk.at + j * step
    copy_words(p + step, p, (chunk.values - j) * step)
    if chunk.values == 0:
        close_chunk(worker, index, k)


@inline
def count_rows(index: OrderedIndex, cursor: int, rows: int) -> None:
    """The chunk of a cursor has so many rows more."""
    k = cursor >> PLACE_BITS
    index.directory[k].rows += rows
    index.rows += rows
    if k < index.finger:
        index.finger_rows += rows


@kernel
def put_value(worker: Worker, index: OrderedIndex, cursor: int, lanes: Words, diff: int) -> int:
    """Add a value that is not there, at this place; returns the cursor of where it is now."""
    cursor = make_gap(worker, index, cursor)
    p = value_at(index, cursor)
    p[0] = diff
    copy_words(lanes, p + 1, index.step - 1)
    count_rows(index, cursor, max(diff, 0))
    index.total += diff
    index.present += 1 if diff > 0 else 0
    return cursor


@kernel
def change_value(worker: Worker, index: OrderedIndex, cursor: int, diff: int) -> None:
    """The count of the value at a cursor changes; one whose count is zero is gone."""
    p = value_at(index, cursor)
    was = p[0]
    rows = max(was + diff, 0) - max(was, 0)
    p[0] = was + diff
    count_rows(index, cursor, rows)
    index.total += diff
    index.present += (1 if was + diff > 0 else 0) - (1 if was > 0 else 0)
    if p[0] == 0:
        close_gap(worker, index, cursor)


@kernel
def note_change(worker: Worker, marks: Marks, order: int, diff: int, lanes: Words, n: int) -> None:
    """Write down what is done to the index of a key."""
    v = worker.index_undo
    at = v.length
    if at and IndexChange(v.pointer).step < worker.first:
        at = 0  # of an advance that stands
    words = IndexChange.SIZE + n + 1
    change = IndexChange(reserve(worker, v, at + words) + at)
    change.words = words
    change.step = worker.step
    change.marks = marks
    change.order = order
    change.diff = diff
    copy_words(lanes, change.lanes, n)
    change.lanes[n] = words  # to go back
    v.length = at + words


# ---- places ---------------------------------------------------------------------------------------


@kernel
def place_of(index: OrderedIndex, cursor: int) -> int:
    """How many values are before a cursor."""
    n = cursor & ((1 << PLACE_BITS) - 1)
    for k in range(cursor >> PLACE_BITS):
        n += index.directory[k].values
    return n


@kernel
def chunk_at(index: OrderedIndex, place: int) -> int:
    """The chunk of the row before which so many rows are; the finger is on it.

    needs:  there are more rows than that.
    """
    k = index.finger
    before = index.finger_rows
    while place < before:
        k -= 1
        before -= index.directory[k].rows
    while place >= before + index.directory[k].rows:
        before += index.directory[k].rows
        k += 1
    index.finger = k
    index.finger_rows = before
    return k


@kernel
def cursor_of(index: OrderedIndex, place: int) -> int:
    """The cursor of the value before which so many are; behind the last one, that of its chunk's end."""
    k = 0
    n = index.chunks
    while k + 1 < n and place >= index.directory[k].values:
        place -= index.directory[k].values
        k += 1
    return (k << PLACE_BITS) + place


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
