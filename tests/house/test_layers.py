"""Claims about the house: how modules open, what they may import, what the page of layers says."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import layers

PATHS = layers.paths()
NAMED = [layers.dotted(path) for path in PATHS]
FORBIDDEN = {"utils", "util", "helpers", "helper", "common", "core", "base", "misc", "manager"}


@pytest.mark.parametrize("path", PATHS, ids=NAMED)
def test_a_module_opens_with_its_idea_and_its_rule(path):
    module = layers.module_at(path)
    assert module.idea, f"{path} has no docstring: its first line is the idea, a noun phrase"
    assert module.idea.endswith((".", ":")), f"{path}: the first line is a whole phrase and ends with a full stop"
    assert module.rule.startswith(("Rule:", "Rule (")), f"{path} does not state its `Rule:`"


@pytest.mark.parametrize("path", PATHS, ids=NAMED)
def test_imports_are_absolute_and_point_down(path):
    order = layers.layer_order()
    level = {name: height for height, names in enumerate(order) for name in names}
    module = layers.module_at(path)
    if module.name == "ebbflow":  # the public names stand outside the layers
        return
    assert module.layer in level, f"{module.layer} has no place in the layers contract of pyproject.toml"
    for there in module.imports:
        if "." in there and there.split(".")[1] in level:
            assert level[there.split(".")[1]] <= level[module.layer], f"{module.name} reaches up to {there}"
    for node in ast.walk(ast.parse(path.read_text())):
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}:{node.lineno} imports relatively"


@pytest.mark.parametrize("names", layers.layer_order(), ids=" ".join)
def test_no_two_modules_of_a_layer_import_each_other(names):
    modules = [layers.module_at(path) for path in PATHS]
    layers.in_reading_order([m for m in modules if m.layer in names])  # raises CycleError with the cycle


def test_inner_packages_say_nothing():
    for path in layers.PACKAGE.rglob("*/__init__.py"):
        if path.parent != layers.PACKAGE and path.parent.name not in ("algorithms", "functions"):
            assert not path.read_text().strip(), f"{path} should be empty: import from the module that defines the name"


def test_files_are_named_by_what_they_hold():
    for folder in ("ebbflow", "tests", "benchmarks", "docs", "examples"):
        for path in (layers.ROOT / folder).rglob("*.py"):
            assert path.stem not in FORBIDDEN, f"{path} is named by its place, not by what it holds"


def test_the_page_of_layers_is_current():
    assert layers.PAGE.exists() and layers.PAGE.read_text() == layers.page(), (
        "docs/layers.md is stale: run `make layers`"
    )


def test_a_stale_page_is_noticed(monkeypatch, tmp_path, capsys):
    stale = tmp_path / "layers.md"
    stale.write_text(layers.page().replace("errors", "terrors", 1))
    monkeypatch.setattr(layers, "PAGE", stale)
    monkeypatch.setattr(sys, "argv", ["layers"])
    assert layers.main() == 1
    assert "make layers" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["layers", "--write"])
    assert layers.main() == 0
    assert stale.read_text() == layers.page()


def test_the_contracts_of_the_import_linter_hold():
    linter = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([str(linter), "--no-cache"], cwd=layers.ROOT, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
