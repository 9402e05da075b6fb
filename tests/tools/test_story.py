"""The explorer's story of a random program: all that happens, each change announced or owed, in a possible order."""

import shutil
from collections import Counter

import pytest

from ebbflow.dataflow.plan_json import functions_of
from tests import explored
from tests.meaning.cases import make_case

HERE = explored.EVALUATOR.parent
ANSWERS = explored.HERE / "reasons.mjs"


def told(node, cases, seed, number=0):
    counts: Counter = Counter()
    while counts["programs"] < cases:
        case, _, _ = make_case(seed, number)
        number += 1
        if functions_of(case.graph):
            continue
        question = explored.question(case.graph, case, {})
        said = node.ask({"plan": question["plan"], "inputs": question["inputs"], "story": True})
        if said.get("whole", True):
            assert said["wrong"] == [], (seed, number - 1, said["wrong"][:5])
            counts["whole"] += 1
        counts["programs"] += 1
        counts.update({name: said[name] for name in ("owed", "looked", "merged", "events")})
    return counts


def test_a_story_tells_all_that_happens_in_order():
    with explored.Node(HERE, ANSWERS) as node:
        counts = told(node, 40, seed=6)
    assert counts["whole"] > 25 and counts["owed"] > 50 and counts["merged"] > 50 and counts["events"] > 2000, counts


def test_a_group_that_changes_at_many_times_owes_all_their_joins():
    with explored.Node(HERE, ANSWERS) as node:
        assert told(node, 1, seed=92, number=46)["whole"] == 1  # fifty times, of two loops


PLANTED = {
    "a time of three joins is not owed": (
        "[time, ...[...all.values()].map((other) => joinOf(time, other))]",
        "[time, ...[...times.values()].slice(0, 1).map((other) => joinOf(time, other))]",
    ),
    "later times come first": (".sort(compareTimes);\n  const since", ".reverse();\n  const since"),
    "the frontier stays": ("minimal(steps.slice(done)", "minimal(steps.slice(Math.max(0, done - 1))"),
    "owed by the whole row": ("node.key.map((name) => names.indexOf(name))", "names.map((_, c) => c)"),
    "merged rounds": ("d < since.length ? Math.max(c, since[d]) : c", "d < since.length ? Math.max(c, since[d]) : 0"),
    "changes that cancel are kept": ("if (sum === 0n) this.changes.delete(key);", "if (sum === 1n << 70n) return;"),
    "starting over is one round": ("changes[i].rounds)) rows +=", "changes[i].rounds.map(() => 1))) rows +="),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(name, tmp_path):
    before, after = PLANTED[name]
    for file in HERE.glob("*.mjs"):
        shutil.copy(file, tmp_path)
    text = (tmp_path / "story.mjs").read_text()
    assert text.count(before) == 1
    (tmp_path / "story.mjs").write_text(text.replace(before, after))
    with explored.Node(tmp_path, ANSWERS) as spoiled, pytest.raises(AssertionError):
        told(spoiled, 120, seed=6)
