"""Claims about the examples: short, they run, and the page shows what they print."""

import re
import runpy

import pytest

from tests import parts
from tests.house.layers import ROOT

PAGE = (ROOT / "docs" / "pipeline.md").read_text()
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_three():
    assert [path.stem for path in EXAMPLES] == ["bill_of_materials", "fraud_rings", "spending"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_fits_a_screen(path):
    assert len(path.read_text().splitlines()) <= 60


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_page_shows_what_an_example_prints(spark, path, capsys):
    if "jars" in path.read_text():
        parts.need_connector(spark, "delta")
    runpy.run_path(str(path), run_name="__main__")
    printed = [line.rstrip() for line in capsys.readouterr().out.strip().splitlines()]
    shown = re.search(rf"`examples/{path.name}`.*?```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None, f"docs/pipeline.md does not show {path.name}"
    assert printed == [line.rstrip() for line in shown[1].strip().splitlines()]
