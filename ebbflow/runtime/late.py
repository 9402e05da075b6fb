"""Late outputs: an output that was declared while the program runs.

Its past is read from what is there: an arrangement holds its input whole, folded to one time.  From then on the
output is a part of the program like the others.

Rule: an output is shown from the first time at which all its inputs are known whole; what is kept nowhere is not
guessed.
"""

from __future__ import annotations

import numpy as np

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.lower import Cell
from ebbflow.errors import NotKept
from ebbflow.operators import node as kinds
from ebbflow.operators.recite import recite
from ebbflow.runtime.host import Host
from ebbflow.trace import heap as h


def holder(host: Host, name: str, lanes: int) -> Cell | None:
    """An arrangement of a whole input, column for column."""
    for cell in host.plan.cells:
        if cell.kind == kinds.ARRANGE and len(cell.pipes) == 1 and len(cell.key) + len(cell.values) == lanes:
            (pipe,) = cell.pipes
            node = host.plan.graph.nodes[pipe.source.node]
            copies = [stage.as_copy() for stage in pipe.stages]
            if isinstance(node, n.Input) and node.name == name and pipe.sign == 1 and None not in copies:
                if pipe.origin(cell.key + cell.values, cell.key + cell.values) == cell.key + cell.values:
                    return cell
    return None


def contents(host: Host, cell: Cell, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Lanes, in the order of the names, and diffs of what an arrangement holds."""
    order = [(cell.key + cell.values).index(name) for name in names]
    blocks = []
    for worker in host.workers:
        v = worker.W + h.MOMENTS
        worker.H[v + h.LEN] = 0
        recite(worker.H, worker.W, int(worker.H[worker.at[cell.number] + kinds.TB]), v)
        blocks.append(worker.heap.vector(v).reshape(-1, 1 + len(names)).copy())
    rows = np.concatenate(blocks)
    return np.ascontiguousarray(rows[:, 1:][:, order].T), np.ascontiguousarray(rows[:, 0])


def recall(hosts: list[Host], graph: Graph, output: str) -> dict[str, tuple[Host, np.ndarray, np.ndarray]]:
    """The past of every input that an output depends on: whose it is, its lanes and diffs."""
    found = {}
    node = next(i for i, node in enumerate(graph.nodes) if isinstance(node, n.Output) and node.name == output)
    for i in graph.ancestors(node):
        source = graph.nodes[i]
        if isinstance(source, n.Input):
            held = ((host, holder(host, source.name, len(source.schema))) for host in hosts)
            host, cell = next(((host, cell) for host, cell in held if cell is not None), (None, None))
            if host is None or cell is None:
                raise NotKept(
                    f'The output "{output}" reads the input "{source.name}", of which this session keeps '
                    "no whole copy.",
                    hint="Declare the output before flow.run(), or begin a new session with it.",
                )
            found[source.name] = (host, *contents(host, cell, source.schema.names))
    return found
