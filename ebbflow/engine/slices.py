"""Slices: how the rows of an advance are cut into parts that are handled together.

Within a slice every row keeps its own time; between slices histories are compacted. With one coordinate a slice is so
many times in order; with several, the coordinate that moves most is cut.

Rule: no row comes in an earlier slice than one whose time precedes its own; how rows are cut is not seen in the output.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.row_sums import tell_apart
from ebbflow.dataflow.plan import Begin, Plan
from ebbflow.times.lattice import told_once

Antichain = tuple[tuple[int, ...], ...]
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # lanes [lanes, n], times [n, coordinates], diffs [n]

BEFORE_ALL = -(2**63) + 1  # the coordinates of the frontier of what has not begun
FEW_TIMES = 64  # rows that Python looks at faster than numpy
SLICE_IN_LOOPS, SLICE = 128, 8192  # times handled together: as many as a step's history stays in the cache
GENERAL_SLICE = 32768  # the same without loops where times are only partly ordered: to cut costs more there
BARRIER_SLICE = 512  # the same for workers that exchange in every round of a loop: more work between two barriers

FIRST_RANK = np.int64(1)


def best_slice(plan: Plan, at_barrier: bool) -> int:
    """How many times to handle together; meet: whether workers in threads wait for each other."""
    depth = max((part.depth for part in plan.program if isinstance(part, Begin)), default=0)
    if depth == 0:
        return GENERAL_SLICE if plan.general else SLICE
    return BARRIER_SLICE if at_barrier and depth == 1 and not plan.general else SLICE_IN_LOOPS


def distinct(times: list[np.ndarray]) -> np.ndarray:
    """The distinct times, in order."""
    if len(times) == 1 and len(times[0]) <= FEW_TIMES:
        return np.array(sorted(set(times[0].tolist())), np.int64)
    first = times[0][0]
    if all(bool((told_once(part) == first).all()) for part in times):
        return times[0][:1]
    whole = times[0] if len(times) == 1 else np.concatenate(times)
    found = np.empty(len(whole), np.int64)
    count = int(tell_apart(np.ascontiguousarray(whole), found))
    return np.unique(whole) if count < 0 else found[:count]


def ranks_of(at: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Which of the times, which are in order and distinct, each of these is: the first is 1."""
    if len(times) == 1:
        return np.broadcast_to(FIRST_RANK, len(at))  # in memory it stands once
    if times[-1] - times[0] == len(times) - 1:  # none is left out
        return at - (times[0] - 1)
    return np.searchsorted(times, at) + 1


def is_in_order(times: np.ndarray) -> bool:
    return bool((times[1:] >= times[:-1]).all())


def cuts_of(times: list[np.ndarray], most: int) -> tuple[int, list[int]]:
    """The coordinate that moves most, and where it is cut, so that at most so many of its numbers come together."""
    if sum(len(part) for part in times) <= most:
        return 0, []
    numbers = [distinct([part[:, k] for part in times]) for k in range(times[0].shape[1])]
    axis = max(range(len(numbers)), key=lambda k: len(numbers[k]))
    return axis, numbers[axis][most::most].tolist()


def split_at(rows: dict[str, Rows], axis: int, cut: int) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """The rows before a number of the coordinate that they are in the order of, and those from it on."""
    here: dict[str, Rows] = {}
    left: dict[str, Rows] = {}
    for name, (lanes, times, diffs) in rows.items():
        at = int(np.searchsorted(times[:, axis], cut))
        here[name] = lanes[:, :at], times[:at], diffs[:at]
        left[name] = lanes[:, at:], times[at:], diffs[at:]
    return here, left


def least_of(lower: Antichain, times: list[np.ndarray], upper: Antichain) -> list[int]:
    """For each coordinate a number that is not above that of any time to come."""
    if any(number > BEFORE_ALL for time in lower for number in time):
        return [min(numbers) for numbers in zip(*lower, strict=True)]
    rows = [part.min(axis=0).tolist() for part in times if len(part)]  # nothing is older than what comes first
    return [min(numbers) for numbers in zip(*rows, *upper, strict=True)]


def in_order(lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray, axis: int = 0) -> Rows:
    """The same rows in the order of their times, by one coordinate."""
    if is_in_order(times[:, axis]):
        return lanes, times, diffs
    order = np.argsort(times[:, axis], kind="stable")
    return lanes[:, order], times[order], diffs[order]
