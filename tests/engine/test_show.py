"""Claims about showing: every field has its name, and a key its history."""

from __future__ import annotations

import pytest

from ebbflow.engine import show
from ebbflow.operators import node as kinds
from ebbflow.trace import table as t
from tests.trace.heaps import Bench


@pytest.fixture
def bench():
    bench = Bench()
    nd = bench.node(kinds.REDUCE, 1, (3, 3), lanes=2)
    record = bench.record(bench.table(nd), (7,))
    bench.push(t.segment_of(bench.table(nd), record, 0), 3, 1, 2, -5, [9])
    bench.header.nodes, bench.header.node_count = bench.heap.keep([nd]), 1
    return bench


def test_a_structure_is_shown_by_the_names_of_its_fields(bench):
    node = kinds.Node(int(bench.header.nodes[0]))
    fields = show.fields_of(node)
    assert fields["kind"] == kinds.REDUCE and fields["lanes"] == 2 and fields["table"] == f"Table@{int(node.table)}"
    assert fields["buffer"] == {"pointer": "0", "length": 0, "capacity": 0} and "unused" not in fields
    assert show.fields_of(node.table)["widths"] == [3, 3, 0]


def test_a_node_is_shown_with_its_table_and_the_histories_of_its_keys(bench):
    said = show.show_heap(bench.header, node=0)
    assert said.splitlines()[0].endswith(": reduce 0") and "\n  most_rounds      -1\n" in said
    assert "key [7]: queued 0, done 0, head 0\n  family 0: 1 entries, 0 of earlier slices" in said
    assert "    rounds 1, rank 2, diff -5, lanes [9]" in said and "direct_at" not in said
    assert show.show_heap(bench.header, node=1) == "There is no node 1; there are 1."
    assert "  node_count       1" in show.show_heap(bench.header)
