"""The explorer's page in a real browser: what it shows, and what can be done with it, by pointer and by keyboard."""

import json
import re
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

import ebbflow as ebb
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.plan_json import functions_of
from ebbflow.frontend.building.collection import Collection
from ebbflow.runtime.oracle.meaning import Meaning
from ebbflow.runtime.oracle.moment import Histories
from ebbflow.tools.explorer import page, recording
from tests import browsing
from tests.browsing import choose, click, opened, shown_cells, shown_rows
from tests.meaning.cases import make_case
from tests.meaning.runtimes import histories

FLUENT = 500  # milliseconds: far more than a frame, far less than a person waits; what was measured is in the report


@pytest.fixture(scope="module")
def browser():
    with browsing.running() as browser:
        yield browser


def reach():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    roots = flow.input("roots", "node long")

    def further(reached):
        return reached.rename({"node": "src"}).join(edges, on="src").select(node="dst").union(roots).distinct()

    flow.output("reach", roots.iterate(further))
    return flow


def story(live):
    live.insert("roots", [(1,)])
    live.insert("edges", [(1, 2), (2, 3)])
    live.advance_to(1)
    live.delete("edges", [(2, 3)])
    live.insert("edges", [(2, 9)], time=4)
    live.advance_to(2)


def reopened(live):
    """Node 4 is reached in round 2, lost, and reached again in round 0: a time is owed."""
    live.insert("roots", [(1,)])
    live.insert("edges", [(1, 2), (2, 3), (3, 4), (4, 2)])
    live.advance_to(1)
    live.delete("edges", [(2, 3)])
    live.advance_to(2)
    live.insert("edges", [(1, 4)])
    live.advance_to(3)


def recorded(graph, steps):
    given = recording.Recording(graph)
    for step in steps:
        for name, row, time, diff in step.changes:
            given.changes[name].append((row, time, diff))
    given.frontiers = dict.fromkeys(given.frontiers, ())
    return given


def bitemporal(changes, path, frontier=((0, 0),)):
    flow = ebb.Dataflow(time=("valid", "system"))
    flow.output("n", flow.input("x", "a long").group_by().count())
    given = recording.Recording(flow.graph)
    given.changes["x"] = [((i % 7,), (i, (37 * i) % changes), 1) for i in range(changes)]
    given.frontiers = dict.fromkeys(given.frontiers, frontier)
    return page.written(page.html(given), path).path


# ---- what it shows --------------------------------------------------------------------------


def test_every_cell_shows_what_the_oracle_says(browser, tmp_path):
    """Outside loops, in a browser: each collection, each time, the number of rows that come and go."""
    compared = 0
    for number in range(40):
        case, pool, _ = make_case(33, number)
        graph = case.graph
        if len(graph.coordinates) > 2 or functions_of(graph):
            continue
        given = recorded(graph, case.steps)
        tab = opened(browser, page.written(page.html(given), tmp_path / f"{number}.html").path)
        meaning = Meaning(graph, pool)
        asked = Histories(meaning, histories(graph, (c for s in case.steps for c in s.changes), meaning.values))
        for i in [i for i in range(len(graph.nodes)) if not graph.scopes[i]]:
            tab.evaluate(f"explorer.choose({i})")
            right: dict[str, list[int]] = {}
            for _, time, diff in asked.changes(i):
                right.setdefault(",".join(map(str, time)), []).append(diff)
            for time, text in shown_cells(tab).items():
                diffs = right.pop(time, [])
                come, go = sum(d for d in diffs if d > 0), -sum(d for d in diffs if d < 0)
                wanted = [" ".join([f"+{come}"] * bool(come) + [f"−{go}"] * bool(go)), f"±{come + go}"]
                assert text in wanted, (number, i, time)
                compared += 1
            assert not right, (number, i, right)
        assert not tab.wrong, tab.wrong
        tab.close()
    assert compared > 200


def test_rows_of_a_cell_and_an_edit(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path)
    assert shown_cells(tab) == {"0": "+3", "1": "−1", "2": "", "4": "+1"}
    click(tab, 0)
    assert shown_rows(tab, "changes") == [["1", "+1"], ["2", "+1"], ["3", "+1"]]
    click(tab, 1)
    assert shown_rows(tab, "changes") == [["3", "−1"]] and shown_rows(tab, "collection") == [["1", "1"], ["2", "1"]]
    tab.fill('#edit [data-column="0"]', "2")
    tab.fill('#edit [data-column="1"]', "7")
    tab.fill('#edit [data-coordinate="0"]', "1")
    tab.click("#edit >> text=Insert")
    assert shown_cells(tab) == {"0": "+3", "1": "+1 −1", "2": "", "4": "+1"}
    assert "1 cell of this collection changed." in tab.inner_text("#notice")
    assert tab.get_attribute("#lattice .flash", "d").count("M") == 1  # the cell that changed lights up
    tab.fill('#edit [data-column="0"]', "much")
    tab.click("#edit >> text=Insert")
    assert '"much" does not read as a long' in tab.inner_text("#notice")
    tab.locator("#given .remove").last.click()
    assert shown_cells(tab) == {"0": "+3", "1": "−1", "2": "", "4": "+1"}
    tab.click("#edit >> text=Delete", position={"x": 5, "y": 5}, force=True)
    tab.click("#again")
    assert shown_cells(tab) == {"0": "+3", "1": "−1", "2": "", "4": "+1"} and not tab.wrong


def test_the_past_of_the_cell_under_the_pointer_lights_up(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", reopened).path)
    choose(tab, "feedback")
    tab.mouse.move(*browsing.spot(tab, 1, 2))
    box = "document.querySelector('#lattice .past').getBBox()"
    size = tab.evaluate(f"[{box}.width / explorer.lattice.size.wide, {box}.height / explorer.lattice.size.tall]")
    assert size == [2, 3]  # times 0 and 1, rounds 0, 1 and 2
    assert "Pointed at: time 1, round 2. 1 row goes; the collection there has 2 rows." in tab.inner_text("#pointed")
    tab.mouse.move(1, 1)
    assert tab.inner_text("#pointed").startswith("Chosen: ") and not tab.wrong


def test_the_frontier_is_a_staircase(browser, tmp_path):
    corners = ((0, 6), (2, 4), (5, 1))
    tab = opened(browser, bitemporal(8, tmp_path / "page.html", corners))
    done = tab.evaluate("[...document.querySelectorAll('#lattice [role=gridcell]')].filter("
                        "c => c.ariaLabel.includes('complete')).map(c => c.dataset.time)")  # fmt: skip
    wanted = {f"{x},{y}" for x in range(8) for y in range(8) if not any(a <= x and b <= y for a, b in corners)}
    assert set(done) == wanted
    size, left, height = (tab.evaluate(f"explorer.lattice.{name}") for name in ("size", "left", "height"))
    drawn = re.findall(r"[ML]([\d.]+),([\d.]+)", tab.get_attribute("#lattice .frontier", "d"))
    found = [(round((float(x) - left) / size["wide"]), round((height + 4 - float(y)) / size["tall"])) for x, y in drawn]
    along = [(0, 6), (1, 6), (2, 6), (2, 4), (3, 4), (4, 4), (5, 4), (5, 1), (6, 1), (7, 1), (8, 1)]
    assert list(dict.fromkeys(found)) == along
    assert not tab.wrong


def test_the_rows_stand_in_their_cells_where_there_is_room(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path, viewport={"width": 1280, "height": 844})
    choose(tab, "reduce")
    cells = "[...document.querySelectorAll('#lattice [role=gridcell]')].map(c => [c.dataset.time, c.nextSibling])"
    told = dict(tab.evaluate(f"{cells}.map(([time, which]) => [time, [...which.children].map(c => c.outerHTML)])"))
    each = "[...rows.values()].map(([row, weight]) => [Number(row[0]), weight > 0n])"
    rows = f"[...explorer.cells().cells].map(([time, rows]) => [time, {each}])"
    for time, changes in tab.evaluate(rows):
        pieces = [f">{'; ' * (i > 0)}{row}<" for i, (row, _) in enumerate(sorted(changes))]
        signs = [("come" if comes else "go") for _, comes in sorted(changes)]
        assert all(p in t and s in t for p, s, t in zip(pieces, signs, told[time], strict=True)), (time, told[time])
    assert sum(map(len, told.values())) == 5
    tab.set_viewport_size({"width": 260, "height": 844})
    choose(tab, "reduce")
    assert tab.locator("#lattice .which").count() == 0 and not tab.wrong, "on a watch there is none"


def test_owed_times_are_rings(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", reopened).path)
    choose(tab, "reduce")
    owed = "[...document.querySelectorAll('#lattice [role=gridcell]')].filter(c => /owed/.test(c.ariaLabel))"
    assert set(tab.evaluate(f"{owed}.map(c => c.dataset.time)")) == {"2,2", "2,3"}
    assert tab.locator("#lattice .ring.paid").count() == 2
    browsing.story(tab)
    at = [i for i, event in enumerate(browsing.story(tab)) if event["kind"] == "owed"]
    assert len(at) == 2
    tab.evaluate(f"document.querySelector('#scrub').value = {at[0]}; "
                 "document.querySelector('#scrub').dispatchEvent(new Event('input'))")  # fmt: skip
    assert tab.locator("#lattice .ring.open").count() == 2 and not tab.wrong


def test_times_that_compaction_makes_one_are_drawn_as_one(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path)
    choose(tab, "feedback")
    before = shown_cells(tab)
    assert {time for time in before if time.startswith("0,")} and tab.locator("#lattice [role=row]").count() == 3
    tab.check("#fold")
    folded = shown_cells(tab)
    assert {time.split(",")[0] for time in folded} == {"2", "4"}  # 0, 1 and 2 are one
    assert folded["2,2"] == "" and folded["2,1"] == "+1"  # row 3 came and went
    assert "can tell the times up to 2 apart" in tab.inner_text("#legend")
    click(tab, 2, 1)
    assert shown_rows(tab, "changes") == [["2", "+1"]] and not tab.wrong


def test_the_history_of_a_row_and_two_cells_with_their_join_and_meet(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path)
    choose(tab, "feedback")
    click(tab, 1, 1)
    tab.click('#collection [aria-label="History of 2"]')
    assert {time: text for time, text in shown_cells(tab).items() if text} == {"0,1": "+1"}
    tab.click('#collection [aria-label="History of 2"]')
    assert {time for time, text in shown_cells(tab).items() if text} == {"0,0", "0,1", "0,2", "1,2", "4,2"}
    click(tab, 0, 2, shift=True)
    click(tab, 1, 1)
    assert "join (1, 2), meet (0, 1)" in tab.inner_text("#bounds")
    assert tab.locator("#lattice .join").count() == tab.locator("#lattice .meet").count() == 1 and not tab.wrong


def test_two_of_several_coordinates_are_chosen(browser, tmp_path):
    flow = ebb.Dataflow(time=("valid", "system"))
    x = flow.input("x", "a long")
    flow.output("out", x.iterate(lambda v: v.filter(v.a > 0).select(a=ebb.col("a") - 1).union(x).distinct()))

    def feeding(live):
        live.insert("x", [(2,)], time=(0, 1))
        live.insert("x", [(3,)], time=(1, 0))
        live.advance_to((2, 2))

    tab = opened(browser, flow.explore(tmp_path / "page.html", feeding).path)
    choose(tab, "feedback")
    names = tab.evaluate("[...document.querySelectorAll('#axes select[data-axis=x] option')].map(o => o.textContent)")
    assert names == ["valid", "system", "round"]
    tab.select_option("#axes select[data-axis=x]", "1")
    tab.select_option("#axes select[data-axis=y]", "2")
    times = [list(map(int, time.split(","))) for time in shown_cells(tab)]
    assert len({time[0] for time in times}) == 1 and {time[1] for time in times} == {0, 1, 2}
    tab.evaluate(
        "const s = document.querySelector('#axes [data-fixed]'); s.value = 1; s.dispatchEvent(new Event('input'))"
    )
    assert {time.split(",")[0] for time in shown_cells(tab)} == {"1"} and not tab.wrong


# ---- why ------------------------------------------------------------------------------------


def test_why_a_row_is_here_ends_at_the_inputs(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", reopened).path)
    click(tab, 0)
    tab.click('#collection [aria-label="Why 3"]')
    leaves = tab.evaluate("[...document.querySelectorAll('#why-tree .leaf')].map(l => l.textContent)")
    assert set(leaves) == {"edges (1, 2): +1 at 0", "edges (2, 3): +1 at 0", "roots (1): +1 at 0"}
    assert "3 rows of the inputs in all." in tab.inner_text("#why-tree")
    marked = "[...document.querySelectorAll('#timeline .cause')].map(c => c.getAttribute('aria-label'))"
    assert tab.evaluate(marked) == ["+ 1, 2", "+ 2, 3", "− 2, 3"]
    click(tab, 1)
    tab.click('#changes [aria-label="Why 3"]')
    assert tab.inner_text("#why-title").startswith("Why (3) went")
    assert "edges (2, 3): +1 at 0 and gone since" in tab.inner_text("#why-tree")
    tab.click("#why-close")
    assert tab.locator("#why").is_hidden() and tab.locator(".cause").count() == 0 and not tab.wrong


# ---- the story ------------------------------------------------------------------------------


def test_the_story_is_told_in_order_and_counts(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", reopened).path)
    events = browsing.story(tab)
    assert {event["kind"] for event in events} == {
        "arrived",
        "round",
        "owed",
        "looked",
        "stepped",
        "frontier",
        "folded",
    }
    assert [event["step"] for event in events] == sorted(event["step"] for event in events)
    steps = tab.evaluate("explorer.story().steps")
    assert [step["time"] for step in steps] == [[0], [1], [2]] and steps[0]["touched"] == steps[0]["over"]
    assert steps[2]["touched"] < steps[2]["over"]
    assert f"{steps[2]['touched']} rows touched" in tab.inner_text("#counters")
    tab.focus("#scrub")
    tab.keyboard.press("Home")
    assert tab.inner_text("#story-says") == "Nothing has happened yet." and "later" in tab.get_attribute(
        "#lattice [data-time='0']", "class"
    )
    tab.keyboard.press("ArrowRight")
    assert tab.inner_text("#story-says").startswith("edges: +4 at time 0")
    assert tab.evaluate("document.querySelector('#plan .now').dataset.node") == "0"
    tab.keyboard.press("End")
    assert "The inputs are closed" in tab.inner_text("#legend")
    seen = "const now = document.querySelector('#story-list .now').getBoundingClientRect(), list = "
    seen += "document.querySelector('#story-list').getBoundingClientRect(); "
    assert tab.evaluate(f"(() => {{ {seen} return now.top >= list.top && now.bottom <= list.bottom + 1; }})()")
    tab.check("#follow")
    tab.click("#story-back")
    tab.click("#story-back")
    assert tab.evaluate("explorer.state.node") == events[-3]["node"]
    tab.click("#story-now")
    assert tab.evaluate("explorer.state.position") is None
    tab.select_option("#story-source", "engine")
    assert "the step is done" in tab.inner_text("#story-list") and not tab.wrong


def test_the_story_plays(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path)
    browsing.story(tab)
    tab.clock.install(time=datetime(2030, 1, 1))
    tab.clock.pause_at(datetime(2030, 1, 2))  # no time passes but what is asked for
    tab.focus("#scrub")
    tab.keyboard.press("Home")
    tab.click("#story-play")
    tab.clock.run_for(2200)
    assert tab.evaluate("explorer.state.position") == 3 and tab.inner_text("#story-play") == "Pause"
    tab.click("#story-play")
    tab.clock.run_for(2200)
    assert tab.evaluate("explorer.state.position") == 3 and not tab.wrong


# ---- editing --------------------------------------------------------------------------------


def test_a_change_is_dragged_to_another_time(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path)
    chip = tab.locator("#timeline .chip.go")
    chip.scroll_into_view_if_needed()
    box = chip.bounding_box()
    wide = tab.evaluate("document.querySelector('#timeline .slot').getBBox().width")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + wide, y, steps=4)
    assert shown_cells(tab) == {"0": "+3", "2": "−1", "4": "+1"}  # computed while it moves
    tab.mouse.move(x + 2 * wide, y, steps=4)
    tab.mouse.up()
    assert shown_cells(tab) == {"0": "+3", "2": "", "3": "−1", "4": "+1"}
    assert tab.evaluate("explorer.given.edges.map(c => c[1][0])") == [0, 0, 3, 4]
    tab.mouse.move(x, y)
    assert shown_cells(tab)["3"] == "−1" and not tab.wrong  # it was let go


def test_a_value_and_a_time_are_written_into_the_table(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path)
    tab.fill('[aria-label="dst of 1, 2 at 0"]', "5")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    assert shown_cells(tab)["0"] == "+2"  # 2 and 3 are no longer reached
    tab.fill('[aria-label="time of 1, 5 at 0"]', "1")
    tab.keyboard.press("Tab")
    assert shown_cells(tab)["0"] == "+1" and shown_cells(tab)["1"] == "+1"
    tab.fill('[aria-label="diff of 1, 5 at 1"]', "0")
    tab.keyboard.press("Tab")
    assert '"0" is no whole number other than 0' in tab.inner_text("#notice")
    assert shown_cells(tab)["1"] == "+1" and not tab.wrong


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


def test_rows_that_never_change_are_shown_and_are_no_input(browser, tmp_path):
    flow = ebb.Dataflow()
    columns = flow.input("x", "text string").select(at=lambda row: row.text.cast("timestamp"))
    constant = flow.graph.add(n.Input("constant 1", flow.graph.schemas[-1], (), ((datetime(2024, 2, 29),),) * 2))
    flow.output("out", columns.union(Collection(flow.graph, constant)))

    def feeding(live):
        live.insert("x", [("2024-02-29 7:05+01",)])
        live.advance_to(1)

    tab = opened(browser, flow.explore(tmp_path / "page.html", feeding).path)
    assert shown_cells(tab)["0"] == "+3"
    assert tab.evaluate("[...document.querySelector('#edit select').options].map(o => o.value)") == ["x"]
    tab.fill('#edit [data-column="0"]', "2024-02-29 7:05 Europe/Paris")
    tab.click("#edit >> text=Insert")
    assert 'names the time zone "Europe/Paris"' in tab.inner_text("#notice")
    assert not tab.wrong


# ---- by keyboard ----------------------------------------------------------------------------


def test_by_keyboard_alone(browser, tmp_path):
    """Tab goes to the plan, the lattice, the rows, the story, the inputs; arrow keys and m and Enter do the rest."""
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path)
    browsing.story(tab)
    tab.keyboard.press("Tab")
    before = tab.evaluate("explorer.state.node")
    tab.keyboard.press("ArrowUp")
    assert tab.evaluate("explorer.state.node") == before - 1
    assert tab.evaluate("document.activeElement.dataset.node") == str(before - 1)
    tab.keyboard.press("Home")
    for _ in range(tab.evaluate("explorer.data.plan.nodes.findIndex(n => n.kind === 'feedback')")):
        tab.keyboard.press("ArrowDown")
    assert tab.evaluate("explorer.data.plan.nodes[explorer.state.node].kind") == "feedback"
    tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    assert tab.is_checked("#fold")
    tab.keyboard.press("Space")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.getAttribute('role')") == "grid"
    tab.keyboard.press("End")
    start = tab.evaluate("explorer.state.cell")
    tab.keyboard.press("m")
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowDown")
    assert start[0] == 4 and tab.evaluate("explorer.state.cell") == [2, start[1] - 1]
    active = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
    assert tab.evaluate(f"{active}.dataset.time") == f"2,{start[1] - 1}"
    assert tab.evaluate(f"{active}.getAttribute('aria-selected')") == "true"
    assert tab.evaluate("explorer.state.marked") == start
    tab.keyboard.press("Home")
    tab.keyboard.press("PageDown")
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "changes"
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "history"
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "why-tree" and "roots (1): +1 at 0" in tab.inner_text(
        "#why-tree"
    )
    seen = set()
    for _ in range(60):
        tab.keyboard.press("Tab")
        seen.add(tab.evaluate("document.activeElement.id || document.activeElement.getAttribute('role')"))
        if "slider" in seen:
            break
    assert {"why-close", "story-source", "story-back", "story-play", "story-on", "scrub", "story-now", "follow"} <= seen
    was = tab.evaluate("explorer.given.edges[0][1][0]")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("explorer.given.edges[0][1][0]") == was + 2
    assert tab.evaluate("document.activeElement.getAttribute('aria-valuenow')") == str(was + 2) and not tab.wrong


# ---- for everybody --------------------------------------------------------------------------

CHECKS = (Path(__file__).parent / "accessibility.js").read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_names_contrast_focus_and_width(browser, tmp_path, scheme, width, record_property):
    path = reach().explore(tmp_path / "page.html", reopened).path
    tab = opened(browser, path, viewport={"width": width, "height": 844}, color_scheme=scheme)
    choose(tab, "reduce")
    browsing.story(tab)
    click(tab, 0, 0, shift=True)
    click(tab, 2, 0)
    tab.click("#changes button >> text=why")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    found = tab.evaluate(CHECKS)
    record_property("texts whose contrast was looked at", found["texts"])
    assert found["texts"] > 100 and found["problems"] == []
    ink, paper = tab.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    dark = [sum(map(int, re.findall(r"\d+", colour))) for colour in (ink, paper)]
    assert (dark[0] > dark[1]) == (scheme == "dark") and not tab.wrong


@pytest.mark.parametrize("width", [1280, 390])
def test_long_values_and_large_times_stay_readable(browser, tmp_path, width):
    flow = ebb.Dataflow()
    payments = flow.input("payments", "who string, at timestamp, amount decimal(18,2)")
    flow.output("spent", payments.group_by("who").agg(total=ebb.sum("amount"), last=ebb.max("at")))
    first = 1_700_000_000_000_000

    def many(live):
        for i in range(4):
            row = (("Ann with a long name", "B" * 60)[i % 2], datetime(2024, 1, 1 + i), i)
            live.insert("payments", [row], time=first + i * 1_000_000)
        live.advance_to(first + 3_000_000)

    tab = opened(browser, flow.explore(tmp_path / "page.html", many).path, viewport={"width": width, "height": 844})
    box = "(e => { const b = e.getBoundingClientRect(); return [b.left, b.right, b.top]; })"
    boxes = lambda chosen: tab.evaluate(f"[...document.querySelectorAll('{chosen}')].map({box})")
    edge = boxes("#collection")[0][1]
    buttons = boxes("#collection button")
    assert len(buttons) == 4 and all(right <= edge + 1 for _, right, _ in buttons), "nobody has to scroll for them"
    copies = boxes("#collection tbody .number:nth-last-child(2)")
    assert [right <= buttons[0][0] for _, right, _ in copies] == [True, True], "nor for the number of copies"
    assert all(right <= left + 1 for (_, right, _), (left, *_) in pairwise(boxes("#timeline .axis:not(.name)")))
    said = tab.evaluate("[...document.querySelectorAll('#timeline .chip text')].map(t => t.textContent)")
    assert said[0].endswith("…") and not tab.wrong
    if width == 1280:
        fields = "[...document.querySelectorAll('#given input, #edit [data-coordinate]')]"
        cut = tab.evaluate(f"{fields}.filter(i => i.scrollWidth > i.clientWidth).map(i => i.value)")
        assert set(cut) == {"B" * 60}, "a field shows all of a value of ordinary length"


def test_a_pale_text_a_nameless_button_and_a_hidden_focus_are_found(browser, tmp_path):
    tab = opened(browser, reach().explore(tmp_path / "page.html", story).path, color_scheme="light")
    tab.evaluate("document.documentElement.style.setProperty('--soft', '#a0a0a0')")
    tab.evaluate("document.getElementById('story-back').setAttribute('aria-label', '')")
    tab.evaluate("document.getElementById('story-back').textContent = ''")
    tab.evaluate("document.getElementById('again').style.outline = 'none'")
    told = " ".join(tab.evaluate(CHECKS)["problems"])
    assert "contrast 2.6" in told and "no name: <button" in told and "the focus does not show: <button" in told


def test_the_address_says_which_theme(browser, tmp_path):
    path = reach().explore(tmp_path / "page.html", story).path
    tab = browser.new_page(color_scheme="light")
    tab.goto(f"{path.as_uri()}#dark")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"


def test_a_figure_is_small_and_alive(browser, tmp_path):
    made = reach().explore(tmp_path / "page.html", story, figure=("lattice", "rows", "inputs"), show="reached")
    frame = tmp_path / "text.html"
    frame.write_text(f'<iframe src="{made.path.name}" width="620" height="420"></iframe>')
    tab = browser.new_page()
    tab.goto(frame.as_uri())
    inner = tab.frame_locator("iframe")
    inner.locator("#lattice svg").wait_for()
    assert inner.locator("h1").is_hidden() and inner.locator("#part-plan").is_hidden()
    inner.locator('[aria-label="time of 2, 3 at 1"]').fill("0")
    inner.locator('[aria-label="time of 2, 3 at 1"]').press("Tab")
    assert "2 cells of this collection changed." in inner.locator("#notice").inner_text()


# ---- large ones -----------------------------------------------------------------------------


FRAMES = """async ([steps]) => { const times = [];
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame();
  for (let i = 0; i < steps; i++) {
    const before = performance.now();
    window.act(i);
    await frame();
    times.push(performance.now() - before);
  }
  return times.sort((a, b) => a - b); }"""


def frames(tab, act, steps=15):
    """Milliseconds from doing something to the next frame, in order."""
    tab.evaluate(f"window.act = (i) => {{ {act} }}")
    return tab.evaluate(FRAMES, [steps])


def test_a_lattice_of_a_hundred_by_a_hundred_stays_fluent(browser, tmp_path, record_property):
    tab = opened(browser, bitemporal(100, tmp_path / "page.html"))
    assert len(shown_cells(tab)) == 10_000 and "left out" not in tab.inner_text("#legend")
    point = "new PointerEvent('pointermove', {clientX: x, clientY: y, bubbles: true})"
    acts = {
        "pointing at a cell": "const [x, y] = explorer.lattice.spot([3 * i, 2 * i]); "
        f"document.querySelector('#lattice [role=grid]').dispatchEvent({point});",
        "choosing a cell": "explorer.chooseCell([5 * i, 3 * i]);",
    }
    for what, act in acts.items():
        spent = frames(tab, act)
        record_property(
            f"{what} of 10,000: milliseconds to the next frame, median and worst", f"{spent[7]:.1f} {spent[-1]:.1f}"
        )
        assert spent[7] < FLUENT
    assert not tab.wrong


def test_what_is_too_much_to_draw_is_left_out_aloud(browser, tmp_path):
    tab = opened(browser, bitemporal(150, tmp_path / "page.html"))
    assert len(shown_cells(tab)) <= 10_000
    assert "times are left out here" in tab.inner_text("#legend") and not tab.wrong


def test_a_plan_of_two_hundred_nodes_stays_fluent(browser, tmp_path, record_property):
    flow = ebb.Dataflow()
    last = flow.input("x", "a long")
    for i in range(198):
        last = last.filter(ebb.col("a") != i)
    flow.output("out", last)
    tab = opened(browser, flow.explore(tmp_path / "page.html", x=[(1,), (500,)]).path)
    assert tab.locator("#plan g[role=option]").count() == 200
    assert shown_cells(tab) == {"0": "+1"}
    browsing.story(tab)
    spent = frames(tab, "explorer.choose(13 * i);")
    record_property(
        "choosing one of 200 nodes: milliseconds to the next frame, median and worst", f"{spent[7]:.1f} {spent[-1]:.1f}"
    )
    assert spent[7] < FLUENT and not tab.wrong


def test_data_in_the_page_is_text_and_never_markup(browser, tmp_path):
    flow = ebb.Dataflow()
    words = "<img src=x onerror=alert(1)></script><b>"
    flow.output("<b>out</b>", flow.input("x", "a string"))
    tab = opened(browser, flow.explore(tmp_path / "page.html", x=[(words,)]).path)
    asked = []
    tab.on("dialog", lambda dialog: asked.append(dialog.message) or dialog.dismiss())
    assert shown_rows(tab, "collection") == [[words, "1"]]
    assert tab.locator("img").count() == 0 and not asked and not tab.wrong
    assert json.loads(tab.evaluate("JSON.stringify(explorer.data.inputs.x)")) == [[[words], [0], 1]]
