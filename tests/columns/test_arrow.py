import weakref
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.columns import arrow
from ebbflow.columns.arrow import Reader
from ebbflow.columns.lanes_in import encode
from ebbflow.columns.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    INT,
    LONG,
    NULL,
    SHORT,
    STRING,
    TIMESTAMP,
    Field,
    Schema,
    Type,
)
from ebbflow.columns.text_pool import Pool
from ebbflow.errors import TypeMismatch
from ebbflow.native.kernel import twin

MONEY = Type("decimal", 9, 2)
WHOLE = [(pa.int64(), 64), (pa.int32(), 32), (pa.int16(), 16), (pa.int8(), 8)]
COLUMNS = {
    **{
        f"{name} {kind}": (type_, kind, st.integers(-(2 ** (bits - 1)) + (bits == 64), 2 ** (bits - 1) - 1))
        for name, type_ in (("long", LONG), ("int", INT), ("short", SHORT), ("byte", BYTE))
        for kind, bits in WHOLE
        if bits <= {"long": 64, "int": 32, "short": 16, "byte": 8}[name]
    },
    "unsigned 32": (LONG, pa.uint32(), st.integers(0, 2**32 - 1)),
    "unsigned 16": (LONG, pa.uint16(), st.integers(0, 2**16 - 1)),
    "unsigned 8": (SHORT, pa.uint8(), st.integers(0, 255)),
    "double": (DOUBLE, pa.float64(), st.floats() | st.sampled_from([0.0, -0.0, float("nan"), -float("inf")])),
    "boolean": (BOOLEAN, pa.bool_(), st.booleans()),
    "date": (DATE, pa.date32(), st.dates()),
    "timestamp": (TIMESTAMP, pa.timestamp("us"), st.datetimes()),
    "timestamp in a zone": (TIMESTAMP, pa.timestamp("us", "UTC"), st.datetimes()),
    "decimal": (MONEY, pa.decimal128(12, 2), st.decimals(-9999999, 9999999, places=2)),
    "string": (STRING, pa.string(), st.text(max_size=20) | st.text("ab\0é😀", max_size=9)),
    "large string": (STRING, pa.large_string(), st.text(max_size=20)),
    "binary": (BINARY, pa.binary(), st.binary(max_size=20)),
    "large binary": (BINARY, pa.large_binary(), st.binary(max_size=9)),
}


def fields(**types):
    return [Field(name, type_) for name, type_ in types.items()]


def both(table, schema, pool=None):
    """What the reader finds, and what `encode` does."""
    reader, pool = Reader.of(table.schema, schema), Pool() if pool is None else pool
    return reader.read(table, pool), encode(table, Schema(tuple(schema)), pool)


@given(st.data())
def test_what_is_read_is_what_encode_gives(data):
    chosen = data.draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4))
    count = data.draw(st.integers(0, 70))
    columns = {}
    for i, name in enumerate(chosen):
        _, kind, values = COLUMNS[name]
        nulls = data.draw(st.booleans())
        drawn = data.draw(st.lists(st.none() | values if nulls else values, min_size=count, max_size=count))
        columns[f"c{i}"] = pa.array(drawn, kind)
    table = pa.table(columns)
    if data.draw(st.booleans()):
        cut = data.draw(st.integers(0, count))
        table = pa.concat_tables([table.slice(0, cut), pa.table(columns).slice(cut)])
    start = data.draw(st.integers(0, count))
    table = table.slice(start, data.draw(st.integers(0, count - start)))
    order = data.draw(st.permutations(range(len(chosen))))
    schema = [Field(f"c{i}", COLUMNS[chosen[i]][0]) for i in order]
    found, wanted = both(table, schema, Pool(bits=data.draw(st.sampled_from([4, 64]))))
    assert found.tolist() == wanted.tolist()


def test_a_batch_is_read_like_a_table():
    batch = pa.record_batch({"a": [1, 2, 3], "b": ["x", None, "z"]})
    found, wanted = both(batch, fields(b=STRING, a=LONG))
    assert found.tolist() == wanted.tolist()


def test_text_that_needs_a_larger_pool_is_read_on_where_it_stopped():
    texts = [f"{i} " * (i % 40) for i in range(20_000)] + ["x" * 10_000_000]
    table = pa.table({"n": range(len(texts)), "t": texts, "u": texts[::-1]})
    pool = Pool()
    found, wanted = both(table, fields(t=STRING, n=LONG, u=STRING), pool)
    assert found.tolist() == wanted.tolist()
    assert pool.decode(found[2]).to_pylist() == texts[::-1]


def test_a_batch_that_starts_within_its_buffers_is_read_from_there():
    texts = [None if i % 3 == 0 else f"text {i}" for i in range(100)]
    batch = pa.record_batch({"a": [None if i % 5 == 0 else i for i in range(100)], "t": texts})
    for start in (0, 1, 7, 8, 9, 63, 64, 99, 100):
        found, wanted = both(batch.slice(start), fields(a=LONG, t=STRING))
        assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("type_", "array"),
    [
        (INT, pa.array([1, 2**31])),
        (BYTE, pa.array([-129], pa.int16())),
        (LONG, pa.array([0, NULL])),
        (LONG, pa.array([None, NULL])),
        (TIMESTAMP, pa.array([NULL], pa.int64()).view(pa.timestamp("us"))),
        (Type("decimal", 4, 2), pa.array([Decimal("123.45")])),
        (Type("decimal", 4, 2), pa.array([None, Decimal("99999999999999999999.99")], pa.decimal128(38, 2))),
    ],
)
def test_what_does_not_fit_is_left_to_encode_which_refuses_it(type_, array):
    table = pa.table({"x": array})
    assert Reader.of(table.schema, fields(x=type_)).read(table, Pool()) is None
    with pytest.raises(TypeMismatch):
        encode(table, Schema((Field("x", type_),)), Pool())


def test_what_a_null_lies_on_is_not_looked_at():
    data = pa.py_buffer(np.array([5, NULL, 7]))
    array = pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), data])
    found, wanted = both(pa.table({"x": array}), fields(x=LONG))
    assert found.tolist() == wanted.tolist() == [[5, NULL, 7]]


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"x": pa.array(["a"]).dictionary_encode()}),
        pa.table({"x": ["a"], "y": [1]}),
        pa.table({"y": ["a"]}),
        pa.table([["a"], ["b"]], names=["x", "x"]),
        pa.table({"x": [1]}),
        pa.table({"x": pa.nulls(1)}),
        pa.table({"x": pa.array(["a"], pa.string_view())}),
    ],
)
def test_columns_with_ways_of_their_own_are_not_read_here(table):
    assert Reader.of(table.schema, fields(x=STRING)) is None


def test_columns_of_numbers_beside_the_fields_are_never_null():
    table = pa.table({"x": [5, 6], "t": pa.array([1, 2], pa.int32()), "d": [1, -1]})
    assert Reader.of(table.schema, fields(x=LONG), ["t", "d"]).read(table, Pool()).tolist() == [[5, 6], [1, 2], [1, -1]]
    table = pa.table({"x": [5, 6], "t": pa.array([1, None], pa.int32()), "d": [1, -1]})
    assert Reader.of(table.schema, fields(x=LONG), ["t", "d"]).read(table, Pool()) is None


def test_memory_that_is_not_aligned_is_left_to_encode():
    raw = bytearray(b"\0" + np.arange(3).tobytes() + b"\0" * 8)
    odd = pa.Array.from_buffers(pa.int64(), 3, [None, pa.py_buffer(raw).slice(1)])
    table = pa.table({"x": odd})
    assert Reader.of(table.schema, fields(x=LONG)).read(table, Pool()) is None


def test_a_table_is_let_go_when_it_was_read():
    before = pa.total_allocated_bytes()
    table = pa.table({"x": np.arange(1 << 16) + 0, "t": [f"{i}" for i in range(1 << 16)]})
    reader = Reader.of(table.schema, fields(x=LONG, t=STRING))
    lanes = reader.read(table, Pool())
    del table
    assert pa.total_allocated_bytes() <= before and lanes[0, -1] == (1 << 16) - 1


def test_a_table_is_let_go_also_when_it_was_refused_or_the_reading_interrupted(monkeypatch):
    def held(column):
        numbers = np.arange(8)
        table = pa.table({"x": pa.Array.from_buffers(pa.int64(), 8, [None, pa.py_buffer(numbers)]), "y": column})
        return table, weakref.ref(numbers)

    reader, pool = Reader.of(held(["a"] * 8)[0].schema, fields(x=LONG, y=STRING)), Pool()
    table, alive = held(["a" * 5000] + ["b"] * 7)  # the pool grows
    assert reader.read(table, pool) is not None
    del table
    assert alive() is None
    table, alive = held(["a"] * 8)
    with monkeypatch.context() as patched:
        patched.setattr(arrow, "read_batch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reader.read(table, pool)
    del table
    assert alive() is None
    table, _ = held(["c"] * 8)
    assert reader.read(table, pool)[0].tolist() == list(range(8))
    table, alive = held(["a"] * 8)
    assert Reader.of(table.schema, fields(x=BYTE, y=STRING)).read(table.set_column(0, "x", [[1000] * 8]), pool) is None
    assert Reader.of(table.schema, fields(y=STRING, x=BYTE)).read(table, pool) is not None
    del table
    assert alive() is None


def interrupted(*_):
    raise KeyboardInterrupt


def test_elements_are_read_as_their_twin_reads_them():
    raw = np.frombuffer(np.random.default_rng(3).bytes(256), np.int64)
    at = raw.ctypes.data
    for form, size in ((arrow.INT64, 8), (arrow.INT32, 4), (arrow.UINT16, 2), (arrow.INT8, 1), (arrow.FLOAT64, 8)):
        n = 256 // size
        found = np.empty(n, np.int64)
        arrow.read_numbers(form, NULL, -(NULL + 1), at, 0, n, found.ctypes.data // 8 - 1)
        with np.errstate(over="ignore"):
            assert found.tolist() == [int(twin(arrow.element)(form, at, i)) for i in range(n)]


def test_times_of_day_are_those_of_encode():
    table = pa.table({"d": [date(1969, 12, 31), None], "t": [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)]})
    found, wanted = both(table, fields(t=TIMESTAMP, d=DATE))
    assert found.tolist() == wanted.tolist()


def test_text_that_is_not_utf8_is_left_to_who_can_say_so_also_if_it_is_known_as_bytes():
    text, raw = pa.array(["fine", "ebb"]), pa.array([b"\xff", b"fine"])
    types, pool = fields(s=STRING, b=BINARY), Pool()

    def read(s, b):
        table = pa.table({"s": s, "b": b})
        return Reader.of(table.schema, types).read(table, pool)

    assert read(text, raw) is not None and not pool.is_all_utf8
    assert read(text, raw) is not None  # beside bytes that are none, text is text
    assert read(raw.view(pa.string()), raw) is None
    with pytest.raises(TypeMismatch, match=r"row 0 has b.* which is not UTF-8"):
        encode(pa.table({"s": raw.view(pa.string()), "b": raw}), Schema(types), pool)
