"""Rewriting: a graph that means the same and does less.

Work that nobody asks for is left out, nodes are put more simply, and columns that nobody reads are dropped.  These are
repeated until none finds anything more.

Rule: at every time, every output is what it was.  A rewrite may refuse less (an overflow in a column that nobody
reads is never computed) but never more, and it never computes twice what costs anything.
"""

from __future__ import annotations

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, renumbered
from ebbflow.dataflow.narrow import narrowed
from ebbflow.dataflow.rebuild import Mapping, Rebuild
from ebbflow.dataflow.simplify import simplified
from ebbflow.expressions.resolve import nested_too_deep

PASSES = 20  # more than any chain of savings has needed; each pass leaves a graph that means the same


def rewrite(graph: Graph) -> tuple[Graph, Mapping]:
    """The graph to run, and the new number of each node that is still there.

    A node may have come to carry fewer columns; inputs and outputs are all there, unchanged.
    """
    moved = {number: number for number in range(len(graph.nodes))}
    for _ in range(PASSES):
        before = graph
        for step in (needed_only, simplified, narrowed):
            try:
                graph, renumbering = step(graph)
            except RecursionError:
                raise nested_too_deep() from None
            moved = {old: renumbering[new] for old, new in moved.items() if new in renumbering}
        if graph.nodes == before.nodes and graph.next_of == before.next_of:
            break
    return graph, moved


# ---- what nobody asks for -------------------------------------------------------------------


def needed_only(graph: Graph) -> tuple[Graph, Mapping]:
    """Without the nodes that no output and no inspection needs.  Inputs stay: people feed them by name."""
    roots = [number for number, node in enumerate(graph.nodes) if _is_root(node)]
    rebuild = Rebuild(graph)
    for number in sorted(graph.ancestors(*roots)):
        rebuild.put(number, renumbered(graph.nodes[number], rebuild.moved))
    return rebuild.done()


def _is_root(node: n.Node) -> bool:
    match node:
        case n.Input() | n.Output() | n.Linear(_, n.Inspect()):
            return True
    return False
