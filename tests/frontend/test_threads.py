"""Several threads at one session, and at what it hands out; `python -m tests.threads` runs any number of histories."""

import os
import re
import subprocess
import sys
import threading
from functools import partial

import pytest

import ebbflow as ebb
from ebbflow.errors import DuplicateName, StepUnderWay, TypeMismatch
from tests.endings import EXITS

WITHIN = ("signal", "finalizer", "function")  # who calls from within another call
ALONE = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONFAULTHANDLER": "1"}


def asked(*command):
    said = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, env=ALONE, check=False, timeout=400
    )
    return said.returncode, said.stdout + said.stderr


def together(*acts):
    """All at once, in threads that change after almost every instruction; what they raised."""
    raised, threads = [], []

    def guarded(act):
        try:
            act()
        except BaseException as error:
            raised.append(error)

    was = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for act in acts:
            threads.append(threading.Thread(target=guarded, args=(act,)))
            threads[-1].start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(was)
    return raised


@pytest.mark.parametrize(
    ("runs", "options"),
    [(16, []), (6, ["--workers=2"]), (6, ["--kept"]), (2, ["--kept", "--workers=2"])],
    ids=["one worker", "two workers", "kept", "kept, two workers"],
)
def test_what_was_acknowledged_is_there_once_and_nothing_else_is(runs, options):
    code, said = asked("tests.threads", f"--runs={runs}", "--seed=7", *options)
    assert code == 0 and f"{runs} runs, 0 failures" in said, said
    counts = {what: int(n) for what, n in re.findall(r"([a-z][a-z: ]*[a-z]) (\d+)", said.split(" s\n")[1])}
    assert counts["operations"] > 10 * runs and counts["acknowledged"] > 5 * runs, counts  # a loaded machine does less
    assert counts["interleavings"] == runs, counts
    if runs >= 16:  # in fewer runs chance may leave one out
        assert counts["closed in the middle"] >= runs // 4, counts
        assert all(counts.get(f"refused: {who}") for who in WITHIN), counts


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kept", [0, 1], ids=["in memory", "kept"])
@pytest.mark.parametrize("case", ["others", *EXITS])
def test_a_session_that_ends_in_the_middle_of_a_step_ends_well(case, kept, workers):
    code, said = asked("tests.endings", case, str(kept), str(workers))
    assert code == (7 if case in EXITS else 0) and "Fatal" not in said, f"{code}: {said}"


def test_rows_that_come_while_another_thread_commits_are_all_there():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("xs", "x long"))
    live, given, read = flow.run(), [], []

    def insert():
        for x in range(3000):
            live.insert("xs", [(x,)])
            given.append(x)

    def commit():
        while len(given) < 3000:
            read.extend(row[0] for row in live.commit()["copy"].rows())

    assert together(insert, commit) == []
    read += [row[0] for row in live.commit()["copy"].rows()]
    assert sorted(read) == sorted(given) == list(range(3000))


@pytest.mark.parametrize("workers", [1, 2])
def test_every_call_from_within_a_step_is_refused_and_changes_nothing(workers):
    refused = set()
    calls = {
        "insert": lambda: live.insert("xs", [(5,)]),
        "delete": lambda: live.delete("xs", [(5,)]),
        "apply": lambda: live.apply("xs", {"x": [5]}),
        "upsert": lambda: live.upsert("keyed", [(5, 5)]),
        "advance_to": lambda: live.advance_to(9),
        "commit": lambda: live.commit(),
        "close": lambda: live.close(),
        "discard": lambda: live.discard(),
        "changes": lambda: live.changes("out"),
        "snapshot": lambda: live.snapshot("out"),
        "frontier": lambda: live.frontier("out"),
        "subscribe": lambda: live.subscribe("out", print),
        "add_output": lambda: live.add_output("out"),
        "counters": lambda: live.counters(),
    }

    def act(row):
        for verb, call in calls.items():
            with pytest.raises(StepUnderWay, match=f"^{verb} comes in the middle of a step"):
                call()
            refused.add(verb)
        return row

    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long").map_rows(act, "x long"))
    flow.output("keyed", flow.input("keyed", "k long, v long", key="k"))
    with flow.run(workers=workers) as live:
        live.insert("xs", [(1,), (2,)])
        tables = live.commit()
        assert tables["out"].rows() == [(1, 0, 1), (2, 0, 1)] and tables["keyed"].rows() == []
        assert refused == set(calls) and "Session(" in repr(live)


def test_rows_that_are_made_by_asking_the_session_are_made_before_its_turn():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("xs", "x long"))
    with flow.run() as live:
        live.insert("xs", [(1,), (2,)])
        live.commit()
        live.insert("xs", ((row[0] + 10,) for _ in range(1) for row in live.snapshot("copy")))
        assert live.commit()["copy"].rows() == [(11, 1, 1), (12, 1, 1)]


def test_subscribers_may_call_the_session_from_another_thread_and_wait_for_it():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("xs", "x long"))
    heard = []

    def passes_on(changes, frontier):
        heard.append(changes.rows())
        if len(heard) < 3:
            thread = threading.Thread(target=lambda: (live.insert("xs", [(len(heard),)]), live.commit()))
            thread.start()
            thread.join(20)
            assert not thread.is_alive(), "it waits for the one that waits for it"

    with flow.run() as live:
        live.subscribe("copy", passes_on)
        live.insert("xs", [(0,)])
        live.commit()
    assert heard == [[(0, 0, 1)], [(1, 1, 1)], [(2, 2, 1)]]


def test_changes_that_could_not_be_handed_out_are_there_the_next_time():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("xs", "x long"))
    with flow.run() as live:
        live.insert("xs", [(1,)])
        live.advance_to(1)
        with pytest.raises(TypeMismatch, match="does not run on Spark"):
            live.changes("copy", as_spark=True)
        assert live.changes("copy").rows() == [(1, 0, 1)]


def read_by_four(table):
    """What four threads found in it, as rows or as Arrow."""
    found = []
    acts = (lambda: found.append(table.rows()), lambda: found.append(table.to_arrow().to_pylist()))
    assert together(*acts, *acts) == []
    return [[tuple(row.values()) if isinstance(row, dict) else row for row in rows] for rows in found]


def test_a_table_that_two_threads_read_is_the_same_for_both():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("xs", "x long, y string"))
    with flow.run() as live:
        for count in (3, 40, 200):
            rows = [(x, str(x)) for x in range(count)]
            for _ in range(30):
                live.insert("xs", rows[::-1])
                for found in read_by_four(live.commit()["copy"]):
                    assert [(x, y, diff) for x, y, _, diff in found] == [(*row, 1) for row in rows]
                live.delete("xs", rows)
                live.commit()


def write_a_part(flow, xs, me, refused):
    for i in range(10):
        flow.output(f"{me} {i}", xs.filter(ebb.col("x") > i).select(x=ebb.col("x") + me).distinct())
        flow.output(f"loop {me} {i}", xs.iterate(lambda v: v.union(xs).distinct(), max_rounds=2 + i % 3))
        try:
            flow.input(f"shared {i}", "x long")
        except DuplicateName:
            refused.append(i)


def test_a_program_that_two_threads_write_is_whole():
    for _ in range(20):
        flow, refused = ebb.Dataflow(), []
        xs = flow.input("xs", "x long")
        assert together(*(partial(write_a_part, flow, xs, me, refused) for me in (1, 2, 3))) == []
        assert len(refused) == 20
        nodes = len(flow.graph.nodes)
        assert nodes == len(flow.graph.schemas) == len(flow.graph.scopes) == len(flow.graph.places)
    rows = {name: table.rows() for name, table in flow.compute(xs=[(3,), (7,)]).items()}
    for me in (1, 2, 3):
        for i in range(10):
            assert rows[f"{me} {i}"] == [(x + me, 1) for x in (3, 7) if x > i]
            assert rows[f"loop {me} {i}"] == [(3, 1), (7, 1)]


def test_the_first_sessions_of_a_process_may_begin_at_once():
    code, said = asked("tests.endings", "first_sessions_at_once")
    assert code == 0, said
