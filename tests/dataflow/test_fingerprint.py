import subprocess
import sys
from pathlib import Path

import pytest

from ebbflow.columns.schema import LONG
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.fingerprint import fingerprint, fingerprints
from ebbflow.dataflow.plan_json import from_json, functions_of, to_json
from ebbflow.errors import Place
from ebbflow.expressions.typed import Call
from tests.meaning.cases import make_case
from tests.meaning.programs import ONE, Sketch, components, core, distances, lit, reach, strong

ROOT = Path(__file__).parents[2]


def plan(make, *more):
    s = Sketch()
    s.output("out", make(s, s.input("edges"), *more))
    return s.graph


def reaching():
    s = Sketch()
    s.output("out", reach(s, s.input("edges"), s.input("roots", ONE)))
    return s


@pytest.mark.parametrize("number", range(20))
def test_the_same_program_has_the_same_fingerprint(number):
    graph = make_case(51, number)[0].program.graph()
    again = from_json(to_json(graph), functions_of(graph))
    assert fingerprints(again) == fingerprints(graph)


def test_another_process_computes_the_same_letters():
    code = (
        "from tests.dataflow.test_fingerprint import strong, plan, fingerprint, with_function\n"
        "print(fingerprint(plan(strong)), fingerprint(with_function(lambda row: (row[0], {1, 2, 3} and row[1]))))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
    assert seen.pop().split()[0] == fingerprint(plan(strong))


def test_programs_that_differ_have_different_fingerprints():
    s = reaching()
    found = [
        fingerprint(plan(strong)),
        fingerprint(plan(components)),
        fingerprint(plan(core, 2)),
        fingerprint(plan(core, 3)),
        fingerprint(s.graph),
    ]
    t = Sketch()
    t.output("out", distances(t, t.input("edges"), t.input("roots", ONE)))
    found.append(fingerprint(t.graph))
    assert len(set(found)) == len(found)


def looping(body, **options):
    s = Sketch()
    x = s.input("x")
    s.output("out", s.iterate(x, lambda variable, loop: body(s, variable, loop), **options))
    return fingerprint(s.graph)


def test_a_loop_is_known_by_its_body_and_its_bounds():
    found = [
        looping(lambda s, v, loop: s.negate(v), max_rounds=2),
        looping(lambda s, v, loop: s.negate(v), max_rounds=3),
        looping(lambda s, v, loop: s.negate(v), max_rounds=3, on_limit="raise"),
        looping(lambda s, v, loop: s.distinct(v), max_rounds=3),
        looping(lambda s, v, loop: s.iterate(v, lambda w, _: s.negate(w), loop, max_rounds=2), max_rounds=3),
        looping(lambda s, v, loop: s.iterate(v, lambda w, _: s.distinct(w), loop, max_rounds=2), max_rounds=3),
        looping(lambda s, v, loop: s.iterate(v, lambda w, _: s.enter(v, _), loop, max_rounds=2), max_rounds=3),
    ]
    assert len(set(found)) == len(found)


def test_names_places_and_what_stands_beside_do_not_count():
    s = reaching()
    before, node = fingerprint(s.graph), fingerprints(s.graph)
    t = Sketch()
    t.distinct(t.negate(t.input("edges")))  # shifts every number
    components(t, 0)  # and every loop
    t.output("out", reach(t, 0, t.input("roots", ONE)))
    t.graph.names[0] = "whatever"
    t.graph.places[1] = Place("elsewhere.py", 99)
    assert fingerprint(t.graph) == before
    assert set(node) <= set(fingerprints(t.graph))


def test_a_changed_constant_changes_the_nodes_after_it_and_no_other():
    def made(constant):
        s = Sketch()
        x = s.input("x")
        s.output("one", s.distinct(s.map(x, c=Call("add", (s.col(x, "a"), lit(constant)), LONG))))
        s.output("two", s.distinct(x))
        return s.graph

    one, two = fingerprints(made(1)), fingerprints(made(2))
    assert [a == b for a, b in zip(one, two, strict=True)] == [True, False, False, False, True, True]


def with_function(fn):
    s = Sketch()
    x = s.input("x")
    s.output("out", s.linear(x, n.Apply(n.Function(fn, id(fn), "mine"), "rows", s.schema(x))))
    return s.graph


def test_a_function_counts_by_its_code():
    assert fingerprint(with_function(lambda row: row)) == fingerprint(with_function(lambda row: row))
    assert fingerprint(with_function(lambda row: row)) != fingerprint(with_function(lambda row: row[::-1]))
    assert fingerprint(with_function(lambda row: (row[0], 1))) != fingerprint(with_function(lambda row: (row[0], 2)))
    assert fingerprint(with_function(tuple)) != fingerprint(with_function(list))
