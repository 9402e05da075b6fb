"""A few values become the words, and a few words the values, that whole columns become: of every type, at the edges."""

import math
import random
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest

import ebbflow as ebb
from ebbflow.columns.ddl import type_of
from ebbflow.columns.lanes_in import encode_column
from ebbflow.columns.lanes_out import python_values
from ebbflow.columns.plain_words import exact_units, number_of, values_of, word_of, words_of
from ebbflow.columns.schema import NULL, Field
from ebbflow.columns.text_pool import Pool
from ebbflow.errors import EbbflowError

CET = timezone(timedelta(hours=1))
MOMENTS = [
    datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59),
    datetime(2024, 2, 29, 12, 0, 0, 1), datetime(2024, 7, 1, 22, tzinfo=UTC), datetime(1, 1, 1, tzinfo=CET),
]  # fmt: skip
VALUES = {
    "double": [0.0, -0.0, 1.5, -1e300, 5e-324, math.inf, -math.inf, math.nan, 3],
    "float": [0.5, 1.1, math.inf, math.nan],
    "boolean": [True, False, 1],
    "date": [date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), date(1969, 12, 31), datetime(2020, 1, 1)],
    "timestamp": MOMENTS,
    "timestamp_ntz": MOMENTS,
    "decimal(18,2)": [
        Decimal("0.01"), Decimal("-9999999999999999.99"), Decimal("1e16"), Decimal("0.001"), 7, 10**15, 10**17, True,
    ],
    "decimal(7,0)": [
        Decimal("1E+3"), Decimal("-0"), Decimal("1.0"), Decimal("NaN"), Decimal("Infinity"), Decimal("1e999999"),
        Decimal("0E+50"), Decimal("1." + "0" * 130 + "1"), Decimal("1." + "0" * 90),
    ],
    "decimal(38,20)": [
        Decimal("1e-20"), Decimal("999999999999999999.99999999999999999999"), Decimal("-1"), 10**17, 10**18, 2**64 - 1,
    ],
    "decimal(38,0)": [10**38 - 1, -(10**38) + 1, 10**38, 2**64 - 1, 2**64, -(2**64), -1, 0, Decimal("1e37")],
}  # fmt: skip


def as_a_column(value, kind):
    """Its words by the way of whole columns; None if that refuses it."""
    try:
        return encode_column([value], Field("x", kind), Pool())
    except EbbflowError:
        return None


@pytest.mark.parametrize("written", VALUES)
def test_a_value_has_the_words_of_a_column(written):
    kind, read = type_of(written), 0
    for value in VALUES[written]:
        found, wanted = word_of(value, kind), as_a_column(value, kind)
        if found is None:
            continue  # left to the way of columns
        read += 1
        words = words_of(found) if kind.is_wide else (found,)
        assert wanted is not None and list(words) == wanted.reshape(-1).tolist(), value
    assert read >= len(VALUES[written]) // 2 or written == "float"


@pytest.mark.parametrize("written", VALUES)
def test_words_have_the_values_of_a_column(written):
    kind = type_of(written)
    lanes = [lane for value in VALUES[written] if (lane := as_a_column(value, kind)) is not None]
    lane = np.concatenate([*lanes, np.full(lanes[0].shape, NULL, np.int64)], axis=-1)
    words, seconds = lane.tolist() if kind.is_wide else (lane.tolist(), None)
    found = values_of(kind, words, seconds)
    if written == "float":
        assert found is None
        return
    assert list(map(repr, found)) == list(map(repr, python_values(lane, kind, Pool())))  # -0.0, digits behind the point


def test_random_decimals_are_the_same_by_both_ways():
    draw = random.Random(5)
    for _ in range(3000):
        precision = draw.randint(1, 38)
        kind = type_of(f"decimal({precision},{draw.randint(0, precision)})")
        value = Decimal(draw.randint(-(10 ** draw.randint(1, 39)), 10 ** draw.randint(1, 39))).scaleb(
            draw.randint(-38, 3)
        )
        units, wanted = exact_units(value, kind), as_a_column(value, kind)
        assert (units is None) == (wanted is None), (value, kind)
        if units is not None:
            words = words_of(units) if kind.is_wide else (units,)
            assert list(words) == wanted.reshape(-1).tolist()
            shown = values_of(kind, [words[0]], [words[1]] if kind.is_wide else None)
            assert list(map(str, shown)) == list(map(str, python_values(wanted, kind, Pool()))), (value, kind)
            if kind.is_wide:
                assert number_of(*words) == units


SCHEMA = "d decimal(18,2), w decimal(38,20), day date, ts timestamp, n timestamp_ntz, b boolean, f double, s string"


def random_row(draw, nulls):
    some = lambda value: None if draw.random() < nulls else value
    return (
        some(Decimal(draw.randint(-300, 300)) / 100), some(Decimal(draw.randint(-3, 3)).scaleb(-20) * 10**17),
        some(date(2024, 1, 1) + timedelta(days=draw.randint(-2, 2))), some(MOMENTS[draw.randint(0, 4)]),
        some(MOMENTS[draw.randint(0, 4)]), some(draw.random() < 0.5),
        some(draw.choice([0.5, -1.0, math.inf, math.nan])), some(draw.choice(["", "a", "b"])),
    )  # fmt: skip


def test_few_rows_are_told_in_the_order_of_many():
    """The rows of steps are the same, taken one by one or as columns, told a few at a time or all at once."""
    draw = random.Random(11)
    for turn in range(120):
        rows = [random_row(draw, 0.2 * (turn % 2)) for _ in range(draw.randint(1, 9))]
        if turn % 4 == 0:  # floats and texts decide the order
            rows = [(*rows[0][:6], *row[6:]) for row in rows]
        flow = ebb.Dataflow()
        flow.output("out", flow.input("t", SCHEMA))
        names = [part.split()[0] for part in SCHEMA.split(", ")]
        with flow.run() as by_row, flow.run() as by_column:
            by_row.insert("t", rows, time=0)
            by_column.insert("t", {name: list(column) for name, column in zip(names, zip(*rows))}, time=0)
            for live in (by_row, by_column):
                live.advance_to(1)
            few = by_row.changes("out").rows()
            table = by_column.changes("out")
            many = list(
                zip(*(table.to_arrow()[name].to_pylist() for name in table.to_arrow().column_names), strict=True)
            )
        without_zone = lambda row: tuple(v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row)
        assert list(map(repr, few)) == list(map(repr, map(without_zone, many)))
