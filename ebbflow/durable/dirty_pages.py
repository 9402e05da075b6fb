"""Dirty pages: the pages of a memory range that were written since the last check, as reported by the kernel.

Reading all of the state to find what a step changed costs in proportion to the state. Linux (6.7 and newer) records the
first write to each page without stopping the writer: userfaultfd in asynchronous mode, and a page-map scan that reads
and resets the records in one call. Whether this works here is tried on a few pages; where it does not, as on an older
system or in a restricted container, all pages are read.

Rule: a page that was written, or returned to the system, since the last check is reported. Others may be reported too;
after a check that failed, nothing is reported any more.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform

import numpy as np

Array = np.ndarray

PAGE_BYTES = 4096  # as pages are counted here, whatever the system's are

USER_MODE_ONLY = 1
API, REGISTER, SCAN = 0xC018AA3F, 0xC020AA00, 0xC0606610  # what is asked of the system, as it numbers them
VERSION, ASYNCHRONOUS, PROTECTS = 0xAA, 1 << 15, 2
RENEWS, OURS_ONLY, WRITTEN = 1, 2, 2
NUMBERS = {"x86_64": 323, "aarch64": 282}  # of the call `userfaultfd`
REGIONS = 4096  # told by one scan; it is asked again for more

_libc = ctypes.CDLL(None, use_errno=True)


class Watch:
    """What this process asks the system by."""

    def __init__(self) -> None:
        self.process = os.getpid()
        number = NUMBERS.get(platform.machine())
        if number is None or platform.system() != "Linux":
            raise OSError("no such call is known here")
        self.faults = called(_libc.syscall(number, os.O_CLOEXEC | os.O_NONBLOCK | USER_MODE_ONLY))
        self.pages = -1
        try:
            control(self.faults, API, [VERSION, ASYNCHRONOUS, 0])
            self.pages = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
            self.try_out()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for handle in (self.faults, self.pages):
            if handle >= 0:
                os.close(handle)

    def begin(self, address: int, size: int) -> None:
        control(self.faults, REGISTER, [address, size, PROTECTS, 0])

    def look(self, address: int, end: int) -> Array:
        """Where memory was touched since the last look, from and to; from now on it counts anew."""
        found: list[Array] = []
        while address < end:
            regions = np.empty((REGIONS, 3), np.int64)
            facts = [96, RENEWS | OURS_ONLY, address, end, 0, regions.ctypes.data, REGIONS, 0, 0, WRITTEN, 0, WRITTEN]
            count, told = control(self.pages, SCAN, facts)
            found.append(regions[:count, :2])
            if told[4] <= address:
                raise OSError("a scan of pages came to nothing")
            address = told[4]
        return np.concatenate(found)

    def try_out(self) -> None:
        """Whether the system tells what it has to, on six pages: written, read, given back, and left alone."""
        size = mmap.PAGESIZE
        memory = mmap.mmap(-1, 6 * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        first = ctypes.c_char.from_buffer(memory)
        address = ctypes.addressof(first)
        del first
        told = lambda: set(numbers(self.look(address, address + 6 * size), address, size).tolist())
        self.begin(address, 6 * size)
        for page in range(5):
            memory[page * size] = 1
        before = told()
        memory[0] = 2
        memory[3 * size + 7] = 3
        memory.madvise(mmap.MADV_DONTNEED, 2 * size, size)
        read = memory[size], memory[2 * size]
        memory[5 * size] = 1
        after = told()
        memory[4 * size] = 5
        if not ({0, 1, 2, 3, 4} <= before and {0, 2, 3, 5} <= after and 1 not in after and read == (1, 0)):
            raise OSError("the system does not tell every page")
        if not (4 in told() and told() <= {2}):
            raise OSError("the system does not tell pages anew")


def numbers(regions: Array, address: int, size: int) -> Array:
    """The numbers of the pages of a size that regions have a part of, from an address on."""
    return spread((regions[:, 0] - address) // size, -((address - regions[:, 1]) // size))


def spread(starts: Array, ends: Array) -> Array:
    """All the numbers of some ranges.

    >>> spread(np.array([3, 10]), np.array([5, 11])).tolist()
    [3, 4, 10]
    """
    counts = ends - starts
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


class DirtyPages:
    """The pages of one piece of memory, by number."""

    def __init__(self, address: int, size: int):
        self.address, self.size = address, size
        self.watch = watch()
        try:
            if self.watch is not None:
                self.watch.begin(address, size)
        except OSError:
            self.watch = None

    def look(self, size: int) -> Array | None:
        """The pages among the first `size` bytes that were touched since the last look; None: it is not known."""
        if self.watch is None or self.watch is not watch():
            return None
        end = self.address + min(self.size, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        try:
            found = self.watch.look(self.address, end)
        except OSError:
            self.watch = None
            return None
        return numbers(found, self.address, PAGE_BYTES)


_watches: dict[int, Watch | None] = {}  # by process: what was asked before a fork tells of the other one


def watch() -> Watch | None:
    """What this process asks by; None where the system does not tell."""
    me = os.getpid()
    if me not in _watches:
        _watches.clear()
        try:
            _watches[me] = Watch()
        except (OSError, ValueError):
            _watches[me] = None
    return _watches[me]


def control(handle: int, what: int, facts: list[int]) -> tuple[int, list[int]]:
    words = (ctypes.c_uint64 * len(facts))(*facts)
    return called(_libc.ioctl(handle, ctypes.c_ulong(what), words)), list(words)


def called(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
