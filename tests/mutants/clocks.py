"""`python -m tests.mutants.clocks`: bugs planted in what reads clocks and calendars, which its tests must notice.

Rule: the tests run interpreted, in a copy of the whole house: nothing is compiled for a bug that lives for seconds.
"""

from __future__ import annotations

import argparse
import sys

from tests.mutants.durable import verdict
from tests.mutants.mutants import Mutant

KERNELS, TABLES = "tests/columns/test_local_time.py", "tests/columns/test_zones.py"
PLANS, SESSIONS = "tests/dataflow/test_zoned.py", "tests/frontend/test_zones.py"
INTERPRETED = {"NUMBA_DISABLE_JIT": "1"}

PLANTED: list[tuple[Mutant, str]] = [
    (
        Mutant(
            "the offset has the wrong sign",
            "columns/local_time.py",
            "    return instant + H[first + n + (low - first)]\n",
            "    return instant - H[first + n + (low - first)]\n",
        ),
        KERNELS,
    ),
    (
        Mutant(
            "of two instants the later is meant, and a gap ends earlier",
            "columns/local_time.py",
            "        if H[first + middle] + max(H[offsets + middle], H[offsets + middle + 1]) <= x:\n",
            "        if H[first + middle] + min(H[offsets + middle], H[offsets + middle + 1]) <= x:\n",
        ),
        KERNELS,
    ),
    (
        Mutant(
            "a day begins at midnight, also where the clocks leave it out",
            "columns/local_time.py",
            "    if day == 1 and low < n and",
            "    if day == 2 and low < n and",
        ),
        KERNELS,
    ),
    (
        Mutant(
            "rules end with their table", "columns/local_time.py", "    if x >= last:  #", "    if x > x + last:  #"
        ),
        KERNELS,
    ),
    (
        Mutant(
            "clocks behind the table are those of its end",
            "columns/local_time.py",
            "        if last == H[offsets - 1] and x >= last_shown:\n",
            "        if last == 0 and x >= last_shown:\n",
        ),
        KERNELS,
    ),
    (
        Mutant(
            "summer time ends by standard time",
            "columns/zones.py",
            "+ self.ends[1] - self.offset\n",
            "+ self.ends[1] - standard\n",
        ),
        TABLES,
    ),
    (
        Mutant(
            "before the first change the last offset counts",
            "columns/zones.py",
            "    return offsets[0], [",
            "    return offsets[-1], [",
        ),
        TABLES,
    ),
    (
        Mutant(
            "the last week of a month is its fourth",
            "columns/zones.py",
            "        return day if day < end else day - 7\n",
            "        return day if day < end - 7 else day - 7\n",
        ),
        TABLES,
    ),
    (
        Mutant(
            "hour ignores the zone",
            "expressions/program.py",
            "    if call.op in operations.CLOCKS:\n",
            "    if call.op in operations.CLOCKS[:3]:\n",
        ),
        SESSIONS,
    ),
    (
        Mutant(
            "the day of an instant is that of UTC",
            "expressions/write_casts.py",
            "        days = w.step(o.FLOORDIV, w.clock(o.TO_LOCAL, x, zone), word(MICROSECONDS_A_DAY))\n",
            "        days = w.step(o.FLOORDIV, x, word(MICROSECONDS_A_DAY))\n",
        ),
        SESSIONS,
    ),
    (
        Mutant(
            "instants name no zone in Arrow",
            "columns/lanes_out.py",
            '    "timestamp": pa.timestamp("us", "UTC"),',
            '    "timestamp": pa.timestamp("us"),',
        ),
        SESSIONS,
    ),
    (
        Mutant(
            "Arrow without a zone is read as instants",
            "columns/ddl.py",
            'return TIMESTAMP if "tz=" in text else TIMESTAMP_NTZ',
            "return TIMESTAMP",
        ),
        SESSIONS,
    ),
    (
        Mutant(
            "the plan forgets the zone",
            "expressions/operations.py",
            "        options = known if zone is None else (*known, zone)\n",
            "        options = known\n",
        ),
        PLANS,
    ),
    (
        Mutant(
            "text beside an instant is read in UTC",
            "expressions/typing_rules.py",
            "    return target != TIMESTAMP or names_zone(str(text.value))\n",
            "    return True\n",
        ),
        PLANS,
    ),
    (
        Mutant(
            "an output that is declared later reads UTC",
            "dataflow/zoned.py",
            "        moved = _in_zone(node, found.timezone)\n",
            "        moved = node if start else _in_zone(node, found.timezone)\n",
        ),
        PLANS,
    ),
]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.clocks", description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    asked = parser.parse_args(arguments)
    survivors = 0
    chosen = [(mutant, tests) for mutant, tests in PLANTED if asked.only in mutant.name]
    for mutant, tests in chosen:
        noticed, line = verdict(mutant, tests, INTERPRETED)
        survivors += not noticed
        print(f"{'caught  ' if noticed else 'SURVIVES'}  {mutant.name}\n            {line[:110]}", flush=True)
    print(f"{survivors} of {len(chosen)} survive" if survivors else f"all {len(chosen)} planted bugs were caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
