"""Interruptions: Ctrl-C comes between two things, not in the middle of one.

Python raises KeyboardInterrupt wherever the main thread happens to be, also between the moment at which a step counts
and that at which the session has taken note of it.  While a step is held, Ctrl-C is only noted.  It is raised where the
step can still be taken back (`look`), where somebody else's code runs or is waited for (`allowed`), or when the step is
over.

Rule: only Python's own way of handling Ctrl-C is put off.  Who has installed another is asked as ever.
"""

from __future__ import annotations

import threading
from _signal import getsignal, signal  # type: ignore[import-not-found]  # without looking up their names each time
from signal import SIGINT, default_int_handler
from types import FrameType, TracebackType

MAIN = threading.main_thread().ident

_noted = False


def _note(number: int, frame: FrameType | None) -> None:
    global _noted
    _noted = True


def hold() -> bool:
    """From here on Ctrl-C is noted, until `let_go`.  False where it does not arrive, or is not Python's to raise."""
    global _noted
    if threading.get_ident() != MAIN or getsignal(SIGINT) is not default_int_handler:
        return False
    _noted = False
    signal(SIGINT, _note)
    return True


def let_go() -> None:
    """Whoever was held lets Ctrl-C come again; one that was noted comes now."""
    signal(SIGINT, default_int_handler)
    look()


def look() -> None:
    """Where a step may be stopped: raise what was noted."""
    global _noted
    if _noted and threading.get_ident() == MAIN:
        _noted = False
        raise KeyboardInterrupt


class allowed:
    """Within it Ctrl-C is raised at once, also where a step is held."""

    def __enter__(self) -> None:
        self.is_held = threading.get_ident() == MAIN and getsignal(SIGINT) is _note
        if self.is_held:
            signal(SIGINT, default_int_handler)
            try:
                look()
            except KeyboardInterrupt:
                signal(SIGINT, _note)
                raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.is_held:
            signal(SIGINT, _note)
