"""Intervals: exactly which updates a batch holds, and from when on it can be trusted.

A batch holds every update of its collection whose time is at or past `lower` and not at or past `upper`, and no
other.  Compaction then moves times later; a reader at or past `since` cannot tell.

Rule: `upper` follows `lower`; two intervals merge only when one begins where the other ends, so nothing is counted
twice and nothing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy import bool_
from numpy.typing import ArrayLike, NDArray

from ebbflow.times import lattice
from ebbflow.times.frontier import Frontier, Time


@dataclass(frozen=True, slots=True)
class Interval:
    """
    >>> day = Interval(Frontier([(0,)]), Frontier([(5,)]), Frontier([(0,)]))
    >>> day.merge(Interval(day.upper, Frontier([(9,)]), Frontier([(2,)])))
    Interval(lower=Frontier([(0,)]), upper=Frontier([(9,)]), since=Frontier([(2,)]))
    """

    lower: Frontier
    upper: Frontier
    since: Frontier

    def __post_init__(self) -> None:
        assert self.upper.follows(self.lower), f"upper {self.upper} lies before lower {self.lower}"

    @property
    def is_empty(self) -> bool:
        """Whether no time at all lies in it."""
        return self.lower == self.upper

    def holds(self, time: Time) -> bool:
        """Whether an update that happened at `time` belongs here."""
        return self.lower.reaches(time) and not self.upper.reaches(time)

    def holds_each(self, times: ArrayLike, coordinates: int) -> NDArray[bool_]:
        """The same question for every row of a column of times."""
        inside = lattice.reached(times, self.lower.array(coordinates))
        return inside & ~lattice.reached(times, self.upper.array(coordinates))

    def readable_at(self, time: Time) -> bool:
        """Whether the collection at `time` can still be told: no distinction it needs was compacted away."""
        return self.since.reaches(time)

    def compacted(self, since: Frontier) -> Interval:
        """The same updates, trusted only from the later of the two `since` on."""
        return Interval(self.lower, self.upper, self.since.join(since))

    def adjoins(self, later: Interval) -> bool:
        return self.upper == later.lower

    def merge(self, later: Interval) -> Interval:
        """Both together; `later` begins where this one ends."""
        assert self.adjoins(later), f"a gap or an overlap between {self.upper} and {later.lower}"
        return Interval(self.lower, later.upper, self.since.join(later.since))
