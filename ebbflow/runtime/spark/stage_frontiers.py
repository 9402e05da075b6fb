"""The frontiers of stages, counted: how far each stage is when inputs advance apart.

On Spark inputs are fed by streams that stand at different times. Each open time of an input is a pointstamp at its
node, and what follows from the counts (`dataflow.progress`) is the frontier of every node; a stage is as far as the
nodes that it shows or hands on. A step costs a job of Spark's, so that counting at every node costs nothing beside it;
the local runtime, whose steps take microseconds, takes the least times of the inputs that a stage waits for instead.

Rule: no stage is further than one that it reads, and none is less far than the least times of the inputs it waits for.
"""

from __future__ import annotations

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.progress import Progress
from ebbflow.dataflow.stages import Stage
from ebbflow.engine.slices import Antichain
from ebbflow.times.frontier import Frontier, antichain


class StageFrontiers:
    """graph: that of which the stages were cut."""

    def __init__(self, graph: Graph, stages: list[Stage]):
        self._progress = Progress(graph)
        self._inputs = {node.name: number for number, node in enumerate(graph.nodes) if isinstance(node, n.Input)}
        self._at = dict.fromkeys(self._inputs, Frontier())
        self._ends = [_ends(stage) for stage in stages]
        homes = {name: number for number, stage in enumerate(stages) for name in stage.exports}
        self._reads = [sorted({homes[name] for name in stage.imports}) for stage in stages]

    def at(self, inputs: dict[str, Antichain]) -> list[Antichain]:
        """The frontier of each stage when the inputs are at these; from one call to the next they may go back too."""
        for name, times in inputs.items():
            if name in self._inputs:
                self._progress.move(self._inputs[name], self._at[name], Frontier(times))
                self._at[name] = Frontier(times)
        self._progress.propagate()
        found: list[Antichain] = []
        for ends, reads in zip(self._ends, self._reads, strict=True):
            own = [time for end in ends for time in self._progress.frontier(end)]
            found.append(antichain([*own, *(time for stage in reads for time in found[stage])]))
        return found


def _ends(stage: Stage) -> list[int]:
    """The nodes of the program that a stage shows or hands on."""
    shown = {node.source for node in stage.graph.nodes if isinstance(node, n.Output)}
    return [number for number, there in stage.moved.items() if there in shown]
