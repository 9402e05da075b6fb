"""Histories on a simulated cluster: tasks twice, zombies, lost caches, dead drivers; nothing lost, nothing doubled."""

import pytest

from ebbflow.runtime.spark import task
from tests import simulated

SEEDS, PARTS = 160, 8


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_happens_to_tasks_and_driver_each_change_is_shown_once(part):
    counts: simulated.Counter = simulated.Counter()
    size = SEEDS // PARTS
    for seed in range(part * size, (part + 1) * size):
        counts.update(simulated.run(seed))
    assert simulated.faults(counts) > 10 * size
    assert counts["zombies that wrote"] and counts["a task twice"] and counts["a cache lost"]


def test_a_driver_that_dies_anywhere_is_among_them():
    counts: simulated.Counter = simulated.Counter()
    for seed in range(3000, 3020):
        counts.update(simulated.run(seed))
    assert counts["driver restarted"] >= 3
    assert len([what for what in counts if what.startswith("driver dead")]) >= 3


@pytest.mark.parametrize(
    "spoil",
    [
        "cached by shard",  # a process trusts what it has, whatever the order says
        "rows as they come",  # what a task makes depends on the order of its rows
    ],
)
def test_a_careless_task_is_found_out(spoil, monkeypatch):
    if spoil == "cached by shard":
        monkeypatch.setattr(task.Pages, "catch_up", lambda self, chain, read: None)
    else:
        monkeypatch.setattr(task.blobs, "canonical", lambda rows: tuple(map(task.np.array, rows)))
    with pytest.raises(Exception):  # wrong answers, or state that makes no sense
        for seed in range(40):
            simulated.run(seed)
