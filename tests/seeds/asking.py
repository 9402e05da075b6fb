"""Ask a runtime for the changes of a small program, with inputs and answers written out."""

from __future__ import annotations

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.runtime.oracle.histories import Time, complete
from tests.meaning.runtimes import RUNTIMES, arrays, taken

Move = dict[str, tuple[Time, ...]]


def changes_of(runtime: str, graph: Graph, fed: dict[str, list], moves: list[Move]) -> dict[str, dict]:
    """fed: by input, (record, time, diff) of lanes, each given in the step that completes it."""
    asked = RUNTIMES[runtime](graph, Pool())
    outputs = [node.name for node in graph.nodes if type(node).__name__ == "Output"]
    found: dict[str, dict] = {name: {} for name in outputs}
    left = {name: list(rows) for name, rows in fed.items()}
    for move in moves:
        for name, rows in left.items():
            now = [row for row in rows if complete(row[1], move[name])]
            left[name] = [row for row in rows if row not in now]
            if now:
                asked.feed(name, *arrays(now, len(now[0][0]), len(graph.coordinates)))
        asked.advance(move)
        for name in outputs:
            found[name].update(taken(asked, name))
    asked.close()
    return found
