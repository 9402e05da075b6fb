"""Claims about `ebbflow sql`: queries over files, answered once and kept while the files change."""

import datetime
import json
import os
import signal
import subprocess
import sys
import time
from decimal import Decimal

import duckdb
import pyarrow
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from ebbflow.tools import cli, table_files
from ebbflow.tools.query import with_order

ORDERS = 'id,city,price,day\n1,Bern,2.50,2024-01-01\n2,Basel,1.25,2024-01-02\n3,Bern,4,\n3,"",4,\n4,,4,\n'
CUSTOMERS = '{"id": 1, "name": "ann"}\n{"id": 3, "name": "bob"}\n'


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.csv").write_text(ORDERS)
    (tmp_path / "customers.jsonl").write_text(CUSTOMERS)
    return tmp_path


def ask(*words):
    return CliRunner().invoke(cli.main, ["sql", *map(str, words)])


def test_the_answer_is_a_table_in_the_order_asked_for_and_types_are_shown(place):
    query = "select city, sum(price) as total from orders group by city order by count(*) desc, city desc"
    done = ask(query, "orders.csv")
    assert done.exit_code == 0
    assert "orders: id long, city string, price double, day date (5 rows)" in done.stderr
    assert done.stdout == (
        "┌───────┬───────┐\n"
        "│ city  │ total │\n"
        "├───────┼───────┤\n"
        "│ Bern  │   6.5 │\n"
        "│ Basel │  1.25 │\n"
        "│       │   4.0 │\n"
        "│ null  │   4.0 │\n"
        "└───────┴───────┘\n"
    )


def test_every_format_says_the_same_and_rows_that_are_there_twice_come_twice(place):
    query = "select o.id, name, day from o join c on o.id = c.id order by 1 desc"
    files = ["o=orders.csv", "c=customers.jsonl"]
    said = ask(query, *files, "--format", "csv").stdout
    assert said == '"id","name","day"\n3,"bob",\n3,"bob",\n1,"ann",2024-01-01\n'
    lines = [json.loads(line) for line in ask(query, *files, "--format", "json").stdout.splitlines()]
    assert lines[0] == {"id": 3, "name": "bob", "day": None} and lines[2]["day"] == "2024-01-01"
    done = ask(query, *files, "--output", "out.parquet")
    assert done.exit_code == 0 and "3 rows in out.parquet" in done.stderr and done.stdout == ""
    assert [row["id"] for row in parquet.read_table("out.parquet").to_pylist()] == [3, 3, 1]
    ask(query, *files, "--output", "out.jsonl")
    assert (place / "out.jsonl").read_text().splitlines() == [json.dumps(line) for line in lines]
    ask(query, *files, "--output", "again.csv")
    assert (place / "again.csv").read_text() == said


@pytest.mark.parametrize(
    "query",
    [
        "select id, price from orders order by price desc nulls first, id",
        "select city, id from orders order by price + id desc nulls last, id",
        "select city, count(*) as n from orders group by city order by n, city nulls first",
        "select id from orders union all select id + 10 from orders order by id desc",
        "select id, city from orders order by 2 desc nulls last, 1 limit 3",
        "select distinct city from orders order by city nulls first",
        "select * from orders order by price desc, id limit 2",
        "select *, price + id as more from orders order by more nulls first, id",
    ],
)
def test_answers_stand_in_the_order_that_duckdb_gives_them(place, query):
    (place / "orders.csv").write_text("id,city,price\n1,Bern,2.5\n2,Basel,1.25\n3,Bern,\n4,,4\n2,Genf,4\n")
    right = duckdb.sql(query.replace("orders", "read_csv('orders.csv')")).fetchall()
    rows = [json.loads(line) for line in ask(query, "orders.csv", "--format", "json").stdout.splitlines()]
    assert [tuple(row.values()) for row in rows] == right


def test_maps_and_what_is_in_them_are_told_as_json_and_people_have_them(place):
    columns = {
        "m": pyarrow.array([[("k", float("nan"))], [], None], pyarrow.map_(pyarrow.string(), pyarrow.float64())),
        "d": pyarrow.array([[(day, [1])] for day in [datetime.date(2020, 1, 2)]] * 3,
                           pyarrow.map_(pyarrow.date32(), pyarrow.list_(pyarrow.int64()))),
        "s": [{"p": [Decimal("1.50")]}, None, {"p": [None]}],
    }  # fmt: skip
    parquet.write_table(pyarrow.table(columns), place / "t.parquet")
    query = "select m, d, s from t order by s, m"
    rows = [json.loads(line) for line in ask(query, "t.parquet", "--format", "json").stdout.splitlines()]
    assert rows == [
        {"m": {}, "d": {"2020-01-02": [1]}, "s": None},
        {"m": None, "d": {"2020-01-02": [1]}, "s": {"p": [None]}},
        {"m": {"k": "NaN"}, "d": {"2020-01-02": [1]}, "s": {"p": ["1.50"]}},
    ]
    assert '{""k"": ""NaN""}' in ask(query, "t.parquet", "--format", "csv").stdout
    assert "{'k': nan}" in ask(query, "t.parquet").stdout


def test_parquet_directories_and_patterns_are_tables(place):
    (place / "parts").mkdir()
    for i in range(3):
        table = pyarrow.table(
            {
                "k": [i, i],
                "at": pyarrow.array([0, 1], pyarrow.timestamp("ns")),
                "long": pyarrow.array([0, 1], pyarrow.duration("s")),
                "wide": pyarrow.array([Decimal(0), Decimal(1)], pyarrow.decimal256(50, 2)),
            }
        )
        parquet.write_table(table, place / "parts" / f"{i}.parquet")
    (place / "parts" / "_SUCCESS").write_text("")
    for where in ("parts", "parts/*.parquet"):
        done = ask("select count(*) as n, max(k) as k from t", f"t={where}", "--format", "csv")
        assert done.stdout == '"n","k"\n6,2\n'
        assert "t: k long, at timestamp_ntz (6 rows)" in done.stderr and "left out" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["select idd from orders", "orders.csv"], 'there is no column "idd"'),
        (["select id fro orders", "orders.csv"], "cannot be read"),
        (["select id from order_s", "orders.csv"], "order_s"),
        (["select 1", "ordres.csv"], 'Did you mean "orders.csv"?'),
        (["select 1", "x.xlsx"], "ends in no known way"),
        (["select 1", "2=orders.csv"], "which table is in which file"),
        (["select 1", "orders.csv", "orders=customers.jsonl"], 'two files are to be the table "orders"'),
        (["select distinct city from orders order by price", "orders.csv"], "none of its columns"),
        (["select * from orders order by 2", "orders.csv"], "none of its columns"),
        (["select 1", "twice.csv"], 'two columns named "a"'),
        (["select 1", "broken.parquet"], "broken.parquet cannot be read"),
        (["select id from orders", "orders.csv", "--output", "no/such/place.csv"], "cannot be written"),
    ],
)
def test_what_is_wrong_is_a_sentence_and_status_one(place, words, said):
    (place / "broken.parquet").write_text("no")
    (place / "x.xlsx").write_text("no")
    (place / "twice.csv").write_text("a,b,a\n1,2,3\n")
    done = ask(*words)
    assert done.exit_code == 1 and said in done.stderr and "Traceback" not in done.stderr
    assert not [name for name in os.listdir(place) if name.startswith(".")]


def test_parquet_without_a_place_is_a_matter_of_usage(place):
    done = ask("select 1", "orders.csv", "--format", "parquet", "--follow")
    assert done.exit_code == 2 and "--output" in done.stderr
    assert "Examples:" in ask("--help").output


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300", "0", "-1"])
def test_a_pause_that_no_clock_has_is_a_matter_of_usage(place, seconds):
    done = ask("select 1", "orders.csv", "--follow", "--every", seconds)
    assert done.exit_code == 2 and "is not in the range" in done.output


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_whole_numbers_beyond_64_bits_keep_every_digit(place, kind):
    ids = [2**64 - 2, 2**64 - 1, 7]
    lines = ["id,x", *(f"{id},{10**i}.5" for i, id in enumerate(ids, 20))]
    if kind == "jsonl":
        lines = [f'{{"id": {id}, "x": {10**i}.5}}' for i, id in enumerate(ids, 20)]
    (place / f"wide.{kind}").write_text("\n".join(lines) + "\n")
    done = ask("select id, count(*) as n from wide group by id order by id", f"wide.{kind}", "--format", "csv")
    assert done.stdout == f'"id","n"\n7,1\n{2**64 - 2},1\n{2**64 - 1},1\n'
    assert "id decimal(38,0), x double (3 rows)" in done.stderr


@pytest.mark.parametrize("table", ["t=orders.csv", "t=./../{}/orders.csv", "t=*.csv", "t=."])
def test_an_answer_is_not_followed_into_its_own_tables(place, table):
    """It would change the next answer, without end."""
    query = ["select * from t", table.format(place.name), "--output", "orders.csv"]
    done = ask(*query, "--follow")
    assert done.exit_code == 1 and 'orders.csv is a file of the table "t"' in done.stderr
    assert (place / "orders.csv").read_text() == ORDERS


def test_an_order_by_something_that_is_not_selected_becomes_a_column():
    text, sorting = with_order("select a from t order by b + 1 desc, a")
    assert "order key 0" in text and sorting.extra == 1
    assert sorting.keys == [("order key 0", True, False), ("a", False, True)]
    assert with_order("select a from t") == ("select a from t", ([], 0))


# ---- kept while files change ------------------------------------------------------------------------------


class Followed:
    """`ebbflow sql --follow` in a process of its own."""

    def __init__(self, place, *words):
        command = [sys.executable, "-m", "ebbflow", "sql", *words, "--follow", "--every", "0.02", "--format", "json"]
        self.out = open(place / "out", "w+")  # noqa: SIM115
        self.err = open(place / "err", "w+")  # noqa: SIM115
        self.process = subprocess.Popen(command, cwd=place, stdout=self.out, stderr=self.err, env=os.environ)
        self.place = place

    def changes(self, count):
        """So many lines, when they are there."""
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            lines = (self.place / "out").read_text().splitlines()
            if len(lines) >= count:
                return [json.loads(line) for line in lines]
            time.sleep(0.01)
        raise AssertionError((self.place / "err").read_text() + (self.place / "out").read_text())

    def end(self, how=signal.SIGINT):
        if how is not None:
            os.kill(self.process.pid, how)
        code = self.process.wait(60)
        self.out.close()
        self.err.close()
        return code, (self.place / "err").read_text()


@pytest.fixture
def tree(monkeypatch):
    """The process imports this checkout, whatever its directory is."""
    monkeypatch.setenv("PYTHONPATH", os.getcwd())


def put(path, text):
    beside = path.with_name(f".{path.name}")
    beside.write_text(text)
    os.replace(beside, path)


def test_only_what_changes_is_printed_and_ctrl_c_ends_it(tree, place):
    query = "select city, sum(price) as total from orders group by city"
    followed = Followed(place, query, "orders.csv")
    first = followed.changes(4)
    assert {row["city"]: row["total"] for row in first} == {"Bern": 6.5, "Basel": 1.25, "": 4.0, None: 4.0}
    assert all(row["_diff"] == 1 for row in first)
    put(place / "orders.csv", ORDERS + "5,Basel,1,2024-03-01\n")
    assert sorted((row["_diff"], row["total"]) for row in followed.changes(6)[4:]) == [(-1, 1.25), (1, 2.25)]
    put(place / "orders.csv", ORDERS)
    assert sorted((row["_diff"], row["total"]) for row in followed.changes(8)[6:]) == [(-1, 2.25), (1, 1.25)]
    code, said = followed.end()
    assert code == 0 and "ended after 3 steps" in said and "Traceback" not in said


def test_a_column_that_vanishes_ends_it_with_a_sentence(tree, place):
    followed = Followed(place, "select count(*) as n from t", "t=orders.csv")
    assert followed.changes(1) == [{"_diff": 1, "n": 5}]
    put(place / "orders.csv", ORDERS.replace("price", "prize"))
    code, said = followed.end(None)
    assert code == 1 and 'has no column "price"' in said and 'Did you mean "prize"?' in said


def test_a_value_that_does_not_fit_its_column_ends_it_and_is_named(tree, place):
    followed = Followed(place, "select count(*) as n from t", "t=orders.csv")
    assert followed.changes(1) == [{"_diff": 1, "n": 5}]
    put(place / "orders.csv", ORDERS + "5,Basel,cheap,2024-03-01\n")
    code, said = followed.end(None)
    assert code == 1 and "a value in column 3 is 'cheap', and the column was of type double" in said
    assert "Correct the row" in said


# ---- files, without a process ---------------------------------------------------------------------------------


def rows_of(change):
    return [sum(len(table) for table in tables) for tables in change]


def test_a_pattern_follows_files_that_come_change_and_go(place):
    table = table_files.TableFiles("t", "*.csv")
    assert rows_of(table.load()) == [0, 5] and not table.has_changed()
    put(place / "more.csv", "id,city,price,day\n9,Genf,1,\n")
    assert table.has_changed() and rows_of(table.update()) == [0, 1]
    put(place / "orders.csv", ORDERS + "9,Genf,1,\n")
    assert rows_of(table.update()) == [5, 6] and table.rows == 7
    (place / "orders.csv").unlink()
    assert rows_of(table.update()) == [6, 0] and table.rows == 1


@pytest.mark.parametrize(
    ("name", "lines", "half"),
    [
        ("log.jsonl", ['{"x": 1}\n', '{"x": 2}\n', '{"x": 3, "y"'], ': "é"}\n'),
        ("log.csv", ["x,y\n", "1,a\n", "2,b\n", "3"], ",c\n"),
    ],
)
def test_a_line_that_is_not_all_there_is_left_for_later(place, name, lines, half):
    """Whoever writes through a buffer leaves half a line there until it is full again."""
    log = place / name
    log.write_text("".join(lines[:-1]))
    table = table_files.TableFiles("t", name)
    table.load()
    log.write_text("".join([*lines[:-1], lines[-2], lines[-1]]))
    assert [rows_of(table.update()) for _ in range(3)] == [[0, 0], [0, 0], [2, 3]]
    assert not table.has_changed()
    log.write_text("".join([*lines[:-1], lines[-2], lines[-1], half]))
    assert rows_of(table.update()) == [3, 4]
    log.write_text("")
    while table.has_changed():  # emptied, before it is written again
        table.update()
    assert table.rows == 0
    log.write_text("".join(lines[:-1]))
    assert rows_of(table.update()) == [0, 2]


def test_a_file_that_is_being_written_is_waited_for_and_one_that_stays_wrong_is_told(place):
    table = table_files.TableFiles("t", "orders.csv")
    table.load()
    (place / "orders.csv").write_text("id,city,price,day\n1,Be")
    assert rows_of(table.update()) == [0, 0]
    (place / "orders.csv").write_text(ORDERS)
    assert rows_of(table.update()) == [5, 5]
    (place / "orders.csv").unlink()
    assert rows_of(table.update()) == rows_of(table.update()) == [0, 0]
    with pytest.raises(table_files.UnreadableFile, match="is gone"):
        table.update()
    (place / "orders.csv").write_text(ORDERS.replace("1.25", "cheap"))
    with pytest.raises(table_files.UnreadableFile, match="cheap"):
        table.update()
