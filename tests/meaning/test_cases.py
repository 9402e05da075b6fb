"""The asking itself: a runtime that is wrong is found out, and told by a small case that can be pasted."""

import numpy as np
import pytest

from ebbflow.runtime.oracle.runtime import OracleRuntime
from tests import bulk
from tests.meaning.cases import Case, failure, make_case, shown, shrunk
from tests.meaning.runtimes import RUNTIMES


class Wrong(OracleRuntime):
    """The oracle, spoiled."""

    def __init__(self, graph, pool):
        super().__init__(graph, pool=pool)


class Forgetful(Wrong):
    """Loses retractions."""

    def take(self, output):
        lanes, times, diffs = super().take(output)
        return lanes[:, diffs > 0], times[diffs > 0], diffs[diffs > 0]


class Coarse(Wrong):
    """Shows changes in time, but at the wrong times: the first coordinate of all of them is the latest."""

    def take(self, output):
        lanes, times, diffs = super().take(output)
        if len(times):
            times[:, 0] = times[:, 0].max()
        return lanes, times, diffs


class Hasty(Wrong):
    """Says that more is complete than is."""

    def frontier(self, output):
        return tuple(tuple(c + 1 for c in time) for time in super().frontier(output))


class Stuttering(Wrong):
    """Says everything twice."""

    def take(self, output):
        lanes, times, diffs = super().take(output)
        return np.concatenate([lanes, lanes], axis=1), np.concatenate([times, times]), np.concatenate([diffs, diffs])


class Idle(Wrong):
    """Owes what unordered times make together: only times of the input are looked at."""

    def take(self, output):
        lanes, times, diffs = super().take(output)
        known = {time for history in self.history.values() for _, time, _ in history}
        kept = np.array([tuple(time) in known for time in times.tolist()], bool)
        return lanes[:, kept], times[kept], diffs[kept]


@pytest.mark.parametrize("wrong", [Forgetful, Coarse, Hasty, Stuttering, Idle])
def test_a_wrong_runtime_is_found_out(wrong, monkeypatch):
    monkeypatch.setitem(RUNTIMES, "wrong", wrong)
    with pytest.raises(AssertionError) as found:
        bulk.run(range(200), seed=1, runtime="wrong")
    assert 0 <= found.value.case < 200


def test_the_oracle_agrees_with_itself():
    assert bulk.run(range(100), seed=1, runtime="oracle")["cases"] == 100


def test_a_failing_case_is_made_small(monkeypatch):
    monkeypatch.setitem(RUNTIMES, "wrong", Forgetful)
    with pytest.raises(AssertionError) as found:
        bulk.run(range(200), seed=1, runtime="wrong")
    case, _, _ = make_case(1, found.value.case)
    small = shrunk(case, lambda smaller: failure(smaller, "wrong") is not None)
    assert failure(small, "wrong") is not None
    assert small.changes <= 2 and len(small.program.nodes) <= 5


def test_a_printed_case_is_the_case(monkeypatch):
    for number in range(30):
        case, _, _ = make_case(2, number)
        found: dict = {}
        text = (
            shown(case, "oracle")
            .replace("judge(", "found = ((", 1)
            .replace("program.graph(), steps)", "program, steps))")
        )
        names: dict = {}
        exec(text + "\n    return program, steps", names)
        program, steps = names["test_found_in_bulk"]()
        again = Case(program, tuple(steps))
        assert shown(again, "oracle") == shown(case, "oracle"), found


def test_a_case_is_a_function_of_seed_and_number():
    for number in (3, 17):
        assert shown(make_case(5, number)[0], "oracle") == shown(make_case(5, number)[0], "oracle")
    assert shown(make_case(5, 3)[0], "oracle") != shown(make_case(6, 3)[0], "oracle")
