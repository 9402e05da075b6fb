"""Files that fail: a disk in memory that loses what was not synced, and one that refuses at a chosen call.

Rule: what the disk keeps after a crash is what was synced, and any part of the rest; closing a file syncs nothing.
"""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable
from random import Random

from ebbflow.durable.store import Files

CALLS = (
    "make_directory",
    "create",
    "write",
    "sync",
    "close",
    "link",
    "remove",
    "list",
    "read",
    "size",
    "sync_directory",
    "lock",
)


class Inode:
    def __init__(self, data: bytes = b"", synced: bool = False):
        self.data, self.is_synced = bytearray(data), synced


class Directory:
    def __init__(self) -> None:
        self.entries: dict[str, Inode | Directory] = {}
        self.synced: dict[str, Inode | Directory] = {}
        self.pending: list[tuple[str, Inode | Directory | None]] = []  # since the last sync; None: removed

    def set(self, name: str, what: Inode | Directory | None) -> None:
        self.pending.append((name, what))
        if what is None:
            del self.entries[name]
        else:
            self.entries[name] = what

    def sync(self) -> None:
        self.synced, self.pending = dict(self.entries), []


class Disk(Files):
    """A disk in memory.  `after` is called after every call that can change what is on it."""

    def __init__(self, after: Callable[[str], None] | None = None):
        self.root, self.after = Directory(), after
        self.handles: dict[int, Inode] = {}
        self.numbers = itertools.count(100)

    def _find(self, path: str) -> Inode | Directory:
        found: Inode | Directory = self.root
        for part in path.strip("/").split("/"):
            if part:
                if not isinstance(found, Directory) or part not in found.entries:
                    raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
                found = found.entries[part]
        return found

    def _parent(self, path: str) -> tuple[Directory, str]:
        parent = self._find(os.path.dirname(path))
        assert isinstance(parent, Directory)
        return parent, os.path.basename(path)

    def _did(self, what: str) -> None:
        if self.after is not None:
            self.after(what)

    def make_directory(self, path: str) -> None:
        parent, name = self._parent(path)
        if name in parent.entries:
            raise FileExistsError(errno.EEXIST, "File exists", path)
        parent.set(name, Directory())
        self._did("make_directory")

    def create(self, path: str) -> int:
        parent, name = self._parent(path)
        if name in parent.entries:
            raise FileExistsError(errno.EEXIST, "File exists", path)
        inode, handle = Inode(), next(self.numbers)
        parent.set(name, inode)
        self.handles[handle] = inode
        self._did("create")
        return handle

    def write(self, handle: int, block) -> int:
        inode = self.handles[handle]
        inode.is_synced = False
        inode.data += block
        self._did("write")
        return len(block)

    def sync(self, handle: int) -> None:
        self.handles[handle].is_synced = True
        self._did("sync")

    def close(self, handle: int) -> None:
        self.handles.pop(handle, None)

    def link(self, path: str, name: str) -> None:
        inode, (parent, at) = self._find(path), self._parent(name)
        if at in parent.entries:
            raise FileExistsError(errno.EEXIST, "File exists", name)
        parent.set(at, inode)
        self._did("link")

    def remove(self, path: str) -> None:
        parent, name = self._parent(path)
        self._find(path)
        parent.set(name, None)
        self._did("remove")

    def list(self, path: str) -> list[str]:
        found = self._find(path)
        if isinstance(found, Inode):
            raise NotADirectoryError(errno.ENOTDIR, "Not a directory", path)
        return list(found.entries)

    def size(self, path: str) -> int:
        return len(self.read(path))

    def read(self, path: str) -> bytes:
        found = self._find(path)
        if isinstance(found, Directory):
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        return bytes(found.data)

    def sync_directory(self, path: str) -> None:
        found = self._find(path)
        assert isinstance(found, Directory)
        found.sync()
        self._did("sync_directory")

    def lock(self, path: str) -> int:
        self._find(path)
        return next(self.numbers)

    def crashed(self, random: Random) -> Disk:
        """The disk as it may be found after the power was lost just now."""
        disk, inodes = Disk(), {}

        def kept(inode: Inode) -> Inode:
            if id(inode) not in inodes:
                data = bytes(inode.data)
                if not inode.is_synced:
                    at = random.randrange(len(data) // 512 + 1) * 512
                    whole = random.choice(("nothing", "torn", "holes", "all"))
                    data = {"nothing": b"", "torn": data[:at], "holes": bytes(at) + data[at:], "all": data}[whole]
                inodes[id(inode)] = Inode(data, True)
            return inodes[id(inode)]

        def follow(old: Directory, new: Directory) -> None:
            entries = dict(old.synced)
            for name, what in old.pending:  # each reached the disk, or did not, in no order
                if random.random() < 0.5:
                    if what is None:
                        entries.pop(name, None)
                    else:
                        entries[name] = what
            for name, what in entries.items():
                new.entries[name] = new.synced[name] = found = kept(what) if isinstance(what, Inode) else Directory()
                if isinstance(what, Directory):
                    follow(what, found)

        follow(self.root, disk.root)
        return disk


class Refusing(Files):
    """Other files, of which the call of this number fails: once, or from then on until `relieve`."""

    def __init__(self, files: Files, at: int, error: int = errno.ENOSPC, for_ever: bool = False):
        self.files, self.at, self.error, self.for_ever = files, at, error, for_ever
        self.calls, self.fired = 0, []

    def relieve(self) -> None:
        self.at = -1


def _refusing(name: str) -> Callable:
    def call(self, *arguments):
        if name not in ("close", "lock"):
            self.calls += 1
            if self.at >= 0 and (self.calls == self.at or (self.for_ever and self.calls > self.at)):
                self.fired.append(name)
                raise OSError(self.error, os.strerror(self.error))
        return getattr(self.files, name)(*arguments)

    return call


for _name in CALLS:
    setattr(Refusing, _name, _refusing(_name))
