"""Planted bugs of the planner and the frontend are noticed: a third of them here, all by `tests.mutants.public`."""

import shutil

import pytest

from tests.mutants.__main__ import ROOT
from tests.mutants.public import PLANTED, verdict


@pytest.mark.parametrize("mutant", PLANTED, ids=lambda mutant: mutant.name)
def test_a_planted_bug_still_has_its_place(mutant, tmp_path):
    shutil.copytree(ROOT / "ebbflow", tmp_path / "ebbflow", ignore=shutil.ignore_patterns("__pycache__"))
    mutant.apply(tmp_path / "ebbflow")
    compile((tmp_path / "ebbflow" / mutant.file).read_text(), mutant.file, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("mutant", PLANTED[::3], ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_caught(mutant):
    noticed, said = verdict(mutant, cases=1500, seed=17)
    assert noticed, said
