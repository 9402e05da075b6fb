"""A file is there whole or not at all, under a name that stands for one content."""

import errno
import os
import stat
from random import Random

import pytest

from ebbflow.durable import store as stores
from ebbflow.durable.store import Store, local_path, name_of
from ebbflow.errors import DamagedFile, NotACheckpoint, SecondSession
from tests.trace.faulty import Disk, Refusing


@pytest.fixture
def store(tmp_path):
    store = Store(str(tmp_path / "state"))
    store.make()
    store.make("segments")
    return store


def test_a_file_is_named_by_its_content_and_comes_back(store):
    name = store.put("segments", [b"ebb", b"flow"])
    assert name == name_of([b"ebbflow"]) == store.put("segments", [b"ebbflow"])
    assert store.get_checked("segments", name, 7) == b"ebbflow" and store.names("segments") == [name]


def test_directories_above_are_made_too(tmp_path):
    store = Store(str(tmp_path / "lake" / "flows" / "state"))
    store.make("segments")
    name = store.put("segments", [b"x"])
    assert (tmp_path / "lake" / "flows" / "state" / "segments" / name).read_bytes() == b"x"


def test_a_given_name_is_taken_once(store):
    store.put("segments", [b"first"], "000")
    with pytest.raises(FileExistsError):
        store.put("segments", [b"second"], "000")
    assert store.get("segments", "000") == b"first" and os.listdir(store.path("segments")) == ["000"]


def test_what_is_not_as_written_is_refused_by_name(store):
    name = store.put("segments", [b"ebbflow"])
    path = store.path("segments", name)
    for data, match in ((b"ebbflov", "checksum differs"), (b"ebb", "3 bytes instead of 7"), (None, "is missing")):
        os.unlink(path)
        if data is not None:
            with open(path, "wb") as file:
                file.write(data)
        with pytest.raises(DamagedFile, match=match) as raised:
            store.get_checked("segments", name, 7)
        assert path in str(raised.value)
        if data is None:
            break


@pytest.mark.parametrize("name", ["../secret", "a" * 31, "A" * 32, "", "0" * 32 + "\n", "x\0y"])
def test_a_ledger_cannot_name_a_file_elsewhere(store, name):
    with pytest.raises(DamagedFile):
        store.get_checked("segments", name, 3)


def test_neither_links_nor_pipes_are_followed(store, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    name = name_of([b"secret"])
    os.symlink(tmp_path / "secret", store.path("segments", name))
    with pytest.raises(DamagedFile, match="cannot be read"):
        store.get_checked("segments", name, 6)
    os.mkfifo(store.path("segments", "0" * 32))
    with pytest.raises(DamagedFile, match="cannot be read"):
        store.get_checked("segments", "0" * 32, 6)


def test_everything_is_private(store):
    name = store.put("segments", [b"x"])
    assert stat.S_IMODE(os.stat(store.path("segments", name)).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(store.path("segments")).st_mode) == 0o700


def test_a_file_is_durable_before_its_name_is_and_the_name_when_put_returns():
    disk = Disk()
    store = Store("/state", disk)
    store.make()
    store.make("segments")
    seen, content = set(), os.urandom(2000)
    name = name_of([content])

    def look(call):
        seen.add(call)
        for seed in range(20):
            after = disk.crashed(Random(seed))
            if name in after.list("/state/segments"):
                assert after.read(f"/state/segments/{name}") == content

    disk.after = look
    store.put("segments", [content])
    assert seen == {"create", "write", "sync", "link", "remove", "sync_directory"}
    for seed in range(20):
        assert disk.crashed(Random(seed)).read(f"/state/segments/{name}") == content


def test_a_file_whose_sync_failed_is_thrown_away():
    for at in range(1, 20):
        disk = Disk()
        store = Store("/state", disk)
        store.make()
        store.make("segments")
        store.files = Refusing(disk, at, errno.EIO)
        try:
            store.put("segments", [b"words"])
        except OSError:
            assert store.files.fired
            left = disk.list("/state/segments")
            assert not [name for name in left if name.endswith(".draft")] or store.files.fired == ["remove"]
        else:
            if not store.files.fired:
                break
    else:
        raise AssertionError("it never came to an end")
    assert at > 5


def test_one_holds_a_directory_at_a_time(store, monkeypatch):
    monkeypatch.setattr(stores, "COMMIT_PATIENCE", 0.01)
    with store.held(), pytest.raises(SecondSession), Store(store.root).held():
        pass
    with Store(store.root).held():
        pass


def test_a_sweep_leaves_what_is_kept(store):
    names = [store.put("segments", [bytes([i])]) for i in range(5)]
    store.files.close(store.files.create(store.path("segments", "left.draft")))
    assert store.sweep("segments", names[:2]) == 4
    assert store.names("segments") == sorted(names[:2])


def test_places_as_people_write_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert local_path("state") == local_path(tmp_path / "state") == local_path(f"file://{tmp_path}/state")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert local_path("~/state") == str(tmp_path / "state")
    for place in ("s3a://bucket/x", "abfss://c@a/x", "gs://b/x"):
        with pytest.raises(NotACheckpoint):
            local_path(place)
