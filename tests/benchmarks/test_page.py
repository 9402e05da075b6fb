"""Claims about docs/benchmarks.md: its tables and charts are the results that it names, and a change is noticed."""

import json

import click
import pytest

from benchmarks import page

ROW = {
    "workload": "reach",
    "size": "1k/2k",
    "step": 1,
    "workers": 1,
    "measure": "time",
    "ours": 120.0,
    "rust": 1000.0,
    "unit": "us per time",
    "ratio": 0.12,
    "first": 0.25,
    "goal": 0.08,
    "reached": "first",
    "disturbed": False,
    "p50": 100.0,
    "p99": 300.0,
    "max": 900.0,
    "machine": "a machine, 2 cores",
    "starting_over": {"scipy": {"s": 0.001, "pays_up_to": 8.3}},
}
EMPTY = "before\n" + "".join(
    f"<!-- {mark} -->\nold\n<!-- end -->\nprose\n"
    for mark in ("source", "original", "steps", "dbsp", "queries", "queries beside dbsp", "starting over")
)


def results(tmp_path, name="2026-01-02-abc.json", **changed):
    path = tmp_path / name
    path.write_text(json.dumps([ROW | changed]))
    return [path]


def test_the_page_shows_the_results_that_it_names():
    text = page.PAGE.read_text()
    assert page.written(text, page.named(text)) == text


def test_what_stands_between_marks_is_replaced_and_prose_stays(tmp_path):
    text = page.written(EMPTY, results(tmp_path))
    assert "old" not in text and text.count("prose") == 7 and text.startswith("before\n")
    assert "| reach | 1k/2k | 1 | 1 | 120 | 1,000 | us per time | 0.12 | 0.25 | 0.08 | yes |" in text
    assert "| reach | 1k/2k | 1 | 100 / 300 / - / 900 |  |  |  |" in text, "the thousandth slowest was not kept then"
    assert "| reach | 1k/2k | 1 | scipy | 0.001 | 8.3 |" in text
    assert "`benchmarks/results/2026-01-02-abc.json`, measured on a machine, 2 cores." in text


def test_single_steps_stand_beside_those_of_the_original(tmp_path):
    theirs = {"rust_p50": 10.0, "rust_p99": 30.0, "rust_p999": 80.0, "rust_max": 1800.0}
    text = page.written(EMPTY, results(tmp_path, p999=700.0, **theirs))
    assert "| reach | 1k/2k | 1 | 100 / 300 / 700 / 900 | 10 / 30 / 80 / 1,800 | 10 | 0.5 |" in text


def test_another_figure_makes_another_page(tmp_path):
    text = page.written(EMPTY, results(tmp_path))
    assert page.written(text, results(tmp_path)) == text
    assert page.written(text, results(tmp_path, ours=121.0)) != text


def test_what_starting_over_took_stays_until_it_is_measured_again(tmp_path):
    later = results(tmp_path, "2026-01-03-abc.json", ours=90.0, starting_over={})
    text = page.written(EMPTY, results(tmp_path) + later)
    assert "| 90 | 1,000 |" in text and "| reach | 1k/2k | 1 | scipy | 0.001 | 8.3 |" in text


def test_a_row_beside_dbsp_alone_leaves_what_stands_beside_the_original(tmp_path):
    per_step = {"ours": 90.0, "dbsp": 450.0, "ratio": 0.2}
    later = results(tmp_path, "2026-01-03-abc.json", ours=90.0, rust=None, ratio=None, dbsp=per_step)
    text = page.written(EMPTY, results(tmp_path) + later)
    assert "| 120 | 1,000 | us per time | 0.12 |" in text
    assert "| reach | 1k/2k | 1 | 1 | 90 | 450 | us per change | 0.2 |" in text
    alone = page.written(EMPTY, later)
    assert "us per time" not in alone and "| 90 | 450 | us per change | 0.2 |" in alone


def test_of_a_row_in_several_files_the_last_is_shown_and_the_page_names_all(tmp_path):
    first, again = results(tmp_path), results(tmp_path, "2026-01-03-def.json", ours=77.0)
    text = page.written(EMPTY, first + again)
    assert "| reach | 1k/2k | 1 | 1 | 77 |" in text and "| 120 |" not in text
    assert [path.name for path in page.named(text)] == ["2026-01-02-abc.json", "2026-01-03-def.json"]


def test_a_row_that_is_not_reached_says_so(tmp_path):
    assert "**no** (disturbed)" in page.written(EMPTY, results(tmp_path, reached="no", disturbed=True))


def test_a_page_without_a_place_is_refused(tmp_path):
    with pytest.raises(click.ClickException, match="no place for its original"):
        page.written(EMPTY.replace("<!-- original -->", ""), results(tmp_path))


def test_the_charts_are_drawn_from_the_results_that_the_page_names():
    drawn = page.charts(page.merged(page.named(page.PAGE.read_text())))
    assert set(drawn) == {"original", "recomputing", "uneven"}
    for name, text in drawn.items():
        assert (page.PLOTS / f"{name}.svg").read_text() == text, f"{name}.svg is stale: run python -m benchmarks.page"


def test_a_chart_shows_all_rows_that_it_is_to_show_and_no_others():
    rows = page.merged(page.named(page.PAGE.read_text()))
    drawn = page.charts(rows)
    assert drawn["original"].count("<rect class=") == 1 + len(page.BESIDE_THE_ORIGINAL)
    assert drawn["uneven"].count("<rect class=") == 1 + len(page.UNEVEN)
    assert drawn["recomputing"].count("<rect class=") == 1 + len(page.BESIDE_STARTING_OVER)
    assert page.charts([row for row in rows if row["workload"] == "start"]) == {}


def test_another_figure_makes_another_chart():
    rows = page.merged(page.named(page.PAGE.read_text()))
    slower = [row | {"ratio": 2.0} if row["workload"] == "bfs" and row["ratio"] is not None else row for row in rows]
    assert page.charts(slower)["original"] != page.charts(rows)["original"]


QUERY = {
    "workload": "sql: Q1", "size": "SF 1", "unit": "us per change", "ours": 40.0, "rust": None, "ratio": 0.0001,
    "duckdb_us": 400_000.0, "spark_us": 4_000_000.0, "share_us": 20_000.0, "load_s": 9.5, "state_bytes": 560_000,
    "starting_over": {}, "dbsp_us": 80.0, "dbsp_p99": 90.0, "dbsp_max": 100.0, "dbsp_share_us": 1_600.0,
    "dbsp_load_s": 3.0,
}  # fmt: skip


def test_a_query_has_tables_of_its_own(tmp_path):
    shown = page.written(EMPTY, results(tmp_path, **QUERY))
    assert (
        "| Q1 | SF 1 | 100 / 300 / 900 | 400,000 | 10,000 | 4,000,000 | 100,000 | 20,000 | 20 | 9.5 | 0.56 |" in shown
    )
    assert "| Q1 | SF 1 | 100 / 300 / 900 | 80 / 90 / 100 | 0.8 | 20,000 | 1,600 | 9.5 | 3 |" in shown
    assert "sql: Q1" not in shown
    unseen = page.written(EMPTY, results(tmp_path, **QUERY | {"ours": None, "dbsp_us": None}))
    assert "| Q1 | SF 1 | no change did | 400,000 |  |" in unseen and "80 / 90" not in unseen
