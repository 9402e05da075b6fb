"""Micro-batches on Spark are measured beside a recomputation that finds the same."""

import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks import on_spark, report, spark_report
from benchmarks.__main__ import main
from ebbflow.errors import EbbflowError
from ebbflow.runtime.spark.session import require
from tests import parts


@pytest.fixture
def once(monkeypatch):
    """Everything is done as few times as possible."""
    monkeypatch.setattr(on_spark, "REPEATS", {1: 1, 5: 1})
    monkeypatch.setattr(on_spark, "WARM_UP", 1)
    monkeypatch.setattr(on_spark, "SOON", 0.0)


def test_every_view_is_changed_recomputed_and_found_the_same(spark, tmp_path, once):
    for name in ("degrees", "reach", "components"):
        said: list[str] = []
        options = {"nodes": 6, "edges": 8}
        found = on_spark.measured(spark, name, options, [1, 5], str(tmp_path), said.append)
        assert all(peer["same"] for peer in found["peers"].values()), name
        assert set(found["steps"]) == {1, 5} and found["steps"][1]["jobs"] == 2
        assert "GraphX" in found["peers"] or name != "components"
        assert any("recomputed" in line for line in said)
        rows = spark_report.rows_of({"name": name, "options": options}, found, "local[2]")
        assert [row["step"] for row in rows] == [1, 5] and all(row["checks_equal"] for row in rows)
        assert rows[0]["first"] == 0.1 and rows[1]["first"] is None  # a thousandth of the rows is one


def test_an_answer_that_differs_is_seen(spark, tmp_path):
    view = on_spark.Degrees(spark, 30, 60)
    answer = on_spark.Answer(view)
    right = view.peers()["DataFrames"]()
    answer.checks = view.sums(right)
    assert answer.is_same(right)
    view.batch(3)
    assert not answer.is_same(view.peers()["DataFrames"]())


def test_reports_of_tpch_lose_rows_and_have_them_again(spark, tmp_path, once):
    import datetime
    from decimal import Decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    money = lambda numbers: pa.array([Decimal(n) / 100 for n in numbers], pa.decimal128(15, 2))
    days = pa.array([datetime.date(1998, 1 + i % 12, 3) for i in range(60)])
    items = {"l_returnflag": ["A", "R", "N"] * 20, "l_linestatus": ["F", "O"] * 30, "l_shipdate": days}
    items |= {f"l_{name}": money(range(100, 160)) for name in ("quantity", "extendedprice", "discount", "tax")}
    said = ["nothing", "a special kind of requests", "requests"] * 20
    pq.write_table(pa.table(items), tmp_path / "lineitem.parquet")
    pq.write_table(pa.table({"c_custkey": list(range(12))}), tmp_path / "customer.parquet")
    pq.write_table(pa.table({"o_custkey": [i % 7 for i in range(60)], "o_comment": said}), tmp_path / "orders.parquet")
    for name in ("q1", "q13"):
        options = {"directory": str(tmp_path)}
        found = on_spark.measured(spark, name, options, [1, 5], str(tmp_path), lambda _: None)
        assert found["peers"]["DataFrames"]["same"] and found["total"] == 60


def test_batches_of_other_sizes_are_for_views_that_have_some():
    step, components = on_spark.orders_of("large", ("step", "components"), (1, 50))
    assert step == {"name": "step"} and components["batches"] == [1, 50]
    assert on_spark.orders_of("small", ("degrees",))[0]["batches"] == [1, 1_000]


def test_the_table_fits_where_there_is_no_terminal():
    memory = {"driver MB": 1234, "JVM MB": 1234, "workers MB": [1234, 1234, 1]}
    figures = {"recomputed": 62.5, "by": "DataFrames", "cheaper_from": 1e8, "jobs": 2, "load_s": 123.4}
    row = spark_report.row("degrees", "10M/50M", 100_000, "two Workers", 1.25, spark_report.SHARE, True, **figures)
    console = Console(width=200, record=True, file=io.StringIO())
    spark_report.show([row | {"memory": memory}], console)
    text = console.export_text()
    assert "1,234 + 1,234" in text and "100,000,000" in text and "…" not in text


def test_where_recomputing_becomes_cheaper():
    assert on_spark.crossing({1: 1.0, 1001: 2.0}, 1.5) == 501
    assert on_spark.crossing({1: 1.0, 1001: 2.0}, 3.0) == 2001
    assert on_spark.crossing({1: 1.0, 1001: 2.0}, 0.5) == 0
    assert on_spark.crossing({1: 1.0, 1001: 1.0}, 9.0) is None


def test_the_command_measures_shows_and_writes(tmp_path, monkeypatch):
    try:
        require()
    except EbbflowError as error:
        parts.left_out(error.what)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    found = CliRunner().invoke(main, ["spark", "--view", "step"])
    assert found.exit_code == 0, found.output
    assert "loop of twenty rounds" in found.output and "0.15" in found.output
    (written,) = tmp_path.iterdir()
    (row,) = json.loads(written.read_text())
    assert row["jobs"] == 1 and row["step"] == 1 and row["ours"] > 0


def test_spark_is_measured_by_itself():
    found = CliRunner().invoke(main, ["spark", "bfs"])
    assert found.exit_code == 1 and "by itself" in found.output


def test_a_process_that_dies_is_told_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(on_spark.sys, "executable", "/bin/false")
    ((order, why),) = on_spark.asked([{"name": "degrees"}], {}, lambda _: None, 60)
    assert order["name"] == "degrees" and "was not measured: its process ended (1)" in why
