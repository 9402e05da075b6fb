"""The command, asked as a person asks it."""

import pytest
from click.testing import CliRunner

from benchmarks import crate, report
from benchmarks.__main__ import main


def ask(*words):
    return CliRunner().invoke(main, words)


def test_a_row_is_measured_shown_and_written(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(crate, "cargo", lambda: None)
    found = ask("bfs", "--steps", "7", "--times", "20", "--repeats", "1")
    assert found.exit_code == 0, found.output
    assert "us per time" in found.output
    assert "cargo was not found, so ours run without the Rust peer" in " ".join(found.output.split())
    (written,) = tmp_path.iterdir()
    assert written.name in found.output.replace("\n", "")


def test_a_query_of_tpch_is_measured_beside_duckdb(tmp_path, monkeypatch):
    pytest.importorskip("duckdb_extension_tpch", reason="DuckDB's package of TPC-H is not installed")
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setenv("EBBFLOW_BENCH_CACHE", str(tmp_path / "cache"))
    found = ask("sql", "--query", "22")
    assert found.exit_code == 0, found.output
    assert "Q22" in found.output and "times as fast as DuckDB starting over" in " ".join(found.output.split())
    assert "TPC-H has queries 1 to 22, and no 23." in ask("sql", "--query", "23").output
    assert "The size of sql is a scale" in ask("sql", "--size", "large").output


def test_what_no_row_has_is_said():
    found = ask("startup", "--steps", "3")
    assert found.exit_code == 1 and "No row of the set small is meant by that" in found.output


def test_steps_are_numbers():
    assert "numbers with commas between them" in ask("bfs", "--steps", "one").output


def test_a_fixed_graph_has_no_skew():
    found = ask("bfs", "--shape", "star", "--skew", "2")
    assert found.exit_code == 1 and "A star has the edges that it has" in found.output
    assert ask("bfs", "--skew", "4").exit_code == 2
