"""The order of a graph: loops as blocks, each block's parts sorted so that readers come after what they read.

Nodes alone cannot be put in one row once loops run: a node before a loop, every round of the loop, and a node after
it must come in this order, round by round.  So a loop is one part of the block around it, and is a block itself.

Rule: along every edge but a Feedback's next, positions rise in the innermost block that holds both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from ebbflow.dataflow import nodes as n

if TYPE_CHECKING:
    from ebbflow.dataflow.graph import Graph


@dataclass(frozen=True)
class Block:
    """A loop (None: the whole graph) and its parts in order: nodes by number, inner loops as blocks."""

    loop: int | None
    parts: tuple[int | Block, ...]


class Tangled(Exception):
    """Some nodes and loops wait for each other, with no Feedback between them."""

    def __init__(self, loop: int | None, parts: list[tuple[str, int]]):
        super().__init__(loop, parts)
        self.loop, self.parts = loop, parts  # parts: ("node" or "loop", number), around the cycle


def blocks(graph: Graph) -> Block:
    """The graph as nested blocks.  Parts that do not depend on each other keep the order in which they were made."""
    waits: dict[int | None, dict[tuple[str, int], set[tuple[str, int]]]] = {None: {}}
    for number, loop in enumerate(graph.loops):
        waits[number] = {}
        waits.setdefault(loop.parent, {})
    for number, scope in enumerate(graph.scopes):
        for part, block in _seen_from_outside(number, scope):
            waits[block].setdefault(part, set())
    for number, node in enumerate(graph.nodes):
        for source in n.sources_of(node):
            block, reader, read = _where_they_part(graph, number, source)
            if reader != read:
                waits[block][reader].add(read)
    return _block(None, waits)


def _seen_from_outside(number: int, scope: tuple[int, ...]) -> list[tuple[tuple[str, int], int | None]]:
    """What a node looks like in each block around it: a loop in the outer ones, itself in its own."""
    around: tuple[int | None, ...] = (None, *scope)
    names = [("loop", loop) for loop in scope] + [("node", number)]
    return list(zip(names, around, strict=True))


def _where_they_part(graph: Graph, reader: int, read: int) -> tuple[int | None, tuple[str, int], tuple[str, int]]:
    """The innermost block that holds both nodes, and what each looks like in it."""
    one, two = _seen_from_outside(reader, graph.scopes[reader]), _seen_from_outside(read, graph.scopes[read])
    for (part, block), (other, same) in zip(one, two, strict=False):
        assert block == same
        if part != other:
            return block, part, other
    return None, ("node", reader), ("node", reader)


def _block(loop: int | None, waits: dict[int | None, dict[tuple[str, int], set[tuple[str, int]]]]) -> Block:
    sorter = TopologicalSorter(waits[loop])
    try:
        sorter.prepare()
    except CycleError as found:
        raise Tangled(loop, list(found.args[1])) from None
    parts: list[int | Block] = []
    ready: list[tuple[str, int]] = []
    made = {part: place for place, part in enumerate(waits[loop])}
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=made.__getitem__)
        part = ready.pop(0)
        sorter.done(part)
        parts.append(part[1] if part[0] == "node" else _block(part[1], waits))
    return Block(loop, tuple(parts))


def positions(graph: Graph) -> list[tuple[int, ...]]:
    """Each node's position in every block around it, outermost first."""
    found: list[tuple[int, ...]] = [()] * len(graph.nodes)

    def place(block: Block, above: tuple[int, ...]) -> None:
        for position, part in enumerate(block.parts):
            if isinstance(part, Block):
                place(part, (*above, position))
            else:
                found[part] = (*above, position)

    place(blocks(graph), ())
    return found
