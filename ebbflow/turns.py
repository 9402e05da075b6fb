"""Turns: of several threads that call one object, one is served at a time, first come first served.

A lock alone would let a thread that calls in a tight loop take it again before one that sleeps has woken up; so a
thread that finds the object taken enters a queue. A call from within another one (a function of the program, a signal
handler, a finalizer, a thread that works for the one being served) can never have its turn, and is refused.

Rule: between `with turns.lock` and its end no other call is served, and there is no instruction at which an exception
from outside, such as KeyboardInterrupt, leaves the lock taken or an entry in the queue behind.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from threading import Lock, RLock, get_ident
from typing import Any, NoReturn, TypeVar

from ebbflow import interrupts
from ebbflow.errors import StepUnderWay

Answer = TypeVar("Answer")

_works_for: dict[int, int] = {}  # threads that do a part of another one's step, and which


class working_for:
    """Within it this thread works for another one: what that one is in the middle of, so is this one."""

    __slots__ = ("before", "whom")

    def __init__(self, whom: int):
        self.whom = whom

    def __enter__(self) -> None:
        self.before = _works_for.get(get_ident())
        _works_for[get_ident()] = self.whom

    def __exit__(self, *error: object) -> None:
        if self.before is None:
            _works_for.pop(get_ident(), None)
        else:
            _works_for[get_ident()] = self.before


class Place:
    """A place in the line: whose, and what wakes its thread when those before it have gone."""

    __slots__ = ("gate", "whose")

    def __init__(self, whose: int):
        self.whose, self.gate = whose, Lock()
        self.gate.acquire()


class Turns:
    """Who finds it neither taken nor waited for may take `lock` itself, and sets `is_taken` first thing:

        if turns.is_taken or turns.line:
            return turns.serve("insert", self._insert, rows)
        with turns.lock:
            try:
                turns.is_taken = True
                return self._insert(rows)
            finally:
                turns.is_taken = False

    Python changes threads and runs signal handlers after calls and at the end of a loop, and there is none between the
    first line and `is_taken`: nobody waits for the lock who does not stand in the line.
    """

    __slots__ = ("is_taken", "line", "lock", "stepping")

    def __init__(self) -> None:
        self.lock = RLock()
        self.is_taken = False
        self.stepping = 0  # the thread that makes a step, if one does
        self.line: list[Place] = []

    def take(self, verb: str, do: Callable[..., Answer], *args: Any) -> Answer:
        """Do something when it is this thread's turn; refused if it is in the middle of it already."""
        if self.is_taken or self.line:
            return self.serve(verb, do, *args)
        with self.lock:
            try:
                self.is_taken = True
                return do(*args)
            finally:
                self.is_taken = False

    def serve(self, verb: str, do: Callable[..., Answer], *args: Any) -> Answer:
        """The same where somebody else is served or waits.  Ctrl-C is heard while waiting."""
        if self.is_within():
            self.refuse(verb)
        mine = Place(get_ident())
        with interrupts.allowed():
            try:
                self.line.append(mine)
                while self.line[0] is not mine:
                    mine.gate.acquire()
                with self.lock:
                    try:
                        self.is_taken = True
                        self.leave(mine)
                        return do(*args)
                    finally:
                        self.is_taken = False
            finally:
                self.leave(mine)

    def leave(self, place: Place) -> None:
        """Nobody stands there any more; the next one may look whether it is first."""
        if place in self.line:
            self.line.remove(place)
        for following in self.line[:1]:
            with contextlib.suppress(RuntimeError):  # it was woken already
                following.gate.release()

    def is_within(self) -> bool:
        """Whether this thread is in the middle of a call: it is served, stands in the line, or works for who steps."""
        me = get_ident()
        return (
            self.lock._is_owned()  # type: ignore[attr-defined]
            or any(place.whose == me for place in self.line)
            or self.is_part_of_step()
        )

    def is_part_of_step(self) -> bool:
        """Whether this thread makes the step that is under way, or works for the one that does."""
        who: int | None = get_ident()
        while who is not None and who != self.stepping:
            who = _works_for.get(who)
        return who is not None

    def refuse(self, verb: str) -> NoReturn:
        if self.is_part_of_step():
            raise StepUnderWay(
                f"{verb} comes in the middle of a step of this session, from a function that the step has called.",
                hint="Wait until the step is done; live.subscribe(name, fn) calls fn then.",
            )
        raise StepUnderWay(
            f"{verb} comes in the middle of another call of this session in the same thread, "
            "from a signal handler or a finalizer.",
            hint="Let the handler take a note, and make the call when the other one has returned.",
        )
