"""Histories on a simulated cluster: tasks twice, zombies, lost caches, dead drivers; nothing lost, nothing doubled."""

import pytest

from ebbflow.durable.image import Pages
from ebbflow.native.memory import Fixed
from ebbflow.runtime.spark import addresses, task
from tests import simulated

SEEDS, PARTS, FAULTS = 200, 8, 200  # faults in each part, at least


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_happens_to_tasks_and_driver_each_change_is_shown_once(part):
    counts: simulated.Counter = simulated.Counter()
    size = SEEDS // PARTS
    for seed in range(part * size, (part + 1) * size):
        counts.update(simulated.run(seed))
    assert simulated.faults(counts) > FAULTS
    assert counts["zombies that wrote"] and counts["a task twice"] and counts["a cache lost"]


def test_a_driver_that_dies_anywhere_is_among_them():
    counts: simulated.Counter = simulated.Counter()
    for seed in range(3000, 3020):
        counts.update(simulated.run(seed))
    assert counts["driver restarted"] >= 3
    assert len([what for what in counts if what.startswith("driver dead")]) >= 3


def test_a_program_lies_where_the_driver_has_nothing(monkeypatch):
    nobodys = 0x5200_0000_0000  # nor do other tests of this process have anything there
    drawn = [nobodys + 5 * addresses.GIB, nobodys + 50 * addresses.GIB]
    draws = iter([drawn[0], drawn[0], drawn[1]])
    monkeypatch.setattr(addresses.random.SystemRandom, "randrange", lambda self, first, end, step: next(draws))
    taken = Fixed(drawn[0] + addresses.GIB, 4096)
    assert addresses.anywhere(2, addresses.GIB) == (drawn[1], addresses.GIB)
    monkeypatch.setattr(addresses.random.SystemRandom, "randrange", lambda self, first, end, step: drawn[0])
    assert addresses.anywhere(2, addresses.GIB) == (drawn[0], addresses.GIB)  # what lies there may give way
    taken.close()
    assert addresses.is_free(drawn[0], 2 * addresses.GIB)


def test_many_heaps_are_smaller():
    base, reserve = addresses.anywhere(4096, addresses.RESERVE)
    assert addresses.GIB <= reserve < addresses.RESERVE
    assert base >= addresses.LOWEST_ON_SPARK and base + 4096 * reserve <= addresses.HIGHEST_ON_SPARK


@pytest.mark.parametrize(
    "spoil",
    [
        "cached by shard",  # a process trusts what it has, whatever the order says
        "rows as they come",  # what a task makes depends on the order of its rows
    ],
)
def test_a_careless_task_is_found_out(spoil, monkeypatch):
    if spoil == "cached by shard":
        monkeypatch.setattr(Pages, "catch_up", lambda self, chain, read: None)
    else:
        monkeypatch.setattr(task.blobs, "canonical", lambda rows: tuple(map(task.np.array, rows)))
    with pytest.raises(Exception):  # wrong answers, or state that makes no sense
        for seed in range(40):
            simulated.run(seed)
