"""Small files that say how far something is: written whole or not at all.

Rule: a mark is written beside its place, synced, and renamed into it; whoever reads sees the old one or the new one.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

from ebbflow.errors import DamagedFile


def read(path: Path) -> dict[str, Any] | None:
    """What a mark says; None: there is none yet."""
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        raise DamagedFile(f"{path} cannot be read: {error}.", hint="Restore it, or begin anew elsewhere.") from None
    if not isinstance(found, dict):
        raise DamagedFile(f"{path} holds no mark.", hint="Restore it, or begin anew elsewhere.")
    return found


def write(path: Path, says: dict[str, Any]) -> None:
    put(path, json.dumps(says, sort_keys=True).encode())


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with open(beside, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    sync(path.parent)


def create(path: Path, says: dict[str, Any]) -> bool:
    """Write a mark where there is none; False: somebody else's is there, as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    put(beside, json.dumps(says, sort_keys=True).encode())
    try:
        os.link(beside, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(beside)
    sync(path.parent)
    return True


def point(link: Path, target: str) -> None:
    """A symbolic link, moved from one place to another at once."""
    beside = link.with_name(f".{link.name}.{uuid.uuid4().hex}")
    os.symlink(target, beside)
    os.replace(beside, link)
    sync(link.parent)


def settle(written: Path, place: Path) -> None:
    """A directory that was written beside its place, moved there; one that is there already stays."""
    if place.exists():
        shutil.rmtree(written)
        return
    for path in [*written.rglob("*"), written]:
        sync(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    os.rename(written, place)
    sync(place.parent)


def sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
