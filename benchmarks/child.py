"""One measurement in a process of its own: `python -m benchmarks.child WORKLOAD OPTIONS`.

A process has one heap, one cache of compiled code and one history; measurements that shared one would see each other.

Rule: it prints one line, the result as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys


def main(workload: str, options: str) -> None:
    print(json.dumps(importlib.import_module(f"benchmarks.{workload}").run(**json.loads(options))))


if __name__ == "__main__":
    main(*sys.argv[1:])
