"""Records: what a ledger says, in bytes: its entries, the manifest, and whether they are all there as written.

Rule: a record is read only if its digest holds, and each follows the one before it.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from ebbflow.durable.store import Store
from ebbflow.errors import CheckpointDiffers, DamagedFile, NotACheckpoint

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


SEGMENTS, LETTERS, OUTPUTS, STAGED, TEXTS = "segments", "letters", "outputs", "staged", "texts"
DIRECTORIES = (LEDGER, SEGMENTS, TEXTS, STAGED, OUTPUTS, LETTERS)
STATE = "state"  # where a stream has it, in the directory that it was given
RECORD_NAME = re.compile("[0-9]{12}(-[0-9])?")  # of the ledger: a record, or one that stands in for a record before it


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
