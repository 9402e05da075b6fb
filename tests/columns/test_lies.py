"""Arrow that is not what it says is refused: see `lies`.

They are told in a process of their own, so that one that ends it is a test that fails and names the lie.
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow.columns.arrow import count_nulls
from ebbflow.columns.arrow_in import check_arrow
from ebbflow.columns.arrow_text import are_ascii, are_rising
from ebbflow.errors import TypeMismatch
from ebbflow.native.kernel import address_of

ROOT = Path(__file__).parents[2]
LEAST = 1300  # so many lies at least


def test_every_lie_is_refused_without_foreign_bytes_and_what_is_none_is_read():
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.columns.lies"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    lines = said.stdout.splitlines()
    assert said.returncode == 0, "\n".join(
        [*(line for line in lines if "WRONG" in line), *lines[-2:], said.stderr[-2000:]]
    )
    found = re.fullmatch(r"(\d+) told, (\d+) refused, (\d+) read, 0 wrong", lines[-1])
    assert found is not None and int(found[1]) >= LEAST and int(found[2]) > 300 and int(found[3]) > 300, lines[-1]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("start", [0, 1, 2, 5])
def test_offsets_that_never_fall_are_told_from_others(wide, start):
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 3, 8, 31):
        rises = np.cumsum(rng.integers(0, 4, start + n + 2)).astype(np.int64 if wide else np.int32)

        def rising(offsets, n=n):
            held = np.zeros((len(offsets) + 9) // 2 * 2, offsets.dtype)
            held[: len(offsets)] = offsets
            at = 8 * (address_of(held.view(np.int64)) + 1) if not wide else 8 * (address_of(held) + 1)
            return bool(are_rising(at, int(wide), start, n))

        assert rising(rises)
        for i in range(start, start + n):
            wrong = rises.copy()
            wrong[i + 1] = wrong[i] - 1
            assert not rising(wrong), (n, i)
        before = rises.copy()
        before[start] = -1
        assert not rising(before) and (start == 0 or rising(np.concatenate([[9], rises[1:]]).astype(rises.dtype)))


def test_text_is_ascii_between_two_addresses():
    data = np.frombuffer(b"a" * 64, np.uint8).copy()
    at = 8 * (address_of(data.view(np.int64)) + 1)
    for begin in range(20):
        for end in range(begin, 40):
            assert are_ascii(at + begin, at + end)
            for place in (begin - 1, begin, (begin + end) // 2, end - 1, end):
                if 0 <= place < 64:
                    data[place] = 0xC3
                    assert bool(are_ascii(at + begin, at + end)) == (not begin <= place < end), (
                        begin,
                        end,
                        place,
                    )
                    data[place] = ord("a")


def test_nulls_are_counted():
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2, 700)
    packed = np.packbits(bits, bitorder="little")
    held = np.zeros(96, np.uint8)
    held[: len(packed)] = packed
    at = 8 * (address_of(held.view(np.int64)) + 1)
    for start in (0, 1, 7, 8, 63, 64, 65, 130):
        for n in (0, 1, 8, 63, 64, 65, 500):
            assert count_nulls(at, start, n) == n - bits[start : start + n].sum()


def test_a_time_whose_offsets_lie_is_not_quoted():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long"))
    secret = pa.py_buffer(b"abc" + b"FOREIGN" * 99).slice(0, 3)
    offsets = pa.py_buffer(np.array([0, 40, 3], np.int32))
    lying = pa.Array.from_buffers(pa.string(), 2, [None, offsets, secret])
    with flow.run() as live:
        for part in ("time", "diff"):
            with pytest.raises(ebb.EbbflowError) as told:
                live.apply("xs", pa.table({"x": [1, 2], "t": lying}), **{part: "t"})
            assert "FOREIGN" not in str(told.value)


def test_a_lie_is_named_by_its_column():
    offsets = pa.py_buffer(np.array([0, 9, 3], np.int32))
    lying = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abc")])
    with pytest.raises(TypeMismatch, match='the column "s" is an Arrow array that does not hold together') as told:
        check_arrow(lying, 'the column "s"', 7)
    assert "from row 7 on" in told.value.what and "offsets" in told.value.what
