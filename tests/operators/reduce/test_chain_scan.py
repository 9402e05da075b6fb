import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ebbflow as ebb


def counting():
    flow = ebb.Dataflow(time=("valid", "system"))
    xs = flow.input("xs", "x long")
    flow.output("counts", xs.group_by("x").agg(n=ebb.count()))
    flow.output("distinct", xs.distinct())
    return flow


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3), st.sampled_from([1, -1, 2])), max_size=8
        ),
        min_size=1,
        max_size=3,
    )
)
@pytest.mark.parametrize("still", [True, False], ids=["a line", "a grid"])
def test_at_every_time_what_was_said_is_the_count(still, steps):
    everything, said = [], []
    with counting().run() as live:
        for i, changes in enumerate(steps):
            rows = [(x, 4 * i + a, 0 if still else b, d) for x, a, b, d in changes]
            for x, a, b, d in rows:
                live.apply("xs", {"x": [x]}, time=(a, b), diff=d)
            everything += rows
            live.advance_to((4 * i + 4, 0))
            said += [(x, n, *time, d) for x, n, time, d in live.changes("counts").rows()]
            for a in range(4 * i + 4):
                for b in range(4):
                    wanted, found = {}, {}
                    for x, s, t, d in everything:
                        if s <= a and t <= b:
                            wanted[x] = wanted.get(x, 0) + d
                    for x, n, s, t, d in said:
                        if s <= a and t <= b:
                            found[x, n] = found.get((x, n), 0) + d
                    assert {row for row, d in found.items() if d} == {(x, n) for x, n in wanted.items() if n}


def test_a_line_of_times_is_scanned_and_not_replayed():
    with counting().run() as live:
        for step in range(3):
            for t in range(50):
                live.apply("xs", {"x": [t % 3]}, time=(50 * step + t + 1, 0))
            live.advance_to((50 * step + 51, 0))
        assert live.counters()["replayed"] == 0
        live.apply("xs", {"x": [0, 0]}, time=[(200, 9), (201, 8)])
        live.advance_to((300, 0))
        assert live.counters()["replayed"] > 0
