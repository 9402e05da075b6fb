"""Cases: a program and a history, made from a seed, judged, made smaller, and printed to be pasted.

Rule: a case is a function of (seed, number) alone, so that any case can be asked for again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import EbbflowError, NumberOverflow
from tests.meaning.histories import Step, random_history
from tests.meaning.programs import DOMAINS, Author, Program, renumbered
from tests.meaning.runtimes import RUNTIMES, expected, judge

HEAVY = 1 << 20  # a case whose multiplicities grow beyond this tells more about numbers than about time


@dataclass(frozen=True)
class Case:
    program: Program
    steps: tuple[Step, ...]

    def check(self, runtime: str, pool: Pool | None = None, right: dict | None = None) -> None:
        judge(RUNTIMES[runtime], self.graph, list(self.steps), pool, right)

    @cached_property
    def graph(self) -> Graph:
        return self.program.graph()

    @property
    def changes(self) -> int:
        return sum(len(step.changes) for step in self.steps)


def make_case(seed: int, number: int) -> tuple[Case, Pool, dict]:
    """The case, with the pool that holds its text and what the oracle says of it."""
    random = Random(f"{seed} {number}")
    while True:
        author = Author(random)
        program = author.program()
        inputs = {node.name: len(node.schema) for node in program.inputs}
        for _ in range(4):
            steps = random_history(random, inputs, DOMAINS[author.type], author.nullable, author.width)
            pool = Pool()
            case = Case(program, tuple(steps))
            try:
                right = expected(case.graph, steps, pool)
            except NumberOverflow:  # weights that square in a loop: refusals have tests of their own
                continue
            if right["largest weight"] < HEAVY and random.random() < interest(steps, right):
                return case, pool, right


def interest(steps: list[Step], right: dict) -> float:
    """How willingly a case is taken: those in which little happens, or only where input was, are many enough."""
    shown_at = [time for changes in right.values() if isinstance(changes, dict) for _, time in changes]
    given_at = {change[2] for step in steps for change in step.changes}
    enough = 0.1 if not shown_at else 0.25 if len(shown_at) < 4 else 1.0
    fresh = len(set(shown_at) - given_at) > 0
    return enough if fresh or len(shown_at) < 1 or len(shown_at[0]) == 1 else enough * 0.2


# ---- smaller cases --------------------------------------------------------------------------


def failure(case: Case, runtime: str) -> str | None:
    """What is wrong with a case on a runtime, or None; a case that the oracle refuses says nothing."""
    try:
        pool = Pool()
        right = expected(case.graph, list(case.steps), pool)
    except (EbbflowError, AssertionError, KeyError, IndexError, ValueError, TypeError):
        return None
    try:
        case.check(runtime, pool, right)
    except Exception as error:  # a crash is a failure as good as a wrong answer
        return f"{type(error).__name__}: {error}"
    return None


def shrunk(case: Case, fails: Callable[[Case], bool], patience: int = 2000) -> Case:
    """Greedily: whatever can be left out while the case still fails is left out."""
    tries = 0
    progress = True
    while progress and tries < patience:
        progress = False
        for smaller in smaller_cases(case):
            tries += 1
            if fails(smaller):
                case, progress = smaller, True
                break
            if tries >= patience:
                break
    return case


def smaller_cases(case: Case) -> Iterator[Case]:
    steps = case.steps
    if len(steps) > 1:
        yield replace(case, steps=(replace(steps[-1], changes=tuple(c for s in steps for c in s.changes)),))
    for program in smaller_programs(Program.of(case.program.graph())):
        with suppress(EbbflowError, AssertionError, KeyError):  # not every smaller graph is one
            yield replace(case, program=Program.of(program.graph()))
    for i in range(len(steps) - 1):
        merged = replace(steps[i + 1], changes=steps[i].changes + steps[i + 1].changes)
        yield replace(case, steps=(*steps[:i], merged, *steps[i + 2 :]))
    for size in (8, 4, 2, 1):
        for i, step in enumerate(steps):
            for j in range(0, len(step.changes), size):
                rest = step.changes[:j] + step.changes[j + size :]
                if size == 1 or j + size <= len(step.changes):
                    yield replace(case, steps=(*steps[:i], replace(step, changes=rest), *steps[i + 1 :]))
    for i, step in enumerate(steps):
        for j, (name, row, time, diff) in enumerate(step.changes):
            if abs(diff) > 1:
                calmer = (*step.changes[:j], (name, row, time, 1 if diff > 0 else -1), *step.changes[j + 1 :])
                yield replace(case, steps=(*steps[:i], replace(step, changes=calmer), *steps[i + 1 :]))


def smaller_programs(program: Program) -> Iterator[Program]:
    outputs = [i for i, node in enumerate(program.nodes) if isinstance(node, n.Output)]
    if len(outputs) > 1:
        for i in outputs:
            yield pruned(program, {o for o in outputs if o != i})
    graph = program.graph()
    for i, node in enumerate(program.nodes):
        if isinstance(node, n.Output):
            for other in range(i):  # look at something earlier
                same_place = not graph.scopes[other] and not isinstance(graph.nodes[other], n.Output | n.Arrange)
                if same_place and other != node.source:
                    yield pruned(with_node(program, i, replace(node, source=other)), set(outputs))
        if isinstance(node, n.Concat) and len(node.sources) > 1:
            for j in range(len(node.sources)):
                left = node.sources[:j] + node.sources[j + 1 :]
                yield pruned(with_node(program, i, replace(node, sources=left)), set(outputs))
        if isinstance(node, n.Linear | n.Reduce | n.Concat | n.Join | n.Feedback):
            for other in range(i):  # something simpler of the same shape in its place
                alike = graph.schemas[other] == graph.schemas[i] and graph.scopes[other] == graph.scopes[i]
                if alike and not isinstance(graph.nodes[other], n.Arrange | n.Output):
                    yield pruned(with_references(program, i, other), set(outputs))


def with_node(program: Program, i: int, node: n.Node) -> Program:
    return replace(program, nodes=[*program.nodes[:i], node, *program.nodes[i + 1 :]])


def with_references(program: Program, old: int, new: int) -> Program:
    number = {i: new if i == old else i for i in range(len(program.nodes))}
    following = {variable: number[then] for variable, then in program.next_of.items()}
    nodes = [node if i <= old else renumbered(node, number) for i, node in enumerate(program.nodes)]
    return replace(program, nodes=nodes, next_of=following)


def pruned(program: Program, roots: set[int]) -> Program:
    """Only what the roots need, and every input, since the history names them."""
    needed, todo = set(), [*roots, *(i for i, node in enumerate(program.nodes) if isinstance(node, n.Input))]
    while todo:
        i = todo.pop()
        if i not in needed:
            needed.add(i)
            todo += n.sources_of(program.nodes[i])
            todo += [program.next_of[i]] if i in program.next_of else []
    number = {old: new for new, old in enumerate(sorted(needed))}
    nodes = [renumbered(program.nodes[i], number) for i in sorted(needed)]
    following = {number[v]: number[then] for v, then in program.next_of.items() if v in needed}
    return replace(program, nodes=nodes, next_of=following)


# ---- printing -------------------------------------------------------------------------------


def shown(case: Case, runtime: str) -> str:
    """A test, to be pasted below `from tests.meaning.pasted import *`."""
    lines = ["from tests.meaning.pasted import *", "", "", "def test_found_in_bulk():", "    nodes = ["]
    lines += [f"        {short(node)},  # {i}" for i, node in enumerate(case.program.nodes)]
    lines += ["    ]", "    steps = ["]
    for step in case.steps:
        lines.append("        Step(")
        lines.append("            (")
        lines += [f"                {short(change)}," for change in step.changes]
        lines.append("            ),")
        lines.append(f"            {step.frontiers!r},")
        lines.append(f"            takes={step.takes},")
        lines.append("        ),")
    lines.append("    ]")
    p = case.program
    lines.append(f"    program = Program({p.coordinates!r}, nodes, {p.loops!r}, {p.next_of!r})")
    lines.append(f'    judge(RUNTIMES["{runtime}"], program.graph(), steps)')
    return "\n".join(lines)


def short(thing: object) -> str:
    text = repr(thing)
    for name in ("long", "double", "boolean", "string", "date"):
        text = text.replace(f"Type(name='{name}', precision=0, scale=0)", name.upper())
    return re.sub(r"Function\(fn=<.*?>, identity=\d+, name=('\w+')\)", r"own(\1)", text)
