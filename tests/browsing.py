"""A real browser for tests and pictures: Chromium, driven by Playwright; and Node.

Rule: on the build machine (CI) a missing browser is a failure that names what is missing; elsewhere it is a reason to
leave a test out.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]


def chromium() -> str | None:
    return os.environ.get("EBBFLOW_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def node() -> str | None:
    """Node, in which the evaluator runs: the system's, or the one that Playwright brings along."""
    found = importlib.util.find_spec("playwright")
    brought = Path(found.origin or "").parent / "driver" / "node" if found else None
    return shutil.which("node") or (str(brought) if brought and brought.exists() else None)


def node_or_skip() -> str:
    found = node()
    if found is None:
        assert not os.environ.get("CI"), "Node is missing: the explorer's evaluator is not tested without it"
        pytest.skip("Node is not installed (apt-get install nodejs): the explorer's evaluator runs in JavaScript")
    return found


def missing() -> str | None:
    """What a browser test needs and this machine does not have."""
    if importlib.util.find_spec("playwright") is None:
        return "the Python package playwright is not installed (it is in the group test of pyproject.toml)"
    if chromium() is None:
        return "Chromium is not installed (Debian: apt-get install chromium; or name it by EBBFLOW_CHROMIUM)"
    return None


@contextmanager
def running() -> Iterator[Any]:
    """A browser without a window."""
    lacks = missing()
    if lacks is not None:
        assert not os.environ.get("CI"), f"the explorer's page cannot be opened: {lacks}"
        pytest.skip(lacks)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


def opened(browser: Any, path: Path | str, **options: Any) -> Any:
    """A tab with a page of the explorer; `tab.wrong` lists what the page complained of."""
    tab = browser.new_page(**options)
    tab.wrong = []
    tab.on("pageerror", lambda error: tab.wrong.append(str(error)))
    tab.on("console", lambda line: tab.wrong.append(line.text) if line.type == "error" else None)
    tab.goto(path.as_uri() if isinstance(path, Path) else path)
    tab.wait_for_selector("#lattice svg")
    return tab


def shown_cells(tab: Any) -> dict[str, str]:
    """What the lattice of the chosen collection says: {time: text of the cell}."""
    cells = "[...document.querySelectorAll('#lattice [role=gridcell]')]"
    return tab.evaluate(f"Object.fromEntries({cells}.map(c => [c.dataset.time, c.textContent]))")


def shown_rows(tab: Any, part: str) -> list[list[str]]:
    """The values and the number of each row; the last cell holds buttons."""
    rows = f"[...document.querySelectorAll('#{part} tbody tr')]"
    return tab.evaluate(f"{rows}.map(r => [...r.cells].slice(0, -1).map(c => c.innerText))")


def spot(tab: Any, *cell: int) -> tuple[float, float]:
    """Where a cell is on the screen, after scrolling to it."""
    tab.evaluate("document.querySelector('#lattice').scrollIntoView({block: 'center'})")
    x, y = tab.evaluate(f"explorer.lattice.spot({list(cell)})")
    return x, y


def click(tab: Any, *cell: int, shift: bool = False) -> None:
    x, y = spot(tab, *cell)
    if shift:
        tab.keyboard.down("Shift")
    tab.mouse.click(x, y)
    if shift:
        tab.keyboard.up("Shift")


def choose(tab: Any, kind: str) -> None:
    """Choose the first node of a kind."""
    tab.evaluate(f"explorer.choose(explorer.data.plan.nodes.findIndex(n => n.kind === '{kind}'))")


def until(tab: Any, holds: str, seconds: float = 20) -> None:
    """Wait for something to be true; Playwright's own way evaluates text in the page, which its policy forbids."""
    end = time.monotonic() + seconds
    while not tab.evaluate(holds):
        assert time.monotonic() < end, f"still not so: {holds}"
        tab.wait_for_timeout(30)


def story(tab: Any) -> list[dict]:
    """The page's own story, once it is computed."""
    until(tab, "explorer.story() !== null")
    return tab.evaluate("explorer.story().events")
