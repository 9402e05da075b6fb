import copy
import io
import pickle
import re
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ebbflow as ebb
from ebbflow.columns.lanes_in import encode
from ebbflow.columns.schema import BINARY, BOOLEAN, DATE, DOUBLE, LONG, STRING, TIMESTAMP, Field, Schema, Type
from ebbflow.columns.text_pool import Pool
from ebbflow.errors import MissingPackage, TypeMismatch
from ebbflow.frontend.plain import SHOWN_CHARACTERS, plain, shown
from ebbflow.frontend.running.row_order import sorted_order
from ebbflow.frontend.running.table import Table

PAIR = Schema((Field("root", LONG), Field("node", LONG)))
NAMED = Schema((Field("name", STRING), Field("x", DOUBLE)))


def changes(schema, rows, coordinates=("time",)):
    """rows: (values..., time, diff)"""
    pool = Pool()
    columns = dict(zip(schema.names, zip(*[row[:-2] for row in rows]))) if rows else {name: [] for name in schema.names}
    lanes = encode(columns, schema, pool)
    times = np.array([row[-2] for row in rows], np.int64).reshape(len(rows), len(coordinates))
    return Table(schema, lanes, times, np.array([row[-1] for row in rows], np.int64), coordinates, pool)


def snapshot(schema, rows):
    table = changes(schema, [(*row[:-1], 0, row[-1]) for row in rows])
    return Table(schema, table._lanes, None, table._weights, ("time",), table._pool)


# ---- copies


@pytest.mark.parametrize("count", [0, 1, 3, 200])
@pytest.mark.parametrize("several", [False, True])
def test_a_table_is_the_same_after_pickle_and_copy(count, several):
    coordinates = ("valid", "system") if several else ("time",)
    rows = [(f"n{i}" if i % 3 else None, float(i), (i, 1) if several else i, 1) for i in range(count)]
    for table in (changes(NAMED, rows, coordinates), snapshot(NAMED, [(*row[:2], row[-1]) for row in rows])):
        for other in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table), copy.copy(table)):
            assert other == table
            assert other.columns == table.columns
            assert other.to_arrow() == table.to_arrow()


# ---- changes that are one array


@given(
    st.lists(
        st.tuples(st.sampled_from([None, "b", "a", "é"]), st.sampled_from([None, 1, -7]), st.integers(0, 2)),
        max_size=90,
        unique=True,
    ),
    st.permutations(["rows", "arrow", "rows", "length", "equals"]),
)
def test_a_table_of_words_reads_as_one_of_parts_in_whatever_order_it_is_asked(rows, asked):
    schema = Schema((Field("name", STRING), Field("x", LONG)))
    parts = changes(schema, [(*row, 1) for row in rows])
    words = np.concatenate([parts._lanes, parts._times.T, parts._weights[None]])
    table = Table.of_words(schema, words, ("time",), parts._pool)
    for one in asked:
        if one == "rows":
            assert table.rows() == parts.rows()
        elif one == "arrow":
            assert table.to_arrow() == parts.to_arrow()
        elif one == "length":
            assert len(table) == len(rows) and table.columns == ["name", "x", "_time", "_diff"]
        else:
            assert table == parts


# ---- the order of rows


@given(
    st.integers(0, 300),
    st.lists(st.sampled_from([1, 3, 2**20, 2**40, 2**62]), min_size=1, max_size=4),
    st.integers(0, 9),
)
def test_rows_are_sorted_as_by_comparing_column_after_column(n, spreads, seed):
    dice = np.random.default_rng(seed)
    keys = [dice.integers(-spread, spread, n) for spread in spreads]
    assert sorted_order(keys).tolist() == np.lexsort(keys[::-1]).tolist()


@given(
    rows=st.lists(
        st.tuples(st.one_of(st.none(), st.integers(-2, 2)), st.integers(-2, 2), st.integers(0, 2), st.integers(0, 2)),
        unique=True,
        max_size=12,
    ),
    several=st.booleans(),
    n=st.integers(0, 12),
)
def test_a_few_rows_come_as_many_would(rows, several, n):
    """A few whole numbers are sorted as tuples, many as columns."""
    given = [(a, b, (t, u) if several else t * 3 + u, 1 + a_ % 2) for a_, (a, b, t, u) in enumerate(rows)]
    few, many = (changes(PAIR, given, ("x", "y") if several else ("time",)) for _ in range(2))
    many._put_in_order()
    assert few._first(n) == many._first(n)
    assert few.rows() == many.rows() == [tuple(row.values()) for row in few.to_arrow().to_pylist()] or several
    few, many = (snapshot(PAIR, [(a, b, 1) for a, b in {(a, b) for a, b, _, _ in rows}]) for _ in range(2))
    many._put_in_order()
    assert few.rows() == many.rows()


@given(
    st.lists(
        st.tuples(st.one_of(st.none(), st.text(max_size=2)), st.one_of(st.none(), st.floats()), st.integers(0, 2)),
        max_size=8,
    )
)
def test_a_few_rows_of_any_type_come_as_many_would(rows):
    few, many = (changes(NAMED, [(name, x, t, 1) for name, x, t in rows]) for _ in range(2))
    many._put_in_order()
    assert few == many


@given(st.lists(st.integers(1, 12), min_size=10, max_size=40), st.integers(0, 999))
def test_changes_that_come_time_by_time_are_sorted_within_each(counts, seed):
    times = np.repeat(np.arange(len(counts)), counts)
    records = np.random.default_rng(seed).integers(-3, 3, (2, len(times)))
    assert sorted_order([times, *records]).tolist() == np.lexsort([*records[::-1], times]).tolist()


def test_the_widest_columns_are_sorted_too():
    least, most = -(2**63), 2**63 - 1
    keys = [np.array([most, least, 0, most, least] * 30), np.array([least, most, 0, most, least] * 30)]
    assert sorted_order(keys).tolist() == np.lexsort(keys[::-1]).tolist()


def test_rows_stand_by_time_then_by_record_text_by_text_and_nulls_first():
    rows = [
        ("b", 1.0, 0, 1),
        ("B", 1.0, 0, 1),
        ("é", 0.0, 0, 1),
        (None, 0.0, 0, 1),
        ("", 0.0, 0, 1),
        ("zz", 0.0, -0, 1),
    ]
    rows += [("b", None, 0, 1), ("b", float("-inf"), 0, 1), ("a", 1.0, 1, -1), ("bb", 1.0, 0, 1)]
    for seed in range(5):
        mixed = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
        found = [row[:2] for row in changes(NAMED, mixed)]
        assert found == [
            (None, 0.0),
            ("", 0.0),
            ("B", 1.0),
            ("b", None),
            ("b", float("-inf")),
            ("b", 1.0),
            ("bb", 1.0),
            ("zz", 0.0),
            ("é", 0.0),
            ("a", 1.0),
        ]


# ---- as values


def test_a_table_is_its_rows():
    table = changes(PAIR, [(1, 3, 7, -1), (1, 2, 0, 1)])
    assert len(table) == 2
    assert list(table) == table.rows() == [(1, 2, 0, 1), (1, 3, 7, -1)]
    assert all(type(value) is int for row in table for value in row)
    assert table.columns == ["root", "node", "_time", "_diff"]
    assert str(table.schema) == "root long, node long, _time long, _diff long"
    assert snapshot(PAIR, [(1, 2, 5)]).rows() == [(1, 2, 5)]
    assert str(snapshot(PAIR, []).schema) == "root long, node long, _count long"


def test_several_coordinates_are_tuples_in_rows_and_structs_in_arrow():
    table = changes(PAIR, [(1, 2, (3, 0), 1), (1, 2, (0, 5), 1)], ("valid", "system"))
    assert table.rows() == [(1, 2, (0, 5), 1), (1, 2, (3, 0), 1)]
    assert table.to_arrow()["_time"].to_pylist() == [{"valid": 0, "system": 5}, {"valid": 3, "system": 0}]
    assert str(table.schema["_time"]) == "struct<valid:long,system:long>"


def test_rows_and_arrow_say_the_same_for_every_type():
    import datetime as dt
    from decimal import Decimal

    schema = Schema(
        tuple(
            Field(str(i), type_)
            for i, type_ in enumerate([LONG, DOUBLE, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, Type("decimal", 9, 2)])
        )
    )
    values = (
        -5,
        1.5,
        True,
        "ü",
        b"\x00\xff",
        dt.date(1969, 7, 20),
        dt.datetime(2024, 2, 29, 1, 2, 3, 4),
        Decimal("-1.25"),
    )
    table = changes(schema, [(*values, 0, 1), (*[None] * 8, 0, 1)])
    arrow = table.to_arrow()
    assert arrow.schema.field("6").type == pa.timestamp("us", "UTC")  # rows are in UTC, and name no zone
    arrow = arrow.set_column(6, "6", arrow.column("6").cast(pa.timestamp("us")))
    arrow = list(zip(*(column.to_pylist() for column in arrow.columns)))
    assert table.rows() == arrow == [(*[None] * 8, 0, 1), (*values, 0, 1)]


def test_tables_are_equal_by_their_rows():
    rows = [(1, 2, 0, 1), (3, 4, 0, 1)]
    assert changes(PAIR, rows) == changes(PAIR, rows[::-1]) == rows
    assert changes(PAIR, rows) != changes(PAIR, rows[:1])
    assert changes(PAIR, rows) != snapshot(PAIR, [(1, 2, 1), (3, 4, 1)])
    assert changes(NAMED, [("a", float("nan"), 0, 1)]) == [("a", float("nan"), 0, 1)]
    assert changes(NAMED, [("a", float("nan"), 0, 1)]) != [("a", "NaN", 0, 1)]
    assert (changes(PAIR, []) == 7) is False
    with pytest.raises(TypeError):
        hash(changes(PAIR, rows))


def test_arrow_takes_a_table_as_it_is():
    table = changes(NAMED, [("a", 1.5, 0, 1), ("b", None, 4, -1)])
    taken = pa.table(table)
    assert taken.column_names == ["name", "x", "_time", "_diff"]
    assert taken.equals(table.to_arrow())
    assert pa.RecordBatchReader.from_stream(table).read_all().equals(taken)


@pytest.mark.parametrize(
    ("method", "package"), [("to_pandas", "pandas"), ("toPandas", "pandas"), ("to_polars", "polars")]
)
def test_frames_come_from_arrow_or_say_what_to_install(method, package, monkeypatch):
    table = changes(PAIR, [(1, 2, 0, 1)])
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage) as refused:
        getattr(table, method)()
    assert f"needs {package}, which is not installed" in str(refused.value)
    assert f"pip install {package}" in str(refused.value)


def test_polars_takes_a_table():
    import polars

    table = changes(PAIR, [(1, 2, 0, 1)])
    assert table.to_polars().rows() == polars.DataFrame(table).rows() == table.rows()


def test_pandas_takes_a_table():
    assert changes(PAIR, [(1, 2, 0, 1)]).to_pandas().to_dict("list") == {
        "root": [1],
        "node": [2],
        "_time": [0],
        "_diff": [1],
    }


def test_pandas_is_told_whole_numbers_beside_nulls_as_they_are():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("xs", "k long, x long, small long, a array<long>, s struct<n: long>"))
    n = 2**53 + 1
    table = flow.compute(
        xs=[(1, n, 7, [n, None], {"n": n}), (2, None, None, [None], {"n": None}), (3, -n, 8, [], None)]
    )
    frame = table["copy"].to_pandas()
    assert frame["x"].tolist() == [n, None, -n]
    assert frame["small"].dtype == "float64"  # as pandas has them
    assert [list(found) for found in frame["a"]] == [[n, None], [None], []]
    assert frame["s"].tolist() == [{"n": n}, {"n": None}, None]


# ---- as people see it


BOX = """\
┌──────┬──────┬───────┬───────┐
│ root │ node │ _time │ _diff │
├──────┼──────┼───────┼───────┤
│    1 │    2 │     0 │    +1 │
│    1 │ null │     7 │    -1 │
└──────┴──────┴───────┴───────┘"""


def test_a_table_prints_as_a_box(capsys):
    table = changes(PAIR, [(1, None, 7, -1), (1, 2, 0, 1)])
    assert repr(table) == str(table) == BOX
    table.show()
    assert capsys.readouterr().out == BOX + "\n"


def test_long_tables_are_cut(capsys):
    table = changes(PAIR, [(i, i, 0, 1) for i in range(1500)])
    assert repr(table).splitlines()[-1] == "... 1,480 more rows"
    assert len(repr(table).splitlines()) == 20 + 4 + 1
    table.show(1499)
    assert capsys.readouterr().out.splitlines()[-1] == "... 1 more row"
    table.show(1500)
    assert "more row" not in capsys.readouterr().out
    assert "... 1,480 more rows" in table._repr_html_()
    for n in (-1, "all", True, 2.5):
        with pytest.raises(TypeMismatch, match="show takes a number of rows"):
            table.show(n)


def test_diffs_are_coloured_by_sign_on_a_terminal_that_can(monkeypatch):
    table = changes(PAIR, [(1, 2, 0, 1), (1, 2, 1, -1)])
    for variable in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[32m+1\x1b[0m" in repr(table) and "\x1b[31m-1\x1b[0m" in repr(table)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in repr(table)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in repr(table)


NASTY = [
    "[red]x[/red]",
    "[/]",
    "\\[bold]",
    "back\\",
    ":smile:",
    "\x1b[31mred\x1b]0;title\x07",
    "a\nb\tc\rd",
    "\u202egnp.exe",
    "\x9b31m",
    "<script>alert(1)</script>",
    "\u2028",
    "http://example.org",
    "\x00",
]


@pytest.mark.parametrize("text", NASTY)
def test_text_cannot_reach_the_terminal_or_the_page_as_anything_but_text(text):
    schema = Schema((Field("name", STRING), Field("x", DOUBLE)))
    table = snapshot(schema, [(text, 1.0, 1)])
    box = repr(table)
    assert len(box.splitlines()) == 5
    assert all(line.isprintable() for line in box.splitlines())
    assert plain(text) in box
    assert "<script" not in table._repr_html_()
    hostile = Table(Schema((Field(text, LONG),)), np.array([[1]]), None, np.array([1]))
    assert plain(text) in repr(hostile) and "<script" not in hostile._repr_html_()


def test_values_read_as_people_write_them():
    assert [plain(value) for value in (None, True, False, 3, 2.0, "x", b"\x00", (3, None))] == [
        "null",
        "true",
        "false",
        "3",
        "2.0",
        "x",
        "b'\\x00'",
        "(3, null)",
    ]
    assert len(plain("long " * 100)) == SHOWN_CHARACTERS
    assert shown("[b]") == "\\[b]"


def test_a_notebook_gets_html_with_types_numbers_on_the_right():
    long = 'style="text-align:right"'
    assert snapshot(PAIR, [(1, None, 3)])._repr_html_() == (
        f"<table><thead><tr><th {long}>root<br><small>long</small></th><th {long}>node<br><small>long</small></th>"
        f"<th {long}>_count<br><small>long</small></th></tr></thead><tbody><tr><td {long}>1</td>"
        f'<td {long}><span style="opacity:0.6">null</span></td><td {long}>3</td></tr></tbody></table>'
    )
    assert '<td style="text-align:left">a</td>' in snapshot(NAMED, [("a", 1.5, 1)])._repr_html_()


def test_html_fixes_no_colour_of_text_so_that_a_dark_page_can_be_read():
    page = changes(PAIR, [(1, 2, 0, 1), (1, 2, 3, -1)])._repr_html_()
    assert "+1</td>" in page and "-1</td>" in page and page.count("background:rgba(") == 2
    assert not re.search(r"[;\"]color:", page)


def test_in_a_notebook_the_text_of_a_table_is_not_shown_beside_its_html(monkeypatch):
    told: list = []
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *shown: told.append(shown))
    assert repr(snapshot(PAIR, [(1, 2, 3)])).splitlines()[1] == "│ root │ node │ _count │" and told == []
