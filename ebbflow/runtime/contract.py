"""What a session asks of a runtime.

Every runtime takes rows in, advances, and hands results out.  Some can do more: take the rows of one moment without
buffering them, read DataFrames where they lie, keep every step, show outputs that are declared later.  Each of these
is a small Protocol, and an attribute of the runtime that is None where it cannot.

Rule: a session finds out what a runtime can do from these attributes alone; nobody looks for methods by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ebbflow.dataflow.text_predicates import TextPredicates
from ebbflow.times.frontier import Time

if TYPE_CHECKING:
    from ebbflow.engine.node_work import NodeWork

Array = NDArray[np.int64]
Antichain = tuple[Time, ...]
Rows = tuple[Array, Array, Array]  # lanes, times, diffs
Guard = Callable[[Mapping[str, Sequence[Rows]]], None]
Past = Callable[[], tuple[Antichain, Any]]  # the rows an output has shown, and since when times are told apart

NOT_TAKEN, TAKEN, RESTLESS = 0, 1, 2  # what became of rows of one time


class Moments(Protocol):
    """Takes rows of one input at one time past all inputs, in one go."""

    def advance_moment(
        self, name: str, moment: int, rows: Any, upper: Antichain, results: dict[str, Array], /
    ) -> int: ...


class Staging(Protocol):
    """Reads DataFrames of Spark where they lie; their rows stay in files until a step takes them in."""

    since_step: list[Any]  # files that no step has seen
    delivery: dict[str, Any] | None  # the micro-batch that was taken in last
    state: Any
    ledger: Any  # where a step becomes durable

    @property
    def spark(self) -> Any: ...
    @property
    def step(self) -> int: ...
    def stage(self, frames: list[tuple[dict[str, Any], Any]], stays: list[str], most: int | None = None) -> Any: ...
    def feed_staged(self, name: str, refs: list[Any]) -> None: ...
    def drop_staged(self, frontiers: dict[str, Antichain]) -> None: ...
    def discard_staged(self) -> None: ...


class Keeper(Protocol):
    """Keeps every step: a step counts when `commit` returns, with what the session wrote to its journals."""

    words: dict[str, Any]
    journals: Any

    def journal(self, name: str, alive: Any, size: Any = None, beside: Any = None) -> Array: ...
    def commit(self, words: dict[str, Any]) -> None: ...
    def undo(self) -> None: ...


class LateOutputs(Protocol):
    """Shows outputs that are declared while the program runs."""

    def add_output(self, name: str, past: dict[str, Past]) -> Antichain: ...


class Runtime(Protocol):
    """Who does the work of a session."""

    guard: Guard | None  # asked before results count
    watches: bool  # whether it is asked of all results, not only where diffs are wide

    @property
    def text_predicates(self) -> TextPredicates: ...  # questions about texts that whoever feeds answers
    @property
    def moments(self) -> Moments | None: ...
    @property
    def staging(self) -> Staging | None: ...
    @property
    def keeper(self) -> Keeper | None: ...
    @property
    def late_outputs(self) -> LateOutputs | None: ...
    @property
    def recording(self) -> Any: ...  # what the explorer shows of it, if it is recorded

    def feed(self, name: str, lanes: Array, times: Array, diffs: Array) -> None: ...
    def advance(self, frontiers: dict[str, Antichain]) -> None: ...
    def rest(self) -> None: ...  # the step was shown: put in order what it left
    def discard(self) -> None: ...
    def take(self, output: str) -> Rows: ...
    def frontier(self, output: str) -> Antichain: ...
    def counters(self) -> dict[str, int]: ...
    def work_by_node(self) -> dict[int, NodeWork]: ...  # as the program numbers its nodes
    def abandon(self) -> None: ...  # in a forked child: what the parent holds is not to be removed
    def close(self) -> None: ...
