"""Lines: text of several lines, as `explain` returns it.

Rule: it is text like any other; only what an interpreter or a notebook shows of it has no quotes.
"""

from __future__ import annotations


class Lines(str):
    """Text that shows itself as it is, also where Python would show its quotes."""

    def __repr__(self) -> str:
        return str(self)
