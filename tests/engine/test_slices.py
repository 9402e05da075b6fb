import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.engine import slices


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=8), min_size=1, max_size=3))
def test_distinct_times_stand_in_order(times):
    found = slices.distinct([np.array(part) for part in times])
    assert found.tolist() == sorted({time for part in times for time in part})


@given(st.lists(st.integers(0, 4), max_size=12))
def test_rows_are_brought_into_the_order_of_their_times_stably(times):
    count = len(times)
    lanes, at, diffs = slices.in_order(np.arange(count)[None], np.array(times, np.int64)[:, None], np.arange(count))
    order = sorted(range(count), key=lambda i: times[i])
    assert lanes[0].tolist() == diffs.tolist() == order and at[:, 0].tolist() == sorted(times)
