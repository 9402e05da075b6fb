"""The functions that hear of an output's changes when a step has made them complete.

They are called between the session's calls, so that they may call it; what a step leaves to be put in order is put in
order after they have heard.

Rule: every subscriber hears of every step, once and in the order of the steps, whatever another one raises.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from ebbflow import interrupts
from ebbflow.errors import TypeMismatch
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running import results
from ebbflow.frontend.running.output_log import Changes, OutputLog
from ebbflow.frontend.running.standing import Standing
from ebbflow.frontend.running.table import Table
from ebbflow.times.frontier import Time


def subscribe(here: Standing, name: str, fn: Callable[[Table, list[Time]], object]) -> Callable[[], None]:
    shown = results.output_named(here, "subscribe", name)
    if not callable(fn):
        raise TypeMismatch(
            f"subscribe takes a function of (changes, frontier), not {plain(fn)}.",
            hint="live.subscribe(name, lambda changes, frontier: print(changes))",
        )
    results.pull(here, shown)  # what is complete already is not news
    shown.subscribers.append(fn)

    def unsubscribe() -> None:
        with contextlib.suppress(ValueError):  # it has ended already; in any thread, at any time
            shown.subscribers.remove(fn)

    return unsubscribe


def tell(here: Standing, shown: OutputLog, new: Changes) -> None:
    changes = results.as_table(here, shown, new)
    for fn in tuple(shown.subscribers):
        here.notices.append((fn, changes, list(shown.frontier)))


def tell_all(here: Standing) -> None:
    """After a turn: subscribers hear of the step, and then what it left is put in order."""
    if here.notices:
        _deliver(here)
        if here.is_restless:
            here.turns.take("advance_to", rest, here)


def _deliver(here: Standing) -> None:
    """Call the subscribers.  All of them hear of everything, in order, whatever one of them raises or starts.

    It is nobody's turn meanwhile: they may call the session.  One thread tells them at a time; what another one's
    step has to tell, or a step that a subscriber makes, is told by the thread that is at it.  A subscriber that is
    interrupted by Ctrl-C has not heard: it is told again after the next step.
    """
    raised: list[BaseException] = []
    notices, telling = here.notices, here.telling
    with interrupts.held():
        while notices and telling.acquire(blocking=False):
            try:
                while notices:
                    fn, changes, frontier = notices[0]
                    try:
                        with interrupts.allowed():
                            fn(changes, frontier)
                    except Exception as error:
                        raised.append(error)
                    notices.popleft()
            finally:
                telling.release()
    if raised:
        for other in raised[1:]:
            raised[0].add_note(f"another subscriber raised too: {other!r}")
        raise raised[0]


def rest(here: Standing) -> None:
    """A step is done and shown: what it left is put in order, unless it was the last or a subscriber closed."""
    here.is_restless = False
    if not here.is_closed:
        with interrupts.allowed():
            here.runtime.rest()
