"""Late output: an output that is declared while the program runs.

It reads earlier outputs where it depends on them, so that nothing is computed twice, and inputs otherwise. Its past is
read from existing state: an output keeps the collection it has shown, and an arrangement holds its input, compacted to
one time. After that it is part of the program like any other output.

Rule: an output is shown from the first time at which everything it reads is known completely; what was not kept is not
reconstructed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.plan import Cell
from ebbflow.engine.host import Host
from ebbflow.engine.slices import Antichain
from ebbflow.errors import NotKept, PlanError
from ebbflow.operators import node as kinds
from ebbflow.operators.scan import scan_table

SHOWN = "\x00shown "  # before the name of an output that a later one reads: no person's input is called so


def reading(program: Graph, output: str, earlier: Iterable[str]) -> tuple[Graph, list[str]]:
    """The graph of an output, in which what earlier outputs show is an input; and which ones those are."""
    place = {node.name: i for i, node in enumerate(program.nodes) if isinstance(node, n.Output)}
    shown = {shows(program, place[name]): name for name in earlier}
    inputs = {i: n.Input(SHOWN + name, program.schemas[i]) for i, name in shown.items()}
    graph = program.leading_to(place[output], instead=inputs)
    return graph, [name for i, name in shown.items() if inputs[i] in graph.nodes]


def shows(program: Graph, output: int) -> int:
    """The node whose rows an output shows; an index has those of what it is an index of."""
    (source,) = n.sources_of(program.nodes[output])
    while isinstance(program.nodes[source], n.Arrange):
        (source,) = n.sources_of(program.nodes[source])
    return source


def holder(host: Host, name: str, columns: int) -> Cell | None:
    """An arrangement of a whole input, column for column."""
    for cell in host.plan.cells:
        if cell.kind == kinds.ARRANGE and len(cell.pipes) == 1 and len(cell.key) + len(cell.values) == columns:
            (pipe,) = cell.pipes
            node = host.plan.graph.nodes[pipe.source.node]
            copies = [stage.as_copy() for stage in pipe.stages]
            if isinstance(node, n.Input) and node.name == name and pipe.sign == 1 and None not in copies:
                if pipe.origin(cell.key + cell.values, cell.key + cell.values) == cell.key + cell.values:
                    return cell
    return None


def contents(host: Host, cell: Cell, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Lanes, in the order of the names, and diffs of what an arrangement holds."""
    taken = cell.taken(host.plan.graph)
    order = taken.lanes_of(names)
    blocks = []
    for worker in host.workers:
        v = worker.header.moments
        v.length = 0
        scan_table(worker.header, worker.at[cell.number].table, v)
        blocks.append(worker.heap.vector(v).reshape(-1, 1 + taken.width).copy())
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


def refuse_lost_times(output: str, graph: Graph, folded: bool, read: dict[str, Antichain], is_general: bool) -> None:
    """Refuse an output that depends on times of which only the sum is known.

    read: the inputs whose past is read from an arrangement, and how far each of them is.
    """
    whose, hint = f'The output "{output}" was declared after the session began', "Declare it before flow.run()."
    if read and is_general:
        raise PlanError(
            f"{whose} and reads an input; with several coordinates, or delays, an input's past cannot be read back.",
            hint="Declare it before flow.run(), or let it read what other outputs show.",
        )
    for source, frontier in read.items():
        if not frontier:
            raise NotKept(
                f'{whose} and reads the input "{source}", which is closed: when its rows came is lost.', hint=hint
            )
    if folded and any(isinstance(node, n.Linear) and isinstance(node.action, n.Delay) for node in graph.nodes):
        raise NotKept(f"{whose} and delays rows by their times, which are summed up by now.", hint=hint)
