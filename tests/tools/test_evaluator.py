"""The explorer's evaluator, in JavaScript, gives what the oracle gives."""

import math
import re
import struct
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from random import Random

import pytest

import ebbflow as ebb
from ebbflow.columns.ddl import type_of
from ebbflow.columns.schema import Field, Schema
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import aggregates, windows
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.plan_json import to_json
from ebbflow.dataflow.zoned import zoned
from ebbflow.errors import NumberOverflow, PlanError, TypeMismatch
from ebbflow.expressions.conversions import cast
from ebbflow.expressions.operations import FUNCTIONS, OPERATIONS, evaluate, typed
from ebbflow.expressions.typed import Call, Column, Expr, Literal
from ebbflow.frontend.building.collection import Collection
from ebbflow.runtime.oracle.histories import accumulate
from ebbflow.runtime.oracle.moment import evaluate as evaluate_graph
from ebbflow.runtime.oracle.values import Values
from ebbflow.tools.explorer import page, recording
from tests import explored
from tests.meaning import programs
from tests.meaning.runtimes import histories

VALUES = {
    "long": [0, 1, -1, 7, -7, 2, 3, 25, -15, 2**53 + 1, 2**62, 2**63 - 1, -(2**63) + 1, 10**18, None],
    "int": [0, 5, -5, 2**31 - 1, None],
    "byte": [0, -128, 127, None],
    "double": [0.0, -0.0, 1.5, 2.5, -2.5, 1.005, 0.1, 1e16, 1e22, 123456.789, 1e-5, 5e-324, -7.5, 1e300,
               2.0**63, 2e-323, 1e23, 1e7, 1e-3, 9.5e-4, math.inf, -math.inf, math.nan, None],
    "float": [0.0, 1.5, -0.25, 3.0, math.inf, struct.unpack("f", struct.pack("f", 0.1))[0], 2.0**-149, 2.0**100, -1e7,
              16777216.0, math.nan, None],
    "boolean": [True, False, None],
    "string": ["", "a", "ab", "Abc é", "ß", "😀x", "\uff5e", "12", " -3 ", "+4", "1e3", "0.125", ".5", "inf", "NaN",
               "true", "no", "2024-02-29", "2023-02-29", "2024-2-9 7:05:09.5", "2024-01-01T00:00:00+02:00", "a%b",
               None],
    "binary": [b"", b"a", b"ab\x00", b"\xff\xfe", "é".encode(), None],
    "date": [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31), None],
    "timestamp": [datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 13, 5, 0, 25),
                  datetime(9999, 12, 31, 23, 59, 59), None],
    "timestamp_ntz": [datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 13, 5),
                      None],
    "decimal(9,2)": [Decimal("0.00"), Decimal("1.25"), Decimal("-3.10"), Decimal("2.50"), Decimal("-2.55"),
                     Decimal("9999999.99"), None],
    "decimal(18,6)": [Decimal("0.000001"), Decimal("-1.500000"), Decimal("123456789012.345678"), None],
    "decimal(18,0)": [Decimal(0), Decimal(3), Decimal(-7), Decimal(10**18 - 1), Decimal(10**17), None],
    "decimal(38,10)": [Decimal("0.0000000000"), Decimal("12345678.0000000001"), Decimal("-99999999.9999999999"),
                       Decimal("0.5000000000"), None],
    "decimal(38,37)": [Decimal("0e-37"), Decimal("3e-37"), Decimal(10**18 - 1).scaleb(-37), None],
}  # fmt: skip
TEXTS = [
    "0x1.8p1", "-0X.8P-1f", "0x1p99999", "0x1p-1074", "0x.p1", "1.5d", "2f", "1e400", "1e-400", "1e39", "-0",
    "\x001\x7f", "\xa01", "\u0661", "123456789012345678.5", "99999999999999999999", "2024",
    "2024-02-29T", "2024-02-29 7", "2024-02-29 24:00", "2024-02-29 7:5", "2024-02-29 7:5:3.1234567 UTC+5",
    "2024-02-29 7:05z", "2024-02-29 7:05 GMT-01:30:15", "2024-02-29 7:05+19", "2024-02-29 7:05 +1",
    "2024-02-29 7:05 EST", "2024-02-29 7:05 ?", "2024-02-29 7:05+1x", "0001-01-01 00:00+01:00",
    "9999-12-31 23:30-01", "\u0662\u0660\u0662\u0664-02-29 7:05", "2024-02-29\t 7:05",
]  # fmt: skip
NEARLY = {"exp", "log", "log2", "log10", "pow", "sin", "cos", "tan"}  # each side rounds these in its own way
SPECIAL = {"round": [-2, -1, 0, 1, 2], "like": ["a%", "%b%", "_", "a\\%b", "%", ""]}


@pytest.fixture(scope="module")
def node():
    with explored.Node() as node:
        yield node


def test_random_programs_mean_the_same(node):
    counts = explored.run(node, 300, seed=11)
    assert counts["cases"] == 300
    assert counts["2 nested loops"] > 50 and counts["2 coordinates"] > 50 and counts["3 coordinates"] > 20
    assert counts["with functions, refused"] > 20


def columns_of(op, random):
    """The columns with which to try an operation: many kinds, since most do not fit."""
    entry = OPERATIONS[op]
    most = entry.most or 3
    for _ in range(120):
        count = random.randint(max(entry.least, 1), max(entry.least, most))
        kinds = [random.choice(list(VALUES)) for _ in range(count)]
        if random.random() < 0.5:
            kinds = [kinds[0]] * count
        if op == "when":
            kinds = ["boolean", kinds[0], kinds[0]]
        if op == "substr":
            kinds = [kinds[0], "long", "long"]
        yield kinds


def fitting(op, random):
    """Expressions of an operation over columns, each with its schema; a column's name is its place."""
    for kinds in columns_of(op, random):
        schema = Schema(tuple(Field(f"c{i}", type_of(kind)) for i, kind in enumerate(kinds)))
        args: list[Expr] = [Column(field.name, field.type) for field in schema]
        if len(args) == 2 and random.random() < 0.4:  # a constant beside a column
            args[1] = Literal(random.choice(VALUES[kinds[1]][:-1]), schema.types[1])
        for last in SPECIAL.get(op, [None]):
            if last is not None:
                args = [args[0], Literal(last, type_of("string" if op == "like" else "long"))]
            try:
                yield typed(op, args), schema
            except TypeMismatch:
                continue


def wanted(expr, schema, row):
    try:
        return explored.plain(evaluate(expr, dict(zip(schema.names, row, strict=True))), expr.type)
    except OverflowError:
        return {"refused": "NumberOverflow"}


def near(found, right):
    if not (isinstance(found, str) and isinstance(right, str)):
        return found == right
    return found == right or (found[0] == right[0] == "f" and abs(int(found[1:]) - int(right[1:])) <= 2)


def agree(node, expr, schema, rows, op):
    found = explored.ask_expression(node, expr, schema, rows)
    for row, here in zip(rows, found, strict=True):
        right = wanted(expr, schema, row)
        assert near(here, right) if op in NEARLY else here == right, f"{expr} of {row}: {here} in place of {right}"


def test_a_function_that_the_page_does_not_know_is_refused_by_name(node):
    asked = 0
    for op in sorted(FUNCTIONS):
        for expr, schema in fitting(op, Random(op)):
            if not isinstance(expr, Call) or expr.op != op:
                continue  # put together of operations, which the page may know
            answer = explored.ask_expression(node, expr, schema, [])
            assert answer["refused"] == "PlanError" and f'"{op}"' in answer["what"], (op, answer)
            asked += 1
    assert asked > 50


@pytest.mark.parametrize("op", [op for op in OPERATIONS if op not in ("cast", "cast_parts") and op not in FUNCTIONS])
def test_an_operation_means_the_same(node, op):
    random = Random(op)
    tried = 0
    for expr, schema in fitting(op, random):
        if op.endswith("trim") and len(expr.args) > 1:
            assert (
                explored.ask_expression(node, expr, schema, [])["refused"] == "PlanError"
            )  # other letters than spaces
            continue
        rows = [tuple(random.choice(VALUES[str(kind)]) for kind in schema.types) for _ in range(30)]
        agree(node, expr, schema, rows, op)
        tried += 1
    assert tried > 0, op


def test_decimals_of_more_digits_than_there_are_refused(node):
    wide = type_of("decimal(38,0)")
    schema = Schema((Field("c0", wide), Field("c1", wide)))
    most = Decimal(10**38 - 1)
    rows = [(most, Decimal(0)), (most, Decimal(1)), (most, most)]
    agree(node, typed("add", [Column("c0", wide), Column("c1", wide)]), schema, rows, "add")
    assert wanted(typed("add", [Column("c0", wide), Column("c1", wide)]), schema, rows[1]) == {
        "refused": "NumberOverflow"
    }


@pytest.mark.parametrize("here", VALUES)
def test_a_cast_means_the_same(node, here):
    schema = Schema((Field("c0", type_of(here)),))
    rows = [(value,) for value in VALUES[here] + (TEXTS if here == "string" else [])]
    for target in [*VALUES, "short", "decimal(5,0)", "decimal(18,18)"]:
        try:
            expr = cast(Column("c0", type_of(here)), type_of(target))
        except TypeMismatch:
            continue
        agree(node, expr, schema, rows, "cast")


NUMBERS = [kind for kind in VALUES if type_of(kind).is_number]
EXACT = ("add", "sub", "mul", "div", "floordiv", "mod", "neg", "abs", "eq", "lt", "ge", "eq_null_safe", "is_in",
         "greatest", "least", "coalesce", "floor", "ceil", "round", "cast")  # fmt: skip


def some_call(args, random):
    op = random.choice(EXACT)
    if op == "cast":
        return cast(args[0], type_of(random.choice([*NUMBERS, "string", "decimal(20,4)", "decimal(38,0)"])))
    if op == "round":
        return typed(op, [args[0], Literal(random.randint(-3, 5), type_of("long"))])
    return typed(op, args[: OPERATIONS[op].most])


def some_value(kind, random):
    type_ = type_of(kind)
    if type_.is_float or random.random() < 0.3:
        return random.choice(VALUES[kind])
    if type_.is_integer:
        return random.randint(-100, 100)
    most = 10 ** random.randint(0, min(18, type_.precision)) - 1
    return Decimal(random.randint(-most, most)).scaleb(-type_.scale)


def test_numbers_of_many_types_in_nested_expressions_mean_the_same(node):
    """Decimals of all scales beside integers, doubles and constants; what overflows inside refuses the whole."""
    random, tried, refused = Random(23), 0, 0
    for _ in range(1000):
        kinds = [random.choice(NUMBERS) for _ in range(3)]
        schema = Schema(tuple(Field(f"c{i}", type_of(kind)) for i, kind in enumerate(kinds)))
        args: list[Expr] = [Column(field.name, field.type) for field in schema]
        if (value := some_value(kinds[2], random)) is not None:
            args[2] = Literal(value, schema.types[2])
        try:
            expr = some_call([some_call(random.sample(args, 3), random), *random.sample(args, 2)], random)
        except TypeMismatch:
            continue
        rows = [tuple(some_value(kind, random) for kind in kinds) for _ in range(10)]
        agree(node, expr, schema, rows, "many")
        tried += 1
        refused += any(isinstance(wanted(expr, schema, row), dict) for row in rows)
    assert tried > 600 and refused > 10


def test_every_aggregate_gives_what_the_engine_gives(node):
    """Of decimals a sum has their scale, an average four digits more, and more than 38 digits are refused."""
    random = Random(17)
    refused = 0
    for kind in [kind for kind in VALUES if type_of(kind).is_number] * 6:
        flow = ebb.Dataflow()
        given = flow.input("x", f"k long, v {kind}")
        numbers = {op: getattr(ebb, op)("v") for op in ("sum", "avg", "min", "max", "count", "count_distinct")}
        flow.output("out", given.group_by("k").agg(**numbers))
        rows = [(random.randrange(3), random.choice(VALUES[kind])) for _ in range(random.randint(1, 12))]
        said = answer_of(node, flow, {"x": rows})
        try:
            right = flow.compute(x=rows)["out"].rows()
        except NumberOverflow:
            assert said == "NumberOverflow", (kind, rows)
            refused += 1
            continue
        types = flow.graph.schemas[-1].types
        wanted = [tuple(map(explored.plain, row[:-1], types)) for row in right]
        assert sorted(said, key=str) == sorted(wanted, key=str), (kind, rows)
    assert 0 < refused < 40


FRAMES = [None, *(n.Frame("rows", *ends) for ends in ((None, 0), (-1, 1), (1, 2), (-3, -2), (0, None), (2, 1))),
          *(n.Frame("range", *ends) for ends in ((None, 0), (0, 0), (None, None)))]  # fmt: skip
RANGES = [n.Frame("range", *ends) for ends in ((-2, 1), (None, -1), (1, None), (-1, 0))]


def some_windows(sketch, source, random):
    """A window over rows (k, v, w), with some functions in it."""
    schema = sketch.schema(source)
    order = " ".join(
        f"{random.choice(['', '-'])}{name}{random.choice(['', '!'])}" for name in random.choice(["w", "wv", "vw", ""])
    )
    by_number = len(order.split()) == 1 and (
        schema[order.strip("-!")].is_number or schema[order.strip("-!")].name == "date"
    )
    asked = []
    for op, kind in windows.WINDOW_FUNCTIONS.items():
        column = random.choice("vw") if kind.of == "yes" else None
        if (kind.ordered and not order) or (op in ("sum", "avg") and not schema[column].is_number):
            continue
        frame = random.choice([*FRAMES, *(RANGES if by_number else [])]) if kind.framed else None
        number = random.choice([1, 2, 3]) * (random.choice([1, -1]) if op == "lead" else 1) if kind.numbered else 0
        default = column if op == "lead" and random.random() < 0.5 else None
        skips = kind.skips and random.random() < 0.5
        asked.append(n.WindowFunction(op, column, f"f{len(asked)}", frame, number, default, skips))
    return sketch.window(source, random.choice([("k",), ()]), order, *asked)


def some_aggregates(sketch, source, random):
    schema, asked = sketch.schema(source), {}
    for op, kind in aggregates.TABLE.items():
        if kind.collects:  # a function of whole groups, by the time there is a plan
            continue
        column = random.choice("vw")
        if kind.takes == "rows":
            asked[op] = (op, None)
        elif aggregates.takes(op, schema[column]):
            part = f"({random.choice([0.0, 0.25, 0.5, 0.9, 1.0])})" if kind.has_part else ""
            asked[op] = (op + part, column, *(["v" if column == "w" else "w"] if kind.has_order else []))
    return sketch.aggregate(source, random.choice([("k",), ()]), **asked)


def check_reductions(node, cases, seed):
    """Groups of values of all types, some rows there twice and some less than not at all."""
    random, seen = Random(seed), Counter()
    for _ in range(cases):
        kinds = ["long", *(random.choice(["double", *VALUES]) for _ in range(2))]
        schema = Schema(tuple(Field(name, type_of(kind)) for name, kind in zip("kvw", kinds, strict=True)))
        sketch, pool = programs.Sketch(), Pool()
        source = sketch.input("x", schema)
        nodes = [some_aggregates(sketch, source, random), some_windows(sketch, source, random)]
        rows = [
            (random.randrange(2), *(random.choice(VALUES[kind]) for kind in kinds[1:]))
            for _ in range(random.randint(1, 9))
        ]
        changes = [("x", row, (0,), random.choice([1, 1, 1, 2, -1])) for row in rows]
        values = Values(pool)
        given = {"x": accumulate(histories(sketch.graph, changes, values)["x"], (0,))}
        inputs = {
            "x": [[[page.value_for_javascript(value) for value in row], [0], diff] for _, row, _, diff in changes]
        }
        for asked in nodes:
            question = {"plan": page.for_javascript(to_json(sketch.graph)), "inputs": inputs, "changes": []}
            said = node.ask({**question, "points": {asked: [[[0], []]]}, "most": 1})
            try:
                right = evaluate_graph(sketch.graph, asked, given, pool)
            except NumberOverflow:
                assert said["at"][str(asked)] == [None], (kinds, rows, said)
                seen["refused"] += 1
                continue
            yielded = sketch.graph.schemas[asked]
            wanted = {explored.plain_row(record, yielded, values): weight for record, weight in right.items()}
            assert "at" in said, (said, sketch.graph.nodes[asked])
            found = {tuple(row): int(weight) for row, weight in said["at"][str(asked)][0]}
            assert found == wanted, (sketch.graph.nodes[asked], changes)
            seen[type(sketch.graph.nodes[asked].reducer).__name__] += 1
    return seen


def test_aggregates_and_windows_of_all_types_mean_the_same(node):
    seen = check_reductions(node, 250, 5)
    assert seen["Aggregates"] > 150 and seen["Window"] > 150 and seen["refused"] > 5, seen


def answer_of(node, flow, inputs):
    """The rows of a program's last node at the first time, each once; or the name of what refuses them."""
    given = recording.Recording(flow.graph)
    for name, rows in inputs.items():
        given.changes[name] = [(row, (0,) * len(flow.graph.coordinates), 1) for row in rows]
    held, last = page.content(given), len(flow.graph.nodes) - 1
    answer = node.ask({**held, "changes": [last], "points": {}, "most": 1})
    if "refused" in answer:
        return answer["refused"]
    changes = answer["changes"][str(last)]
    return "NumberOverflow" if changes is None else [tuple(row) for row, _, _ in changes]


def test_rows_that_never_change_are_there_from_the_first_time_on(node):
    flow = ebb.Dataflow(time=("valid", "system"))
    schema = Schema((Field("a", type_of("long")), Field("p", type_of("decimal(9,2)"))))
    rows = ((2**60, Decimal("1.50")), (None, None), (2**60, Decimal("1.50")))
    constant = Collection(flow.graph, flow.graph.add(n.Input("constant 1", schema, (), rows)))
    flow.output("out", constant.union(flow.input("x", "a long, p decimal(9,2)")))
    held = page.content(recording.recorded(flow, None, {"x": [(1, Decimal("0.10"))]}))
    assert held["inputs"].keys() == held["frontiers"].keys() == held["dropped"].keys() == {"x"}
    last = len(flow.graph.nodes) - 1
    answer = node.ask({**held, "changes": [last], "points": {}, "most": 1})
    found = [[[str(2**60), "150"], [0, 0], "2"], [[None, None], [0, 0], "1"], [["1", "10"], [0, 0], "1"]]
    assert sorted(answer["changes"][str(last)], key=str) == sorted(found, key=str)


# ---- time zones -----------------------------------------------------------------------------

ZONED = {
    "year": lambda row: row.at.dt.year(),
    "weekday": lambda row: row.at.dt.weekday(),
    "date of a timestamp": lambda row: row.at.cast("date"),
    "timestamp of a date": lambda row: row.day.cast("timestamp"),
    "text of a timestamp": lambda row: row.at.cast("string"),
    "timestamp of text": lambda row: row.text.cast("timestamp"),
    "timestamp of a clock": lambda row: row.clock.cast("timestamp"),
    "clock of a timestamp": lambda row: row.at.cast("timestamp_ntz"),
    "a constant": lambda row: row.at >= "2024-02-29",
}
COLUMNS = "at timestamp, day date, text string, clock timestamp_ntz"


@pytest.mark.parametrize("name", ZONED)
@pytest.mark.parametrize("zone", ["America/New_York", "+05:30"])
def test_a_program_that_reads_the_clocks_of_a_zone_is_refused(node, name, zone, tmp_path):
    flow = ebb.Dataflow(timezone=zone)
    flow.output("out", flow.input("x", COLUMNS).select(found=ZONED[name]))
    with pytest.raises(PlanError, match=f"clocks of the time zone {re.escape(zone)}"):
        flow.explore(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
    for graph in (flow.graph, zoned(flow.graph, zone)):  # as it was written, and as it runs
        asked = {"plan": explored.for_javascript(to_json(graph)), "inputs": {}, "changes": [], "points": {}, "most": 1}
        answer = node.ask(asked)
        assert answer["refused"] == "PlanError" and f'time zone "{zone}"' in answer["what"]


def test_a_program_in_a_zone_that_reads_no_clock_is_explored(tmp_path):
    for zone, select in (("America/New_York", lambda row: row.clock.dt.hour()), ("UTC", lambda row: row.at.dt.hour())):
        flow = ebb.Dataflow(timezone=zone)
        flow.output("out", flow.input("x", COLUMNS).select(found=select))
        assert flow.explore(tmp_path / "page.html").path.exists()


@pytest.mark.parametrize("target", ["timestamp", "timestamp_ntz"])
def test_a_text_that_names_a_region_is_refused(node, target):
    expr = cast(Column("c0", type_of("string")), type_of(target))
    schema = Schema((Field("c0", type_of("string")),))
    rows = [("2024-02-29 7:05 Europe/Paris",), ("2024-02-29 7:05 CST",), ("2024-02-29 7:05",)]
    found = explored.ask_expression(node, expr, schema, rows)
    assert found[:2] == [{"refused": "PlanError"}] * 2 and found[2] == wanted(expr, schema, rows[2])


STEPWISE = "exact = inSmallest(quotient(exact, 1n << 1074n) + value * Number(weight));"
PLANTED = {
    "nulls meet in a join": ("if (key.includes(null)) continue;", ""),
    "text by its halves": ("return high !== other ? (high ? 1 : -1) : a - b;", "return a - b;"),
    "sums rounded at every step": ("exact += inSmallest(value) * weight;", STEPWISE),
    "a loop that stops a round early": ("(latest <= r) return r;", "(latest <= r) return Math.max(0, r - 1);"),
    "rows that wait come at once": ("row[at] === null || row[at] <= BigInt(last)", "true"),
    "negative counts are distinct": ("if (weight > 0n) found.set(key, [row, 1n])", "found.set(key, [row, 1n])"),
    "changes along one coordinate only": ("Math.floor(n / stride) % length ?", "stride === 1 && n % length ?"),
    "decimals of two scales compared as words": ("return (...values) => fn(...alike(values));", "return fn;"),
    "a decimal of many digits": ("magnitude(x) >= 10n ** BigInt(PRECISION)", "magnitude(x) > MOST ** 9n"),
    "halves towards zero": ("(2n * magnitude(x) + magnitude(y)) /", "(2n * magnitude(x) + magnitude(y) - 1n) /"),
    "null is a value of a window": ("if (!(skips && this.rows[j][at] === null)) left -= 1;", "left -= 1;"),
    "a frame without its last row": ("Math.max(0, i + end + 1)", "Math.max(0, i + end)"),
    "nulls are always first": ("return (x[k] === null) === last ? 1 : -1;", "return x[k] === null ? -1 : 1;"),
    "an even count of a value's bits": ("count & 1n ? value : 0n", "value"),
    "nan is not itself": ("if (x !== x || y !== y) return (x !== x) - (y !== y);", ""),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(name, tmp_path):
    before, after = PLANTED[name]
    text = explored.EVALUATOR.read_text()
    assert text.count(before) == 1, name
    (tmp_path / "evaluator.mjs").write_text(text.replace(before, after))
    with explored.Node(tmp_path / "evaluator.mjs") as spoiled, pytest.raises(AssertionError):
        for op in ("eq", "lt", "add", "round"):
            test_an_operation_means_the_same(spoiled, op)
        test_decimals_of_more_digits_than_there_are_refused(spoiled)
        check_reductions(spoiled, 150, 5)
        explored.run(spoiled, 600, seed=3)
