"""Packed rows: bulk input buffered in few words, and read back in the order in which it was written.

Writing to fresh memory costs as much as the work done there. Rows are stored in chunks, and a chunk is released as soon
as it has been read. Where rows have the most frequent rank and diff and their lanes fit into half a word, a row is only
its lanes, two to a word; in other chunks a row is `rank, diff, lanes`.

Rule: each list is read back as it was written, in the same order.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import At, Struct, Words, several
from ebbflow.trace.heap import alloc, release
from ebbflow.trace.worker_fields import Worker


class Chunk(Struct):
    """Some rows of a list."""

    next: At[Chunk]
    holds: int  # how many rows it has once it is closed
    wide: int  # whether they are wide
    rows: Words = several(0)


class List(Struct):
    """Rows in the order in which they were put."""

    first: At[Chunk]
    last: At[Chunk]
    end: Words  # where the next row goes, 0: into a new chunk
    last_wide: int  # whether the last chunk is wide


class Pack(Struct, words=8):
    """Lists of packed rows."""

    lanes: int  # of a row
    rank: int  # the usual rank and diff
    diff: int
    rows: int  # how many there are, and how many odd ones
    odd: int
    list_count: int
    bits: int  # of the hash, by which rows are told apart, where there is a list for each of their values
    unused: int
    lists: List = several(0)


PACKED_CHUNK = 256  # words, if it then has room for some rows
LEAST_ROWS = 4
MANY_ODD = 16  # where one row in so many is odd, all of them are put wide
HALF = 1 << 31
LOW = 0xFFFFFFFF


@inline
def row_words(lanes: int, wide: int) -> int:
    return lanes + 2 if wide else max(1, (lanes + 1) >> 1)


@inline
def chunk_words(lanes: int, wide: int) -> int:
    """How large a chunk of such rows is."""
    return max(PACKED_CHUNK, Chunk.SIZE + LEAST_ROWS * row_words(lanes, wide))


@inline
def fits_half(word: int) -> bool:
    return -HALF <= word and word < HALF


@inline
def both(one: int, two: int) -> int:
    """Two lanes in a word, so that words are in the order of their lanes."""
    return (one << 32) | (two + HALF)


@inline
def first_of(word: int) -> int:
    return word >> 32


@inline
def second_of(word: int) -> int:
    return (word & LOW) - HALF


@inline
def list_at(f: Pack, i: int) -> List:
    return f.lists[i]


@kernel
def new_pack(worker: Worker, lanes: int, lists: int) -> Pack:
    """A pack of so many lists, all of them empty."""
    words = Pack.SIZE + lists * List.SIZE
    f = Pack(alloc(worker, words))
    for i in range(words):
        Words(f)[i] = 0
    f.lanes = lanes
    f.list_count = lists
    return f


@inline
def rows_at_end(f: Pack, l: List) -> int:
    """How many rows the last chunk of a list has, if it may get more."""
    return (l.end - l.last - Chunk.SIZE) // row_words(f.lanes, l.last_wide)


@kernel
def add_chunk(worker: Worker, f: Pack, l: List, wide: int) -> Words:
    """One more chunk at the end of a list.  Returns where its first row goes."""
    c = Chunk(alloc(worker, chunk_words(f.lanes, wide)))
    c.next = Chunk(0)
    c.wide = wide
    last = l.last
    if last:
        last.holds = rows_at_end(f, l)
        last.next = c
    else:
        l.first = c
    l.last = c
    l.last_wide = wide
    return c.rows


@inline
def room_for(worker: Worker, f: Pack, l: List, odd: int) -> Words:
    """Where the next row of a list goes: behind the last one, or into a new chunk if there is no room for such a row.

    leaves: in LAST_WIDE, how it is to be put.
    """
    e = l.end
    wide = l.last_wide
    if e == 0 or odd > wide or e + row_words(f.lanes, wide) > l.last + chunk_words(f.lanes, wide):
        wide = 1 if odd or f.odd * MANY_ODD > f.rows else 0
        e = add_chunk(worker, f, l, wide)
    l.end = e + row_words(f.lanes, wide)
    return e


@inline
def put_row(worker: Worker, f: Pack, l: List, rank: int, diff: int, row: Words) -> None:
    """Put one row, whose lanes stand side by side, at the end of a list."""
    lanes = f.lanes
    if f.rows == 0:
        f.rank = rank
        f.diff = diff
    odd = 0 if rank == f.rank and diff == f.diff else 1
    for k in range(lanes):
        if not fits_half(row[k]):
            odd = 1
    f.rows += 1
    f.odd += odd
    e = room_for(worker, f, l, odd)
    if l.last_wide:
        e[0] = rank
        e[1] = diff
        for k in range(lanes):
            e[2 + k] = row[k]
    else:
        for k in range(0, lanes - 1, 2):
            e[k >> 1] = both(row[k], row[k + 1])
        if lanes & 1:
            e[lanes >> 1] = row[lanes - 1] << 32


@inline
def rows_in(f: Pack, l: List, c: Chunk) -> int:
    """How many rows a chunk of a list has."""
    return rows_at_end(f, l) if c == l.last else c.holds


@kernel
def unpack(f: Pack, c: Chunk, n: int, to: Words, step: int, skip: int) -> None:
    """The n rows of a chunk, one every `step` words: rank and diff first, the lanes from word `skip` on."""
    lanes = f.lanes
    e = c.rows
    if c.wide:
        for _ in range(n):
            to[0] = e[0]
            to[1] = e[1]
            for k in range(lanes):
                to[skip + k] = e[2 + k]
            to += step
            e += 2 + lanes
        return
    words = row_words(lanes, 0)
    rank = f.rank
    diff = f.diff
    for _ in range(n):
        to[0] = rank
        to[1] = diff
        for k in range(0, lanes - 1, 2):
            to[skip + k] = first_of(e[k >> 1])
            to[skip + k + 1] = second_of(e[k >> 1])
        if lanes & 1:
            to[skip + lanes - 1] = first_of(e[lanes >> 1])
        to += step
        e += words


@inline
def release_chunk(worker: Worker, f: Pack, c: Chunk) -> None:
    release(worker, Words(c), chunk_words(f.lanes, c.wide))


@kernel
def empty_list(worker: Worker, f: Pack, l: List) -> None:
    """Give the chunks of a list back."""
    c = l.first
    while c:
        after = c.next
        release_chunk(worker, f, c)
        c = after
    l.first = Chunk(0)
    l.last = Chunk(0)
    l.end = Words(0)


@kernel
def drop_pack(worker: Worker, f: Pack) -> None:
    """Give back a pack with all its rows."""
    for i in range(f.list_count):
        empty_list(worker, f, list_at(f, i))
    release(worker, Words(f), Pack.SIZE + f.list_count * List.SIZE)
