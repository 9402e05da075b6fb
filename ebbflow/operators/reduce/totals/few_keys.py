"""Few keys: a block whose rows have only a handful of distinct keys, summed key by key.

A report has few groups, however many rows come in. Then no key is hashed per row and no total is loaded and stored per
value: rows are compared with the few keys, several at once, and what a group gets of a column is summed before it is
added to its entry.

Rule: the totals are those of adding row by row; a block with more keys is not changed.
"""

from __future__ import annotations

from ebbflow.columns.exact_sums import int_add
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import load_lane, store_lane
from ebbflow.native.structs import Words
from ebbflow.operators.block import MOST_GROUPS, Block, copy_row
from ebbflow.trace.tally import Tally, entry_of, room_for
from ebbflow.trace.worker_fields import Worker

WORTH_GROUPS = 32  # rows
SMALL_BITS = 54  # bits of a number, so that a block of them adds up to a word


@inline
def are_equal(p: Words, step: int, n: int) -> bool:
    """Whether all words of a lane are the first one."""
    if step != 1:
        return step == 0
    first = load_lane(p)
    other = 0
    for i in range(n):
        other |= load_lane(p + i) ^ first
    return other == 0


@kernel
def mark_group(b: Block, nk: int, first: int, n: int, group: int) -> int:
    """Write down which rows have the key of the row `first`; those before it are known.  Returns how many there are."""
    columns = b.columns
    groups = b.hashes
    c = columns.at
    lane = c[first]
    size = 0
    if nk == 1:
        for i in range(first, n):
            other = Words(load_lane(c + i) ^ lane)
            was = load_lane(groups + i)
            size += 1 if other == 0 else 0
            store_lane(groups + i, group if other == 0 else was)
        return size
    if nk == 2:
        c2 = columns[1].at
        lane2 = c2[first]
        for i in range(first, n):
            other = Words((load_lane(c + i) ^ lane) | (load_lane(c2 + i) ^ lane2))
            was = load_lane(groups + i)
            size += 1 if other == 0 else 0
            store_lane(groups + i, group if other == 0 else was)
        return size
    other = b.row_targets  # what a row's lanes have that the key has not
    for i in range(first, n):
        store_lane(other + i, load_lane(c + i) ^ lane)
    for k in range(1, nk):
        c = columns[k].at
        lane = c[first]
        for i in range(first, n):
            store_lane(other + i, load_lane(other + i) | (load_lane(c + i) ^ lane))
    for i in range(first, n):
        is_here = load_lane(other + i) == 0
        size += 1 if is_here else 0
        store_lane(groups + i, group if is_here else load_lane(groups + i))
    return size


@kernel
def find_groups(b: Block, nk: int, n: int) -> int:
    """The groups of a block's rows, by their first nk lanes, in the order in which they come.

    leaves: how many there are, with what the block has of them; 0: too many, or no key, or lanes that lie apart.
    """
    if n < WORTH_GROUPS or nk == 0:
        return 0
    for k in range(nk):
        if b.columns[k].step != 1:
            return 0
    groups = b.hashes
    for i in range(n):
        store_lane(groups + i, -1)
    found = 0
    first = 0
    left = n
    while left:
        if found == MOST_GROUPS:
            return 0
        while groups[first] >= 0:
            first += 1
        size = mark_group(b, nk, first, n, found)
        b.firsts[found] = first
        b.sizes[found] = size
        found += 1
        left -= size
    return found


@kernel
def find_entries(worker: Worker, tally: Tally, b: Block, found: int) -> None:
    """The entry of each group, made where there is none: their addresses in ENTRIES."""
    row = worker.row.pointer
    room_for(worker, tally, found)  # from here on none of them moves
    for g in range(found):
        copy_row(b.columns, b.firsts[g], row, tally.keys)
        b.entries[g] = entry_of(worker, tally, row)


@inline
def takes_groups(tally: Tally, ranks: Words, rstep: int, diffs: Words, dstep: int, n: int) -> int:
    """Whether it is worth looking for groups: few keys so far, and rows of one time that come equally often."""
    few = tally.count <= MOST_GROUPS and ranks[0] == ranks[(n - 1) * rstep]
    return few and are_equal(diffs, dstep, n)


@kernel
def find_group_targets(b: Block, n: int) -> None:
    """Every row's entry, in ROW_TARGETS."""
    for i in range(n):
        b.row_targets[i] = b.entries[b.hashes[i]]


@kernel
def add_groups(b: Block, c: int, n: int, found: int, at: int, diff: int) -> bool:
    """Add a column's values to the entries of their groups: at `at` how many, behind it a total of integers.

    needs:  a lane of whole numbers at c; all rows come `diff` times.
    leaves: True; False, and nothing was added, where one is null or large.
    """
    bits = 0
    for i in range(n):
        x = load_lane(c + i)
        bits |= x ^ (x >> 63)
    if bits >> SMALL_BITS:
        return False
    groups = b.hashes
    for g in range(0, found, 4):
        s0 = 0
        s1 = 0
        s2 = 0
        s3 = 0
        for i in range(n):
            x = load_lane(c + i)
            of = load_lane(groups + i)
            s0 += x if of == g else 0
            s1 += x if of == g + 1 else 0
            s2 += x if of == g + 2 else 0
            s3 += x if of == g + 3 else 0
        for k in range(g, min(g + 4, found)):
            acc = Words(b.entries[k] + at)
            acc[0] += b.sizes[k] * diff
            int_add(acc + 1, s0 if k == g else s1 if k == g + 1 else s2 if k == g + 2 else s3, diff)
    return True
