"""Claims about checked memory: a word that nobody holds cannot be touched unseen, by compiled code or by Python."""

import os
import subprocess
import sys

import pytest

from tests.house.layers import ROOT

PROGRAM = """
from ebbflow.native.kernel import kernel
from ebbflow.native.memory import H
from ebbflow.trace import heap as h
from ebbflow.trace.reserved_heap import Heap

@kernel
def touch(p):
    H[p] = H[p] + 1
    return H[p]

heap = Heap(1 << 24)
block, other = (int(h.alloc(heap.W, 10)) for _ in range(2))
heap.H[block : block + 10] = 41
print(touch(block + 9))
{mistake}
print("went on")
"""
MISTAKES = {
    "given back": "h.release(heap.W, block, 10); touch(block + 3)",
    "behind a block": "touch(block + 10)",
    "never given out": "touch(int(heap.header.bump) + 5)",
    "as a slice": "h.release(heap.W, block, 10); heap.H[block - 4 : block + 4]",
}


def told(program, interpreted=True, checked=True, *arguments):
    env = {**os.environ, "EBBFLOW_CHECKED": str(int(checked)), "NUMBA_DISABLE_JIT": str(int(interpreted))}
    command = [sys.executable, *(["-c", program] if program else []), *arguments]
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_word_that_nobody_holds_is_refused(mistake):
    done = told(PROGRAM.format(mistake=MISTAKES[mistake]))
    assert done.stdout == "42\n"
    assert "of a heap was touched, and nobody holds it" in done.stderr


@pytest.mark.slow
def test_compiled_code_is_stopped_as_well():
    done = told(PROGRAM.format(mistake=MISTAKES["given back"]), interpreted=False)
    assert done.returncode == -6 and "went on" not in done.stdout
    assert "of a heap was touched, and nobody holds it" in done.stderr


def test_without_the_mode_nothing_is_asked():
    done = told(PROGRAM.format(mistake=MISTAKES["behind a block"]), checked=False)
    assert done.stdout == "42\nwent on\n", done.stderr


def test_a_block_that_is_given_out_again_is_open():
    done = told(PROGRAM.format(mistake="h.release(heap.W, block, 10); touch(h.alloc(heap.W, 9))"))
    assert done.stdout == "42\nwent on\n", done.stderr


@pytest.mark.slow
def test_random_cases_touch_only_what_they_hold():
    done = told("", True, True, "-m", "tests.bulk", "--cases", "6", "--seed", "5", "--runtime", "local-2")
    assert "6 cases, 0 failures" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
