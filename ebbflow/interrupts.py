"""Interrupts: Ctrl-C is handled between two steps, not in the middle of one.

Python raises KeyboardInterrupt wherever the main thread happens to be, also between the commit of a step and the
session's note of it. While a step is held, Ctrl-C is only recorded. Its handler is called where the step can still be
undone (`look`), where other code runs or is waited for (`allowed`), or when the step is over.

Rule: an interrupt is deferred, never lost, and handled by the handler that was installed before: Python's, PySpark's or
the user's.
"""

from __future__ import annotations

import threading
from _signal import getsignal, signal  # type: ignore[import-not-found]  # without looking up their names each time
from collections.abc import Callable
from signal import SIGINT as _SIGINT
from threading import get_ident
from types import FrameType, TracebackType
from typing import Any

MAIN = threading.main_thread().ident
SIGINT = int(_SIGINT)  # a plain number is looked at faster

Handler = Callable[[int, FrameType | None], Any]

_noted = False
_held: list[Handler] = []  # who handles Ctrl-C otherwise; of steps within steps, the innermost last


def _note(number: int, frame: FrameType | None) -> None:
    global _noted
    _noted = True


def look() -> None:
    """Where a step may be stopped: let what was noted be handled."""
    if _noted and _held and get_ident() == MAIN:
        _tell(_held[-1])


def _tell(handler: Handler) -> None:
    global _noted
    if _noted:
        _noted = False
        handler(SIGINT, None)


def hold() -> bool:
    """From here on Ctrl-C is noted, until `let_go`; False where it does not arrive, or is held already."""
    global _noted
    if get_ident() != MAIN:
        return False
    handler = getsignal(SIGINT)
    if handler is _note or not callable(handler):
        return False
    _noted = False
    _held.append(handler)  # first: another signal may be handled within the call that follows
    try:
        signal(SIGINT, _note)
    except BaseException:
        signal(SIGINT, handler)
        _held.pop()
        raise
    return True


def let_go() -> None:
    """What was noted since `hold` is handled, and from here on again as before."""
    handler = _held[-1]
    try:
        signal(SIGINT, handler)
    except BaseException:  # what another signal's handler raised, before it was set
        signal(SIGINT, handler)
        raise
    finally:
        _held.pop()
    if _noted:
        _tell(handler)


class held:
    """Within it Ctrl-C is noted, and handled at its end; where it does not arrive, or is held already, nothing."""

    __slots__ = ("is_mine",)

    def __enter__(self) -> None:
        self.is_mine = hold()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.is_mine:
            let_go()


class allowed:
    """Within it Ctrl-C is handled at once, also where a step is held."""

    __slots__ = ("is_held",)

    def __enter__(self) -> None:
        self.is_held = get_ident() == MAIN and getsignal(SIGINT) is _note
        if self.is_held:
            look()
            signal(SIGINT, _held[-1])

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.is_held:
            signal(SIGINT, _note)
