"""The plan of a running program as text, and what was done at its nodes so far.

Rule: explaining changes nothing; what it counts is counted in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebbflow.frontend.lines import Lines

if TYPE_CHECKING:
    from ebbflow.engine.node_work import NodeWork
    from ebbflow.frontend.running.standing import Standing


def explain(here: Standing, analyze: bool) -> Lines:
    from ebbflow.dataflow import explain  # only who looks waits for it
    from ebbflow.engine.plan_notes import notes

    found = {number: list(lines) for number, lines in notes(here.graph).items()}
    if analyze:
        for number, work in here.runtime.work_by_node().items():
            found.setdefault(number, []).append(f"so far: {_told(work)}")
    return Lines(explain.text(here.graph, found))


def _told(work: NodeWork) -> str:
    """How often the walk visited a node, and how often each tactic reduced a key there, the most frequent first."""
    told = [f"visited {_times(work.visits)}" if work.visits else "never visited"]
    told += [f"{name} {_times(count)}" for name, count in work.keys.most_common() if count]
    return "; ".join(told)


def _times(count: int) -> str:
    return f"{count:,} times" if count > 1 else "once"
