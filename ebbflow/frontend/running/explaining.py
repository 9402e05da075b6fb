"""The plan of a running program as text, and what its reductions did so far.

Rule: explaining changes nothing; what it counts is counted in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebbflow.frontend.lines import Lines

if TYPE_CHECKING:
    from ebbflow.frontend.running.standing import Standing


def explain(here: Standing, analyze: bool) -> Lines:
    from ebbflow.dataflow import explain  # only who looks waits for it
    from ebbflow.engine.plan_notes import notes

    found = {number: list(lines) for number, lines in notes(here.graph).items()}
    if analyze:
        for number, counts in here.runtime.keys_by_tactic().items():
            found.setdefault(number, []).append(f"so far: {_told(counts)}")
    return Lines(explain.text(here.graph, found))


def _told(counts: dict[str, int]) -> str:
    """How often each tactic reduced a key, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda one: -one[1])
    return "; ".join(f"{name} {count:,} times" if count > 1 else f"{name} once" for name, count in ranked) or "no key"
