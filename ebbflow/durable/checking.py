"""The check of a checkpoint: every step that is kept, with all its files read; and going back to an earlier one.

Rule: checking changes nothing; going back removes records that come later, and no file that an earlier one names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ebbflow.durable.ledger import Ledger
from ebbflow.durable.records import (
    KEPT,
    LEDGER,
    MANIFEST,
    RECORD_NAME,
    Record,
    digest_of,
    is_there,
    manifest_of,
    missing_from,
    name_of_step,
    newest_of,
    record_of,
    refuse_without_manifest,
    stand_ins,
    steps_of,
    verified,
)
from ebbflow.durable.store import Store, disk_refusals
from ebbflow.errors import DamagedFile, NotACheckpoint, UnknownStep


class Found(NamedTuple):
    """What `check` says of a step: what is wrong with it, if anything."""

    step: int
    wrong: str | None
    state: dict[str, Any]
    files: int
    bytes: int


WHICH = "Name the directory that run(checkpoint=...), flow.stream(...) or ebb.keep(...) was given."


def opened(store: Store) -> tuple[dict[str, Any], list[int]]:
    if not is_there(store):
        raise NotACheckpoint(f"{store.root} holds no checkpoint.", hint=WHICH)
    if MANIFEST not in store.names():
        refuse_without_manifest(store)
        raise NotACheckpoint(f"{store.root} holds no checkpoint.", hint=WHICH)
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
