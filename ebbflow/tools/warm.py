"""Compiling all kernels ahead of need, and saying how far it is.

The first program on a machine waits for the compiler; so do a cluster's workers and a test run.  This is the same
wait, chosen.

Rule: kernels are compiled the way a program would compile them; warming only asks for all of them.
"""

from __future__ import annotations

import time

from rich.console import Console

from ebbflow.native.kernel import compile_all
from ebbflow.native.kernel_cache import directory

EVERY = 10.0  # seconds between lines where there is no terminal to draw a bar on


def warm() -> int:
    """Compile what is not kept yet; how many kernels there are."""
    began = time.perf_counter()
    console = Console(stderr=True)
    total = compile_all() if console.is_terminal else _with_lines(console)

    print(f"{total} kernels are ready in {directory()} ({time.perf_counter() - began:.1f} s).")
    return total


def _with_lines(console: Console) -> int:
    last = time.perf_counter()

    def say(done: int, total: int) -> None:
        nonlocal last
        if time.perf_counter() - last >= EVERY:
            last = time.perf_counter()
            console.print(f"compiling kernels, once: {done} of {total}", highlight=False)

    return compile_all(say)
