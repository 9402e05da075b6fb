"""`python -m tests.mutants`: plant each bug in a copy of the package, and demand that a case or a claim notices it."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bulk import NOT_INDEXED
from tests.mutants.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("meaning", "algorithms", "engine", "operators", "trace")  # the folders of tests that a bug is shown to


def copy_of_the_house(to: Path) -> Path:
    leave_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "ebbflow", to / "ebbflow", ignore=leave_out)
    (to / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "bulk.py", to / "tests")
    for tests in COPIED:
        shutil.copytree(ROOT / "tests" / tests, to / "tests" / tests, ignore=leave_out)
    return to / "ebbflow"


def run(house: Path, *command: str, compiled: bool = False) -> subprocess.CompletedProcess:
    """In the copy, interpreted: nothing is compiled for a bug that lives for seconds."""
    environment = {**os.environ, "PYTHONPATH": str(house), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {} if compiled else {"NUMBA_DISABLE_JIT": "1"}
    whole = [sys.executable, "-m", *command]
    return subprocess.run(whole, cwd=house, env=environment, capture_output=True, text=True, check=False)


def ask_bulk(house: Path, runtime: str | None, cases: int, seed: int, patience: float) -> tuple[bool, str]:
    """Unless a runtime is named, one after the other, but for those with an index for every key, which hides much."""
    options = [f"--cases={cases}", f"--seed={seed}", f"--patience={patience}", f"--runtime={runtime or NOT_INDEXED}"]
    said = run(house, "tests.bulk", "--no-shrink", *options)
    lines = [line for line in said.stdout.splitlines() if line.startswith(("case ", "seed "))]
    if not lines:
        raise RuntimeError(f"the cases did not run:\n{said.stdout}\n{said.stderr}")
    return lines[0].startswith("case "), lines[0]


def ask_claim(house: Path, claim: str, runtime: str) -> tuple[bool, str]:
    said = run(house, "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/meaning", "-k", f"{claim} and {runtime}")
    last = said.stdout.strip().splitlines()[-1]
    if said.returncode not in (0, 1) or "error" in last or "no tests" in last:
        raise RuntimeError(f"the claim was not asked:\n{said.stdout}\n{said.stderr}")
    return said.returncode == 1, f"{claim}: {last}"


def ask_test(house: Path, test: str) -> tuple[bool, str]:
    """For bugs outside of kernels: those that are compiled already are used."""
    said = run(house, "pytest", "-q", "-x", "-p", "no:cacheprovider", test, compiled=True)
    last = said.stdout.strip().splitlines()[-1]
    if said.returncode not in (0, 1) or "error" in last or "no tests" in last:
        raise RuntimeError(f"the test was not asked:\n{said.stdout}\n{said.stderr}")
    return said.returncode == 1, f"{test.rpartition('::')[-1]}: {last}"


def verdict(mutant: Mutant | None, cases: int, seed: int, patience: float = 20) -> tuple[bool, str]:
    """Whether the bug was noticed, and the first line that was said of it."""
    with tempfile.TemporaryDirectory(prefix="ebbflow-mutant-") as place:
        house = Path(place)
        package = copy_of_the_house(house)
        if mutant is not None:
            mutant.apply(package)
            if mutant.test:
                return ask_test(house, mutant.test)
            if mutant.claim:
                return ask_claim(house, mutant.claim, mutant.runtime or "local-1")
        return ask_bulk(house, mutant.runtime if mutant else None, cases, seed, patience)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--cases", type=int, default=600, help="how many cases a bug may survive")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    asked = parser.parse_args(arguments)
    noticed, line = verdict(None, 40, asked.seed, patience=90)
    if noticed:
        print(f"The engine as it is fails already: {line}")
        return 1
    survivors = 0
    for mutant in MUTANTS:
        if asked.only not in mutant.name:
            continue
        started = time.monotonic()
        noticed, line = verdict(mutant, asked.cases, asked.seed)
        survivors += not noticed
        print(
            f"{'caught  ' if noticed else 'SURVIVES'}  {mutant.name}  ({time.monotonic() - started:.0f} s)", flush=True
        )
        print(f"            {line[:110]}", flush=True)
    print(f"{survivors} of {len(MUTANTS)} survive" if survivors else "every planted bug was caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
