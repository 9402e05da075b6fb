"""The same source without the compiler: small cases run as plain Python give the same answers.

Tests marked `interpreted` are asked again in a process with NUMBA_DISABLE_JIT=1, where nothing is compiled.
"""

import os
import re
import subprocess
import sys

import pytest

from tests import bulk
from tests.house.layers import ROOT

CASES, SEED = 60, 11


@pytest.mark.interpreted
@pytest.mark.parametrize("runtime", ["local-1", "local-2"])
def test_random_cases_are_right_with_the_compiler_and_without(runtime):
    assert bulk.run(range(CASES), SEED, runtime)["cases"] == CASES


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="this already is the interpreted run")
def test_the_marked_tests_pass_without_the_compiler():
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "interpreted", "-p", "no:cacheprovider", "tests"],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=890,
    )
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    passed = re.search(r"(\d+) passed", result.stdout)
    assert passed and int(passed.group(1)) > 0, f"no test is marked `interpreted`:\n{result.stdout[-2000:]}"
