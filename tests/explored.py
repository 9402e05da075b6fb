"""The explorer's evaluator beside the oracle: `python -m tests.explored --cases 5000 --seed 7`.

One Node process answers many random programs, a JSON line each.  Compared are, for every node outside loops, all its
changes at all times; for every node inside loops, its collections at some times and rounds, and that its changes sum
to them.  A node of which one side says that a number of it has no place is one of which the other says so too.

Rule: the seed and the case's number say everything about a case.
"""

from __future__ import annotations

import argparse
import json
import operator
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from itertools import count, product
from pathlib import Path
from random import Random
from typing import Any

from ebbflow.columns.schema import NULL, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.plan_json import expr_json, functions_of, schema_json, to_json
from ebbflow.errors import EbbflowError, NumberOverflow
from ebbflow.expressions.typed import Expr
from ebbflow.runtime.oracle.histories import Time, closure, precedes, total
from ebbflow.runtime.oracle.meaning import Meaning
from ebbflow.runtime.oracle.moment import Histories
from ebbflow.runtime.oracle.values import Values, units
from ebbflow.tools.explorer.page import for_javascript, value_for_javascript
from tests import browsing
from tests.meaning.cases import Case, make_case
from tests.meaning.programs import Author
from tests.meaning.runtimes import histories

HERE = Path(__file__).parent
EVALUATOR = HERE.parent / "ebbflow" / "tools" / "explorer" / "evaluator.mjs"
MOST = 4  # rounds of a loop that are looked at
NESTED = "2 nested loops"
POINTS = 5  # times at which a collection inside a loop is looked at


class Node:
    """A process of Node that answers questions about an evaluator."""

    def __init__(self, evaluator: Path = EVALUATOR, answers: Path = HERE / "explored.mjs"):
        self.process = subprocess.Popen(
            [browsing.node_or_skip(), str(answers), str(evaluator)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, question: dict[str, Any]) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(question, allow_nan=False) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "Node has ended"
        answer = json.loads(line)
        assert not (isinstance(answer, dict) and "broke" in answer), answer["broke"]
        return answer

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


# ---- what the oracle says, as the other side writes it --------------------------------------


def plain(value: object, type_: Type) -> object:
    """A value as tests/explored.mjs writes it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return "fnan" if value != value else f"f{struct.unpack('<q', struct.pack('<d', value))[0]}"
    if isinstance(value, str):
        return f'"{value}'
    if isinstance(value, bytes):
        return f'"{value.decode("latin-1")}'
    return str(units(type_, Values().encode(type_, value)))


def plain_row(record: tuple[int, ...], schema: Schema, values: Values) -> tuple:
    return tuple(
        str(lane) if type_.is_integer and lane != NULL else plain(values.decode(type_, lane), type_)
        for type_, lane in zip(schema.types, record, strict=True)
    )


def question(graph: Graph, case: Case, points: dict[int, list]) -> dict[str, Any]:
    inputs: dict[str, list] = {node.name: [] for node in graph.nodes if isinstance(node, n.Input)}
    for step in case.steps:
        for name, row, when, diff in step.changes:
            inputs[name].append([[value_for_javascript(value) for value in row], list(when), diff])
    return {
        "plan": for_javascript(to_json(graph)),
        "inputs": inputs,
        "changes": list(range(len(graph.nodes))),
        "points": points,
        "most": MOST,
    }


def or_overflow(compute: Callable[[], Any]) -> Any:
    """What a collection is, or None where one of its numbers has no place."""
    try:
        return compute()
    except NumberOverflow:
        return None


def overflows(asked: Histories, i: int) -> bool:
    """Whether a node inside loops has a number without a place, in the rounds that are looked at or those of its loops.

    To know how many rounds there are, the other side computes every variable of the loops around the node until they
    settle, as a node that leaves the loop does here.
    """
    graph, around = asked.graph, set(asked.graph.scopes[i])
    looked_at = [i]
    for j, node in enumerate(graph.nodes):
        match node:
            case n.Feedback(loop=loop) | n.Linear(action=n.Leave(loop=loop)) if loop in around:
                looked_at.append(j)
    for j in looked_at:
        given = {g: asked._given(g) for g in asked.meaning.reads(j)}
        for when in closure(when for rows in given.values() for _, when, _ in rows):
            moment = asked._moment(given, when)
            for rounds in product(range(MOST), repeat=len(graph.scopes[j])):
                if or_overflow(lambda moment=moment, j=j, rounds=rounds: moment.at(j, rounds)) is None:
                    return True
    return False


def compare(node: Node, case: Case, pool: object, random: Random) -> int:
    """Every node of a case, on both sides; how many have a number without a place, on both."""
    graph = case.graph
    meaning = Meaning(graph, pool)
    history = histories(graph, (change for step in case.steps for change in step.changes), meaning.values)
    asked = Histories(meaning, history)
    inside = [i for i in range(len(graph.nodes)) if graph.scopes[i]]
    points: dict[int, list[tuple[Time, Time]]] = {}
    moments: dict[tuple[int, Time], Any] = {}
    for i in inside:
        given = {g: asked._given(g) for g in meaning.reads(i)}
        times = closure(when for rows in given.values() for _, when, _ in rows)
        rounds = list(product(range(MOST - 1), repeat=len(graph.scopes[i])))
        chosen = random.sample(times, min(len(times), POINTS))
        points[i] = [(when, random.choice(rounds)) for when in chosen]
        moments |= {(i, when): asked._moment(given, when) for when in chosen}
    answer = node.ask(question(graph, case, points))
    assert "refused" not in answer, answer
    overflown = 0
    for i, schema in enumerate(graph.schemas):
        told = answer["changes"][str(i)]
        said = None if told is None else {(tuple(row), tuple(when)): int(diff) for row, when, diff in told}
        if not graph.scopes[i]:
            right = or_overflow(lambda i=i: asked.changes(i))
            if right is not None:
                right = {(plain_row(record, schema, meaning.values), when): diff for record, when, diff in right}
            assert said == right, f"node {i}, {graph.nodes[i]}: {said} in place of {right}"
            overflown += right is None
            continue
        if said is None:
            assert overflows(asked, i), f"node {i}, {graph.nodes[i]}: refused, and no number of it is too large"
            overflown += 1
        for (when, rounds), rows in zip(points[i], answer["at"][str(i)], strict=True):
            now = or_overflow(lambda i=i, when=when, rounds=rounds: moments[i, when].at(i, rounds))
            if now is None or rows is None:
                assert now is rows, f"node {i} at {when}, {rounds}: {rows} in place of {now}"
                continue
            right_rows = {plain_row(record, schema, meaning.values): weight for record, weight in now.items()}
            assert {tuple(row): int(weight) for row, weight in rows} == right_rows, f"node {i} at {when}, {rounds}"
            if said is None:
                continue
            counts = answer["rounds"][str(i)]
            unbounded = all(graph.loops[loop].max_rounds is None for loop in graph.scopes[i])
            if all(map(operator.lt, rounds, counts)) or (unbounded and MOST not in counts):
                summed = total((row, diff) for (row, t), diff in said.items() if precedes(t, (*when, *rounds)))
                assert summed == right_rows, f"the changes of node {i} up to {when}, {rounds}"
    return overflown


def run(
    node: Node, cases: int, seed: int, deadline: float | None = None, nested: bool = False, first: int = 0
) -> Counter:
    """So many cases without the users' own functions; raises at the first that differs, its number in the message.

    nested: only programs with a loop in a loop.
    """
    counts: Counter = Counter()
    for number in count(first):
        if counts["cases"] == cases or (deadline is not None and time.monotonic() > deadline):
            break
        if nested and NESTED not in Author(Random(f"{seed} {number}")).program().tags:
            continue  # as the case begins, before anything is computed
        case, pool, _ = make_case(seed, number)
        if nested and NESTED not in case.program.tags:
            continue
        if functions_of(case.graph):
            counts["with functions, refused"] += 1
            answer = node.ask(question(case.graph, case, {}))
            assert answer["refused"] == "PlanError" and "not your code" in answer["what"], (number, answer)
            continue
        try:
            overflown = compare(node, case, pool, Random(f"{seed} {number} points"))
        except (AssertionError, EbbflowError) as error:
            raise AssertionError(f"case {number} of seed {seed}: {error}") from error
        if overflown:
            counts["nodes that overflow, on both sides"] += overflown
            counts["programs with such a node"] += 1
        counts["cases"] += 1
        counts["nodes"] += len(case.graph.nodes)
        counts.update(case.program.tags)
    return counts


# ---- expressions ----------------------------------------------------------------------------


def ask_expression(node: Node, expr: Expr, schema: Schema, rows: list[tuple]) -> list:
    return node.ask(
        {
            "expr": for_javascript(expr_json(expr)),
            "types": schema_json(schema),
            "rows": [[value_for_javascript(value) for value in row] for row in rows],
        }
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.explored", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--nested", action="store_true", help="only programs with a loop in a loop")
    parser.add_argument("--first", type=int, default=0, help="the number of the case to begin with")
    parser.add_argument("--minutes", type=float, default=None, help="stop after so long")
    asked = parser.parse_args()
    started = time.monotonic()
    with Node() as node:
        deadline = started + 60 * asked.minutes if asked.minutes else None
        counts = run(node, asked.cases, asked.seed, deadline, asked.nested, asked.first)
    print(f"seed {asked.seed}: {counts['cases']} programs, 0 different, {time.monotonic() - started:.1f} s")
    print("  " + ", ".join(f"{kind} {many}" for kind, many in sorted(counts.items()) if kind != "cases"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
