"""What happened, as frozen records; silent unless listened to.

The engine tells what it does in small facts: a step began, a round, a frontier moved.  Progress bars, the
explorer and the tests listen; nobody else pays more than one look at an empty tuple.

Rule: telling never changes what is told about.  A listener that raises is dropped with a warning, and a
`Ring` keeps the last few facts and counts those it let go, so that memory is bounded and no loss is silent.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Time = tuple[int, ...]
Antichain = tuple[Time, ...]


@dataclass(frozen=True, slots=True)
class Arrived:
    """Changes were fed to an input; they wait for the next advance."""

    input: str
    rows: int


@dataclass(frozen=True, slots=True)
class StepBegan:
    """The inputs' frontiers move to these."""

    frontiers: tuple[tuple[str, Antichain], ...]


@dataclass(frozen=True, slots=True)
class StepEnded:
    """All that could be completed is; `visits` keys were visited and `rows` changes met."""

    visits: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RoundBegan:
    """A loop is at this round; told often enough to show that it lives, not for every round."""

    loop: int
    round: int


@dataclass(frozen=True, slots=True)
class FrontierMoved:
    """An output is complete up to this frontier; () is closed."""

    output: str
    frontier: Antichain


@dataclass(frozen=True, slots=True)
class Emitted:
    """An output has this many new complete changes."""

    output: str
    rows: int


@dataclass(frozen=True, slots=True)
class Exchanged:
    """Changes went from one worker to another."""

    sender: int
    receiver: int
    rows: int


@dataclass(frozen=True, slots=True)
class Merged:
    """So many merges of batches have ended; `before` keys and entries became `after`."""

    merges: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A step was refused and the session stays where it was."""

    topic: str
    what: str


@dataclass(frozen=True, slots=True)
class Compiling:
    """Kernel number `done` of `total` is next; done == total says that all are ready."""

    kernel: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class MemoryShort:
    """A worker wanted to reserve so many bytes of address space and has got fewer."""

    wanted: int
    reserved: int


Event = (
    Arrived
    | StepBegan
    | StepEnded
    | RoundBegan
    | FrontierMoved
    | Emitted
    | Exchanged
    | Merged
    | Refused
    | Compiling
    | MemoryShort
)
Listener = Callable[[Event], object]

_listeners: tuple[Listener, ...] = ()  # replaced whole, never changed in place: telling takes no lock
_changing = threading.Lock()


def is_heard() -> bool:
    """Whether anybody listens: ask before building a record on a path that is walked often."""
    return bool(_listeners)


def tell(event: Event) -> None:
    for listener in _listeners:
        try:
            listener(event)
        except Exception as error:
            _drop(listener)
            warnings.warn(
                f"a listener raised {error!r} on {event!r} and is no longer told", RuntimeWarning, stacklevel=2
            )


@contextmanager
def listening(listener: Listener) -> Iterator[Listener]:
    """Tell `listener` everything while the block runs.

    >>> with listening(Ring(keep=2)) as ring:
    ...     for round in range(3):
    ...         tell(RoundBegan(loop=0, round=round))
    >>> [event.round for event in ring], ring.lost
    ([1, 2], 1)
    """
    global _listeners
    with _changing:
        _listeners = (*_listeners, listener)
    try:
        yield listener
    finally:
        _drop(listener)


def _drop(listener: Listener) -> None:
    global _listeners
    with _changing:
        _listeners = tuple(other for other in _listeners if other is not listener)


class Ring:
    """A listener that keeps the last `keep` events."""

    def __init__(self, keep: int = 10_000):
        self._kept: deque[Event] = deque(maxlen=keep)
        self.heard = 0

    def __call__(self, event: Event) -> None:
        self.heard += 1
        self._kept.append(event)

    @property
    def lost(self) -> int:
        return self.heard - len(self._kept)

    def __iter__(self) -> Iterator[Event]:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)
