"""Reading: the last committed step of a checkpoint, read without a lock while another process writes.

A writer links a record, and then removes files that the last three records do not name. A reader that meets a missing
file has either been overtaken or found damage. It was overtaken if the ledger has changed since it began; then it
begins again, with the newest record.

Rule: nothing is written and no lock is taken, so that no writer waits. What was read is one committed step, whole; a
step that was read is never followed by an earlier one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from ebbflow.durable.checking import opened
from ebbflow.durable.records import LEDGER, Record, is_there, verified
from ebbflow.durable.store import Store
from ebbflow.errors import DamagedFile

Found = TypeVar("Found")
MOMENT = 0.02  # seconds after which a ledger that nobody writes to is as it was
READING_PATIENCE = 10.0  # seconds in which a reader that is overtaken begins again


def read_newest(store: Store, read: Callable[[dict[str, Any], Record], Found], after: int = -1) -> Found:
    """What `read` makes of the manifest and the last record; after: a step that was read before."""
    began = time.monotonic()
    while True:
        is_there(store)  # or refused
        entries = store.names(LEDGER)
        try:
            manifest, _ = opened(store)
            record = verified(store, manifest)
            if record.step < after:
                raise DamagedFile(f"{store.root} is at step {record.step}, and was at step {after} before.")
            return read(manifest, record)
        except DamagedFile:
            time.sleep(MOMENT)
            if store.names(LEDGER) == entries or time.monotonic() - began > READING_PATIENCE:
                raise


def checked_file(store: Store, record: Record, directory: str, name: str) -> bytes:
    """The content of a file that a record names."""
    try:
        length = record.files[directory][name]
    except KeyError:
        raise DamagedFile(f"a record of {store.root} reads the file {name}, which it does not list.") from None
    return store.get_checked(directory, name, length)
