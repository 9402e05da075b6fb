"""The terms of module docstrings, compared with docs/glossary.md.

A term is what a module's first line introduces before its colon (`Segment: the entries of one key ...`), and whatever a
module docstring puts between asterisks (*rank*).  Both must be entries of the glossary, in the singular or as written.

Rule: a term that a module introduces has one entry, and an entry has one meaning.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.house.layers import ROOT

LONGEST = 3  # words of a head; a longer one is a sentence and introduces nothing
ARTICLES = ("a ", "an ", "the ")


def entries(page: str) -> list[str]:
    """The terms that a glossary defines, as written, in its order: `**a, b**` at the start of a line, then `: ...`."""
    heads = re.findall(r"^\*\*(.+?)\*\*\n: ", page, re.MULTILINE)
    return [term.strip().lower() for head in heads for term in re.sub(r" \(.*?\)", "", head).split(",")]


def retired(page: str) -> list[str]:
    """The words that the glossary's last table says are not used any more."""
    _, _, table = page.partition("## Words that are not used")
    return [word.strip() for row in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)[2:] for word in row.split(",")]


def introduced_by(docstring: str) -> set[str]:
    """The terms of one module docstring, in lower case."""
    first, _, _ = docstring.partition("\n")
    head, colon, _ = first.partition(":")
    found = {head} if colon and len(head.split()) <= LONGEST and not set("`'") & set(head) else set()
    prose = re.sub(r"`[^`]*`|^    .*$", "", docstring, flags=re.MULTILINE)  # code has asterisks of its own
    found |= set(re.findall(r"(?<![\w*])\*([a-z][a-z -]*[a-z])\*(?![\w*])", prose))
    return {without_article(term.strip().lower()) for term in found}


def without_article(term: str) -> str:
    return next((term.removeprefix(article) for article in ARTICLES if term.startswith(article)), term)


def singular(term: str) -> str:
    for ending, one in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("xes", "x"), ("s", "")):
        if term.endswith(ending) and not term.endswith("ss"):
            return term.removesuffix(ending) + one
    return term


def introduced(package: Path) -> dict[str, list[str]]:
    """Every term of the package's module docstrings, with the modules that introduce it."""
    found: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        for term in introduced_by(ast.get_docstring(ast.parse(path.read_text())) or ""):
            found.setdefault(term, []).append(path.relative_to(package).as_posix())
    return found


def missing(tree: Path = ROOT) -> dict[str, list[str]]:
    """Terms without an entry, with the modules that introduce them."""
    known = set(entries((tree / "docs" / "glossary.md").read_text()))
    return {term: at for term, at in introduced(tree / "ebbflow").items() if not {term, singular(term)} & known}
