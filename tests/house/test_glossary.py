"""Claims about words: the glossary has what module docstrings introduce, once each, and nothing that is not used."""

import ast
import re

import pytest

from tests.house import glossary
from tests.house.layers import PACKAGE, ROOT

PAGE = (ROOT / "docs" / "glossary.md").read_text()
ENTRIES = glossary.entries(PAGE)


def test_every_term_of_a_module_docstring_is_in_the_glossary():
    lacking = glossary.missing()
    assert not lacking, f"docs/glossary.md has no entry for: {lacking}"


def test_a_term_has_one_entry():
    assert sorted(ENTRIES) == sorted(set(ENTRIES))


@pytest.mark.parametrize("term", ENTRIES)
def test_every_entry_is_used_in_the_package(term):
    words = r"\s+".join(map(re.escape, term.split()))
    used = re.compile(rf"(?i)\b{words}(e?s|ed|ing)?\b|\b{words[:-1]}ies\b")
    assert any(used.search(path.read_text()) for path in PACKAGE.rglob("*.py")), f"nothing in ebbflow/ uses {term!r}"


@pytest.mark.parametrize("word", glossary.retired(PAGE))
def test_a_word_that_was_given_up_names_nothing(word):
    name = word.replace(" ", "_")
    for path in PACKAGE.rglob("*.py"):
        assert path.stem != name, f"{path} is named by a word that docs/glossary.md says is not used"
        for node in ast.parse(path.read_text()).body:
            assert getattr(node, "name", "").lower() != name, f"{path}:{node.lineno} is named {node.name}"


@pytest.mark.parametrize(
    ("docstring", "terms"),
    [
        ("Segment: the entries of one key.\n\nAn entry has a *rank*, and `*args` is code.", {"segment", "rank"}),
        ("The ledger: which steps count.", {"ledger"}),
        ("Where state lies on disk, which is a long sentence: so it introduces nothing.", set()),
        ("`ebbflow check DIR`: a command.", set()),
        ("A product.\n\n    a*B + (A + a)*b", set()),
    ],
)
def test_terms_are_found_where_they_are_marked(docstring, terms):
    assert glossary.introduced_by(docstring) == terms


def test_an_unknown_term_is_noticed(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "glossary.md").write_text("**batch**\n: An immutable piece of a trace.\n")
    (tmp_path / "ebbflow").mkdir()
    (tmp_path / "ebbflow" / "batch.py").write_text('"""Batches: pieces of a *trace*."""\n')
    assert glossary.missing(tmp_path) == {"trace": ["batch.py"]}
