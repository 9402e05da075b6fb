"""A journal read back says what is alive, however it was written, and is written in proportion to what was added."""

from random import Random

import numpy as np

from ebbflow.durable.journal import Journal
from ebbflow.durable.segments import FEW_LINKS


class Queue:
    """Numbers that come in order and leave in order, as rows that wait do."""

    def __init__(self):
        self.settled: list[int] = []
        self.journal = Journal(lambda: np.array(self.settled, np.int64), lambda: len(self.settled))
        self.files: dict[str, object] = {}
        self.written = 0

    def step(self, new: list[int], first: int, number: int, fails: bool = False) -> None:
        self.journal.add(np.array(new, np.int64))
        delta = self.journal.delta()
        if fails:
            self.journal.drop()
            return
        name = f"file {number}"
        chain = self.journal.next_chain(name)
        if delta is not None:
            self.files[name] = delta
            self.written += len(delta.words)
        self.journal.settle(name)
        assert self.journal.chain == chain and len(chain) <= 4 * FEW_LINKS
        self.settled = [x for x in self.settled + new if x >= first]

    def read(self) -> list[int]:
        again = Journal(lambda: np.array(self.settled, np.int64), lambda: len(self.settled))
        words = again.read((name, self.files[name]) for name in self.journal.chain)
        self.journal = again
        return words.tolist()


def test_what_is_alive_is_there_whatever_was_merged_dropped_or_opened_again():
    for seed in range(6):
        random, queue, last, first, added = Random(seed), Queue(), 0, 0, 0
        for number in range(600):
            many = random.choice((0, 1, 2, 5, 40, 400 if seed % 2 else 3))
            new = list(range(last, last + many))
            if random.random() < 0.2:
                queue.step([-1, -2, -3], first, number, fails=True)
            last += many
            first = max(first, last - random.choice((10, 1000, 5000)))
            queue.step(new, first, number)
            added += many
            if random.random() < 0.1:
                assert [x for x in queue.read() if x >= first] == list(range(first, last))
        assert queue.written < 8 * added + 200_000


def test_what_is_renewed_holds_nothing_of_before():
    journal, alive, files = Journal(lambda: np.array(alive, np.int64)), [], {}
    for number in range(40):
        journal.add(np.array([number], np.int64))
        if number % 3 == 0:
            alive = []
            journal.renew()
        files[str(number)] = journal.delta()
        journal.settle(str(number))
        alive = [*alive, number]
        words = Journal(lambda: np.empty(0)).read((name, files[name]) for name in journal.chain)
        assert words.tolist() == alive


def test_a_step_that_adds_nothing_writes_nothing():
    journal = Journal(lambda: np.empty(0, np.int64))
    assert journal.delta() is None
    journal.settle("x")
    assert journal.chain == []
