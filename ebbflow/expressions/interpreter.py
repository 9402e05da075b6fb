"""Interpreter: the kernels that run a program on a row.

Nothing is compiled per program: a program is a table of steps over registers (`opcodes`), which one kernel reads.

Rule: for every row the result is that of `operations.evaluate`; only an integer or decimal overflow is an error.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.exact_sums import LARGEST_DECIMAL, product, quotient
from ebbflow.columns.float_kernels import from_float, to_float
from ebbflow.columns.schema import NULL
from ebbflow.columns.text_kernels import mixed_long, mixed_text, text_compare, text_length, text_size
from ebbflow.expressions.calendar_steps import in_zone, part_of_date
from ebbflow.expressions.exact_steps import exact_step, halves_away, power_of_ten
from ebbflow.expressions.float_steps import float_step
from ebbflow.expressions.function_steps import function_step
from ebbflow.expressions.opcodes import (
    A_IS_WORD,
    ABS,
    ADD,
    AND,
    B_IS_WORD,
    C_IS_WORD,
    COALESCE,
    COPY_LANE,
    DECIMAL_COMPARE,
    DECIMAL_DIV,
    DECIMAL_OVERFLOW,
    DROP,
    EQ,
    EQ_NULL_SAFE,
    FILTER,
    FIRST_FUNCTION,
    FIRST_OF_TWO,
    FIRST_WIDE,
    FLOAT_ABS,
    FLOAT_ADD,
    FLOAT_DIV,
    FLOAT_MUL,
    FLOAT_NEG,
    FLOAT_SUB,
    FLOORDIV,
    GE,
    GT,
    IN,
    INT_TO_FLOAT,
    IS_NULL,
    KEEP,
    LARGER,
    LE,
    LIMIT,
    LONG_OVERFLOW,
    LT,
    MIX,
    MODULO,
    MUL,
    NE,
    NULL_OUTSIDE,
    OR,
    RATIO,
    REMAINDER,
    ROUND,
    SCALE_CLAMPED,
    SCALE_UP,
    SELECT,
    SKIP_IF,
    SKIP_UNLESS,
    SMALLER,
    STEP_WORDS,
    SUB,
    TEXT_COMPARE,
    TEXT_LARGER,
    TEXT_LENGTH,
    TEXT_SIZE,
    TEXT_SMALLER,
    TO_LOCAL,
    YEAR_OF,
)
from ebbflow.expressions.wide_steps import wide_step
from ebbflow.native.kernel import kernel
from ebbflow.native.memory import H


@kernel
def compute(op, a, b, c):
    """One step of those that are long; apart from `interpret` to keep that small.

    needs:  an op from FLOAT_FLOORDIV on; a and b are lanes of the types the op takes, not NULL.
    leaves: the lane of the result.
    """
    if op < INT_TO_FLOAT or (op > RATIO and op < SCALE_UP):
        return float_step(op, a, b)
    if op == INT_TO_FLOAT:
        return from_float(np.float64(a))
    if op == RATIO:
        return quotient(a, a >> 63, b)
    if op < YEAR_OF or op == DECIMAL_COMPARE or op == DECIMAL_DIV or op == SCALE_CLAMPED:
        return exact_step(op, a, b, c)
    if op < TEXT_COMPARE:
        return part_of_date(a, op)
    if op == TEXT_COMPARE:
        return np.int64(text_compare(c, a, b))
    if op == TEXT_LENGTH:
        return np.int64(text_length(c, a))
    if op == TEXT_SIZE:
        return np.int64(text_size(c, a))
    if op == MIX:
        return mixed_long(a)
    return mixed_text(c, a)


@kernel
def interpret(prog, src, regs):  # long: one case for each step
    """Run a program on one row.

    needs:  a program at prog; the row's lanes at src; REGISTERS words at regs, which do not overlap the row.
    leaves: the result's columns in the first registers; KEEP, or DROP where the condition is not true, or an error
            (LONG_OVERFLOW, DECIMAL_OVERFLOW); in the last two cases the registers hold nothing of use.
    """
    p = prog + 1
    end = p + H[prog] * STEP_WORDS
    while p < end:
        code = H[p]
        a = H[p + 2]
        if code == COPY_LANE:
            H[regs + H[p + 1]] = H[src + a]
            p += STEP_WORDS
            continue
        b = H[p + 3]
        if code & A_IS_WORD == 0:
            a = H[regs + a] if a >= 0 else H[src + ~a]
        if code & B_IS_WORD == 0:
            b = H[regs + b] if b >= 0 else H[src + ~b]
        op = code & 0xFF
        v = a
        if op >= ADD:
            if op >= FIRST_WIDE:
                a2 = a
                b2 = b
                if op >= FIRST_OF_TWO:
                    if code & A_IS_WORD == 0:
                        at = H[p + 2]
                        a2 = H[regs + at + 1] if at >= 0 else H[src + ~at + 1]
                    if code & B_IS_WORD == 0:
                        at = H[p + 3]
                        b2 = H[regs + at + 1] if at >= 0 else H[src + ~at + 1]
                into = regs + H[p + 1]
                if wide_step(op, a, a2, b, b2, H[p + 4], into, into + 1) < 0:
                    return DECIMAL_OVERFLOW
                p += STEP_WORDS
                continue
            if a == NULL or b == NULL:
                v = np.int64(NULL)
            elif op == ADD:
                v = a + b
                if (a ^ v) & (b ^ v) < 0 or v == NULL:
                    return LONG_OVERFLOW
            elif op == EQ:
                v = np.int64(1 if a == b else 0)
            elif op == LT:
                v = np.int64(1 if a < b else 0)
            elif op == LE:
                v = np.int64(1 if a <= b else 0)
            elif op == GT:
                v = np.int64(1 if a > b else 0)
            elif op == GE:
                v = np.int64(1 if a >= b else 0)
            elif op == NE:
                v = np.int64(1 if a != b else 0)
            elif op == SUB:
                v = a - b
                if (a ^ b) & (a ^ v) < 0 or v == NULL:
                    return LONG_OVERFLOW
            elif op == MUL:
                v, high = product(a, b)
                if high != (v >> 63) or v == NULL:
                    return LONG_OVERFLOW
            elif op == ABS:
                v = abs(a)
            elif op == FLOAT_ADD:
                v = from_float(to_float(a) + to_float(b))
            elif op == FLOAT_SUB:
                v = from_float(to_float(a) - to_float(b))
            elif op == FLOAT_MUL:
                v = from_float(to_float(a) * to_float(b))
            elif op == FLOAT_DIV:
                v = np.int64(NULL) if b == 0 else from_float(to_float(a) / to_float(b))
            elif op == FLOAT_NEG:
                v = from_float(-to_float(a))
            elif op == FLOAT_ABS:
                v = from_float(abs(to_float(a)))
            elif op == FLOORDIV:
                v = np.int64(NULL) if b == 0 else a // b
            elif op == REMAINDER:  # with the sign of a
                v = np.int64(NULL) if b == 0 else abs(a) % abs(b)
                if a < 0 and b != 0:
                    v = -v
            elif op == MODULO:  # with the sign of b
                v = a - (a // b) * b
            elif op == LIMIT:
                if a > LARGEST_DECIMAL or a < -LARGEST_DECIMAL:
                    return DECIMAL_OVERFLOW
            elif op == NULL_OUTSIDE:  # null unless b <= a <= c
                if a < b or a > H[p + 4]:
                    v = np.int64(NULL)
            elif op == ROUND:  # to whole multiples of 10**b, counted in units of 10**c
                c = H[p + 4]
                if b == 19 and abs(a) >= 5 * power_of_ten(18):
                    return LONG_OVERFLOW
                v = halves_away(a, power_of_ten(b)) if b < 19 else a * 0
                v, high = product(v, power_of_ten(min(c, 18)))
                if high != (v >> 63) or v == NULL:
                    return LONG_OVERFLOW
            elif op == IN:
                table = prog + b
                low = table + 2
                top = low + H[table + 1]
                stop = top
                while low < top:
                    middle = (low + top) >> 1
                    if H[middle] < a:
                        low = middle + 1
                    else:
                        top = middle
                v = np.int64(1) if low < stop and H[low] == a else H[table]
            elif op >= FIRST_FUNCTION:
                v = function_step(op, a, b, H[p + 4])
            elif op >= TO_LOCAL:
                v = in_zone(op, a, prog + b)
            else:
                v = compute(op, a, b, H[p + 4])
        elif op == FILTER:
            if a != 1:
                return DROP
            p += STEP_WORDS
            continue
        elif op == SKIP_IF or op == SKIP_UNLESS:
            if (a == b) == (op == SKIP_IF):
                p += H[p + 4] * STEP_WORDS
            p += STEP_WORDS
            continue
        elif op == AND:
            v = np.int64(0 if a == 0 or b == 0 else NULL if a == NULL or b == NULL else 1)
        elif op == OR:
            v = np.int64(1 if a == 1 or b == 1 else NULL if a == NULL or b == NULL else 0)
        elif op == EQ_NULL_SAFE:
            v = np.int64(1 if a == b else 0)
        elif op == IS_NULL:
            v = np.int64(1 if a == NULL else 0)
        elif op == SELECT:
            if a == 1:
                v = b
            else:
                c = H[p + 4]
                if code & C_IS_WORD == 0:
                    c = H[regs + c] if c >= 0 else H[src + ~c]
                v = c
        elif op == COALESCE:
            v = b if a == NULL else a
        elif op == LARGER:  # null is the least lane
            v = max(a, b)
        elif op == SMALLER:
            v = b if a == NULL else a if b == NULL else min(a, b)
        elif op == TEXT_LARGER:
            v = a if text_compare(H[p + 4], a, b) > 0 else b
        elif op == TEXT_SMALLER:
            v = b if a == NULL else a if b == NULL or text_compare(H[p + 4], a, b) < 0 else b
        H[regs + H[p + 1]] = v
        p += STEP_WORDS
    return KEEP


@kernel
def interpret_rows(prog, rows, out, words):
    """Run a program on every row of an array of lanes.

    needs:  rows: int64[lanes, n]; out: int64[columns + 1, n]; words: scratch for one row and REGISTERS more.
    leaves: the columns in out, KEEP or DROP in its last row; n, or the first row that overflowed.
    """
    lanes = rows.shape[0]
    columns = out.shape[0] - 1
    scratch = words[0]  # its own address, written there by the caller
    regs = scratch + 1 + lanes
    for r in range(rows.shape[1]):
        for i in range(lanes):
            words[1 + i] = rows[i, r]
        kept = interpret(prog, scratch + 1, regs)
        if kept < 0:
            return r
        out[columns, r] = kept
        for j in range(columns):
            out[j, r] = words[1 + lanes + j] if kept == 1 else NULL
    return rows.shape[1]
