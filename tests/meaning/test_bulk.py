"""Twelve hundred random cases, in parts that can run side by side; `python -m tests.bulk` runs any number."""

import pytest

from tests import bulk

PARTS, CASES, SEED = 20, 1200, 7


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_over_random_histories_are_right_at_every_time(part):
    size = CASES // PARTS
    cases = range(part * size, (part + 1) * size)
    try:
        counts = bulk.run(cases, SEED)
    except Exception as error:
        pytest.fail(bulk.explain(SEED, error.case, bulk.runtime_for(error.case, None)))
    print(bulk.report(counts, SEED, 0))
    nested = counts["2 nested loops"] + counts["3 nested loops"]
    assert counts["cases"] == size
    assert nested >= 0.3 * size and counts["2 coordinates"] + counts["3 coordinates"] >= 0.2 * size
    assert counts["3 coordinates"] and counts["2 coordinates"] >= 0.15 * size
