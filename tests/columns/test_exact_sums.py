import math
import os
import struct
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ebbflow.columns import exact_sums as w
from ebbflow.native.kernel import address_of

WORDS = st.integers(-(2**63) + 1, 2**63 - 1) | st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63) + 1, 2**32, -(2**32)])
DIFFS = st.integers(-(2**31), 2**31) | st.integers(-3, 3)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [5e-324, -5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 1.0, -1.0, 2.0**53, 0.1]
)


def to_lane(x):
    (bits,) = struct.unpack("<q", struct.pack("<d", x + 0.0))
    return bits if bits >= 0 else bits ^ 0x7FFF_FFFF_FFFF_FFFF


def from_lane(lane):
    bits = int(lane) if lane >= 0 else int(lane) ^ 0x7FFF_FFFF_FFFF_FFFF
    return struct.unpack("<d", struct.pack("<q", bits))[0]


def call(kernel, *args):
    """Call a kernel on totals, each given as an array."""
    return kernel(*(address_of(arg) if isinstance(arg, np.ndarray) else arg for arg in args))


def ints(pairs):
    acc = np.zeros(w.INT_WORDS, np.int64)
    for value, diff in pairs:
        call(w.int_add, acc, value, diff)
    return acc


def floats(pairs):
    acc = np.zeros(w.FLOAT_WORDS, np.int64)
    for value, diff in pairs:
        call(w.float_add, acc, to_lane(value), diff)
    return acc


def exact(acc):
    """The integer that words spell."""
    return int.from_bytes(acc.tobytes(), "little", signed=True)


def nearest(total):
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@given(st.lists(st.tuples(WORDS, WORDS), max_size=8))
def test_integer_totals_are_exact(pairs):
    acc, total = ints(pairs), sum(value * diff for value, diff in pairs)
    if -(2**127) <= total < 2**127:
        assert exact(acc) == total
        assert call(w.int_fits, acc) == (-(2**63) < total < 2**63)
        if -(2**63) < total < 2**63:
            assert call(w.int_read, acc) == total


@given(st.lists(st.tuples(WORDS, DIFFS)), st.randoms())
def test_integers_removed_in_any_order_leave_zero(pairs, random):
    undo = [(value, -diff) for value, diff in pairs]
    random.shuffle(undo)
    assert not ints(pairs + undo).any()
    acc = ints(pairs)
    call(w.int_merge, acc, ints(undo))
    assert not acc.any()


@settings(max_examples=500)
@given(st.lists(st.tuples(WORDS | st.integers(-1000, 1000), DIFFS), max_size=4), WORDS.filter(bool))
@example([(2**53 + 1, 1)], 1)
@example([(2**63 - 1, 2**31)], 2**63 - 1)
@example([(2**62, 2**31), (1, 1)], 1)
@example([(1, 1)], 2**63 - 1)
def test_averages_are_the_nearest_double(pairs, divisor):
    total = sum(value * diff for value, diff in pairs)
    assert from_lane(call(w.int_quotient, ints(pairs), divisor)) == total / divisor


@settings(max_examples=400)
@given(st.lists(st.tuples(FLOATS, DIFFS), max_size=12), st.randoms())
@example([(1.7976931348623157e308, 2**31), (5e-324, 1)], None)
@example([(1.7976931348623157e308, 1), (9.9792015476736e291, 1)], None)
@example([(2.0**53, 1), (1.0, 1)], None)
@example([(2.0**53, 1), (1.0, 1), (5e-324, 1)], None)
def test_float_totals_are_the_nearest_double_whatever_the_order(pairs, random):
    acc = floats(pairs)
    total = sum((Fraction(value) * diff for value, diff in pairs), Fraction(0))
    assert exact(acc[: w.SUM_DIGITS]) == total * 2**1074
    assert from_lane(call(w.float_read, acc)) == nearest(total)
    if random is not None:
        shuffled = list(pairs)
        random.shuffle(shuffled)
        assert floats(shuffled).tolist() == acc.tolist()


@given(st.lists(FLOATS, max_size=30))
def test_float_totals_agree_with_fsum(values):
    try:
        wanted = math.fsum(values)
    except OverflowError:
        return
    assert from_lane(call(w.float_read, floats((x, 1) for x in values))) == wanted


@given(st.lists(st.tuples(FLOATS | st.sampled_from([math.inf, -math.inf, math.nan]), DIFFS)), st.randoms())
def test_floats_removed_in_any_order_leave_zero(pairs, random):
    undo = [(value, -diff) for value, diff in pairs]
    random.shuffle(undo)
    assert not floats(pairs + undo).any()
    acc = floats(pairs)
    call(w.float_merge, acc, floats(undo))
    assert not acc.any()


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1.0], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, math.inf], math.nan),
        ([math.nan], math.nan),
        ([], 0.0),
    ],
)
def test_what_has_no_place_on_the_line_is_counted(values, wanted):
    lane = call(w.float_read, floats((x, 1) for x in values))
    assert repr(from_lane(lane)) == repr(wanted)


def test_a_nan_that_is_removed_is_forgotten():
    acc = floats([(math.nan, 1), (math.inf, 1), (2.5, 1), (math.nan, -1), (math.inf, -1)])
    assert from_lane(call(w.float_read, acc)) == 2.5


def test_totals_work_interpreted():
    program = """
import sys; sys.path.insert(0, "tests/columns")
from test_exact_sums import *
pairs = [(1e300, 2**31), (-1e-300, 3), (0.1, -7), (5e-324, 1), (-1e300, 2**31), (1.5, 2**31)]
acc = floats(pairs)
total = sum((Fraction(value) * diff for value, diff in pairs), Fraction(0))
assert exact(acc[: w.DIGITS]) == total * 2**1074
assert from_lane(call(w.float_read, acc)) == nearest(total)
acc = floats([(-0.1, 3)])
assert from_lane(call(w.float_read, acc)) == nearest(-3 * Fraction(0.1))
call(w.float_merge, acc, floats([(0.1, 3)]))
assert not acc.any()
acc = ints([(2**62 + 1, 2**31), (-5, 7)])
assert exact(acc) == (2**62 + 1) * 2**31 - 35
assert from_lane(call(w.int_quotient, acc, -3)) == exact(acc) / -3
"""
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
