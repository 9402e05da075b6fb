"""What cannot be had is refused before anything is built: what, where in the text, and what to write instead."""

import re

import pytest

import ebbflow as ebb
from ebbflow.errors import SqlError
from tests.relational.sql_refusals import REFUSED


def declared() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    flow.input("t", "a long, b long, s string, d date, ts timestamp")
    flow.input("u", "k long, b long")
    return flow


def test_each_query_is_told_what_is_wrong_and_leaves_the_program_as_it_was():
    flow = declared()
    before, wrong = len(flow.graph.nodes), []
    for query, what, hint in REFUSED:
        with pytest.raises(SqlError) as refusal:
            flow.sql(query)
        if (refusal.value.what, refusal.value.hint) != (what, hint):
            wrong.append((query, refusal.value.what, refusal.value.hint))
        assert len(flow.graph.nodes) == before, query
    assert wrong == []
    assert len(REFUSED) >= 150


def test_sentences_name_parts_of_the_query_and_none_of_ours():
    inside = re.compile(r"<class|Token|NAMED_AGGREGATE|sqlglot|\bc\d+\b|\.cast\(|ebb\.")
    assert [what for _, what, hint in REFUSED if inside.search(what) or inside.search(hint)] == []


def test_nearly_all_sentences_have_a_place():
    placed = [what for _, what, _ in REFUSED if re.search(r"\(line \d+, column \d+\)\.$", what)]
    assert len(placed) > 0.92 * len(REFUSED)


def test_a_place_counts_lines():
    with pytest.raises(SqlError, match=r"\(line 3, column 9\)"):
        declared().sql("select a\nfrom t\n  where q > 1")
