import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.runtime import gathered
from ebbflow.runtime.gathered import Gathered


@settings(max_examples=60)
@given(st.integers(0, 3), st.lists(st.integers(0, 9), max_size=30))
def test_parts_stand_one_behind_the_other_whatever_room_there_was(lanes, parts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathered, "ROOM", 4 * (lanes + 2))
        patch.setattr(gathered, "_waiting", [])
        whole, wanted = Gathered(lanes), []
        for number, n in enumerate(parts):
            rows, first = whole.room(n)
            assert rows.shape[0] == lanes + 2 and rows.flags.c_contiguous
            rows[:, first : first + n] = number
            wanted += [number] * n
        assert (whole.rows() == np.array(wanted, np.int64)).all()
        assert whole.rows().shape == (lanes + 2, len(wanted))


def test_room_is_not_memory_before_it_is_written():
    with open("/proc/self/statm") as statm:
        pages = lambda: (statm.seek(0), int(statm.read().split()[1]))[1]
        before = pages()
        whole = Gathered(8)
        rows, first = whole.room(50_000_000)
        rows[:, first] = 1
        assert pages() - before < 1 << 14  # of four gigabytes, 64 megabytes at most: pages may be large ones


def test_a_place_is_used_again_when_nobody_reads_it_any_more_and_not_before(monkeypatch):
    monkeypatch.setattr(gathered, "_waiting", [])
    address = lambda whole: whole.rows().ctypes.data
    one = Gathered(1)
    rows, _ = one.room(3)
    rows[:, :3] = 7
    read, at = one.rows()[0, 1:], address(one)
    del one, rows
    gc.collect()
    other = Gathered(2)
    assert address(other) != at and read.tolist() == [7, 7]
    del read
    gc.collect()
    third, fourth = Gathered(0), Gathered(0)
    assert address(third) == at and address(fourth) != at


def test_few_places_wait_and_large_ones_do_not(monkeypatch):
    monkeypatch.setattr(gathered, "_waiting", [])
    several = [Gathered(1) for _ in range(gathered.KEPT + 3)]
    del several
    gc.collect()
    assert len(gathered._waiting) == gathered.KEPT
    gathered._waiting.clear()
    large = gathered.place_for(2, gathered.ROOM)
    del large
    gc.collect()
    assert gathered._waiting == []
