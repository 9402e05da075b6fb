"""Another checkout beside this one: figures are found, answers compared."""

import click
import pytest

from benchmarks import before, runner
from benchmarks.table import Measure, Row

ROW = Row(
    "reach", "tiny", ("small",), "reach", {"step": 1}, (Measure("time", "us_per_time", "us"), Measure("p", "a.b", "us"))
)


def run_of(**found):
    return runner.Run(found, 1.0, 1.0, False, found.pop("trouble", ""))


def sides(monkeypatch, here, there):
    monkeypatch.setattr(before, "measured", lambda row, checkout, core: here if checkout == runner.CHECKOUT else there)


def test_figures_of_both_sides_are_found(monkeypatch, tmp_path):
    sides(monkeypatch, run_of(us_per_time=2, checks=1, a={"b": 3}), run_of(us_per_time=4, checks=1, a={"b": 6}))
    found = before.compared(ROW, tmp_path, 3, None)
    assert found == [("time", [2.0] * 3, [4.0] * 3), ("p", [3.0] * 3, [6.0] * 3)]


def test_a_measure_that_one_side_lacks_is_left_out(monkeypatch, tmp_path):
    sides(monkeypatch, run_of(us_per_time=2, checks=1, a={"b": 3}), run_of(us_per_time=4, checks=1))
    assert [name for name, _, _ in before.compared(ROW, tmp_path, 1, None)] == ["time"]


def test_a_row_that_one_side_cannot_run_is_left_out(monkeypatch, tmp_path):
    sides(monkeypatch, run_of(us_per_time=2, checks=1), run_of(trouble="no such workload"))
    assert before.compared(ROW, tmp_path, 1, None) == []


def test_other_answers_are_no_figures(monkeypatch, tmp_path):
    sides(monkeypatch, run_of(us_per_time=2, checks=1), run_of(us_per_time=2, checks=2))
    with pytest.raises(click.ClickException, match="different answers"):
        before.compared(ROW, tmp_path, 1, None)
