"""What composed operators mean, asked of the oracle and of the engine: the answers of a few plain lines of Python."""

import math
from collections import Counter
from datetime import date
from decimal import Decimal
from random import Random

import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow import col
from ebbflow.frontend.running.session import compute
from ebbflow.runtime.local import LocalRuntime
from ebbflow.runtime.oracle.runtime import OracleRuntime

VALUES = [None, 0, 1, 2, 3]
ASKED = [OracleRuntime]


@pytest.fixture(params=[OracleRuntime, LocalRuntime], ids=["oracle", "local"], autouse=True)
def asked(request):
    """Every claim is asked of both."""
    ASKED[0] = request.param


def rows_of(flow, **inputs):
    """Every output as a Counter from row to count."""
    tables = compute(flow, inputs, runtime=ASKED[0])
    return {name: Counter({row[:-1]: row[-1] for row in table.rows()}) for name, table in tables.items()}


def of_one(build, rows, schema="x long, y long"):
    flow = ebb.Dataflow()
    flow.output("out", build(flow.input("c", schema)))
    return rows_of(flow, c=rows)["out"]


def of_two(build, a, b, left="k long, v long", right="k long, w long"):
    flow = ebb.Dataflow()
    flow.output("out", build(flow.input("a", left), flow.input("b", right)))
    return rows_of(flow, a=a, b=b)["out"]


def random_rows(seed, number=12):
    random = Random(seed)
    return [(random.choice(VALUES), random.choice(VALUES)) for _ in range(number)]


def expected_join(a, b, how):
    found = Counter()
    matched = lambda one, others: [other for other in others if one[0] is not None and other[0] == one[0]]
    for row in a:
        partners = matched(row, b)
        if how in ("inner", "left", "right", "full"):
            for partner in partners:
                found[row + partner[1:]] += 1
        if how in ("left", "full") and not partners:
            found[(*row, None)] += 1
        if (how == "semi" and partners) or (how == "anti" and not partners):
            found[row] += 1
    if how in ("right", "full"):
        for row in b:
            if not matched(row, a):
                found[(row[0], None, row[1])] += 1
    return found


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
@pytest.mark.parametrize("seed", range(5))
def test_a_join_of_any_kind(how, seed):
    a, b = random_rows(seed), random_rows(seed + 100)
    assert of_two(lambda a, b: a.join(b, on="k", how=how), a, b) == expected_join(a, b, how)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_a_join_by_a_computed_key(how):
    a, b = random_rows(7), random_rows(8)
    wanted = Counter()
    for k, v in a:
        partners = [(j, w) for j, w in b if None not in (k, j) and j + 1 == k]
        wanted.update((k, v, j, w) for j, w in partners)
        if how in ("left", "full") and not partners:
            wanted[k, v, None, None] += 1
    for j, w in b:
        if how in ("right", "full") and (j is None or j + 1 not in [k for k, _ in a]):
            wanted[None if j is None else j + 1, None, j, w] += 1
    found = of_two(lambda a, b: a.join(b, on=a.k == b.j + 1, how=how), a, b, right="j long, w long")
    assert found == wanted


def test_a_right_row_alone_has_its_key():
    assert of_two(lambda a, b: a.join(b, on="k", how="full"), [(1, 10)], [(2, 20), (None, 30)]) == {
        (1, 10, None): 1,
        (2, None, 20): 1,
        (None, None, 30): 1,
    }


def test_semijoin_counts_left_copies_and_not_partners():
    assert of_two(lambda a, b: a.semijoin(b, on="k"), [(1, 1), (1, 1)], [(1, 5), (1, 6), (1, 6)]) == {(1, 1): 2}


def test_cross_pairs_every_row_with_every_row():
    found = of_two(lambda a, b: a.join(b, how="cross", suffix="2"), [(1, 1), (None, 2)], [(3, 3), (3, 3)])
    assert found == {(1, 1, 3, 3): 2, (None, 2, 3, 3): 2}


def test_a_join_on_two_columns_from_one():
    flow = ebb.Dataflow()
    a, b = flow.input("a", "p long, q long"), flow.input("b", "r long, s long")
    flow.output("out", a.join(b, on={"p": "r", "q": "r"}))
    flow.output("semi", a.join(b, on={"p": "r", "q": "r"}, how="semi"))
    found = rows_of(flow, a=[(1, 1), (1, 2)], b=[(1, 9)])
    assert found == {"out": {(1, 1, 9): 1}, "semi": {(1, 1): 1}}


@pytest.mark.parametrize("seed", range(3))
def test_aggregates_skip_nulls_and_group_them(seed):
    rows = random_rows(seed, 20)
    found = of_one(
        lambda c: c.group_by("x").agg(
            n=ebb.count(),
            some=ebb.count("y"),
            total=ebb.sum("y"),
            mean=ebb.avg("y"),
            least=ebb.min("y"),
            most=ebb.max("y"),
            one=ebb.any_value("y"),
            kinds=ebb.count_distinct("y"),
        ),
        rows,
    )
    wanted = Counter()
    for key in {x for x, _ in rows}:
        ys = [y for x, y in rows if x == key]
        some = [y for y in ys if y is not None]
        least, most = (min(some), max(some)) if some else (None, None)
        total = sum(some) if some else None
        wanted[
            key, len(ys), len(some), total, total / len(some) if some else None, least, most, least, len(set(some))
        ] = 1
    assert found == wanted


def test_a_group_without_keys_is_one_row_or_none():
    build = lambda c: c.group_by().agg(n=ebb.count(), total=ebb.sum("x"))
    assert of_one(build, [(1, 2), (3, 4)]) == {(2, 4): 1}
    assert of_one(build, []) == {}
    assert of_one(lambda c: c.group_by().count(), [(1, 2), (1, 2)]) == {(2,): 1}


def test_expressions_of_aggregates_and_of_keys():
    build = lambda c: c.group_by(odd=c.x % 2).agg(
        range=ebb.max("x") - ebb.min("x"), shifted=ebb.sum(c.x + c.y) + col("odd")
    )
    assert of_one(build, [(1, 1), (3, 1), (2, 5)]) == {(1, 2, 7): 1, (0, 0, 7): 1}


def test_an_aggregate_of_its_own_key():
    assert of_one(lambda c: c.group_by("x").agg(s=ebb.sum("x"), d=ebb.count_distinct("x")), [(2, 1), (2, 2)]) == {
        (2, 4, 1): 1
    }


@pytest.mark.parametrize("seed", range(3))
def test_top_takes_the_first_of_each_group(seed):
    rows = random_rows(seed, 15)
    found = of_one(lambda c: c.group_by("x").top(2, order_by="-y"), rows)
    wanted = Counter()
    for key in {x for x, _ in rows}:
        ys = sorted(
            (y for x, y in rows if x == key), key=lambda y: (y is not None, y if y is not None else 0), reverse=True
        )
        wanted.update((key, y) for y in ys[:2])
    assert found == wanted


def test_limit_counts_copies():
    assert of_one(lambda c: c.order_by("-y").limit(3), [(1, 5), (1, 5), (2, 9), (3, 1)]) == {(1, 5): 2, (2, 9): 1}
    assert of_one(lambda c: c.order_by(lambda r: r.x + r.y).limit(1), [(1, 5), (4, 1)]) == {(4, 1): 1}


def test_own_reductions_see_sorted_rows_and_counts():
    seen = []
    build = lambda c: c.group_by("x").reduce(
        lambda rows: seen.append(rows) or [(len(rows), rows[0][0].y)], "size long, first long"
    )
    assert of_one(build, [(1, 5), (1, 2), (1, 5), (2, 7)]) == {(1, 2, 2): 1, (2, 1, 7): 1}
    group = next(rows for rows in seen if len(rows) == 2)
    assert [(tuple(row), count) for row, count in group] == [((2,), 1), ((5,), 2)]


def test_differences_and_thresholds():
    assert of_two(lambda a, b: a - b.rename({"w": "v"}), [(1, 1)], [(1, 1), (2, 2)]) == {(2, 2): -1}
    assert of_one(lambda c: c.threshold(lambda n: n - 1), [(1, 1), (1, 1), (2, 2)]) == {(1, 1): 1}
    assert of_one(lambda c: c.union(c).negate().distinct(), [(1, 1)]) == {}


def test_expressions_compute_what_they_say():
    flow = ebb.Dataflow()
    c = flow.input("c", "x long, d double, s string, day date, p decimal(8,2)")
    flow.output(
        "out",
        c.select(
            div=c.x / 0,
            floor=c.x // 2,
            rest=-c.x % 2,
            text=ebb.concat("s", ebb.lit("!")),
            year=F.year("day"),
            week=F.dayofweek("day"),
            price=c.p * 2,
            size=ebb.when(c.d > 1, "big").otherwise("small"),
            filled=c.s.fill_null("none"),
            log=F.log("d"),
        ),
    )
    found = rows_of(flow, c=[(3, 2.5, "a", date(2024, 2, 29), Decimal("1.25")), (None, math.nan, None, None, None)])[
        "out"
    ]
    assert found == {
        (None, 1, -1, "a!", 2024, 5, Decimal("2.50"), "big", "a", math.log(2.5)): 1,
        next(row for row in found if row[0] is None and row[1] is None): 1,
    }
    blank = next(row for row in found if row[1] is None)
    assert blank[:7] == (None,) * 7 and blank[7:9] == ("big", "none") and math.isnan(blank[9])


def reach(edges, roots):
    found = {(r, r) for r in roots}
    while True:
        more = found | {(root, dst) for root, node in found for src, dst in edges if src == node}
        if more == found:
            return found
        found = more


@pytest.mark.parametrize("seed", range(3))
def test_reach_is_the_transitive_closure(seed):
    random = Random(seed)
    pairs = [(random.randrange(8), random.randrange(8)) for _ in range(10)]
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "root long")
    start = roots.select("root", node="root")
    body = lambda reach: reach.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()
    flow.output("reach", start.iterate(body))
    assert set(rows_of(flow, edges=pairs, roots=[(0,), (3,)])["reach"]) == reach(pairs, [0, 3])


def test_a_bounded_loop_applies_the_body_so_often():
    for rounds in (1, 2, 5):
        found = of_one(
            lambda c, rounds=rounds: c.iterate(lambda v: v.with_columns(x=v.x + 1), max_rounds=rounds), [(0, 0)]
        )
        assert found == {(rounds, 0): 1}


def test_nested_loops_find_strong_components():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")

    def trimmed(cycle, edges):
        nodes = edges.select(node="dst", label="dst").union(edges.select(node="src", label="src")).distinct()
        labels = nodes.iterate(
            lambda known: (
                known.join(cycle, on={"node": "src"})
                .select(node="dst", label="label")
                .union(nodes)
                .group_by("node")
                .agg(label=ebb.min("label"))
            )
        )
        both = edges.join(labels, on={"src": "node"}).join(labels, on={"dst": "node"}, suffix="2")
        return both.filter(both.label == both.label2).select(src="dst", dst="src")

    turned = edges.select(src="dst", dst="src")
    flow.output("scc", edges.iterate(lambda kept: trimmed(trimmed(kept, edges), turned)))
    pairs = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 4), (5, 6)]
    assert set(rows_of(flow, edges=pairs)["scc"]) == {(1, 2), (2, 3), (3, 1), (4, 5), (5, 4)}
