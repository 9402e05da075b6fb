"""What we tell people: what happened, where in their file, and what to do.

Every refusal is one of these classes; the class name is the topic.  The text has three parts, always in
this order: a sentence that says what, the user's own line, a hint.

Rule: an error raised for a user's mistake is an `EbbflowError`; an `assert` is for our own.
"""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass

_HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True)
class Place:
    """A line of the user's program."""

    file: str
    line: int

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        shown = f"at {os.path.basename(self.file)}, line {self.line}"
        return f"{shown}:  {self.text}" if self.text else shown


def users_place() -> Place | None:
    """The innermost line on the stack that is not ours."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_HERE) and not file.startswith("<frozen"):
            return Place(file, frame.f_lineno)
        frame = frame.f_back
    return None


class EbbflowError(Exception):
    """The base of every refusal."""

    def __init__(self, what: str, *, at: Place | None = None, hint: str | None = None):
        self.what, self.at, self.hint = what, at if at is not None else users_place(), hint
        parts = [what]
        if self.at is not None:
            parts.append(f"  {self.at}")
        if hint:
            parts.append(f"  {hint}")
        super().__init__("\n".join(parts))


class NeverSettles(EbbflowError):
    """A loop still changes after the rounds it was given."""
