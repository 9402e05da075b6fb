"""dbsp beside the queries of TPC-H: what it is given, what it says, and when that is the same; nothing is built."""

import json
from datetime import date
from decimal import Decimal

import pytest
from click.testing import CliRunner

from benchmarks import crate, report, runner, sql, sql_dbsp
from benchmarks.__main__ import main
from benchmarks.runner import Run

Q22 = [["13", 10, 7535929], ["17", 8, 6228889]]
WANTED = [("17", 8, Decimal("62288.89")), ("13", 10, Decimal("75359.29"))]
SAID = {
    "load_s": 0.5,
    "altering": [1e-3, 2e-3, 9e-3],
    "shares": [0.1, 0.3, 0.2],
    "answers": {"loaded": Q22, "without": Q22[:1], "end": Q22},
}


def told(said=SAID, altering=3):
    wanted = {"loaded": WANTED, "without": WANTED[1:], "end": WANTED}
    return sql_dbsp.in_our_words(22, said, wanted, altering)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def tables(cache, monkeypatch):
    pytest.importorskip("duckdb_extension_tpch", reason="DuckDB's package of TPC-H is not installed")
    monkeypatch.setenv("EBBFLOW_BENCH_CACHE", str(cache))
    return sql.tables("0.01", lambda _: None)


def test_its_words_become_ours():
    found = told()
    assert (found["dbsp_us"], found["dbsp_max"]) == (pytest.approx(2000), pytest.approx(9000))
    assert (found["dbsp_share_us"], found["dbsp_load_s"], found["same"]) == (pytest.approx(200_000), 0.5, True)
    without = told(SAID | {"altering": []}, altering=0)
    assert without["dbsp_us"] is None and without["same"]


@pytest.mark.parametrize("when", ["loaded", "without", "end"])
def test_an_answer_that_is_off_by_a_cent_is_another_answer(when):
    rows = SAID["answers"][when]
    off = [*rows[:-1], [*rows[-1][:-1], rows[-1][-1] + 1]]
    assert not told(SAID | {"answers": SAID["answers"] | {when: off}})["same"]
    assert not told(SAID | {"answers": SAID["answers"] | {when: rows[1:]}})["same"]


def test_as_many_changes_alter_its_answer_as_alter_ours():
    assert not told(altering=4)["same"]


def test_an_answer_has_days_decimals_and_averages():
    assert sql_dbsp.rows_of(18, [["Customer#1", 1, 2, 9568, 17279949, 30500]]) == [
        ("Customer#1", 1, 2, date(1996, 3, 13), Decimal("172799.49"), Decimal("305.00"))
    ]
    (row,) = sql_dbsp.rows_of(1, [["A", "F", 100, 200, 30000, 4000000, 25.5, 0.1, 0.05, 7]])
    assert row[2:6] == (Decimal(1), Decimal(2), Decimal(3), Decimal(4))
    assert sql_dbsp.are_equal([row], [(*row[:6], 25.5 + 1e-12, *row[7:])])
    assert not sql_dbsp.are_equal([row], [(*row[:6], 25.50001, *row[7:])])
    assert not sql_dbsp.are_equal([row], [(*row[:9], 8)])


def test_it_is_given_the_columns_that_it_reads_and_the_rows_that_change(tables, tmp_path):
    texts = sql_dbsp.texts(tables)
    assert texts == sql_dbsp.texts(tables), "made once"
    lines = {table: (texts / f"{table}.txt").read_text().splitlines() for table in sql_dbsp.READ}
    assert lines["lineitem"][:2] == ["|".join(sql_dbsp.READ["lineitem"]), "1|1700|2471035|4|2|N|O|9568"]
    assert [len(found) for found in lines.values()] == [1_501, 15_001, 60_176]
    answers = sql_dbsp.asked(22, tables, tmp_path)
    singles, share = ((tmp_path / name).read_text().splitlines() for name in ("singles.txt", "share.txt"))
    assert singles[0] == share[0] == lines["customer"][0]
    assert set(singles) | set(share) <= set(lines["customer"]) and len(singles) == 134 and len(share) == 2
    assert answers["loaded"] == answers["end"] and len(answers["without"]) == 7


def test_every_answer_has_as_many_columns_as_duckdbs():
    pytest.importorskip("duckdb_extension_tpch", reason="DuckDB's package of TPC-H is not installed")
    with sql.connected() as connection:
        connection.execute("call dbgen(sf=0)")
        for number, kinds in sql_dbsp.ANSWERS.items():
            found = connection.execute(f"describe {sql.text_of(connection, number)}").fetchall()
            assert len(found) == len(kinds), number


def test_a_query_beside_dbsp_is_shown_and_written(tmp_path, monkeypatch, tables):
    """The program itself is played by what it would say."""
    asked = []

    def said(command, environment, core, limit, workers=1):
        if command[0] != str(crate.cache() / "dbsp" / "release" / "tpch"):
            return process(command, environment, core, limit, workers)
        asked.append(command[1:])
        with sql.connected() as connection:
            for file in tables.glob("*.parquet"):
                connection.execute(f"create view {file.stem} as from '{file}'")
            rows = connection.execute(sql.text_of(connection, 22)).fetchall()
        rows = [[code, count, int(total * 100)] for code, count, total in rows]
        return Run(SAID | {"answers": dict.fromkeys(("loaded", "without", "end"), rows)}, 1.0, 1.0, False)

    process = runner.process
    monkeypatch.setattr(runner, "process", said)
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(crate.Crate, "build", lambda *_: None)
    found = CliRunner().invoke(main, ["sql", "--query", "22,6", "--against", "dbsp"])
    assert found.exit_code == 1, "the answer without a thousandth is not the whole answer"
    words = " ".join(found.output.split())
    assert "dbsp p50" in words and "dbsp load s" in words and "another answer" in words
    ((number, *_, tried, shares),) = asked
    assert (number, shares) == ("22", str(sql.SHARES)) and int(tried) > 0
    (written,) = (tmp_path / "results").iterdir()
    rows = {row["workload"]: row for row in json.loads(written.read_text())}
    assert rows["sql: Q22"]["dbsp_us"] == pytest.approx(2000) and rows["sql: Q22"]["checks_equal"] is False
    assert rows["sql: Q6"]["dbsp_us"] is None and rows["sql: Q6"]["checks_equal"] is True


def test_without_cargo_ours_run_alone_and_that_is_said(tmp_path, monkeypatch, tables):
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(crate, "cargo", lambda: None)
    found = CliRunner().invoke(main, ["sql", "--query", "22", "--against", "dbsp"])
    assert "cargo was not found, so ours run without dbsp" in " ".join(found.output.split())
    assert "Q22" in found.output and "dbsp p50" not in found.output


def test_a_program_that_fails_is_a_sentence(tables, monkeypatch):
    monkeypatch.setattr(runner, "process", lambda *_: Run({}, 1.0, 1.0, False, "ended with status 101: no column"))
    assert sql_dbsp.beside(6, tables, {}, 1.0) == {}
    found = sql_dbsp.beside(22, tables, {"tried": 9, "altering": 3}, 1.0)
    assert found == "Q22 by dbsp ended with status 101: no column"
