"""The explorer's page: what it holds, what was recorded for it, and how it behaves in a browser."""

import json
import math
import os
import re
import shutil
import subprocess
from datetime import date, datetime
from decimal import Decimal
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner

import ebbflow as ebb
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.plan_json import functions_of
from ebbflow.errors import DiskRefused, PlanError
from ebbflow.frontend.collection import Collection
from ebbflow.runtime.oracle import Histories, Meaning
from ebbflow.tools.cli import main
from ebbflow.tools.explorer import page, recording
from tests.explored import Node, plain
from tests.meaning.cases import make_case
from tests.meaning.runtimes import encoded

PROGRAM = """
import ebbflow as ebb

flow = ebb.Dataflow()
edges = flow.input("edges", "src long, dst long")
roots = flow.input("roots", "node long")


def further(reached):
    return reached.rename({"node": "src"}).join(edges, on="src").select(node="dst").union(roots).distinct()


flow.output("reach", roots.iterate(further))
with flow.run() as live:
    live.insert("roots", [(1,)])
    live.insert("edges", [(1, 2), (2, 3), (3, 4), (4, 2)])
    live.advance_to(1)
    live.delete("edges", [(2, 3)])
    live.advance_to(2)
    live.insert("edges", [(1, 4)])
    live.advance_to(3)
"""


def reach():
    names: dict = {}
    exec(PROGRAM.split("with flow.run()")[0], names)
    return names["flow"]


def story(live):
    live.insert("roots", [(1,)])
    live.insert("edges", [(1, 2), (2, 3)])
    live.advance_to(1)
    live.delete("edges", [(2, 3)])
    live.insert("edges", [(2, 9)], time=4)
    live.advance_to(2)


# ---- what is recorded -----------------------------------------------------------------------


def test_a_story_is_recorded_as_it_was_given():
    found = recording.recorded(reach(), story, {})
    to_come = ((2, 9), (4,), 1)
    assert sorted(found.changes["edges"]) == [((1, 2), (0,), 1), ((2, 3), (0,), 1), ((2, 3), (1,), -1), to_come]
    assert found.changes["roots"] == [((1,), (0,), 1)]
    assert found.frontiers == {"edges": ((2,),), "roots": ((2,),)} and not any(found.dropped.values())


def test_rows_are_there_from_the_first_time_on():
    found = recording.recorded(reach(), None, {"edges": [(1, 2)]})
    assert found.changes == {"edges": [((1, 2), (0,), 1)], "roots": []}
    assert found.frontiers == {"edges": (), "roots": ()}


def test_a_recording_is_bounded_and_says_what_it_left_out(monkeypatch):
    monkeypatch.setattr(recording, "KEPT", 3)
    found = recording.recorded(reach(), None, {"edges": [(i, i + 1) for i in range(10)]})
    assert len(found.changes["edges"]) == 3 and found.dropped == {"edges": 7, "roots": 0}
    assert page.content(found)["dropped"]["edges"] == 7


def test_a_step_that_is_refused_leaves_no_note():
    flow = ebb.Dataflow()
    flow.output("sum", flow.input("x", "a long").group_by().agg(s=ebb.sum("a")))
    found = recording.Recording(flow.graph)
    with ebb.Session(flow, runtime=found.runtime) as live:
        live.insert("x", [(2**62,), (2**62 + 1,)])
        with pytest.raises(ebb.EbbflowError):
            live.advance_to(1)
        live.discard()
        live.insert("x", [(5,)])
        live.advance_to(1)
        assert live.snapshot("sum").rows() == [(5, 1)]
    assert found.changes["x"] == [((5,), (0,), 1)]


def test_rows_replaced_by_key_are_recorded_as_changes():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("x", "id long, name string", key="id"))

    def replacing(live):
        live.upsert("x", [(1, "a")])
        live.advance_to(1)
        live.upsert("x", [(1, "b")])
        live.advance_to(2)

    found = recording.recorded(flow, replacing, {})
    assert sorted(found.changes["x"], key=str) == [((1, "a"), (0,), 1), ((1, "a"), (1,), -1), ((1, "b"), (1,), 1)]


def test_a_program_with_own_functions_is_refused(tmp_path):
    flow = ebb.Dataflow()
    flow.output("out", flow.input("x", "a long").map_rows(lambda row: (row.a,), "a long"))
    with pytest.raises(PlanError, match="no Python to run it"):
        flow.explore(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


# ---- the page as data -----------------------------------------------------------------------


def overlap(one, other):
    (x, y, w, h), (a, b, c, d) = one, other
    return x < a + c and a < x + w and y < b + d and b < y + h


def within(inner, outer):
    (x, y, w, h), (a, b, c, d) = inner, outer
    return a <= x and b <= y and x + w <= a + c and y + h <= b + d


@pytest.mark.parametrize("number", range(25))
def test_boxes_do_not_overlap_and_loops_are_frames_around_theirs(number):
    graph = make_case(21, number)[0].graph
    drawn = page.positions(graph)
    assert drawn["boxes"].keys() == set(range(len(graph.nodes)))
    for one, other in combinations(drawn["boxes"].values(), 2):
        assert not overlap(one, other)
    for i, box in drawn["boxes"].items():
        for loop, frame in drawn["frames"].items():
            assert within(box, frame) if loop in graph.scopes[i] else not overlap(box, frame)
    wanted = {(source, i) for i, node in enumerate(graph.nodes) for source in n.sources_of(node)}
    wanted |= {(following, variable) for variable, following in graph.next_of.items()}
    assert {(line["source"], line["target"]) for line in drawn["lines"]} == wanted


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="program">(.*?)</script>', text, re.DOTALL)[1])


def test_a_page_is_one_file_that_asks_for_nothing_else():
    text = page.html(recording.recorded(reach(), story, {}))
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.search(r"^(import|export) ", text, re.MULTILINE) and "{{" not in text
    assert len(text) < 100_000
    assert data_of(text)["inputs"]["roots"] == [[[1], [0], 1]]


def test_nothing_in_the_data_ends_the_script():
    flow = ebb.Dataflow()
    words = "</script><script>alert(1)</script><!--{{style}}"
    flow.output("<b>out</b>", flow.input("x", "a string, b long"))
    text = page.html(recording.recorded(flow, None, {"x": [(words, 2**62)]}))
    assert text.count("</script>") == 2 and "<b>out" not in text
    inside = text.split('id="program">')[1].split("</script>")[0]
    assert not set("<>&") & set(inside)
    assert data_of(text)["inputs"]["x"] == [[[words, {"long": str(2**62)}], [0], 1]]


def test_the_script_is_javascript(tmp_path):
    node = shutil.which("node")
    if node is None:
        assert not os.environ.get("CI"), "Node is missing"
        pytest.skip("Node is not installed (apt-get install nodejs)")
    text = page.html(recording.recorded(reach(), story, {}))
    (tmp_path / "script.mjs").write_text(re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)[1])
    assert subprocess.run([node, "--check", str(tmp_path / "script.mjs")], capture_output=True).returncode == 0


def test_every_type_of_column_arrives_in_the_browser_as_it_was_given():
    kinds = "l long, i int, d double, f float, y boolean, t string, x binary, day date, at timestamp, p decimal(9,2)"
    kinds += ", clock timestamp_ntz, small decimal(38,37)"
    moment = datetime(2024, 2, 29, 13, 5, 0, 250000)
    rows = [
        (
            2**62 + 1,
            -5,
            0.1,
            1.5,
            True,
            "é\n</p>",
            b"\x00\xff",
            date(1969, 12, 31),
            moment,
            Decimal("-3.10"),
            moment,
            Decimal("3e-37"),
        ),
        (
            -1,
            0,
            math.nan,
            -math.inf,
            False,
            "",
            b"",
            date(2024, 2, 29),
            datetime(1969, 12, 31, 23, 59),
            Decimal("0"),
            datetime(1, 1, 1),
            Decimal("0e-37"),
        ),
        (None,) * 12,
    ]
    flow = ebb.Dataflow()
    flow.output("out", flow.input("x", kinds))
    held = page.content(recording.recorded(flow, None, {"x": rows}))
    asked = {"plan": held["plan"], "inputs": held["inputs"], "changes": [1], "points": {}, "most": 1}
    with Node() as node:
        answer = node.ask(json.loads(json.dumps(asked)))
    types = flow.graph.schemas[0].types
    wanted = [[plain(value, type_) for value, type_ in zip(row, types, strict=True)] for row in rows]
    assert sorted((row for row, _, _ in answer["changes"]["1"]), key=str) == sorted(wanted, key=str)


def test_explore_writes_a_page_and_says_where(tmp_path):
    made = reach().explore(tmp_path / "reach.html", story)
    assert repr(made) == f"Page('{tmp_path / 'reach.html'}')"
    assert made.path.read_text() == made.html and made._repr_html_().startswith("<iframe srcdoc=")
    nowhere = reach().explore()
    assert nowhere.path.name == "explorer.html" and nowhere.path.exists()
    with pytest.raises(DiskRefused, match="cannot be written"):
        reach().explore(tmp_path / "none" / "page.html")


def test_the_command_records_a_program(tmp_path):
    (tmp_path / "reach.py").write_text(PROGRAM)
    done = CliRunner().invoke(main, ["explore", str(tmp_path / "reach.py"), "--export", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    assert done.output == f"{tmp_path / 'page.html'}\n"
    assert [change[1:] for change in data_of((tmp_path / "page.html").read_text())["inputs"]["edges"]] == [
        *[[[0], 1]] * 4, [[1], -1], [[2], 1]]  # fmt: skip
    (tmp_path / "nothing.py").write_text("print('no flow')")
    done = CliRunner().invoke(main, ["explore", str(tmp_path / "nothing.py")])
    assert done.exit_code == 1 and "runs no dataflow" in done.output


# ---- in a browser ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    """Skipped without it under CI too, as long as constraints.txt does not name Playwright."""
    place = os.environ.get("EBBFLOW_CHROMIUM") or shutil.which("chromium")
    if place is None:
        pytest.skip("there is no Chromium (apt-get install chromium, or EBBFLOW_CHROMIUM): the page is not opened")
    missing = "playwright is not installed (constraints.txt does not have it yet): the page is not opened"
    driver = pytest.importorskip("playwright.sync_api", reason=missing)
    with driver.sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        running = playwright.chromium.launch(executable_path=place, args=options)
        yield running
        running.close()


def opened(browser, path: Path, **options):
    tab = browser.new_page(**options)
    tab.wrong = []
    tab.on("pageerror", lambda error: tab.wrong.append(str(error)))
    tab.on("console", lambda line: tab.wrong.append(line.text) if line.type == "error" else None)
    tab.goto(path.as_uri())
    tab.wait_for_selector("#lattice td")
    return tab


def shown_cells(tab):
    """What the lattice of the chosen collection says: {time: text of the cell}."""
    return tab.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#lattice button')].map(b => [b.dataset.time, b.innerText]))"
    )


def shown_rows(tab, part):
    """The values and the number of each row; the last cell holds a button."""
    return tab.evaluate(
        f"[...document.querySelectorAll('#{part} tbody tr')].map(r => [...r.cells].slice(0, -1).map(c => c.innerText))"
    )


def test_every_cell_shows_what_the_oracle_says(browser, tmp_path):
    """Outside loops, in a browser: each collection, each time, the number of rows that come and go."""
    compared = 0
    for number in range(20):
        case, pool, _ = make_case(33, number)
        graph = case.graph
        if len(graph.coordinates) > 2 or functions_of(graph):
            continue
        given = recording.Recording(graph)
        for step in case.steps:
            for name, row, time, diff in step.changes:
                given.changes[name].append((row, time, diff))
        given.frontiers = dict.fromkeys(given.frontiers, ())
        tab = opened(browser, page.written(page.html(given), tmp_path / f"{number}.html").path)
        meaning = Meaning(graph, pool)
        asked = Histories(meaning, encoded(graph, (c for s in case.steps for c in s.changes), meaning.values))
        for i in [i for i in range(len(graph.nodes)) if not graph.scopes[i]]:
            tab.evaluate(f"explorer.choose({i})")
            right: dict[str, list[int]] = {}
            for _, time, diff in asked.changes(i):
                right.setdefault(",".join(map(str, time)), []).append(diff)
            for time, text in shown_cells(tab).items():
                diffs = right.pop(time, [])
                come, go = sum(d for d in diffs if d > 0), -sum(d for d in diffs if d < 0)
                wanted = " ".join([f"+{come}"] * bool(come) + [f"−{go}"] * bool(go))
                assert text == wanted, (number, i, time)
                compared += 1
            assert not right, (number, i, right)
        assert not tab.wrong, tab.wrong
        tab.close()
    assert compared > 200


def test_rows_of_a_cell_and_an_edit(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path)
    assert shown_cells(tab) == {"0": "+3", "1": "−1", "2": "", "4": "+1"}
    assert tab.locator("#lattice td.edge-right").count() == 1  # the frontier is at 2
    tab.click('#lattice button[data-time="0"]')
    assert shown_rows(tab, "changes") == [["1", "+1"], ["2", "+1"], ["3", "+1"]]
    tab.click('#lattice button[data-time="1"]')
    assert shown_rows(tab, "changes") == [["3", "-1"]] and shown_rows(tab, "collection") == [["1", "1"], ["2", "1"]]
    assert tab.locator("#lattice td.past").count() == 2
    tab.fill('#edit [data-column="0"]', "2")
    tab.fill('#edit [data-column="1"]', "7")
    tab.fill('#edit [data-coordinate="0"]', "1")
    tab.click("#edit >> text=Insert")
    assert shown_cells(tab) == {"0": "+3", "1": "+1 −1", "2": "", "4": "+1"}
    assert tab.locator("#lattice td.flash").count() == 1 and "1 cell" in tab.inner_text("#notice")
    tab.fill('#edit [data-column="0"]', "much")
    tab.click("#edit >> text=Insert")
    assert '"much" does not read as a long' in tab.inner_text("#notice")
    tab.locator("#given .remove").last.click()
    assert shown_cells(tab) == {"0": "+3", "1": "−1", "2": "", "4": "+1"}
    assert not tab.wrong


def test_by_keyboard_alone(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path)
    tab.keyboard.press("Tab")
    before = tab.evaluate("explorer.state.node")
    tab.keyboard.press("ArrowUp")
    assert tab.evaluate("explorer.state.node") == before - 1
    assert tab.evaluate("document.activeElement.dataset.node") == str(before - 1)
    tab.evaluate("explorer.choose(explorer.data.plan.nodes.findIndex(n => n.kind === 'feedback'))")
    tab.focus("#lattice td.chosen button")
    start = tab.evaluate("explorer.state.cell")
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowDown")
    assert start[0] == 4 and tab.evaluate("explorer.state.cell") == [2, start[1] - 1]
    assert tab.evaluate("document.activeElement.dataset.time") == f"2,{start[1] - 1}"
    assert not tab.wrong


def test_the_history_of_a_row_and_two_cells_with_their_join_and_meet(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path)
    tab.evaluate("explorer.choose(explorer.data.plan.nodes.findIndex(n => n.kind === 'feedback'))")
    tab.click('#lattice button[data-time="1,1"]')
    tab.click('#collection [aria-label="History of 2"]')
    assert {time: text for time, text in shown_cells(tab).items() if text} == {"0,1": "+1"}
    tab.click('#collection [aria-label="History of 2"]')
    assert {time for time, text in shown_cells(tab).items() if text} == {"0,0", "0,1", "0,2", "1,2", "4,2"}
    tab.click('#lattice button[data-time="0,2"]', modifiers=["Shift"])
    tab.click('#lattice button[data-time="1,1"]')
    assert tab.get_attribute("#lattice td.join button", "data-time") == "1,2"
    assert tab.get_attribute("#lattice td.meet button", "data-time") == "0,1"
    assert "join (1, 2), meet (0, 1)" in tab.inner_text("#bounds")
    assert not tab.wrong


def test_a_loop_that_never_settles_is_told_and_can_be_mended(browser, tmp_path):
    flow = ebb.Dataflow()
    x = flow.input("x", "a long")
    flow.output("out", x.iterate(lambda v: v.select(a=ebb.col("a") + 1).union(x).distinct()))
    tab = opened(browser, flow.explore(tmp_path / "page.html").path)
    tab.fill('#edit [data-column="0"]', "1")
    tab.click("#edit >> text=Insert")
    assert "NeverSettles: The loop still changes after 500 rounds." in tab.inner_text("#notice")
    tab.click("#given .remove")
    assert tab.inner_text("#notice") == "" and shown_cells(tab) == {"0": ""} and not tab.wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_every_control_has_a_name(browser, tmp_path, scheme):
    path = reach().explore(tmp_path / "page.html", story).path
    tab = opened(browser, path, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    nameless = """[...document.querySelectorAll('button, input, select, [role=option]')].filter(
        e => !e.getAttribute('aria-label') && !e.closest('label')?.innerText && !e.innerText)"""
    assert tab.evaluate(f"{nameless}.length") == 0
    ink, paper = tab.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    dark = [sum(map(int, re.findall(r"\d+", colour))) for colour in (ink, paper)]
    assert (dark[0] > dark[1]) == (scheme == "dark")


def bitemporal(changes, path):
    flow = ebb.Dataflow(time=("valid", "system"))
    flow.output("n", flow.input("x", "a long").group_by().count())
    given = recording.Recording(flow.graph)
    given.changes["x"] = [((i % 7,), (i, (37 * i) % changes), 1) for i in range(changes)]
    return page.written(page.html(given), path).path


def test_a_lattice_of_a_hundred_by_a_hundred_stays_fluent(browser, tmp_path, record_property):
    tab = opened(browser, bitemporal(100, tmp_path / "page.html"))
    assert len(shown_cells(tab)) == 10_000 and "left out" not in tab.inner_text("#legend")
    spent = tab.evaluate(
        """() => { const times = [];
        for (let i = 0; i < 20; i++) {
          const before = performance.now();
          explorer.chooseCell([5 * i, 3 * i]);
          document.body.offsetHeight;
          times.push(performance.now() - before);
        }
        return times.sort((a, b) => a - b); }"""
    )
    record_property("milliseconds to choose a cell, median and worst", f"{spent[10]:.1f} {spent[-1]:.1f}")
    assert spent[10] < 500
    assert not tab.wrong


def test_what_is_too_much_to_draw_is_left_out_aloud(browser, tmp_path):
    tab = opened(browser, bitemporal(150, tmp_path / "page.html"))
    assert len(shown_cells(tab)) <= 10_000
    assert "times are left out here" in tab.inner_text("#legend") and not tab.wrong


def test_a_plan_of_two_hundred_nodes_opens(browser, tmp_path):
    flow = ebb.Dataflow()
    last = flow.input("x", "a long")
    for i in range(198):
        last = last.filter(ebb.col("a") != i)
    flow.output("out", last)
    tab = opened(browser, flow.explore(tmp_path / "page.html", x=[(1,), (500,)]).path)
    assert tab.locator("#plan g[role=option]").count() == 200
    assert shown_cells(tab) == {"0": "+1"} and not tab.wrong


def test_rows_that_never_change_are_shown_and_are_no_input(browser, tmp_path):
    flow = ebb.Dataflow()
    columns = flow.input("x", "text string").select(at=lambda row: row.text.cast("timestamp"))
    constant = flow.graph.add(n.Input("constant 1", flow.graph.schemas[-1], (), ((datetime(2024, 2, 29),),) * 2))
    flow.output("out", columns.union(Collection(flow.graph, constant)))

    def story(live):
        live.insert("x", [("2024-02-29 7:05+01",)])
        live.advance_to(1)

    tab = opened(browser, flow.explore(tmp_path / "page.html", story).path)
    assert shown_cells(tab)["0"] == "+3"
    assert tab.evaluate("[...document.querySelector('#edit select').options].map(o => o.value)") == ["x"]
    tab.fill('#edit [data-column="0"]', "2024-02-29 7:05 Europe/Paris")
    tab.click("#edit >> text=Insert")
    assert 'names the time zone "Europe/Paris"' in tab.inner_text("#notice")
    assert not tab.wrong
