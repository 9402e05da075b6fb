"""The tests are able to fail: planted bugs are noticed; here a quarter of them, by `python -m tests.mutants` all."""

import shutil

import pytest

from tests.mutants.__main__ import ROOT, verdict
from tests.mutants.mutants import MUTANTS


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_still_has_its_place(mutant, tmp_path):
    shutil.copytree(ROOT / "ebbflow", tmp_path / "ebbflow", ignore=shutil.ignore_patterns("__pycache__"))
    mutant.apply(tmp_path / "ebbflow")
    compile((tmp_path / "ebbflow" / mutant.file).read_text(), mutant.file, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS[::4], ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_caught(mutant):
    noticed, said = verdict(mutant, cases=600, seed=7)
    assert noticed, said
