"""Many random cases: `python -m tests.bulk --cases 100000 --seed 7`.

Every case is a random program and a random history, judged by the oracle at every time and after every step.  A
case that fails is printed with its number (ask for it again with --replay) and, made smaller, as a test to paste.
With --public the programs are written through the methods of collections, run with rewriting and without, and judged by
their plain meaning; one that fails is printed as Python source.

Rule: the seed and the case's number say everything about a case.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import sys
import time
import traceback
from collections import Counter

from tests.meaning import public_programs
from tests.meaning.cases import failure, make_case, shown, shrunk

TURNS = (
    "local-1",
    "local-2",
    "local-sealed",
    "local-3",
    "local-1-sliced",
    "local-2-sliced",
    "local-sealed-sliced",
    "local-durable",
    "local-durable-2",
)
NOT_INDEXED = "local"  # all but those
INDEXED = ("local-indexed", "local-indexed-sliced", "local-indexed-durable")  # every key as a large one


def runtime_for(number: int, asked: str | None) -> str:
    """The runtime that is asked for, or one after the other: cases are random, so turns are fair."""
    turns = TURNS if asked == NOT_INDEXED else TURNS + INDEXED
    return asked if asked not in (None, NOT_INDEXED) else turns[number % len(turns)]


def run(
    cases: range, seed: int, runtime: str | None = None, deadline: float | None = None, note=lambda number: None
) -> Counter:
    """Judge the cases; raises at the first that fails, with its number as `error.case`."""
    counts: Counter = Counter()
    for number in cases:
        if deadline is not None and time.monotonic() > deadline:
            break
        note(number)
        try:
            case, pool, right = make_case(seed, number)
            case.check(runtime_for(number, runtime), pool, right)
        except BaseException as error:
            error.case = number
            raise
        counts["cases"] += 1
        counts.update(case.program.tags)
        counts.update({"steps": len(case.steps), "changes": case.changes, "times shown": sum_of_times(right)})
    return counts


def sum_of_times(right: dict) -> int:
    return sum(len(changes) for name, changes in right.items() if isinstance(changes, dict))


def report(counts: Counter, seed: int, seconds: float) -> str:
    cases = counts["cases"]
    share = {width: counts[f"{width} coordinates"] / max(cases, 1) for width in (2, 3)}
    nested = sum(counts[f"{depth} nested loops"] for depth in (2, 3))
    lines = [
        f"seed {seed}: {cases} cases, 0 failures, {seconds:.1f} s ({1000 * seconds / max(cases, 1):.1f} ms a case)"
    ]
    lines.append(
        f"  two or more nested loops {nested / max(cases, 1):.0%},"
        f" two input coordinates {share[2]:.0%}, three {share[3]:.0%}"
    )
    rest = sorted((kind, count) for kind, count in counts.items() if kind != "cases")
    lines.append("  " + ", ".join(f"{kind} {count}" for kind, count in rest))
    return "\n".join(lines)


def explain(seed: int, number: int, runtime: str, shrink: bool = True) -> str:
    """What is wrong with a case, and the smallest case found that is wrong too."""
    case, _, _ = make_case(seed, number)
    wrong = failure(case, runtime)
    if wrong is None:
        return f"case {number} of seed {seed} passes on {runtime}"
    small = shrunk(case, lambda smaller: failure(smaller, runtime) is not None) if shrink else case
    return (
        f"case {number} of seed {seed} fails on {runtime}: {wrong}\n"
        f"made smaller: {failure(small, runtime)}\n\n{shown(small, runtime)}\n"
    )


class Nodes:
    """Programs of nodes, on one runtime or on all the local ones in turn."""

    def __init__(self, runtime: str | None):
        self.runtime = runtime

    def run(self, cases: range, seed: int, deadline: float | None, note) -> Counter:
        return run(cases, seed, self.runtime, deadline, note)

    def report(self, counts: Counter, seed: int, seconds: float) -> str:
        return report(counts, seed, seconds)

    def explain(self, seed: int, number: int, shrink: bool) -> str:
        return explain(seed, number, self.where(number), shrink)

    def show(self, seed: int, number: int) -> str:
        return shown(make_case(seed, number)[0], self.where(number))

    def where(self, number: int) -> str:
        return runtime_for(number, self.runtime)


class Public:
    """Programs through the public interface."""

    run = staticmethod(public_programs.run)
    report = staticmethod(public_programs.report)
    explain = staticmethod(public_programs.explain)

    def show(self, seed: int, number: int) -> str:
        return public_programs.make_case(seed, number)[0].source()

    def where(self, number: int) -> str:
        return "the public interface"


def guarded(kind: Nodes | Public, cases: range, seed: int, minutes: float | None, patience: float, shrink: bool) -> int:
    """Judge the cases in a process of their own, so that a crash or a hang is told by its case's number."""
    context = multiprocessing.get_context("fork")
    current, outcome = context.Value("q", -1), context.Queue()
    child = context.Process(target=_work, args=(kind, cases, seed, minutes, patience, shrink, current, outcome))
    child.start()
    child.join()
    if child.exitcode == 0:
        code, text = outcome.get()
        print(text)
        return code
    number = current.value
    print(f"case {number} of seed {seed} ended the process (exit code {child.exitcode}) on {kind.where(number)}")
    print(kind.show(seed, number))
    return 1


def _work(kind, cases, seed, minutes, patience, shrink, current, outcome) -> None:
    started = time.monotonic()

    def note(number: int) -> None:
        current.value = number
        faulthandler.dump_traceback_later(patience, exit=True)

    try:
        counts = kind.run(cases, seed, started + 60 * minutes if minutes else None, note)
        faulthandler.cancel_dump_traceback_later()
        outcome.put((0, kind.report(counts, seed, time.monotonic() - started)))
    except Exception as error:
        faulthandler.cancel_dump_traceback_later()
        traceback.print_exc(limit=-6)
        outcome.put((1, kind.explain(seed, error.case, shrink)))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bulk", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--public", action="store_true", help="programs through the public interface")
    parser.add_argument(
        "--runtime", default=None, help="a name of tests.meaning.runtimes; the local ones in turn unless given"
    )
    parser.add_argument(
        "--replay", type=int, default=None, metavar="CASE", help="judge one case, and make it smaller if it fails"
    )
    parser.add_argument("--show", type=int, default=None, metavar="CASE", help="print one case as it is")
    parser.add_argument("--minutes", type=float, default=None, help="stop after so long")
    parser.add_argument("--no-shrink", action="store_true", help="print a failing case as it is")
    parser.add_argument("--patience", type=float, default=120, help="seconds after which one case counts as hanging")
    asked = parser.parse_args(arguments)
    kind = Public() if asked.public else Nodes(asked.runtime)
    if asked.show is not None:
        print(kind.show(asked.seed, asked.show))
        return 0
    if asked.replay is not None:
        text = kind.explain(asked.seed, asked.replay, not asked.no_shrink)
        print(text)
        return 0 if "passes" in text.splitlines()[0] else 1
    cases = range(asked.first, asked.first + asked.cases)
    return guarded(kind, cases, asked.seed, asked.minutes, asked.patience, not asked.no_shrink)


if __name__ == "__main__":
    sys.exit(main())
