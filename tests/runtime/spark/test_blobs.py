"""Blobs: what was written reads back equal, and one that is not whole is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.errors import DamagedFile
from ebbflow.runtime.spark import blobs


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), max_size=4))
def test_what_was_written_reads_back_equal(words):
    arrays = [np.array(part, np.int64) for part in words]
    facts, found = blobs.read(blobs.write({"é": [1, None]}, arrays))
    assert facts == {"é": [1, None]} and [one.tolist() for one in found] == words


def test_a_blob_that_is_not_whole_is_refused():
    whole = blobs.write({"a": 1}, [np.arange(3)])
    for spoiled in (whole[:-1], whole[:9], whole + b"12345678", b"", b"\xff" * 16):
        with pytest.raises(DamagedFile):
            blobs.read(spoiled)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.integers(-2, 2)), max_size=12))
def test_the_canonical_order_follows_from_content(rows):
    def canonical(rows):
        lanes = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
        times, diffs = (np.array([row[i] for row in rows], np.int64) for i in (2, 3))
        found = blobs.canonical((lanes, times[:, None], diffs))
        return [part.tolist() for part in found]

    assert canonical(rows) == canonical(rows[::-1]) == canonical(sorted(rows))
