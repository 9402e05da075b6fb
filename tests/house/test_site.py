"""Claims about the built site: it builds, its links lead somewhere, it is searched, and its figures are alive."""

import functools
import http.server
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading

import pytest

from docs import figures, links
from tests import browsing
from tests.house.layers import ROOT

pytestmark = pytest.mark.slow
QUIET = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if importlib.util.find_spec("zensical") is None:
        assert not os.environ.get("CI"), "zensical is missing: it is in the group test of pyproject.toml"
        pytest.skip("zensical is not installed (it is in the groups test and docs of pyproject.toml)")
    place = tmp_path_factory.mktemp("built")
    shutil.copytree(ROOT / "docs", place / "docs")  # follows the link to the charts
    shutil.copy(ROOT / "mkdocs.yml", place)
    done = subprocess.run([sys.executable, "-m", "zensical", "build"], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0 and "No issues found" in done.stdout + done.stderr, done.stdout + done.stderr
    written = place / "site"
    (written / "explore").mkdir()
    for figure in [*figures.figures(), *figures.questions()]:
        for path, parts in ((f"{figure.name}.html", False), (f"{figure.name}-figure.html", ("lattice", "rows"))):
            figure.explore(written / "explore" / path, parts)
    return written


@pytest.fixture(scope="module")
def address(site):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QUIET, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with browsing.running() as browser:
        yield browser


def test_every_link_of_the_site_leads_somewhere(site):
    found, followed = links.broken(site)
    assert found == [] and followed > 3000


def test_a_link_of_the_site_that_leads_nowhere_is_noticed(tmp_path):
    (tmp_path / "index.html").write_text(
        '<a href="no.html"></a><a href="#no"></a><a href="#yes" id="yes"></a>'
        '<iframe src="gone/"></iframe><p>src="x"</p>'
    )
    assert links.broken(tmp_path) == (["index.html: no.html", "index.html: #no", "index.html: gone/"], 4)


def test_the_site_asks_no_other_server_for_anything(site):
    for page in site.rglob("*.html"):
        asked = re.findall(r'<(?:link|script|img|iframe)[^>]+(?:href|src)="(https?://[^"]+)"', page.read_text())
        assert not asked, (page, asked)


def test_the_site_is_searched(browser, address):
    tab = browser.new_page()
    tab.goto(address)
    box = tab.get_by_role("combobox", name="Search")
    for _ in range(20):  # until the page's script listens
        tab.keyboard.press("Control+k")
        tab.wait_for_timeout(300)
        if box.is_visible():
            break
    box.fill("compaction")  # no keys: those that come before the box is there turn the page
    tab.get_by_text("Constraint 5: state that does not grow for ever").wait_for(timeout=20_000)  # a heading of why.md
    tab.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_figures_of_why_are_explorer_pages_in_the_reader_s_theme(browser, address, scheme):
    tab = browser.new_page(color_scheme=scheme)
    wrong = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.goto(f"{address}/why/")
    frames = tab.locator("iframe.explorer")
    assert frames.count() == len(figures.figures())
    for number, figure in enumerate(figures.figures()):
        frames.nth(number).scroll_into_view_if_needed()
        inside = frames.nth(number).content_frame
        inside.locator("#lattice svg").wait_for()
        assert figure.name in frames.nth(number).get_attribute("src")
        assert inside.locator("html").get_attribute("data-theme") == scheme
    assert not wrong, wrong
    tab.close()


@pytest.mark.parametrize("figure", [*figures.figures(), *figures.questions()], ids=lambda figure: figure.name)
def test_the_evaluator_of_a_figure_s_page_gives_what_the_definition_gives(browser, site, figure):
    tab = browsing.opened(browser, site / "explore" / f"{figure.name}.html")
    wanted: dict[str, list[int]] = {}
    for _, time, diff in figures.changes(figure.show, figure.history, rounds=8):
        come, go = wanted.setdefault(",".join(map(str, time)), [0, 0])
        wanted[",".join(map(str, time))] = [come + max(diff, 0), go - min(diff, 0)]
    texts = {t: {" ".join([f"+{come}"] * bool(come) + [f"−{go}"] * bool(go)), f"±{come + go}"}
             for t, (come, go) in wanted.items()}  # fmt: skip
    shown = {time: text for time, text in browsing.shown_cells(tab).items() if text}
    assert shown.keys() == texts.keys() and all(shown[time] in texts[time] for time in shown)
    assert not tab.wrong
    tab.close()
