from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.columns.schema import LONG, NULL
from ebbflow.columns.text_pool import Pool
from ebbflow.expressions.opcodes import REGISTERS
from ebbflow.expressions.program import program
from ebbflow.expressions.typed import Column
from ebbflow.operators import block, edges
from ebbflow.operators import node as kinds
from ebbflow.operators.consolidate import count_rows, take_rows
from ebbflow.operators.deliver import release_held
from ebbflow.operators.exchange import outbox
from ebbflow.operators.exchange.receive import receive_at
from ebbflow.operators.flush import flush
from ebbflow.trace import heap as h
from ebbflow.trace import table as t
from ebbflow.trace.diff_limits import LAST
from ebbflow.trace.failures import ROUNDS_OVERFLOW
from tests.meaning.programs import PAIR, call, lit
from tests.trace.heaps import Bench, entries, records

A, B = Column("a", LONG), Column("b", LONG)


class Plan:
    """A node of two lanes, and edges from it to nodes of two lanes."""

    def __init__(self, **clock):
        self.bench = bench = Bench(**clock)
        for v in (bench.header.row, bench.header.row2):
            h.reserve(bench.W, v, 2 + REGISTERS)
        self.source = bench.node(kinds.PASS, lanes=2)
        self.made, self.nodes = [], []

    def to(self, kind, *stages, sign=1, mask=-1, add=0, field=0, most=-1, exchange=0, raises=0):
        bench = self.bench
        keyed = kind in (kinds.ARRANGE, kinds.REDUCE)
        nd = bench.node(kind, int(keyed), (3, 3) if keyed else (), lanes=2)
        kinds.Node(nd).number = len(self.nodes)
        self.nodes.append(nd)
        edge = edges.Edge(bench.heap.zeros(edges.Edge.SIZE + len(stages)))
        edge.to, edge.sign, edge.mask, edge.add, edge.field = nd, sign, mask, add, field
        edge.most, edge.raises, edge.exchange, edge.stage_count, edge.to_lanes = most, raises, exchange, len(stages), 2
        for i, stage in enumerate(stages):
            edge.stages[i] = stage
        self.made.append(edge)
        kinds.Node(self.source).edges = bench.heap.keep(self.made)
        kinds.Node(self.source).edge_count = len(self.made)
        return nd

    def copy(self, *lanes):
        return self.bench.heap.keep([block.PICK_LANES, len(lanes), *lanes])

    def computing(self, columns, condition=None):
        words = program(columns, condition, PAIR, Pool())
        return self.bench.heap.keep([block.RUN_PROGRAM, self.bench.heap.keep(words), 2, 2, 1])

    def send(self, rows):
        """rows of (rounds, rank, diff, a, b) through all edges."""
        for rounds, rank, diff, *lanes in rows:
            at = kinds.emit(self.bench.W, self.source, rounds, rank, diff)
            self.bench.H[at : at + 2] = lanes
        flush(self.bench.W, self.source)
        assert self.bench.vector(kinds.Node(self.source).buffer) == []

    def arrived(self, nd):
        """What came to a node that buffers."""
        words = self.bench.vector(kinds.Node(nd).buffer)
        return [tuple(words[i : i + 5]) for i in range(0, len(words), 5)]


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(-2, 2), st.integers(-5, 5), st.integers(-5, 5)),
    max_size=20,
)


@settings(max_examples=60)
@given(ROWS)
def test_every_row_goes_once_through_every_edge(rows):
    plan = Plan()
    same, swapped, less = plan.to(kinds.PASS), plan.to(kinds.PASS, plan.copy(1, 0)), plan.to(kinds.PASS, sign=-1)
    stages = (plan.computing((call("add", A, B), B), call("lt", A, lit(2))), plan.copy(1, 0))
    computed = plan.to(kinds.PASS, *stages)
    plan.send(rows)
    assert plan.arrived(same) == rows
    assert plan.arrived(swapped) == [(*head, b, a) for *head, a, b in rows]
    assert plan.arrived(less) == [(r, rank, -diff, a, b) for r, rank, diff, a, b in rows]
    assert plan.arrived(computed) == [(*head, b, a + b) for *head, a, b in rows if a < 2]
    assert kinds.Node(same).least == min((row[0] for row in rows), default=LAST)
    plan.send([])
    assert plan.arrived(same) == rows


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12), st.integers(1, 5))
def test_leaving_a_loop_drops_its_round_and_going_round_adds_one(rounds, most):
    plan = Plan(depth=2)
    bench = plan.bench
    outer = bench.rounds((1 << bench.bits) - 1, 0)
    left = plan.to(kinds.PASS, mask=outer)
    again = plan.to(kinds.PASS, add=bench.rounds(0, 1))
    limited = plan.to(kinds.PASS, add=bench.rounds(0, 1), field=bench.shift[1], most=most)
    refusing = plan.to(kinds.PASS, add=bench.rounds(0, 1), field=bench.shift[1], most=most, raises=1)
    plan.send([(bench.rounds(*pair), 1, 1, i, 0) for i, pair in enumerate(rounds)])
    fields = {
        name: [(bench.fields(row[0]), row[3]) for row in plan.arrived(nd)]
        for name, nd in {"left": left, "again": again, "limited": limited, "refusing": refusing}.items()
    }
    assert fields["left"] == [((a, 0), i) for i, (a, _) in enumerate(rounds)]
    assert fields["again"] == fields["refusing"] == [((a, b + 1), i) for i, (a, b) in enumerate(rounds)]
    assert fields["limited"] == [((a, b + 1), i) for i, (a, b) in enumerate(rounds) if b + 1 < most]


@pytest.mark.interpreted
def test_a_round_beyond_its_field_is_refused():
    plan = Plan(depth=2)
    bench = plan.bench
    plan.to(kinds.PASS, add=bench.rounds(0, 1))
    plan.send([(bench.rounds(0, (1 << bench.bits) - 1), 1, 1, 0, 0)])
    assert bench.header.error == ROUNDS_OVERFLOW


@pytest.mark.interpreted
def test_an_expression_that_overflows_refuses_its_row():
    plan = Plan()
    to = plan.to(kinds.PASS, plan.computing((call("add", A, B), B)))
    plan.send([(0, 6, 1, 2**63 - 1, 1)])
    assert plan.arrived(to) == [] and plan.bench.header.error and plan.bench.header.error_rank == 6


@settings(max_examples=40)
@given(ROWS)
def test_rows_come_to_a_reduction_by_key_and_it_is_to_be_visited_at_their_rounds(rows):
    plan = Plan()
    nd = plan.to(kinds.REDUCE)
    plan.send(rows)
    H, tb = plan.bench.H, plan.bench.table(nd)
    found = Counter()
    for rc in records(H, tb):
        for rounds, rank, diff, (b,) in entries(H, int(t.segment_of(tb, rc, 0)), 3):
            found[rounds, rank, diff, int(H[rc]), b] += 1
    assert found == Counter(rows)
    keys = {int(H[rc]): rc for rc in records(H, tb)}
    wanted = {(rounds, keys[a]) for rounds, _, _, a, _ in rows}
    assert {(rounds, rc) for rounds, items in plan.bench.pending(nd) for rc in items} == wanted


@settings(max_examples=40)
@given(ROWS)
def test_an_output_takes_its_rows_in_added_up(rows):
    plan = Plan()
    nd = plan.to(kinds.OUTPUT)
    plan.send(rows)
    out = np.empty((4, count_rows(nd)), np.int64)
    take_rows(nd, out, 0, np.empty(0, np.int64))
    wanted = Counter()
    for _, rank, diff, a, b in rows:
        wanted[a, b, rank] += diff
    assert {tuple(row[:3]): row[3] for row in out.T.tolist()} == {key: diff for key, diff in wanted.items() if diff}


TIMES = st.tuples(st.integers(0, 3), st.integers(0, 3))


@settings(max_examples=60)
@given(
    st.lists(st.tuples(TIMES, st.integers(1, 3), st.integers(0, 9)), max_size=20),
    st.lists(st.lists(TIMES, min_size=1, max_size=2), min_size=1, max_size=4),
)
def test_a_row_is_held_until_its_time_is_complete_and_then_delivered_once(rows, uppers):
    plan = Plan(coordinates=2, general=True)
    bench = plan.bench
    nd = plan.to(kinds.PASS)
    bench.frontiers(upper=[(0, 0)])
    plan.send([(0, bench.rank(time), diff, value, 0) for time, diff, value in rows])
    assert plan.arrived(nd) == []
    open_, shown = list(rows), []
    for upper in [*uppers, []]:
        bench.frontiers(upper=upper)
        release_held(bench.W, nd)
        shown += [(bench.time(rank), diff, a) for _, rank, diff, a, _ in plan.arrived(nd)]
        kinds.Node(nd).buffer.length = 0
        closed = [row for row in open_ if not any(all(f <= x for f, x in zip(e, row[0])) for e in upper)]
        for row in closed:
            open_.remove(row)
        assert Counter(shown) + Counter(open_) == Counter(rows)
    assert not open_ and bench.vector(kinds.Node(nd).hold) == []


@settings(max_examples=40)
@given(
    st.lists(st.tuples(TIMES, st.integers(-2, 2), st.integers(0, 20), st.just(NULL) | st.integers(0, 9)), max_size=20)
)
@pytest.mark.parametrize("general", [False, True])
def test_a_row_is_delivered_to_its_owner_at_its_own_time(general, rows):
    plans = [Plan(coordinates=2, general=general) for _ in range(2)]
    nodes = []
    for me, plan in enumerate(plans):
        bench = plan.bench
        bench.header.workers, bench.header.me = 2, me
        nodes.append(plan.to(kinds.PASS, exchange=1))
        kinds.Node(nodes[-1]).partition_lanes = bench.heap.keep([1, 0])
        if general:
            bench.rank((7 + me, 0))  # the two do not number times alike

    def rank(bench, time):
        return bench.rank(time) if general else 1 + 4 * time[0] + time[1]

    def time(bench, rank):
        return bench.time(rank) if general else divmod(rank - 1, 4)

    first, second = (plan.bench for plan in plans)
    plans[0].send([(2, rank(first, at), diff, a, b) for at, diff, a, b in rows])
    letter = first.heap.vector(first.header.outboxes[1]).copy()
    second.header.nodes = second.heap.keep([nodes[1]])
    receive_at(second.W, second.heap.keep(letter), len(letter))
    found = [
        [(time(plan.bench, r), diff, a, b) for _, r, diff, a, b in plan.arrived(nd)] for plan, nd in zip(plans, nodes)
    ]
    owner = {a: int(outbox.owner_of(first.W, nodes[0], first.heap.keep([a, 0]))) for _, _, a, _ in rows}
    assert found == [[row for row in rows if owner[row[2]] == me] for me in (0, 1)]
    assert all(row[0] == 2 for plan, nd in zip(plans, nodes) for row in plan.arrived(nd))
