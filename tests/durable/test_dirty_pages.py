"""The system tells every page that was written or given back; where it does not, nothing is believed."""

import ctypes
import mmap
import os
from random import Random

import numpy as np
import pytest

from ebbflow.durable import dirty_pages
from ebbflow.durable.dirty_pages import PAGE_BYTES, DirtyPages

told_here = pytest.mark.skipif(dirty_pages.watch() is None, reason="this system does not tell which pages were written")
PAGES = 200


class Memory:
    def __init__(self, pages: int = PAGES):
        self.map = mmap.mmap(-1, pages * PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.bytes = np.frombuffer(self.map, np.uint8).reshape(pages, PAGE_BYTES)
        self.touched = DirtyPages(self.bytes.ctypes.data, pages * PAGE_BYTES)

    def look(self) -> set[int]:
        found = self.touched.look(self.bytes.size)
        assert found is not None
        return set(found.tolist())


@told_here
@pytest.mark.parametrize("seed", range(20))
def test_every_page_that_is_not_as_it_was_is_told(seed):
    random, memory = Random(seed), Memory()
    before, few = memory.bytes.copy(), 0
    for _ in range(60):
        for _ in range(random.randrange(6)):
            page = random.randrange(PAGES)
            if random.random() < 0.3:
                memory.map.madvise(mmap.MADV_DONTNEED, page * PAGE_BYTES, random.randint(1, 3) * PAGE_BYTES)
            else:
                memory.bytes[page, random.randrange(PAGE_BYTES)] = random.randrange(256)
        if random.random() < 0.3:
            memory.bytes.sum()  # reading changes nothing
        changed = set(np.flatnonzero((memory.bytes != before).any(axis=1)).tolist())
        told = memory.look()
        assert changed <= told
        few += len(told) < PAGES // 2
        before = memory.bytes.copy()
    assert few > 30, "a system that tells every page each time is of no use"


@told_here
def test_what_was_told_is_not_told_again():
    memory = Memory()
    memory.bytes[:] = 1
    assert memory.look() == set(range(PAGES))
    assert memory.look() == set()
    memory.bytes[7, 5] = 1  # the same again: touched all the same
    assert memory.look() == {7}


@told_here
def test_more_regions_than_one_scan_tells_are_all_told(monkeypatch):
    monkeypatch.setattr(dirty_pages, "REGIONS", 3)
    memory = Memory()
    memory.bytes[:] = 1
    memory.look()
    memory.bytes[::2] = 2
    assert memory.look() == set(range(0, PAGES, 2))


@told_here
def test_after_a_fork_the_other_process_is_told_nothing():
    memory = Memory()
    memory.look()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b"nothing" if memory.touched.look(memory.bytes.size) is None else b"something")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 20) == b"nothing"
    memory.bytes[3, 3] = 3
    assert memory.look() == {3}
    os.close(read), os.close(write)


@told_here
def test_memory_that_was_mapped_anew_is_not_believed():
    memory = Memory()
    memory.look()
    where, size = memory.bytes.ctypes.data, memory.bytes.size
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 4]
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10  # at exactly that place
    assert libc.mmap(where, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0) == where
    assert memory.touched.look(size) is None and memory.touched.look(size) is None


def test_where_the_system_does_not_tell_nothing_is_known(monkeypatch):
    monkeypatch.setattr(dirty_pages, "NUMBERS", {})
    monkeypatch.setattr(dirty_pages, "_watches", {})
    assert dirty_pages.watch() is None
    memory = Memory()
    assert memory.touched.look(memory.bytes.size) is None


@told_here
@pytest.mark.parametrize("wrong", ["all", "none", "first"])
def test_a_system_that_tells_wrongly_is_found_out(monkeypatch, wrong):
    right = dirty_pages.Watch.look

    def look(self, address, end):
        found = right(self, address, end)
        return {"all": np.array([[address, end]]), "none": found[:0], "first": found[:1]}[wrong]

    monkeypatch.setattr(dirty_pages.Watch, "look", look)
    with pytest.raises(OSError, match="does not tell"):
        dirty_pages.Watch()
