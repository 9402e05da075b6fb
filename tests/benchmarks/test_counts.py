"""The work done for each workload is what it was, to the last visit; and the answers are."""

import pytest

from benchmarks import counts

ON_PURPOSE = "If this is meant: python -m benchmarks.counts --write, and say why in the commit."


@pytest.mark.parametrize("name", counts.CASES)
def test_a_workload_costs_what_it_cost(name):
    found = counts.differences(counts.CASES[name](), counts.stored()[name])
    assert not found, "\n".join([f"{name}:", *found, ON_PURPOSE])


def test_a_count_that_differs_by_one_is_told():
    before = {"times": {"visits": 10, "words": 1000}, "checks": {"final": "ab"}}
    assert counts.differences({"times": {"visits": 11, "words": 1000}, "checks": {"final": "ab"}}, before) == [
        "times: visits is 11 and was 10"
    ]
    assert counts.differences({"times": {"visits": 10, "words": 1010}, "checks": {"final": "ab"}}, before) == []
    assert counts.differences({"times": {"visits": 10, "words": 1100}, "checks": {"final": "ab"}}, before)
    assert counts.differences({"times": {"visits": 10, "words": 1000}, "checks": {}}, before)
