"""Claims about reading a checkpoint from outside: what the writer would answer, beside it, without a word to it."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from decimal import Decimal
from functools import partial
from random import Random

import pytest

import ebbflow as ebb
from ebbflow.durable import journal, segments
from ebbflow.durable.store import Files, Store
from ebbflow.errors import (
    CheckpointDiffers,
    DamagedFile,
    HistoryGone,
    NotACheckpoint,
    NotComplete,
    UnknownOutput,
    WrongTime,
)
from ebbflow.frontend.running.reader import Reader
from ebbflow.frontend.running.session import Session
from ebbflow.runtime.kept_local import DurableRuntime
from ebbflow.runtime.spark.cluster import Here
from ebbflow.runtime.spark.runtime import SparkRuntime

RESERVE = 1 << 28


def program(*coordinates):
    flow = ebb.Dataflow(*([coordinates] if coordinates else []))
    rows = flow.input("rows", "k long, word string, part decimal(9,2)")
    flow.output("counts", rows.group_by("word").agg(n=ebb.count(), most=ebb.max("part")))
    flow.output("rows", rows, changes=False)
    edges = rows.select("k", to=rows.k + 1)
    reach = lambda known: known.join(edges, on={"to": "k"}, suffix="2").select("k", to="to2").union(edges).distinct()
    flow.output("reach", edges.iterate(reach))
    return flow


def local(place, workers=1, flow=None, **options):
    runtime = partial(DurableRuntime, reserve=RESERVE)
    return Session(flow or program(), workers=workers, checkpoint=str(place), runtime=runtime, **options)


def on_spark(place, flow=None, **options):
    """The runtime of Spark, its tasks in this process."""

    def make(graph, workers=1, pool=None, checkpoint=None):
        return SparkRuntime(graph, Here(1), str(checkpoint), shards=2, pool=pool, reserve=RESERVE, durable=True)

    return Session(flow or program(), checkpoint=str(place), runtime=make, **options)


WRITERS = {"local": local, "two workers": partial(local, workers=2), "spark": on_spark}


@pytest.fixture(params=WRITERS)
def writer(request):
    return WRITERS[request.param]


def edit(live, random, at):
    for _ in range(random.randrange(4)):
        row = (
            random.randrange(6),
            random.choice(["ebb", "flow", "", None, f"new {at}"]),
            Decimal(random.randrange(9)) / 4,
        )
        live.apply("rows", [row], time=at + random.choice([0, 0, 0, 2]), diff=random.choice([1, 1, 2, -1]))


def plus(*parts):
    """Rows with their counts, whatever their times were."""
    found = {}
    for rows in parts:
        for row, count in rows:
            found[row] = found.get(row, 0) + count
    return {row: count for row, count in found.items() if count}


counted = lambda table: [(row[:-1], row[-1]) for row in table.rows()]
moved = lambda table: [(row[:-2], row[-1]) for row in table.rows()]


def test_a_reader_answers_what_the_writer_would_at_every_step(writer, tmp_path):
    random, live = Random(3), writer(tmp_path, history=5)
    state = ebb.open(tmp_path)
    assert list(state.outputs) == ["counts", "rows", "reach"]
    assert str(state.outputs["counts"]) == "word string, n long, most decimal(9,2)"
    assert state.snapshot("counts").rows() == [] and state.frontier("reach") == [(0,)] and state.step == 0
    for at in range(12):
        edit(live, random, at)
        live.advance_to(at + 1)
        assert state.step == at + 1
        for name in state.outputs:
            assert state.frontier(name) == live.frontier(name)
            assert state.snapshot(name).rows() == live.snapshot(name).rows()
            assert state.snapshot(name).to_arrow().schema == live.snapshot(name).to_arrow().schema
            for past in range(max(0, at - 4), at + 1):
                assert state.snapshot(name, at=past).rows() == live.snapshot(name, at=past).rows()
        assert ebb.open(tmp_path).snapshot("reach").rows() == state.snapshot("reach").rows()
    live.close()
    assert state.frontier("counts") == [] and state.snapshot("counts").rows() == live.snapshot("counts").rows()


@pytest.mark.parametrize("slack", [0, segments.SLACK])
def test_changes_since_a_frontier_are_each_given_once_or_refused(writer, tmp_path, monkeypatch, slack):
    """With no slack logs are written anew, and summed up, at almost every step."""
    monkeypatch.setattr(segments, "SLACK", slack)
    monkeypatch.setattr(journal, "SLACK", slack)
    random, live, state = Random(5), writer(tmp_path), ebb.open(tmp_path)
    truth, refused, cursor = {name: [{}] for name in state.outputs}, 0, {}
    for at in range(14):
        edit(live, random, at)
        live.advance_to(at + 1)
        for name in state.outputs:
            truth[name].append(plus(counted(live.snapshot(name))))
            for since in range(at + 1):
                try:
                    new = state.changes(name, since=since)
                except HistoryGone as error:
                    assert f"since {since}" in error.what and slack == 0
                    refused += 1
                    continue
                assert plus(truth[name][since].items(), moved(new)) == truth[name][-1]
                until = random.randrange(since, at + 1) if since else 0
                try:
                    some = state.changes(name, since=since, until=until)
                except HistoryGone:
                    continue
                assert plus(truth[name][since].items(), moved(some)) == truth[name][until]
            if at % 2 and name == "reach":  # a reader that is two steps behind
                before = cursor.get(name, ({}, [(0,)]))
                if slack == 0:
                    continue
                new = state.changes(name, since=before[1])
                cursor[name] = plus(before[0].items(), moved(new)), state.frontier(name)
                assert cursor[name][0] == truth[name][-1]
    assert (refused > 30) == (slack == 0)


def test_times_of_two_coordinates_are_read_alike(tmp_path):
    random, live = Random(1), local(tmp_path, flow=program("day", "version"), history="all")
    state = ebb.open(tmp_path)
    for at in [(0, 3), (1, 1), (2, 2)]:
        live.insert("rows", [(random.randrange(3), "ebb", 1)], time=at)
    live.advance_to([(2, 2), (3, 0)])
    assert state.frontier("reach") == live.frontier("reach") == [(2, 2), (3, 0)]
    assert state.snapshot("rows").rows() == live.snapshot("rows").rows()
    for at in [(0, 3), (1, 1), (1, 5), (2, 1)]:
        assert state.snapshot("counts", at=at).rows() == live.snapshot("counts", at=at).rows()
    assert state.changes("rows", since=[(1, 0)]).rows() == [r for r in state.changes("rows").rows() if r[3][0] >= 1]
    with pytest.raises(NotComplete):
        state.snapshot("counts", at=(2, 2))
    with pytest.raises(WrongTime):
        state.snapshot("counts", at=3)


def test_a_checkpoint_is_read_in_the_process_that_writes_it_and_after_it_ended(writer, tmp_path):
    live = writer(tmp_path / "state")
    live.insert("rows", [(1, "ebb", 1)])
    live.commit()
    state = ebb.open(tmp_path)  # the directory of a stream holds it as "state"
    assert state.directory == str(tmp_path / "state") and state.snapshot("rows").rows() == [(1, "ebb", 1, 1)]
    live._release()
    assert state.snapshot("rows").rows() == Reader(tmp_path / "state").snapshot("rows").rows()


# ---- beside a writer ------------------------------------------------------------------------------------


class OnlyReads(Files):
    """A disk that a reader must not change."""

    def no(self, *_):
        raise AssertionError("a reader writes")

    make_directory = create = write = sync = link = remove = sync_directory = lock = no


def test_a_reader_takes_no_lock_and_writes_nothing(writer, tmp_path):
    live = writer(tmp_path)
    live.insert("rows", [(1, "ebb", 1)])
    live.commit()
    seen = lambda: sorted((str(path), path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))
    before = seen()
    with Store(str(tmp_path)).held():  # the writer, in the middle of a commit
        state = Reader(tmp_path, OnlyReads())
        assert state.changes("rows").rows() == [(1, "ebb", 1, 0, 1)] and state.snapshot("reach").rows()
    assert seen() == before


class Overtaken(Files):
    """While a reader is about to read a file, the writer goes on, and removes it."""

    def __init__(self, go_on):
        self.go_on, self.left = go_on, 3

    def read(self, path):
        if "segments" in path and self.left:
            self.left -= 1
            self.go_on()
        return super().read(path)


def test_a_reader_that_is_overtaken_begins_again(writer, tmp_path):
    live = writer(tmp_path)

    def go_on():
        for _ in range(12):
            edit(live, Random(live.frontier("rows")[0][0]), live.frontier("rows")[0][0])
            live.insert("rows", [(1, "ebb", 1)])
            live.commit()

    go_on()
    overtaken = Overtaken(go_on)
    state = Reader(tmp_path, overtaken)
    assert state.snapshot("counts").rows() == live.snapshot("counts").rows() and overtaken.left == 0
    assert state.step == 48


WRITER = """
    import sys, time
    sys.path.insert(0, {here!r})
    from tests.frontend.running.test_reader import edit, program
    from random import Random
    live = program().run(checkpoint={place!r}, history=40)
    at = live.frontier("rows")[0][0]
    while True:
        edit(live, Random(at), at)
        live.advance_to(at := at + 1)
"""


def test_two_readers_beside_a_writer_that_is_killed_and_comes_again(tmp_path):
    """What they read at a time is what a program fed the same history answers; what one follows adds up."""
    place = tmp_path / "state"
    code = textwrap.dedent(WRITER.format(here=os.getcwd(), place=str(place)))
    right, fed = program().run(history="all"), 0
    first = second = None
    held, cursor, reads = {}, [(0,)], 0
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", code])
        try:
            until, target = time.monotonic() + 60, fed + 30
            while fed < target and time.monotonic() < until:
                if first is None:
                    try:
                        first, second = ebb.open(place), ebb.open(place)
                    except NotACheckpoint:
                        time.sleep(0.02)
                        continue
                at = first.frontier("reach")[0][0]
                for number in range(fed, at):
                    edit(right, Random(number), number)
                    right.advance_to(number + 1)
                fed = max(fed, at)
                if at:
                    assert first.snapshot("counts", at=at - 1).rows() == right.snapshot("counts", at=at - 1).rows()
                    now = second.frontier("reach")
                    held = plus(held.items(), moved(second.changes("reach", since=cursor, until=now)))
                    cursor = now
                    reads += 1
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    assert fed >= 60 and reads > 3
    at = cursor[0][0]
    for number in range(fed, at):
        edit(right, Random(number), number)
        right.advance_to(number + 1)
    assert held == plus(counted(right.snapshot("reach", at=at - 1)))


# ---- what is refused --------------------------------------------------------------------------------------


def test_every_file_that_is_missing_or_changed_is_refused_by_name_or_not_needed(writer, tmp_path):
    live = writer(tmp_path / "state")
    for at in range(7):
        edit(live, Random(at), at)
        live.insert("rows", [(at, f"word {at}", 1)])
        live.commit()
    live._release()
    place = tmp_path / "state"
    right = {name: ebb.open(place).snapshot(name).rows() for name in live._outputs}
    files = sorted(path for path in place.rglob("*") if path.is_file())
    refused = 0
    for path in files:
        data = path.read_bytes()
        for changed in (
            None,
            data[:-1],
            b"",
            bytes([data[0] ^ 1]) + data[1:],
            data[:-2] + bytes([data[-2] ^ 4, data[-1]]),
        ):
            path.unlink()
            if changed is not None:
                path.write_bytes(changed)
            try:
                state = ebb.open(place)
                assert {name: state.snapshot(name).rows() for name in right} == right
                assert changed is not None and len(changed) == len(data)  # of an earlier step, or of the engine's own
            except DamagedFile as error:
                assert path.name in error.what, (path, error.what)
                refused += 1
            path.unlink(missing_ok=True)
            path.write_bytes(data)
    assert {name: ebb.open(place).snapshot(name).rows() for name in right} == right
    assert refused > 3 * len(files)


def test_what_holds_no_checkpoint_or_another_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(NotACheckpoint, match=r"(?s)holds no checkpoint.*Name the directory"):
        ebb.open(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotACheckpoint, match=r"(?s)holds no checkpoint.*Name the directory"):
        ebb.open(tmp_path / "empty")
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotACheckpoint, match="not a directory"):
        ebb.open(tmp_path / "file")
    (tmp_path / "empty" / "part-0.parquet").write_text("x")
    with pytest.raises(NotACheckpoint, match="not a checkpoint: it holds 'part-0"):
        ebb.open(tmp_path / "empty")
    with pytest.raises(NotACheckpoint, match="local disk"):
        ebb.open("s3://bucket/state")


def test_another_format_an_older_manifest_and_another_checkpoint_are_told(tmp_path, monkeypatch):
    from ebbflow.durable import ledger, records
    from ebbflow.runtime import kept_local, made_by

    monkeypatch.setattr(ledger, "FORMAT", 6)
    monkeypatch.setattr(records, "FORMAT", 6)
    local(tmp_path / "new")._release()
    monkeypatch.undo()
    with pytest.raises(CheckpointDiffers, match="format 6; this version reads format 5"):
        ebb.open(tmp_path / "new")
    made = made_by.manifest_for
    monkeypatch.setattr(kept_local, "manifest_for", lambda *a: {k: v for k, v in made(*a).items() if k != "outputs"})
    local(tmp_path / "old")._release()
    with pytest.raises(CheckpointDiffers, match="did not write what its outputs are"):
        ebb.open(tmp_path / "old")
    monkeypatch.undo()
    local(tmp_path / "state")._release()
    state = ebb.open(tmp_path / "state")
    os.rename(tmp_path / "state", tmp_path / "away")
    local(tmp_path / "state")._release()
    with pytest.raises(CheckpointDiffers, match="another checkpoint was made"):
        state.snapshot("rows")


def test_times_that_are_not_kept_or_not_complete_and_unknown_outputs_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "SLACK", 0)
    monkeypatch.setattr(journal, "SLACK", 0)
    live = local(tmp_path)
    for at in range(9):
        live.insert("rows", [(at, "ebb", 1)])
        live.commit()
    state = ebb.open(tmp_path)
    with pytest.raises(HistoryGone, match='asks for "rows" at 0, which is no longer kept'):
        state.snapshot("rows", at=0)
    with pytest.raises(NotComplete, match="its frontier is 9"):
        state.snapshot("rows", at=9)
    with pytest.raises(UnknownOutput, match='the output "row"') as refused:
        state.changes("row")
    assert "rows" in refused.value.hint
