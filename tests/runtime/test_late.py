"""Outputs that are declared while the program runs."""

from __future__ import annotations

import random

import pytest

import ebbflow as ebb
from ebbflow.errors import NotKept


def program(late: bool):
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    pairs = edges.join(edges.select(node="dst", to="src"), on={"src": "node"})
    flow.output("pairs", pairs)
    if not late:
        declare(flow, edges)
    return flow, edges


def declare(flow, edges):
    flow.output("degrees", edges.group_by("src").agg(n=ebb.count(), most=ebb.max("dst")))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("options", [{}, {"seal_rows": 2, "keep_records": 2}], ids=["records", "sealed"])
def test_a_late_output_says_from_then_on_what_an_early_one_says(workers, options):
    draw = random.Random(7)
    early_flow, _ = program(late=False)
    late_flow, edges = program(late=True)
    early, late = early_flow.run(workers=workers, **options), late_flow.run(workers=workers, **options)
    there: list[tuple] = []
    for step in range(12):
        for live in (early, late):
            draw.seed(step)
            if live is early:
                kept = list(there)
            new = [(draw.choice([None, 1, 2, 3, 4]), draw.randrange(5)) for _ in range(6)]
            gone = draw.sample(kept, min(len(kept), 4))
            live.insert("edges", new, time=3 * step)
            live.delete("edges", gone, time=3 * step + 1)
            live.advance_to(3 * step + 3)
        there = kept + new
        for row in gone:
            there.remove(row)
        if step == 5:
            declare(late_flow, edges)
            late.changes("degrees")
    want, got = early.snapshot("degrees"), late.snapshot("degrees")
    assert list(got) == list(want)
    assert late.frontier("degrees") == early.frontier("degrees")


def test_its_past_stands_at_the_last_complete_time():
    flow, edges = program(late=True)
    live = flow.run()
    live.insert("edges", [(1, 2), (1, 3), (None, 4)], time=0)
    live.delete("edges", [(1, 2)], time=5)
    live.advance_to(8)
    declare(flow, edges)
    assert live.changes("degrees").rows() == [(None, 1, 4, 7, 1), (1, 1, 3, 7, 1)]


def test_an_input_that_is_kept_nowhere_is_refused_in_a_sentence_and_the_session_goes_on():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("degrees", edges.group_by("src").count())
    live = flow.run()
    live.insert("edges", [(1, 2)], time=0)
    live.advance_to(1)
    flow.output("copy", edges)
    with pytest.raises(NotKept, match='reads the input "edges", of which this session keeps no whole copy') as refused:
        live.changes("copy")
    assert "Declare the output before flow.run()" in str(refused.value)
    live.insert("edges", [(1, 3)], time=1)
    live.advance_to(2)
    assert live.snapshot("degrees").rows() == [(1, 2, 1)]
