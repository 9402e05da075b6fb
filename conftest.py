"""What all tests share: the programs in README and docs/ are executed, and Hypothesis waits for the compiler.

A fenced `python` block is run, in one namespace per page.  A block marked `output` after it must be exactly what it
printed; lines with `>>>` are checked as doctests.  Blocks in any other language are for reading.

Rule: a page shows only what was printed when the tests last ran.
"""

import contextlib
import io
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE

import hypothesis
import pytest
from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

hypothesis.settings.register_profile("house", deadline=None, print_blob=True)
hypothesis.settings.load_profile("house")

PRINTED = "what the last block printed"


class Run(PythonEvaluator):
    """Executes a block and remembers what it printed."""

    def __call__(self, example: Example) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            super().__call__(example)
        example.namespace[PRINTED] = printed.getvalue()


def compare(example: Example) -> str | None:
    def plain(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())

    assert PRINTED in example.namespace, "an output block follows the block that printed it"
    shown, printed = plain(str(example.parsed)), plain(example.namespace[PRINTED])
    if shown == printed:
        return None
    return f"the page shows:\n{shown}\n\nthe program printed:\n{printed}\n"


class RunParser(PythonCodeBlockParser):
    def __init__(self) -> None:
        super().__init__(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)
        self.codeblock_parser._evaluator = Run()


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The blocks of a page share names, so where tests run side by side a page stays with one worker."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


pytest_collect_file = Sybil(
    parsers=[RunParser(), CodeBlockParser("output", compare), SkipParser()],
    patterns=["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/**/*.md"],
).pytest()
