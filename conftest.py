"""What all tests share: the programs in README and docs/ are executed, and Hypothesis waits for the compiler.

A fenced `python` block is run, in one namespace per page.  A block marked `output` after it must be exactly what it
printed; lines with `>>>` are checked as doctests.  Blocks in any other language are for reading.

Rule: a page shows only what was printed when the tests last ran.
"""

import contextlib
import io
import os
from collections.abc import Iterator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.example import SybilFailure
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


PAGES = Sybil(
    parsers=[RunParser(), CodeBlockParser("output", compare), SkipParser()],
    patterns=["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/**/*.md"],
)


class Page(pytest.File):
    """A page is one test: its blocks share names, so they stay together when tests run side by side."""

    def collect(self) -> Iterator[pytest.Item]:
        examples = list(PAGES.parse(self.path).examples())
        if examples:
            yield Blocks.from_parent(self, name="blocks", examples=examples)


class Blocks(pytest.Item):
    def __init__(self, *, examples: list[Example], **node: Any) -> None:
        super().__init__(**node)
        self.examples = examples

    def runtest(self) -> None:
        for example in self.examples:
            example.evaluate()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, SybilFailure):
            return str(excinfo.value)  # it names the page and the line
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"the programs of {self.path.name}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spark-all", action="store_true", help="put every claim about meaning to Spark itself as well")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--spark-all"):
        os.environ["EBBFLOW_SPARK_ALL"] = "1"  # read where the claims are listed
    os.environ.setdefault("EBBFLOW_PAGES", "both")  # what the system says was written is compared with all that was


@pytest.fixture(autouse=True, scope="session")
def names_of_examples(doctest_namespace: dict[str, Any]) -> None:
    """Examples in docstrings begin as programs do: `import ebbflow as ebb`, `from ebbflow import col, lit`."""
    import ebbflow as ebb

    doctest_namespace.update(ebb=ebb, col=ebb.col, lit=ebb.lit)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Page | None:
    return Page.from_parent(parent, path=file_path) if PAGES.should_parse(file_path) else None
