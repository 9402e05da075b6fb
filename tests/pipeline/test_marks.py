"""Claims about marks: whole or not at all, and a damaged one is told by name."""

import os

import pytest

from ebbflow.errors import DamagedFile
from ebbflow.pipeline import marks


def test_a_mark_says_what_was_last_written(tmp_path):
    path = tmp_path / "deep" / "mark.json"
    assert marks.read(path) is None
    marks.write(path, {"step": 1})
    marks.write(path, {"step": 2})
    assert marks.read(path) == {"step": 2}
    assert os.listdir(path.parent) == ["mark.json"]


@pytest.mark.parametrize("content", ["", "{", "[1]", "\x00"])
def test_a_damaged_mark_is_told_by_name(tmp_path, content):
    (tmp_path / "mark.json").write_text(content)
    with pytest.raises(DamagedFile, match=r"mark\.json"):
        marks.read(tmp_path / "mark.json")


def test_a_crash_while_writing_leaves_the_old_mark(tmp_path, monkeypatch):
    marks.write(tmp_path / "mark.json", {"step": 1})
    monkeypatch.setattr(os, "replace", lambda *paths: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        marks.write(tmp_path / "mark.json", {"step": 2})
    assert marks.read(tmp_path / "mark.json") == {"step": 1}


def test_a_link_moves_at_once(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        marks.point(tmp_path / "current", name)
        assert os.readlink(tmp_path / "current") == name


def test_what_is_in_place_stays(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "which").write_text(name)
        marks.settle(tmp_path / name, tmp_path / "place")
    assert (tmp_path / "place" / "which").read_text() == "first"
    assert sorted(os.listdir(tmp_path)) == ["place"]
