"""Value index: the position of a value in a list of values, by its lanes.

A short list is searched linearly. A long one has a hash index: a power of two of slots, each with a position plus one;
the mask is the number of slots less one, and 0 while the list is short.

Rule: a position never changes; whoever appends a value enters its position.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import same

SEARCHED_LINEARLY = 8  # values that are searched linearly


@inline
def index_among(first: int, step: int, n: int, lanes: Words, nv: int, slots: Words, mask: int) -> int:
    """The position of these lanes among n values, whose lanes are at `first` and every `step` words on; n when they are
    not among them.
    """
    if mask == 0:
        for i in range(n):
            if same(Words(first + i * step), lanes, nv):
                return i
        return n
    h = hash_lanes(lanes, nv) & mask
    while slots[h]:
        i = slots[h] - 1
        if same(Words(first + i * step), lanes, nv):
            return i
        h = (h + 1) & mask
    return n


@inline
def mask_for(n: int, mask: int) -> int:
    """The mask for n values, given the mask before; a different one means that the slots must be rebuilt."""
    if n <= SEARCHED_LINEARLY:
        return 0
    if 2 * n <= mask:
        return mask
    return 4 * SEARCHED_LINEARLY - 1 if mask == 0 else 2 * mask + 1


@inline
def enter_index(i: int, lanes: Words, nv: int, slots: Words, mask: int) -> None:
    """Enter position i for these lanes, which had none."""
    h = hash_lanes(lanes, nv) & mask
    while slots[h]:
        h = (h + 1) & mask
    slots[h] = i + 1


@kernel
def enter_all(first: int, step: int, n: int, nv: int, slots: Words, mask: int) -> None:
    """Clear the slots and enter the positions of n values."""
    for i in range(mask + 1):
        slots[i] = 0
    for i in range(n):
        enter_index(i, Words(first + i * step), nv, slots, mask)
