"""Many random programs through the public interface: made from a seed, judged, made smaller, counted.

Rule: a case is a function of (seed, number) alone; a program that the plain meaning refuses is no case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from time import monotonic

from ebbflow.dataflow import simplify
from tests.meaning import plain
from tests.meaning.public_author import DOMAINS, Author
from tests.meaning.public_cases import Case, Let, Loop, Meaning, Mutual, Statement, judge, made_by


def make_case(seed: int, number: int) -> tuple[Case, Meaning]:
    """The case, and what it means."""
    random = Random(f"public {seed} {number}")
    while True:
        case = Author(random).case()
        try:
            return case, Meaning(case)
        except plain.Refused:  # at some time: too many rows, or a loop that does not settle
            continue


# ---- smaller cases --------------------------------------------------------------------------


def failure(case: Case, also_oracle: bool = False) -> str | None:
    """What is wrong with a case, or None; a case without meaning says nothing."""
    try:
        meaning = Meaning(case)
    except Exception:
        return None
    try:
        judge(case, meaning, also_oracle)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def shrunk(case: Case, fails: Callable[[Case], bool], patience: int = 1500) -> Case:
    """Greedily: whatever can be left out while the case still fails is left out."""
    tries, progress = 0, True
    while progress and tries < patience:
        progress = False
        for smaller in smaller_cases(case):
            tries += 1
            if fails(smaller):
                case, progress = smaller, True
                break
    return case


def smaller_cases(case: Case) -> Iterator[Case]:
    if case.workers > 1:
        yield replace(case, workers=1)
    if case.indexed:
        yield replace(case, indexed=False)
    if case.cuts:
        yield replace(case, cuts=())
    if len(case.outputs) > 1:
        for name in case.outputs:
            yield replace(case, outputs=tuple(o for o in case.outputs if o != name))
    for i in reversed(range(len(case.statements))):
        statement = case.statements[i]
        rest = (*case.statements[:i], *case.statements[i + 1 :])
        left = tuple(o for o in case.outputs if o not in made_by(statement))
        if left:
            yield replace(case, statements=rest, outputs=left)
        else:
            for source in sorted(statement.names() & (set(case.inputs) | {s.name for s in rest})):
                yield replace(case, statements=rest, outputs=(source,))
        for smaller in simpler(statement):
            yield replace(case, statements=(*case.statements[:i], smaller, *case.statements[i + 1 :]))
    used = " ".join(case.program()[len(case.inputs) :])
    for name in case.inputs:
        if name not in used:
            inputs = {n: ddl for n, ddl in case.inputs.items() if n != name}
            yield replace(case, inputs=inputs, changes=tuple(c for c in case.changes if c[0] != name))
    for size in (8, 4, 2, 1):
        for i in range(0, len(case.changes), size):
            if len(case.changes) >= size:
                yield replace(case, changes=case.changes[:i] + case.changes[i + size :])
    for i, (name, row, time, diff) in enumerate(case.changes):
        if any(time):
            now = (name, row, (0,) * len(time), diff)
            yield replace(case, changes=(*case.changes[:i], now, *case.changes[i + 1 :]))
        if diff != 1:
            yield replace(case, changes=(*case.changes[:i], (name, row, time, 1), *case.changes[i + 1 :]))


def simpler(statement: Statement) -> Iterator[Statement]:
    """The same name for less."""
    for source in statement.names():
        if source.isidentifier() and not (isinstance(statement, Let) and statement.text == source):
            if not isinstance(statement, Mutual):
                yield Let(statement.name, source, (source,))
    if isinstance(statement, Loop):
        for i, inner in enumerate(statement.body):
            for smaller in simpler(inner):
                yield replace(statement, body=(*statement.body[:i], smaller, *statement.body[i + 1 :]))
            yield replace(statement, body=(*statement.body[:i], *statement.body[i + 1 :]))


# ---- many cases -----------------------------------------------------------------------------

ORACLE_EVERY = 10  # cases of which the oracle is asked as well, on the graph as the frontend built it


def run(cases: range, seed: int, deadline: float | None = None, note=lambda number: None) -> Counter:
    """Judge the cases, and count in how many of them each method and each saving of the planner took part."""
    counts: Counter[str] = Counter()
    with counting_savings() as savings:
        for number in cases:
            if deadline is not None and monotonic() > deadline:
                break
            note(number)
            try:
                case, meaning = make_case(seed, number)
                found = judge(case, meaning, also_oracle=number % ORACLE_EVERY == 0)
            except BaseException as error:
                error.case = number
                raise
            counts["cases"] += 1
            counts.update(tags(case, meaning))
            counts.update(tag for tag, count in found.items() if count)
            counts.update(savings)
            savings.clear()
    return counts


def tags(case: Case, meaning: Meaning) -> set[str]:
    kinds = {kind for ddl in case.inputs.values() for kind in DOMAINS if f" {kind}" in ddl}
    found = {tag for tag, count in meaning.calls.items() if count} | {f"type {kind}" for kind in kinds}
    found |= {f"{len(case.coordinates)} coordinates", f"{case.workers} workers"}
    found |= {"nulls"} if any(None in row for _, row, _, _ in case.changes) else set()
    found |= {"retractions"} if any(diff < 0 for *_, diff in case.changes) else set()
    found |= {"large keys"} if case.indexed else set()
    found |= {"several outputs"} if len(case.outputs) > 1 else set()
    found |= {"changes shown"} if any(meaning.changes.values()) else set()
    if any(isinstance(inner, Loop) for s in case.statements if isinstance(s, Loop) for inner in s.body):
        found.add("nested loops")
    uses = Counter(name for statement in case.statements for name in statement.names())
    return found | ({"collection used several ways"} if any(n > 1 for n in uses.values()) else set())


@contextmanager
def counting_savings() -> Iterator[set[str]]:
    """The rewrites that found something to save, by name."""
    fired: set[str] = set()

    def counted(find):
        def counting(site):
            found = find(site)
            if found is not None:
                fired.add(f"saving: {find.__name__}")
            return found

        return counting

    before = list(simplify.SAVINGS)
    simplify.SAVINGS[:] = [counted(find) for find in before]
    try:
        yield fired
    finally:
        simplify.SAVINGS[:] = before


def report(counts: Counter, seed: int, seconds: float) -> str:
    cases = counts["cases"]
    each = 1000 * seconds / max(cases, 1)
    lines = [f"seed {seed}: {cases} programs, 0 failures, {seconds:.1f} s ({each:.1f} ms a program)"]
    shares = sorted((tag, count) for tag, count in counts.items() if tag != "cases")
    return "\n".join([*lines, "  " + ", ".join(f"{tag} {count / max(cases, 1):.1%}" for tag, count in shares)])


def explain(seed: int, number: int, shrink: bool = True) -> str:
    """What is wrong with a case, and the smallest one found that is wrong too, as Python source."""
    case, _ = make_case(seed, number)
    asks = number % ORACLE_EVERY == 0
    wrong = failure(case, asks)
    if wrong is None:
        return f"case {number} of seed {seed} passes through the public interface"
    small = shrunk(case, lambda smaller: failure(smaller, asks) is not None) if shrink else case
    return f"case {number} of seed {seed} fails: {wrong}\nmade smaller: {failure(small, asks)}\n\n{small.source()}\n"
