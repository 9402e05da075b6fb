"""Ledger: the records of committed steps, and the files that each step consists of.

A step is committed when its record exists, and a record is created by one `link` call that never replaces anything: of
two sessions that continue from the same step, one is refused. Records are numbered, each holds the hash of the one
before, and names every file that the state after it needs. The last KEPT records are kept; while there are fewer,
stand-ins fill the rest. A step removes the oldest entry only when its own record is durable, so a missing entry means
that one was removed from outside and not that a process died.

    ledger = Ledger.open(store)                         # None where there is none yet
    ledger = Ledger.create(store, manifest, state, files)        # step 0
    ledger.manifest, ledger.step, ledger.state          # what was said when it was made; the last step, and its words
    ledger.commit(state, files)                         # files: {"segments": {name: length, ...}, ...}

Rule: a record never changes, an earlier record never becomes current by itself, and a file is removed only when no kept
record names it. While a checkpoint is being created a mark file says so; a directory that holds part of a checkpoint
but neither mark nor manifest is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ebbflow.durable.store import Store, disk_refusals
from ebbflow.errors import CheckpointDiffers, DamagedFile, EbbflowError, NotACheckpoint, SecondSession, UnknownStep

FORMAT = 5  # of the files and of what the words in them mean
KEPT = 3  # records, and what they speak of
MANIFEST, LEDGER = "manifest", "ledger"
BEGINNING = "beginning"  # the mark

Files = dict[str, dict[str, int]]  # by directory, the length of each file


class Record(NamedTuple):
    step: int
    state: dict[str, Any]
    files: Files
    digest: str  # of its bytes
    before: str = ""  # the digest of the record that it follows


class Ledger:
    def __init__(self, store: Store, manifest: dict[str, Any], head: Record):
        self.store, self.manifest, self.head = store, manifest, head
        self.is_lost = False  # another session went on
        self.doubtful: str | None = None  # a record that may be there and must not count

    @property
    def step(self) -> int:
        return self.head.step

    @property
    def state(self) -> dict[str, Any]:
        return self.head.state

    # ---- beginning -----------------------------------------------------------------------------

    @classmethod
    def open(cls, store: Store) -> Ledger | None:
        """The ledger in this directory; None where none was ever finished.  Any other content is refused."""
        if not is_there(store):
            return None
        with disk_refusals(f"opening {store.root}"), store.held():
            found = store.names()
            if MANIFEST not in found:
                refuse_without_manifest(store)
                return None
            manifest = manifest_of(store)
            head = verified(store, manifest)
            if BEGINNING in found:
                store.discard(store.path(BEGINNING))
        return cls(store, manifest, head)

    @classmethod
    def create(cls, store: Store, manifest: dict[str, Any], state: dict[str, Any], files: Files) -> Ledger:
        """A new one, at step 0; the manifest comes last, and with it everything is there."""
        manifest = {"format": FORMAT, "id": uuid.uuid4().hex, "kept": KEPT, **manifest}
        data = written(0, manifest["id"], "", state, files)
        with store.held():
            for name in store.names(LEDGER):  # of one that was never finished
                store.discard(store.path(LEDGER, name))
            try:
                store.put(LEDGER, [data], name_of_step(0), also=stand_ins(0))
                store.put("", [sealed(manifest)], MANIFEST)
                store.discard(store.path(BEGINNING))
            except FileExistsError:
                raise SecondSession(f"another session began {store.root} at the same moment.") from None
            return cls(store, manifest, record_of(store, manifest, 0))

    # ---- going on ------------------------------------------------------------------------------

    def commit(self, state: dict[str, Any], files: Files, **notes: Any) -> None:
        """Make a step count.  Whatever is raised, it does not; and if that is not sure, nothing goes on from here."""
        self.commit_as(self.step + 1, (), state, files, **notes)

    def commit_as(self, number: int, also: Sequence[str], state: dict[str, Any], files: Files, **notes: Any) -> None:
        """The same as a step of this number, with stand-ins for records before it."""
        store = self.store
        self.refuse_if_lost()
        data = written(number, self.manifest["id"], self.head.digest, state, files, **notes)
        with store.held():
            newest = steps_of(store)[-1:]
            if newest != [self.step]:
                self.lose(newest[0] if newest else None)
            name = name_of_step(number)
            try:
                store.put(LEDGER, [data], name, also=also)
            except FileExistsError:
                self.lose(number)
            except BaseException:
                with contextlib.suppress(OSError):
                    self.take_back(name)
                raise
            self.head = Record(number, state, files, digest_of(data))
            if store.get(LEDGER, name) != data:
                self.is_lost = True
                raise DamagedFile(f"the file {store.path(LEDGER, name)} does not read as it was written.")
            with contextlib.suppress(OSError, EbbflowError):  # what stays now goes another time
                self.sweep()

    def lose(self, newest: int | None) -> None:
        self.is_lost, root = True, self.store.root
        if newest is None:
            raise DamagedFile(f"the ledger of {root} is gone: {self.store.path(LEDGER)} has no record.")
        raise SecondSession(
            f"another session has gone on with {root}: it is at step {newest}, and this one at {self.step}."
        )

    def lose_if_behind(self) -> None:
        """Say so if another session went on: it sweeps away what this one was writing."""
        with contextlib.suppress(OSError):
            newest = steps_of(self.store)[-1:]
            if self.doubtful is None and newest and newest[0] > self.step:
                self.lose(newest[0])

    def refuse_if_lost(self) -> None:
        if self.is_lost:
            raise SecondSession(f"this session does not go on with {self.store.root}: another one did.")
        if self.doubtful is not None:
            with disk_refusals(f"{self.store.root} cannot go on"), self.store.held():
                if steps_of(self.store)[-1] > self.step + 1:
                    self.lose(steps_of(self.store)[-1])
                self.take_back(self.doubtful)

    def take_back(self, name: str) -> None:
        """A record whose sync failed must not count; until it is gone, nothing goes on."""
        self.doubtful = name
        if name in self.store.names(LEDGER):
            self.store.files.remove(self.store.path(LEDGER, name))
        self.doubtful = None

    def sweep(self) -> None:
        """Remove old records, and files that none of the others speaks of."""
        store = self.store
        entries = [name for name in store.names(LEDGER) if RECORD_NAME.fullmatch(name)]
        newest = newest_of(entries)
        kept = [record_of(store, self.manifest, int(name)) for name in newest[1:] if name.isdecimal()] + [self.head]
        for name in entries:
            if name not in newest:
                store.discard(store.path(LEDGER, name))
        for directory in {directory for record in kept for directory in record.files}:
            store.sweep(directory, {name for record in kept for name in record.files.get(directory, ())})

    def get(self, directory: str, name: str) -> bytes:
        """A file of the last step, checked."""
        try:
            return self.store.get_checked(directory, name, self.head.files[directory][name])
        except DamagedFile:
            if max(steps_of(self.store), default=0) > self.step + 1:  # it went because it is no longer needed
                raise SecondSession(f"another session goes on with {self.store.root} at this moment.") from None
            raise


DIRECTORIES = (LEDGER, "segments", "texts", "staged", "outputs", "letters")
RECORD_NAME = re.compile("[0-9]{12}(-[0-9])?")  # of the ledger: a record, or one that stands in for a record before it


def begin(store: Store) -> None:
    """Before the first file of a checkpoint: the mark that one is being begun."""
    store.make()
    with contextlib.suppress(FileExistsError):  # of one that was never finished
        store.put("", [b"A checkpoint is being begun here.\n"], BEGINNING)


def refuse_without_manifest(store: Store) -> None:
    """A directory without a manifest is empty, or a checkpoint is being begun in it; anything else is refused."""
    found = store.names()
    is_begun = BEGINNING in found and not any(steps_of(store))
    if any(name in DIRECTORIES for name in found) and not is_begun:
        raise DamagedFile(
            f"the file {store.path(MANIFEST)} is missing, and other parts of a checkpoint are there.",
            hint="Put it back from a copy, or give a directory that is empty.",
        )
    strange = [name for name in found if name not in (*DIRECTORIES, BEGINNING)]
    if strange:
        raise NotACheckpoint(f"{store.root} is not empty and not a checkpoint: it holds {strange[0]!r}.")


# ---- what a ledger says, in bytes ------------------------------------------------------------------


def is_there(store: Store) -> bool:
    try:
        store.files.list(store.root)
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        raise NotACheckpoint(f"{store.root} is not a directory.") from None
    except OSError as error:
        raise NotACheckpoint(f"{store.root} cannot be read: {error.strerror}.") from None
    return True


def name_of_step(number: int) -> str:
    return f"{number:012}"


def steps_of(store: Store) -> list[int]:
    return sorted(int(name) for name in store.names(LEDGER) if name.isdecimal() and len(name) == 12)


def stand_ins(number: int) -> list[str]:
    """The names of what stands in for the records before this one, where all of them are missing."""
    return [stand_in(number, i) for i in range(1, KEPT)]


def stand_in(number: int, i: int) -> str:
    return f"{name_of_step(number)}-{i}"


def newest_of(entries: Sequence[str]) -> list[str]:
    """The newest entries that follow each other without a gap, the last one first: KEPT of them, if none is missing."""
    numbers = sorted(int(name) for name in entries if name.isdecimal() and len(name) == 12)
    if not numbers:
        return []
    number, i, there = numbers[-1], 0, set(entries)
    found = [name_of_step(number)]
    while len(found) < KEPT:
        if stand_in(number, i + 1) in there:
            i += 1
            found.append(stand_in(number, i))
        elif name_of_step(number - i - 1) in there:
            number, i = number - i - 1, 0
            found.append(name_of_step(number))
        else:
            break
    return found


def missing_from(store: Store, manifest: dict[str, Any]) -> str | None:
    """What is to be said of entries that are missing; None: none is."""
    entries = store.names(LEDGER)
    newest = newest_of(entries)
    if not newest:
        stood = [name for name in entries if RECORD_NAME.fullmatch(name)]
        had = f", which had {stood[-1][:12]}" if stood else ""
        return f"the ledger of {store.root} is gone: {store.path(LEDGER)} has no record{had}."
    if len(newest) >= manifest.get("kept", 0):
        return None
    first, i = (int(part) for part in (*newest[-1].split("-"), "0")[:2])
    below = first - i - 1
    gone = [name_of_step(below)] if below >= 0 else []
    if below < 0 or i or not first:
        gone.append(stand_in(first, i + 1))
    if not any(name.isdecimal() and int(name) < below for name in entries):  # no gap: it may be the newest
        above = int(newest[0])
        gone = [*(name_of_step(above + k) for k in range(1, KEPT - len(newest) + 1)), *gone]
    paths = " or ".join(store.path(LEDGER, name) for name in gone)
    return f"the ledger of {store.root} has {len(newest)} of its last {KEPT} entries; missing: {paths}."


def verified(store: Store, manifest: dict[str, Any]) -> Record:
    """The last record: all that are kept are there, each follows the one before, and so are the files they name."""
    missing = missing_from(store, manifest)
    if missing is not None:
        raise DamagedFile(missing)
    kept: list[Record] = []
    sizes: dict[str, dict[str, int]] = {}
    for name in newest_of(store.names(LEDGER)):
        path = store.path(LEDGER, name)
        if not name.isdecimal():
            if digest_of(store.get(LEDGER, name)) != kept[-1].digest:
                raise DamagedFile(f"the file {path} is not as it was written.")
            continue
        record = record_of(store, manifest, int(name))
        if kept and kept[-1].before != record.digest:
            raise DamagedFile(f"the file {path} is not the record that the one after it follows.")
        kept.append(record)
    for record in kept:
        for directory, files in record.files.items():
            if directory not in sizes:
                sizes[directory] = store.sizes(directory)
            for name, length in files.items():
                refuse_other_size(store.path(directory, name), sizes[directory].get(name), length)
    return kept[0]


def refuse_other_size(path: str, found: int | None, length: int) -> None:
    if found is None:
        raise DamagedFile(f"the file {path} is missing.")
    if found != length:
        raise DamagedFile(f"the file {path} has {found} bytes instead of {length}.")


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sealed(content: dict[str, Any]) -> bytes:
    """JSON below a line with its hash."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
    return digest_of(text).encode() + b"\n" + text + b"\n"


def unsealed(store: Store, *parts: str) -> dict[str, Any]:
    return content_of(store.get(*parts), store.path(*parts))


def content_of(data: bytes, path: str) -> dict[str, Any]:
    try:
        digest, text, rest = data.split(b"\n", 2)
        if rest or digest_of(text).encode() != digest:
            raise ValueError
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise DamagedFile(f"the file {path} is not as it was written: its checksum differs.") from None
    if not isinstance(content, dict):
        raise DamagedFile(f"the file {path} is not one of a checkpoint.")
    return content


def written(step: int, of: str, before: str, state: dict[str, Any], files: Files, **notes: Any) -> bytes:
    return sealed(
        {"step": step, "of": of, "before": before, "attempt": uuid.uuid4().hex, "files": files, "state": state, **notes}
    )


def manifest_of(store: Store) -> dict[str, Any]:
    manifest = unsealed(store, MANIFEST)
    if type(manifest.get("format")) is not int or not isinstance(manifest.get("id"), str):
        raise DamagedFile(f"the file {store.path(MANIFEST)} is another file of a checkpoint, not its manifest.")
    if manifest.get("format") != FORMAT:
        raise CheckpointDiffers(
            f"{store.root} was written in format {manifest.get('format')!r}; this version reads format {FORMAT}.",
            hint=f"Open it with ebbflow {manifest.get('ebbflow', 'that wrote it')}, or give another directory.",
        )
    return manifest


def record_of(store: Store, manifest: dict[str, Any], number: int) -> Record:
    data, path = store.get(LEDGER, name_of_step(number)), store.path(LEDGER, name_of_step(number))
    content = content_of(data, path)
    if content.get("step") != number or content.get("of") != manifest["id"]:
        raise DamagedFile(f"the file {path} is a record of another step, or of another checkpoint.")
    return Record(number, content["state"], content["files"], digest_of(data), str(content.get("before")))


# ---- looking, and going back on purpose ---------------------------------------------------------------


class Found(NamedTuple):
    """What `check` says of a step: what is wrong with it, if anything."""

    step: int
    wrong: str | None
    state: dict[str, Any]
    files: int
    bytes: int


def opened(store: Store) -> tuple[dict[str, Any], list[int]]:
    if not is_there(store):
        raise NotACheckpoint(f"{store.root} holds no checkpoint.")
    if MANIFEST not in store.names():
        refuse_without_manifest(store)
        raise NotACheckpoint(f"{store.root} holds no checkpoint.")
    manifest, numbers = manifest_of(store), steps_of(store)
    if not numbers:
        raise DamagedFile(str(missing_from(store, manifest)))
    return manifest, numbers


def check(store: Store) -> Iterator[Found]:
    """Every step that is kept, the last one first, with all its files read and compared."""
    manifest, numbers = opened(store)
    known: dict[tuple[str, str], str | None] = {}
    after: str | None = None
    missing = missing_from(store, manifest)
    if missing is not None:
        yield Found(numbers[-1] + 1, missing, {}, 0, 0)
    for number in reversed(numbers):
        wrong, state, files = None, {}, {}
        try:
            record = record_of(store, manifest, number)
            state, files = record.state, record.files
            if after is not None and record.digest != after:
                path = store.path(LEDGER, name_of_step(number))
                wrong = f"the file {path} is not the record that the one after it follows."
            after = record.before
            for directory, entries in files.items():
                for name, length in entries.items():
                    if (directory, name) not in known:
                        known[directory, name] = _wrong_with(store, directory, name, length)
                    wrong = wrong or known[directory, name]
        except DamagedFile as error:
            wrong, after = error.what, None
        if wrong is None:
            wrong = _wrong_before(store, number)
        lengths = [length for entries in files.values() for length in entries.values()]
        yield Found(number, wrong, state, len(lengths), sum(lengths))


def _wrong_before(store: Store, number: int) -> str | None:
    """What is wrong with what stands in for records before this one."""
    right = store.get(LEDGER, name_of_step(number))
    for name in store.names(LEDGER):
        if (
            name.startswith(f"{name_of_step(number)}-")
            and RECORD_NAME.fullmatch(name)
            and store.get(LEDGER, name) != right
        ):
            return f"the file {store.path(LEDGER, name)} is not as it was written."
    return None


def _wrong_with(store: Store, directory: str, name: str, length: int) -> str | None:
    try:
        store.get_checked(directory, name, length)
    except DamagedFile as error:
        return error.what
    return None


def rewind(store: Store, step: int) -> int:
    """Go on from an earlier step: a new record says what it said.  The number of the new one.

    Where entries of the ledger are missing or damaged, only the new one stays, with stand-ins for what was before it,
    and its number is one that no record can have had.
    """
    manifest, numbers = opened(store)
    if step not in numbers:
        raise UnknownStep(
            f"step {step} of {store.root} is not kept; these are: {', '.join(map(str, numbers))}.",
            hint="`ebbflow check DIR` lists them.",
        )
    for found in check(store):
        if found.step == step and found.wrong:
            raise DamagedFile(f"step {step} of {store.root} is damaged as well: {found.wrong}")
    record = record_of(store, manifest, step)
    last = digest_of(store.get(LEDGER, name_of_step(numbers[-1])))
    ledger = Ledger(store, manifest, Record(numbers[-1], {}, {}, last))
    number, also = ledger.step + 1, []
    try:
        verified(store, manifest)
    except DamagedFile:
        number += KEPT - len(newest_of(store.names(LEDGER)))
        also = stand_ins(number)
    with disk_refusals(f"rewinding {store.root}"):
        for name in also:  # of a rewind that did not come to its end
            store.discard(store.path(LEDGER, name))
        ledger.commit_as(number, also, record.state, record.files, rewound=step)
    return ledger.step
