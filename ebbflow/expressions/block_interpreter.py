"""The interpreter for blocks of rows: the kernels that run each step of a program over whole columns.

What is decided once for each step and not for each row is cheap, and a plain loop over a column is compiled to vector
instructions. A block in which some row overflows is given back, and the rows are run one by one.

Rule: for every row the result is that of `interpret`.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.exact_sums import LARGEST_DECIMAL, lower_half, product
from ebbflow.columns.float_kernels import from_float, to_float
from ebbflow.columns.schema import NULL
from ebbflow.expressions.calendar_steps import in_zone
from ebbflow.expressions.function_steps import function_step
from ebbflow.expressions.interpreter import compute
from ebbflow.expressions.opcodes import (
    A_IS_WORD,
    ADD,
    AND,
    B_IS_WORD,
    BLOCK_ROWS,
    C_IS_WORD,
    COALESCE,
    COPY,
    COPY_LANE,
    DAY_START,
    END_OF_STEPS,
    EQ,
    EQ_NULL_SAFE,
    FILTER,
    FIRST_FUNCTION,
    FIRST_OF_TWO,
    FIRST_TO_ONE,
    FIRST_WIDE,
    FLOAT_ADD,
    FLOAT_FLOORDIV,
    FLOAT_MUL,
    FLOAT_SUB,
    GE,
    GT,
    IS_NULL,
    LE,
    LIMIT,
    LT,
    MUL,
    NE,
    NULL_OUTSIDE,
    OR,
    REMAINDER,
    SELECT,
    STEP_WORDS,
    SUB,
    TO_LOCAL,
)
from ebbflow.expressions.wide_steps import wide_step
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H, load_lane, store_lane


@inline
def column_of(operand, columns, side):
    """Where an operand's column is listed: among the registers', or the input lanes'."""
    return side + 2 * operand if operand >= 0 else columns + 2 * ~operand


@inline
def is_small(a):
    """Whether a word fits 32 bits, so that a product of two of them fits one."""
    return a == lower_half(a)


@kernel
def compute_lanes(op, a, sa, b, sb, to, n):
    """One step of a program along lanes, several words at once: ADD, SUB, MUL, or a comparison.

    needs:  sa, sb: 1, or 0 for one word that stands for a lane.
    leaves: the answers from `to` on, and True; False if some row has to be looked at by itself.
    """
    wrong = 0
    first_u = H[a]
    first_w = H[b]
    if op == MUL:
        for i in range(n):
            u = load_lane(a + i) if sa else first_u
            w = load_lane(b + i) if sb else first_w
            wrong |= (u ^ lower_half(u)) | (w ^ lower_half(w))
        if wrong:
            return False
        for i in range(n):
            u = load_lane(a + i) if sa else first_u
            w = load_lane(b + i) if sb else first_w
            store_lane(to + i, lower_half(u) * lower_half(w))
    elif op == ADD:
        for i in range(n):
            u = load_lane(a + i) if sa else first_u
            w = load_lane(b + i) if sb else first_w
            none = (u == NULL) | (w == NULL)
            v = u + w
            wrong |= (((u ^ v) & (w ^ v) < 0) | (v == NULL)) & (not none)
            store_lane(to + i, NULL if none else v)
    elif op == SUB:
        for i in range(n):
            u = load_lane(a + i) if sa else first_u
            w = load_lane(b + i) if sb else first_w
            none = (u == NULL) | (w == NULL)
            v = u - w
            wrong |= (((u ^ w) & (u ^ v) < 0) | (v == NULL)) & (not none)
            store_lane(to + i, NULL if none else v)
    else:
        # equal, less and greater, as the comparison takes them
        equal = 1 if op == EQ or op == LE or op == GE else 0
        less = 1 if op == NE or op == LT or op == LE else 0
        more = 1 if op == NE or op == GT or op == GE else 0
        for i in range(n):
            u = load_lane(a + i) if sa else first_u
            w = load_lane(b + i) if sb else first_w
            v = less if u < w else more if u > w else equal
            store_lane(to + i, NULL if (u == NULL) | (w == NULL) else v)
    return wrong == 0


@kernel
def wide_lanes(code, p, columns, side, a, sa, b, sb, to, n):  # wide: where two operands are, and a result
    """A step of `wide_steps` along lanes.

    needs:  the step at p; where its operands' first lanes are.
    leaves: the result from `to` on, its second words a lane further, and True; False if a row is refused.
    """
    op = code & 0xFF
    a2 = a
    sa2 = sa
    b2 = b
    sb2 = sb
    if op >= FIRST_OF_TWO:
        if code & A_IS_WORD == 0:
            x = column_of(H[p + 2], columns, side) + 2  # a value's second lane is listed behind its first
            a2 = H[x]
            sa2 = H[x + 1]
        if code & B_IS_WORD == 0:
            x = column_of(H[p + 3], columns, side) + 2
            b2 = H[x]
            sb2 = H[x + 1]
    for i in range(n):
        u2 = H[a2 + i * sa2]
        w2 = H[b2 + i * sb2]
        if wide_step(op, H[a + i * sa], u2, H[b + i * sb], w2, H[p + 4], to + i, to + BLOCK_ROWS + i) < 0:
            return False
    return True


@kernel
def interpret_block(prog, columns, side, bank, chosen, n):  # long: one loop for each step
    """Run a program on a block of rows, each step over a whole column.

    needs:  a program of BLOCK_STEPS only; columns and side: lists of columns, `address, step` each, the first of the
            input lanes; bank: REGISTERS columns of BLOCK_ROWS words; chosen: room; n <= BLOCK_ROWS.
    leaves: in side the registers' columns, for all n rows; in chosen the numbers of those that are kept, and how many
            are; -1 if some row overflowed, kept or not.
    """
    p = prog + 1
    end = p + H[prog] * STEP_WORDS
    kept = n
    while p < end:
        code = H[p]
        op = code & 0xFF
        into = H[p + 1]
        if op == COPY_LANE:
            lane = columns + 2 * H[p + 2]
            H[side + 2 * into] = H[lane]
            H[side + 2 * into + 1] = H[lane + 1]
            p += STEP_WORDS
            continue
        a = p + 2
        sa = 0
        if code & A_IS_WORD == 0:
            x = column_of(H[p + 2], columns, side)
            a = H[x]
            sa = H[x + 1]
        if op == FILTER:
            kept = 0
            for i in range(n):
                H[chosen + kept] = i
                kept += 1 if H[a + i * sa] == 1 else 0
            p += STEP_WORDS
            continue
        b = p + 3
        sb = 0
        if code & B_IS_WORD == 0:
            x = column_of(H[p + 3], columns, side)
            b = H[x]
            sb = H[x + 1]
        to = bank + into * BLOCK_ROWS
        if op >= FIRST_WIDE:
            if not wide_lanes(code, p, columns, side, a, sa, b, sb, to, n):
                return -1
            H[side + 2 * into] = to
            H[side + 2 * into + 1] = 1
            if op < FIRST_TO_ONE:
                H[side + 2 * into + 2] = to + BLOCK_ROWS
                H[side + 2 * into + 3] = 1
            p += STEP_WORDS
            continue
        along = sa <= 1 and sb <= 1 and (op == ADD or op == SUB or op == MUL or (op >= EQ and op <= GE))
        wrong = False
        if along and compute_lanes(op, a, sa, b, sb, to, n):
            pass
        elif op == MUL:
            for i in range(n):
                u = H[a + i * sa]
                w = H[b + i * sb]
                if is_small(u) and is_small(w):
                    H[to + i] = u * w
                elif u == NULL or w == NULL:
                    H[to + i] = NULL
                else:
                    v, high = product(u, w)
                    wrong = wrong or high != (v >> 63) or v == NULL
                    H[to + i] = v
        elif op == ADD:
            for i in range(n):
                u = H[a + i * sa]
                w = H[b + i * sb]
                if u == NULL or w == NULL:
                    H[to + i] = NULL
                else:
                    v = u + w
                    wrong = wrong or (u ^ v) & (w ^ v) < 0 or v == NULL
                    H[to + i] = v
        elif op == SUB:
            for i in range(n):
                u = H[a + i * sa]
                w = H[b + i * sb]
                if u == NULL or w == NULL:
                    H[to + i] = NULL
                else:
                    v = u - w
                    wrong = wrong or (u ^ w) & (u ^ v) < 0 or v == NULL
                    H[to + i] = v
        elif op == REMAINDER:
            for i in range(n):
                u = H[a + i * sa]
                w = H[b + i * sb]
                if u == NULL or w == NULL or w == 0:
                    H[to + i] = NULL
                else:
                    v = abs(u) % abs(w)
                    H[to + i] = -v if u < 0 else v
        elif op == COPY:
            for i in range(n):
                H[to + i] = H[a + i * sa]
        elif op == NULL_OUTSIDE:
            for i in range(n):
                u = H[a + i * sa]
                H[to + i] = NULL if u < H[b + i * sb] or u > H[p + 4] else u
        elif op == LIMIT:
            for i in range(n):
                u = H[a + i * sa]
                wrong = wrong or (u != NULL and (u > LARGEST_DECIMAL or u < -LARGEST_DECIMAL))
                H[to + i] = u
        elif op == FLOAT_ADD or op == FLOAT_SUB or op == FLOAT_MUL:
            for i in range(n):
                u = H[a + i * sa]
                w = H[b + i * sb]
                if u == NULL or w == NULL:
                    H[to + i] = NULL
                elif op == FLOAT_ADD:
                    H[to + i] = from_float(to_float(u) + to_float(w))
                elif op == FLOAT_SUB:
                    H[to + i] = from_float(to_float(u) - to_float(w))
                else:
                    H[to + i] = from_float(to_float(u) * to_float(w))
        elif op >= EQ and op <= GE:
            # equal, less and greater, as the comparison takes them
            equal = 1 if op == EQ or op == LE or op == GE else 0
            less = 1 if op == NE or op == LT or op == LE else 0
            more = 1 if op == NE or op == GT or op == GE else 0
            for i in range(n):
                u = H[a + i * sa]
                w = H[b + i * sb]
                v = less if u < w else more if u > w else equal
                H[to + i] = NULL if u == NULL or w == NULL else v
        elif op == AND or op == OR:
            decided = 0 if op == AND else 1
            for i in range(n):
                u = H[a + i * sa]
                w = H[b + i * sb]
                if u == decided or w == decided:
                    H[to + i] = decided
                else:
                    H[to + i] = NULL if u == NULL or w == NULL else 1 - decided
        elif op == EQ_NULL_SAFE:
            for i in range(n):
                H[to + i] = 1 if H[a + i * sa] == H[b + i * sb] else 0
        elif op == IS_NULL:
            for i in range(n):
                H[to + i] = 1 if H[a + i * sa] == NULL else 0
        elif op == COALESCE:
            for i in range(n):
                u = H[a + i * sa]
                H[to + i] = H[b + i * sb] if u == NULL else u
        elif op == SELECT:
            c = p + 4
            sc = 0
            if code & C_IS_WORD == 0:
                x = column_of(H[p + 4], columns, side)
                c = H[x]
                sc = H[x + 1]
            for i in range(n):
                H[to + i] = H[b + i * sb] if H[a + i * sa] == 1 else H[c + i * sc]
        elif op >= TO_LOCAL and op < FIRST_FUNCTION:
            for i in range(n):
                u = H[a + i * sa]
                H[to + i] = NULL if u == NULL else in_zone(op, u, prog + H[b])
        elif op >= FIRST_FUNCTION:  # those of `wide_steps` had their turn
            for i in range(n):
                u = H[a + i * sa]
                w = H[b + i * sb]
                H[to + i] = NULL if u == NULL or w == NULL else function_step(op, u, w, H[p + 4])
        else:
            for i in range(n):
                u = H[a + i * sa]
                w = H[b + i * sb]
                H[to + i] = NULL if u == NULL or w == NULL else compute(op, u, w, H[p + 4])
        if wrong:
            return -1
        H[side + 2 * into] = to
        H[side + 2 * into + 1] = 1
        p += STEP_WORDS
    return kept


def runs_in_blocks(words: np.ndarray) -> bool:
    """Whether a program has only steps that `interpret_block` takes."""
    return all(int(code) & 0xFF in BLOCK_STEPS for code in words[1 : 1 + int(words[0]) * STEP_WORDS : STEP_WORDS])


BLOCK_STEPS = {
    COPY_LANE, COPY, FILTER, EQ_NULL_SAFE, AND, OR, IS_NULL, SELECT, COALESCE, ADD, SUB, MUL, REMAINDER,
    EQ, NE, LT, LE, GT, GE, LIMIT, FLOAT_ADD, FLOAT_SUB, FLOAT_MUL, NULL_OUTSIDE, *range(FLOAT_FLOORDIV, DAY_START + 1),
    *range(FIRST_FUNCTION, END_OF_STEPS),
}  # fmt: skip
