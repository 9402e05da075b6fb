"""Order statistics against looking at all values: the same rows after every change, nulls and negative counts too."""

import random

import pytest

import ebbflow as ebb
import ebbflow.functions as F
from tests.tuned import tuned

ASKED = {
    "ends": lambda g: g.agg(a=ebb.min("x"), b=ebb.max("x"), n=ebb.count(), c=ebb.count("x"), d=ebb.count_distinct("x")),
    "many": lambda g: g.agg(m=F.median("x"), p=F.percentile("x", 0.9), q=F.percentile("x", 0.0)),
    "approximate": lambda g: g.agg(m=F.percentile_approx("x", 0.3), b=ebb.max("x")),
    "first": lambda g: g.top(3, "x"),
    "last": lambda g: g.top(2, "-x"),
}
TYPES = {"long": lambda n: n, "string": lambda n: f"é{n % 7}{n}", "double": lambda n: n / 4 - 3}


@pytest.mark.parametrize("asked", ASKED)
def test_an_answer_from_the_index_is_that_of_looking_at_all(asked):
    types = ["long", "double"] if asked in ("many", "approximate") else list(TYPES)
    for type in types:
        flow = ebb.Dataflow()
        flow.output("out", ASKED[asked](flow.input("xs", f"k long, x {type}").group_by("k")))
        rng, sessions = random.Random(f"{asked} {type}"), (tuned(flow), tuned(flow, index_rows=1))
        for t in range(40):
            rows = []
            for _ in range(rng.choice([1, 1, 2, 9])):
                x = None if rng.random() < 0.15 else TYPES[type](rng.randint(0, 12))
                rows.append((x, 2 * t + rng.randint(0, 1), rng.choice([1, 1, 1, -1, -1, 2])))
            shown = []
            for live in sessions:
                for x, time, diff in rows:
                    live.apply("xs", [(1, x)], time=time, diff=diff)
                live.advance_to(2 * t + 2)
                shown.append(sorted(live.changes("out").rows(), key=repr))
            assert shown[0] == shown[1], (t, rows)
        for live in sessions:
            live.close()


def test_a_refused_step_leaves_the_index_as_it_was():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "k long, x long")
    flow.output("least", xs.group_by("k").agg(a=ebb.min("x"), b=ebb.max("x")))
    flow.output("sum", xs.group_by("k").agg(total=ebb.sum("x")))
    with tuned(flow, index_rows=4) as live:
        live.apply("xs", [(1, x) for x in range(40)], time=0)
        live.advance_to(1)
        live.apply("xs", [(1, 50)], time=1)
        live.advance_to(2)
        live.apply("xs", [(1, 2**62), (1, 2**62 + 1), (1, -7)], time=2)
        with pytest.raises(ebb.errors.NumberOverflow):
            live.advance_to(3)
        live.delete("xs", [(1, 2**62), (1, 2**62 + 1), (1, -7)], time=2)
        live.delete("xs", [(1, 0), (1, 50)], time=2)
        live.advance_to(3)
        assert live.snapshot("least").rows() == [(1, 1, 39, 1)]
