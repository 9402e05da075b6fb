"""Steps of the interpreter on bits, and the one entrance to the steps of functions.

Rule: a step gives for words what the function's meaning gives for values; whole numbers are as wide as their type,
bytes and shorts as ints.
"""

from __future__ import annotations

import numpy as np

from ebbflow.expressions.calendar_steps import calendar_step, clock_step
from ebbflow.expressions.opcodes import BIT_AND, BIT_COUNT, BIT_NOT, BIT_OR, BIT_XOR, SHIFT_LEFT, SHIFT_RIGHT, TRUNC_DAY
from ebbflow.native.kernel import kernel


@kernel
def bit_step(op, a, b, bits):
    """needs: a step from BIT_AND on; words of whole numbers; bits: how wide the first is.  leaves: the lane."""
    if op == BIT_AND:
        return a & b
    if op == BIT_OR:
        return a | b
    if op == BIT_XOR:
        return a ^ b
    if op == BIT_NOT:
        return ~a
    if op == BIT_COUNT:
        n = np.int64(0)
        rest = np.uint64(a)
        while rest != np.uint64(0):
            rest = rest & (rest - np.uint64(1))
            n += 1
        return n
    by = b % bits
    if op == SHIFT_RIGHT:
        return a >> by
    if bits == 32:
        word = np.uint64(a) & np.uint64(0xFFFF_FFFF)
        word = word << np.uint64(by) if op == SHIFT_LEFT else word >> np.uint64(by)
        word = word & np.uint64(0xFFFF_FFFF)
        return np.int64(word) - (np.int64(1) << 32) if word >= np.uint64(0x8000_0000) else np.int64(word)
    word = np.uint64(a)
    return np.int64(word << np.uint64(by)) if op == SHIFT_LEFT else np.int64(word >> np.uint64(by))


@kernel
def function_step(op, a, b, c):
    """needs: a step of a function; a and b are words that it takes, not NULL.  leaves: the lane of the result."""
    if op >= BIT_AND:
        return bit_step(op, a, b, c)
    return clock_step(op, a, b) if op >= TRUNC_DAY else calendar_step(op, a, b)
