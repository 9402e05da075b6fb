"""A key that is called steady has the answers that it had, at these rounds and at all later ones."""

from collections import Counter
from itertools import product
from random import Random

import pytest

import ebbflow as ebb
from ebbflow.columns.schema import NULL
from ebbflow.native.kernel import twin
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce import answers, choose, opcodes, steady
from tests.trace.heaps import Bench

SIDE, TIMES = 3, 3  # rounds of each loop, times of the slice


def least(counts):
    there = [value for (value,), n in counts.items() if n > 0 and value != NULL]
    return (min(there) if there else NULL) if sum(counts.values()) else None


def most(counts):
    there = [value for (value,), n in counts.items() if n > 0 and value != NULL]
    return (max(there) if there else NULL) if sum(counts.values()) else None


def first(wanted):
    def answer(counts):
        rows = sorted(row for row, n in counts.items() for _ in range(max(n, 0)))
        return rows[:wanted]

    return answer


def is_there(counts):
    return sum(counts.values()) > 0


REDUCTIONS = {  # the opcode, its description, lanes of a value, the answer
    "least": (answers.BAGGED, [1, opcodes.MIN, 0, answers.WHOLE_NUMBER, 0, 0], 1, least),
    "most": (answers.BAGGED, [1, opcodes.MAX, 0, answers.WHOLE_NUMBER, 0, 0], 1, most),
    "first": (answers.TOPPED, [1, 1, 0, 0, 0, 2, 0, 0], 2, first(1)),
    "first two": (answers.TOPPED, [2, 1, 0, 0, 0, 2, 0, 0], 2, first(2)),
    "presence": (answers.DISTINCT, [], 0, is_there),
}


def value(random, name, lanes):
    if name in ("least", "most"):
        return (random.choice([NULL, 1, 2, 3]),)
    return tuple(random.randint(1, 3) for _ in range(lanes))


def entry(random, name, lanes, depth, most_rank):
    """Rounds, rank, diff, values; most rows come, and some go."""
    rounds = tuple(random.randrange(SIDE) for _ in range(depth))
    return rounds, random.randint(1, most_rank), random.choice([1, 1, 2, -1]), value(random, name, lanes)


def counted(entries, rounds, rank=TIMES):
    counts = Counter()
    for at, t, diff, row in entries:
        if all(a <= b for a, b in zip(at, rounds, strict=True)) and t <= rank:
            counts[row] += diff
    return counts


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_what_is_steady_has_one_answer_with_its_changes_and_without(name, depth):
    op, spec, lanes, answer = REDUCTIONS[name]
    random, bench, w = Random(f"{name} {depth}"), Bench(depth), 2 + lanes
    nd = bench.node(kinds.REDUCE, keys=1, widths=[w, 3])
    kinds.Node(nd).op = op
    if spec:
        kinds.Node(nd).spec = bench.heap.keep(spec)
    found = Counter()
    for _ in range(500):
        sg = bench.segment()
        before = [entry(random, name, lanes, depth, 1) for _ in range(random.randint(1, 6))]
        new = [entry(random, name, lanes, depth, TIMES) for _ in range(random.randint(1, 3))]
        for at, rank, diff, row in before:
            bench.push(sg, w, bench.rounds(*at), rank, diff, row)
        bench.next_slice()
        for at, rank, diff, row in new:
            bench.push(sg, w, bench.rounds(*at), rank, diff, row)
        at = random.choice(new)[0]
        is_steady = bool(steady.is_steady(bench.W, nd, sg, w, bench.rounds(*at)))
        bench.next_slice()
        here = [e for e in new if all(a <= b for a, b in zip(e[0], at, strict=True))]
        same = all(
            answer(counted(before, later)) == answer(added(before, here, later, t))
            for later in product(*(range(r, SIDE) for r in at))
            for t in range(1, TIMES + 1)
        )
        assert same or not is_steady, (before, new, at)
        found[is_steady, same] += 1
    assert found[True, True] > 20, found
    assert found[False, False] > 20, found


def added(before, here, rounds, rank):
    counts = counted(before, rounds)
    for row, n in counted([((0,) * len(rounds), t, diff, row) for _, t, diff, row in here], rounds, rank).items():
        counts[row] += n
    return counts


def test_a_change_that_does_not_reach_the_answer_computes_none():
    """Two ways of one length to each of twenty: one of them comes and goes, and nobody has to look at them."""
    flow = ebb.Dataflow()
    flow.output(
        "far", ebb.algorithms.bfs_layers(flow.input("edges", "src long, dst long"), flow.input("roots", "id long"))
    )
    with flow.run() as live:
        live.insert("roots", [(0,)], time=0)
        live.insert("edges", [(0, 1), (0, 2), *((way, 3 + i) for way in (1, 2) for i in range(20))], time=0)
        live.advance_to(1)
        before = live.counters()["answers"]
        live.delete("edges", [(1, 3 + i) for i in range(20)], time=1)
        live.advance_to(2)
        assert live.counters()["answers"] == before and live.changes("far").rows()[-1][2] == 0
        live.delete("edges", [(2, 10)], time=2)
        live.advance_to(3)
        assert live.counters()["answers"] > before


def test_where_few_are_steady_only_some_visits_look():
    bench = Bench()
    nd = bench.node(kinds.REDUCE)
    looks = lambda: [bool(twin(steady.is_likely_steady)(bench.header, kinds.Node(nd))) for _ in visits()]

    def visits():
        for number in range(steady.NOW_AND_THEN):
            bench.header.visits = number
            yield number

    assert sum(looks()) == steady.NOW_AND_THEN
    for _ in range(1_000):
        twin(steady.note_steady)(kinds.Node(nd), False)
    assert sum(looks()) == 1
    for _ in range(5):
        twin(steady.note_steady)(kinds.Node(nd), True)
    assert sum(looks()) == steady.NOW_AND_THEN


def test_an_answer_of_all_values_is_never_called_steady():
    for op in (answers.COUNT_OF_ROWS, answers.SUMMED, answers.WINDOWED, answers.DISTINCT_BY_VALUE):
        assert choose.STEADY not in choose.chosen(choose.Reduction(op, 1, False, True, 1))
    both = choose.Reduction(answers.BAGGED, 1, False, True, 1, frozenset({opcodes.MIN, opcodes.MAX}))
    assert choose.STEADY not in choose.chosen(both)
    assert choose.STEADY in choose.chosen(choose.Reduction(answers.BAGGED, 1, False, True, 1, frozenset({opcodes.MIN})))
