"""Links of the built site: every one leads to a page, a file or a heading that is there.

    python -m docs.links site

The pages are read as a browser reads them, so that links of the theme, of raw HTML and of the explorer's frames are
followed too. Links to other hosts are counted and not followed.

Rule: a link that leads nowhere is named with the page it stands on, and the command ends with status 1.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.names.add(value)


@cache
def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def target(site: Path, page: Path, link: str) -> Path | None:
    """The file that a link of the page leads to; None for a link to another host."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    if not parts.path:
        return page
    there = site / parts.path.lstrip("/") if parts.path.startswith("/") else page.parent / unquote(parts.path)
    return there / "index.html" if there.is_dir() else there


def broken(site: Path) -> tuple[list[str], int]:
    """The links that lead nowhere, and how many were followed."""
    found, followed = [], 0
    for page in sorted(site.rglob("*.html")):
        for link in read(page).links:
            there = target(site, page, link)
            if there is None:
                continue
            followed += 1
            anchor = unquote(urlsplit(link).fragment)
            is_page = there.suffix == ".html" and there.is_file()
            if not there.is_file() or (
                anchor and is_page and anchor not in read(there.resolve()).names | {"light", "dark"}
            ):
                found.append(f"{page.relative_to(site)}: {link}")
    return found, followed


def main() -> None:
    (place,) = sys.argv[1:] or ["site"]
    site = Path(place)
    assert (site / "index.html").is_file(), f"{site} is not a built site: make docs builds it"
    found, followed = broken(site)
    print(f"{followed:,} links followed, {len(found)} lead nowhere")
    for one in found:
        print(f"  {one}")
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
