"""Packed rows: bulk input buffered in few words, and read back in the order in which it was written.

Writing to fresh memory costs as much as the work done there. Rows are stored in chunks, and a chunk is released as soon
as it has been read. Where rows have the most frequent rank and diff and their lanes fit into half a word, a row is only
its lanes, two to a word; in other chunks a row is `rank, diff, lanes`.

Rule: each list is read back as it was written, in the same order.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.trace.heap import alloc, release

# ---- a pack: the lanes of its rows, their usual rank and diff, how many rows there are, how many odd ones, its lists
LANES, RANK, DIFF, ROWS, ODD, LISTS = 0, 1, 2, 3, 4, 5
BITS = 6  # of the hash, by which rows are told apart, where there is a list for each of their values
FIRST_LIST = 8
# ---- a list: its first chunk, its last one, where the next row goes (0: into a new chunk), whether the last is wide --
FIRST, LAST, END, LAST_WIDE = 0, 1, 2, 3
LIST = 4
# ---- a chunk: the next one, how many rows it has once it is closed, whether they are wide, then the rows ------------
NEXT, HOLDS, WIDE = 0, 1, 2
HEAD = 3

CHUNK = 256  # words, if it then has room for some rows
LEAST_ROWS = 4
MANY_ODD = 16  # where one row in so many is odd, all of them are put wide
HALF = 1 << 31
LOW = 0xFFFFFFFF


@inline
def row_words(lanes, wide):
    return lanes + 2 if wide else max(1, (lanes + 1) >> 1)


@inline
def chunk_words(lanes, wide):
    """How large a chunk of such rows is."""
    return max(CHUNK, HEAD + LEAST_ROWS * row_words(lanes, wide))


@inline
def fits_half(word):
    return -HALF <= word and word < HALF


@inline
def both(one, two):
    """Two lanes in a word, so that words are in the order of their lanes."""
    return (one << 32) | (two + HALF)


@inline
def first_of(word):
    return word >> 32


@inline
def second_of(word):
    return (word & LOW) - HALF


@inline
def list_at(f, i):
    return f + FIRST_LIST + i * LIST


@kernel
def new_pack(H, W, lanes, lists):
    """A pack of so many lists, all of them empty."""
    words = FIRST_LIST + lists * LIST
    f = alloc(H, W, words)
    for i in range(words):
        H[f + i] = 0
    H[f + LANES] = lanes
    H[f + LISTS] = lists
    return f


@inline
def rows_at_end(H, f, l):
    """How many rows the last chunk of a list has, if it may get more."""
    return (H[l + END] - H[l + LAST] - HEAD) // row_words(H[f + LANES], H[l + LAST_WIDE])


@kernel
def add_chunk(H, W, f, l, wide):
    """One more chunk at the end of a list.  Returns where its first row goes."""
    c = alloc(H, W, chunk_words(H[f + LANES], wide))
    H[c + NEXT] = 0
    H[c + WIDE] = wide
    last = H[l + LAST]
    if last:
        H[last + HOLDS] = rows_at_end(H, f, l)
        H[last + NEXT] = c
    else:
        H[l + FIRST] = c
    H[l + LAST] = c
    H[l + LAST_WIDE] = wide
    return c + HEAD


@inline
def room_for(H, W, f, l, odd):
    """Where the next row of a list goes: behind the last one, or into a new chunk if there is no room for such a row.

    leaves: in LAST_WIDE, how it is to be put.
    """
    e = H[l + END]
    wide = H[l + LAST_WIDE]
    if e == 0 or odd > wide or e + row_words(H[f + LANES], wide) > H[l + LAST] + chunk_words(H[f + LANES], wide):
        wide = 1 if odd or H[f + ODD] * MANY_ODD > H[f + ROWS] else 0
        e = add_chunk(H, W, f, l, wide)
    H[l + END] = e + row_words(H[f + LANES], wide)
    return e


@inline
def put_row(H, W, f, l, rank, diff, row):
    """Put one row, whose lanes stand side by side, at the end of a list."""
    lanes = H[f + LANES]
    if H[f + ROWS] == 0:
        H[f + RANK] = rank
        H[f + DIFF] = diff
    odd = 0 if rank == H[f + RANK] and diff == H[f + DIFF] else 1
    for k in range(lanes):
        if not fits_half(H[row + k]):
            odd = 1
    H[f + ROWS] += 1
    H[f + ODD] += odd
    e = room_for(H, W, f, l, odd)
    if H[l + LAST_WIDE]:
        H[e] = rank
        H[e + 1] = diff
        for k in range(lanes):
            H[e + 2 + k] = H[row + k]
    else:
        for k in range(0, lanes - 1, 2):
            H[e + (k >> 1)] = both(H[row + k], H[row + k + 1])
        if lanes & 1:
            H[e + (lanes >> 1)] = H[row + lanes - 1] << 32


@inline
def rows_in(H, f, l, c):
    """How many rows a chunk of a list has."""
    return rows_at_end(H, f, l) if c == H[l + LAST] else H[c + HOLDS]


@kernel
def unpack(H, f, c, n, to, step, skip):
    """The n rows of a chunk, one every `step` words: rank and diff first, the lanes from word `skip` on."""
    lanes = H[f + LANES]
    e = c + HEAD
    if H[c + WIDE]:
        for _ in range(n):
            H[to] = H[e]
            H[to + 1] = H[e + 1]
            for k in range(lanes):
                H[to + skip + k] = H[e + 2 + k]
            to += step
            e += 2 + lanes
        return
    words = row_words(lanes, 0)
    rank = H[f + RANK]
    diff = H[f + DIFF]
    for _ in range(n):
        H[to] = rank
        H[to + 1] = diff
        for k in range(0, lanes - 1, 2):
            H[to + skip + k] = first_of(H[e + (k >> 1)])
            H[to + skip + k + 1] = second_of(H[e + (k >> 1)])
        if lanes & 1:
            H[to + skip + lanes - 1] = first_of(H[e + (lanes >> 1)])
        to += step
        e += words


@inline
def release_chunk(H, W, f, c):
    release(H, W, c, chunk_words(H[f + LANES], H[c + WIDE]))


@kernel
def empty_list(H, W, f, l):
    """Give the chunks of a list back."""
    c = H[l + FIRST]
    while c:
        after = H[c + NEXT]
        release_chunk(H, W, f, c)
        c = after
    H[l + FIRST] = 0
    H[l + LAST] = 0
    H[l + END] = 0


@kernel
def drop_pack(H, W, f):
    """Give back a pack with all its rows."""
    for i in range(H[f + LISTS]):
        empty_list(H, W, f, list_at(f, i))
    release(H, W, f, FIRST_LIST + H[f + LISTS] * LIST)
