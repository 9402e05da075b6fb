"""Rows whose first key is in order are put in order by the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.columns import sort


def order_of(keys):
    rows = np.ascontiguousarray(keys)
    words = np.arange(rows.shape[1])
    sort.sort_runs(rows, words, np.empty(rows.shape[1], np.int64))
    return words


@pytest.mark.interpreted
@given(
    runs=st.lists(st.integers(0, 90), max_size=6),
    width=st.integers(1, 3),
    spread=st.integers(1, 50),
    seed=st.integers(0, 999),
)
def test_the_order_is_that_of_a_stable_sort_by_all_keys(runs, width, spread, seed):
    first = np.repeat(np.arange(len(runs)), runs).astype(np.int64)
    others = np.random.default_rng(seed).integers(-spread, spread, (width, len(first)))
    keys = np.concatenate([first[None], others])
    assert order_of(keys).tolist() == np.lexsort(keys[::-1]).tolist()


def test_a_long_run_is_sorted_too():
    values = np.random.default_rng(1).permutation(10_000)
    keys = np.stack([np.zeros(10_000, np.int64), values // 7, values])
    assert order_of(keys).tolist() == np.lexsort(keys[::-1]).tolist()
