"""Local time: kernels that convert instants to the wall-clock time of a zone and back, by the zone's table.

When the offset changes, some local times do not exist and some occur twice. As in java.time, and so in Spark, an
ambiguous local time means the earlier instant, and a skipped one is moved later by the length of the gap; in both cases
the offset before the change is subtracted.

Rule: for every instant and every local time the result is that of `zones`.
"""

from __future__ import annotations

from ebbflow.columns.zones import CHANGES, CYCLE, INSTANTS, LAST_CHANGE
from ebbflow.native.kernel import kernel
from ebbflow.native.memory import H


@kernel
def to_local(table, instant):
    """needs: a zone's table.  leaves: what its clocks show at the instant."""
    n = H[table + CHANGES]
    x = instant
    last = H[table + LAST_CHANGE]
    if x >= last:  # rules without end: the same instant of an earlier 400 years
        x -= ((x - last) // CYCLE + 1) * CYCLE
    first = table + INSTANTS
    low = first
    top = first + n
    while low < top:
        middle = (low + top) >> 1
        if H[middle] <= x:
            low = middle + 1
        else:
            top = middle
    return instant + H[first + n + (low - first)]


@kernel
def from_local(table, shown, day):
    """needs:  a zone's table; day: whether a day's first instant is wanted, 0 or 1.
    leaves: the instant at which the zone's clocks show this; the first of two; in a gap as much later as that is long,
            or, for a day, its end.
    """
    n = H[table + CHANGES]
    x = shown
    first = table + INSTANTS
    offsets = first + n
    last = H[table + LAST_CHANGE]
    if n > 0:
        last_shown = H[offsets - 1] + max(H[offsets + n - 1], H[offsets + n])
        if last == H[offsets - 1] and x >= last_shown:
            x -= ((x - last_shown) // CYCLE + 1) * CYCLE
    low = 0
    top = n
    while low < top:
        middle = (low + top) >> 1
        if H[first + middle] + max(H[offsets + middle], H[offsets + middle + 1]) <= x:
            low = middle + 1
        else:
            top = middle
    before = H[offsets + low]
    if day == 1 and low < n and x >= H[first + low] + before:
        return shown - x + H[first + low]
    return shown - before
