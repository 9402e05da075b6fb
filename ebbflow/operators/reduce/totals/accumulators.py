"""Accumulators: reductions that need the sum of a key's rows and not the rows.

A table that folds has, beside the input segment, a segment of accumulators: `rounds, 0, words`. The rows of a slice are
stored raw in the input segment; the next slice that changes the key adds them to the accumulator of their rounds.

Rule: an accumulator is an element of an Abelian group: adding and removing the same rows in any order gives zero.
"""

from __future__ import annotations

from ebbflow.columns.exact_sums import FLOAT_WORDS, INT_WORDS, float_add, float_merge, int_add, int_merge
from ebbflow.native.kernel import inline, kernel
from ebbflow.trace.heap import (
    CAP,
    FIRST,
    GUARD,
    LEN,
    PTR,
    SAVES_SEGMENTS,
    STATE,
    STEP,
    is_large,
    reserve,
    rounds_precede,
    size_bits,
)
from ebbflow.trace.segment import BIAS, OLD, STAMP, VALUE, diff_of, grow_segment, save, shrink, touch
from ebbflow.trace.table import FOLDS, KEYS, SEGMENT, SEGMENTS, WIDTH

SUMS_FAMILY = 2
# ---- what to add up (at FOLDS): words, columns, then per column ------------------------------------
WORDS, COLUMNS, FIRST_COLUMN = 0, 1, 2
LANE, SHAPE, AT = 0, 1, 2  # which value lane; INT or FLOAT or COUNT; where in the accumulator its words begin
COLUMN = 3
ONLY_COUNT, INT_SUM, FLOAT_SUM = 0, 1, 2

NULL = -9223372036854775808


@kernel
def add_row(H, spec, acc, values, diff):
    """Add a row of values, diff times: the count, then per column its non-null count and its sum.

    leaves: how large the counts are, and the upper words of sums of integers, in bits: `is_large` tells of them.
    """
    H[acc] += diff
    bits = size_bits(H[acc])
    c = spec + FIRST_COLUMN
    for _ in range(H[spec + COLUMNS]):
        x = H[values + H[c + LANE]]
        if x != NULL:
            at = acc + H[c + AT]
            H[at] += diff
            bits |= size_bits(H[at])
            if H[c + SHAPE] == INT_SUM:
                int_add(H, at + 1, x, diff)
                bits |= size_bits(H[at + INT_WORDS])
            elif H[c + SHAPE] == FLOAT_SUM:
                float_add(H, at + 1, x, diff)
        c += COLUMN
    return bits


@kernel
def are_sums_countable(H, W, tb, rc):
    """Whether each of a key's accumulators stays within 62 bits when the rows that wait are folded into it.

    needs:  some diffs are wide.
    """
    spec = H[tb + FOLDS]
    sg = rc + H[tb + KEYS] + SEGMENTS
    acc = sg + SUMS_FAMILY * SEGMENT
    w = H[tb + WIDTH]
    total = 0
    for e in range(H[sg + PTR] + 1, H[sg + PTR] + H[sg + LEN] * w, w):
        total += abs(diff_of(H[e]))
        if is_large(total):
            return False
    q = H[acc + PTR] + VALUE
    for _ in range(H[acc + LEN]):
        if is_large(size_bits(H[q]) + total):
            return False
        c = spec + FIRST_COLUMN
        for _ in range(H[spec + COLUMNS]):
            if is_large(size_bits(H[q + H[c + AT]]) + total):
                return False
            c += COLUMN
        q += H[spec + WORDS] + VALUE
    return True


@kernel
def add_sums(H, spec, acc, other):
    """Add one accumulator to another."""
    H[acc] += H[other]
    c = spec + FIRST_COLUMN
    for _ in range(H[spec + COLUMNS]):
        at = H[c + AT]
        H[acc + at] += H[other + at]
        if H[c + SHAPE] == INT_SUM:
            int_merge(H, acc + at + 1, other + at + 1)
        elif H[c + SHAPE] == FLOAT_SUM:
            float_merge(H, acc + at + 1, other + at + 1)
        c += COLUMN


@kernel
def fold(H, W, tb, rc):
    """Add the raw rows of earlier slices to the accumulators of their rounds; accumulators that are zero go."""
    spec = H[tb + FOLDS]
    words = H[spec + WORDS]
    sg = rc + H[tb + KEYS] + SEGMENTS
    acc = sg + SUMS_FAMILY * SEGMENT
    w = H[tb + WIDTH]
    aw = words + VALUE
    first = H[acc + STAMP] < H[W + FIRST]
    H[acc + STAMP] = H[W + STEP]
    p = H[sg + PTR]
    for i in range(H[sg + LEN]):
        e = p + i * w
        a = 0
        q = H[acc + PTR]
        for j in range(H[acc + LEN]):
            if H[q + j * aw] == H[e]:
                a = q + j * aw
                break
        if a == 0:
            n = H[acc + LEN]
            if (n + 1) * aw > H[acc + CAP]:
                grow_segment(H, W, acc, aw)
            a = H[acc + PTR] + n * aw
            H[a] = H[e]
            H[a + 1] = BIAS
            for k in range(words):
                H[a + VALUE + k] = 0
            H[acc + LEN] = n + 1
        add_row(H, spec, a + VALUE, e + VALUE, diff_of(H[e + 1]))
    H[sg + LEN] = 0
    H[sg + OLD] = 0
    shrink(H, W, sg, w)
    o = 0
    q = H[acc + PTR]
    for j in range(H[acc + LEN]):
        zero = True
        for k in range(words):
            if H[q + j * aw + VALUE + k] != 0:
                zero = False
                break
        if not zero:
            if o != j:
                for k in range(aw):
                    H[q + o * aw + k] = H[q + j * aw + k]
            o += 1
    H[acc + LEN] = o
    H[acc + OLD] = o
    shrink(H, W, acc, aw)
    if first and H[W + SAVES_SEGMENTS]:
        save(H, W, acc, aw)


@inline
def touch_input(H, W, tb, rc, sg, w):
    """The first touch of a key's input in a slice: fold to sums, or to old entries."""
    if H[tb + FOLDS]:
        if H[sg + STAMP] != H[W + STEP]:
            first = H[sg + STAMP] < H[W + FIRST]
            fold(H, W, tb, rc)
            H[sg + STAMP] = H[W + STEP]
            if first and H[W + SAVES_SEGMENTS]:
                save(H, W, sg, w)
    else:
        touch(H, W, sg, w)


@kernel
def gather_sums(H, W, tb, rc, rounds):
    """The sum of the accumulators whose rounds precede these, in STATE; returns its address."""
    spec = H[tb + FOLDS]
    words = H[spec + WORDS]
    acc = rc + H[tb + KEYS] + SEGMENTS + SUMS_FAMILY * SEGMENT
    aw = words + VALUE
    s = reserve(H, W, W + STATE, words)
    for k in range(words):
        H[s + k] = 0
    q = H[acc + PTR]
    for j in range(H[acc + LEN]):
        if rounds_precede(H[q + j * aw], rounds, H[W + GUARD]):
            add_sums(H, spec, s, q + j * aw + VALUE)
    return s


def sums_spec(columns) -> list[int]:
    """The words at FOLDS for columns given as (lane, shape); the accumulator has word 0 for the count of rows."""
    words = [0, len(columns)]
    at = 1
    for lane, shape in columns:
        words += [lane, shape, at]
        at += 1 + {ONLY_COUNT: 0, INT_SUM: INT_WORDS, FLOAT_SUM: FLOAT_WORDS}[shape]
    words[WORDS] = at
    return words
