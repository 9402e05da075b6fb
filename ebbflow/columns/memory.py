"""Memory as kernels see it: the machine's words, with no array around them.

Every kernel takes `H`, and `H[p]` is the word at machine address 8 * (p + 1).  Compiled, that is one load or store:
no bounds, no base to fetch, nothing to count (`compiler.py` says how).  Interpreted, and from Python, the same words
are reached through numpy.

Rule: this is the one place that reads or writes memory without a check; whoever holds an address owns what is there.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np


class Memory:
    """All words, from Python: one by one, or as slices that are arrays in place."""

    def __init__(self) -> None:
        self.words = np.frombuffer((ctypes.c_int64 * (1 << 44)).from_address(8), np.int64)

    def __getitem__(self, at: Any) -> Any:
        return self.words[at]

    def __setitem__(self, at: Any, value: Any) -> None:
        self.words[at] = value


_MEMORY = Memory()


def all_memory() -> Memory:
    """`H`, for a kernel that Python calls often: an argument less to look at."""
    return _MEMORY


def load_shared(at: int) -> int:
    """The word at an address that another thread writes; what it wrote before is seen after."""
    return int(_MEMORY[at])


def store_shared(at: int, word: int) -> None:
    """Write a word that another thread reads, after everything that was written before."""
    _MEMORY[at] = word


def give_way() -> None:
    """Let another thread have the core."""
    time.sleep(0)
