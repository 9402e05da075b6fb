import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.engine import result_buffer
from ebbflow.engine.result_buffer import ResultBuffer


@settings(max_examples=60)
@given(st.integers(0, 3), st.lists(st.integers(0, 9), max_size=30))
def test_parts_stand_one_behind_the_other_whatever_room_there_was(lanes, parts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result_buffer, "ROOM", 4 * (lanes + 2))
        patch.setattr(result_buffer, "_spare", [])
        whole, wanted = ResultBuffer(lanes), []
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
        whole = ResultBuffer(8)
        rows, first = whole.room(50_000_000)
        rows[:, first] = 1
        assert pages() - before < 1 << 14  # of four gigabytes, 64 megabytes at most: pages may be large ones


def test_a_place_is_used_again_when_nobody_reads_it_any_more_and_not_before(monkeypatch):
    monkeypatch.setattr(result_buffer, "_spare", [])
    address = lambda whole: whole.rows().ctypes.data
    one = ResultBuffer(1)
    rows, _ = one.room(3)
    rows[:, :3] = 7
    read, at = one.rows()[0, 1:], address(one)
    del one, rows
    gc.collect()
    other = ResultBuffer(2)
    assert address(other) != at and read.tolist() == [7, 7]
    del read
    gc.collect()
    third, fourth = ResultBuffer(0), ResultBuffer(0)
    assert address(third) == at and address(fourth) != at


def test_few_places_wait_and_large_ones_do_not(monkeypatch):
    monkeypatch.setattr(result_buffer, "_spare", [])
    several = [ResultBuffer(1) for _ in range(result_buffer.SPARES_KEPT + 3)]
    del several
    gc.collect()
    assert len(result_buffer._spare) == result_buffer.SPARES_KEPT
    result_buffer._spare.clear()
    large = result_buffer.reserve_rows(2, result_buffer.ROOM)
    del large
    gc.collect()
    assert result_buffer._spare == []
