"""Claims about plots: what is drawn is what the table holds, and what is left out is said."""

import sys

import pytest

import ebbflow as ebb

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def changes(rows, schema="shop string, amount long", time=("time",)):
    """A table of these (row, time, diff)."""
    flow = ebb.Dataflow(time=time)
    flow.output("copy", flow.input("rows", schema))
    with flow.run() as live:
        for row, at, diff in rows:
            live.apply("rows", [row], time=at, diff=diff)
        live.close()
        return live.changes("copy")


def snapshot(rows, schema="shop string, amount long"):
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("rows", schema))
    return flow.compute(rows=rows)["copy"]


def drawn(axes):
    return {line.get_label(): list(zip(*(map(float, each) for each in line.get_data()))) for line in axes.lines}


SALES = [(("north", 10), 0, 1), (("south", 5), 0, 1), (("north", 10), 2, -1), (("north", 17), 2, 1)]


def test_changes_are_lines_of_what_is_there():
    assert list(drawn(changes(SALES).plot()).values()) == [[(0, 2), (2, 2)]]
    assert drawn(changes(SALES).plot(y="amount", by="shop")) == {"north": [(0, 10), (2, 17)], "south": [(0, 5), (2, 5)]}


def test_a_group_that_is_gone_stands_at_zero():
    table = changes([*SALES, (("south", 5), 3, -1)])
    assert drawn(table.plot(by="shop"))["south"] == [(0, 1), (2, 1), (3, 0)]


def test_bars_are_counts_or_sums():
    table = snapshot([("north", 10), ("south", 5), ("south", 5), ("south", None), (None, 1)])
    axes = table.plot()
    assert [text.get_text() for text in axes.get_xticklabels()] == ["null", "north", "south"]
    assert [bar.get_height() for bar in axes.patches] == [1, 1, 3]
    assert [bar.get_height() for bar in table.plot(y="amount").patches] == [1, 10, 10]


def test_what_is_not_drawn_is_counted():
    bars = snapshot([(str(i), i) for i in range(40)]).plot(y="amount")
    assert len(bars.patches) == 30 and "10 more not drawn" in bars.get_xlabel()
    lines = changes([((str(i), i), 0, 1) for i in range(12)]).plot(y="amount", by="shop")
    assert len(lines.lines) == 10 and "2 more not drawn" in lines.get_legend().get_title().get_text()


def test_one_of_several_coordinates_is_named():
    table = changes([((1,), (0, 5), 1), ((2,), (3, 1), 1)], "x long", ("valid", "system"))
    assert list(drawn(table.plot(x="valid")).values()) == [[(0, 1), (3, 2)]]
    assert list(drawn(table.plot(x="system")).values()) == [[(1, 1), (5, 2)]]
    with pytest.raises(ebb.errors.TypeMismatch, match="several coordinates"):
        table.plot()


def test_axes_of_one_s_own_are_drawn_into():
    axes = pyplot.subplots()[1]
    assert changes(SALES).plot(ax=axes) is axes


def test_an_empty_table_is_an_empty_plot():
    assert drawn(changes([]).plot(y="amount", by="shop")) == {}
    assert not snapshot([]).plot().patches


@pytest.mark.parametrize(
    ("asked", "says"),
    [({"y": "shop"}, "not a column of numbers"), ({"y": "price"}, "no column 'price'"),
     ({"by": ["x"]}, "no column 'x'"), ({"x": "shop"}, "no time 'shop'")],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(asked, says):
    with pytest.raises(ebb.EbbflowError, match=says):
        changes(SALES).plot(**asked)


def test_without_matplotlib_there_is_a_sentence(monkeypatch):
    table = changes(SALES)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ebb.errors.MissingPackage, match=r'(?s)needs matplotlib.*pip install "ebbflow\[plot\]"'):
        table.plot()
