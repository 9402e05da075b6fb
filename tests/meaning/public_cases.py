"""Programs as people write them, what they mean at every time, and how they are judged.

A program is text: statements that call methods of collections.  The same text runs on ebbflow, with rewriting and
without, and on `tests.meaning.plain`, which says what every output holds at every time.

Rule: what is judged is all that a session shows: columns in their order, and every change at its time.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial

import ebbflow
from ebbflow.frontend.running.session import Session
from ebbflow.runtime.local import LocalRuntime
from ebbflow.runtime.oracle.runtime import OracleRuntime
from tests.meaning import plain
from tests.tuned import tuned

INDEXED = {"index_rows": 1, "index_entries": 1}
WORDS = {"datetime": datetime, "Decimal": Decimal, "nan": math.nan}

Change = tuple[str, tuple, tuple[int, ...], int]  # input, row, time, diff


# ---- programs as data -----------------------------------------------------------------------


@dataclass(frozen=True)
class Let:
    """name = text; `uses` are the names of collections in it."""

    name: str
    text: str
    uses: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        return [f"{self.name} = {self.text}"]

    def names(self) -> set[str]:
        return set(self.uses)


@dataclass(frozen=True)
class Loop:
    """names = the loop that starts with these, by a body of statements and what it returns."""

    name: str
    start: str
    body: tuple[Statement, ...]
    returns: str
    rounds: int | None = None

    def lines(self) -> list[str]:
        variable, bound = f"{self.name}_", f", max_rounds={self.rounds}" if self.rounds else ""
        inside = [line for statement in self.body for line in statement.lines()]
        return [
            f"def {self.name}_body({variable}):",
            *(f"    {line}" for line in [*inside, f"return {self.returns}"]),
            f"{self.name} = {self.start}.iterate({self.name}_body{bound})",
        ]

    def names(self) -> set[str]:
        return {self.start, self.returns}.union(*(statement.names() for statement in self.body))


@dataclass(frozen=True)
class Mutual:
    """Two collections that are defined by each other."""

    name: str
    starts: tuple[str, str]
    texts: tuple[str, str]
    uses: tuple[str, ...]

    def lines(self) -> list[str]:
        (p, q), (one, two) = self.starts, self.texts
        return [
            f"{self.name}, {self.name}_too = flow.iterate(",
            f"    lambda p, q: ({one}, {two}), p={p}, q={q}",
            ")",
        ]

    def names(self) -> set[str]:
        return {*self.starts, *self.uses}


Statement = Let | Loop | Mutual


@dataclass(frozen=True)
class Case:
    coordinates: tuple[str, ...]
    inputs: dict[str, str]  # name -> DDL
    statements: tuple[Statement, ...]
    outputs: tuple[str, ...]
    changes: tuple[Change, ...]
    cuts: tuple[int, ...] = ()  # where the first coordinate is cut into steps
    workers: int = 1
    indexed: bool = False  # whether the keys of a few rows are large ones

    def program(self) -> list[str]:
        lines = [f'{name} = flow.input("{name}", "{ddl}")' for name, ddl in self.inputs.items()]
        lines += [line for statement in self.statements for line in statement.lines()]
        return [*lines, *(f'flow.output("{name}", {name})' for name in self.outputs)]

    @cached_property
    def code(self):
        source = "\n".join(["def program(flow):", *(f"    {line}" for line in self.program())])
        return compile(source, "<program>", "exec")

    def run_on(self, flow, **words) -> None:
        made: dict = dict(words)
        exec(self.code, made)
        made["program"](flow)

    def source(self) -> str:
        """The whole case, to be pasted into a file and run."""
        time = "" if len(self.coordinates) == 1 else f"time={self.coordinates!r}"
        lines = [
            "import datetime",
            "from decimal import Decimal",
            "",
            "import ebbflow as ebb",
            "from ebbflow import col",
        ]
        lines += ["", "nan = float('nan')", f"flow = ebb.Dataflow({time})", *self.program()]
        lines += [f"live = flow.run({f'workers={self.workers}' if self.workers > 1 else ''})"]
        for cut, step in self.steps():
            for name, row, at, diff in step:
                when = at[0] if len(at) == 1 else at
                lines.append(f'live.apply("{name}", [{row!r}], time={when!r}, diff={diff})')
            if cut is not None:
                lines.append(f"live.advance_to({cut!r})")
        lines += ["live.close()", *(f'print(live.changes("{name}"))' for name in self.outputs)]
        return "\n".join(lines)

    def steps(self) -> Iterator[tuple[object, list[Change]]]:
        """What is given, and how far the inputs then are."""
        begin = 0
        for cut in (*self.cuts, None):
            step = [c for c in self.changes if begin <= c[2][0] and (cut is None or c[2][0] < cut)]
            yield (
                (cut if cut is None or len(self.coordinates) == 1 else (cut, *[0] * (len(self.coordinates) - 1))),
                step,
            )
            begin = cut or 0


def made_by(statement: Statement) -> list[str]:
    return [statement.name, f"{statement.name}_too"] if isinstance(statement, Mutual) else [statement.name]


# ---- what a case means ----------------------------------------------------------------------


def grid(case: Case) -> list[tuple[int, ...]]:
    """Every time at which something can change, causes first; a delay is by one."""
    delay = any("delay(" in line for line in case.program())
    last = [max((change[2][i] for change in case.changes), default=0) + delay for i in range(len(case.coordinates))]
    return list(itertools.product(*(range(n + 1) for n in last)))


class Meaning:
    """What every output of a case holds at every time, by `plain`."""

    def __init__(self, case: Case):
        self.case = case
        self.calls: Counter[str] = Counter()
        self.columns: dict[str, list[tuple[str, str]]] = {}
        self.known: dict[object, dict[str, dict]] = {}
        self.delays = any("delay(" in line for line in case.program())
        self.at = {time: self._at(time) for time in grid(case)}
        self.changes = {name: self._changes(name) for name in case.outputs}

    def _changes(self, name: str) -> dict[tuple, int]:
        """(row, time) -> diff: what is there now, less what was there before in each coordinate, plus in both."""
        found = {}
        for time in self.at:
            terms: list[tuple[dict, int]] = []
            for back in itertools.product((0, 1), repeat=len(time)):
                earlier = self.at.get(tuple(t - b for t, b in zip(time, back)))
                if earlier is not None:
                    terms.append((earlier[name], -1 if sum(back) % 2 else 1))
            if any(rows is not terms[0][0] for rows, _ in terms[1:]) or sum(sign for _, sign in terms):
                changed = plain.total((row, sign * n) for rows, sign in terms for row, n in rows.items())
                found |= {(row, time): diff for row, diff in changed.items()}
        return found

    def _at(self, time: tuple[int, ...]) -> dict[str, dict]:
        given = {name: rows_at(self.case, name, time) for name in self.case.inputs}
        content = time if self.delays else tuple(frozenset(rows.items()) for rows in given.values())
        if content not in self.known:
            flow = plain.Flow(given, lambda name, later: rows_at(self.case, name, time, later))
            self.case.run_on(flow, ebb=plain.ebb, col=plain.col, **WORDS)
            self.calls |= flow.calls
            self.columns = {name: list(zip(bag.names, bag.types)) for name, bag in flow.shown.items()}
            self.known[content] = {name: bag.rows for name, bag in flow.shown.items()}
        return self.known[content]


def rows_at(case: Case, name: str, time: tuple[int, ...], later: Callable | None = None) -> dict:
    """An input at a time, perhaps as if it all came later."""
    changes = [(row, at, diff) for n, row, at, diff in case.changes if n == name]
    if later is not None:
        moved = lambda at: later(*at) if len(at) > 1 else (later(at[0]),)
        changes = [(row, moved(at), diff) for row, at, diff in changes]
    before = lambda at: all(a <= b for a, b in zip(at, time))
    return plain.total((tuple(map(plain.clean, row)), diff) for row, at, diff in changes if before(at))


# ---- judging --------------------------------------------------------------------------------


class Wrong(AssertionError):
    """What ebbflow shows is not what the program means."""


def judge(case: Case, meaning: Meaning | None = None, also_oracle: bool = False) -> Counter:
    """Run the case with rewriting and without; both show what it means, at every time.  What was exercised."""
    meaning = meaning or Meaning(case)
    flow = ebbflow.Dataflow(time=case.coordinates)
    case.run_on(flow, ebb=ebbflow, col=ebbflow.col, **WORDS)
    for node, shown in ((node, node.name) for node in flow.graph.nodes if type(node).__name__ == "Output"):
        fields = [(f.name, str(f.type)) for f in flow.graph.schemas[node.source]]
        if fields != meaning.columns[shown]:
            raise Wrong(f"the columns of {shown} are {fields}, should be {meaning.columns[shown]}")
    found: Counter[str] = Counter()
    sizes = INDEXED if case.indexed else {}
    compare(case, meaning, tuned(flow, workers=case.workers, **sizes), "with rewriting", found)
    other = partial(LocalRuntime, rewriting=False, **sizes)
    compare(case, meaning, Session(flow, runtime=other), "without rewriting", found)
    if also_oracle:
        compare(case, meaning, Session(flow, runtime=OracleRuntime), "the oracle", found)
    return found


def compare(case: Case, meaning: Meaning, live, who: str, found: Counter) -> None:
    """Feed a session, step by step, and compare all that it shows with what is meant."""
    width = len(case.coordinates)
    shown: dict[str, list] = {name: [] for name in case.outputs}
    with live:
        for cut, step in case.steps():
            for name in case.inputs:
                mine = [change for change in step if change[0] == name]
                if mine:
                    times = [[at[i] for _, _, at, _ in mine] for i in range(width)]
                    rows, diffs = [row for _, row, _, _ in mine], [diff for *_, diff in mine]
                    live.apply(name, rows, time=times[0] if width == 1 else tuple(times), diff=diffs)
            if cut is None:
                live.close()
            else:
                live.advance_to(cut)
            for name in case.outputs:
                shown[name] += live.changes(name).rows()
        noted(live, found)
    for name, changes in shown.items():
        listed = [(tuple(map(plain.clean, row)), at if width > 1 else (at,), diff) for *row, at, diff in changes]
        told = {(row, tuple(at)): diff for row, at, diff in listed}
        if len(told) < len(listed) or 0 in told.values():
            raise Wrong(f"{who}: the changes of {name} are not consolidated: {listed}")
        if told != meaning.changes[name]:
            raise Wrong(difference(who, name, told, meaning.changes[name], meaning.at))


def difference(who: str, name: str, shown: dict, right: dict, at: dict) -> str:
    lines = [f"{who}: the changes of {name}"]
    for row, time in sorted({*shown, *right}, key=lambda change: change[1]):
        one, two = shown.get((row, time), 0), right.get((row, time), 0)
        if one != two:
            when = "" if time in at else ", a time at which nothing can change"
            lines.append(f"  at {time}{when}: {row} is {one:+}, should be {two:+}")
    return "\n".join(lines[:8])


def noted(live, found: Counter) -> None:
    """What the planner did for this program, as far as its plan says."""
    for part in getattr(live._runtime, "parts", ()):
        for cell in part.host.plan.cells:
            for note in cell.notes:
                found[f"plan: {''.join(c for c in note if not c.isdigit())}"] += 1
            found["plan: stages in a pipe"] += max((len(pipe.stages) for pipe in cell.pipes), default=0)
    found["plan: stages of a program"] += len(getattr(live._runtime, "parts", ())) > 1
    found["plan: text answered as it arrives"] += bool(getattr(live._runtime, "text_predicates", None))
