"""The tests are able to fail: planted bugs are noticed; here some of them, by `python -m tests.mutants` all."""

import shutil

import pytest

from tests.mutants.__main__ import COPIED, ROOT, verdict
from tests.mutants.mutants import MUTANTS

SAMPLE = (  # that are noticed within half a minute
    "a change of a window reaches no row before it",
    "peers in front of a changed row are left as they were",
    "a join does not read the last chunk of an index",
    "a line is not gone along where an earlier slice left an entry",
    "a join that was put off is forgotten where nothing else comes",
    "a mean of decimals is cut off, not rounded",
    "a quotient of decimals has a digit too few",
    "copies that an entry cannot hold are kept",
    "the least id of a level is told in any round",
    "ranks are rounded less than their error allows",
    "what is owed is not looked at when it comes due",
    "buffered times are advanced past moments to come",
    "compaction advances past the frontier",
    "rows stay with the worker that made them",
    "a pair meets at the time of its later arrival only",
    "a value that goes takes its neighbour along",
    "distinct keeps what counts zero",
    "an advance that is cut goes past the cut",
    "what joins have to say in the midst of many visits is said twice",
    "entries that are folded one by one are not put in order",
    "a row of an earlier life is found again",
    "rows that found their place are taken and not counted",
    "a block beyond the limit is not written down, and an exception ends the kernel",
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_still_has_its_place(mutant, tmp_path):
    shutil.copytree(ROOT / "ebbflow", tmp_path / "ebbflow", ignore=shutil.ignore_patterns("__pycache__"))
    mutant.apply(tmp_path / "ebbflow")
    compile((tmp_path / "ebbflow" / mutant.file).read_text(), mutant.file, "exec")


def test_a_planted_bug_is_shown_to_the_test_that_notices_it():
    files = {mutant.test.partition("::")[0] for mutant in MUTANTS if mutant.test}
    assert not [file for file in files if not (ROOT / file).exists() or file.split("/")[1] not in COPIED]


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_a_planted_bug_is_caught(name):
    (mutant,) = (mutant for mutant in MUTANTS if mutant.name == name)
    noticed, said = verdict(mutant, cases=600, seed=7)
    assert noticed, said
