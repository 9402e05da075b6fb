"""What a stream keeps beside its state: a file that is missing or damaged is refused by name, without Spark at work."""

import json
from types import SimpleNamespace

import pytest

from ebbflow.columns.ddl import schema_of
from ebbflow.errors import DamagedFile
from ebbflow.pipeline import marks
from ebbflow.pipeline.feed import Feed
from ebbflow.pipeline.latest import Outdone


def feed(place, delivery):
    """One that was begun before, as far as its files are concerned."""
    made = object.__new__(Feed)
    made.place, made.names = place, ["rows"]
    runtime = SimpleNamespace(staging=SimpleNamespace(delivery=delivery))
    made.live = SimpleNamespace(_runtime=runtime, frontier=lambda name: [(4,)])
    made.shapes = {"rows": SimpleNamespace(schema=schema_of("k long, v long"), key=("k",))}
    return made


TAKEN = {"query": "q", "batch": 3, "rows": 1, "hash": "0"}


def test_a_batch_that_was_taken_in_is_never_judged_by_the_frontiers_after_it(tmp_path):
    first = feed(tmp_path, {**TAKEN, "batch": 2})._note("q", 3)
    assert first["frontiers"] == {"rows": [[4]]}
    again = feed(tmp_path, TAKEN)
    assert again._note("q", 3) == first
    path = tmp_path / "batches" / "3.json"
    whole = path.read_bytes()
    for damaged in (None, b"", whole[:9], json.dumps({**first, "query": "of another"}).encode()):
        path.unlink()
        if damaged is not None:
            path.write_bytes(damaged)
        with pytest.raises(DamagedFile, match=r"3\.json"):
            again._note("q", 3)
        path.write_bytes(whole)
    assert again._note("q", 3) == first


def test_edits_that_wait_in_a_file_are_not_forgotten_when_it_is_gone(tmp_path):
    (tmp_path / "outdone").mkdir()
    path = tmp_path / "outdone" / "0-7.arrow"
    written = Outdone.none(schema_of("k long, v long")).written()
    marks.put(path, written)
    note = {"outdone": {"rows": path.name}}
    assert len(feed(tmp_path, TAKEN)._outdone(note, "rows").rows) == 0
    for damaged in (None, b"", written[: len(written) // 2]):
        path.unlink()
        if damaged is not None:
            path.write_bytes(damaged)
        with pytest.raises(DamagedFile, match=r"0-7\.arrow"):
            feed(tmp_path, TAKEN)._outdone(note, "rows")
        path.write_bytes(written)


def test_marks_that_are_damaged_are_named(tmp_path):
    path = tmp_path / "published.json"
    marks.write(path, {"step": 3, "outdone": {}})
    whole = path.read_bytes()
    for damaged in (b"", whole[:5], b"[]", b"\xff\xfe"):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile, match=r"published\.json"):
            marks.read(path)
