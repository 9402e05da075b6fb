"""Parted: very many rows take their places by the hash of their keys as they come.

Rows that wait and are then scattered lie in memory twice, and to touch so much of it for the first time costs as much
as the work.  Where all of them are at hand, they are counted first, and then put where the scattering would put them.

Rule: parted rows are the same rows, in an order that the visit knows; one more row that waits there undoes that.
"""

from __future__ import annotations

from ebbflow.columns.kernel import inline, kernel
from ebbflow.operators.block import COLUMNS_AT, HASHES, copy_row
from ebbflow.operators.bulk import HASH_BITS, part_bits
from ebbflow.operators.node import (
    ARRANGE,
    B_ITEMS,
    B_PART_BITS,
    B_PARTED,
    B_PARTS_AT,
    KIND,
    WAITING,
    bucket_for,
    row_lanes,
)
from ebbflow.trace.heap import BLOCK, GENERAL, KEEP, LEN, PARTING, PTR, SEAL, WORKERS, reserve

BULKS = 16  # times the rows of the smallest bulk: fewer of them are in the cache when they are scattered
COUNTING, PUTTING = 1, 2  # what a block that comes to the node is for


@inline
def takes_parts(H, W, nd, n):
    """Whether n rows of the first rounds, all there are so far, are worth counting before they come to the node."""
    if H[nd + KIND] != ARRANGE or H[W + GENERAL] or H[W + WORKERS] > 1 or n < BULKS * H[W + SEAL]:
        return False
    return n > H[W + KEEP] and H[bucket_for(H, W, nd, 0) + B_ITEMS + LEN] == 0


@kernel
def begin_parts(H, W, nd, n):
    """Up to n rows will come twice; first they are counted, behind the room that they will have."""
    bucket = bucket_for(H, W, nd, 0)
    bits = part_bits(n)
    room = n * (WAITING + row_lanes(H, nd))
    counts = reserve(H, W, bucket + B_ITEMS, room + (1 << bits) + 1) + room
    for i in range((1 << bits) + 1):
        H[counts + i] = 0
    H[bucket + B_PARTS_AT] = room
    H[bucket + B_PART_BITS] = bits
    H[W + PARTING] = COUNTING


@kernel
def place_parts(H, W, nd):
    """The rows are counted, and come again.  leaves: in the place of each part where it begins, in rows."""
    bucket = bucket_for(H, W, nd, 0)
    counts = H[bucket + B_ITEMS + PTR] + H[bucket + B_PARTS_AT]
    for i in range(1 << H[bucket + B_PART_BITS]):
        H[counts + i + 1] += H[counts + i]
    H[W + PARTING] = PUTTING


@kernel
def part_block(H, W, nd, ranks, rstep, diffs, dstep, sign, n):
    """The block's rows, whose hashes are known, are counted, or go to their parts as `wait_row` has them."""
    b = H[W + BLOCK]
    bucket = bucket_for(H, W, nd, 0)
    p = H[bucket + B_ITEMS + PTR]
    counts = p + H[bucket + B_PARTS_AT]
    down = HASH_BITS - H[bucket + B_PART_BITS]
    if H[W + PARTING] == COUNTING:
        for i in range(n):
            H[counts + 1 + (H[b + HASHES + i] >> down)] += 1
        return
    lanes = row_lanes(H, nd)
    for i in range(n):
        h = H[b + HASHES + i]
        c = counts + (h >> down)
        x = p + H[c] * (WAITING + lanes)
        H[c] += 1
        H[x] = -1
        H[x + 1] = H[ranks + i * rstep]
        H[x + 2] = H[diffs + i * dstep] * sign
        H[x + 3] = h
        copy_row(H, b + COLUMNS_AT, i, x + WAITING, lanes)
    H[bucket + B_ITEMS + LEN] += n * (WAITING + lanes)


@kernel
def end_parts(H, W, nd):
    """All rows are there."""
    bucket = bucket_for(H, W, nd, 0)
    H[bucket + B_PARTED] = H[bucket + B_ITEMS + LEN]
    H[W + PARTING] = 0
