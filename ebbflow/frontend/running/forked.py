"""Forked sessions: in a child process of `fork`, the sessions of the parent are refused.

A child has the memory of its parent but none of its threads, and may share its files. A session that continued there
would wait for workers that do not exist, or write where its parent writes.

Rule: in a forked child every call of a session of the parent raises; leaving its `with` block does nothing.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, NoReturn

from ebbflow.errors import UsedAfterFork

_sessions: weakref.WeakSet[Any] = weakref.WeakSet()


class Forked:
    """What such a session has in the place of its standing: whoever looks at it is told."""

    is_closed = True  # there is nothing to let go: it is the parent's

    def __init__(self, parent: int):
        self._parent = parent

    def __getattr__(self, name: str) -> NoReturn:
        raise UsedAfterFork(
            f"this session belongs to process {self._parent}, of which this one, {os.getpid()}, is a fork: its workers "
            "are threads that are not here.",
            hint="Start a session of its own in the child with flow.run(), or start the child with "
            'multiprocessing.get_context("spawn").',
        )


def note(session: Any) -> None:
    """A session has begun."""
    _sessions.add(session)


def _tell_child() -> None:
    for session in list(_sessions):
        session._at = Forked(os.getppid())
        session._runtime.abandon()


os.register_at_fork(after_in_child=_tell_child)
