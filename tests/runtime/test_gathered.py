import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.runtime import gathered
from ebbflow.runtime.gathered import Gathered


@settings(max_examples=60)
@given(st.integers(0, 3), st.lists(st.integers(0, 9), max_size=30))
def test_parts_stand_one_behind_the_other_whatever_room_there_was(lanes, parts):
    room, gathered.ROOM = gathered.ROOM, 4
    try:
        whole = Gathered(lanes)
    finally:
        gathered.ROOM = room
    wanted = []
    for number, n in enumerate(parts):
        rows, first = whole.room(n)
        assert rows.shape[0] == lanes + 2 and rows.flags.c_contiguous
        rows[:, first : first + n] = number
        wanted += [number] * n
    assert (whole.rows() == np.array(wanted, np.int64)).all() and whole.rows().shape == (lanes + 2, len(wanted))


def test_room_is_not_memory_before_it_is_written():
    with open("/proc/self/statm") as statm:
        pages = lambda: (statm.seek(0), int(statm.read().split()[1]))[1]
        before = pages()
        whole = Gathered(8)
        rows, first = whole.room(50_000_000)
        rows[:, first] = 1
        assert pages() - before < 1 << 14  # of four gigabytes, 64 megabytes at most: pages may be large ones
