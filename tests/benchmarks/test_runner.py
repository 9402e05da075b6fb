"""Runs: what each found, whether it was left in peace, and what a row says of all of them."""

import json
import sys

import pytest

from benchmarks import crate, dbsp, report, runner, rust, table
from benchmarks.runner import Outcome, Run

ROW = next(row for row in table.ROWS if row.module == "reach" and row.options["times"] == 20_000 and row.step == 1)
SAME = {"final": "0dbe4c08cd7fb359", "times": "1d21b2945c929105"}


def run(us, share=1.0, **checks):
    return Run({"us_per_time": us, "checks": checks or SAME}, 1.0, share, share < runner.IN_PEACE)


def outcome_of(ours, rust=()):
    return Outcome(ROW, {"ours": list(ours), "rust": list(rust)})


def child(code, limit=60.0):
    return runner.process([sys.executable, "-c", code], {}, None, limit)


def test_the_last_line_printed_is_what_was_found():
    assert child("print('warming up'); print('{\"s\": 2}')").found == {"s": 2}


def test_a_program_that_fails_says_so_in_its_last_line():
    found = child("raise ValueError('no graph')")
    assert found.trouble == "ended with status 1: ValueError: no graph"


def test_a_program_that_does_not_end_is_ended():
    found = child("import threading; threading.Event().wait()", limit=0.2)
    assert found.trouble == "did not end within 0 s" and found.found == {}


def test_a_program_that_takes_all_the_memory_is_ended(monkeypatch):
    monkeypatch.setattr(runner, "free_mb", lambda: 100.0)
    found = child("import threading; held = bytearray(300_000_000); threading.Event().wait()")
    assert "of memory" in found.trouble


def test_a_figure_is_the_median_of_the_runs_that_were_left_in_peace():
    outcome = outcome_of([run(10), run(90, share=0.5), run(20)], [run(100, share=0.5), run(300, share=0.5)])
    assert outcome.figure("ours", "us_per_time") == 15
    assert outcome.figure("rust", "us_per_time") == 200
    assert outcome.is_disturbed


def test_answers_are_compared_with_each_other_and_with_what_is_known():
    assert outcome_of([run(1)], [run(2)]).checks_equal(42) is True
    assert outcome_of([run(1)]).checks_equal(42) is True
    assert outcome_of([run(1, final="00")], [run(2, final="00")]).checks_equal(42) is False
    assert outcome_of([run(1)], [run(2, final="00")]).checks_equal(7) is False
    assert outcome_of([run(1)]).checks_equal(7) is None


@pytest.mark.parametrize(("us", "reached"), [(5, "goal"), (20, "first"), (30, "no")])
def test_a_row_says_how_far_it_is(us, reached):
    figures = report.row_of(outcome_of([run(us)], [run(100)]), ROW.measures[0], 42)
    assert figures["ratio"] == us / 100
    assert (figures["first"], figures["goal"], figures["reached"]) == (0.25, 0.08, reached)


def test_starting_over_is_cheaper_from_so_many_changes_on():
    outcome = Outcome(ROW, {"ours": [run(50)], "scipy": [Run({"s": 0.001, "checks": SAME}, 1.0, 1.0, False)]})
    assert report.starting_over(outcome) == {"scipy": {"s": 0.001, "pays_up_to": 20}}
    assert outcome.checks_equal(42) is True


def test_only_peers_that_can_answer_a_question_are_asked():
    (chain,) = (row for row in table.ROWS if row.workload == "chains, min" and "small" in row.sets)
    assert runner.sides_of(ROW, ("rust", "scipy", "duckdb")) == ["ours", "rust", "scipy", "duckdb"]
    assert runner.sides_of(chain, ("scipy", "none")) == ["ours"]


def test_a_row_measured_again_replaces_the_one_before(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "commit", lambda: "abc1234")
    rows = report.rows_of(outcome_of([run(5)]), 42)
    path = report.save(rows, tmp_path)
    assert path == report.save([{**rows[0], "ours": 6.0}], tmp_path)
    (kept,) = json.loads(path.read_text())
    assert path.name.endswith("-abc1234.json")
    assert kept["ours"] == 6 and kept["workload"] == "reach" and kept["unit"] == "us per time"


def test_the_peers_words_become_ours():
    latency = {"n": 3, "p50_us": 1.0, "p95_us": 2.0, "p99_us": 3.0, "p999_us": 3.5, "max_us": 4.0}
    told = rust.in_our_words(
        {"us_per_time": 7.5, "load_s": 0.1, "all": latency, "out_updates": 9, "sum_diffs": 4, "check_final": "ab"}
    )
    assert told["steps"] == {"p50": 1.0, "p99": 3.0, "p999": 3.5, "max": 4.0}
    assert told["checks"] == {"updates": 9, "size": 4, "final": "ab"}
    q1 = {
        "prog": "q1",
        "out_updates": 8,
        "result": ["NO qty=1 ext_cents=2 disc_price_e4=3 charge_e6=4 disc_pct=5 n=6 x1"],
    }
    assert rust.in_our_words(q1)["checks"] == {"updates": 8, "result": [["N", "O", "1", "2", "3", "4", "5", "6"]]}


def test_without_cargo_it_says_so(monkeypatch):
    monkeypatch.setattr(crate, "cargo", lambda: None)
    assert "cargo was not found, so ours run without the Rust peer" in rust.PROGRAMS.build(print)
    assert "cargo was not found, so ours run without dbsp" in dbsp.PROGRAMS.build(print)


def test_a_peer_is_built_from_a_copy_that_changes_only_where_its_source_did(tmp_path, monkeypatch):
    tool = tmp_path / "cargo"
    tool.write_text(
        "#!/bin/sh\necho '   Compiling dbsp v1' >&2; echo '   Compiling dbsp-bench v0' >&2\n"
        "pwd > $CARGO_TARGET_DIR.pwd\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("EBBFLOW_BENCH_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(crate, "cargo", lambda: str(tool))
    said = []
    assert dbsp.PROGRAMS.build(said.append) is None
    assert said == [
        "building dbsp, once (about ten minutes): 1 of about 330 crates",
        "building dbsp, once (about ten minutes): its own programs, the longer half",
    ]
    copy = tmp_path / "kept" / "dbsp-source"
    assert (tmp_path / "kept" / "dbsp.pwd").read_text().strip() == str(copy)
    date = (copy / "Cargo.toml").stat().st_mtime_ns
    (copy / "src" / "lib.rs").write_text("// of another version")
    assert dbsp.PROGRAMS.copied() == copy
    assert (copy / "Cargo.toml").stat().st_mtime_ns == date and "another" not in (copy / "src" / "lib.rs").read_text()
    tool.write_text("#!/bin/sh\necho 'error: no such crate' >&2; exit 1\n")
    assert dbsp.PROGRAMS.build(said.append) == "dbsp was not built, so ours run without it: error: no such crate"


def test_the_peer_is_told_which_graph(monkeypatch):
    told = []
    monkeypatch.setattr(runner, "process", lambda command, environment, *_: told.append(environment) or run(1))
    skewed = next(row for row in table.ROWS if row.module == "bfs" and row.options.get("skew") == 3)
    for row in (ROW, skewed):
        runner.one_run(row, "rust", None, 1.0)
    assert [(e["SEED"], e["SKEW"], e["SHAPE"]) for e in told] == [("42", "0", "random"), ("42", "3", "random")]


# ---- dbsp


def test_dbsp_is_asked_what_it_has_a_program_for():
    assert runner.sides_of(ROW, ("dbsp",)) == ["ours", "dbsp"]
    assert dbsp.arguments(ROW)[:2] == ("dbench", "reach")
    by_module = {row.module: row for row in table.ROWS}
    assert dbsp.arguments(by_module["bfs"]) is None and dbsp.arguments(by_module["tpch"]) is None
    (general,) = (row for row in table.ROWS if row.workload == "degrees, no short cut" and "seed" in row.sets)
    assert dbsp.arguments(general) is None
    assert all(dbsp.arguments(row) is None for row in table.ROWS if row.options.get("skew") or row.options.get("shape"))


def test_what_stands_after_the_last_step_must_be_ours():
    theirs = {"us_per_change": 200.0, "load_s": 0.1, "peak_mb": 50, "size": 6230, "check_final": SAME["final"]}
    told = dbsp.in_our_words(theirs | {"updates_after_load": 1, "check_times": "of steps"})
    outcome = Outcome(ROW, {"ours": [run(50)], "dbsp": [Run(told, 1.0, 1.0, False)]})
    assert outcome.checks_equal(7) is True
    figures = report.row_of(outcome, ROW.measures[0], 7)
    assert figures["dbsp"] == {"ours": 50, "dbsp": 200.0, "ratio": 0.25} and figures["ratio"] is None
    assert report.per_step(figures)[-4:] == ("50", "200", "us per change", "0.25")
    other = dbsp.in_our_words(theirs | {"check_final": "other"})
    assert Outcome(ROW, {"ours": [run(50)], "dbsp": [Run(other, 1.0, 1.0, False)]}).checks_equal(7) is False
