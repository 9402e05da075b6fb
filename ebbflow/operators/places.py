"""Places of values: which of those that lie one behind the other has some lanes.

Few are looked through.  Many are found by a hash: slots, a power of two of them, hold places, one more; their number
less one is the mask, which is 0 while values are few.

Rule: a place does not change; whoever adds a value enters its place.
"""

from __future__ import annotations

from ebbflow.columns.kernel import inline, kernel
from ebbflow.trace.heap import hash_lanes, same

FEW = 8  # that are looked through


@inline
def place_among(H, first, step, n, lanes, nv, slots, mask):
    """The place of these lanes among n values, whose lanes lie at `first` and every `step` words on; n when they are
    not among them.
    """
    if mask == 0:
        for i in range(n):
            if same(H, first + i * step, lanes, nv):
                return i
        return n
    h = hash_lanes(H, lanes, nv) & mask
    while H[slots + h]:
        i = H[slots + h] - 1
        if same(H, first + i * step, lanes, nv):
            return i
        h = (h + 1) & mask
    return n


@inline
def mask_for(n, mask):
    """The mask that n values need, who had this one: it is another where the slots are to be made anew."""
    if n <= FEW:
        return 0
    if 2 * n <= mask:
        return mask
    return 4 * FEW - 1 if mask == 0 else 2 * mask + 1


@inline
def enter_place(H, i, lanes, nv, slots, mask):
    """Place i is that of these lanes, which had none."""
    h = hash_lanes(H, lanes, nv) & mask
    while H[slots + h]:
        h = (h + 1) & mask
    H[slots + h] = i + 1


@kernel
def enter_all(H, first, step, n, nv, slots, mask):
    """The places of n values into slots with any content."""
    for i in range(mask + 1):
        H[slots + i] = 0
    for i in range(n):
        enter_place(H, i, first + i * step, nv, slots, mask)
