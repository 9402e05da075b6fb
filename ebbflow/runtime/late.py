"""Late outputs: an output that was declared while the program runs.

It reads what earlier outputs show where it depends on them, so that nothing is computed twice, and inputs otherwise.
Its past is read from what is there: an output keeps what it has shown, an arrangement holds its input whole, folded to
one time.  From then on the output is a part of the program like the others.

Rule: an output is shown from the first time at which all that it reads is known whole; what is kept nowhere is not
guessed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, renumbered
from ebbflow.dataflow.lower import Cell
from ebbflow.errors import NotKept
from ebbflow.operators import node as kinds
from ebbflow.operators.recite import recite
from ebbflow.runtime.host import Host
from ebbflow.trace import heap as h

SHOWN = "\x00shown "  # before the name of an output that a later one reads: no person's input is called so


def reading(program: Graph, output: str, earlier: Iterable[str]) -> tuple[Graph, list[str], frozenset[str]]:
    """The graph of an output: what earlier outputs show is an input there.  Which ones, and the inputs it waits for."""
    place = {node.name: i for i, node in enumerate(program.nodes) if isinstance(node, n.Output)}
    shown = {shows(program, place[name]): name for name in earlier}
    waits = [program.nodes[i] for i in program.ancestors(place[output])]
    wanted, todo = {place[output]}, [place[output]]
    while todo:
        new = set(program.reads(todo.pop())) - wanted
        wanted |= new
        todo += [number for number in new if number not in shown]
    graph = Graph(program.coordinates)
    graph.loops = list(program.loops)
    moved: dict[int, int] = {}
    for i in sorted(wanted):
        is_read = i in shown
        node = n.Input(SHOWN + shown[i], program.schemas[i]) if is_read else renumbered(program.nodes[i], moved)
        moved[i] = graph.add(node, program.places[i])
    graph.names = {moved[i]: name for i, name in program.names.items() if i in moved}
    graph.next_of = {moved[i]: moved[j] for i, j in program.next_of.items() if i in moved and i not in shown}
    inputs = frozenset(node.name for node in waits if isinstance(node, n.Input))
    return graph, [shown[i] for i in sorted(wanted) if i in shown], inputs


def shows(program: Graph, output: int) -> int:
    """The node whose rows an output shows; an index has those of what it is an index of."""
    (source,) = n.sources_of(program.nodes[output])
    while isinstance(program.nodes[source], n.Arrange):
        (source,) = n.sources_of(program.nodes[source])
    return source


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
    """The past of every input that the graph of an output reads: whose it is, its lanes and diffs."""
    found = {}
    for source in graph.nodes:
        if isinstance(source, n.Input) and not source.name.startswith(SHOWN):
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
