"""Interpreter: typed expressions translated to programs of words, and the kernels that run them.

Nothing is compiled per program: a program is a table of steps over registers, interpreted row by row or column by
column inside the engine's loops. Operations that need more of a text than its id or its order (lower, a cast from text)
are computed in Python, once per distinct value, and enter the program as one more column.

Rule: for every row the result is that of `operations.evaluate`; only an integer or decimal overflow is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ebbflow.columns.exact_sums import LARGEST_DECIMAL, below, lower_half, product, quotient, rounded_quotient
from ebbflow.columns.lanes import by_column, from_lane, python_values, row_of, to_lane, to_words
from ebbflow.columns.local_time import from_local, to_local
from ebbflow.columns.patterns import TextMatcher
from ebbflow.columns.ranges import BOUNDS, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, MICROSECONDS_A_DAY
from ebbflow.columns.schema import BOOLEAN, DIGITS, NULL, PRECISION, Field, Schema, Type
from ebbflow.columns.text_pool import Pool, mixed_long, mixed_text, text_compare, text_length, text_size
from ebbflow.columns.zones import table_of
from ebbflow.errors import NumberOverflow
from ebbflow.expressions import function_steps, guards, operations, wide_steps
from ebbflow.expressions.function_steps import NotInside
from ebbflow.expressions.typed import Call, Column, Expr, Literal
from ebbflow.expressions.wide_steps import wide_step
from ebbflow.native.kernel import address_of, inline, kernel
from ebbflow.native.memory import H, load_lane, store_lane

# A program: the number of its steps, then the steps, then tables.  A step: what to do, the register that gets the
# result, and three operands: a register (>= 0), an input lane (~index), or, where a flag says so, the word itself.
STEP = 5
REGISTERS = 64
BLOCK_ROWS = 256  # that a program runs on together, column by column
A_IS_WORD, B_IS_WORD, C_IS_WORD = 1 << 8, 1 << 9, 1 << 10
KEEP, DROP, OVERFLOW, DECIMAL_OVERFLOW = 1, 0, -1, -2
"""What `interpret` returns."""

(
    COPY_LANE,
    COPY,
    FILTER,
    SAME,
    AND,
    OR,
    IS_NULL,
    SELECT,
    COALESCE,
    LARGER,
    SMALLER,
    TEXT_LARGER,
    TEXT_SMALLER,
    SKIP_IF,  # the next steps, as many as the third operand says, where a equals b
    SKIP_UNLESS,
    ADD,  # from here on: null if a or b is
    SUB,
    MUL,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    ABS,
    FLOORDIV,
    REMAINDER,
    MODULO,
    LIMIT,
    ROUND,
    RANGE,
    IN,
    FLOAT_ADD,
    FLOAT_SUB,
    FLOAT_MUL,
    FLOAT_DIV,
    FLOAT_NEG,
    FLOAT_ABS,
    FLOAT_FLOORDIV,  # from here on: in `compute`
    FLOAT_REMAINDER,
    FLOAT_FLOOR,
    FLOAT_CEIL,
    FLOAT_ROUND,
    FLOAT_TO_INT,
    FLOAT_TO_SINGLE,
    INT_TO_FLOAT,
    RATIO,
    SQRT,
    EXP,
    LOG,
    LOG2,
    LOG10,
    POW,
    SIN,
    COS,
    TAN,
    SIGN,
    SCALE_UP,
    SCALE_DOWN,
    TRUNCATE,
    CEILDIV,
    YEAR,
    MONTH,
    DAY,
    TEXT_COMPARE,
    TEXT_LENGTH,
    TEXT_SIZE,
    MIX,
    TEXT_MIX,
    DECIMAL_COMPARE,
    DECIMAL_DIV,
    SCALE_CLAMPED,
    TO_LOCAL,  # from here on: by the zone's table at b
    FROM_LOCAL,
    DAY_START,
) = range(75)

NAN = 0x7FF8_0000_0000_0000
MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF
MOST_DIGITS = 15  # that a float is rounded to, inside
CLAMP = 1 << 62
UNBOUNDED = 2**63 - 1  # in place of a power of ten that has no place in a word


# ---- kernels


@inline
def to_float(lane):
    """needs: a lane of a float, not NULL.  leaves: the float."""
    return np.int64(lane if lane >= 0 else lane ^ MAGNITUDE).view(np.float64)


@inline
def from_float(x):
    """needs: any float.  leaves: its lane: one nan, one zero, and the order of floats."""
    if x != x:
        return np.int64(NAN)
    bits = np.float64(x + 0.0).view(np.int64)
    return bits if bits >= 0 else bits ^ MAGNITUDE


@inline
def power_of_ten(n):
    """needs: 0 <= n <= 18.  leaves: 10 ** n."""
    p = np.int64(1)
    for _ in range(n):
        p *= 10
    return p


@inline
def halves_away(v, unit):
    """needs: unit > 0, even or 1.  leaves: v / unit, rounded to the nearest whole number, halves away from zero."""
    q = abs(v) // unit
    if abs(v) - q * unit >= unit - unit // 2 and unit > 1:
        q += 1
    return -q if v < 0 else q


@kernel
def round_decimal(x, digits):
    """A double rounded to so many digits after the point, as the shortest decimal that reads as it would be.

    needs:  0 <= x < 2**52; 0 <= digits <= MOST_DIGITS.
    leaves: the lane of the double nearest to the rounded decimal; halves went up.
    """
    unit = power_of_ten(digits)
    scaled = x * np.float64(unit)
    if scaled < 1e14:
        # A decimal of at most 15 digits is the shortest that reads as its double.  So the decimal of x is past the
        # middle between r and r + 1 units just when x is not below the double of that middle.
        r = max(np.int64(scaled) - 1, 0)
        while x >= np.float64(2 * r + 1) / np.float64(2 * unit):
            r += 1
        return from_float(np.float64(r) / np.float64(unit))
    lane = from_float(x)
    if scaled > 2e17:  # 17 digits say every double, and all of them stay
        return lane
    # x is mantissa / 2**shift; try decimals with one more digit each until one reads as x
    shift = 1075 - (lane >> 52)
    mantissa = (lane & ((1 << 52) - 1)) | (1 << 52)
    for more in range(3):
        low, high = product(mantissa, unit * power_of_ten(more))
        near = (high << (64 - shift)) | ((low >> shift) & ((1 << (64 - shift)) - 1))
        rest = low & ((1 << shift) - 1)
        half = np.int64(1) << (shift - 1)
        if rest > half or (rest == half and near & 1 == 1):
            near += 1
        if quotient(near, near * 0, unit * power_of_ten(more)) == lane:
            if more == 0:
                return lane
            r = halves_away(near, power_of_ten(more))
            return quotient(r, r * 0, unit)
    return lane


@inline
def compare_scaled(a, b, unit):
    """needs: unit > 0; if it is UNBOUNDED, the power of ten that is meant has no place in a word.
    leaves: -1, 0 or 1, as a * unit is less than b, equals it, or is more.
    """
    if unit == UNBOUNDED and a != 0:
        return np.int64(1 if a > 0 else -1)
    low, high = product(a, unit)
    sign = b >> 63
    if high != sign:
        return np.int64(1 if high > sign else -1)
    return np.int64(0 if low == b else -1 if below(low, b) else 1)


@inline
def part_of_date(days, part):
    """needs: part is YEAR, MONTH or DAY.  leaves: that part of the day, in the Gregorian calendar."""
    z = days + 719468  # from 0000-03-01, so that a leap day ends its year
    era = z // 146097
    of_era = z - era * 146097
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    if part == DAY:
        return of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    if part == MONTH:
        return month
    return year_of_era + era * 400 + (1 if month <= 2 else 0)


@kernel
def compute(op, a, b, c):
    """One step of those that are long; apart from `interpret` to keep that small.

    needs:  an op from FLOAT_FLOORDIV on; a and b are lanes of the types the op takes, not NULL.
    leaves: the lane of the result.
    """
    if op == INT_TO_FLOAT:
        return from_float(np.float64(a))
    if op == RATIO:
        return quotient(a, a >> 63, b)
    if op == SCALE_UP:  # a * b, null beyond +-c
        low, high = product(a, b)
        if high != (low >> 63) or low < -c or low > c:
            return np.int64(NULL)
        return low
    if op == SCALE_DOWN:  # a / b, null beyond +-c
        v = halves_away(a, b)
        return np.int64(NULL) if v < -c or v > c else v
    if op == SCALE_CLAMPED:  # a * b, or what is so far beyond a decimal that a sum with one is beyond it too
        low, high = product(a, b)
        if high != (low >> 63) or low > CLAMP or low < -CLAMP:
            return np.int64(CLAMP if a > 0 else -CLAMP)
        return low
    if op == DECIMAL_COMPARE:  # a * c with b, or a with b * -c
        return compare_scaled(a, b, c) if c > 0 else -compare_scaled(b, a, -c)
    if op == DECIMAL_DIV:  # a / b with c digits more, or more than LARGEST_DECIMAL
        return np.int64(NULL) if b == 0 else rounded_quotient(a, a >> 63, b, c)
    if op == TRUNCATE:
        return -(-a // b) if a < 0 else a // b
    if op == CEILDIV:
        return -(-a // b)
    if op == YEAR or op == MONTH or op == DAY:
        return part_of_date(a, op)
    if op == TEXT_COMPARE:
        return np.int64(text_compare(c, a, b))
    if op == TEXT_LENGTH:
        return np.int64(text_length(c, a))
    if op == TEXT_SIZE:
        return np.int64(text_size(c, a))
    if op == MIX:
        return mixed_long(a)
    if op == TEXT_MIX:
        return mixed_text(c, a)
    x = to_float(a)
    if op == SQRT:
        return from_float(math.sqrt(x) if x >= 0 else math.nan)
    if op == EXP:
        return from_float(np.exp(x) if x != x else math.exp(x) if x < 710.0 else math.inf)
    if op == LOG or op == LOG2 or op == LOG10:
        if x <= 0:
            return np.int64(NULL)
        return from_float(math.log(x) if op == LOG else math.log2(x) if op == LOG2 else math.log10(x))
    if op == SIN or op == COS or op == TAN:
        if math.isinf(x):
            return np.int64(NAN)
        return from_float(math.sin(x) if op == SIN else math.cos(x) if op == COS else math.tan(x))
    if op == SIGN:
        return from_float(x if x != x else np.float64((1 if x > 0 else 0) - (1 if x < 0 else 0)))
    if op == FLOAT_FLOOR or op == FLOAT_CEIL or op == FLOAT_TO_INT:  # null beyond -b ... b - 1
        t = np.floor(x) if op == FLOAT_FLOOR else np.ceil(x) if op == FLOAT_CEIL else np.trunc(x)
        room = np.float64(b) if b > 0 else 2.0**63
        if op == FLOAT_TO_INT and t == 2.0**63 and b == 0:
            return np.int64(UNBOUNDED)
        return np.int64(t) if t < room and t >= -room else np.int64(NULL)
    if op == FLOAT_ROUND:
        if x != x or abs(x) >= 2.0**52:  # it has no digits after the point
            return a
        v = round_decimal(abs(x), b)
        return ~v if x < 0 and v != 0 else v
    if op == FLOAT_TO_SINGLE:
        return from_float(np.float64(np.float32(x)))
    y = to_float(b)
    if op == POW:
        if (x == 1 and y != y) or (abs(x) == 1 and math.isinf(y)):  # as Java's
            return np.int64(NAN)
        return from_float(np.power(x, y))
    if y == 0:
        return np.int64(NULL)
    if math.isinf(x):
        return np.int64(NAN)
    rest = np.fmod(x, y)
    if op == FLOAT_REMAINDER:
        return from_float(rest)
    # FLOAT_FLOORDIV, in the steps of Python's own
    q = (x - rest) / y
    if rest != 0 and (y < 0) != (rest < 0):
        q -= 1.0
    t = np.floor(q)
    return from_float(t + 1.0 if q - t > 0.5 else t)


@kernel
def in_zone(op, a, table):
    """needs: TO_LOCAL, FROM_LOCAL or DAY_START; a lane of a timestamp, not NULL; a zone's table.  leaves: the lane."""
    return to_local(table, a) if op == TO_LOCAL else from_local(table, a, 1 if op == DAY_START else 0)


@kernel
def interpret(prog, src, regs):
    """Run a program on one row.

    needs:  a program at prog; the row's lanes at src; REGISTERS words at regs, which do not overlap the row.
    leaves: the result's columns in the first registers; KEEP, or DROP where the condition is not true, or an error
            (OVERFLOW, DECIMAL_OVERFLOW); in the last two cases the registers hold nothing of use.
    """
    p = prog + 1
    end = p + H[prog] * STEP
    while p < end:
        code = H[p]
        a = H[p + 2]
        if code == COPY_LANE:
            H[regs + H[p + 1]] = H[src + a]
            p += STEP
            continue
        b = H[p + 3]
        if code & A_IS_WORD == 0:
            a = H[regs + a] if a >= 0 else H[src + ~a]
        if code & B_IS_WORD == 0:
            b = H[regs + b] if b >= 0 else H[src + ~b]
        op = code & 0xFF
        v = a
        if op >= ADD:
            if op >= wide_steps.FIRST:
                a2 = a
                b2 = b
                if op >= wide_steps.OF_TWO:
                    if code & A_IS_WORD == 0:
                        at = H[p + 2]
                        a2 = H[regs + at + 1] if at >= 0 else H[src + ~at + 1]
                    if code & B_IS_WORD == 0:
                        at = H[p + 3]
                        b2 = H[regs + at + 1] if at >= 0 else H[src + ~at + 1]
                into = regs + H[p + 1]
                if wide_step(op, a, a2, b, b2, H[p + 4], into, into + 1) < 0:
                    return DECIMAL_OVERFLOW
                p += STEP
                continue
            if a == NULL or b == NULL:
                v = np.int64(NULL)
            elif op == ADD:
                v = a + b
                if (a ^ v) & (b ^ v) < 0 or v == NULL:
                    return OVERFLOW
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
                    return OVERFLOW
            elif op == MUL:
                v, high = product(a, b)
                if high != (v >> 63) or v == NULL:
                    return OVERFLOW
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
            elif op == RANGE:  # null unless b <= a <= c
                if a < b or a > H[p + 4]:
                    v = np.int64(NULL)
            elif op == ROUND:  # to whole multiples of 10**b, counted in units of 10**c
                c = H[p + 4]
                if b == 19 and abs(a) >= 5 * power_of_ten(18):
                    return OVERFLOW
                v = halves_away(a, power_of_ten(b)) if b < 19 else a * 0
                v, high = product(v, power_of_ten(min(c, 18)))
                if high != (v >> 63) or v == NULL:
                    return OVERFLOW
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
            elif op >= function_steps.FIRST:
                v = function_steps.step(op, a, b, H[p + 4])
            elif op >= TO_LOCAL:
                v = in_zone(op, a, prog + b)
            else:
                v = compute(op, a, b, H[p + 4])
        elif op == FILTER:
            if a != 1:
                return DROP
            p += STEP
            continue
        elif op == SKIP_IF or op == SKIP_UNLESS:
            if (a == b) == (op == SKIP_IF):
                p += H[p + 4] * STEP
            p += STEP
            continue
        elif op == AND:
            v = np.int64(0 if a == 0 or b == 0 else NULL if a == NULL or b == NULL else 1)
        elif op == OR:
            v = np.int64(1 if a == 1 or b == 1 else NULL if a == NULL or b == NULL else 0)
        elif op == SAME:
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
        p += STEP
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
def wide_lanes(code, p, columns, side, a, sa, b, sb, to, n):
    """A step of `wide_steps` along lanes.

    needs:  the step at p; where its operands' first lanes are.
    leaves: the result from `to` on, its second words a lane further, and True; False if a row is refused.
    """
    op = code & 0xFF
    a2 = a
    sa2 = sa
    b2 = b
    sb2 = sb
    if op >= wide_steps.OF_TWO:
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
def interpret_block(prog, columns, side, bank, chosen, n):
    """Run a program on a block of rows, each step over a whole column.

    needs:  a program of BLOCK_STEPS only; columns and side: lists of columns, `address, step` each, the first of the
            input lanes; bank: REGISTERS columns of BLOCK_ROWS words; chosen: room; n <= BLOCK_ROWS.
    leaves: in side the registers' columns, for all n rows; in chosen the numbers of those that are kept, and how many
            are; -1 if some row overflowed, kept or not.
    """
    p = prog + 1
    end = p + H[prog] * STEP
    kept = n
    while p < end:
        code = H[p]
        op = code & 0xFF
        into = H[p + 1]
        if op == COPY_LANE:
            lane = columns + 2 * H[p + 2]
            H[side + 2 * into] = H[lane]
            H[side + 2 * into + 1] = H[lane + 1]
            p += STEP
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
            p += STEP
            continue
        b = p + 3
        sb = 0
        if code & B_IS_WORD == 0:
            x = column_of(H[p + 3], columns, side)
            b = H[x]
            sb = H[x + 1]
        to = bank + into * BLOCK_ROWS
        if op >= wide_steps.FIRST:
            if not wide_lanes(code, p, columns, side, a, sa, b, sb, to, n):
                return -1
            H[side + 2 * into] = to
            H[side + 2 * into + 1] = 1
            if op < wide_steps.TO_ONE:
                H[side + 2 * into + 2] = to + BLOCK_ROWS
                H[side + 2 * into + 3] = 1
            p += STEP
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
        elif op == RANGE:
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
        elif op == SAME:
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
        elif op >= TO_LOCAL and op < function_steps.FIRST:
            for i in range(n):
                u = H[a + i * sa]
                H[to + i] = NULL if u == NULL else in_zone(op, u, prog + H[b])
        elif op >= function_steps.FIRST:  # those of `wide_steps` had their turn
            for i in range(n):
                u = H[a + i * sa]
                w = H[b + i * sb]
                H[to + i] = NULL if u == NULL or w == NULL else function_steps.step(op, u, w, H[p + 4])
        else:
            for i in range(n):
                u = H[a + i * sa]
                w = H[b + i * sb]
                H[to + i] = NULL if u == NULL or w == NULL else compute(op, u, w, H[p + 4])
        if wrong:
            return -1
        H[side + 2 * into] = to
        H[side + 2 * into + 1] = 1
        p += STEP
    return kept


def runs_in_blocks(words: np.ndarray) -> bool:
    """Whether a program has only steps that `interpret_block` takes."""
    return all(int(code) & 0xFF in BLOCK_STEPS for code in words[1 : 1 + int(words[0]) * STEP : STEP])


BLOCK_STEPS = {
    COPY_LANE, COPY, FILTER, SAME, AND, OR, IS_NULL, SELECT, COALESCE, ADD, SUB, MUL, REMAINDER, EQ, NE, LT, LE, GT, GE,
    LIMIT, FLOAT_ADD, FLOAT_SUB, FLOAT_MUL, RANGE, *range(FLOAT_FLOORDIV, DAY_START + 1),
    *range(function_steps.FIRST, wide_steps.END),
}  # fmt: skip


# ---- programs


@dataclass(frozen=True)
class _Operand:
    value: int
    is_word: bool = False

    @property
    def second(self) -> _Operand:
        """The second word of a value that is two, neither of them a constant."""
        assert not self.is_word
        return _Operand(self.value + 1 if self.value >= 0 else self.value - 1)


NOTHING = _Operand(0, True)


def program(
    exprs: Sequence[Expr], condition: Expr | None, schema: Schema, pool: Pool
) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """The words that compute `exprs` of each row for which `condition` holds; None where words are not enough."""
    outputs = sum(expr.type.words for expr in exprs)
    if outputs > REGISTERS:
        return None
    writing = _Writing(schema, pool, registers=outputs)
    try:
        if condition is not None:
            writing.step(FILTER, writing.operand(condition), into=0)
        at = 0
        for expr in exprs:
            writing.output(expr, at)
            at += expr.type.words
    except NotInside:
        return None
    return writing.words()


@dataclass
class _Writing:
    """A program while it is written."""

    schema: Schema
    pool: Pool
    registers: int
    steps: list[tuple[int, ...]] = field(default_factory=list)
    tables: list[tuple[int, Sequence[int]]] = field(default_factory=list)
    known: dict[Expr, _Operand] = field(default_factory=dict)

    def words(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        start = 1 + len(self.steps) * STEP
        steps = [list(step) for step in self.steps]
        data: list[int] = []
        known: dict[tuple[int, ...], int] = {}  # a zone's table is there once
        for at, table in self.tables:
            steps[at][3] = known.setdefault(tuple(table), start + len(data))
            if steps[at][3] == start + len(data):
                data += table
        return np.array([len(steps), *(word for step in steps for word in step), *data], np.int64)

    def output(self, expr: Expr, into: int) -> None:
        operand = self.operand(expr, into)
        if operand == _Operand(into):
            return
        self.copy(operand, into)
        if expr.type.is_wide:
            self.copy(operand.second, into + 1)

    def copy(self, operand: _Operand, into: int) -> None:
        if operand.value < 0 and not operand.is_word:
            self.steps.append((COPY_LANE, into, ~operand.value, 0, 0))
        else:
            self.step(COPY, operand, into=into)

    def operand(self, expr: Expr, into: int | None = None) -> _Operand:
        """Where the value is; of one that is two words, where the first is: the second is behind it."""
        if isinstance(expr, Column):
            return _Operand(~self.schema.lanes(expr.name).start)
        expr = operations.constant(expr)
        if isinstance(expr, Literal) and not expr.type.is_wide:
            return _Operand(to_lane(expr.value, expr.type, self.pool), is_word=True)
        if expr not in self.known:
            if isinstance(expr, Literal):
                first, second = to_words(expr.value, expr.type, self.pool)
                self.known[expr] = self.pair(word(first), word(second), into)
            else:
                assert isinstance(expr, Call)
                self.known[expr] = self.call(expr, into)
        return self.known[expr]

    def pair(self, first: _Operand, second: _Operand, into: int | None) -> _Operand:
        """Two registers side by side with these words."""
        into = self.two() if into is None else into
        self.step(COPY, first, into=into)
        self.step(COPY, second, into=into + 1)
        return _Operand(into)

    def two(self) -> int:
        """Two registers side by side."""
        first = self.register()
        self.register()
        return first

    def wide(self, op: int, a: _Operand, b: _Operand = NOTHING, c: int = 0, *, into: int | None = None) -> _Operand:
        """A step whose result is two words."""
        return self.step(op, a, b, word(c), into=self.two() if into is None else into)

    def step(
        self, op: int, a: _Operand, b: _Operand = NOTHING, c: _Operand = NOTHING, *, into: int | None = None
    ) -> _Operand:
        into = self.register() if into is None else into
        flags = a.is_word * A_IS_WORD | b.is_word * B_IS_WORD | c.is_word * C_IS_WORD
        self.steps.append((op | flags, into, a.value, b.value, c.value))
        return _Operand(into)

    def register(self) -> int:
        self.registers += 1
        if self.registers > REGISTERS:
            raise NotInside
        return self.registers - 1

    def chain(self, op: int, parts: Sequence[_Operand], into: int | None, c: _Operand = NOTHING) -> _Operand:
        """Fold operands from the left; only the last step writes `into`, which an operand may not share."""
        found = parts[0]
        for i, part in enumerate(parts[1:], 2):
            found = self.step(op, found, part, c, into=into if i == len(parts) else None)
        return found

    def in_turn(self, call: Call, into: int | None) -> _Operand:
        """An operation that passes over the steps of arguments nobody asks for, where these might overflow.

        What is known after it is what was computed in any case, and not where the answer now is.
        """
        into = (self.two() if call.type.is_wide else self.register()) if into is None else into
        ends: list[int] = []
        if call.op == "when":
            *pairs, last = call.args
            sure: dict[Expr, _Operand] | None = None
            for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
                holds = self.operand(condition)
                here = dict(self.known)
                sure = here if sure is None else sure
                passed = self.skip(SKIP_UNLESS, holds, word(1))
                self.output(value, into)
                ends.append(self.skip(SKIP_IF, word(0), word(0)))
                self.lands(passed)
                self.known = dict(here)
            self.output(last, into)
        else:
            over, decided, op = SHORT[call.op]
            self.output(call.args[0], into)
            sure = self.known = {expr: at for expr, at in self.known.items() if at != _Operand(into)}
            for arg in call.args[1:]:
                ends.append(self.skip(over, _Operand(into), word(decided)))
                self.known = dict(self.known)
                if op == COPY:
                    self.output(arg, into)
                else:
                    self.step(op, _Operand(into), self.operand(arg), into=into)
        for end in ends:
            self.lands(end)
        self.known = sure or {}
        return _Operand(into)

    def skip(self, op: int, a: _Operand, b: _Operand) -> int:
        """A step that passes over others; `lands` says where it ends."""
        self.step(op, a, b, into=0)
        return len(self.steps) - 1

    def lands(self, skip: int) -> None:
        self.steps[skip] = (*self.steps[skip][:4], len(self.steps) - skip - 1)

    def call(self, call: Call, into: int | None) -> _Operand:
        kind = call.args[0].type if call.args else call.type
        if call.op in operations.IN_TURN and any(map(may_overflow, call.args[1:])):
            return self.in_turn(call, into)
        if call.type.is_wide or any(arg.type.is_wide for arg in call.args):
            return self.wide_call(call, into)
        if call.op in ("greatest", "least", "coalesce", "and", "or"):
            larger, smaller = (TEXT_LARGER, TEXT_SMALLER) if call.type.is_text else (LARGER, SMALLER)
            op = {"greatest": larger, "least": smaller, "coalesce": COALESCE, "and": AND, "or": OR}[call.op]
            return self.chain(op, [self.operand(arg) for arg in call.args], into, self.pool_word())
        if call.op == "is_in":
            return self.is_in(call, into)
        if call.op == "cast":
            zone = call.options[1:] if operations.depends_on_zone(call) else ()
            return self.cast(self.operand(call.args[0]), kind, call.type, zone, into)
        if call.op == "round":
            return self.round(call, into)
        if call.op == "when":
            *pairs, found = [self.operand(arg) for arg in call.args]
            for i in range(len(pairs) - 2, -1, -2):
                found = self.step(SELECT, pairs[i], pairs[i + 1], found, into=into if i == 0 else None)
            return found
        args = [self.operand(arg) for arg in call.args]
        if call.op in operations.FUNCTIONS:
            return function_steps.written(self, call, args, into)
        if len({arg.type.scale for arg in call.args}) > 1 or (call.type.name == "decimal" and call.op in DECIMAL_STEPS):
            return self.decimals(call, args, into)
        if call.op in COMPARISONS:
            if kind.is_text and call.op not in ("eq", "ne"):
                args = [self.step(TEXT_COMPARE, *args, self.pool_word()), word(0)]  # type: ignore[call-arg, arg-type]
            return self.step(COMPARISONS[call.op], *args, into=into)
        if kind.is_float or call.type.is_float:
            if call.op in FLOAT_STEPS:
                return self.step(FLOAT_STEPS[call.op], *args, into=into)
        elif kind.name == "decimal" and call.op in ("floor", "ceil"):
            unit = word(10**kind.scale)
            return self.step(FLOORDIV if call.op == "floor" else CEILDIV, args[0], unit, into=into)
        elif call.op in ("floor", "ceil"):
            return self.step(COPY, args[0], into=into)
        elif call.op == "neg":
            return self.step(SUB, word(0), args[0], into=into)
        elif call.op in INT_STEPS:
            return self.step(INT_STEPS[call.op], *args, into=into)
        return self.special(call, args, kind, into)

    def wide_call(self, call: Call, into: int | None) -> _Operand:
        """What is computed of decimals of which one at least is two words."""
        op, (first, *_) = call.op, call.args
        if op in ("coalesce", "when"):
            return self.wide_choice(call, into)
        if op in ("greatest", "least"):
            step = wide_steps.WIDE_LARGER if op == "greatest" else wide_steps.WIDE_SMALLER
            found, *rest = [self.operand(arg) for arg in call.args]
            for i, arg in enumerate(rest, 1):
                found = self.wide(step, found, arg, into=into if i == len(rest) else None)
            return found
        if op == "is_null":
            return self.step(IS_NULL, self.operand(first), into=into)
        if op == "is_in":
            return self.is_in(call, into)
        if op == "cast":
            return self.wide_cast(first, call.type, into)
        if op == "round":
            return self.wide_round(call, into)
        if op in ("neg", "abs"):
            return self.wide(
                wide_steps.WIDE_NEG if op == "neg" else wide_steps.WIDE_ABS, self.operand(first), into=into
            )
        if op in ("floor", "ceil"):
            step = wide_steps.WIDE_FLOOR if op == "floor" else wide_steps.WIDE_CEIL
            found = self.wide(step, self.widened(first), c=first.type.scale, into=into if call.type.is_wide else None)
            return found if call.type.is_wide else self.narrowed(found, call.type, into)
        if op in COMPARISONS or op == "eq_null_safe" or op in WIDE_STEPS:
            return self.wide_pair(call, into)
        raise NotInside

    def widened(self, expr: Expr) -> _Operand:
        """An integer or a decimal as two words."""
        if expr.type.is_wide:
            return self.operand(expr)
        if not expr.type.is_exact:
            raise NotInside
        wide = Call("cast", (expr,), Type("decimal", PRECISION, expr.type.scale))  # named so to be found again
        if wide not in self.known:
            self.known[wide] = self.wide(wide_steps.WIDEN, self.operand(expr))
        return self.known[wide]

    def narrowed(self, x: _Operand, kind: Type, into: int | None) -> _Operand:
        """Two words as the one of a decimal with fewer digits; null where it has no place."""
        return self.step(wide_steps.WIDE_NARROW, x, c=word(kind.precision), into=into)

    def wide_choice(self, call: Call, into: int | None) -> _Operand:
        """One of several values, all of two words."""
        if call.op == "when":
            *pairs, last = call.args
            conditions, values = [self.operand(arg) for arg in pairs[::2]], [self.operand(arg) for arg in pairs[1::2]]
            found = self.operand(last)
        else:
            *values, found = [self.operand(arg) for arg in call.args]
            conditions = [self.step(EQ, self.step(IS_NULL, value), word(0)) for value in values]
        for i in range(len(values) - 1, -1, -1):
            to = into if i == 0 and into is not None else self.two()
            self.step(SELECT, conditions[i], values[i], found, into=to)
            self.step(SELECT, conditions[i], values[i].second, found.second, into=to + 1)
            found = _Operand(to)
        return found

    def wide_pair(self, call: Call, into: int | None) -> _Operand:
        """What is computed of two numbers, or how they compare."""
        x, y = (arg.type for arg in call.args)
        up = y.scale - x.scale
        if call.op == "mul" and not x.is_wide and not y.is_wide and call.type.scale == x.scale + y.scale:
            return self.wide(wide_steps.PRODUCT, self.operand(call.args[0]), self.operand(call.args[1]), into=into)
        a, b = (self.widened(arg) for arg in call.args)
        if call.op in COMPARISONS or call.op == "eq_null_safe":
            order = self.step(wide_steps.WIDE_COMPARE, a, b, word(up))
            if call.op in COMPARISONS:
                return self.step(COMPARISONS[call.op], order, word(0), into=into)
            nulls = self.step(AND, self.step(IS_NULL, a), self.step(IS_NULL, b))
            return self.step(COALESCE, self.step(EQ, order, word(0)), nulls, into=into)
        scale = call.type.scale
        if call.op == "mul":
            c = x.scale + y.scale - scale
        elif call.op == "div":
            c = scale + y.scale - x.scale
        else:
            c = up
            if scale != max(x.scale, y.scale) or (call.op == "mod" and up < 0 and y.precision - up > PRECISION):
                raise NotInside
        if (c < 0 and call.op in ("mul", "div")) or (call.op == "mul" and c > PRECISION):
            raise NotInside
        if call.type.is_wide:
            return self.wide(WIDE_STEPS[call.op], a, b, c, into=into)
        return self.narrowed(self.wide(WIDE_STEPS[call.op], a, b, c), call.type, into)

    def wide_round(self, call: Call, into: int | None) -> _Operand:
        number, places = call.args
        assert isinstance(places, Literal)
        if places.value is None:
            raise NotInside
        digits = int(places.value)  # type: ignore[call-overload]
        down, up = max(number.type.scale - digits, 0), max(-digits, 0)
        x = self.widened(number)
        if call.type.is_wide:
            return self.wide(wide_steps.WIDE_ROUND, x, word(min(down, 99)), min(up, 99), into=into)
        return self.narrowed(self.wide(wide_steps.WIDE_ROUND, x, word(min(down, 99)), min(up, 99)), call.type, into)

    def wide_cast(self, value: Expr, target: Type, into: int | None) -> _Operand:
        """Between decimals of two words and other numbers."""
        here = value.type
        if here.name == "void":
            return self.pair(word(NULL), word(NULL), into)
        if target.name == "decimal" and here.is_exact:
            x, up = self.widened(value), target.scale - here.scale
            is_same = up == 0 and target.precision >= (here.precision or 19)
            if not is_same:
                x = self.wide(wide_steps.WIDE_SCALE, x, word(up), target.precision)
            return x if target.is_wide else self.narrowed(x, target, into)
        if not here.is_wide:
            raise NotInside
        x = self.operand(value)
        if target.name == "boolean":
            order = self.step(wide_steps.WIDE_COMPARE, x, self.operand(Literal(Decimal(0), here)), word(0))
            return self.step(NE, order, word(0), into=into)
        if target.is_integer:
            room = BOUNDS[target.name]
            whole = self.wide(wide_steps.WIDE_TRUNCATE, x, c=here.scale)
            return self.step(wide_steps.WIDE_TO_LONG, whole, c=word(room if room < 2**63 else 0), into=into)
        if target.is_float and here.scale <= DIGITS:
            single = target.name == "float"
            found = self.step(wide_steps.WIDE_TO_DOUBLE, x, c=word(here.scale), into=None if single else into)
            return self.step(FLOAT_TO_SINGLE, found, into=into) if single else found
        raise NotInside

    def clock(self, op: int, moment: _Operand, zone: tuple[Any, ...]) -> _Operand:
        """A moment moved between UTC and a zone's clocks; without a zone it stays."""
        if not zone:
            return moment
        found = self.step(op, moment)
        self.tables.append((len(self.steps) - 1, table_of(zone[0])))
        return found

    def local(self, moment: _Operand, zone: tuple[Any, ...]) -> _Operand:
        """What the clocks of a zone show at a timestamp, if it is of the years 1 to 9999."""
        return self.of_calendar(self.clock(TO_LOCAL, moment, zone)) if zone else moment

    def instant(self, shown: _Operand, zone: tuple[Any, ...], into: int | None = None) -> _Operand:
        """The timestamp at which the clocks of a zone show this."""
        return self.of_calendar(self.clock(FROM_LOCAL, shown, zone) if zone else shown, into)

    def less(self, a: _Operand, b: _Operand, into: int | None) -> _Operand:
        return self.step(SUB, a, b, into=into)

    def word(self, value: int) -> _Operand:
        return word(value)

    def of_calendar(self, moment: _Operand, into: int | None = None) -> _Operand:
        return self.step(RANGE, moment, word(FIRST_MOMENT), word(LAST_MOMENT), into=into)

    def decimals(self, call: Call, args: list[_Operand], into: int | None) -> _Operand:
        """What is computed of decimals, beside integers and decimals of another scale."""
        x, y = (arg.type for arg in call.args)
        if call.op in COMPARISONS or call.op == "eq_null_safe":
            return self.compared(call, args, into)
        if call.op == "div":
            if call.type.scale + y.scale < x.scale:
                raise NotInside
            return self.step(LIMIT, self.step(DECIMAL_DIV, *args, word(call.type.scale + y.scale - x.scale)), into=into)  # type: ignore[call-arg, arg-type]
        exact = x.scale + y.scale if call.op == "mul" else max(x.scale, y.scale)
        if call.type.scale != exact or call.op in ("floordiv", "mod"):
            raise NotInside
        if call.op != "mul":
            args = [self.scaled(arg, call.type.scale - kind.scale) for arg, kind in zip(args, (x, y), strict=True)]
        return self.step(LIMIT, self.step(INT_STEPS[call.op], *args), into=into)

    def scaled(self, x: _Operand, up: int) -> _Operand:
        """Times a power of ten; what has no place in a decimal is found by the LIMIT of what is made of it."""
        return self.step(SCALE_CLAMPED, x, word(10**up)) if up > 0 else x

    def compared(self, call: Call, args: list[_Operand], into: int | None) -> _Operand:
        up = call.args[1].type.scale - call.args[0].type.scale
        if up == 0:
            op = COMPARISONS.get(call.op, SAME)
            return self.step(op, *args, into=into)
        unit = 10 ** abs(up) if abs(up) <= DIGITS else UNBOUNDED
        order = self.step(DECIMAL_COMPARE, *args, word(unit if up > 0 else -unit))  # type: ignore[call-arg, arg-type]
        if call.op in COMPARISONS:
            return self.step(COMPARISONS[call.op], order, word(0), into=into)
        nulls = self.step(AND, self.step(IS_NULL, args[0]), self.step(IS_NULL, args[1]))
        return self.step(COALESCE, self.step(EQ, order, word(0)), nulls, into=into)

    def special(self, call: Call, args: list[_Operand], kind: Type, into: int | None) -> _Operand:
        """What has steps of its own: tests for null and nan, lengths, parts of dates."""
        if call.op in operations.CLOCKS:
            args = [self.clock(TO_LOCAL, args[0], call.options)]
        match call.op:
            case "eq_null_safe":
                return self.step(SAME, *args, into=into)
            case "not":
                return self.step(EQ, args[0], word(0), into=into)
            case "is_null":
                return self.step(IS_NULL, args[0], into=into)
            case "is_nan":
                return self.step(SAME, args[0], word(NAN), into=into)
            case "length":
                return self.step(
                    TEXT_SIZE if kind.name == "binary" else TEXT_LENGTH, args[0], c=self.pool_word(), into=into
                )
            case "mix":
                return self.step(TEXT_MIX if kind.is_text else MIX, args[0], c=self.pool_word(), into=into)
            case "year" | "month" | "day":
                days = self.days(args[0], kind)
                return self.step({"year": YEAR, "month": MONTH, "day": DAY}[call.op], days, into=into)
            case "hour" | "minute" | "second" if kind.name == "date":
                return self.step(MODULO, args[0], word(1), into=into)  # 0, and null for null
            case "hour" | "minute" | "second":
                unit = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}[call.op]
                cycle = MICROSECONDS_A_DAY if call.op == "hour" else unit * 60
                return self.step(FLOORDIV, self.step(MODULO, args[0], word(cycle)), word(unit), into=into)
            case "weekday":
                shifted = self.step(ADD, self.days(args[0], kind), word(3))  # 1970-01-01 was a Thursday
                return self.step(MODULO, shifted, word(7), into=into)
            case "date_add":
                reach = LAST_DAY - FIRST_DAY
                days = self.step(RANGE, args[1], word(-reach), word(reach))
                return self.step(RANGE, self.step(ADD, args[0], days), word(FIRST_DAY), word(LAST_DAY), into=into)
            case "date_diff":
                return self.step(SUB, *args, into=into)
        raise NotInside

    def pool_word(self) -> _Operand:
        return word(self.pool.address)

    def days(self, moment: _Operand, kind: Type) -> _Operand:
        return moment if kind.name == "date" else self.step(FLOORDIV, moment, word(MICROSECONDS_A_DAY))

    def is_in(self, call: Call, into: int | None) -> _Operand:
        x, *options = call.args
        if not options:
            return self.step(MODULO, self.operand(x), word(1), into=into)  # 0, and null for null
        constants = [operations.constant(option) for option in options]
        kind = x.type
        if kind.is_wide or not all(
            isinstance(found, Literal) and found.type.scale == kind.scale and not found.type.is_wide
            for found in constants
        ):
            equals = [self.operand(Call("eq", (x, option), BOOLEAN)) for option in options]
            return equals[0] if len(equals) == 1 else self.chain(OR, equals, into)
        lanes = sorted({self.operand(option).value for option in options})
        has_null = lanes[0] == NULL
        lanes = lanes[1:] if has_null else lanes
        found = self.step(IN, self.operand(x), NOTHING, into=into)
        self.tables.append((len(self.steps) - 1, [NULL if has_null else 0, len(lanes), *lanes]))
        return found

    def round(self, call: Call, into: int | None) -> _Operand:
        (number, places), kind = call.args, call.args[0].type
        assert isinstance(places, Literal)
        x = self.operand(number)
        if places.value is None:
            return self.step(COPY, word(NULL), into=into)
        digits = int(places.value)  # type: ignore[call-overload]
        if kind.is_float:
            if not 0 <= digits <= MOST_DIGITS:
                raise NotInside
            return self.step(FLOAT_ROUND, x, word(digits), into=into)
        if kind.name == "decimal":
            down, up = max(kind.scale - digits, 0), max(-digits, 0)
            rounded = self.step(ROUND, x, word(min(down, 20)), word(min(up, 20)))
            return self.step(LIMIT, rounded, into=into)
        places_off = min(max(-digits, 0), 20)
        return self.step(ROUND, x, word(places_off), word(places_off), into=into)

    def cast(self, x: _Operand, here: Type, target: Type, zone: tuple[Any, ...], into: int | None) -> _Operand:
        if here.name == "void":
            return self.step(COPY, word(NULL), into=into)
        if target.name == "binary" or here == target:
            return self.step(COPY, x, into=into)
        if here.is_text or target.is_text or (target.name == "decimal" and (here.is_float or here.name == "timestamp")):
            raise NotInside
        if target.name == "boolean":
            return self.step(NE, x, word(0), into=into)  # the float 0.0 is the lane 0
        if target.is_integer:
            return self.to_integer(x, here, target, into)
        if target.is_float:
            return self.to_float(x, here, target, into)
        if target.name == "decimal":
            return self.to_decimal(x, here, target, into)
        if target.name == "date":
            if not zone:
                return self.step(FLOORDIV, x, word(MICROSECONDS_A_DAY), into=into)
            days = self.step(FLOORDIV, self.clock(TO_LOCAL, x, zone), word(MICROSECONDS_A_DAY))
            return self.step(RANGE, days, word(FIRST_DAY), word(LAST_DAY), into=into)
        if here.is_timestamp:
            if not zone:
                return self.step(COPY, x, into=into)
            x = self.clock(TO_LOCAL if here.name == "timestamp" else FROM_LOCAL, x, zone)
            return self.step(RANGE, x, word(FIRST_MOMENT), word(LAST_MOMENT), into=into)
        return self.to_timestamp(x, here, zone, into)

    def to_integer(self, x: _Operand, here: Type, target: Type, into: int | None) -> _Operand:
        room = BOUNDS[target.name]
        if here.is_float:
            return self.step(FLOAT_TO_INT, x, word(room if room < 2**63 else 0), into=into)
        if here.name == "decimal":
            x = self.step(TRUNCATE, x, word(10**here.scale))
        elif here.name == "timestamp":
            x = self.step(FLOORDIV, x, word(1_000_000))
        return self.step(RANGE, x, word(max(-room, NULL + 1)), word(room - 1), into=into)

    def to_float(self, x: _Operand, here: Type, target: Type, into: int | None) -> _Operand:
        single = target.name == "float"
        if here.is_float:
            return self.step(FLOAT_TO_SINGLE if single else COPY, x, into=into)
        if here.name in ("decimal", "timestamp"):
            unit = 10**here.scale if here.name == "decimal" else 1_000_000
            found = self.step(RATIO, x, word(unit), into=None if single else into)
        else:
            found = self.step(INT_TO_FLOAT, x, into=None if single else into)
        return self.step(FLOAT_TO_SINGLE, found, into=into) if single else found

    def to_decimal(self, x: _Operand, here: Type, target: Type, into: int | None) -> _Operand:
        up, most = target.scale - here.scale, word(target.most)
        if up < 0:
            return self.step(SCALE_DOWN, x, word(10**-up), most, into=into)
        return self.step(SCALE_UP, x, word(10**up), most, into=into)

    def to_timestamp(self, x: _Operand, here: Type, zone: tuple[Any, ...], into: int | None) -> _Operand:
        bounds = word(FIRST_MOMENT), word(LAST_MOMENT)
        if here.name == "date":
            midnight = self.step(SCALE_UP, x, word(MICROSECONDS_A_DAY), word(2**63 - 1), into=None if zone else into)
            if not zone:
                return midnight
            return self.step(RANGE, self.clock(DAY_START, midnight, zone), *bounds, into=into)
        if here.is_float:
            million = word(to_lane(1e6, here, self.pool))
            x = self.step(FLOAT_FLOOR, self.step(FLOAT_MUL, x, million), word(0))
        elif here.scale > 6:
            x = self.step(TRUNCATE, x, word(10 ** (here.scale - 6)))
        else:
            x = self.step(SCALE_UP, x, word(10 ** (6 - here.scale)), word(2**63 - 1))
        return self.step(RANGE, x, *bounds, into=into)


def word(value: int) -> _Operand:
    return _Operand(value, is_word=True)


def may_overflow(expr: Expr) -> bool:
    """Whether computing it can refuse a row."""
    if not isinstance(expr, Call):
        return False
    makes = expr.op in ("add", "sub", "mul", "div", "floordiv", "round") and not expr.type.is_float
    return makes or expr.op in operations.REFUSING or any(map(may_overflow, expr.args))


SHORT = {"and": (SKIP_IF, 0, AND), "or": (SKIP_IF, 1, OR), "coalesce": (SKIP_UNLESS, NULL, COPY)}
"""When the rest is not asked for, and what an argument that is asked for does to the answer."""
DECIMAL_STEPS = ("add", "sub", "mul", "div")
WIDE_STEPS = {
    "add": wide_steps.WIDE_ADD, "sub": wide_steps.WIDE_SUB, "mul": wide_steps.WIDE_MUL, "div": wide_steps.WIDE_DIV,
    "mod": wide_steps.WIDE_REMAINDER,
}  # fmt: skip
COMPARISONS = {"eq": EQ, "ne": NE, "lt": LT, "le": LE, "gt": GT, "ge": GE}
INT_STEPS = {"add": ADD, "sub": SUB, "mul": MUL, "abs": ABS, "floordiv": FLOORDIV, "mod": REMAINDER}
FLOAT_STEPS = {
    "add": FLOAT_ADD, "sub": FLOAT_SUB, "mul": FLOAT_MUL, "div": FLOAT_DIV, "neg": FLOAT_NEG, "abs": FLOAT_ABS,
    "floordiv": FLOAT_FLOORDIV, "mod": FLOAT_REMAINDER, "floor": FLOAT_FLOOR, "ceil": FLOAT_CEIL,
    "sqrt": SQRT, "exp": EXP, "log": LOG, "log2": LOG2, "log10": LOG10, "pow": POW,
    "sin": SIN, "cos": COS, "tan": TAN, "sign": SIGN,
}  # fmt: skip


# ---- whole columns


def outside(
    exprs: Sequence[Expr], condition: Expr | None, schema: Schema, pool: Pool, lanes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The columns of `exprs` for whole arrays of rows, and which rows are kept; what is not kept is null."""
    rows = lanes.shape[1]
    if condition is None:
        return _Columns(schema, pool, lanes).of(exprs), np.ones(rows, bool)
    keep = _Columns(schema, pool, lanes).of([condition])[0] == 1
    found = np.full((sum(expr.type.words for expr in exprs), rows), NULL, np.int64)
    try:
        found[:, keep] = _Columns(schema, pool, np.ascontiguousarray(lanes[:, keep])).of(exprs)
    except RowOverflow as error:
        error.row = int(np.flatnonzero(keep)[error.row])
        raise
    return found, keep


class RowOverflow(NumberOverflow):
    """An overflow in one of the rows of an array: `row` is its number."""

    row = 0


def overflowed(exprs: Sequence[Expr], schema: Schema, pool: Pool, lanes: Sequence[int]) -> RowOverflow:
    """The refusal for a row on which a program stopped: which expression, of which values."""
    row = dict(zip(schema.names, row_of(lanes, schema, pool), strict=True))
    for expr in exprs:
        try:
            operations.evaluate(expr, row)
        except OverflowError as error:
            shown = ", ".join(f"{name}={value!r}" for name, value in row.items())[:200]
            refused = guards.broken(expr, row)
            if refused is not None or guards.is_refusal(expr):
                what = "a quotient or a cast" if refused is None else refused
                return RowOverflow(f"{what} has no value for the row {shown}.", hint=_NO_VALUE_HINT)
            return RowOverflow(f"{expr} overflows: {error}, in the row {shown}.", hint=_OVERFLOW_HINT)
    return RowOverflow("a number does not fit 64 bits.", hint=_OVERFLOW_HINT)


_NO_VALUE_HINT = "In ANSI mode a division by zero and a cast that fails are errors; try_cast gives null instead."
_OVERFLOW_HINT = 'Compute in doubles where the last digit does not count: .cast("double").'
LARGEST_PROGRAM = 40
OUTPUTS = 16


class _Columns:
    """Rows, and with them the columns that had to be computed outside."""

    def __init__(self, schema: Schema, pool: Pool, lanes: np.ndarray):
        self.schema, self.pool = schema, pool
        self.lanes = [np.ascontiguousarray(lane, np.int64) for lane in lanes]
        self.rows = lanes.shape[1]
        self.given = schema
        self.known: dict[Expr, Column] = {}

    def of(self, exprs: Sequence[Expr]) -> np.ndarray:
        """The lanes of expressions, one after the other."""
        lifted = [self.lift(expr) for expr in exprs]
        starts = np.cumsum([0, *(expr.type.words for expr in exprs)])
        out = np.empty((int(starts[-1]), self.rows), np.int64)
        computed = []
        for i, expr in enumerate(lifted):
            into = slice(starts[i], starts[i + 1])
            if isinstance(expr, Column):
                lanes = self.schema.lanes(expr.name)
                out[into] = self.lanes[lanes.start : lanes.stop]
            elif isinstance(expr, Literal):
                out[into] = np.array(to_words(expr.value, expr.type, self.pool), np.int64)[:, None]
            else:
                computed.append(i)
        for at in range(0, len(computed), OUTPUTS):
            part = computed[at : at + OUTPUTS]
            words = self.words([lifted[i] for i in part])
            if words is not None:
                filled = [lane for i in part for lane in range(starts[i], starts[i + 1])]
                out[filled] = self.run(words, [exprs[i] for i in part])
            else:
                for i in part:
                    words = self.words([lifted[i]])
                    assert words is not None, lifted[i]
                    out[starts[i] : starts[i + 1]] = self.run(words, [exprs[i]])
        return out

    def words(self, exprs: list[Expr]) -> np.ndarray | None:
        """The program, written once per pool."""
        written, key = _WRITTEN.setdefault(self.pool, {}), (tuple(exprs), self.schema)
        if key not in written:
            if len(written) >= MOST_WRITTEN:
                written.clear()
            written[key] = program(exprs, None, self.schema, self.pool)
        return written[key]

    def run(self, words: np.ndarray, exprs: Sequence[Expr]) -> np.ndarray:
        rows = np.stack(self.lanes) if self.lanes else np.empty((0, self.rows), np.int64)
        out = np.empty((sum(expr.type.words for expr in exprs) + 1, self.rows), np.int64)
        scratch = np.zeros(1 + len(self.lanes) + REGISTERS, np.int64)
        scratch[0] = address_of(scratch)
        stopped = interpret_rows(address_of(words), rows, out, scratch)
        if stopped < self.rows:
            row = [lane[stopped] for lane in self.lanes[: self.given.width]]
            error = overflowed([self.restored(expr) for expr in exprs], self.given, self.pool, row)
            error.row = int(stopped)
            raise error
        return out[:-1]

    def lift(self, expr: Expr) -> Expr:
        """The expression with all that is not possible inside replaced by columns that hold it."""
        if not isinstance(expr, Call):
            return expr
        if expr not in self.known:
            if expr.op in operations.IN_TURN and any(map(may_overflow, expr.args[1:])) and not self.fits(expr):
                self.known[expr] = self.column(expr, self.in_turn(expr))
                return self.known[expr]
            args = tuple(self.lift(arg) for arg in expr.args)
            if sum(map(_size, args)) > LARGEST_PROGRAM:
                args = tuple(self.column(arg, self.of([arg])) if isinstance(arg, Call) else arg for arg in args)
            call = replace(expr, args=args)
            if _is_inside(call):
                return call
            self.known[expr] = self.column(call, self.apart(call))
        return self.known[expr]

    def fits(self, expr: Expr) -> bool:
        """Whether it is small, and possible inside with all its arguments."""
        return _size(expr) <= LARGEST_PROGRAM and program([expr], None, self.given, self.pool) is not None

    def in_turn(self, call: Call) -> np.ndarray:
        """An operation that asks for an argument only in the rows where the ones before have not decided."""
        found = np.full((call.type.words, self.rows), NULL, np.int64)
        open_ = np.arange(self.rows)
        if call.op == "when":
            for condition, value in zip(call.args[:-1:2], call.args[1::2], strict=True):
                holds = self.part(open_, condition)[0] == 1
                found[:, open_[holds]] = self.part(open_[holds], value)
                open_ = open_[~holds]
            found[:, open_] = self.part(open_, call.args[-1])
            return found
        for i, arg in enumerate(call.args):
            answer = self.part(open_, arg)
            before = found[:, open_]
            if i == 0 or call.op == "coalesce":
                found[:, open_] = answer
            else:
                unknown = (before == NULL) | (answer == NULL)
                decided = answer == (0 if call.op == "and" else 1)
                found[:, open_] = np.where(decided, answer, np.where(unknown, NULL, before))
            first = found[0, open_]
            done = first != NULL if call.op == "coalesce" else first == (0 if call.op == "and" else 1)
            open_ = open_[~done]
        return found

    def part(self, rows: np.ndarray, expr: Expr) -> np.ndarray:
        """The lanes of an expression in some of the rows."""
        lanes = np.empty((self.given.width, len(rows)), np.int64)
        for i in range(self.given.width):
            lanes[i] = self.lanes[i][rows]
        try:
            return _Columns(self.given, self.pool, lanes).of([expr])
        except RowOverflow as error:
            error.row = int(rows[error.row])
            raise

    def restored(self, expr: Expr) -> Expr:
        """The expression with the columns that were computed outside replaced by what they hold."""
        if isinstance(expr, Column) and expr.name not in self.given:
            held = next((call for call, column in self.known.items() if column == expr), expr)
            return self.restored(held) if held != expr else expr
        return replace(expr, args=tuple(map(self.restored, expr.args))) if isinstance(expr, Call) else expr

    def column(self, expr: Expr, lanes: np.ndarray) -> Column:
        name = f"\0{len(self.lanes)}"
        self.lanes += list(lanes)
        self.schema = Schema((*self.schema.fields, Field(name, expr.type)))
        found = self.known[expr] = Column(name, expr.type)
        return found

    def apart(self, call: Call) -> np.ndarray:
        """An operation that looks at values: once for each distinct combination of arguments."""
        varying = [i for i, arg in enumerate(call.args) if not isinstance(arg, Literal)]
        lanes = self.of([call.args[i] for i in varying])
        distinct, where = _distinct(lanes, self.rows)
        shape = Schema(tuple(Field(f"{i}", call.args[i].type) for i in varying))
        known: list[np.ndarray | None] = [None] * len(call.args)
        for i, lane in zip(varying, by_column(distinct, shape), strict=True):
            known[i] = lane
        try:
            found = _compute_values(call, known, distinct.shape[1], self.pool)
            return found[:, where] if call.type.is_wide else found[None, where]
        except OverflowError:
            self.refuse(call)

    def refuse(self, call: Call) -> NoReturn:
        """The first row on which an operation that looks at values overflows."""
        restored = self.restored(call)
        for i in range(self.rows):
            row = [lane[i] for lane in self.lanes[: self.given.width]]
            named = dict(zip(self.given.names, row_of(row, self.given, self.pool), strict=True))
            try:
                operations.evaluate(restored, named)
            except OverflowError:
                error = overflowed([restored], self.given, self.pool, row)
                error.row = i
                raise error from None
        raise AssertionError(call)


_WRITTEN: WeakKeyDictionary[Pool, dict[Any, np.ndarray | None]] = WeakKeyDictionary()
MOST_WRITTEN = 1000
FEW = 16


def _distinct(lanes: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct columns of an array of lanes, and which of them each row has."""
    if not len(lanes):
        return np.empty((0, 1), np.int64), np.zeros(rows, np.int64)
    if rows <= FEW:
        return lanes, np.arange(rows)
    codes = np.zeros(rows, np.int64)
    for lane in lanes:
        values, code = np.unique(lane, return_inverse=True)
        _, first, codes = np.unique(codes * max(len(values), 1) + code, return_index=True, return_inverse=True)
    return lanes[:, first], codes


def _compute_values(call: Call, known: list[np.ndarray | None], n: int, pool: Pool) -> np.ndarray:
    fast = FAST.get(call.op)
    if fast is not None:
        found = fast(call, known, pool)
        if found is not None:
            return found
    values = [
        [arg.value] * n if isinstance(arg, Literal) else values_of(lane, arg.type, pool)  # type: ignore[arg-type]
        for arg, lane in zip(call.args, known, strict=True)
    ]
    fn = operations.OPERATIONS[call.op].fn
    assert fn is not None, call
    return lanes_of([fn(*row, *call.options) for row in zip(*values, strict=True)], call.type, pool)


def values_of(lane: np.ndarray, kind: Type, pool: Pool) -> list[Any]:
    if kind.is_text:
        return pool.decode(lane, binary=kind.name == "binary").to_pylist()
    if kind.is_wide:
        return python_values(lane, kind, pool)
    return [from_lane(word, kind, pool) for word in lane.tolist()]


def lanes_of(values: list[Any], kind: Type, pool: Pool) -> np.ndarray:
    """int64[rows], or int64[2, rows] where a value is two words."""
    if kind.is_text:
        return pool.encode_texts(values)
    if kind.is_wide:
        return np.array([to_words(value, kind, pool) for value in values], np.int64).reshape(-1, 2).T
    return np.array([to_lane(value, kind, pool) for value in values], np.int64)


def _is_inside(call: Call) -> bool:
    """Whether the operation alone is possible inside, its arguments taken as columns."""
    args = [arg if isinstance(arg, Literal) else Column(f"{i}", arg.type) for i, arg in enumerate(call.args)]
    return _is_inside_alone(replace(call, args=tuple(args)))


@lru_cache(10_000)
def _is_inside_alone(call: Call) -> bool:
    schema = Schema(tuple(Field(f"{i}", arg.type) for i, arg in enumerate(call.args)))
    return program([call], None, schema, Pool()) is not None


def _size(expr: Expr) -> int:
    return 1 + sum(map(_size, expr.args)) if isinstance(expr, Call) else 0


# ---- text by Arrow, where its answer is Python's

Fast = Callable[[Call, list[np.ndarray | None], Pool], np.ndarray | None]


def _of_ascii(fn: Callable[[pa.Array], pa.Array]) -> Fast:
    def run(call: Call, known: list[np.ndarray | None], pool: Pool) -> np.ndarray | None:
        if known[0] is None:
            return None
        texts = pool.decode(known[0])
        plain = pc.all(pc.string_is_ascii(texts)).as_py()  # other letters have rules on which the two differ
        return pool.encode(fn(texts)) if plain else None

    return run


def _of_text(fn: Callable[..., pa.Array], only: int = 9) -> Fast:
    """A function of a text and constants; of `only` so many arguments."""

    def run(call: Call, known: list[np.ndarray | None], pool: Pool) -> np.ndarray | None:
        constants = [arg.value for arg in call.args[1:] if isinstance(arg, Literal) and arg.value is not None]
        if known[0] is None or len(constants) + 1 < len(call.args) or call.args[0].type.name != "string":
            return None
        if len(call.args) > only:
            return None
        found = fn(pool.decode(known[0]), *constants)
        if call.type.is_text:
            return pool.encode(found)
        return np.asarray(found.cast(pa.int64()).fill_null(NULL))

    return run


def _of_pattern(call: Call, known: list[np.ndarray | None], pool: Pool) -> np.ndarray | None:
    return None if known[0] is None else TextMatcher([call]).at_ids(known[0], pool)


FAST: dict[str, Fast] = {
    "lower": _of_ascii(pc.ascii_lower),
    "upper": _of_ascii(pc.ascii_upper),
    "trim": _of_text(lambda texts: pc.utf8_trim(texts, " "), only=1),
    "ltrim": _of_text(lambda texts: pc.utf8_ltrim(texts, " "), only=1),
    "rtrim": _of_text(lambda texts: pc.utf8_rtrim(texts, " "), only=1),
    "contains": _of_text(lambda texts, part: pc.match_substring(texts, part)),
    "starts_with": _of_text(lambda texts, part: pc.starts_with(texts, part)),
    "ends_with": _of_text(lambda texts, part: pc.ends_with(texts, part)),
    "like": _of_pattern,
    "replace": _of_text(lambda texts, part, by: pc.replace_substring(texts, part, by) if part else texts),
}
