"""Moment: all the collections of a graph at one time, computed from nothing.

Changes are derived: the collection is evaluated at every time at which it can differ, and the differences are taken.

Rule: the result at a time depends on nothing but the inputs' collections at that time. The one exception is Delay,
which moves changes: it counts as an input of its own, whose history is its source's changes, moved.
"""

from __future__ import annotations

from collections.abc import Iterable

from ebbflow.columns.schema import LONG, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import NeverSettles
from ebbflow.runtime.oracle.functions import row_function
from ebbflow.runtime.oracle.histories import (
    Collection,
    History,
    Time,
    accumulate,
    closure,
    complete,
    differences,
    precedes,
)
from ebbflow.runtime.oracle.meaning import Meaning

MOST_ROUNDS = 10_000  # rounds after which an unbounded loop counts as one that never settles


class Moment:
    """All the collections of a graph at one time, given the inputs' collections there."""

    def __init__(self, meaning: Meaning, given: dict[int, Collection]):
        self.meaning, self.graph, self.given = meaning, meaning.graph, given
        self.known: dict[tuple[int, Time], Collection] = {}

    def _turning(self, number: int, rounds: Time) -> Time:
        """The rounds, without those that make no difference to a node."""
        return tuple(r if turns else 0 for r, turns in zip(rounds, self.meaning.turns[number], strict=True))

    def at(self, number: int, rounds: Time = ()) -> Collection:
        """A node's collection in these rounds of the loops around it."""
        rounds = self._turning(number, rounds)
        known = self.known.get((number, rounds))
        if known is None:
            known = self.known[number, rounds] = self._evaluate(number, rounds)
        return known

    def largest(self) -> int:
        """The largest multiplicity met anywhere, in size."""
        return max((abs(weight) for rows in self.known.values() for weight in rows.values()), default=0)

    def _evaluate(self, number: int, rounds: Time) -> Collection:
        if self.meaning.is_given(number):
            return self.given[number]
        match self.graph.nodes[number]:
            case n.Linear(source, n.Enter()):
                return self.at(source, rounds[:-1])
            case n.Linear(source, n.Wait(column)):
                at = self.graph.schemas[source].index(column)
                return {row: weight for row, weight in self.at(source, rounds).items() if row[at] <= rounds[-1]}
            case n.Linear(source, n.Leave(loop)):
                return self._settled(source, loop, self.meaning.variables[number], rounds)
            case n.Feedback(start):
                if rounds[-1] == 0:
                    return self.at(start, rounds)
                return self.at(self.graph.next_of[number], (*rounds[:-1], rounds[-1] - 1))
            case node:
                return self.meaning.does[number](*(self.at(source, rounds) for source in n.sources_of(node)))

    def _settled(self, source: int, loop: int, variables: list[int], rounds: Time) -> Collection:
        """The source once none of its variables changes any more, or in the loop's last round."""
        limit = self.graph.loops[loop].max_rounds
        coming = self._coming(source, loop, rounds, limit)
        r = 0
        while r < (limit if limit is not None else coming[-1] + MOST_ROUNDS):
            inside = (*rounds, r)
            if any(self.at(self.graph.next_of[v], inside) != self.at(v, inside) for v in variables):
                r += 1
            elif coming[-1] <= r:
                return self.at(source, inside)
            else:  # nothing changes before the next rows come
                r = next(then for then in coming if then > r)
                for v in variables:
                    self.known[v, self._turning(v, (*rounds, r))] = self.at(v, inside)
        if limit is None or self.graph.loops[loop].on_limit == "raise":
            raise NeverSettles(
                f"the loop still changes after {MOST_ROUNDS if limit is None else limit} rounds.",
                hint="Make the body reach a fixed point (often by distinct or min), or bound it with max_rounds.",
            )
        return self.at(source, (*rounds, limit - 1))

    def _coming(self, source: int, loop: int, rounds: Time, limit: int | None) -> list[int]:
        """The rounds of a loop in which rows come into it, the first among them."""
        found = {0}
        for number in self.meaning.needs(source):
            match self.graph.nodes[number]:
                case n.Linear(entered, n.Wait(column)) if self.graph.scopes[number][-1] == loop:
                    at = self.graph.schemas[entered].index(column)
                    found |= {row[at] for row in self.at(entered, (*rounds, 0)) if row[at] > 0}
        return sorted(r for r in found if limit is None or r < limit)


def evaluate(graph: Graph, node: int, given: dict[str, Collection], pool: object = None) -> Collection:
    """The collection of a node outside loops, recomputed from the inputs' collections (by name) at one time."""
    meaning = Meaning(graph, pool)
    inputs = {i: given.get(x.name, {}) for i, x in enumerate(graph.nodes) if isinstance(x, n.Input)}
    assert meaning.reads(node) <= inputs.keys(), "a Delay cannot be evaluated from one time: ask Histories"
    return Moment(meaning, inputs).at(node)


class Histories:
    """The changes of any node outside loops, from the histories of the inputs."""

    def __init__(self, meaning: Meaning, histories: dict[str, History]):
        self.meaning, self.graph, self.histories = meaning, meaning.graph, histories
        self.moments: dict[tuple, Moment] = {}

    def changes(self, number: int, frontier: Iterable[Time] = ()) -> History:
        """What changes at a node, and when: each record and time once.

        frontier: times at or after it are not asked: what stands there is not complete, so that a loop may not settle.
        """
        given = {i: self._given(i, frontier) for i in self.meaning.reads(number)}
        times = closure(time for history in given.values() for _, time, _ in history)
        told = [time for time in times if complete(time, frontier)]
        return differences((time, self._moment(given, time).at(number)) for time in told)

    def _given(self, number: int, frontier: Iterable[Time] = ()) -> History:
        match self.graph.nodes[number]:
            case n.Input(name):
                return self.histories.get(name, [])
            case n.Linear(source, n.Delay(expressions)):
                assert not self.graph.scopes[number], "a Delay stands outside loops"
                names = Schema(tuple(Field(name, LONG) for name in self.graph.coordinates))
                later = [row_function(expr, names, self.meaning.values) for expr in expressions]
                moved = [
                    (record, t, tuple(fn(t) for fn in later), diff)
                    for record, t, diff in self.changes(source, frontier)
                ]
                assert all(precedes(t, then) for _, t, then, _ in moved), "a Delay never moves a change back"
                return [(record, then, diff) for record, _, then, diff in moved]
        raise AssertionError(number)

    def _moment(self, given: dict[int, History], time: Time) -> Moment:
        now = {number: accumulate(history, time) for number, history in given.items()}
        content = tuple((number, frozenset(rows.items())) for number, rows in sorted(now.items()))
        if content not in self.moments:  # equal inputs have equal meanings, whatever the time
            self.moments[content] = Moment(self.meaning, now)
        return self.moments[content]
