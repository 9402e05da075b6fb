"""The explorer's pictures in the docs, made anew: `python -m tests.pictured`.

Needs playwright and Chromium, as the browser tests do (tests/tools/test_explorer.py).

Rule: pictures show the program of docs/explorer.md, so that a reader can make what they see.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = {"light": ("light", 1280, 800), "dark": ("dark", 1280, 800), "phone": ("light", 390, 1500)}


def main() -> None:
    from playwright.sync_api import sync_playwright  # only who makes the pictures needs it

    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "explorer.md").read_text(), re.DOTALL)
    names: dict = {}
    exec(compile(blocks[0], "reach.py", "exec"), names)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        path = names["flow"].explore(Path(place) / "page.html", names["story"]).path
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("EBBFLOW_CHROMIUM") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        for name, (scheme, width, height) in PICTURES.items():
            tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            tab.goto(path.as_uri())
            tab.evaluate("explorer.choose(explorer.data.plan.nodes.findIndex(n => n.kind === 'feedback'))")
            tab.click('#lattice button[data-time="1,2"]')
            tab.mouse.move(0, 0)
            written = DOCS / "pictures" / f"explorer-{name}.png"
            tab.screenshot(path=written)
            print(written)
        browser.close()


if __name__ == "__main__":
    main()
