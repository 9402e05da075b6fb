"""Claims about statistics that Spark does not have: they are Python's, also after rows were taken away.

Those that Spark has are compared with Spark's in tests/relational/test_aggregates_like_spark.py.
"""

import math
import random
import statistics

import pytest

import ebbflow as ebb
from ebbflow import functions as F
from ebbflow.expressions.statistics import OF_ONE, OF_TWO
from tests.relational.test_aggregates_like_spark import CALLS

MEANINGS = {"geometric_mean": statistics.geometric_mean, "harmonic_mean": statistics.harmonic_mean}


def test_every_statistic_is_compared_with_something():
    parts = {"spread"}  # of others, under no name of its own
    assert set(OF_ONE) | set(OF_TWO) == parts | (set(CALLS) & (set(OF_ONE) | set(OF_TWO))) | set(MEANINGS)


@pytest.mark.parametrize("name", MEANINGS)
def test_a_mean_is_that_of_the_values_above_zero_that_are_there(name):
    flow = ebb.Dataflow()
    rows = flow.input("rows", "k long, x double")
    flow.output("means", rows.group_by("k").agg(mean=getattr(F, name)("x")))
    chance, there = random.Random(7), []
    with flow.run() as live:
        for _ in range(12):
            new = [(chance.randrange(4), chance.choice([None, -2.0, 0.0, chance.uniform(0.1, 50)])) for _ in range(9)]
            gone = chance.sample(there, len(there) // 3)
            live.insert("rows", new)
            live.delete("rows", gone)
            live.commit()
            there += new
            for row in gone:
                there.remove(row)
            found = {k: mean for k, mean, _ in live.snapshot("means").rows()}
            assert set(found) == {k for k, _ in there}
            for k, mean in found.items():
                values = [x for key, x in there if key == k and x is not None and x > 0]
                assert mean is None if not values else math.isclose(mean, MEANINGS[name](values), rel_tol=1e-12)
