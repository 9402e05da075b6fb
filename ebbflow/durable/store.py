"""Store: the one module that opens, syncs, links and removes the files of a checkpoint.

A file is written under a private name, synced, and only then linked to the name by which others find it; `link` never
replaces a file. So a name always has one content, whatever process dies in between.

Rule: data is durable before its name, and a name before a record that refers to it. A file whose sync failed is
discarded and never synced again. No file is edited, truncated or renamed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import stat
import time
import uuid
from collections.abc import Iterable, Sequence

from ebbflow.errors import DamagedFile, DiskRefused, EbbflowError, NotACheckpoint, SecondSession

DRAFT = ".draft"  # how private names end
TOGETHER = 1 << 22  # bytes that are written by one call
COMMIT_PATIENCE = 10.0  # seconds to wait for another session that is in the middle of a commit
Block = bytes | memoryview


class Files:
    """The calls to the system, each one thing; tests put others in their place."""

    def make_directory(self, path: str) -> None:
        os.mkdir(path, 0o700)

    def create(self, path: str) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def write(self, handle: int, block: Block) -> int:
        return os.write(handle, block)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def close(self, handle: int) -> None:
        os.close(handle)

    def link(self, path: str, name: str) -> None:
        os.link(path, name, follow_symlinks=False)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def list(self, path: str) -> list[str]:
        return os.listdir(path)

    def size(self, path: str) -> int:
        return os.stat(path, follow_symlinks=False).st_size

    def read(self, path: str) -> bytes:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            with open(handle, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(handle)

    def sync_directory(self, path: str) -> None:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def lock(self, path: str) -> int:
        """Hold a directory for oneself until `close`; dying lets it go."""
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(handle)
            raise
        return handle


class Store:
    """A directory with a few directories in it, whose files are written once."""

    def __init__(self, root: str, files: Files | None = None):
        self.root, self.files = root, files or Files()

    def path(self, *parts: str) -> str:
        return os.path.join(self.root, *parts)

    def make(self, *parts: str) -> None:
        """Have the directory and those above it, durably; they may be there already."""
        self._make(os.path.abspath(self.path(*parts)))

    def _make(self, path: str) -> None:
        above = os.path.dirname(path)
        try:
            self.files.make_directory(path)
        except FileExistsError:
            return
        except FileNotFoundError:
            self._make(above)
            with contextlib.suppress(FileExistsError):  # somebody else was quicker
                self.files.make_directory(path)
        self.files.sync_directory(above)

    def names(self, *parts: str) -> list[str]:
        """The names in a directory, without private ones; none where there is no directory."""
        return sorted(name for name in self._all(*parts) if not name.endswith(DRAFT))

    def _all(self, *parts: str) -> list[str]:
        try:
            return self.files.list(self.path(*parts))
        except FileNotFoundError:
            return []

    def put(self, directory: str, blocks: Sequence[Block], name: str | None = None, also: Sequence[str] = ()) -> str:
        """Write a file that is durable when this returns: its name.  Without one, the name is that of its content.

        A file of that content may be there already: a twin wrote the same.  A given name must be free: FileExistsError.
        `also`: names in the same directory by which it is known too, before it has its own.
        """
        of_content = name is None
        name = name_of(blocks) if name is None else name
        draft = self._draft(directory, blocks)
        try:
            for other in also:
                self.files.link(draft, self.path(directory, other))
            try:
                self.files.link(draft, self.path(directory, name))
            except FileExistsError:
                if not of_content:
                    raise
        finally:
            self.discard(draft)
        self.files.sync_directory(self.path(directory))
        return name

    def _draft(self, directory: str, blocks: Sequence[Block]) -> str:
        draft = self.path(directory, uuid.uuid4().hex + DRAFT)
        handle = self.files.create(draft)
        try:
            try:
                few = sum(map(len, blocks)) <= TOGETHER
                for block in [b"".join(blocks)] if few else blocks:
                    view = memoryview(block).cast("B")
                    while len(view):
                        view = view[self.files.write(handle, view) :]
                self.files.sync(handle)
            finally:
                self.files.close(handle)
        except BaseException:
            self.discard(draft)
            raise
        return draft

    def discard(self, path: str) -> None:
        """Remove a file if that can be done; what stays is of no account."""
        with contextlib.suppress(OSError):
            self.files.remove(path)

    def get(self, *parts: str) -> bytes:
        """The content of a file; missing or unreadable, it is refused by name."""
        path = self.path(*parts)
        try:
            return self.files.read(path)
        except FileNotFoundError:
            raise DamagedFile(f"the file {path} is missing.") from None
        except OSError as error:
            raise DamagedFile(f"the file {path} cannot be read: {error.strerror}.") from None

    def sizes(self, directory: str) -> dict[str, int]:
        """The length of every file in a directory."""
        found = {}
        for name in self.names(directory):
            with contextlib.suppress(FileNotFoundError):
                found[name] = self.files.size(self.path(directory, name))
        return found

    def get_checked(self, directory: str, name: str, length: int) -> bytes:
        """The content of a file that is known by its content."""
        path = self.path(directory, name)
        if not re.fullmatch("[0-9a-f]{32}", name):
            raise DamagedFile(f"{self.root} speaks of a file by a name that none of its files can have.")
        data = self.get(directory, name)
        if len(data) != length:
            raise DamagedFile(f"the file {path} has {len(data)} bytes instead of {length}.")
        if name_of([data]) != name:
            raise DamagedFile(f"the file {path} is not as it was written: its checksum differs.")
        return data

    def sweep(self, directory: str, kept: Iterable[str]) -> int:
        """Remove every file that is not kept, drafts too; how many.  What cannot be removed now goes another time."""
        kept, gone = set(kept), 0
        try:
            found = self._all(directory)
        except OSError:
            return 0
        for name in found:
            if name not in kept:
                self.discard(self.path(directory, name))
                gone += 1
        return gone

    def held(self) -> Held:
        """The directory for oneself, for a moment."""
        return Held(self)


class Held:
    def __init__(self, store: Store):
        self.store = store
        self.handle: int | None = None

    def __enter__(self) -> None:
        began = time.monotonic()
        while True:
            try:
                self.handle = self.store.files.lock(self.store.root)
                return
            except BlockingIOError:
                if time.monotonic() - began > COMMIT_PATIENCE:
                    root = self.store.root
                    raise SecondSession(f"another session holds {root}, in the middle of a commit.") from None
                time.sleep(0.005)
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF):
                    raise
                return  # a disk without locks: `link` still lets only one win

    def __exit__(self, *error: object) -> None:
        if self.handle is not None:
            self.store.files.close(self.handle)


def name_of(blocks: Iterable[Block]) -> str:
    """The name of a content: half of its SHA-256."""
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()[:32]


def local_path(place: object) -> str:
    """A path on a local disk, as a person writes it."""
    if not isinstance(place, (str, os.PathLike)):
        raise NotACheckpoint(f"a checkpoint is a directory, not {type(place).__name__}.")
    path = os.fspath(place)
    if isinstance(path, bytes) or not path or "\0" in path:
        raise NotACheckpoint("a checkpoint is a directory, named by text.")
    if scheme := re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", path):
        if scheme[1].lower() != "file":
            raise NotACheckpoint(
                f'a checkpoint is a directory on a local disk; "{scheme[1]}" is another kind of place, where a file '
                "cannot be created only if it is absent.",
            )
        path = re.sub(r"^file:/*", "/", path, flags=re.I)
    return os.path.abspath(os.path.expanduser(path))  # "~" is the home, as a shell has it


class disk_refusals:
    """What the disk refuses, as a sentence."""

    def __init__(self, doing: str):
        self.doing = doing

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, EbbflowError):
            raise DiskRefused(f"{self.doing}: the disk refused ({error.strerror or error}).") from error
