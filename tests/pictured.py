"""The explorer's pictures in the docs, made anew: `python -m tests.pictured`.

Needs playwright and Chromium, as the browser tests do (tests/browsing.py).

Rule: pictures show the programs of docs/explorer.md, so that a reader can make what they see.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import browsing

DOCS = Path(__file__).parent.parent / "docs"
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


def programs() -> dict[str, Any]:
    """The names that the page's programs make, in one file each."""
    names: dict[str, Any] = {}
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", (DOCS / "explorer.md").read_text(), re.DOTALL)):
        exec(compile(block, "reach.py" if number == 0 else f"program{number}.py", "exec"), names)
    return names


def asked_why(tab: Any) -> None:
    browsing.choose(tab, "reduce")
    browsing.story(tab)
    browsing.click(tab, 2, 1)
    tab.click('#collection [aria-label="Why 2"]')
    tab.evaluate("scrollTo(0, 0)")
    tab.mouse.move(0, 0)


def marked(tab: Any) -> None:
    browsing.choose(tab, "reduce")
    browsing.click(tab, 0, 2, shift=True)
    browsing.click(tab, 2, 0)
    tab.mouse.move(0, 0)


def staircase(tab: Any) -> None:
    browsing.choose(tab, "reduce")
    browsing.story(tab)
    browsing.click(tab, 2, 2)
    tab.mouse.move(0, 0)


Picture = tuple[str, str, dict[str, int], Callable[[Any], None], bool]
PICTURES: dict[str, Picture] = {  # page, theme, size, what is done, whether all of it is shown
    "explorer-light": ("page", "light", WIDE, asked_why, True),
    "explorer-dark": ("page", "dark", WIDE, asked_why, True),
    "explorer-phone": ("page", "light", PHONE, asked_why, True),
    "explorer-phone-dark": ("page", "dark", PHONE, marked, False),
    "explorer-bitemporal": ("bitemporal", "light", {"width": 1280, "height": 640}, staircase, False),
    "explorer-figure": ("figure", "light", {"width": 640, "height": 360}, marked, False),
}


def main() -> None:
    names = programs()
    with tempfile.TemporaryDirectory() as place, browsing.running() as browser:
        at = Path(place)
        pages = {
            "page": names["flow"].explore(at / "page.html", names["story"], times=True),
            "figure": names["flow"].explore(at / "figure.html", names["story"], figure=True),
            "bitemporal": names["rates"].explore(at / "bitemporal.html", names["corrections"]),
        }
        for name, (page, scheme, size, act, whole) in PICTURES.items():
            tab = browsing.opened(browser, pages[page].path, viewport=size, color_scheme=scheme)
            act(tab)
            written = DOCS / "pictures" / f"{name}.png"
            tab.screenshot(path=written, full_page=whole, animations="disabled")
            tab.close()
            print(written.name)


if __name__ == "__main__":
    main()
