"""The check of a graph: all the rules, in order; and the page that lists them.

With two of them, time never goes backwards and every backward edge goes to a later round, no two changes can cause
each other, so progress can be told and loops can end.  The others make sure that what a node reads is there and fits.
A graph that breaks one is refused before it runs, at the line of the user's program that made the node.

Rule: each rule may count on those before it, and `check` tells the first that is broken.
"""

from __future__ import annotations

from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.rules.columns import OF_COLUMNS
from ebbflow.dataflow.rules.rule import Rule
from ebbflow.dataflow.rules.shape import SHAPE

RULES: list[Rule] = [*SHAPE, *OF_COLUMNS]


def check(graph: Graph) -> None:
    """Refuse a graph that breaks a rule."""
    for each in RULES:
        for breach in each.breaches(graph):
            raise breach


def page() -> str:
    """docs/rules.md: every rule and its reason."""
    lines = [
        "# The rules of a program",
        "",
        "A program is checked before it runs. One that breaks a rule is refused with a `PlanError` that says what, at",
        "which line of yours, and what to do. Most of these cannot be broken through the methods of a collection;",
        "plans that come from elsewhere, as JSON or built by hand, are held to the same rules. They are checked in",
        "this order.",
        "",
    ]
    for number, each in enumerate(RULES, 1):
        lines += [f"{number}. **{each.sentence}.** {each.reason}"]
    return "\n".join(lines) + "\n"
