"""The explorer's page as a file: what it holds and what was recorded for it."""

import base64
import hashlib
import json
import math
import re
import subprocess
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from itertools import combinations

import pytest
from click.testing import CliRunner

import ebbflow as ebb
from ebbflow.dataflow import nodes as n
from ebbflow.errors import DiskRefused, PlanError, TypeMismatch, UnknownOption, UnknownOutput
from ebbflow.frontend.building.collection import Collection
from ebbflow.tools.cli import main
from ebbflow.tools.explorer import page, recording
from tests import browsing
from tests.explored import Node, plain
from tests.meaning.cases import make_case

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
    """Two steps, and a change that waits for its time."""
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
    monkeypatch.setattr(recording, "EVENTS_KEPT", 3)
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


def test_the_time_spent_is_that_of_nodes_of_the_program():
    flow = reach()
    found = recording.recorded(flow, story, {})
    steps = sum(told.seconds for told in found.told if told.seconds)
    assert found.spent and set(found.spent) <= set(range(len(flow.graph.nodes)))
    assert all(seconds > 0 for seconds in found.spent.values()) and sum(found.spent.values()) < steps
    assert any(isinstance(flow.graph.nodes[number], n.Reduce) for number in found.spent)
    assert page.content(found, timed=True)["spent"].keys() == found.spent.keys()
    assert not page.content(found)["spent"]  # no clocks in a file, unless they are asked for


def test_several_workers_are_recorded_without_times():
    found = recording.Recording(reach().graph)
    with ebb.Session(reach(), workers=2, runtime=found.runtime) as live:
        story(live)
    assert found.told and not found.spent


def test_every_round_is_told_once_a_step():
    told = [told.text for told in recording.recorded(reach(), story, {}).told if told.kind in ("step", "round")]
    first = told[1 : told.index("a step began: edges to 2, roots to 2")]
    assert first == [f"round {number} of loop 0 began" for number in range(len(first))] and len(first) > 2


def test_merged_batches_are_told():
    flow = ebb.Dataflow()
    x = flow.input("x", "a long, b long")
    flow.output("out", x.join(flow.input("y", "a long, c long"), on="a"))
    found = recording.Recording(flow.graph)
    with ebb.Session(flow, runtime=partial(found.runtime, seal_rows=2, keep_records=2)) as live:
        for time in range(6):
            live.insert("x", [(time * 100 + i, i) for i in range(64)])
            live.commit()
    told = [told.text for told in found.told if told.kind == "merged"]
    assert told and all(
        re.fullmatch(r"(a batch was|\d+ batches were) merged: \d+ keys .* became \d+", text) for text in told
    )


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
    assert len(text) < 180_000
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
    node = browsing.node_or_skip()
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
    (tmp_path / "asks.py").write_text(PROGRAM.replace("flow.run()", "flow.run(explore=True)"))
    options = ["--export", str(tmp_path / "page.html"), "--part", "lattice", "--show", "reached", "--title", "Mine"]
    done = CliRunner().invoke(main, ["explore", str(tmp_path / "asks.py"), *options])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "page.html").read_text()
    assert data_of(text)["parts"] == ["lattice"] and "explorer: Mine" in text
    done = CliRunner().invoke(main, ["explore", str(tmp_path / "reach.py"), "--times", *options[:2]])
    assert done.exit_code == 0 and data_of((tmp_path / "page.html").read_text())["spent"]
    (tmp_path / "nothing.py").write_text("print('no flow')")
    done = CliRunner().invoke(main, ["explore", str(tmp_path / "nothing.py")])
    assert done.exit_code == 1 and "runs no dataflow" in done.output


def test_one_of_several_sessions_is_chosen(tmp_path):
    path, written = tmp_path / "two.py", tmp_path / "page.html"
    path.write_text(PROGRAM + "\nflow.compute(edges=[(7, 8)], roots=[(7,)])\n")
    asked = lambda *options: CliRunner().invoke(main, ["explore", str(path), "--export", str(written), *options])
    edges = lambda: len(data_of(written.read_text())["inputs"]["edges"])
    done = asked()
    assert done.exit_code == 0 and done.stdout == f"{written}\n" and "ran 2 sessions" in done.stderr and edges() == 1
    done = asked("--session", "1")
    assert done.exit_code == 0 and done.stderr == "" and edges() == 6
    done = asked("--session", "3")
    assert done.exit_code == 1 and "there is no session 3" in done.stderr


def test_a_page_tells_what_the_engine_told():
    told = page.content(recording.recorded(reach(), story, {}))["engine"]
    assert {event["kind"] for event in told} == {"arrived", "step", "round", "stepped", "frontier", "work"}
    assert {"kind": "arrived", "text": "edges: 2 changes"} in told
    assert {"kind": "frontier", "text": "output reach is complete up to 1"} in told
    assert any("rows touched" in event["text"] and " ms" not in event["text"] for event in told)  # no clocks in a file


def test_events_are_bounded_and_counted(monkeypatch):
    found = recording.Recording(reach().graph)
    for i in range(recording.KEPT_EVENTS + 7):
        found.tell("round", str(i))
    assert (len(found.told), found.lost, found.told[0].text) == (recording.KEPT_EVENTS, 7, "7")
    assert page.content(found)["lost"] == 7


def test_two_pages_of_one_story_are_equal():
    flow = reach()
    assert page.html(recording.recorded(flow, story, {})) == page.html(recording.recorded(flow, story, {}))


def test_the_policy_names_the_one_script_and_the_one_style():
    text = page.html(recording.recorded(reach(), story, {}))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    script = re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    for name, part in (("script", script), ("style", style)):
        named = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{named}'" in policy
    assert "unsafe" not in policy and "default-src 'none'" in policy and "connect-src" not in policy


def test_a_figure_shows_the_parts_it_is_asked_for(tmp_path):
    flow = reach()
    made = flow.explore(None, story, export=tmp_path / "figure.html", figure=True, show="reached", title="Reach")
    held = data_of(made.html)
    assert held["parts"] == ["lattice", "rows"] and held["plan"]["nodes"][held["chosen"]]["kind"] == "feedback"
    assert '<body class="figure">' in made.html and "<title>ebbflow explorer: Reach</title>" in made.html
    held = data_of(flow.explore(tmp_path / "figure.html", figure=("story", "lattice"), show="edges").html)
    assert held["parts"] == ["lattice", "story"] and held["plan"]["nodes"][held["chosen"]]["input"] == "edges"
    once = Collection(flow.graph, 1)
    assert data_of(flow.explore(tmp_path / "figure.html", show=once).html)["chosen"] == 1


WRONG = [
    ({"figure": "lattices"}, UnknownOption, 'no part "lattices"'),
    ({"figure": ()}, UnknownOption, "at least one part"),
    ({"show": "nothing"}, UnknownOutput, "no collection 'nothing'"),
    ({"title": [(1,)]}, TypeMismatch, "title is a text"),
    ({"export": [(1,)]}, TypeMismatch, "a path to write"),
]


@pytest.mark.parametrize(("options", "error", "words"), WRONG)
def test_what_a_page_cannot_show_is_refused_before_anything_runs(options, error, words):
    ran = []
    with pytest.raises(error, match=words):
        reach().explore(None, ran.append, **options)
    assert not ran
