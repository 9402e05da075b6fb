"""Collections and their changes as plain Python, and the times at which they differ.

A collection at one time is a dictionary from record (a tuple of lanes) to multiplicity, without zeros; a history is a
list of changes.

Rule: the differences of some collections, summed up to a time, are the collection there.
"""

from __future__ import annotations

from collections.abc import Iterable

from ebbflow.errors import STAYS, NumberOverflow
from ebbflow.limits import LARGEST_WORD

Record = tuple[int, ...]
Time = tuple[int, ...]
Collection = dict[Record, int]
History = list[tuple[Record, Time, int]]


def precedes(s: Time, t: Time) -> bool:
    return all(a <= b for a, b in zip(s, t, strict=True))


def complete(time: Time, frontier: Iterable[Time]) -> bool:
    """No change at this time can still come."""
    return not any(precedes(f, time) for f in frontier)


def closure(times: Iterable[Time]) -> list[Time]:
    """Every join of these times, causes before effects."""
    closed: set[Time] = set()
    for time in set(times):
        closed |= {tuple(map(max, time, other)) for other in closed}
        closed.add(time)
    return sorted(closed)


def lower_envelope(frontiers: Iterable[Iterable[Time]]) -> tuple[Time, ...]:
    """The antichain of the least times of several frontiers."""
    times = {time for frontier in frontiers for time in frontier}
    return tuple(sorted(t for t in times if not any(s != t and precedes(s, t) for s in times)))


def total(pairs: Iterable[tuple[Record, int]]) -> Collection:
    sums: Collection = {}
    for record, weight in pairs:
        sums[record] = sums.get(record, 0) + weight
    for record, weight in sums.items():
        if abs(weight) > LARGEST_WORD:
            raise NumberOverflow(
                f"The row {record} would be there {weight:,} times; at most {LARGEST_WORD:,}.", hint=STAYS
            )
    return {record: weight for record, weight in sums.items() if weight}


def accumulate(history: History, time: Time) -> Collection:
    """The collection at `time`: the sum of every change that precedes it."""
    return total((record, diff) for record, t, diff in history if precedes(t, time))


def differences(values: Iterable[tuple[Time, Collection]]) -> History:
    """The changes that sum to these collections; needs the times closed under join, causes first."""
    changes: dict[Time, Collection] = {}
    for time, value in values:
        before = (pair for s, change in changes.items() if precedes(s, time) for pair in change.items())
        change = total([*value.items(), *((record, -weight) for record, weight in before)])
        if change:
            changes[time] = change
    return [(record, time, diff) for time, change in changes.items() for record, diff in change.items()]
