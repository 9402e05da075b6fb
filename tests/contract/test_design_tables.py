"""What DESIGN 9 says of tables: text, HTML, rows, Arrow, and a stable order."""

import pyarrow as pa
import pytest

import ebbflow as ebb


def table(rows=((2, "b"), (1, "a"), (1, "a")), schema="n long, s string"):
    flow = ebb.Dataflow()
    flow.output("out", flow.input("rows", schema))
    return flow.compute(rows=list(rows))["out"]


def changes():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("rows", "n long, s string"))
    with flow.run() as live:
        live.insert("rows", [(2, "b"), (1, "a")], time=1)
        live.delete("rows", [(2, "b")], time=0)
        live.advance_to(2)
        return live.changes("out")


def test_prints_as_a_table():
    assert str(table()) == repr(table()) == "\n".join([
        "┌───┬───┬────────┐",
        "│ n │ s │ _count │",
        "├───┼───┼────────┤",
        "│ 1 │ a │      2 │",
        "│ 2 │ b │      1 │",
        "└───┴───┴────────┘",
    ])  # fmt: skip


def test_show_prints(capsys):
    table().show()
    assert capsys.readouterr().out == str(table()) + "\n"
    table().show(1)
    assert "1 more row" in capsys.readouterr().out


def test_shows_as_html_in_a_notebook():
    page = table([(1, "<b>&")])._repr_html_()
    assert page.startswith("<table>") and "&lt;b&gt;&amp;" in page and "<b>" not in page


def test_iterates_as_rows_that_are_tuples():
    rows = list(table())
    assert rows == [(1, "a", 2), (2, "b", 1)] == table().rows()
    assert all(type(row) is tuple for row in rows)


def test_has_a_length_and_columns():
    assert len(table()) == 2 and len(table([])) == 0
    assert table().columns == ["n", "s", "_count"]
    assert changes().columns == ["n", "s", "_time", "_diff"]


def test_is_sorted_by_time_then_record():
    assert changes().rows() == [(2, "b", 0, -1), (1, "a", 1, 1), (2, "b", 1, 1)]


def test_is_accepted_as_arrow():
    arrow = pa.table(table())
    assert arrow.column_names == ["n", "s", "_count"]
    assert arrow.equals(table().to_arrow())
    assert pa.RecordBatchReader.from_stream(table()).read_all().equals(arrow)
    assert arrow.schema.types == [pa.int64(), pa.string(), pa.int64()]


def test_pandas_and_polars_are_asked_for_only_when_wanted():
    for ask, package in (
        (lambda: table().to_pandas(), "pandas"),
        (lambda: table().to_polars(), "polars"),
        (lambda: table().toPandas(), "pandas"),
    ):
        try:
            found = ask()
        except ebb.errors.MissingPackage as error:
            assert f"pip install {package}" in str(error)
        else:
            assert len(found) == 2


def test_equal_tables_are_equal():
    assert table() == table()
    assert table() == [(1, "a", 2), (2, "b", 1)]
    assert table() != table([(5, "c")])


def test_nulls_and_text_that_would_confuse_a_terminal_are_shown_plainly():
    text = str(table([(None, "a\x1b[31m\nb")]))
    assert "\x1b" not in text and "null" in text and len(text.splitlines()) == 5


@pytest.mark.parametrize("rows", [0, 1, 25, 2000])
def test_long_tables_are_cut_when_printed(rows):
    text = str(table([(i, "x") for i in range(rows)]))
    assert ("more row" in text) == (rows > 20)
