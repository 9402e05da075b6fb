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


def above_zero(values):
    return [x for x in values if x > 0]


MEANINGS = {  # of the values of a group that are there
    "geometric_mean": lambda values: statistics.geometric_mean(above_zero(values)),
    "harmonic_mean": lambda values: statistics.harmonic_mean(above_zero(values)),
    "root_mean_square": lambda values: math.sqrt(statistics.fmean(x * x for x in values)),
}


def test_every_statistic_is_compared_with_something():
    parts = {"spread"}  # of others, under no name of its own
    assert set(OF_ONE) | set(OF_TWO) == parts | (set(CALLS) & (set(OF_ONE) | set(OF_TWO))) | set(MEANINGS)


@pytest.mark.parametrize("name", MEANINGS)
def test_a_statistic_is_that_of_the_values_that_are_there_and_null_where_none_is(name):
    flow = ebb.Dataflow()
    rows = flow.input("rows", "k long, x double")
    flow.output("columns", rows.group_by("k").agg(found=getattr(F, name)("x")))
    flow.output("sql", flow.sql(f"select k, {name}(x) as found from rows group by k"))
    chance, there = random.Random(7), []
    with flow.run() as live:
        for _ in range(12):
            new = [(chance.randrange(4), chance.choice([None, -2.0, 0.0, chance.uniform(0.1, 50)])) for _ in range(9)]
            new.append((4, None))
            gone = chance.sample(there, len(there) // 3)
            live.insert("rows", new)
            live.delete("rows", gone)
            live.commit()
            there += new
            for row in gone:
                there.remove(row)
            found = {k: statistic for k, statistic, _ in live.snapshot("columns").rows()}
            assert found == {k: statistic for k, statistic, _ in live.snapshot("sql").rows()}
            assert set(found) == {k for k, _ in there}
            for k, statistic in found.items():
                meant = meaning(name, [x for key, x in there if key == k and x is not None])
                assert statistic is None if meant is None else math.isclose(statistic, meant, rel_tol=1e-12)


def meaning(name, values):
    try:
        return MEANINGS[name](values)
    except statistics.StatisticsError:  # of no values
        return None
