"""A crew: threads that wait for something to do, beside the one that asks them.

A step of a few milliseconds wakes them and hears from them once; so each has a queue for what it is asked and one for
what it answers, and nothing else is made for a step.

Rule: what is asked is answered once, in the order of the asking; a crew that has ended has no thread left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from ebbflow.columns.kernel import wrap_around

Job = Callable[[], int]
Answer = tuple[int, BaseException | None]


def wait_for_jobs(asked: SimpleQueue[Job | None], answers: SimpleQueue[Answer]) -> None:
    """The life of a thread.  It knows nothing of its crew, so that nobody is kept alive by one that waits."""
    wrap_around()
    while (job := asked.get()) is not None:
        try:
            answer: Answer = job(), None
        except BaseException as error:
            answer = 0, error
        del job
        answers.put(answer)
        del answer


class Crew:
    def __init__(self, count: int):
        self._asked: list[SimpleQueue[Job | None]] = [SimpleQueue() for _ in range(count)]
        self._answers: list[SimpleQueue[Answer]] = [SimpleQueue() for _ in range(count)]
        self.threads = [
            threading.Thread(target=wait_for_jobs, args=queues, name=f"ebbflow-{i}", daemon=True)
            for i, queues in enumerate(zip(self._asked, self._answers, strict=True))
        ]
        for thread in self.threads:
            thread.start()

    def ask(self, jobs: Sequence[Job]) -> None:
        """A job for each of them."""
        for asked, job in zip(self._asked, jobs, strict=True):
            asked.put(job)

    def answers(self) -> list[int]:
        """What they answer to what they were asked last; the first error of any, once all have answered."""
        heard = [answers.get() for answers in self._answers]
        for _, error in heard:
            if error is not None:
                raise error
        return [answer for answer, _ in heard]

    def end(self) -> None:
        """Let them finish what they are at, and go."""
        self._dismiss()
        for thread in self.threads:
            thread.join()

    def _dismiss(self) -> None:
        for asked in self._asked:
            asked.put(None)

    def __del__(self) -> None:
        self._dismiss()
