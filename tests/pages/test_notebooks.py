"""Claims about the notebooks: they run from top to bottom and show what they store."""

import copy
import json
import subprocess
import sys

import pytest

from tests.pages import notebooks

PATHS = sorted(notebooks.PLACE.glob("*.ipynb"))


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_there_are_three():
    assert [path.stem for path in PATHS] == ["first_steps", "graphs", "two_clocks"]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_cells_give(path):
    notebook = read(path)
    shown = notebooks.executed(notebook, path.name)
    for number, (stored, given) in enumerate(zip(notebooks.stored(notebook), shown, strict=True), start=1):
        assert stored == given, f"cell {number}: run python -m tests.pages.notebooks --write"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_is_one_that_jupyter_opens(path):
    notebook = read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        assert {"cell_type", "id", "metadata", "source"} <= set(cell)
        assert cell["cell_type"] == "markdown" or {"outputs", "execution_count"} <= set(cell)


def test_a_notebook_that_shows_something_else_is_noticed():
    notebook = read(PATHS[0])
    other = copy.deepcopy(notebook)
    notebooks.code_cells(other)[-1]["source"] = ["1 + 1"]
    assert notebooks.executed(other, "other")[-1] != notebooks.stored(notebook)[-1]


def test_a_cell_that_raises_ends_it_with_its_own_line():
    broken = {"cells": [{"cell_type": "code", "source": ["x = 1\n", "x / 0"]}]}
    with pytest.raises(ZeroDivisionError):
        notebooks.executed(broken, "broken")


def test_without_a_word_the_command_writes_nothing():
    done = subprocess.run([sys.executable, "-m", "tests.pages.notebooks"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "--write" in done.stderr
