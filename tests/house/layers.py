"""docs/layers.md, written from the modules themselves.

Each module opens with its idea and its rule; this gathers those lines in reading order: layers from the ground up (the
import-linter contract in pyproject.toml is the one list of them), inside a layer each module after those it imports.

Rule: the page holds nothing that a module's own text does not say, so it can be thrown away and written anew.

    python -m tests.house.layers --write
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ebbflow"
PAGE = ROOT / "docs" / "layers.md"

OPENING = """\
# The layers

Read it as a book: a module imports only what stands above it on this page. The page is written by `make layers` from
the first lines of the modules; `make test` fails when it is stale.
"""


@dataclass(frozen=True)
class Module:
    name: str  # dotted, as imported
    path: Path
    idea: str  # the first line of the docstring
    rule: str  # the paragraph that begins with "Rule"
    imports: frozenset[str]  # modules of ours it imports, dotted

    @property
    def layer(self) -> str:
        return self.name.split(".")[1] if "." in self.name else ""


def layer_order() -> list[list[str]]:
    """The layers of the contract, lowest first; names on one level stand together."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = next(c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    return [re.findall(r"\w+", level)[::-1] for level in reversed(contract["layers"])]


def paths() -> list[Path]:
    """Every module that has something in it; inner __init__.py are empty."""
    return sorted(path for path in PACKAGE.rglob("*.py") if path.read_text().strip())


@cache
def module_at(path: Path) -> Module:
    tree = ast.parse(path.read_text(), str(path))
    text = ast.get_docstring(tree) or ""
    rule = re.search(r"^Rule\b.*?(?=\n\s*\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return Module(
        name=dotted(path),
        path=path,
        idea=text.partition("\n")[0].strip(),
        rule=" ".join(rule.group().split()) if rule else "",
        imports=frozenset(imported_by(tree)) - {dotted(path)},
    )


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_by(tree: ast.Module) -> set[str]:
    """Our modules named by import statements anywhere in the file."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "ebbflow"}


def in_reading_order(modules: list[Module]) -> list[Module]:
    """Each after those it imports, otherwise by name.  Raises CycleError where two modules import each other."""
    known = {module.name: module for module in modules}
    sorter = TopologicalSorter({m.name: sorted(m.imports & known.keys()) for m in modules})
    sorter.prepare()
    order: list[Module] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order += [known[name] for name in ready]
        sorter.done(*ready)
    return order


def page() -> str:
    modules = [module_at(path) for path in paths()]
    parts = [OPENING]
    for level in layer_order():
        for layer in level:
            inside = in_reading_order([m for m in modules if m.layer == layer])
            if not inside:
                continue
            parts.append(f"\n## {layer.replace('__main__', '`__main__`')}\n")
            for module in inside:
                parts.append(f"- `{module.name}`: {module.idea}")
                parts.append(f"  *{module.rule}*" if module.rule else "  *(no rule is written)*")
    return "\n".join(parts) + "\n"


def main() -> int:
    ask = argparse.ArgumentParser(description="docs/layers.md from the first lines of the modules")
    ask.add_argument("--write", action="store_true", help="write the page (otherwise only say whether it is current)")
    ask.add_argument("--check", action="store_true", help="the default: exit 1 when the page is stale")
    if ask.parse_args().write:
        PAGE.write_text(page())
        return 0
    if not PAGE.exists() or PAGE.read_text() != page():
        print("docs/layers.md is stale: run `make layers`.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
