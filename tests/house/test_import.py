"""What `import ebbflow` costs, counted in modules: heavy packages wait until a program runs.

Time is measured by the benchmark; a count does not depend on how busy the machine is.
"""

import json
import subprocess
import sys

import pytest

from tests.house.layers import ROOT

HEAVY = {
    "numba", "llvmlite", "pyarrow", "pandas", "pyspark", "sqlglot", "networkx", "scipy", "numpy", "polars", "duckdb",
    "rich", "click", "hypothesis", "pytest", "multiprocessing", "asyncio", "concurrent",
}  # fmt: skip
LISTING = "import sys, json; before = set(sys.modules); {}; print(json.dumps(sorted(set(sys.modules) - before)))"
MOST = 160  # of ours and of the standard library; ours are small, and together a few milliseconds


def imported_by(statement):
    shown = subprocess.run(
        [sys.executable, "-c", LISTING.format(statement)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout.splitlines()[-1])


def test_importing_ebbflow_loads_few_modules():
    loaded = imported_by("import ebbflow")
    assert "ebbflow" in loaded
    assert len(loaded) <= MOST, f"{len(loaded)} modules: {loaded}"


@pytest.mark.parametrize("statement", ["import ebbflow", "import ebbflow.errors, ebbflow.events"])
def test_importing_ebbflow_loads_nothing_heavy(statement):
    assert not {name.partition(".")[0] for name in imported_by(statement)} & HEAVY


def test_importing_ebbflow_loads_only_us_and_the_standard_library():
    foreign = {name.partition(".")[0] for name in imported_by("import ebbflow")} - sys.stdlib_module_names
    assert {name for name in foreign if not name.startswith("_")} == {"ebbflow"}


def test_the_count_would_notice_a_heavy_import():
    assert "numpy" in {name.partition(".")[0] for name in imported_by("import ebbflow, numpy")}


def test_asking_the_command_line_for_help_loads_no_engine():
    loaded = {name.partition(".")[0] for name in imported_by("import ebbflow.tools.cli")}
    assert not loaded & (HEAVY - {"click"})
