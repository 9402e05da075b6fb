"""How far things travel through the house: a row from `insert` to `changes`, and a new thing of each kind.

    python -m tests.house.travels                 what CONTRIBUTING.md says of both, from the code as it is

Rule: the walk of a row is traced in a program that runs without the compiler; a thing is known by a word of its own,
and travels to every file in whose code, comments and docstrings apart, the word stands.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from functools import cache

from tests.house.layers import ROOT

TRACED = """
import json, sys
import ebbflow as ebb
flow = ebb.Dataflow()
flow.output("degrees", flow.input("edges", "src long, dst long").group_by("src").agg(n=ebb.count()))
live = flow.run()
live.insert("edges", [(1, 2)])
live.commit()
calls = []
def note(frame, event, arg):
    caller = frame.f_back
    while caller is not None and caller.f_globals.get("__name__", "").startswith("ebbflow.native."):
        caller = caller.f_back  # a kernel that is not compiled is called by way of its wrapper
    names = [f.f_globals.get("__name__", "") for f in (frame, caller)]
    if event == "call" and names[0].startswith("ebbflow."):
        calls.append([frame.f_code.co_name, *names])
def traced(call, *args, **more):
    sys.setprofile(note)
    try:
        call(*args, **more)
    finally:
        sys.setprofile(None)
traced(live.insert, "edges", [(1, 3)], time=1)
traced(live.advance_to, 2)
traced(live.changes, "degrees")
print(json.dumps(calls))
"""
BESIDE = ("events", "interrupts", "native")  # what every module may call on its way: no station of a row

EXAMPLES = {  # a thing of each kind, and the words by which it is known
    "a function of columns": ("levenshtein", ("levenshtein",)),
    "an aggregate": ("geometric_mean", ("geometric_mean",)),
    "an aggregate with a kernel": ("bit_xor", ("bit_xor", "BITS_XOR")),
    "a sink": ("change_log", ("ChangeLog", "change_log")),
    "a runtime": ("oracle", ("OracleRuntime", "ebbflow.runtime.oracle.runtime.OracleRuntime")),
    "a kind of node": ("Wait", ("Wait", "wait_lane")),
}


@cache
def calls() -> list[tuple[str, str, str]]:
    """Every call on the way of a row: the function, its module, and the module that called it."""
    shown = subprocess.run(
        [sys.executable, "-c", TRACED],
        cwd=ROOT, capture_output=True, text=True, timeout=300, env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    return [tuple(call) for call in json.loads(shown.stdout.splitlines()[-1])]


def stations() -> list[str]:
    """The modules that a row passes, each where it is first called."""
    found = dict.fromkeys(module.removeprefix("ebbflow.") for _, module, _ in calls())
    return [name for name in found if name.split(".")[0] not in BESIDE]


@cache
def spoken(path: str) -> frozenset[str]:
    """The words that a file's code says: names, and text that is one word or a dotted name."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        for field in ("id", "attr", "name", "arg", "asname", "value"):
            word = getattr(node, field, None)
            if isinstance(word, str):
                found.add(word)
    return frozenset(found)


def travels(kind: str) -> list[str]:
    """The files that a thing of this kind has come to, those of SQL's and Spark's names for it apart."""
    _, words = EXAMPLES[kind]
    paths = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "ebbflow").rglob("*.py"))]
    return [p for p in paths if "/relational/" not in p and "/tools/" not in p and spoken(p) & set(words)]


if __name__ == "__main__":
    print(*stations(), sep="\n")
    for kind in EXAMPLES:
        print(f"\n{kind}:", *travels(kind), sep="\n  ")
