"""`python -m tests.mutants.public`: bugs planted where names become positions, each noticed by random public programs.

Rule: as for the others; a bug may survive so many programs of `python -m tests.bulk --public` and no more.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.__main__ import copy_of_the_house, run
from tests.mutants.mutants import Mutant

PLANTED = [
    Mutant(
        "columns behind a filter that took in a selection are read by name",
        "dataflow/plan.py",
        "        columns = tuple(substituted(expr, given) for expr in later.columns)\n",
        "        columns = tuple(e if self.condition else substitute(e, given) for e in later.columns)\n",
    ),
    Mutant(
        "a selection is taken in by position from the right",
        "dataflow/plan.py",
        "        given = {field.name: self.columns[i] for i, field in enumerate(later.schema)}\n",
        "        given = {field.name: self.columns[~i] for i, field in enumerate(later.schema)}\n",
    ),
    Mutant(
        "rows behind a rename count as placed by their new names",
        "dataflow/plan.py",
        "        return tuple(self.source.schema.names[i] for i in places)\n",
        "        return columns if set(columns) <= set(self.source.schema.names) else None\n",
    ),
    Mutant(
        "a loop's body is read by two keys",
        "dataflow/lower.py",
        " or self.kept_by.get(body, key) != key:",
        ":",
    ),
    Mutant(
        "a filter goes before a selection with the selection's names",
        "dataflow/simplify.py",
        "n.Filter(substituted(condition, given))",
        "n.Filter(condition)",
    ),
    Mutant(
        "a selection of a join takes columns of the right under the left's name",
        "dataflow/simplify.py",
        "                    place = {name: (side, there) for name, side, there in taken}\n",
        "                    place = {name: (side, there) for name, side, there in taken}\n"
        "                    mine = {there for _, side, there in taken if side == 0}\n"
        "                    place = {n: (0 if t in mine else s, t) for n, (s, t) in place.items()}\n",
    ),
    Mutant(
        "what leaves a loop is computed in a later stage",
        "dataflow/stages.py",
        "sources[0] if leaves else wait[number].union(*sources)",
        "wait[number].union(*sources)",
    ),
    Mutant(
        "a suffix is put on every column of the right side",
        "frontend/building/joining.py",
        '(name + (suffix or "") if name in clashes else name, 1, name)',
        '(name + (suffix or ""), 1, name)',
    ),
    Mutant(
        "the key of a row that is only on the right is null",
        "frontend/building/joining.py",
        "keys.get(there) or Literal(None, mine[there])",
        "Literal(None, mine[there])",
    ),
    Mutant(
        "null keys match each other",
        "operators/join/product_rule.py",
        "        if record.lanes[k] == NULL:\n",
        "        if record.lanes[k] == NULL + 1:\n",
    ),
    Mutant(
        "a row that found no partner shows its own columns in place of nulls",
        "frontend/building/joining.py",
        "Literal(None, theirs[there]) if side else Read(there, mine[there])",
        "Read(there, mine[there]) if not side or there in mine else Literal(None, theirs[there])",
    ),
    Mutant(
        "names are swapped one after the other",
        "frontend/building/collection.py",
        "[(new.get(name, name), expr) for name, expr in every_column(self.schema)]",
        "[(new.get(name, name) if new.get(new.get(name)) != name else name, expr)"
        " for name, expr in every_column(self.schema)]",
    ),
    Mutant(
        "a union puts columns together by position",
        "frontend/building/shaping.py",
        "[(name, cast(Read(name, schema[name]), kind)) for name, kind in types.items() if kind is not None]",
        "[(name, cast(Read(there, schema[there]), kind))"
        " for there, (name, kind) in zip(schema.names, types.items()) if kind is not None]",
    ),
    Mutant(
        "a column of an earlier collection is looked for by its name alone",
        "frontend/building/lineage.py",
        "    found = [here for here in names if (owner, name) in _origins(graph, node, here)]\n",
        "    found = [here for here in names if here == name]\n",
    ),
    Mutant(
        "a computed key takes the name of a column",
        "frontend/building/shaping.py",
        "    while name in taken:\n",
        "    while name in taken and not name:\n",
    ),
]


def verdict(mutant: Mutant, cases: int, seed: int) -> tuple[bool, str]:
    """Whether the bug was noticed, and the first line that was said of it."""
    with tempfile.TemporaryDirectory(prefix="ebbflow-mutant-") as place:
        house = Path(place)
        mutant.apply(copy_of_the_house(house))
        said = run(house, "tests.bulk", "--public", "--no-shrink", f"--cases={cases}", f"--seed={seed}")
        lines = [line for line in said.stdout.splitlines() if line.startswith(("case ", "seed "))]
        if not lines:
            raise RuntimeError(f"the programs did not run:\n{said.stdout}\n{said.stderr}")
        return lines[0].startswith("case "), lines[0]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.public", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=4000, help="how many programs a bug may survive")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    asked = parser.parse_args(arguments)
    survivors = 0
    for mutant in PLANTED:
        if asked.only in mutant.name:
            started = time.monotonic()
            noticed, line = verdict(mutant, asked.cases, asked.seed)
            survivors += not noticed
            took = time.monotonic() - started
            print(f"{'caught  ' if noticed else 'SURVIVES'}  {mutant.name}  ({took:.0f} s)", flush=True)
            print(f"            {line[:110]}", flush=True)
    print(f"{survivors} of {len(PLANTED)} survive" if survivors else "every planted bug was caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
