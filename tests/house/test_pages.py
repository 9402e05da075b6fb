"""Claims about the runner of the pages: it executes what it should and would notice a page that lies."""

import subprocess
import sys

import pytest

from tests.house.layers import ROOT


def judged(tmp_path, page):
    """What pytest says about a page, with the same conftest as README and docs/."""
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    (tmp_path / "README.md").write_text(page)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "README.md"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)


def test_a_page_that_tells_the_truth_passes(tmp_path):
    result = judged(tmp_path, "```python\nx = 2\nprint(x)\n```\n\n```output\n2\n```\n\n```python\n>>> x + 1\n3\n```\n")
    assert result.returncode == 0, result.stdout
    assert "1 passed" in result.stdout


@pytest.mark.parametrize(
    "page",
    [
        "```python\nprint(2)\n```\n\n```output\n3\n```\n",
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nraise ValueError\n```\n",
        "```output\nnothing printed this\n```\n",
        "```python\nprint(2)\n```\n\n```output\n2\n```\n\n```python\nassert False\n```\n",
    ],
    ids=["other output", "other doctest", "raises", "no program", "wrong at its end"],
)
def test_a_page_that_does_not_is_caught(tmp_path, page):
    result = judged(tmp_path, page)
    assert result.returncode == 1, result.stdout
    assert "1 failed" in result.stdout


def test_blocks_in_other_languages_are_for_reading(tmp_path):
    assert "no tests ran" in judged(tmp_path, "```sh\nexit 1\n```\n").stdout
