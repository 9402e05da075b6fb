"""A type checker finds what is not there and accepts what is: mypy --strict on programs as users write them."""

import re
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import ebbflow as ebb
    import ebbflow.functions as F
    from ebbflow import col

    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    near: ebb.Collection = (
        edges.where(col("src") > 1)
        .withColumn("far", edges.dst - edges.src)
        .withColumnRenamed("far", "length")
        .groupBy("src")
        .agg(n=ebb.count(), most=F.max("length"))
    )
    both = edges.unionByName(edges).unionAll(edges).crossJoin(near, suffix="_2").orderBy("-src").limit(3)
    text = col("name").isNotNull() & col("name").startswith("a") & ~col("name").isin(["b"]) & col("x").eqNullSafe(1)
    flow.output("near", near.filter(F.nvl("most", ebb.lit(0)) > 1, text.astype("boolean")))
    with flow.run(workers=2) as live:
        live.insert("edges", [(1, 2)], time=0)
        live.advance_to(1)
        frame = live.changes("near").toPandas()
        table: ebb.Table = live.snapshot("near")
    session: ebb.Session = flow.run()
    spark_session = ebb.spark
    source, sink = ebb.append, ebb.table
    ranks = ebb.algorithms.pagerank(edges)
"""
WRONG = {
    'live.insrt("edges", [(1, 2)])': '"Session" has no attribute "insrt"',
    'edges.filtre(col("src") > 1)': "not callable",
    'col("x").is_nul()': '"Column" has no attribute "is_nul"',
    'col("x").str.lowr()': '"Text[Column]" has no attribute "lowr"',
    'col("x").dt.yaer()': '"Moment[Column]" has no attribute "yaer"',
    'edges.group_by("src").agregate()': 'has no attribute "agregate"',
    'edges.order_by("src").limt(3)': 'has no attribute "limt"',
    'live.changes("near").to_panda()': '"Table" has no attribute "to_panda"',
    'F.summ("x")': 'has no attribute "summ"',
    'ebb.lagg("x")': 'has no attribute "lagg"',
    "ebb.algorithms.page_rank(edges)": 'has no attribute "page_rank"',
    'flow.inptu("edges", "src long")': '"Dataflow" has no attribute "inptu"',
}


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """What mypy --strict says of each line of a program with all the mistakes in it."""
    lines = textwrap.dedent(PROGRAM).strip().splitlines()
    program = tmp_path_factory.mktemp("typed") / "program.py"
    program.write_text("\n".join([*lines, *WRONG]) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    done = subprocess.run([*command, str(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    found: dict[int, str] = {}
    for line, said in re.findall(r"program\.py:(\d+): error: (.*)", done.stdout):
        found[int(line)] = found.get(int(line), "") + said
    return len(lines), found


def test_a_right_program_is_accepted_with_all_its_aliases(findings):
    length, found = findings
    assert {line: said for line, said in found.items() if line <= length} == {}


@pytest.mark.parametrize("line", WRONG)
def test_a_name_that_is_not_there_is_found(findings, line):
    length, found = findings
    assert WRONG[line] in found.get(length + 1 + list(WRONG).index(line), "nothing")
