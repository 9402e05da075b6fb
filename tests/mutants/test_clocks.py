"""Planted bugs in what reads clocks are noticed: here two of them, by `python -m tests.mutants.clocks` all."""

import shutil

import pytest

from tests.mutants.clocks import INTERPRETED, PLANTED
from tests.mutants.durable import ROOT, verdict

NAMED = {"argvalues": PLANTED, "ids": [mutant.name for mutant, _ in PLANTED]}


@pytest.mark.parametrize(("mutant", "tests"), **NAMED)
def test_a_planted_bug_still_has_its_place(mutant, tests, tmp_path):
    shutil.copytree(ROOT / "ebbflow", tmp_path / "ebbflow", ignore=shutil.ignore_patterns("__pycache__"))
    mutant.apply(tmp_path / "ebbflow")
    compile((tmp_path / "ebbflow" / mutant.file).read_text(), mutant.file, "exec")
    assert (ROOT / tests).is_file()


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "tests"), PLANTED[::8], ids=[mutant.name for mutant, _ in PLANTED[::8]])
def test_a_planted_bug_is_caught(mutant, tests):
    noticed, said = verdict(mutant, tests, INTERPRETED)
    assert noticed, said
