"""A graph of nodes, each kept once.

A node is added by content: asking twice for the same arrangement of the same collection gives the same number,
which is all there is to sharing.  Only a Feedback's `next` points forwards.

Rule: every node knows the loop it lives in and the schema it yields from the moment it is added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import RLock

from ebbflow.columns.schema import Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.errors import Place, PlanError


@dataclass(frozen=True)
class Loop:
    """parent is the enclosing loop's number, or None.  max_rounds: how often the body is applied at most."""

    parent: int | None
    max_rounds: int | None = None
    on_limit: str = "return"  # or "raise"


class Graph:
    def __init__(self, coordinates: tuple[str, ...] = ("time",)):
        self.coordinates = coordinates
        self.timezone: str | None = None  # the zone that the program states, whose clocks it reads
        self.ansi = False  # whether a division by zero and a cast that fails refuse the step
        self.nodes: list[n.Node] = []
        self.schemas: list[Schema] = []
        self.scopes: list[tuple[int, ...]] = []  # the loops a node is in, outermost first
        self.places: list[Place | None] = []
        self.names: dict[int, str] = {}  # what people call a node, for pictures and errors
        self.outer_joins: dict[int, dict[str, list[tuple[int, str]]]] = {}  # what their columns are copies of
        self.loops: list[Loop] = []
        self.next_of: dict[int, int] = {}  # Feedback -> the node that becomes its next round
        self._known: dict[n.Node, int] = {}
        self._open: list[int] = []  # loops whose bodies are being written now, outermost first
        self.lock = RLock()  # of who adds to it: a program may be written by several threads

    def add(self, node: n.Node, place: Place | None = None) -> int:
        """The number of this node; what it reads is brought into one loop first."""
        with self.lock:
            return self._add(node, place)

    def _add(self, node: n.Node, place: Place | None) -> int:
        match node:
            case n.Concat(sources):
                node = n.Concat(self.together(sources, place))
            case n.Join(left, right):
                left, right = self.together((left, right), place)
                node = replace(node, left=left, right=right)
        if node in self._known:
            return self._known[node]
        schema, scope = self._schema(node), self._scope(node)
        self._known[node] = number = len(self.nodes)
        self.nodes.append(node)
        self.schemas.append(schema)
        self.scopes.append(scope)
        self.places.append(place)
        return number

    # ---- loops ------------------------------------------------------------------------------

    @contextmanager
    def loop(self, max_rounds: int | None = None, on_limit: str = "return") -> Iterator[int]:
        """A new loop, open while its body is written, inside the loop that is open now.

        If the body is refused, nothing of it stays.
        """
        with self.lock:  # to its end: whatever is added meanwhile is part of the body, and goes with it
            before = len(self.nodes), len(self.loops)
            self.loops.append(Loop(self._open[-1] if self._open else None, max_rounds, on_limit))
            self._open.append(before[1])
            try:
                yield before[1]
            except BaseException:
                self._forget(*before)
                raise
            finally:
                self._open.pop()

    def bind(self, feedback: int, following: int) -> int:
        """Give a loop variable its next round: this collection, inside the loop, which is returned."""
        (following,) = self.lift((following,), self.scopes[feedback])
        if self.schemas[following] != self.schemas[feedback]:
            raise PlanError(
                f"The loop starts with ({self.schemas[feedback]}) and its body returns ({self.schemas[following]})."
            )
        self.next_of[feedback] = following
        return following

    @property
    def here(self) -> tuple[int, ...]:
        """The loops that are open now."""
        return tuple(self._open)

    def together(self, numbers: Iterable[int], place: Place | None = None) -> tuple[int, ...]:
        """The same collections, all brought into the innermost loop that one of them is in."""
        numbers = tuple(numbers)
        return self.lift(numbers, max((self.scopes[i] for i in numbers), key=len, default=()), place)

    def lift(self, numbers: Iterable[int], scope: tuple[int, ...], place: Place | None = None) -> tuple[int, ...]:
        """The same collections inside these loops; outer ones enter, one loop at a time."""
        return tuple(self._lift(number, scope, place) for number in numbers)

    def _lift(self, number: int, scope: tuple[int, ...], place: Place | None) -> int:
        here = self.scopes[number]
        if here == scope:
            return number
        if here != scope[: len(here)]:
            raise PlanError(
                f"{self.called(number)} lives in a loop, and cannot be used outside it.",
                at=place,
                hint="What a loop is for is what iterate returns: return the collection from the body.",
            )
        node = self.nodes[number]
        if isinstance(node, n.Arrange):  # an index of what entered, so that a join always reads arrangements
            return self.add(n.Arrange(self._lift(node.source, scope, place), node.key), place)
        for loop in scope[len(here) :]:
            number = self.add(n.Linear(number, n.Enter(loop)), place)
        return number

    def _forget(self, nodes: int, loops: int) -> None:
        """Back to so many nodes and loops."""
        for node in self.nodes[nodes:]:
            del self._known[node]
        for kept in (self.nodes, self.schemas, self.scopes, self.places):
            del kept[nodes:]  # type: ignore[attr-defined]
        del self.loops[loops:]
        self.names = {i: name for i, name in self.names.items() if i < nodes}
        self.next_of = {i: following for i, following in self.next_of.items() if i < nodes}

    # ---- reading ----------------------------------------------------------------------------

    def called(self, number: int) -> str:
        """What people call a node, or what it does to something they have a name for."""
        while number not in self.names:
            sources = n.sources_of(self.nodes[number])
            if len(sources) != 1:
                return "a collection"
            (number,) = sources
        return self.names[number]

    def consumers(self) -> list[list[int]]:
        """For each node, the nodes that read it; a Feedback reads its start and its next."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for number in range(len(self.nodes)):
            for source in dict.fromkeys(self.reads(number)):
                found[source].append(number)
        return found

    def reads(self, number: int) -> tuple[int, ...]:
        """What a node reads, counting what a Feedback was given later."""
        sources = n.sources_of(self.nodes[number])
        return (*sources, self.next_of[number]) if number in self.next_of else sources

    def ancestors(self, *targets: int, up_to: Collection[int] = ()) -> set[int]:
        """These nodes and all that they depend on, without what lies behind some of them."""
        found, todo = set(targets), list(targets)
        while todo:
            new = set(self.reads(todo.pop())) - found
            found |= new
            todo += new.difference(up_to)
        return found

    def leading_to(self, *targets: int, instead: Mapping[int, n.Input] | None = None) -> Graph:
        """A graph of only what these nodes depend on; inputs may stand instead of some of it."""
        inputs = instead or {}
        graph = Graph(self.coordinates)
        graph.timezone, graph.ansi, graph.loops = self.timezone, self.ansi, list(self.loops)
        moved: dict[int, int] = {}
        for number in sorted(self.ancestors(*targets, up_to=inputs)):
            node = inputs[number] if number in inputs else renumbered(self.nodes[number], moved)
            moved[number] = graph.add(node, self.places[number])
        graph.names = {moved[i]: name for i, name in self.names.items() if i in moved}
        graph.next_of = {moved[i]: moved[j] for i, j in self.next_of.items() if i in moved and i not in inputs}
        return graph

    # ---- what follows from the content ------------------------------------------------------

    def _schema(self, node: n.Node) -> Schema:
        match node:
            case n.Input(_, schema) | n.Reduce(_, _, _, schema) | n.Linear(_, n.Apply(_, _, schema)):
                return schema
            case n.Linear(_, n.Map(columns)):
                return Schema(tuple(Field(name, expr.type) for name, expr in columns))
            case n.Join(left, right, columns):
                sides = self.schemas[left], self.schemas[right]
                return Schema(tuple(Field(name, sides[side][column]) for name, side, column in columns))
            case n.Concat(sources):
                schemas = [self.schemas[source] for source in sources]
                assert all(schema == schemas[0] for schema in schemas), schemas
                return schemas[0]
        return self.schemas[n.sources_of(node)[0]]

    def _scope(self, node: n.Node) -> tuple[int, ...]:
        sources = n.sources_of(node)
        here = self.scopes[sources[0]] if sources else ()
        assert all(self.scopes[source] == here for source in sources), node
        match node:
            case n.Linear(_, n.Enter(loop)):
                assert self.loops[loop].parent == (here[-1] if here else None), node
                return (*here, loop)
            case n.Linear(_, n.Leave(loop)):
                assert here and here[-1] == loop, node
                return here[:-1]
        return here


def renumbered(node: n.Node, numbers: dict[int, int]) -> n.Node:
    """The same node, reading other numbers."""
    match node:
        case n.Input():
            return node
        case n.Concat(sources):
            return n.Concat(tuple(numbers[source] for source in sources))
        case n.Join(left, right):
            return replace(node, left=numbers[left], right=numbers[right])
        case n.Feedback(start):
            return replace(node, start=numbers[start])
    return replace(node, source=numbers[node.source])
