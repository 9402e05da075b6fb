"""Whatever part of a checkpoint is gone or stale, it is refused by name: it opens neither empty nor at an earlier step.

Every file, every pair of files, and random subsets of the files of a checkpoint are taken away, cut short, emptied or
put in each other's place, after the first steps and after many.  `check` says the same by name, and going back on
purpose leaves a checkpoint that opens and is whole.
"""

import itertools
import os
import shutil
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

import ebbflow as ebb
from ebbflow.durable.checking import check, rewind
from ebbflow.durable.ledger import Ledger
from ebbflow.durable.records import KEPT
from ebbflow.durable.store import Store
from ebbflow.errors import DamagedFile, NotACheckpoint, SecondSession
from ebbflow.frontend.running.session import Session
from ebbflow.runtime.kept_local import DurableRuntime
from ebbflow.runtime.spark.cluster import Here
from ebbflow.runtime.spark.runtime import SparkRuntime
from ebbflow.tools.cli import main

RESERVE = 1 << 28


def flow():
    made = ebb.Dataflow()
    rows = made.input("rows", "k long, word string")
    made.output("counts", rows.group_by("word").agg(n=ebb.count(), most=ebb.max("k")))
    return made


def local(place):
    return Session(flow(), checkpoint=str(place), runtime=partial(DurableRuntime, reserve=RESERVE))


def on_spark(place):
    """The runtime of Spark, its tasks in this process."""

    def make(graph, workers=1, pool=None, checkpoint=None, **options):
        return SparkRuntime(graph, Here(1), str(checkpoint), shards=2, pool=pool, reserve=RESERVE, durable=True)

    return Session(flow(), checkpoint=str(place), runtime=make)


RUNTIMES = {"local": local, "spark": on_spark}


def step(live, number):
    live.insert("rows", [(number, f"word {number % 5}"), (number, "all")])
    live.insert("rows", [(number, "later")], time=number + 2)
    live.commit()


def right(steps):
    live = flow().run()
    for number in range(steps):
        step(live, number)
    return sorted(live.snapshot("counts").rows())


@pytest.fixture
def tmp_path():
    """In memory, where there is room: what a disk does with files is not asked here."""
    place = tempfile.mkdtemp(prefix="ebbflow-gone-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    yield Path(place)
    shutil.rmtree(place)


@pytest.fixture(scope="module", params=[(kind, steps) for kind in RUNTIMES for steps in (0, 1, 2, 3, 9)], ids=str)
def made(request, tmp_path_factory):
    kind, steps = request.param
    place = tmp_path_factory.mktemp("made") / "state"
    live = RUNTIMES[kind](place)
    for number in range(steps):
        step(live, number)
    live._release()
    return kind, steps, place


def files_of(place):
    return sorted(path.relative_to(place) for path in place.rglob("*") if path.is_file())


def opens(kind, place):
    """What a session finds there, or the sentence with which it is refused."""
    try:
        live = RUNTIMES[kind](place)
    except (DamagedFile, NotACheckpoint) as error:
        return error.what
    try:
        found = sorted(live.snapshot("counts").rows())
        if kind == "spark":  # the state itself is read by the next step
            live.insert("rows", [(0, "one more")])
            live.commit()
        return found
    except DamagedFile as error:
        return error.what
    finally:
        live._release()


def look(place):
    """The same of the ledger and the sizes of files alone, which takes no session."""
    try:
        ledger = Ledger.open(Store(str(place)))
        if ledger is None:
            return "empty"
        for directory, entries in ledger.head.files.items():
            for name in entries:
                ledger.get(directory, name)
        return ledger.head.digest
    except (DamagedFile, NotACheckpoint) as error:
        return error.what


def names_one(said, paths):
    return any(path.name in said or f"{path.parts[0]} has no record" in said for path in paths)


def damaged(place, paths, how, random):
    """Do something to these files of a checkpoint; whether anything changed."""
    if how == "missing":
        for path in paths:
            (place / path).unlink()
        return True
    before = {path: (place / path).read_bytes() for path in paths}
    for i, path in enumerate(paths):
        data = before[path]
        if how == "cut short":
            data = data[: random.randrange(len(data))]
        elif how == "empty":
            data = b""
        else:  # in each other's place
            data = before[paths[(i + 1) % len(paths)]]
        (place / path).write_bytes(data)
    return any((place / path).read_bytes() != before[path] for path in paths)


HOW = ("missing", "cut short", "empty", "swapped")


def test_any_subset_of_files_that_is_missing_or_stale_is_refused_by_name(made, tmp_path):
    kind, steps, whole = made
    random, counts = Random(f"{kind} {steps}"), Counter()
    head, files = look(whole), files_of(whole)
    assert len(head) == 64 and len(files) >= KEPT + 1
    subsets = [(path,) for path in files] + list(itertools.combinations(files, 2))
    subsets += [tuple(random.sample(files, random.randrange(3, len(files)))) for _ in range(60)]
    needed = {name for names in Ledger.open(Store(str(whole))).head.files.values() for name in names}
    place = tmp_path / "state"
    shutil.copytree(whole, place)
    for paths in subsets:
        for how in HOW:
            if how == "swapped" and len(paths) < 2:
                continue
            if damaged(place, list(paths), how, random):
                said = look(place)
                if said == head:  # files of one length, which only earlier steps need: the last one is there, and whole
                    changed = [path for path in paths if (place / path).read_bytes() != (whole / path).read_bytes()]
                    assert how == "swapped" and not needed.intersection(path.name for path in changed)
                    said = " ".join(found.wrong or "" for found in check(Store(str(place))))
                    counts["named by check"] += 1
                assert said != "empty" and names_one(said, paths), (how, paths, said)
                counts[how] += 1
            for path in paths:
                shutil.copyfile(whole / path, place / path)
    assert look(place) == head
    assert sum(counts[how] for how in HOW) > 250 and set(HOW) <= set(counts), counts


def test_a_session_is_refused_as_the_ledger_is(made, tmp_path):
    kind, steps, whole = made
    place, refused = tmp_path / "state", 0
    for path in files_of(whole):
        shutil.copytree(whole, place)
        (place / path).unlink()
        said = opens(kind, place)
        assert isinstance(said, str) and path.name in said, (path, said)
        told = CliRunner().invoke(main, ["check", str(place)])
        assert told.exit_code == 1 and path.name in told.output.replace("\n", ""), (path, told.output)
        refused += 1
        shutil.rmtree(place)
    for directory in [path for path in whole.iterdir() if path.is_dir() and any(path.iterdir())]:
        shutil.copytree(whole, place)
        shutil.rmtree(place / directory.name)
        said = opens(kind, place)
        assert isinstance(said, str) and directory.name in said, (directory, said)
        assert CliRunner().invoke(main, ["check", str(place)]).exit_code == 1
        shutil.rmtree(place)
    shutil.copytree(whole, place)
    for unknown in (place / "README", place / "ledger" / ".DS_Store", place / "segments" / "notes.txt"):
        unknown.write_text("not ours")
    assert opens(kind, place) == right(steps) or steps == 0
    assert refused == len(files_of(whole))


def test_the_manifest_and_the_ledger_gone_is_not_an_empty_checkpoint(made, tmp_path):
    kind, _, whole = made
    place = tmp_path / "state"
    shutil.copytree(whole, place)
    (place / "manifest").unlink()
    shutil.rmtree(place / "ledger")
    assert "manifest" in opens(kind, place)
    told = CliRunner().invoke(main, ["check", str(place)])
    assert told.exit_code == 1 and "manifest" in told.output


def test_going_back_on_purpose_leaves_a_checkpoint_that_is_whole(made, tmp_path):
    kind, steps, whole = made
    place = tmp_path / "state"
    store, gone_back = Store(str(place)), 0
    entries = sorted(path.name for path in (whole / "ledger").iterdir())
    for number in range(1, len(entries) + 1):
        for lost in itertools.combinations(entries, number):
            shutil.copytree(whole, place)
            for name in lost:
                (place / "ledger" / name).unlink()
            if not any(name.isdecimal() for name in entries if name not in lost):
                for act in (Ledger.open, lambda store: list(check(store)), lambda store: rewind(store, 0)):
                    with pytest.raises(DamagedFile, match="has no record"):
                        act(store)
                shutil.rmtree(place)
                continue
            for found in [found for found in check(store) if found.wrong is None]:
                copy = tmp_path / "copy"
                shutil.copytree(place, copy)
                again = rewind(Store(str(copy)), found.step)
                assert again > steps, "a session that is still running would take it for its own step"
                assert [one.wrong for one in check(Store(str(copy)))] == [None] * len(list(check(Store(str(copy)))))
                assert look(copy) not in ("empty", look(whole)) and len(look(copy)) == 64
                if gone_back % 4 == 0:
                    assert opens(kind, copy) == right(found.step)
                shutil.rmtree(copy)
                gone_back += 1
            shutil.rmtree(place)
    assert gone_back >= 3


def test_a_session_that_still_runs_is_told_when_its_record_was_taken_away(tmp_path):
    live = local(tmp_path / "state")
    for number in range(5):
        step(live, number)
    (tmp_path / "state" / "ledger" / f"{5:012}").unlink()
    with pytest.raises(SecondSession):
        step(live, 5)
    live._release()


def test_a_rewind_that_did_not_come_to_its_end_can_be_repeated(tmp_path):
    live = local(tmp_path / "state")
    for number in range(5):
        step(live, number)
    live._release()
    ledger = tmp_path / "state" / "ledger"
    (ledger / f"{5:012}").unlink()
    (ledger / f"{6:012}-1").write_bytes(b"of one that was interrupted")
    store = Store(str(tmp_path / "state"))
    assert rewind(store, 4) == 6 and [found.wrong for found in check(store)] == [None]
    assert opens("local", tmp_path / "state") == right(4)
