"""Planted bugs in what reads queries and streams are noticed: two here, by `python -m tests.mutants.fronts` all."""

import shutil

import pytest

from tests.mutants.durable import ROOT, verdict
from tests.mutants.fronts import PLANTED, QUERIES

NAMED = {"argvalues": PLANTED, "ids": [mutant.name for mutant, _ in PLANTED]}
QUICK = [planted for planted in PLANTED if planted[1] == QUERIES][:2]


@pytest.mark.parametrize(("mutant", "tests"), **NAMED)
def test_a_planted_bug_still_has_its_place(mutant, tests, tmp_path):
    shutil.copytree(ROOT / "ebbflow", tmp_path / "ebbflow", ignore=shutil.ignore_patterns("__pycache__"))
    mutant.apply(tmp_path / "ebbflow")
    compile((tmp_path / "ebbflow" / mutant.file).read_text(), mutant.file, "exec")
    file, _, claim = tests.partition("::")
    assert f"def {claim}" in (ROOT / file).read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "tests"), QUICK, ids=[mutant.name for mutant, _ in QUICK])
def test_a_planted_bug_is_caught(mutant, tests):
    noticed, said = verdict(mutant, tests)
    assert noticed, said
