"""The house in figures: how large, how tangled, how much of it is checked.

    python -m tests.house.figures                 the figures of this tree
    python -m tests.house.figures BEFORE          those of another tree beside them
    python -m tests.house.figures --write         store them: tests/house/figures.json

Rule: a figure is computed from the sources alone, so that any two trees can be compared; of those in `LESS` a smaller
one is better, and a test compares them with the stored ones.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

from tests.house import glossary
from tests.house.layers import ROOT

STORED = Path(__file__).with_name("figures.json")
LONG, MANY, LARGE = 60, 8, 400
LESS = (
    "modules over 400 lines", "functions over 60 lines", "functions with over 8 parameters", "constants defined twice",
    "mutual folder imports",
    "imports inside functions", "modules that mypy skips", "modules that nothing imports", "dead functions",
    "terms not in the glossary",
)  # fmt: skip
Function = ast.FunctionDef | ast.AsyncFunctionDef


class House:
    """The sources of a tree, parsed once."""

    def __init__(self, tree: Path):
        self.tree = tree
        package = tree / "ebbflow"
        self.texts = {path.relative_to(tree): path.read_text() for path in sorted(package.rglob("*.py"))}
        self.texts = {path: text for path, text in self.texts.items() if text.strip()}
        self.parsed = {path: ast.parse(text) for path, text in self.texts.items()}
        self.functions = [
            (path, node)
            for path, tree_ in self.parsed.items()
            for node in ast.walk(tree_)
            if isinstance(node, Function)
        ]


def figures(tree: Path) -> dict[str, int | str]:
    house = House(tree)
    lines = {path: text.count("\n") for path, text in house.texts.items()}
    largest = max(lines, key=lambda path: lines[path])
    return {
        "modules": len(lines),
        "lines": sum(lines.values()),
        "lines of the median module": int(statistics.median(lines.values())),
        "lines of the largest module": lines[largest],
        "modules over 400 lines": len(large_modules(house)),
        "functions over 60 lines": len(long_functions(house)),
        "functions with over 8 parameters": len(wide_functions(house)),
        "constants defined twice": len(repeated_constants(house)),
        "mutual folder imports": len(mutual_folders(house)),
        "imports inside functions": len(inner_imports(house)),
        "modules that mypy skips": len(skipped_by_mypy(house)),
        "modules that nothing imports": len(dead_modules(house)),
        "dead functions": len(dead_functions(house)),
        "terms not in the glossary": len(glossary.missing(tree)),
    }


def large_modules(house: House) -> list[str]:
    """Modules over 400 lines that have no class with a reason beside it: `class Session:  # long: why`."""
    is_reasoned = lambda text: re.search(r"^class .*  # long: ", text, re.MULTILINE)
    return [str(path) for path, text in house.texts.items() if text.count("\n") > LARGE and not is_reasoned(text)]


def long_functions(house: House) -> list[str]:
    """Functions over 60 lines without a reason beside them: `def walk(  # long: why`."""
    is_long = lambda f: (f.end_lineno or f.lineno) - f.lineno + 1 > LONG
    return [f"{p}:{f.name}" for p, f in house.functions if is_long(f) and not has_reason(house, p, f, "long")]


def has_reason(house: House, path: Path, f: Function, why: str) -> bool:
    """`# long: why` on the line of its name; `# wide, long: why` is a reason for both."""
    said = re.search(r"# ([a-z, ]+): \w", house.texts[path].split("\n")[f.lineno - 1])
    return said is not None and why in said[1].split(", ")


def wide_functions(house: House) -> list[str]:
    """Functions with over 8 parameters without a reason beside them: `def walk(  # wide: why`."""
    found = []
    for path, f in house.functions:
        names = [a.arg for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)]
        is_wide = len(names) - (names[:1] in (["self"], ["cls"])) > MANY
        if is_wide and not has_reason(house, path, f, "wide"):
            found.append(f"{path}:{f.name}")
    return found


def repeated_constants(house: House) -> dict[str, list[str]]:
    """Names in capitals that more than one module defines."""
    homes: dict[str, set[str]] = defaultdict(set)
    for path, tree in house.parsed.items():
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in filter(None, targets):
                for name in ast.walk(target):
                    if isinstance(name, ast.Name) and name.id.isupper() and len(name.id) > 1:
                        homes[name.id].add(str(path))
    return {name: sorted(at) for name, at in homes.items() if len(at) > 1}


def imported(node: ast.AST) -> list[str]:
    """Modules of ours that an import statement names, and what may be modules."""
    if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ebbflow":
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name.split(".")[0] == "ebbflow"]
    return []


def mutual_folders(house: House) -> set[tuple[str, str]]:
    """Pairs of folders, neither inside the other, with modules that import each other's."""
    known = {".".join(path.with_suffix("").parts): str(path.parent) for path in house.texts}
    reads: dict[str, set[str]] = defaultdict(set)
    for path, tree in house.parsed.items():
        for node in ast.walk(tree):
            for name in imported(node):
                if name in known and known[name] != str(path.parent):
                    reads[str(path.parent)].add(known[name])
    nested = lambda a, b: a.startswith(b + "/") or b.startswith(a + "/")
    return {(a, b) for a in reads for b in reads[a] if a < b and a in reads.get(b, ()) and not nested(a, b)}


DEAR = {  # what a function may import for itself, and why the module does not
    **dict.fromkeys(("pyspark", "sqlglot", "pandas", "polars", "matplotlib", "rich", "click"), "not everybody has it"),
    **dict.fromkeys(
        ("numpy", "pyarrow", "numba", "llvmlite"), "takes long to load, and `import ebbflow` does not wait"
    ),
    **dict.fromkeys(
        ("zoneinfo", "difflib", "importlib.resources", "concurrent"), "takes long to load, and is needed seldom"
    ),
    "kernels": "are linked, or compiled all together, when a program first runs",
}


def inner_imports(house: House) -> list[str]:
    """Imports inside functions that bring in nothing of `DEAR` which their module would not have anyway."""
    names = {".".join(path.with_suffix("").parts): path for path in house.texts}
    reads = {path: _at_once(tree.body) for path, tree in house.parsed.items()}
    has_kernels = {path for path, text in house.texts.items() if "\n@kernel\n" in text or "\n@inline\n" in text}

    def brought(start: set[str]) -> set[str]:
        """What comes with these modules, of which ours are followed."""
        seen, found, left = set(), set(), list(start)
        while left:
            name = left.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in names:
                left += reads[names[name]]
                found |= {"kernels"} if names[name] in has_kernels else set()
            elif not name.startswith("ebbflow"):
                found |= {dear for dear in DEAR if name == dear or name.startswith(dear + ".")}
        return found

    inside = set()
    for path, f in house.functions:
        for node in ast.walk(f):
            if isinstance(node, ast.Import | ast.ImportFrom) and brought(_named(node)) <= brought(reads[path]):
                inside.add(f"{path}:{node.lineno}")
    return sorted(inside)


def _named(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The modules that an import names, and what may be modules."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    return {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}


def _at_once(body: list[ast.stmt]) -> set[str]:
    """What is imported when a module is, not when a function is called or a type checker looks."""
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= _named(node)
        elif isinstance(node, ast.If | ast.Try) and "TYPE_CHECKING" not in ast.dump(getattr(node, "test", node)):
            found |= _at_once(node.body)
    return found


def skipped_by_mypy(house: House) -> list[str]:
    settings = tomllib.loads((house.tree / "pyproject.toml").read_text())["tool"]["mypy"]
    patterns = [p for o in settings["overrides"] if o.get("ignore_errors") for p in o["module"]]
    names = [".".join(path.with_suffix("").parts) for path in house.texts]
    fits = lambda name, p: name == p or (p.endswith(".*") and name.startswith(p[:-1]))
    return [name for name in names if any(fits(name, p) for p in patterns)]


PLAIN = {"kernel", "inline", "cache", "lru_cache", "contextmanager", "dataclass", "overload", "total_ordering"}
PUBLIC = re.compile(r"^ebbflow/(functions\.py|frontend/functions/|algorithms/|__init__|__main__)")


FROM_OUTSIDE = {  # what the package offers to others and does not use itself
    "ebbflow/events.py:listening": "a context for listeners: tests, the explorer, users",
    "ebbflow/events.py:Ring": "a listener that keeps the last events",
    "ebbflow/native/kernel.py:twin": "the Python function of a kernel, which tests compare it with",
    "ebbflow/runtime/oracle/runtime.py:OracleRuntime": "the runtime that tests judge the others by",
    "ebbflow/runtime/spark/daemon.py": "named in the settings of a Spark session",
    "ebbflow/runtime/oracle/runtime.py": "imported by tests",
    "ebbflow/pipeline/data_source.py": "imported by pyspark_ebbflow, by which Spark finds it",
}
ENTRANCES = re.compile(r"^ebbflow/(functions\.py|algorithms/__init__\.py|__init__\.py|__main__\.py|tools/jars\.py)$")


def dead_modules(house: House) -> list[str]:
    """Modules that no other one imports or names, and that are no entrance."""
    names = {path: ".".join(path.with_suffix("").parts) for path in house.texts}
    read = {name for tree in house.parsed.values() for node in ast.walk(tree) for name in imported(node)}
    named = "\n".join(house.texts.values())
    return [
        str(path)
        for path, name in names.items()
        if name not in read
        and not re.search(rf'"{re.escape(name)}[".]', named)  # loaded by name
        and not ENTRANCES.match(str(path))
        and str(path) not in FROM_OUTSIDE
    ]


def dead_functions(house: House) -> list[str]:
    """Functions and classes of a module that nothing in the package uses: no code but their own, and no text in code.

    What is public, and what a decorator of its own registers (a command, a rule), is used from elsewhere.
    """
    uses: Counter[str] = sum(map(used_by, house.parsed.values()), Counter())
    found = []
    for path, tree in house.parsed.items():
        if PUBLIC.match(str(path)):
            continue
        for node in tree.body:
            if isinstance(node, Function | ast.ClassDef):
                marks = {getattr(d, "id", getattr(getattr(d, "func", None), "id", "")) for d in node.decorator_list}
                elsewhere = uses[node.name] - used_by(node)[node.name]
                if not elsewhere and marks <= PLAIN and not node.name.startswith("__"):
                    found.append(f"{path}:{node.name}")
    return [one for one in found if one not in FROM_OUTSIDE]


def used_by(tree: ast.AST) -> Counter[str]:
    """The names that code uses, and the words of its texts, docstrings apart; an import alone uses nothing."""
    found: Counter[str] = Counter()
    todo = [tree]
    while todo:
        node = todo.pop()
        body = getattr(node, "body", None)
        for child in ast.iter_child_nodes(node):
            is_first = isinstance(body, list) and body and child is body[0]
            if not (is_first and isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
                todo.append(child)
        if isinstance(node, ast.Name | ast.Attribute):
            found[node.id if isinstance(node, ast.Name) else node.attr] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(re.findall(r"\w+", node.value))
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.house.figures", description="The house in figures.")
    parser.add_argument("before", nargs="?", type=Path, help="another tree, to compare with")
    parser.add_argument("--write", action="store_true", help="store the figures that a test compares with")
    parser.add_argument("--which", action="store_true", help="name what was counted")
    asked = parser.parse_args(arguments)
    now = figures(ROOT)
    before = figures(asked.before) if asked.before else {}
    for name, value in now.items():
        print(f"{name:34}" + (f"{before[name]:>9}" if before else "") + f"{value:>9}")
    if asked.which:
        house = House(ROOT)
        for counted in (
            large_modules,
            long_functions,
            wide_functions,
            repeated_constants,
            mutual_folders,
            inner_imports,
            dead_modules,
            dead_functions,
        ):
            print(f"\n{counted.__name__}:", *sorted(map(str, counted(house))), sep="\n  ")
    if asked.write:
        STORED.write_text(json.dumps({name: now[name] for name in LESS}, indent=4) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
