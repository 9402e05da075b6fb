"""Memory: the machine's words as kernels read and write them, with no array around them.

Kernels read and write `H`: `H[p]` is the word at machine address 8 * (p + 1). Compiled, that is one load or store, with
no bounds check and no base address to fetch (`numba_types.py` has the code). Interpreted, and from Python, the same
words are reached through numpy.

With EBBFLOW_CHECKED=1 every access is checked: one bit per word says whether it is closed, which a heap sets for words
that it has not handed out. An access to a closed word ends the process with a message, compiled or interpreted.

Rule: this is the one module that reads or writes memory without a check; whoever holds an address owns the words there.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import time
import weakref
from typing import Any

import numpy as np

from ebbflow.errors import AddressTaken

CHECKED = os.environ.get("EBBFLOW_CHECKED", "0") not in ("", "0")
WORDS = 1 << 44  # of the address space
CLOSED_AT = 0x6000_0000_0000  # the machine address of the bits, 32 in a word, where Linux puts nothing by itself
CLOSED = CLOSED_AT // 8 - 1  # the same as an index in `H`
TOUCHED = "ebbflow: word {} of a heap was touched, and nobody holds it.  This is a bug in ebbflow; please report it.\n"


def _words_at(address: int, n: int) -> np.ndarray:
    """The n words at a machine address, in place."""
    words: Any = (ctypes.c_int64 * n).from_address(address)
    return np.frombuffer(words, np.int64)


class Memory:
    """All words, from Python: one by one, or as slices that are arrays in place."""

    def __init__(self) -> None:
        self.words = _words_at(8, WORDS)

    def __getitem__(self, at: Any) -> Any:
        if CHECKED:
            self.check(at)
        return self.words[at]

    def __setitem__(self, at: Any, value: Any) -> None:
        if CHECKED:
            self.check(at)
        self.words[at] = value

    def check(self, at: Any) -> None:
        first, end = (int(at.start), int(at.stop)) if isinstance(at, slice) else (int(at), int(at) + 1)
        bits = self.words[CLOSED + (first >> 5) : CLOSED + ((end + 31) >> 5)]
        if first < end and bits.any():
            closed = [
                (first & ~31) + 32 * int(i) + j for i in np.flatnonzero(bits) for j in range(32) if bits[i] >> j & 1
            ]
            for word in closed:
                if first <= word < end:
                    raise MemoryError(TOUCHED.format(word).rstrip())


class Fixed:
    """Address space at a place that was chosen before, as an `mmap` is one that the system chose."""

    def __init__(self, base: int, size: int):
        given = _libc.mmap(base, size, mmap.PROT_READ | mmap.PROT_WRITE, RESERVED_ONLY | _FIXED_NOREPLACE, -1, 0)
        if given != base:
            error = ctypes.get_errno()
            if given != ctypes.c_void_p(-1).value:  # a kernel that does not know the flag puts it elsewhere
                _libc.munmap(given, size)
            elif error != errno.EEXIST:
                raise OSError(error, os.strerror(error))
            raise AddressTaken(f"the addresses from {base:#x} to {base + size:#x} are in use in this process.")
        self.base, self.size = base, size
        self._given_back = weakref.finalize(self, _libc.munmap, base, size)
        self._given_back.atexit = False  # a thread may still be at work in it, and the system takes all of it anyway
        self.words = _words_at(base, size // 8)

    def madvise(self, advice: int, start: int, length: int) -> None:
        _libc.madvise(self.base + start, length, advice)

    def close(self) -> None:
        self._given_back()


def is_free(base: int, size: int) -> bool:
    """Whether nothing lies at these addresses now, in this process."""
    try:
        Fixed(base, size).close()
    except AddressTaken:
        return False
    return True


# Address space without a promise of memory: MAP_NORESERVE.
RESERVED_ONLY = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000
_FIXED_NOREPLACE = 0x100000
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

_BITS = Fixed(CLOSED_AT, WORDS // 4) if CHECKED else None


def all_open(first: int, end: int) -> None:
    """Forget what was closed among these words, whole pages of bits: another heap lies there now."""
    if _BITS is not None:
        page = mmap.PAGESIZE
        start = first // 4 // page * page
        _BITS.madvise(mmap.MADV_DONTNEED, start, -(-end // 4 // page) * page - start)


H = Memory()
"""All of memory, for kernels and for Python: `H[i]` is the word at machine address 8 * (i + 1)."""

_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def load_shared(at: int) -> int:
    """The word at an address that another thread writes; what it wrote before is seen after."""
    word: int = H.words[at]  # a word, also where nothing is compiled
    return word


def store_shared(at: int, word: int) -> None:
    """Write a word that another thread reads, after everything that was written before."""
    H.words[at] = word


def load_lane(at: int) -> int:
    """The word at an address, in a loop along a lane, where the compiler may take several words at once.

    It then looks before the loop whether the lanes overlap: not worth it for a loop over the few lanes of a row.
    """
    word: int = H[at]
    return word


def store_lane(at: int, word: int) -> None:
    """Write a word in such a loop."""
    H[at] = word


def prefetch(at: int) -> None:
    """Have the word at an address brought near the processor, while it does something else; any address will do."""


def call_back(function: int, argument: int) -> None:
    """Call a function of the machine, by its address, with one word; for what another library wants to be told."""
    _Function(int(function))(int(argument))


def yield_core() -> None:
    """Let another thread have the core."""
    time.sleep(0)
