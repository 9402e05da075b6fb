"""Claims: which stream a place belongs to.

A table, a log or a view is continued by the stream that began it and by no other: steps are numbered from one in every
stream, so a number alone does not say whose it is.  Each output of a stream has an owner's name, made once and kept in
the stream's checkpoint; a place that is published to holds the same name.

Rule: a place is claimed before the first row is read, by creating a mark that must not be there; it is published to
only while the mark names the one who publishes.
"""

from __future__ import annotations

import os
import re
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ebbflow.errors import PlaceTaken, TypeMismatch
from ebbflow.frontend.plain import plain
from ebbflow.pipeline import marks

OWNER_FILE = "owner.json"  # in the directory that a stream has for an output
CLAIM = "_owner.json"  # in a place that is published to; readers of Parquet pass over names with an underscore


@dataclass(frozen=True)
class Owner:
    """An output of a stream."""

    id: str
    output: str = ""
    program: str = ""  # a hash of its plan
    home: str = ""  # the directory that the stream's checkpoint has for the output

    def __str__(self) -> str:
        named = f'the output "{plain(self.output)}" of ' if self.output else ""
        known = f" (checkpoint {Path(self.home).parent.parent}, program {self.program[:8]})" if self.program else ""
        return f"{named}another stream{known}"

    @property
    def is_gone(self) -> bool:
        """Whether its checkpoint is no longer there, so that it never publishes again."""
        found = marks.read(Path(self.home) / OWNER_FILE) if self.home else None
        return found is None or found.get("id") != self.id


def owner_of(home: Path, output: str = "", program: str = "") -> Owner:
    """The owner that publishes from this directory of a checkpoint; made when it is first asked for."""
    path = home / OWNER_FILE
    found = marks.read(path)
    if found is None:
        marks.create(path, asdict(Owner(uuid.uuid4().hex, output, program, str(home.absolute()))))
        found = marks.read(path)
    assert found is not None, "an owner is there once it was made"
    return owner_from(found)


def owner_from(says: dict[str, Any]) -> Owner:
    return Owner(*(str(says.get(name, "")) for name in ("id", "output", "program", "home")))


def claim(path: Path, mine: Owner, what: str, replace: bool, is_begun: bool) -> None:
    """Have a place for oneself, or refuse: it is another's, who has begun or may still begin."""
    if marks.create(path, asdict(mine)):
        return
    found = owner_from(marks.read(path) or {})
    if found.id == mine.id:
        return
    if not replace and (is_begun or not found.is_gone):
        raise taken(what, mine, found)
    marks.write(path, asdict(mine))


def refuse_other(path: Path, mine: Owner, what: str) -> None:
    """Refuse to publish to a place that somebody else took over."""
    found = marks.read(path)
    if found is None:  # the place was removed by hand, and is made again
        marks.create(path, asdict(mine))
        found = marks.read(path) or {}
    if owner_from(found).id != mine.id:
        raise taken(what, mine, owner_from(found))


def taken(what: str, mine: Owner, other: Owner) -> PlaceTaken:
    same = bool(mine.home) and Path(mine.home).parent == Path(other.home).parent
    whose = f'the output "{plain(other.output)}" of this stream' if same else str(other)
    return PlaceTaken(f"{what} belongs to {whose}.", hint=ANOTHER)


ANOTHER = "Publish to another place, or say replace=True: what is there is then replaced by this output."


def local(path: object, what: str) -> Path:
    """A path on this machine's disks, absolute; one place has one spelling."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise TypeMismatch(f"{what} is given a path, not {plain(path)}.", hint='For example "out/reach".')
    text = str(os.fspath(path))
    if scheme := re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", text):
        if scheme[1].lower() != "file":
            raise TypeMismatch(
                f'{what} is written to a disk of this machine; "{plain(scheme[1])}" is another kind of place.',
                hint='A Delta table is written wherever Spark can: ebb.table(path, format="delta").',
            )
        text = re.sub(r"^file:/*", "/", text, flags=re.I)
    whole = Path(os.path.abspath(text))
    return Path(os.path.realpath(whole.parent)) / whole.name
