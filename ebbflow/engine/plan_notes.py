"""Plan notes: what the planner shares or leaves out, noted at the nodes that the user wrote.

The program is rewritten, divided into stages and lowered as it would be to run, but nothing is compiled and nothing
runs. `explain` prints the notes.

Rule: a note describes what the runtime does with this program, and is made from the same plan that it runs.
"""

from __future__ import annotations

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.lower import lower
from ebbflow.dataflow.plan import Cell, Plan, Stage
from ebbflow.dataflow.rewrite import rewrite
from ebbflow.dataflow.stages import cut
from ebbflow.engine.tactics import reduction_of
from ebbflow.expressions.program import program
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce import answers
from ebbflow.operators.reduce.choose import described

Notes = dict[int, list[str]]


def notes(graph: Graph) -> Notes:
    """The notes of each node that has some."""
    outputs = [number for number, node in enumerate(graph.nodes) if is_asked_for(node)]
    unfinished = any(isinstance(node, n.Feedback) and i not in graph.next_of for i, node in enumerate(graph.nodes))
    if not outputs or unfinished:
        return {}
    found: Notes = {}
    rewritten, moved = rewrite(graph)
    pool = Pool()
    of: dict[int, list[str]] = {}
    for stage in cut(rewritten):
        said = of_plan(lower(stage.graph, lambda each: needs_outside(each, pool)))
        for number, there in stage.moved.items():
            if there in said:
                of.setdefault(number, []).extend(said.pop(there))
    seen: dict[int, int] = {}
    needed = graph.ancestors(*outputs)
    for number, node in enumerate(graph.nodes):
        if number not in needed and not isinstance(node, n.Input):
            found[number] = ["left out: no output needs it"]
        elif number not in moved:
            if isinstance(node, n.Join | n.Reduce | n.Linear):
                found[number] = ["done in one with what reads it"]
        elif moved[number] in seen and not isinstance(node, n.Linear):
            found[number] = [f"the same as {seen[moved[number]]}: computed once"]
        else:
            seen.setdefault(moved[number], number)
            if type(node) is type(rewritten.nodes[moved[number]]) and moved[number] in of:
                found[number] = of.pop(moved[number])
    return found


def is_asked_for(node: n.Node) -> bool:
    return isinstance(node, n.Output) or (isinstance(node, n.Linear) and isinstance(node.action, n.Inspect))


def needs_outside(stage: Stage, pool: Pool) -> bool:
    return stage.as_copy() is None and program(stage.columns, stage.condition, stage.schema, pool) is None


def of_plan(plan: Plan) -> Notes:
    said: Notes = {}
    for number, node in enumerate(plan.graph.nodes):
        if isinstance(node, n.Arrange):
            said[number] = of_arrangement(plan, number, node)
    for cell in plan.cells:
        more = of_cell(plan, cell)
        if more:
            said.setdefault(cell.node, []).extend(more)
    return {number: list(dict.fromkeys(lines)) for number, lines in said.items() if lines}


def of_arrangement(plan: Plan, number: int, node: n.Arrange) -> list[str]:
    """An arrangement as people's joins ask for it: which index it is, and who shares that."""
    graph = plan.graph
    families: dict[tuple[int, int], Cell] = {}
    for join in plan.cells:
        if join.kind != kinds.JOIN or join.left is None or join.right is None:
            continue
        written = graph.nodes[join.node]
        assert isinstance(written, n.Join)
        for side, family in ((written.left, join.left), (written.right, join.right)):
            if side == number:
                families[family.cell.number, family.family] = family.cell
    several = len(families) > 1  # a loop's variable: its start has an index, its later rounds are read elsewhere
    return [line for (_, of), cell in families.items() for line in _of_family(plan, number, cell, of, several)]


def _of_family(plan: Plan, number: int, cell: Cell, family: int, several: bool) -> list[str]:
    lines = []
    joins = [other for other in plan.cells if other.kind == kinds.JOIN]
    sides = {(other.node, i): side for other in joins for i, side in enumerate((other.left, other.right))}
    readers = sum(1 for side in sides.values() if side is not None and side.cell is cell and side.family == family)
    if family == 1:
        begins = "an index of the loop's start alone, then" if several else "no index of its own:"
        lines.append(f"{begins} {_called(plan.graph, cell.node)} hands on its answers, arranged by this key")
        lines.append("exchange left out: the rows are on the right worker already")
    if readers > 1:
        lines.append(f"shared: one index, read by {readers} sides of joins")
    if cell.depth < len(plan.graph.scopes[number]):
        lines.append("indexed once, outside the loop; read inside without a copy")
    return lines + (exchanges(cell) if family == 0 else [])


def of_cell(plan: Plan, cell: Cell) -> list[str]:
    lines = []
    if cell.kind == kinds.REDUCE:
        reduction = reduction_of(plan, cell)
        if reduction.is_short:
            kept = "; its output is kept, for those who read it arranged" if cell.readers else "; keeps no output"
            lines.append(f"short cut: its times are totally ordered{kept}")
        lines.append(f"tactic: {described(reduction)}")
        if cell.op == answers.SUMMED:
            lines.append("keeps sums, no rows")
    if cell.kind == kinds.OUTSIDE and isinstance(cell.action, Stage):
        lines.append("looks at text: computed for whole columns, once for each distinct value")
    if cell.kind == kinds.SETTLE:
        lines.append("added up in each round, so that differences do not circulate")
    return lines + (exchanges(cell) if cell.kind in (kinds.REDUCE, kinds.SETTLE) else [])


def exchanges(cell: Cell) -> list[str]:
    if not cell.local:
        return []
    which = "exchange" if len(cell.pipes) == 1 else f"{len(cell.local)} of {len(cell.pipes)} exchanges"
    return [f"{which} left out: the rows are on the right worker already"]


def _called(graph: Graph, number: int) -> str:
    reducer = graph.nodes[number].reducer  # type: ignore[union-attr]
    return "the distinct" if isinstance(reducer, n.Threshold) else "the reduction"
