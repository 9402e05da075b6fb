"""Opcodes: what a step of a program does, as a number, and how a program lies in words.

A program: the number of its steps, then the steps, then tables. A step is five words: what to do, the register that
gets the result, and three operands: a register (>= 0), an input lane (~index), or, where a flag says so, the word
itself. Durable state holds programs, so a number keeps its meaning.

Rule: the steps of one kernel have consecutive numbers, so that a comparison tells whose a step is.
"""

from __future__ import annotations

from ebbflow.limits import LARGEST_WORD

STEP_WORDS = 5
REGISTERS = 64
BLOCK_ROWS = 256  # that a program runs on together, column by column
A_IS_WORD, B_IS_WORD, C_IS_WORD = 1 << 8, 1 << 9, 1 << 10
KEEP, DROP, LONG_OVERFLOW, DECIMAL_OVERFLOW = 1, 0, -1, -2
"""What running a program on a row returns."""

(
    COPY_LANE,
    COPY,
    FILTER,
    EQ_NULL_SAFE,
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
    NULL_OUTSIDE,
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
    LOG_E,
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
    YEAR_OF,
    MONTH_OF,
    DAY_OF,
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

# ---- functions of dates and bits: `calendar_steps` and `function_steps`

(
    QUARTER,
    DAY_OF_WEEK,
    DAY_OF_YEAR,
    WEEK_OF_YEAR,
    YEAR_OF_WEEK,
    ADD_MONTHS,
    LAST_DAY_OF,
    NEXT_DAY,
    DAY_LATER,
    TRUNC_DAY,
    TRUNC_SHOWN,
    SHOWN_OVER,
    MONTHS_LATER,
    DAYS_LATER,
    MICROS_LATER,
    MONTH_NUMBER,
    DAY_OF_MONTH_NUMBER,
    WHOLE_UNITS,
    TIMES_UNIT,
    TOWARDS_ZERO,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    BIT_NOT,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    SHIFT_UNSIGNED,
    BIT_COUNT,
) = range(128, 156)
FIRST_FUNCTION = QUARTER

# ---- decimals of more than 18 digits, which are two words each: `wide_steps`

(
    WIDEN,  # a word becomes two
    WIDE_PRODUCT,  # of two words
    WIDE_ADD,  # from here on the first operands are two words; a times 10**c, or b times 10**-c
    WIDE_SUB,
    WIDE_REMAINDER,
    WIDE_MUL,  # over 10**c
    WIDE_DIV,  # with c digits more; null where b is zero
    WIDE_NEG,
    WIDE_ABS,
    WIDE_SCALE,  # times 10**b, or over 10**-b; null beyond c digits
    WIDE_ROUND,  # to whole multiples of 10**b, counted in units of 10**c
    WIDE_FLOOR,  # over 10**c
    WIDE_CEIL,
    WIDE_TRUNCATE,
    WIDE_LARGER,
    WIDE_SMALLER,
    WIDE_COMPARE,  # from here on the result is one word: as WIDE_ADD scales, -1, 0 or 1
    WIDE_NARROW,  # null beyond c digits
    WIDE_TO_LONG,  # null beyond -c ... c - 1, where 0 stands for 2**63
    WIDE_TO_DOUBLE,  # over 10**c
) = range(156, 176)
FIRST_WIDE = WIDEN
FIRST_OF_TWO, FIRST_TO_ONE = WIDE_ADD, WIDE_COMPARE
"""The first step whose operands are two words each, and the first whose result is one."""
END_OF_STEPS = WIDE_TO_DOUBLE + 1

# ---- what operands and results may be

MOST_DIGITS = 15  # that a float is rounded to, inside
NO_POWER = LARGEST_WORD  # in place of a power of ten that has no place in a word

COMPARISON_STEPS = {"eq": EQ, "ne": NE, "lt": LT, "le": LE, "gt": GT, "ge": GE}
