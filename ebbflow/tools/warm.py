"""Compiling all kernels ahead of need, with a bar that shows how far it is.

The first program on a machine waits for the compiler; so do a cluster's workers and a test run.  This is the same
wait, chosen.

Rule: kernels are compiled the way a program would compile them; warming only asks for all of them.
"""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


def warm() -> int:
    """Compile what is not kept yet; how many kernels there are."""
    began = time.perf_counter()
    console = Console(stderr=True)
    said = TextColumn("compiling kernels, once: {task.completed} of {task.total}")
    with Progress(said, BarColumn(), TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        from ebbflow.columns import kernel  # the compiler itself takes a second to load: the bar is up by then

        total = kernel.compile_all(lambda done, all_: bar.update(task, completed=done, total=max(done, all_)))
    seconds = time.perf_counter() - began
    print(f"{total} kernels are ready in {kernel.directory()} ({seconds:.1f} s).")
    return total
