import ctypes
import gc
import threading
import time
import weakref

import numpy as np
import pytest

from ebbflow.engine import threads as crews
from ebbflow.engine import walk as w
from ebbflow.engine.threads import WorkerThreads

IN_PYTHON = 0  # in place of a header: nobody walks, everything is done in Python


def test_each_answers_what_it_was_asked_and_none_waits_for_another():
    crew, both = WorkerThreads([IN_PYTHON] * 2), threading.Barrier(2, timeout=10)
    for turn in range(50):
        if turn % 2:
            crew.call_up()
        if turn % 10 == 5:
            time.sleep(0.02)  # they have fallen asleep, though they were called up
        crew.dispatch([lambda _, turn=turn: both.wait() * 0 + turn, lambda _, turn=turn: both.wait() * 0 - turn])
        assert crew.answers() == [turn, -turn]
    crew.end()


def test_an_error_is_raised_once_all_have_answered_and_the_crew_goes_on():
    crew, done = WorkerThreads([IN_PYTHON] * 2), []

    def fails(_):
        raise ValueError("on purpose")

    crew.dispatch([fails, lambda _: time.sleep(0.05) or done.append(1) or 0])
    with pytest.raises(ValueError, match="on purpose"):
        crew.answers()
    assert done == [1]
    crew.dispatch([lambda _: 3, lambda _: 4])
    assert crew.answers() == [3, 4]
    crew.end()


def test_a_crew_that_ended_has_no_thread_left_and_finished_what_it_was_at():
    crew, done = WorkerThreads([IN_PYTHON]), []
    crew.dispatch([lambda _: time.sleep(0.05) or done.append(1) or 0])
    crew.end()
    assert done == [1] and not any(thread.is_alive() for thread in crew.threads)
    crew.end()  # again is nothing


def test_one_that_waits_long_sleeps_and_one_that_is_called_up_wakes():
    crew = WorkerThreads([IN_PYTHON])
    crew.dispatch([lambda _: 1])
    assert crew.answers() == [1]
    time.sleep(0.05)
    spent = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - spent < 0.15
    crew.call_up()
    time.sleep(0.05)
    crew.dispatch([lambda _: 2])
    assert crew.answers() == [2]
    crew.end()


def test_an_answer_that_takes_long_is_waited_for_asleep():
    crew = WorkerThreads([IN_PYTHON])
    spent = time.process_time()
    crew.dispatch([lambda _: time.sleep(0.3) or 7])
    assert crew.answers() == [7]
    assert time.process_time() - spent < 0.15
    crew.end()


def test_a_signal_is_not_an_answer():
    """Who waits is woken without one, and waits again."""
    crew, go = WorkerThreads([IN_PYTHON]), threading.Event()
    crew.dispatch([lambda _: go.wait(10) * 5])
    (post,) = crew.posts
    heard = post.words[crews.HEARD :].ctypes.data
    ctypes.CDLL(None).sem_post(ctypes.c_void_p(heard))
    assert not crews.wait_for(post.at)
    go.set()
    assert crew.answers() == [5]
    crew.end()


def test_posts_do_not_share_a_line():
    crew = WorkerThreads([IN_PYTHON] * 3)
    assert all((post.at + 1) % crews.CACHE_LINE == 0 for post in crew.posts)
    assert np.diff([post.at for post in crew.posts]).tolist() == [crews.POST] * 2
    crew.end()


def test_who_has_begun_nothing_is_told_so():
    crew, told = WorkerThreads([IN_PYTHON]), []
    crew.dispatch([lambda reason: told.append(reason) or 0])
    crew.answers()
    assert told == [w.PAUSED]
    crew.end()


def test_threads_go_when_nobody_holds_their_crew():
    crew = WorkerThreads([IN_PYTHON] * 2)
    threads = crew.threads
    del crew
    gc.collect()
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)


def test_nobody_is_kept_alive_by_a_thread_that_waits():
    class Held:
        def work(self, _):
            return 1

    held, crew = Held(), WorkerThreads([IN_PYTHON])
    seen = weakref.ref(held)
    crew.dispatch([held.work])
    assert crew.answers() == [1]
    del held
    deadline = time.monotonic() + 5
    while seen() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert seen() is None
    crew.end()
