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
import uuid
from collections.abc import Sequence
from typing import Any

from ebbflow.durable.records import (
    BEGINNING,
    FORMAT,
    KEPT,
    LEDGER,
    MANIFEST,
    RECORD_NAME,
    Files,
    Record,
    digest_of,
    is_there,
    manifest_of,
    name_of_step,
    newest_of,
    record_of,
    refuse_without_manifest,
    sealed,
    stand_ins,
    steps_of,
    verified,
    written,
)
from ebbflow.durable.store import Store, disk_refusals
from ebbflow.errors import DamagedFile, EbbflowError, SecondSession


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


def begin(store: Store) -> None:
    """Before the first file of a checkpoint: the mark that one is being begun."""
    store.make()
    with contextlib.suppress(FileExistsError):  # of one that was never finished
        store.put("", [b"A checkpoint is being begun here.\n"], BEGINNING)
