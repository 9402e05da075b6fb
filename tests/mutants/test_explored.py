"""Planted bugs in the explorer are noticed: here two of them, by `python -m tests.mutants.explored` all."""

import shutil

import pytest

from tests.mutants.durable import ROOT, verdict
from tests.mutants.explored import HERE, PLANTED


@pytest.mark.parametrize(("mutant", "tests"), PLANTED, ids=[mutant.name for mutant, _ in PLANTED])
def test_a_planted_bug_still_has_its_place(mutant, tests, tmp_path):
    shutil.copytree(ROOT / "ebbflow" / HERE, tmp_path / HERE, ignore=shutil.ignore_patterns("__pycache__"))
    mutant.apply(tmp_path)
    if mutant.file.endswith(".py"):
        compile((tmp_path / mutant.file).read_text(), mutant.file, "exec")
    file, _, claim = tests.partition("::")
    assert f"def {claim}" in (ROOT / file).read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "tests"), PLANTED[:3:2], ids=[mutant.name for mutant, _ in PLANTED[:3:2]])
def test_a_planted_bug_is_caught(mutant, tests):
    noticed, said = verdict(mutant, tests)
    assert noticed, said
