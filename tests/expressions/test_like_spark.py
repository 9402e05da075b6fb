"""Every cast, operator and function against Spark itself, on values at the edges of every type.

The questions of `edges` are put to one Spark session, a few hundred in a query, and to us: to the plain meaning, and to
the compiled interpreter, which has to agree with it.  Every difference belongs to one of `DIFFERENCES`, which are the
table of docs/spark-differences.md.

Rule: a difference that no entry expects fails, and so does an entry that no difference belongs to.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow import functions as ours
from ebbflow.columns.ddl import schema_of, type_of
from ebbflow.columns.lanes_out import arrow_type
from ebbflow.columns.ranges import FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT
from ebbflow.columns.schema import FLOAT, NULL, PRECISION, Field, Schema, Type
from ebbflow.columns.text_pool import Pool
from ebbflow.columns.value_words import row_of, to_lane, to_words
from ebbflow.errors import EbbflowError, NumberOverflow
from ebbflow.expressions import operations
from ebbflow.expressions.columnwise import outside
from ebbflow.expressions.resolve import resolve
from ebbflow.expressions.typed import Expr
from tests.columns.edges import CHOICES, COMPARISONS, MANY, Question, columns_of, plain, questions
from tests.relational import test_nested_like_spark as nested
from tests.relational.function_questions import CALLS

PAGE = Path(__file__).parents[2] / "docs" / "spark-differences.md"
AT_ONCE = 300  # questions in a query
REFUSED = "refused"  # the answer of one that refuses the step

SPARK_NAMES = {"long": "bigint", "short": "smallint", "byte": "tinyint"}


@dataclass(frozen=True)
class Found:
    """An answer that is not Spark's.  `values` as they were given, with both zeros; of types: their names."""

    question: Question
    values: tuple[Any, ...]
    type: Type
    ours: Any
    theirs: Any
    kind: str  # the type that Spark's answer has

    @property
    def is_type(self) -> bool:
        return self.values == ()

    def __str__(self) -> str:
        return f"{self.question} of {self.values}: {self.ours!r}, Spark: {self.theirs!r} ({self.type}, {self.kind})"


# ---- asking ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session(spark):
    """The session of all tests, with settings of its own."""
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.conf.set("spark.sql.ansi.enabled", "false")
    own.conf.set("spark.sql.codegen.wholeStage", "false")
    own.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")  # compiling thousands of expressions takes minutes
    return own


def arrow(kind: Type) -> pa.DataType:
    return pa.timestamp("us", "UTC") if kind.name == "timestamp" else arrow_type(kind)


def column_names(question: Question) -> list[str]:
    return [f"{'xy'[i]}_{plain(str(kind))}" for i, kind in enumerate(question.types)]


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """Days and microseconds as numbers, as Spark's calendar is wider than Python's; text as it is, UTF-8 or not."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist()
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).to_pylist()
    if pa.types.is_string(column.type):
        texts = column.cast(pa.binary()).to_pylist()
        return [None if text is None else text.decode("utf-8", "surrogateescape") for text in texts]
    return column.to_pylist()


def asked_of_spark(frame: Any, asked: list[Question]) -> dict[Question, tuple[str, list[Any]]]:
    from pyspark.sql import functions as theirs

    found = {}
    for start in range(0, len(asked), AT_ONCE):
        part = asked[start : start + AT_ONCE]
        built = [q.ask(theirs, *map(theirs.col, column_names(q))).alias(f"c{i}") for i, q in enumerate(part)]
        answer = frame.select(*built)
        for question, field, column in zip(part, answer.schema, answer.toArrow().columns, strict=True):
            found[question] = field.dataType.simpleString(), values_of(column)
    return found


def asked_of_us(expr: Expr, schema: Schema, lanes: np.ndarray, rows: list[dict[str, Any]], pool: Pool) -> list[Any]:
    """By the plain meaning; the interpreter says the same."""
    found = []
    for row in rows:
        try:
            found.append(operations.evaluate(expr, row))
        except OverflowError:
            found.append(REFUSED)
    fine = np.array([answer is not REFUSED for answer in found])
    computed, _ = outside([expr], None, schema, pool, np.ascontiguousarray(lanes[:, fine]))
    words = [to_words(answer, expr.type, pool) for answer in found if answer is not REFUSED]
    assert list(map(tuple, computed.T.tolist())) == words, expr
    few = [outside([expr], None, schema, pool, np.ascontiguousarray(lanes[:, [i]]))[0] for i in np.flatnonzero(fine)]
    assert [tuple(one[:, 0].tolist()) for one in few] == words, expr  # one by one, too
    if expr.type.name in ("date", "timestamp"):
        return [None if answer is None else to_lane(answer, expr.type, pool) for answer in found]
    return found


def same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, float) and isinstance(theirs, float):
        if mine != mine or theirs != theirs:
            return mine != mine and theirs != theirs
        return mine == theirs and math.copysign(1, mine) == math.copysign(1, theirs)
    return mine is not REFUSED and mine == theirs


def differences_of(session: Any, table: str, asked: list[Question]) -> tuple[list[Found], int, list[Question]]:
    """Where we differ, how many answers were compared, and which questions we refuse."""
    columns = columns_of(table)
    schema = Schema(tuple(Field(name, kind) for name, (kind, _) in columns.items()))
    frame = session.createDataFrame(pa.table({name: pa.array(v, arrow(t)) for name, (t, v) in columns.items()}))
    pool = Pool()
    words = [[to_words(v, t, pool) for v in values] for t, values in columns.values()]
    lanes = np.array([lane for column in words for lane in zip(*column, strict=True)], np.int64)
    rows = [dict(zip(schema.names, row_of(row, schema, pool), strict=True)) for row in lanes.T.tolist()]
    exprs, refused = {}, []
    for question in asked:
        try:
            exprs[question] = resolve(question.ask(ours, *map(ebb.col, column_names(question))).tree, schema, "", "")
        except EbbflowError:
            refused.append(question)
    found, compared = [], 0
    for question, (kind, theirs) in asked_of_spark(frame, list(exprs)).items():
        expr = exprs[question]
        if SPARK_NAMES.get(str(expr.type), str(expr.type)) != kind:
            found.append(Found(question, (), expr.type, str(expr.type), kind, kind))
        given = [columns[name][1] for name in column_names(question)]
        for i, mine in enumerate(asked_of_us(expr, schema, lanes, rows, pool)):
            compared += 1
            if not same(mine, theirs[i]):
                found.append(Found(question, tuple(v[i] for v in given), expr.type, mine, theirs[i], kind))
    return found, compared, refused


# ---- what differs on purpose ----------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A row of the page: what it is about, what we do and why, what Spark does; and which answers it explains."""

    topic: str
    we: str
    spark: str
    explains: Callable[[Found], bool]
    before_java: int = 1000  # of Spark's Java; from that version on there is no difference


INTEGERS = ("tinyint", "smallint", "int", "bigint")
BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
LAST_DIGIT = ("exp", "log", "ln", "log2", "log10", "pow", "power", "pow 2", "sin", "cos", "tan")


def is_minus_zero(value: Any) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1, value) < 0


def one_zero(found: Found) -> bool:
    return any(map(is_minus_zero, found.values)) or (is_minus_zero(found.theirs) and found.ours == 0)


def longs(found: Found) -> bool:
    if found.type.name != "long" or found.kind not in ("tinyint", "smallint", "int"):
        return False
    return found.is_type or (found.ours != REFUSED and (found.ours - found.theirs) % 2 ** BITS[found.kind] == 0)


def overflow(found: Found) -> bool:
    return found.ours is REFUSED and found.type.name == "long" and found.kind == "bigint"


def doubles(found: Found) -> bool:
    if FLOAT not in found.question.types:
        return False
    if found.kind == "boolean":  # an integer beside a float is rounded to one
        return any(kind.is_integer for kind in found.question.types)
    if (str(found.type), found.kind) != ("double", "float"):
        return False
    if found.is_type or found.ours is None or math.isinf(found.theirs) or abs(found.theirs) < 1e-37:
        return True
    return found.question.name in ("-", "+", "%") or math.isclose(found.ours, found.theirs, rel_tol=1e-6)


def without_digits(found: Found) -> bool:
    return found.ours is REFUSED and found.type.name == "decimal" and found.theirs is None


def exactly_compared(found: Found) -> bool:
    kinds = found.question.types
    if found.kind != "boolean" or not all(kind.is_exact for kind in kinds):
        return False
    scales = [*(kind.scale for kind in kinds), 2]  # of the constant in "> 2.5"
    return max(kind.precision - kind.scale for kind in kinds) + max(scales) > PRECISION


def last_digit(found: Found) -> bool:
    return found.question.name in LAST_DIGIT and math.isclose(found.ours, found.theirs, rel_tol=1e-15)


def without_room(found: Found) -> bool:
    return found.question.name in ("floor", "ceil") and found.ours is None and found.kind == "bigint"


def beyond_the_calendar(found: Found) -> bool:
    if found.ours is not None or found.theirs is None or found.kind not in ("date", "timestamp"):
        return False
    first, last = (FIRST_DAY, LAST_DAY) if found.kind == "date" else (FIRST_MOMENT, LAST_MOMENT)
    return not first <= found.theirs <= last


def time_of_day(found: Found) -> bool:
    return found.ours is None and found.kind == "timestamp" and found.values[0] in ("13:05:07", "T13:05")


def least_long(found: Found) -> bool:
    return found.theirs == NULL and found.ours is None and found.kind == "bigint"


def not_utf8(found: Found) -> bool:
    return found.question.name == "cast string" and found.ours is None and any(c >= "\udc80" for c in found.theirs)


def shortest_digits(found: Found) -> bool:
    name = found.question.name
    if not name.startswith(("cast string", "cast decimal")) or not found.question.types[0].is_float:
        return False
    read = np.float32 if found.question.types[0] == FLOAT else float
    if name.startswith("cast decimal"):  # which goes by the text
        return read(found.ours) == read(found.theirs)
    return read(found.ours) == read(found.theirs) and len(found.ours) <= len(found.theirs)


def exact_sums(found: Found) -> bool:
    if (
        found.question.name not in ("sum", "avg", "mean")
        or found.kind != "double"
        or None in (found.ours, found.theirs)
    ):
        return False
    return (
        math.isclose(found.ours, found.theirs, rel_tol=1e-9) or math.isinf(found.theirs) or found.theirs != found.theirs
    )


def least_of_any(found: Found) -> bool:
    return found.question.name == "any_value" and any(
        same(value, found.theirs) for value in map(as_number, found.values)
    )


DIFFERENCES = [
    Difference(
        "one zero",
        "-0.0 is 0.0 everywhere, in results and as text: equal values have equal words, so that they meet in keys.",
        "keeps the sign of zero, and finds the two equal.",
        one_zero,
    ),
    Difference(
        "integers are longs",
        "what is computed of byte, short and int is a long, which has room for it.",
        "computes in the wider of the two types; without ANSI it wraps around, with ANSI it raises.",
        longs,
    ),
    Difference(
        "a long overflows",
        "refuses the step, with row, expression and time.",
        "wraps around without ANSI, raises with ANSI.",
        overflow,
    ),
    Difference(
        "floats are computed as doubles",
        "what is computed of float is a double; integers beside floats become doubles.",
        "computes in 32 bits, and rounds an integer beside a float to a float.",
        doubles,
    ),
    Difference(
        "a decimal without room",
        "a sum, product or quotient of more digits than its type has, which are 38 at most, refuses the step.",
        "gives null, with ANSI raises.",
        without_digits,
    ),
    Difference(
        "comparing very wide decimals",
        "compares decimals of any two types exactly.",
        "rounds both to a type of 38 digits first, where together they would need more: 0.5 = 1 for decimal(18,18) "
        "and decimal(38,0).",
        exactly_compared,
    ),
    Difference(
        "the last digit of exp, log, pow, sin ...",
        "the platform's mathematics.",
        "Java's StrictMath, which can differ in the last digit; log2 is a quotient of logarithms.",
        last_digit,
    ),
    Difference(
        "floor and ceil without room",
        "null for nan, the infinities and what does not fit a long.",
        "0 for nan, and the nearest long.",
        without_room,
    ),
    Difference(
        "the calendar",
        "dates and timestamps are of the years 1 to 9999, as Python's; null beyond.",
        "years to 294247 and before the first; beyond them it wraps around.",
        beyond_the_calendar,
    ),
    Difference(
        "a time of day alone",
        "null: what it means would depend on the day on which it is computed.",
        "that time of the present day.",
        time_of_day,
    ),
    Difference(
        "the least long",
        "-9223372036854775808 is kept for null: a cast to it gives null, an input with it is refused.",
        "a long as any other.",
        least_long,
    ),
    Difference(
        "bytes that are not UTF-8",
        "null when cast to string: text is UTF-8.",
        "a string that nobody can read.",
        not_utf8,
    ),
    Difference(
        "digits of a double as text",
        "the fewest that read as the same number, as Java from version 19 on: 1.0E23.",
        "on Java 17 sometimes more than needed: 9.999999999999999E22.",
        shortest_digits,
        before_java=19,
    ),
    Difference(
        "sums of doubles",
        "exact, then rounded once, whatever the order: removing what was added leaves what was there.",
        "rounded after each row, in the order in which rows come; infinite where a partial sum is.",
        exact_sums,
    ),
    Difference(
        "any_value",
        "the least value, so that the answer does not change by itself.",
        "any of them.",
        least_of_any,
    ),
]


def unexplained(found: list[Found], explained: dict[str, list[Found]]) -> list[Found]:
    left = []
    for each in found:
        entry = next((entry for entry in DIFFERENCES if entry.explains(each)), None)
        if entry is None:
            left.append(each)
        else:
            explained[entry.topic].append(each)
    return left


def shown(found: list[Found]) -> str:
    return f"{len(found)} answers differ from Spark's:\n" + "\n".join(map(str, found[:40]))


# ---- groups ---------------------------------------------------------------------------------

AGGREGATES = {
    name: (lambda F, x, name=name: getattr(F, name)(x))
    for name in ("count", "count_distinct", "min", "max", "any_value", "sum", "avg", "mean", "countDistinct")
}
OF_NUMBERS = ("sum", "avg", "mean")


def groups() -> dict[str, list[list[Any]]]:
    """By type: all values, pairs of neighbours, the same one thrice, nulls alone."""
    found = {}
    for kind, values in MANY.items():
        some = [value for value in values if value is not None][:12]
        found[kind] = [
            [*some, None],
            *([a, b, None] for a, b in zip(some[:6:2], some[1:7:2])),
            [some[2 % len(some)]] * 10,
            [None],
        ]
    return found


def as_number(value: Any) -> Any:
    """As `values_of` gives it."""
    if hasattr(value, "toordinal"):
        return to_lane(value, Type("timestamp" if hasattr(value, "hour") else "date"), Pool())
    return value


def aggregated(kind: str, lists: dict[int, list[Any]], names: list[str]) -> dict[str, tuple[Type, dict[int, Any]]]:
    """The aggregates of groups by the engine: types and answers; where it refuses, each is asked for alone."""
    flow = ebb.Dataflow()
    rows = flow.input("rows", {"g": "long", "x": kind})
    answer = rows.group_by("g").agg(**{name: AGGREGATES[name](ours, "x") for name in names})
    flow.output("out", answer)
    types = schema_of(answer.schema)
    try:
        table = flow.compute(rows=[(g, value) for g, values in lists.items() for value in values])["out"].to_arrow()
    except NumberOverflow:
        if len(names) == len(lists) == 1:
            return {names[0]: (types[names[0]], dict.fromkeys(lists, REFUSED))}
        if len(names) > 1:
            return {name: aggregated(kind, lists, [name])[name] for name in names}
        alone = [aggregated(kind, {g: values}, names)[names[0]][1] for g, values in lists.items()]
        return {names[0]: (types[names[0]], {g: each for one in alone for g, each in one.items()})}
    keys = table.column("g").to_pylist()
    return {name: (types[name], dict(zip(keys, values_of(table.column(name)), strict=True))) for name in names}


# ---- the tests ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answers(session):
    """What no entry explains, what each entry explains, what we refuse, and how many answers were compared."""
    explained: dict[str, list[Found]] = defaultdict(list)
    left, refused, compared = [], [], 0
    by_table = defaultdict(list)
    for question in questions():
        by_table[question.table].append(question)
    for table, asked in by_table.items():
        found, n, not_asked = differences_of(session, table, asked)
        left += unexplained(found, explained)
        refused += not_asked
        compared += n
    return left, explained, refused, compared


def test_every_cast_operator_and_function_answers_as_spark_does(answers):
    left, _, _, compared = answers
    assert not left, shown(left)
    assert compared > 100_000, compared


def test_what_we_refuse_to_cast_spark_refuses_too(session, answers):
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as theirs

    _, _, refused, _ = answers
    assert {question.name.split()[0] for question in refused} == {"cast"}
    columns = columns_of("one")
    empty = {name: pa.array([], arrow(kind)) for name, (kind, _) in columns.items()}
    frame = session.createDataFrame(pa.table(empty))
    for question in refused:
        with pytest.raises(AnalysisException):
            frame.select(question.ask(theirs, *map(theirs.col, column_names(question))))  # is analysed when made


@pytest.fixture(scope="module")
def aggregates(session):
    """Groups of every type, aggregated by Spark in one query, and by the engine."""
    from pyspark.sql import functions as theirs

    explained: dict[str, list[Found]] = defaultdict(list)
    given = groups()
    rows: dict[str, list[Any]] = defaultdict(list)
    for number in range(max(map(len, given.values()))):
        longest = max(len(lists[number]) if number < len(lists) else 0 for lists in given.values())
        rows["g"] += [number] * longest
        for kind, lists in given.items():
            values = lists[number] if number < len(lists) else []
            rows[f"x_{plain(kind)}"] += values + [None] * (longest - len(values))
    types = {"g": Type("int"), **{f"x_{plain(kind)}": type_of(kind) for kind in given}}
    frame = session.createDataFrame(pa.table({name: pa.array(rows[name], arrow(types[name])) for name in rows}))
    asked = [
        Question(name, ask, (types[f"x_{plain(kind)}"],), kind)
        for kind in given
        for name, ask in AGGREGATES.items()
        if name not in OF_NUMBERS or types[f"x_{plain(kind)}"].is_number
    ]
    built = [q.ask(theirs, f"x_{plain(q.table)}").alias(f"c{i}") for i, q in enumerate(asked)]
    answer = frame.groupBy("g").agg(*built).orderBy("g")
    columns = [values_of(column) for column in answer.toArrow().columns[1:]]
    engine = {}
    for kind, lists in given.items():
        names = [question.name for question in asked if question.table == kind]
        sums, others = ([name for name in names if (name in OF_NUMBERS) == adds] for adds in (True, False))
        engine[kind] = {
            n: each
            for part in (sums, others)
            if part
            for n, each in aggregated(kind, dict(enumerate(lists)), part).items()
        }
    found = []
    for i, question in enumerate(asked):
        kind = answer.schema[i + 1].dataType.simpleString()
        type_, mine = engine[question.table][question.name]
        if SPARK_NAMES.get(str(type_), str(type_)) != kind:
            found.append(Found(question, (), type_, str(type_), kind, kind))
        for number, values in enumerate(given[question.table]):
            if not same(mine[number], columns[i][number]):
                found.append(Found(question, tuple(values), type_, mine[number], columns[i][number], kind))
    return unexplained(found, explained), explained


def test_every_aggregate_answers_as_spark_does(aggregates):
    left, _ = aggregates
    assert not left, shown(left)


def test_every_entry_of_the_table_still_differs(session, answers, aggregates):
    java = int(session._jvm.java.lang.System.getProperty("java.specification.version").removeprefix("1."))
    there = {*answers[1], *aggregates[1]}
    for entry in DIFFERENCES:
        assert (entry.topic in there) == (java < entry.before_java), entry.topic


def test_every_public_function_is_asked():
    asked = {question.name.split()[0] for question in questions()} | AGGREGATES.keys() | CALLS.keys()
    others = {"asc", "col", "column", "current_date", "current_timestamp", "desc", "expr", "first", "lit"}
    others |= {n for n in ours.__all__ if getattr(ours, n).__module__.rpartition(".")[2] in ("ordered", "statistics")}
    others |= {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"}  # over windows
    others |= {f"{way}_nulls_{end}" for way in ("asc", "desc") for end in ("first", "last")}  # of orders
    others |= {"first_value", "last_value", "nth_value", "last"} & set(ours.__all__)
    others |= {"bool_and", "bool_or", "count_if", "every", "some"}  # of conditions: tests/test_functions.py
    in_sql = "\n".join([nested.ASKED, *nested.QUERIES])
    asked |= {name for name in ours.__all__ if f"{name}(" in in_sql} - others
    asked |= {"create_map"}  # map(...) in SQL
    others |= {"listagg_distinct", "string_agg_distinct"}  # listagg(distinct ...): tests/frontend/test_nested.py
    known = {getattr(ours, name) for name in asked if hasattr(ours, name)}
    twice = {name for name in ours.__all__ if name not in asked and getattr(ours, name) in known}
    assert set(ours.__all__) - asked - twice == others
    assert {"substr", "nvl", "lcase", "ceiling"} <= twice
    assert set(COMPARISONS) <= asked and set(CHOICES) <= asked


# ---- what is not seen on values -----------------------------------------------------------------------

WITH_ANSI: dict[str, tuple[Callable[..., Any], Any]] = {
    "a division by zero": (lambda F, r: r["i"] / 0, None),
    "the rest of one": (lambda F, r: r["i"] % 0, None),
    "a cast that fails": (lambda F, r: r["t"].cast("int"), None),
    "a cast without room": (lambda F, r: r["l"].cast("int"), None),
    "a decimal without room": (lambda F, r: r["l"].cast("decimal(5,2)"), None),
    "a long that overflows": (lambda F, r: r["l"] + 1, REFUSED),
}
"""With ANSI Spark raises; we give null (or refuse the step, which is how a step raises)."""
WITHOUT_TYPES: dict[str, Callable[..., Any]] = {
    "text as a number": lambda F, r: r["t"] + 1,
    "text beside a number": lambda F, r: r["t"] == r["l"],
    "a boolean beside a number": lambda F, r: r["b"] == r["l"],
    "a number as text": lambda F, r: F.lower(r["l"]),
}
"""Spark converts by itself (without ANSI); we say what to write."""
MORE = [
    (
        "ANSI",
        "total unless the program asks for ANSI, `Dataflow(ansi=True)`: "
        "null for a division by zero and for a cast that fails.",
        "with ANSI, its default, raises for both and for an overflow; its `try_` functions give null.",
    ),
    (
        "types that do not fit",
        "refuses to mix text, booleans and numbers when the program is written, and says which cast to write.",
        "converts by itself, and by rules that ANSI changes.",
    ),
]


@pytest.fixture(scope="module")
def one_row(session):
    return session.createDataFrame([(1, 2**63 - 1, "x", True)], "i int, l bigint, t string, b boolean")


@pytest.mark.parametrize("name", WITH_ANSI)
def test_where_spark_with_ansi_raises_we_give_null(session, one_row, name):
    from pyspark.sql import functions as theirs

    ask, wanted = WITH_ANSI[name]
    session.conf.set("spark.sql.ansi.enabled", "true")
    try:
        with pytest.raises(Exception, match=r"DIVIDE_BY_ZERO|REMAINDER_BY_ZERO|CAST_|OVERFLOW|NUMERIC_VALUE"):
            one_row.select(ask(theirs, {name: theirs.col(name) for name in one_row.columns})).collect()
    finally:
        session.conf.set("spark.sql.ansi.enabled", "false")
    schema = schema_of("i int, l long, t string, b boolean")
    expr = resolve(ask(ours, {name: ebb.col(name) for name in schema.names}).tree, schema, "", "")
    try:
        found = operations.evaluate(expr, {"i": 1, "l": 2**63 - 1, "t": "x", "b": True})
    except OverflowError:
        found = REFUSED
    assert found == wanted


@pytest.mark.parametrize("name", WITHOUT_TYPES)
def test_what_spark_converts_by_itself_is_refused_when_it_is_written(one_row, name):
    from pyspark.sql import functions as theirs

    ask = WITHOUT_TYPES[name]
    one_row.select(ask(theirs, {name: theirs.col(name) for name in one_row.columns}))
    with pytest.raises(EbbflowError) as refused:
        schema = schema_of("i int, l long, t string, b boolean")
        resolve(ask(ours, {name: ebb.col(name) for name in schema.names}).tree, schema, "", "")
    assert refused.value.hint


def table() -> str:
    lines = ["| | ebbflow | Spark |", "|--|--|--|"]
    rows = [(entry.topic, entry.we, entry.spark) for entry in DIFFERENCES]
    return "\n".join(lines + [f"| {topic} | {we} | {spark} |" for topic, we, spark in rows + MORE])


def test_the_page_has_the_table():
    assert table() in PAGE.read_text(), f"write this into {PAGE.name}:\n{table()}"
