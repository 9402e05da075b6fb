"""What a rule is: a sentence about graphs, the reason for it, and the errors of those that break it.

Rule: a rule yields one error for each breach, at the line of the user's program that made the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ebbflow.dataflow.graph import Graph
from ebbflow.errors import PlanError

Breaches = Iterator[PlanError]


@dataclass(frozen=True)
class Rule:
    sentence: str
    reason: str
    breaches: Callable[[Graph], Breaches]


def rule(kept_in: list[Rule], sentence: str) -> Callable[[Callable[[Graph], Breaches]], Callable[[Graph], Breaches]]:
    """A function that yields one error for each breach of `sentence`; its docstring is the reason why."""

    def keep(breaches: Callable[[Graph], Breaches]) -> Callable[[Graph], Breaches]:
        kept_in.append(Rule(sentence, " ".join((breaches.__doc__ or "").split()), breaches))
        return breaches

    return keep
