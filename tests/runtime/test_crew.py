import gc
import threading
import time
import weakref

import pytest

from ebbflow.runtime.crew import Crew


def test_each_answers_what_it_was_asked_and_none_waits_for_another():
    crew, both = Crew(2), threading.Barrier(2, timeout=10)
    for turn in range(50):
        crew.ask([lambda turn=turn: both.wait() * 0 + turn, lambda turn=turn: both.wait() * 0 - turn])
        assert crew.answers() == [turn, -turn]
    crew.end()


def test_an_error_is_raised_once_all_have_answered_and_the_crew_goes_on():
    crew, done = Crew(2), []

    def fails():
        raise ValueError("on purpose")

    crew.ask([fails, lambda: time.sleep(0.05) or done.append(1) or 0])
    with pytest.raises(ValueError, match="on purpose"):
        crew.answers()
    assert done == [1]
    crew.ask([lambda: 3, lambda: 4])
    assert crew.answers() == [3, 4]
    crew.end()


def test_a_crew_that_ended_has_no_thread_left_and_finished_what_it_was_at():
    crew, done = Crew(1), []
    crew.ask([lambda: time.sleep(0.05) or done.append(1) or 0])
    crew.end()
    assert done == [1] and not any(thread.is_alive() for thread in crew.threads)
    crew.end()  # again is nothing


def test_threads_go_when_nobody_holds_their_crew():
    crew = Crew(2)
    threads = crew.threads
    del crew
    gc.collect()
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)


def test_nobody_is_kept_alive_by_a_thread_that_waits():
    class Held:
        def work(self):
            return 1

    held, crew = Held(), Crew(1)
    seen = weakref.ref(held)
    crew.ask([held.work])
    assert crew.answers() == [1]
    del held
    deadline = time.monotonic() + 5
    while seen() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert seen() is None
    crew.end()
