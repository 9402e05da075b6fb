"""Start-up: how long a person waits for the import, and for the first result of a process.

`import` is the import alone; `warm` a whole process up to its first answer with compiled kernels at hand; `cold` the
same on a machine that has none.

Rule: every figure is that of a process that has just begun, with Python's bytecode at hand, as installed packages are.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
IMPORT = "import time; began = time.perf_counter(); import ebbflow; print(time.perf_counter() - began)"
FIRST = """
from benchmarks.reach import program
with program().run() as live:
    live.insert("edges", [(1, 2), (2, 3)], time=0)
    live.insert("roots", [(1,)], time=0)
    live.advance_to(1)
    assert len(live.changes("reach").rows()) == 3
"""


def run(kind: str) -> dict[str, Any]:
    _python(FIRST)  # so that there is bytecode
    if kind == "import":
        return {"s": float(_python(IMPORT))}
    if kind == "warm":
        return {"s": _seconds(FIRST)}
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))  # kernels are compiled on all cores, however this began
    with tempfile.TemporaryDirectory(prefix="ebbflow-cold-") as empty:
        return {"s": _seconds(FIRST, EBBFLOW_CACHE_DIR=empty)}


def _seconds(code: str, **environment: str) -> float:
    began = time.perf_counter()
    _python(code, **environment)
    return time.perf_counter() - began


def _python(code: str, **environment: str) -> str:
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=CHECKOUT,
        env=usual | {"PYTHONPATH": str(CHECKOUT)} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
