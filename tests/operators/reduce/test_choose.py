"""The table of tactics: it is what runs, every row is reached, and each says what replay would."""

import ast
import inspect
from decimal import Decimal
from importlib import import_module
from itertools import product
from random import Random

import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow.native.kernel import twin
from ebbflow.operators.reduce import answers, choose, opcodes, visit
from ebbflow.operators.reduce.choose import TACTICS, Reduction, chosen
from tests.tuned import tuned

WITHOUT_RECORD = {choose.TOTALS, choose.FUNCTION_CALL, choose.INSERT_ONLY}  # asked before there is a key record
WITHOUT_RECORD |= {choose.STEADY}  # and before a key is looked at
OPS = [answers.DISTINCT, answers.COUNT_OF_ROWS, answers.SUMMED, answers.BAGGED, answers.TOPPED, answers.USER_FUNCTION]
OPS += [answers.DISTINCT_BY_VALUE, answers.WINDOWED]


def kernel_of(tactic):
    module, _, name = tactic.visit.rpartition(".")
    return getattr(import_module(f"ebbflow.operators.reduce.{module}"), name)


def test_the_walk_asks_the_tactics_in_the_order_of_their_table():
    body = ast.parse(inspect.getsource(twin(visit.reduce_key))).body[0].body
    asked = [part.body[0].value.id for part in body if isinstance(part, ast.If)] + [body[-1].value.id]
    called = [
        node.func.id
        for part in body
        for node in ast.walk(part)
        if isinstance(node, ast.Call) and node.func.id.startswith("visit_")
    ]
    rows = [number for number in range(len(TACTICS)) if number not in WITHOUT_RECORD]
    assert [getattr(choose, name) for name in asked] == rows
    assert called == [TACTICS[number].visit.rpartition(".")[2] for number in rows]


@pytest.mark.parametrize("number", range(len(TACTICS)), ids=[tactic.name for tactic in TACTICS])
def test_every_tactic_is_a_kernel_of_its_own_with_one_signature(number):
    names = list(inspect.signature(twin(kernel_of(TACTICS[number]))).parameters)
    if number not in WITHOUT_RECORD:
        assert names == ["worker", "node", "table", "record", "rounds"]


def test_every_reduction_has_a_tactic_that_declines_no_key():
    aggregates = [frozenset({opcodes.MIN}), frozenset({opcodes.MIN, opcodes.SUM})]
    reached = set()
    for op, depth, general, read, lanes, of, *others in product(
        OPS, (0, 1, 2), (False, True), (False, True), (0, 1, 2), aggregates, *[(False, True)] * 3
    ):
        found = chosen(Reduction(op, depth, general, read, lanes, of, *others))
        assert found == tuple(sorted(found)) and not TACTICS[found[-1]].keys
        assert all(TACTICS[number].keys for number in found[:-1])
        reached.update(found)
    assert reached == set(range(len(TACTICS)))


# ---- drift ------------------------------------------------------------------------------------------


def path(edges):
    step = lambda p: p.join(edges, on={"b": "a"}, suffix="2").select("a", b="b2").union(edges).distinct()
    return edges.iterate(step)


def layers(edges):
    """The least number of steps to each, from 0."""
    start = edges.filter(ebb.col("a") == 0).select(a="a", far=ebb.lit(0).cast("long")).distinct()
    further = lambda d: (
        d.join(edges, on="a").select(a="b", far=ebb.col("far") + 1).union(start).group_by("a").agg(far=ebb.min("far"))
    )
    return start.iterate(further)


def weighted(edges):
    """How far each is from 0, where a way of more edges may be shorter."""
    start = edges.filter(ebb.col("a") == 0).select(a="a", far=ebb.lit(0).cast("long")).distinct()
    along = edges.with_columns(length=(ebb.col("a") * 3 + ebb.col("b") * 5) % 7 + 1)
    further = lambda d: d.join(along, on="a").select(a="b", far=ebb.col("far") + ebb.col("length"))
    return start.iterate(lambda d: further(d).union(start).group_by("a").agg(far=ebb.min("far")))


def names(edges):
    """The first name that leads to each, each from its own round on."""
    own = edges.select(a="a", name="a").distinct()
    told = lambda n: n.join(edges, on="a").select(a="b", name="name").union(own.wait(ebb.col("name") * 2))
    return own.filter(ebb.lit(False)).iterate(lambda n: told(n).group_by("a").top(1, "name"), 9)


def cut(edges):
    """Edges whose ends have one name, again and again: a loop in a loop."""
    return edges.distinct().iterate(
        lambda left: (
            left.join(names(left), on="a")
            .join(names(left).select(b="a", other="name"), on="b")
            .filter(ebb.col("name") == ebb.col("other"))
            .select("a", "b")
            .distinct()
        ),
        3,
    )


def present(edges):
    """Ids that are reached, without an index: their presence is counted."""
    start = edges.filter(ebb.col("a") == 0).select("a").distinct()
    return start.iterate(lambda r: r.join(edges, on="a").select(a="b").union(start).distinct())


def first_three(edges):
    by_b = ebb.Window.partition_by("a").order_by("b")
    return edges.select("a", "b", n=ebb.row_number().over(by_b))


def wide(edges):
    """The same, b as decimals of two words, of which now one and now the other differs."""
    third = ebb.col("b").cast("decimal(19,0)") * ebb.lit(Decimal(2**64 // 3))
    return edges.select("a", b=ebb.when(ebb.col("b") < 6, third))


PROGRAMS = {  # the tactic it is for, and a program of edges (a, b)
    "distinct": (choose.TOTALS, lambda e: e.select("a").distinct()),
    "sums": (choose.TOTALS, lambda e: e.group_by("a").agg(total=ebb.sum("b"))),
    "function": (choose.FUNCTION_CALL, lambda e: e.group_by("a").reduce(lambda rows: [(len(rows),)], "n long")),
    "reach": (choose.PRESENCE_BY_ROUND, path),
    "reach in bulk": (choose.INSERT_ONLY, path),
    "steady least": (choose.STEADY, lambda e: e.group_by("a").agg(least=ebb.min("b")).join(e, on="a")),
    "steady least of some": (
        choose.STEADY,
        lambda e: e.select("a", b=ebb.when(ebb.col("b") > 2, ebb.col("b"))).group_by("a").agg(least=ebb.min("b")),
    ),
    "steady most": (choose.STEADY, lambda e: e.group_by("a").agg(most=ebb.max("b"))),
    "steady first": (choose.STEADY, lambda e: e.group_by("a").top(2, "-b")),
    "steady presence": (choose.STEADY, lambda e: e.select("a").distinct().join(e, on="a")),
    "steady reach": (choose.STEADY, present),
    "steady reach by layers": (choose.STEADY, layers),
    "steady reach by weights": (choose.STEADY, weighted),
    "steady reach by names": (choose.STEADY, names),
    "steady reach in loops": (choose.STEADY, cut),
    "joined distinct": (choose.COUNT_SCAN, lambda e: e.distinct().join(e, on=["a", "b"])),
    "joined sums": (choose.SUM_SCAN, lambda e: e.group_by("a").agg(n=ebb.sum("b")).join(e, on="a")),
    "window": (choose.WINDOW_INDEX, first_three),
    "first": (choose.VALUE_SCAN, lambda e: e.group_by("a").top(2, "b")),
    "large first": (choose.ORDER_STATISTICS, lambda e: e.group_by("a").top(2, "-b")),
    "large least": (
        choose.ORDER_STATISTICS,
        lambda e: e.group_by("a").agg(
            least=ebb.min("b"), most=ebb.max("b"), n=ebb.count("b"), k=ebb.count_distinct("b")
        ),
    ),
    "large median": (choose.ORDER_STATISTICS, lambda e: e.group_by("a").agg(m=F.median("b"), p=F.percentile("b", 0.9))),
    "large joined": (choose.ORDER_STATISTICS, lambda e: e.group_by("a").agg(least=ebb.min("b")).join(e, on="a")),
    "least": (choose.EXTREMES, lambda e: e.group_by("a").agg(least=ebb.min("b"), most=ebb.max("b"))),
    "joined least": (choose.EXTREMES, lambda e: e.group_by("a").agg(least=ebb.min("b")).join(e, on="a")),
    "large wide first": (choose.ORDER_STATISTICS, lambda e: wide(e).group_by("a").top(2, "-b")),
    "large wide least": (
        choose.VALUE_SCAN,
        lambda e: wide(e).group_by("a").agg(least=ebb.min("b"), most=ebb.max("b"), k=ebb.count_distinct("b")),
    ),
    "joined wide least in bulk": (
        choose.VALUE_SCAN,
        lambda e: wide(e).group_by("a").agg(least=ebb.min("b")).join(wide(e), on={"least": "b"}, suffix="2"),
    ),
    "wide window": (
        choose.WINDOW_INDEX,
        lambda e: wide(e).select("a", "b", n=ebb.rank().over(ebb.Window.partition_by("a").order_by("b"))),
    ),
}


def histories(random, steps=5, most=40, signed=True):
    """Steps of changes (row, time, diff), with rows that come again, go and, where signed, go before they came."""
    t, here = 0, []
    for _ in range(steps):
        changes, before = [], list(here)
        for _ in range(random.randint(0, most)):
            row, diff = (random.choice([0, 0, 0, 1, 2]), random.randint(0, 6)), random.choice([1, 1, 1, -1, 2, -2])
            if not signed:  # in a loop, rows that are owed may never settle
                diff = 1 if not before or random.random() < 0.5 else -1
                row = row if diff > 0 else before.pop(random.randrange(len(before)))
                here.append(row) if diff > 0 else here.remove(row)
            changes.append((row, t + random.randint(0, 3), diff))
        t += 4
        yield t, changes


def shown(flow, steps, **options):
    """All corrections of each step, and how often each tactic was chosen."""
    with tuned(flow, **options) as live:
        found = []
        for frontier, changes in steps:
            for (a, b), time, diff in changes:
                live.apply("edges", {"a": [a], "b": [b]}, time=time, diff=diff)
            live.advance_to(frontier)
            found.append(sorted(live.changes("out").rows(), key=repr))
        chosen = [0] * len(TACTICS)
        for part in live._runtime.parts:
            for worker in part.host.workers:
                for node in worker.at:
                    if node.choice:
                        chosen = [n + int(node.choice.counts[i]) for i, n in enumerate(chosen)]
    return found, chosen


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tactic_says_what_the_general_replay_says(name):
    tactic, program = PROGRAMS[name]
    random = Random(name)
    times_chosen = 0
    for _ in range(6):
        steps = list(histories(random, signed="reach" not in name))
        flow = ebb.Dataflow()
        flow.output("out", program(flow.input("edges", "a long, b long")))
        options = {"seal_rows": 1, "keep_records": 0} if "bulk" in name else {}
        options |= {"index_rows": 2, "index_entries": 2} if "large" in name or "window" in name else {}
        found, chosen = shown(flow, steps, **options)
        right, replayed = shown(flow, steps, replays_only=True)
        assert found == right
        assert not any(n for i, n in enumerate(replayed) if i not in (choose.REPLAY, choose.FUNCTION_CALL))
        times_chosen += chosen[tactic]
    assert times_chosen > 0


def along(kind, number, at, random):
    """A time of a step: one of a line of which one coordinate moves, of a line of which both do, or any."""
    return (at, {"log": 0, "chain": number}.get(kind, random.randint(0, 2)))


@pytest.mark.parametrize(
    "kind, tactic", [("log", choose.SETTLED_CHAIN), ("chain", choose.CHAIN), ("grid", choose.REPLAY)]
)
def test_a_chain_of_several_coordinates_says_what_the_general_replay_says(kind, tactic):
    random = Random(kind)
    times_chosen = 0
    for _ in range(6):
        flow = ebb.Dataflow(time=("valid", "system"))
        flow.output("out", flow.input("edges", "a long, b long").group_by("a").count())
        steps = []
        for number, (t, changes) in enumerate(histories(random)):
            frontier = [(t, 0), (0, number + 1)] if kind == "chain" else (t, 0)
            steps.append((frontier, [(row, along(kind, number, at, random), d) for row, at, d in changes]))
        found, chosen = shown(flow, steps)
        right, _ = shown(flow, steps, replays_only=True)
        assert found == right
        times_chosen += chosen[tactic]
    assert times_chosen > 0
