"""Scan: everything an arrangement holds, as rows.

Rule: the rows add up to the collection as of the end of the last advance.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.trace.batch import KEY_COUNT, copy_entries, copy_key, family_at, start_of
from ebbflow.trace.heap import COLD, LEN, PTR, ROW, push_word, reserve
from ebbflow.trace.segment import VALUE, diff_of
from ebbflow.trace.spine import BATCH, BATCHES, GONE, is_gone
from ebbflow.trace.table import ADDRESS, KEYS, MASK, SLOTS_AT, SPINE, WIDTH, segment_of


@kernel
def scan_entries(H, W, key, nk, e, n, w, to):
    """Append `diff, key lanes, value lanes` of n entries at e."""
    for i in range(n):
        push_word(H, W, to, diff_of(H[e + i * w + 1]))
        for k in range(nk):
            push_word(H, W, to, H[key + k])
        for k in range(VALUE, w):
            push_word(H, W, to, H[e + i * w + k])


@kernel
def scan_table(H, W, tb, to):
    """Append everything a table's first family holds, in records and in the spine, to a vector."""
    nk = H[tb + KEYS]
    w = H[tb + WIDTH]
    slots = H[tb + SLOTS_AT]
    for i in range(H[tb + MASK] + 1):
        rc = H[slots + i] & ADDRESS
        if rc:
            sg = segment_of(H, tb, rc, 0)
            scan_entries(H, W, rc, nk, H[sg + PTR], H[sg + LEN], w, to)
    spine = H[tb + SPINE]
    if spine == 0:
        return
    key = H[W + ROW + PTR]
    for at in range(H[spine + BATCHES + LEN]):
        slot = H[H[spine + BATCHES + PTR] + at]
        b = H[slot + BATCH]
        for i in range(H[b + KEY_COUNT]):
            if not is_gone(H, H[slot + GONE], i):
                f = family_at(H, b, 0)
                start = start_of(H, b, f, i)
                end = start_of(H, b, f, i + 1)
                copy_key(H, b, i, key)
                e = reserve(H, W, W + COLD, (end - start) * w)
                copy_entries(H, b, f, start, end, e, 0)
                scan_entries(H, W, key, nk, e, end - start, w, to)
