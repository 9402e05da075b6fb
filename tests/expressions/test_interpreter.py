"""The interpreter and the whole-column way against the plain meaning of every operation."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ebbflow.columns.ranges import EXACT_DECIMALS
from ebbflow.columns.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Field,
    Schema,
    Type,
)
from ebbflow.columns.text_pool import Pool
from ebbflow.columns.value_words import from_lane, from_words, to_lane, to_words
from ebbflow.errors import EbbflowError, NumberOverflow
from ebbflow.expressions import columnwise, number_functions, write_functions
from ebbflow.expressions.block_interpreter import interpret_block, runs_in_blocks
from ebbflow.expressions.columnwise import outside
from ebbflow.expressions.conversions import cast
from ebbflow.expressions.float_steps import round_decimal
from ebbflow.expressions.interpreter import interpret
from ebbflow.expressions.opcodes import BLOCK_ROWS, COPY_LANE, DROP, KEEP, MOST_DIGITS, REGISTERS
from ebbflow.expressions.operations import FUNCTIONS, OPERATIONS, evaluate, in_zone, typed
from ebbflow.expressions.program import program
from ebbflow.expressions.typed import Call, Column, Literal, columns_of
from ebbflow.native.kernel import address_of, memory

DECIMAL, COARSE, WIDE = Type("decimal", 18, 4), Type("decimal", 7, 0), Type("decimal", 38, 20)
LONGER = Type("decimal", 24, 2)
TYPES = [
    LONG,
    INT,
    DOUBLE,
    FLOAT,
    BOOLEAN,
    STRING,
    BINARY,
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DECIMAL,
    COARSE,
    WIDE,
    LONGER,
]
TARGETS = [
    *TYPES,
    SHORT,
    BYTE,
    *(Type("decimal", p, s) for p, s in [(5, 2), (18, 18), (28, 4), (38, 0), (38, 38), (24, 20)]),
]
EXACT = [LONG, INT, DECIMAL, COARSE, WIDE, LONGER]
ZONES = [None, "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "-07:30", "Pacific/Apia"]
CHANGES = [
    datetime(2024, 3, 10, 7),
    datetime(2024, 11, 3, 6),
    datetime(2024, 10, 5, 15, 30),
    datetime(2011, 12, 30, 10),
]
MOST = 2**63 - 1
TEXTS = [
    "",
    " a ",
    "a",
    "Ab",
    "ÄßΣ",
    "é😀z",
    "12",
    " -7 ",
    "1.5",
    "1e3",
    "nan",
    "-inf",
    "true",
    "N",
    "2024-02-29",
    "2024-2-9 13:05:07.25",
    "2024-03-10 02:30",
    "2024-11-03 01:30:00 Europe/Berlin",
]


def decimals(kind):
    room = kind.most
    edges = st.sampled_from([0, 1, -1, 5, 15, 50, -50, 5000, room, -room])
    sizes = st.integers(0, kind.precision).flatmap(lambda n: st.integers(-(10**n) + 1, 10**n - 1))
    return (sizes | edges).map(lambda n: Decimal(n).scaleb(-kind.scale, EXACT_DECIMALS))


def integers(bits):
    most = 2 ** (bits - 1) - 1
    least = -most if bits == 64 else -most - 1
    return st.integers(-9, 9) | st.integers(least, most) | st.sampled_from([most, least, most // 2 + 1])


FLAT = sorted(op for op in OPERATIONS if op != "cast_parts" and not (op in FUNCTIONS and FUNCTIONS[op].fits))
VALUES = {
    LONG: integers(64),
    INT: integers(32),
    DOUBLE: st.floats()
    | st.integers(-20, 20).map(lambda n: n / 2)
    | st.sampled_from([2.0**63, -(2.0**63), 1e300, 0.1]),
    FLOAT: st.floats(width=32),
    BOOLEAN: st.booleans(),
    STRING: st.sampled_from(TEXTS) | st.text(max_size=6),
    BINARY: st.binary(max_size=4),
    DATE: st.dates() | st.sampled_from([date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), date(1900, 3, 1)]),
    TIMESTAMP: st.datetimes()
    | st.sampled_from([datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)])
    | st.builds(lambda at, hours: at + timedelta(hours=hours), st.sampled_from(CHANGES), st.integers(-48, 48)),
    TIMESTAMP_NTZ: st.datetimes()
    | st.builds(lambda at, halves: at + timedelta(hours=halves / 2), st.sampled_from(CHANGES), st.integers(-50, 50)),
    DECIMAL: decimals(DECIMAL),
    COARSE: decimals(COARSE),
    WIDE: decimals(WIDE),
    LONGER: decimals(LONGER),
}
NAMES = {kind: [f"{kind.name}{kind.precision}_{i}" for i in range(2)] for kind in TYPES}
SCHEMA = Schema(tuple(Field(name, kind) for kind, names in NAMES.items() for name in names))


@st.composite
def rows_for(draw, expr):
    """Some rows; columns that the expression does not read are null."""
    used = {name: st.none() | VALUES[SCHEMA[name]] for name in columns_of(expr)}
    rows = draw(st.lists(st.fixed_dictionaries(used), min_size=1, max_size=4))
    return [{**dict.fromkeys(SCHEMA.names), **row} for row in rows]


def leaves(kinds):
    columns = [Column(name, kind) for kind in kinds for name in NAMES[kind]]
    constants = [VALUES[kind].map(lambda value, kind=kind: Literal(value, kind)) for kind in kinds]
    return st.sampled_from(columns) | st.one_of(constants)


@cache
def accepts(op, kind):
    """Whether an operation's first arguments can be of this type."""
    args = [Column("c", kind)] * OPERATIONS[op].least
    if op in ("round", "substr", "date_add"):
        args[1:] = [Literal(1, LONG)] * (len(args) - 1)
    elif op == "when":
        args[0] = Literal(True, BOOLEAN)
    elif op == "like":
        args[1] = Literal("%a_", STRING)
    try:
        typed(op, args)
    except EbbflowError:
        return False
    return True


MIXING = (
    "add",
    "sub",
    "mul",
    "div",
    "floordiv",
    "mod",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "eq_null_safe",
    "is_in",
) + ("coalesce", "greatest", "least")
"""Operations that take decimals of several scales, and integers beside them."""


KINDS = {
    "text": [STRING], "bytes": [STRING], "coded": [STRING, LONG, INT],
    "int": [LONG, INT], "whole": [LONG, INT], "number": [LONG, DOUBLE, DECIMAL],
    "exact": [LONG, DECIMAL], "double": [DOUBLE], "date": [DATE], "moment": [DATE, TIMESTAMP, TIMESTAMP_NTZ],
    "timestamp": [TIMESTAMP, TIMESTAMP_NTZ], "boolean": [BOOLEAN], "any": [LONG, STRING, DOUBLE, DATE],
}  # fmt: skip
SMALL = st.integers(-40, 40).map(lambda n: Literal(n, LONG))
UNITS = st.sampled_from(["year", "QUARTER", "month", "week", "day", "hour", "minute", "second", "x", "Mon", "su", ""])
PLAIN = {"int": SMALL, "text": st.sampled_from(["yyyy-MM-dd", "d.M.yy H:m", "HH:mm:ss", "D"])}


def arguments(draw, function, n):
    """What a function of the table takes: small numbers, the words that some of them know, columns of every kind."""
    for at in range(n):
        kind = function.kind(at)
        if function.is_plain(at):
            is_regex = function.name.startswith("regexp")
            texts = st.sampled_from(["a", "[a-z]+", "(.)\\d", "^$"]) if is_regex else PLAIN["text"]
            yield draw(SMALL if kind == "int" else texts.map(lambda text: Literal(text, STRING)))
            continue
        few = SMALL if kind in ("int", "whole") else UNITS.map(lambda text: Literal(text, STRING))
        columns = leaves(KINDS[kind])
        yield draw(few | columns if kind in ("int", "whole", "text") else columns)


@st.composite
def calls(draw, ops, depth):
    """An operation on arguments that fit it; the types are drawn together, so that most of them do."""
    op = draw(st.sampled_from(ops))
    if depth and draw(st.booleans()):
        inner = calls(FLAT, depth - 1)
    else:
        inner = None
    if op == "cast":
        arg = draw(leaves(TYPES) if inner is None else inner)
        target = draw(st.sampled_from(TARGETS))
        made = lambda: cast(arg, target)
    else:
        entry = OPERATIONS[op]
        n = draw(st.integers(entry.least, entry.most if entry.most is not None else entry.least + 2))
        n += op == "when" and n % 2 == 0
        if op in FUNCTIONS:
            args = list(arguments(draw, FUNCTIONS[op], n))
            assume(op not in ("repeat", "space", "lpad", "rpad") or isinstance(args[min(1, n - 1)], Literal))
            try:
                return in_zone(typed(op, args), draw(st.sampled_from(ZONES)))
            except EbbflowError:
                assume(False)
        kind = draw(st.sampled_from([kind for kind in TYPES if accepts(op, kind)]))
        mixed = op in MIXING and kind in EXACT
        args = [draw(leaves([kind] if not mixed else EXACT)) for _ in range(n)]
        if op == "round":
            args[1] = Literal(draw(st.integers(-22, 20)), LONG)
        elif op in ("substr", "date_add"):
            args[1:] = [draw(leaves([INT]) | leaves([LONG])) for _ in args[1:]]
        elif op == "like":
            args[1] = Literal(draw(st.sampled_from(["%", "", "_", "%a%", "a%", "%z", "_b", "%é_%", "1%\\%"])), STRING)
        elif op == "when":
            args[:-1:2] = [draw(leaves([BOOLEAN])) for _ in args[:-1:2]]
        if inner is not None:
            args[draw(st.integers(0, n - 1))] = draw(inner)
        made = lambda: typed(op, args)
    try:
        return in_zone(made(), draw(st.sampled_from(ZONES)))
    except EbbflowError:
        assume(False)


def plain(expr, row):
    """The lane that the definition gives, or "overflow"."""
    try:
        return evaluate(expr, row)
    except OverflowError:
        return "overflow"


def interpreted(prog, lanes, columns=1):
    registers = np.zeros(REGISTERS, np.int64)
    kept = interpret(address_of(prog), address_of(lanes), address_of(registers))
    return kept, registers[:columns].tolist()


MANY = 9  # rows enough for the compiler to take several at once, and some that are left over


def in_block(prog, lanes, columns=1):
    """The columns of the rows that are kept, all rows run together; None if one of them overflowed."""
    n = lanes.shape[1]
    lists = np.zeros(2 * len(lanes) + 2, np.int64)
    for k, lane in enumerate(lanes):
        lists[2 * k : 2 * k + 2] = address_of(lane), lane.strides[0] // 8
    side, chosen = np.zeros(2 * REGISTERS, np.int64), np.zeros(BLOCK_ROWS, np.int64)
    bank = np.zeros(REGISTERS * BLOCK_ROWS, np.int64)
    at = [address_of(array) for array in (prog, lists, side, bank, chosen)]
    kept = interpret_block(*at, n)
    if kept < 0:
        return None
    rows = chosen[:kept] if kept < n else range(n)
    return [[int(memory()[int(side[2 * k]) + int(i) * int(side[2 * k + 1])]) for i in rows] for k in range(columns)]


def words_of(row, pool):
    return (word for f in SCHEMA for word in to_words(row[f.name], f.type, pool))


def check(expr, rows):
    pool = Pool()
    lanes = np.array([[*words_of(row, pool)] for row in rows], np.int64).T.copy()
    wanted = [plain(expr, row) for row in rows]
    words = [w if w == "overflow" else to_words(w, expr.type, pool) for w in wanted]
    wide = expr.type.words
    prog = program([expr], None, SCHEMA, pool)
    if prog is not None:
        for i, word in enumerate(words):
            kept, found = interpreted(prog, np.ascontiguousarray(lanes[:, i]), wide)
            shown = expr, rows[i], wanted[i], from_words(found, expr.type, pool)
            assert kept < 0 if word == "overflow" else (kept, found) == (1, list(word)), shown
        if runs_in_blocks(prog):
            many = np.tile(lanes, MANY)
            wanted_of_many = None if "overflow" in words else [list(lane) * MANY for lane in zip(*words)]
            assert in_block(prog, many, wide) == wanted_of_many, expr  # lanes that lie side by side
            assert in_block(prog, np.asfortranarray(many), wide) == wanted_of_many, expr  # rows that do
    for few in (0, 9):  # as arrays, and one by one
        with mock.patch.object(columnwise, "ONE_BY_ONE", few):
            if "overflow" in words:
                with pytest.raises(NumberOverflow):
                    outside([expr], None, SCHEMA, pool, lanes)
                continue
            found, keep = outside([expr], None, SCHEMA, pool, lanes)
        values = [from_words(lane, expr.type, pool) for lane in found.T]
        assert list(map(tuple, found.T.tolist())) == words, (expr, wanted, values)
        assert keep.all()


COMPILED = {
    *write_functions.DAY_PARTS,
    *write_functions.BIT_STEPS,
    *write_functions.UNIX_TIMES,
    *write_functions.WRITERS,
}


@pytest.mark.parametrize("op", sorted((set(FLAT) - set(FUNCTIONS)) | COMPILED))
def test_each_operation_gives_what_its_meaning_says(op):
    @settings(max_examples=50)
    @given(st.data())
    def claim(data):
        expr = data.draw(calls([op], depth=0))
        check(expr, data.draw(rows_for(expr)))

    claim()


@settings(max_examples=300)
@given(st.data())
def test_functions_without_steps_give_what_their_meaning_says(data):
    expr = data.draw(calls(sorted((set(FUNCTIONS) & set(FLAT)) - COMPILED), depth=0))
    check(expr, data.draw(rows_for(expr)))


@settings(max_examples=300)
@given(st.data())
def test_nested_operations_give_what_their_meaning_says(data):
    expr = data.draw(calls(FLAT, depth=3))
    check(expr, data.draw(rows_for(expr)))


def test_only_what_looks_at_text_is_left_to_the_outside():
    pool = Pool()
    outside = {
        "lower",
        "upper",
        "substr",
        "concat",
        "contains",
        "starts_with",
        "ends_with",
        "like",
        "trim",
        "ltrim",
        "rtrim",
        "replace",
    }
    found = set()
    outside |= set(number_functions.TRIED)
    for op in set(FLAT) - set(FUNCTIONS):
        entry = OPERATIONS[op]
        kind = next(kind for kind in [DOUBLE, STRING, BOOLEAN, DATE] if op == "cast" or accepts(op, kind))
        args = [Column(NAMES[kind][0], kind)] * entry.least
        if op in ("round", "substr", "date_add"):
            args[1:] = [Literal(0, LONG)] * (len(args) - 1)
        if op == "when":
            args[0] = Column(NAMES[BOOLEAN][0], BOOLEAN)
        if op == "like":
            args[1] = Literal("%a_", STRING)
        expr = cast(args[0], LONG) if op == "cast" else typed(op, args)
        if program([expr], None, SCHEMA, pool) is None:
            found.add(op)
    assert found == outside


X, Y = Column("x", LONG), Column("y", LONG)
PAIR = Schema((Field("x", LONG), Field("y", LONG)))


def test_a_condition_drops_rows_before_anything_else_is_computed():
    pool, huge = Pool(), 2**62
    condition, square = typed("lt", [X, Literal(100, LONG)]), typed("mul", [X, X])
    prog = program([square, Y], condition, PAIR, pool)
    assert interpreted(prog, np.array([7, 1]), 2) == (KEEP, [49, 1])
    assert interpreted(prog, np.array([huge, 1]), 2)[0] == DROP
    assert interpreted(prog, np.array([NULL, 1]), 2)[0] == DROP
    assert in_block(prog, np.array([[7, 200, NULL, 8], [1, 2, 3, 4]]), 2) == [[49, 64], [1, 4]]
    lanes = np.array([[7, huge, NULL], [1, 2, 3]])
    found, keep = outside([square, Y], condition, PAIR, pool, lanes)
    assert keep.tolist() == [True, False, False]
    assert found.tolist() == [[49, NULL, NULL], [1, NULL, NULL]]


def test_columns_are_copied_by_one_step_each():
    prog = program([Y, X, Y], None, PAIR, Pool())
    assert prog.tolist() == [3, COPY_LANE, 0, 1, 0, 0, COPY_LANE, 1, 0, 0, 0, COPY_LANE, 2, 1, 0, 0]
    assert interpreted(prog, np.array([5, 6]), 3) == (KEEP, [6, 5, 6])


def test_what_is_written_twice_is_computed_once():
    total = typed("add", [X, Y])
    prog = program([total, typed("mul", [total, total])], None, PAIR, Pool())
    assert prog[0] == 2
    assert interpreted(prog, np.array([2, 3]), 2) == (KEEP, [5, 25])


def wide(n):
    expr = X
    for i in range(n):
        expr = typed("add", [expr, typed("mul", [Y, Literal(i, LONG)])])
    return expr


def test_a_program_beyond_the_registers_is_computed_outside():
    expr = wide(100)
    assert program([expr], None, PAIR, Pool()) is None
    found, _ = outside([expr], None, PAIR, Pool(), np.array([[1, 2], [3, -4]]))
    assert found.tolist() == [[1 + 3 * 4950, 2 - 4 * 4950]]
    many = [typed("add", [X, Literal(i, LONG)]) for i in range(70)]
    assert program(many, None, PAIR, Pool()) is None
    found, _ = outside(many, None, PAIR, Pool(), np.array([[1], [0]]))
    assert found[:, 0].tolist() == list(range(1, 71))


def test_an_overflow_names_the_expression_and_the_row():
    with pytest.raises(NumberOverflow, match=r"mul\(x, y\) overflows: .* in the row x=9223372036854775807, y=2"):
        outside([typed("mul", [X, Y])], None, PAIR, Pool(), np.array([[1, MOST], [5, 2]]))


def test_no_rows_give_no_rows():
    found, keep = outside([X, typed("add", [X, Y])], None, PAIR, Pool(), np.empty((2, 0), np.int64))
    assert found.shape == (2, 0) and keep.shape == (0,)


@pytest.mark.interpreted
def test_a_small_program_runs_without_the_compiler():
    pool = Pool()
    text = pool.encode_texts(["ebb"])[0]
    schema = Schema((Field("x", LONG), Field("f", DOUBLE), Field("s", STRING)))
    x, f, s = (Column(field.name, field.type) for field in schema)
    exprs = [
        typed("sub", [x, Literal(4, LONG)]),
        typed("log", [typed("mul", [f, Literal(2.0, DOUBLE)])]),
        typed("lt", [s, Literal("flow", STRING)]),
        typed("is_in", [x, Literal(3, LONG), Literal(9, LONG)]),
        cast(x, Type("decimal", 9, 2)),
        typed("when", [typed("is_nan", [f]), x, typed("neg", [x])]),
        typed("length", [s]),
    ]
    row = {"x": 3, "f": 1.25, "s": "ebb"}
    prog = program(exprs, typed("gt", [x, Literal(2, LONG)]), schema, pool)
    kept, found = interpreted(prog, np.array([3, to_lane(1.25, DOUBLE, pool), text]), len(exprs))
    assert kept == KEEP
    assert found == [to_lane(evaluate(expr, row), expr.type, pool) for expr in exprs]
    assert isinstance(exprs[0], Call)


@settings(max_examples=600)
@given(
    st.floats(0, 2.0**52, exclude_max=True)
    | st.integers(0, 10**17).map(lambda n: n / 10**6)
    | st.tuples(st.integers(0, 10**16), st.integers(1, 17)).map(lambda p: (2 * p[0] + 1) / (2 * 10 ** p[1])),
    st.integers(0, MOST_DIGITS),
)
@example(1.005, 2)
@example(2.5, 0)
@example(0.49999999999999994, 0)
@example(0.285, 2)
@example(1234567890123.4565, 3)
@example(99999999999999.95, 1)
@example(4503599627370495.5, 0)
@example(0.1 + 0.2, 15)
def test_floats_are_rounded_as_their_shortest_decimal(x, digits):
    assume(x < 2.0**52)
    found = round_decimal(float(x), digits)
    assert from_lane(found, DOUBLE, None) == OPERATIONS["round"].fn(float(x), digits)


def test_an_overflow_beside_text_is_told_in_the_users_words():
    schema = Schema((Field("x", LONG), Field("s", STRING)))
    x, s = Column("x", LONG), Column("s", STRING)
    pool = Pool()
    expr = typed("mul", [x, typed("add", [x, cast(typed("trim", [s]), LONG)])])
    lanes = np.array([[2**62], pool.encode_texts([" 3 "])])
    assert outside([expr], None, schema, pool, np.array([[2], lanes[1]]))[0].tolist() == [[10]]
    with pytest.raises(NumberOverflow, match=r"mul\(x, add\(x, cast\(trim\(s\), 'long'\)\)\) overflows: .* s=' 3 '"):
        outside([expr], None, schema, pool, lanes)


# ---- what nobody asks for cannot overflow

EDGES = [None, 0, 1, -1, 2**62, 2**63 - 1, -(2**63) + 1]


@st.composite
def choices(draw, textual):
    """A few expressions over x and y that share parts, with sums that overflow in branches and behind conditions."""
    numbers = [X, Y, Literal(1, LONG), Literal(2**62, LONG)]
    truths = [typed("is_null", [X])]
    for _ in range(draw(st.integers(4, 14))):
        number, truth = st.sampled_from(numbers), st.sampled_from(truths)
        op = draw(st.sampled_from(["add", "mul", "lt", "and", "or", "when", "when", "coalesce", "text"]))
        if op in ("add", "mul"):
            numbers.append(typed(op, [draw(number), draw(number)]))
        elif op == "lt":
            truths.append(typed(op, [draw(number), draw(number)]))
        elif op in ("and", "or"):
            truths.append(typed(op, [draw(truth), draw(truth)]))
        elif op == "when":
            pairs = [draw(part) for _ in range(draw(st.integers(1, 2))) for part in (truth, number)]
            numbers.append(typed(op, [*pairs, draw(number)]))
        elif op == "coalesce":
            numbers.append(typed(op, [draw(number) for _ in range(draw(st.integers(1, 3)))]))
        elif textual:
            numbers.append(cast(cast(draw(number), STRING), LONG))
    made = [*numbers[4:], *truths[1:]]
    return [draw(st.sampled_from(made)) for _ in range(draw(st.integers(1, 4)))] if made else [X]


@pytest.mark.parametrize("textual", [False, True], ids=["inside", "outside"])
def test_an_overflow_counts_only_where_its_value_is_asked_for(textual):
    @settings(max_examples=400)
    @given(
        choices(textual), st.lists(st.tuples(st.sampled_from(EDGES), st.sampled_from(EDGES)), min_size=1, max_size=4)
    )
    def claim(exprs, rows):
        pool = Pool()
        lanes = np.array([[to_lane(row[i], LONG, pool) for row in rows] for i in range(2)], np.int64)
        prog = program(exprs, None, PAIR, pool)
        for i, (x, y) in enumerate(rows):
            wanted = [plain(expr, {"x": x, "y": y}) for expr in exprs]
            if prog is not None:
                kept, found = interpreted(prog, np.ascontiguousarray(lanes[:, i]), len(exprs))
                if "overflow" in wanted:
                    assert kept < 0, (exprs, x, y)
                else:
                    words = [to_lane(value, expr.type, pool) for value, expr in zip(wanted, exprs, strict=True)]
                    assert (kept, found) == (KEEP, words), (exprs, x, y)
        everything = [[plain(expr, {"x": x, "y": y}) for x, y in rows] for expr in exprs]
        if any("overflow" in column for column in everything):
            with pytest.raises(NumberOverflow) as raised:
                outside(exprs, None, PAIR, pool, lanes)
            row = raised.value.row
            assert any(column[row] == "overflow" for column in everything), (exprs, rows, row)
        else:
            found, _ = outside(exprs, None, PAIR, pool, lanes)
            words = [[to_lane(v, expr.type, pool) for v in c] for expr, c in zip(exprs, everything, strict=True)]
            assert found.tolist() == words, (exprs, rows)

    claim()
