"""Claims about rows replaced by key: the latest edit of a key counts, and only that one is kept."""

import json
import os

import pytest

import ebbflow as ebb
from ebbflow.dataflow import nodes as n
from ebbflow.frontend.running.session import Session
from ebbflow.pipeline.latest import outdone
from tests.pipeline.given import Files, Kept, balances, run

EDITS = "id long, owner string, amount long, seq long, gone boolean"


def at(rows, time):
    """The collection at a time."""
    found = {}
    for *row, when, diff in rows:
        if when <= time:
            found[tuple(row)] = found.get(tuple(row), 0) + diff
    return {row for row, count in found.items() if count}


def test_the_latest_edit_of_a_key_counts_whatever_order_they_come_in(spark, tmp_path):
    edits = Files(tmp_path / "edits", EDITS, spark)
    edits.put((1, "ann", 10, 1, False), (2, "bob", 5, 2, False), (1, "ann", 12, 3, False))
    edits.put((1, "cid", 99, 2, False), (2, "bob", 5, 4, True))  # the first of these is older than what stands
    edits.put((2, "bob", 7, 3, False), (3, "ann", 1, 5, False))  # and this older than its deletion
    edits.put((1, "ann", 12, 3, False))  # the same once more
    kept = Kept()
    source = ebb.upsert(edits.frame(1), sequence="seq", deleted="gone")
    query = run(balances(), spark, tmp_path, {"accounts": source}, {"totals": ebb.each(kept)})
    assert [at(kept.changes, step) for step in range(4)] == [
        {("ann", 12), ("bob", 5)}, {("ann", 12)}, {("ann", 13)}, {("ann", 13)},
    ]  # fmt: skip
    program = query._feed.program
    assert outdone("accounts") in [node.name for node in program.graph.nodes if isinstance(node, n.Output)]


def test_edits_that_were_outdone_leave_the_state(spark, tmp_path, monkeypatch):
    edits = Files(tmp_path / "edits", EDITS, spark)
    for step in range(4):
        edits.put((1, "ann", step, step, False), (2, "bob", step, step, False))
    seen = []

    before = Session.deliver

    def deliver(session, frames, **more):
        seen.append(sorted((r["id"], r["_sequence0"], r["_diff"]) for r in frames["accounts"].collect()))
        return before(session, frames, **more)

    monkeypatch.setattr(Session, "deliver", deliver)
    source = ebb.upsert(edits.frame(1), sequence="seq", deleted="gone")
    run(balances(), spark, tmp_path, {"accounts": source}, {"totals": ebb.each(Kept())})
    assert seen[2] == [(1, 0, -1), (1, 2, 1), (2, 0, -1), (2, 2, 1)]
    assert seen[3] == [(1, 1, -1), (1, 3, 1), (2, 1, -1), (2, 3, 1)]


def test_an_edit_is_taken_away_once_though_its_time_stays_open(spark, tmp_path):
    edits = Files(tmp_path / "edits", "id long, owner string, amount long, ts long", spark)
    edits.put((1, "ann", 1, 0), (1, "ann", 2, 1), (2, "bob", 1, 20))
    for _ in range(3):
        edits.put((3, "cid", 3, 20))  # the frontier stands
    edits.put((1, "ann", 5, 40), (4, "dan", 1, 90))
    kept = Kept()
    inputs = {"accounts": ebb.upsert(edits.frame(1), time="ts", lateness=10)}
    run(balances(), spark, tmp_path, inputs, {"totals": ebb.each(kept)})
    assert [at(kept.changes, time) for time in (0, 1, 20, 40)] == [
        {("ann", 1)}, {("ann", 2)}, {("ann", 2), ("bob", 1), ("cid", 3)}, {("ann", 5), ("bob", 1), ("cid", 3)},
    ]  # fmt: skip


def test_a_late_edit_is_kept_as_it_was_given(spark, tmp_path):
    edits = Files(tmp_path / "edits", "id long, owner string, amount long, ts long, gone boolean", spark)
    edits.put((1, "ann", 10, 5, False), (2, "bob", 1, 9, False))
    edits.put((1, "ann", 7, 3, False), (2, "bob", 1, 4, True))
    source, dead = ebb.upsert(edits.frame(1), time="ts", deleted="gone"), str(tmp_path / "dead")
    run(balances(), spark, tmp_path, {"accounts": source}, {"totals": ebb.each(Kept())}, dead_letters=dead)
    letters = spark.read.json(dead).select("time", "diff", "row").collect()
    assert sorted(map(tuple, letters)) == [
        (3, 1, '{"id":1,"owner":"ann","amount":7}'), (4, -1, '{"id":2,"owner":"bob","amount":1}'),
    ]  # fmt: skip


@pytest.mark.parametrize("files_at_once", [None, 1])
def test_edits_have_their_own_times(spark, tmp_path, files_at_once):
    edits = Files(tmp_path / "edits", "id long, owner string, amount long, ts long", spark)
    edits.put((1, "ann", 10, 0), (1, "ann", 20, 5), (1, "bob", 30, 2))
    edits.put((1, "ann", 1, 7))
    kept = Kept()
    source = ebb.upsert(edits.frame(files_at_once), time="ts")
    run(balances(), spark, tmp_path, {"accounts": source}, {"totals": ebb.each(kept)})
    assert [at(kept.changes, time) for time in (0, 2, 5, 7)] == [
        {("ann", 10)}, {("bob", 30)}, {("ann", 20)}, {("ann", 1)},
    ]  # fmt: skip


def test_without_an_order_the_last_batch_counts(spark, tmp_path):
    edits = Files(tmp_path / "edits", "id long, owner string, amount long", spark)
    edits.put((1, "ann", 10))
    edits.put((1, "ann", 3))
    kept = Kept()
    run(balances(None), spark, tmp_path, {"accounts": ebb.upsert(edits.frame(1), key="id")}, {"totals": ebb.each(kept)})
    assert at(kept.changes, 9) == {("ann", 3)}


def test_envelopes_that_come_twice_count_once(spark, tmp_path):
    place = tmp_path / "topic"
    place.mkdir()
    one = {"id": 1, "owner": "ann", "amount": 10}
    messages = [
        {"op": "r", "before": None, "after": one, "source": {"lsn": 5}, "ts_ms": 1},
        {"op": "u", "before": one, "after": {**one, "amount": 15}, "source": {"lsn": 9}, "ts_ms": 2},
        {"op": "u", "before": one, "after": {**one, "amount": 15}, "source": {"lsn": 9}, "ts_ms": 2},
        {"op": "r", "before": None, "after": one, "source": {"lsn": 5}, "ts_ms": 1},
    ]
    for i, message in enumerate(messages):
        (place / f"{i}.txt").write_text(json.dumps(message) + "\n")
        os.utime(place / f"{i}.txt", (1_700_000_000 + i,) * 2)
    kept = Kept()
    frame = spark.readStream.option("maxFilesPerTrigger", 1).text(str(place))
    run(balances(), spark, tmp_path, {"accounts": ebb.debezium(frame)}, {"totals": ebb.each(kept)})
    assert [at(kept.changes, step) for step in (0, 1, 3)] == [{("ann", 10)}, {("ann", 15)}, {("ann", 15)}]


@pytest.mark.parametrize("files", [1, 4], ids=["in one micro-batch", "one by one"])
@pytest.mark.parametrize("stamp", [{}, {"ts_ms": 1000}], ids=["without a time", "at one time"])
def test_envelopes_that_say_nothing_of_their_order_are_created_then_changed_then_deleted(spark, tmp_path, files, stamp):
    place = tmp_path / "topic"
    place.mkdir()
    ann, bob = {"id": 1, "owner": "ann", "amount": 10}, {"id": 2, "owner": "bob", "amount": 3}
    messages = [
        {"op": "c", "before": None, "after": ann, **stamp},
        {"op": "u", "before": ann, "after": {**ann, "amount": 15}, **stamp},
        {"op": "r", "before": None, "after": bob, **stamp},
        {"op": "d", "before": bob, "after": None, **stamp},
    ]
    for i in range(files):
        (place / f"{i}.txt").write_text("\n".join(map(json.dumps, messages[i::files] if files > 1 else messages)))
        os.utime(place / f"{i}.txt", (1_700_000_000 + i,) * 2)
    kept = Kept()
    frame = spark.readStream.option("maxFilesPerTrigger", 1).text(str(place))
    run(balances(), spark, tmp_path, {"accounts": ebb.debezium(frame)}, {"totals": ebb.each(kept)})
    assert at(kept.changes, 9) == {("ann", 15)}


def test_of_text_envelopes_the_later_ts_ms_counts(spark, tmp_path):
    place = tmp_path / "topic"
    place.mkdir()
    ann = {"id": 1, "owner": "ann", "amount": 10}
    said = [
        {"op": "u", "before": ann, "after": {**ann, "amount": n}, "ts_ms": ms} for n, ms in ((7, 3), (5, 9), (1, 2))
    ]
    (place / "0.txt").write_text("\n".join(map(json.dumps, said)))
    kept = Kept()
    frame = spark.readStream.text(str(place))
    run(balances(), spark, tmp_path, {"accounts": ebb.debezium(frame)}, {"totals": ebb.each(kept)})
    assert at(kept.changes, 9) == {("ann", 5)}
