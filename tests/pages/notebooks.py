"""Notebooks, executed without Jupyter: `python -m tests.pages.notebooks --write` stores what their cells show.

Cells run in order in one namespace, as a kernel runs them: what is printed is a stream, what the last expression gives
is shown by its `_repr_html_` and its repr.  Our notebooks use no more, so nothing has to be installed to test them.

Rule: a notebook shows only what its cells gave when they last ran.  Plots and explorer pages are shown by whoever runs
it, and stored only as text.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import sys
from pathlib import Path
from typing import Any

PLACE = Path(__file__).parents[2] / "docs" / "notebooks"
Output = dict[str, Any]


def executed(notebook: dict[str, Any], name: str) -> list[list[Output]]:
    """What every code cell shows; a cell that raises ends it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(code_cells(notebook), start=1):
        shown.append(_run("".join(cell["source"]), names, f"{name}[{number}]", number))
    return shown


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _run(source: str, names: dict[str, Any], file: str, number: int) -> list[Output]:
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # refusals show the line
    tree = ast.parse(source, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, file, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), file, "eval"), names)
    outputs: list[Output] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        html = getattr(value, "_repr_html_", lambda: "")()
        kind = "image/svg+xml" if html.startswith("<svg") else "text/html"  # who shows a notebook unexecuted knows both
        data = {kind: _lines(html)} if html and not html.startswith("<iframe") else {}
        text = repr(value) if "/" not in repr(value) else f"<{type(value).__name__}>"  # no paths of this machine
        data["text/plain"] = _lines(text)
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def stored(notebook: dict[str, Any]) -> list[list[Output]]:
    return [cell["outputs"] for cell in code_cells(notebook)]


def main() -> None:
    if sys.argv[1:] != ["--write"]:
        raise SystemExit("python -m tests.pages.notebooks --write")
    for path in sorted(PLACE.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        shown = executed(notebook, path.name)
        for number, (cell, outputs) in enumerate(zip(code_cells(notebook), shown, strict=True), start=1):
            cell["outputs"], cell["execution_count"] = outputs, number
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(path.relative_to(PLACE.parents[1]))


if __name__ == "__main__":
    main()
