"""Of several threads each has its turn, in the order in which they came; who can never have it is refused."""

import signal
import threading
import time

import pytest

from ebbflow.errors import StepUnderWay
from ebbflow.turns import Turns, working_for


def wait_until(holds):
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until, "it never came to that"
        time.sleep(0.0005)


def held(turns, go_on, entered):
    turns.take("hold", lambda: (entered.set(), go_on.wait(20)))


def holding(turns):
    """A thread that is served until it may go on."""
    go_on, entered = threading.Event(), threading.Event()
    thread = threading.Thread(target=held, args=(turns, go_on, entered))
    thread.start()
    assert entered.wait(20)
    return thread, go_on


def test_threads_are_served_in_the_order_in_which_they_came():
    turns, served, threads = Turns(), [], []
    first, go_on = holding(turns)
    for number in range(8):
        threads.append(threading.Thread(target=turns.take, args=("call", served.append, number)))
        threads[-1].start()
        wait_until(lambda number=number: len(turns.line) == number + 1)
    go_on.set()
    for thread in [first, *threads]:
        thread.join()
    assert served == list(range(8)) and not turns.line and not turns.is_taken


def test_who_calls_in_a_loop_does_not_keep_others_out():
    turns, is_over, calls = Turns(), threading.Event(), []

    def loop():
        while not is_over.is_set():
            turns.take("loop", lambda: (calls.append(1), time.sleep(0.0005)))

    looping = threading.Thread(target=loop)
    looping.start()
    wait_until(lambda: calls)
    waited = []
    for _ in range(20):
        before = len(calls)
        turns.take("call", lambda: None)
        waited.append(len(calls) - before)
    is_over.set()
    looping.join()
    assert max(waited) <= 3, waited  # the one that was being served, and one more that was about to be


def test_who_is_served_and_calls_again_is_refused_and_so_is_who_works_for_it():
    turns, said = Turns(), []

    def again():
        with pytest.raises(StepUnderWay, match=r"^again comes in the middle of another call") as refusal:
            turns.take("again", lambda: said.append("served"))
        turns.stepping = me = threading.get_ident()
        with pytest.raises(StepUnderWay, match=r"^again comes in the middle of a step"):
            turns.take("again", lambda: said.append("served"))

        def helps():
            with working_for(me):
                with pytest.raises(StepUnderWay, match=r"^help comes in the middle of a step"):
                    turns.take("help", lambda: said.append("served"))
                said.append("refused")

        thread = threading.Thread(target=helps)
        thread.start()
        thread.join(20)
        turns.stepping = 0
        return refusal.value.hint

    assert "handler" in turns.take("call", again) and said == ["refused"]
    turns.take("call", lambda: said.append("served"))
    assert said == ["refused", "served"]


def test_what_is_raised_lets_the_next_one_have_its_turn():
    turns = Turns()

    def fails():
        raise KeyError("mine")

    for _ in range(3):
        with pytest.raises(KeyError):
            turns.take("fail", fails)
    thread, go_on = holding(turns)
    failed = []

    def try_it():
        with pytest.raises(KeyError):
            turns.take("fail", fails)
        failed.append(True)

    failing = threading.Thread(target=try_it)
    failing.start()
    wait_until(lambda: turns.line)
    go_on.set()
    thread.join()
    failing.join()
    assert failed and turns.take("call", lambda: 5) == 5 and not turns.line and not turns.is_taken


def test_ctrl_c_is_heard_while_waiting_and_leaves_no_place_behind():
    was = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        turns = Turns()
        thread, go_on = holding(turns)
        threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,)).start()
        threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            turns.take("call", lambda: None)
        try:
            time.sleep(0.2)  # the second one of the two
        except KeyboardInterrupt:
            pass
        assert not turns.line and turns.is_taken
        go_on.set()
        thread.join()
        assert turns.take("call", lambda: 5) == 5
    finally:
        signal.signal(signal.SIGINT, was)


def test_a_signal_handler_of_who_waits_is_refused_and_does_not_wait_for_itself():
    turns, refused = Turns(), []

    def handler(number, frame):
        with pytest.raises(StepUnderWay):
            turns.take("handler", lambda: None)
        refused.append(number)
        go_on.set()

    was = signal.signal(signal.SIGUSR1, handler)
    try:
        thread, go_on = holding(turns)
        threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1)).start()
        turns.take("call", lambda: None)
        thread.join()
        assert refused == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, was)
