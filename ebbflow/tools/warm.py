"""Compiling all kernels ahead of need, and saying how far it is.

The first program on a machine waits for the compiler; so do a cluster's workers and a test run.  This is the same
wait, chosen.

Rule: kernels are compiled the way a program would compile them; warming only asks for all of them.
"""

from __future__ import annotations

import sys
import time

from ebbflow.native.kernel import bundle, compile_all
from ebbflow.native.kernel_cache import directory


def warm() -> int:
    """Compile what is not kept yet; how many kernels there are."""
    began = time.perf_counter()
    total = compile_all()
    found = bundle()
    place = found.path.parent if found is not None else directory()
    print(f"{total} kernels are ready in {place} ({time.perf_counter() - began:.1f} s).")
    return total


def wait_for_kernels() -> None:
    """Compile what is not kept yet, and say why one waits; at once, and in silence, where all is kept."""
    if bundle() is None:
        text = "The engine's kernels are compiled now, once on this machine: half a minute on two free cores."
        print(text, file=sys.stderr, flush=True)
        compile_all()
