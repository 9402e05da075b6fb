"""A durable session goes on, in another process, exactly where the last committed step left it."""

import os
import stat
from random import Random

import pytest

import ebbflow as ebb
from ebbflow.engine import host
from ebbflow.errors import AddressTaken, CheckpointDiffers, DamagedFile, LateTime, NotACheckpoint, SessionClosed
from ebbflow.runtime import made_by
from ebbflow.runtime.kept_local import DurableRuntime
from tests.runtime.imaged import reach_flow
from tests.tuned import tuned


def people():
    flow = ebb.Dataflow()
    accounts = flow.input("accounts", "id long, owner string, balance long", key="id")
    flow.output("wealth", accounts.group_by("owner").agg(total=ebb.sum("balance")))
    flow.output("accounts", accounts)
    flow.output("quiet", accounts.select("owner").distinct(), changes=False)
    return flow


class Story:
    """The same edits told to a plain session, and to a durable one that is closed and opened again now and then."""

    def __init__(self, make, place, random: Random, **options):
        self.make, self.place, self.random, self.options = make, str(place), random, options
        self.plain, self.live, self.restarts = tuned(make(), **options), None, 0
        self.reopen()

    def reopen(self):
        if self.live is not None:
            self.live._release()
            self.restarts += 1
        self.live = tuned(self.make(), checkpoint=self.place, **self.options)

    def both(self, ask):
        found, right = ask(self.live), ask(self.plain)
        assert found == right
        return found

    def tell(self, verb, *arguments, **named):
        for live in (self.plain, self.live):
            getattr(live, verb)(*arguments, **named)

    def compare(self, outputs):
        for name in outputs:
            self.both(lambda live, name=name: live.frontier(name))
            self.both(lambda live, name=name: live.snapshot(name).rows())
        for name in self.plain._inputs:
            assert self.live._inputs[name].frontier == self.plain._inputs[name].frontier

    def end(self):
        self.plain._release()
        self.live._release()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_session_with_keys_text_and_rows_that_wait_goes_on_where_it_was(tmp_path, workers):
    random = Random(workers)
    story = Story(people, tmp_path / "state", random, workers=workers)
    for time in range(60):
        if random.random() < 0.5:  # before a step: what was read between the last step and a restart is unread again
            story.both(lambda live: live.changes("wealth").rows())
        for _ in range(random.randrange(4)):
            row = (random.randrange(9), random.choice(["ann", "bob", "zoë", f"new{time}"]), random.randrange(100))
            at = time + random.choice((0, 0, 1, 5, 20))
            if random.random() < 0.2:
                story.tell("delete", "accounts", [row[:1]], time=at)
            else:
                story.tell("upsert", "accounts", [row], time=at)
        story.tell("advance_to", time + 1)
        if random.random() < 0.3:
            story.reopen()
        if random.random() < 0.5:
            story.compare(["wealth", "accounts", "quiet"])
    story.both(lambda live: live.changes("accounts").rows())
    story.both(lambda live: live.changes("wealth").rows())
    assert story.restarts > 10
    story.end()


def test_inputs_that_are_not_equally_far_keep_their_rows(tmp_path):
    def make():
        flow = ebb.Dataflow()
        a, b = flow.input("a", "x long"), flow.input("b", "x long, y string")
        flow.output("alone", a.distinct())
        flow.output("both", a.join(b, on="x"))
        return flow

    random = Random(4)
    story = Story(make, tmp_path / "state", random)
    far = {"a": 0, "b": 0}
    for _ in range(80):
        name = random.choice("ab")
        for _ in range(random.randrange(3)):
            x = random.randrange(5)
            row = (x,) if name == "a" else (x, random.choice("pqr"))
            story.tell("insert", name, [row], time=far[name] + random.randrange(4))
        far[name] += random.randrange(3)
        story.tell("advance_to", **{name: far[name]})
        if random.random() < 0.3:
            story.reopen()
        if random.random() < 0.4:
            story.both(lambda live: live.changes("both").rows())
        story.compare(["alone", "both"])
    assert story.restarts > 10
    story.end()


@pytest.mark.parametrize("history", [None, "all", 5])
def test_snapshots_reach_back_as_far_as_before(tmp_path, history):
    random = Random(7)
    story = Story(reach_flow, tmp_path / "state", random, history=history)
    story.tell("insert", "roots", [(0,)], time=0)
    for time in range(1, 40):
        story.tell("insert", "edges", [(random.randrange(8), random.randrange(8))], time=time)
        story.tell("advance_to", time + 1)
        if random.random() < 0.4:
            story.reopen()
        for back in (0, 1, 4, 30):

            def ask(live, at=time - back):
                try:
                    return live.snapshot("reach", at=max(0, at)).rows()
                except ebb.EbbflowError as error:
                    return type(error).__name__

            story.both(ask)
    story.end()


def test_two_coordinates_and_a_loop(tmp_path):
    def make():
        flow = ebb.Dataflow(time=("valid", "system"))
        edges = flow.input("edges", "src long, dst long")
        step = lambda reach: (
            reach.join(edges, on={"dst": "src"}, suffix="2").select("src", dst="dst2").union(edges).distinct()
        )
        flow.output("paths", edges.iterate(step))
        return flow

    random = Random(2)
    story = Story(make, tmp_path / "state", random)
    for system in range(1, 14):
        rows = [(random.randrange(5), random.randrange(5)) for _ in range(2)]
        story.tell("insert", "edges", rows, time=(random.randrange(6), system + random.randrange(2)))
        story.tell("advance_to", [(0, system)] if random.random() < 0.5 else [(3, system), (0, system + 1)][:2])
        if random.random() < 0.4:
            story.reopen()
        story.both(lambda live: live.frontier("paths"))
        story.both(lambda live: live.changes("paths").rows())
    story.end()


def test_a_file_per_step_is_as_large_as_the_step(tmp_path):
    place = tmp_path / "state" / "segments"
    live = reach_flow().run(checkpoint=tmp_path / "state")
    live.apply("edges", {"src": list(range(20_000)), "dst": list(range(1, 20_001))}, time=0)
    live.insert("roots", [(19_000,)], time=0)
    live.advance_to(1)
    whole = sum(path.stat().st_size for path in place.iterdir())
    known, sizes = set(), []
    for time in range(1, 40):
        known |= set(os.listdir(place))
        live.insert("edges", [(-time, 7)], time=time)
        live.advance_to(time + 1)
        sizes.append(sum((place / name).stat().st_size for name in set(os.listdir(place)) - known))
    assert sorted(sizes)[20] < whole / 50 and sum(sizes) < 3 * whole
    live._release()


def test_leaving_the_block_keeps_what_was_given_and_closing_says_the_end(tmp_path):
    with people().run(checkpoint=tmp_path / "state") as live:
        live.upsert("accounts", [(1, "ann", 5)], time=3)
    with people().run(checkpoint=tmp_path / "state") as live:
        assert live.frontier("wealth") == [(0,)]
        live.advance_to(4)
        assert live.changes("wealth").rows() == [("ann", 5, 3, 1)]
        with pytest.raises(LateTime):
            live.upsert("accounts", [(1, "ann", 6)], time=3)
        live.close()
    live = people().run(checkpoint=tmp_path / "state")
    assert live.frontier("wealth") == [] and live.snapshot("wealth").rows() == [("ann", 5, 1)]
    with pytest.raises(SessionClosed):
        live.upsert("accounts", [(2, "bob", 6)])
    live._release()


def test_an_error_in_the_block_leaves_the_last_step(tmp_path):
    with pytest.raises(ZeroDivisionError), people().run(checkpoint=tmp_path / "state") as live:
        live.upsert("accounts", [(1, "ann", 5)])
        live.commit()
        live.upsert("accounts", [(1, "ann", 6)])
        1 / 0
    with people().run(checkpoint=tmp_path / "state") as live:
        assert live.snapshot("wealth").rows() == [("ann", 5, 1)]


def test_an_interruption_before_a_step_has_begun_takes_nothing_back_that_was_kept(tmp_path, monkeypatch):
    live = reach_flow().run(checkpoint=tmp_path)
    live.insert("edges", [(1, 2), (2, 3)])
    live.insert("roots", [(1,)])
    live.commit()
    live._release()

    def interrupted(*_):
        raise KeyboardInterrupt

    with reach_flow().run(checkpoint=tmp_path) as live:
        live.insert("edges", [(3, 4)])
        with monkeypatch.context() as patch:
            patch.setattr(host, "distinct", interrupted)
            patch.setattr(host.Host, "takes_moments", lambda *_: False)
            with pytest.raises(KeyboardInterrupt):
                live.commit()
        live.commit()
        assert [row[:2] for row in sorted(live.snapshot("reach").rows())] == [(1, 1), (1, 2), (1, 3), (1, 4)]


def test_counters_are_readable_after_the_end(tmp_path):
    live = reach_flow().run(checkpoint=tmp_path / "state")
    live.insert("edges", [(1, 2)])
    live.commit()
    live.close()
    assert live.counters()["rows"] > 0 and live.snapshot("reach").rows() == []


def test_a_subscriber_may_close_the_session_that_it_hears_of(tmp_path):
    live = reach_flow().run(checkpoint=tmp_path / "state")
    live.subscribe("reach", lambda _, frontier: live.close() if frontier else None)
    live.insert("edges", [(1, 2)])
    live.insert("roots", [(1,)])
    live.commit()
    assert live.frontier("reach") == [] and sorted(live.snapshot("reach").rows()) == [(1, 1, 1), (1, 2, 1)]


# ---- refusals -----------------------------------------------------------------------------------------


def begun(place, make=reach_flow, **options):
    live = tuned(make(), checkpoint=place, **options)
    live.commit()
    live._release()


def refused(kind, match, place, make=reach_flow, **options):
    with pytest.raises(kind, match=match) as raised:
        tuned(make(), checkpoint=place, **options)
    assert len(str(raised.value).splitlines()) == 3, "what, where, what to do"


def test_another_program_is_told_by_the_node_that_differs(tmp_path):
    def other():
        flow = reach_flow()
        edges = flow.input("more", "src long, dst long")
        flow.output("more", edges.filter(ebb.col("src") > 3))
        return flow

    begun(tmp_path / "state")
    refused(
        CheckpointDiffers,
        r'another program: it has no input "more" \(test_kept_local.py, line \d+\)',
        tmp_path / "state",
        other,
    )
    refused(CheckpointDiffers, "it has no input", tmp_path / "state", people)
    begun(tmp_path / "other", other)
    refused(CheckpointDiffers, "which this one lacks", tmp_path / "other")


def test_a_node_of_the_same_name_and_line_is_told_by_what_it_does(tmp_path):
    def once(type_="long"):
        flow = ebb.Dataflow()
        flow.output("out", flow.input("xs", f"x {type_}").distinct())
        return flow

    begun(tmp_path / "state", once)
    refused(
        CheckpointDiffers,
        r'it has no input "xs" \(.*\): xs \(x int\); and it has input "xs" \(.*\): xs \(x long\), which',
        tmp_path / "state",
        lambda: once("int"),
    )


def test_another_number_of_workers_is_refused(tmp_path):
    begun(tmp_path / "state", workers=2)
    refused(CheckpointDiffers, "made with 2 workers, and this is 1", tmp_path / "state")
    begun(tmp_path / "one")
    refused(CheckpointDiffers, "made with 1 worker, and this is 2", tmp_path / "one", workers=2)


def test_another_version_is_refused(tmp_path, monkeypatch):
    begun(tmp_path / "state")
    monkeypatch.setattr("ebbflow.runtime.made_by.version", lambda: "99.0")
    refused(CheckpointDiffers, "this is ebbflow 99.0", tmp_path / "state")


def test_other_structures_in_memory_are_refused(tmp_path, monkeypatch):
    begun(tmp_path / "state")
    monkeypatch.setattr("ebbflow.trace.table.A_NEW_FIELD", 12, raising=False)
    refused(CheckpointDiffers, "another state of its source", tmp_path / "state")


def test_an_engine_that_only_has_other_names_is_taken_for_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("ebbflow.runtime.made_by.engine", lambda: "before")
    begun(tmp_path / "state")
    monkeypatch.setattr("ebbflow.runtime.made_by.engine", lambda: "now")
    refused(CheckpointDiffers, "another state of its source", tmp_path / "state")
    monkeypatch.setattr("ebbflow.runtime.made_by.SAME_MEMORY", {"now": "before"})
    begun(tmp_path / "state")


def test_what_is_said_of_engines_with_the_same_memory_is_said_of_this_one():
    found = made_by.engine()
    assert not made_by.SAME_MEMORY or found in made_by.SAME_MEMORY, (
        f"the engine is now {found}: SAME_MEMORY says which one has the same memory, or is empty if none has"
    )


def test_another_format_is_refused(tmp_path, monkeypatch):
    begun(tmp_path / "state")
    monkeypatch.setattr("ebbflow.durable.records.FORMAT", 6)
    refused(CheckpointDiffers, "written in format 5; this version reads format 6", tmp_path / "state")


@pytest.mark.parametrize("place", ["s3://bucket/dir", "hdfs://host/dir", "dbfs:/dir"])
def test_a_place_that_is_not_a_local_path_is_refused(place):
    refused(NotACheckpoint, "local disk", place)


@pytest.mark.parametrize("place", [7, b"dir", "", True, "a\0b"])
def test_what_is_no_path_is_refused(place):
    refused(NotACheckpoint, "a checkpoint is a directory", place)


def test_a_directory_with_something_else_is_refused(tmp_path):
    (tmp_path / "novel.txt").write_text("Call me")
    refused(NotACheckpoint, "novel.txt", tmp_path)
    refused(NotACheckpoint, "not a directory", tmp_path / "novel.txt")


def test_a_session_that_nobody_holds_any_more_gives_way(tmp_path):
    live = reach_flow().run(checkpoint=tmp_path / "state")
    live.cycle = live  # kept alive until Python sweeps
    live.insert("roots", [(1,)])
    live.commit()
    del live
    again = reach_flow().run(checkpoint=tmp_path / "state")
    assert again.snapshot("reach").rows() == [(1, 1, 1)]


def test_a_session_that_is_open_in_this_process_keeps_its_place(tmp_path):
    live = reach_flow().run(checkpoint=tmp_path / "state")
    refused(AddressTaken, "is open in this process already", tmp_path / "state")
    live.insert("roots", [(1,)])
    assert live.commit()["reach"].rows() == [(1, 1, 0, 1)]
    live._release()
    reach_flow().run(checkpoint=tmp_path / "state")._release()


def test_a_directory_that_had_a_ledger_never_opens_empty(tmp_path):
    for gone, match in (
        ("ledger", "ledger .* is gone"),
        ("manifest", "manifest is missing"),
        ("segments", "is missing"),
    ):
        place = tmp_path / gone
        begun(place)
        for path in sorted(place.rglob("*"), reverse=True):
            if path.is_file() and path.relative_to(place).parts[0] == gone:
                path.unlink()
        refused(DamagedFile, match, place)


def test_files_are_private(tmp_path):
    begun(tmp_path / "state")
    for path in [tmp_path / "state", *(tmp_path / "state").rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_the_place_of_everything_is_the_same_in_another_process(tmp_path):
    import subprocess
    import sys

    program = (
        "import sys; from tests.runtime.test_kept_local import people\n"
        "from ebbflow.runtime.kept_local import DurableRuntime\n"
        "r = DurableRuntime(people().graph, checkpoint=sys.argv[1]); print(r.ledger.manifest['layout'])"
    )
    found = set()
    DurableRuntime(people().graph, checkpoint=tmp_path / "state").close()
    for seed in ("1", "2"):
        said = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "state")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        )
        assert said.returncode == 0, said.stderr
        found.add(said.stdout)
    assert len(found) == 1
