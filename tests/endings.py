"""Sessions that end while a step is under way, each in a process of its own: `python -m tests.endings NAME`.

Rule: the process ends by itself, as the case says, within the time that a step takes; a signal that kills it is a
failure of whoever ran it.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import tempfile
import threading
import time
import weakref

import ebbflow as ebb
from ebbflow.errors import SessionClosed, StepUnderWay


def program(pause: float = 0.0) -> ebb.Dataflow:
    """A loop, so that a step walks for a while; with a pause, a function of the program that sleeps."""
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    start = edges.filter(ebb.col("src") == 0).select(node="src").distinct()
    step = lambda reach: reach.join(edges, on={"node": "src"}).select(node="dst").union(start).distinct()
    reach = start.iterate(step)
    flow.output("reach", reach if not pause else reach.map_rows(lambda row: slept(row, pause), "node long"))
    return flow


def slept(row, pause: float):
    time.sleep(pause)
    return row


def options(kept: bool, workers: int) -> dict:
    place = {"checkpoint": os.path.join(tempfile.mkdtemp(prefix="ebbflow-ending-"), "state")} if kept else {}
    return {"workers": workers, **place}


def busy(live, acknowledged: list) -> None:
    """A thread that makes steps until the session is closed."""
    at = 0
    try:
        while True:
            live.insert("edges", [(at + i, at + i + 1) for i in range(50)])
            live.commit()
            acknowledged.append(at := at + 50)
    except SessionClosed:
        return


def begun(live, daemon: bool = False) -> tuple[threading.Thread, list]:
    acknowledged: list = []
    thread = threading.Thread(target=busy, args=(live, acknowledged), daemon=daemon)
    thread.start()
    while len(acknowledged) < 3:
        time.sleep(0.001)
    return thread, acknowledged


def leave_with(kept: bool, workers: int) -> None:
    """The end of a `with` block, again and again, while another thread steps."""
    for i in range(4):
        with program().run(**options(kept, workers)) as live:
            thread, done = begun(live)
            time.sleep(0.003 * i)
        thread.join()
        assert len(live.snapshot("reach")) >= done[-1] + 1, (len(live.snapshot("reach")), done[-1])


def leave_with_an_error(kept: bool, workers: int) -> None:
    for i in range(4):
        try:
            with program().run(**options(kept, workers)) as live:
                thread, done = begun(live)
                time.sleep(0.003 * i)
                raise KeyError("the user's own")
        except KeyError:
            pass
        thread.join()
        assert len(live.snapshot("reach")) >= done[-1] + 1


def close_from_many(kept: bool, workers: int) -> None:
    for _ in range(3):
        live = program().run(**options(kept, workers))
        thread, done = begun(live)
        closing = [threading.Thread(target=live.close) for _ in range(8)]
        for one in closing:
            one.start()
        for one in [*closing, thread]:
            one.join()
        assert len(live.snapshot("reach")) >= done[-1] + 1
        counted = live.counters()
        assert counted["rows"] >= 0


def exit_with_a_daemon(kept: bool, workers: int) -> None:
    """The interpreter goes while a daemon thread is in the middle of a step."""
    live = program().run(**options(kept, workers))
    begun(live, daemon=True)
    time.sleep(float(os.environ.get("PAUSE", "0.01")))
    sys.exit(7)


def exit_with_daemons_that_wait(kept: bool, workers: int) -> None:
    live = program(0.02).run(**options(kept, workers))
    live.insert("edges", [(i, i + 1) for i in range(20)])
    for _ in range(5):
        threading.Thread(target=live.commit, daemon=True).start()
    time.sleep(0.05)
    sys.exit(7)


def collected_in_mid_step(kept: bool, workers: int) -> None:
    """Only the threads hold their sessions; the collector runs all the time, and finalizers close what they find."""
    refused = []

    def alone() -> None:
        live = program().run(**options(kept, workers))
        mine = lambda: try_to_close(live, refused)
        for at in range(0, 400, 50):
            try:
                live.insert("edges", [(at + i, at + i + 1) for i in range(50)])
            except SessionClosed:
                return
            cycle = Cycle()
            weakref.finalize(cycle, mine).atexit = False
            del cycle
            try:
                live.commit()
            except SessionClosed:
                return
            assert live.frontier("reach")

    threads = [threading.Thread(target=alone) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        gc.collect()
    for thread in threads:
        thread.join()
    gc.collect()


class Cycle:
    def __init__(self) -> None:
        self.me = self


def try_to_close(live, refused: list) -> None:
    try:
        live.close()
    except StepUnderWay as error:
        refused.append(error)


def interrupted_while_waiting(kept: bool, workers: int) -> None:
    """Ctrl-C is heard by a call that waits for another thread's step, and the session goes on."""
    calls = [
        lambda live: live.insert("edges", [(7, 8)]),
        lambda live: live.commit(),
        lambda live: live.advance_to(9),
        lambda live: live.changes("reach"),
        lambda live: live.close(),
        lambda live: live.__exit__(None, None, None),
    ]
    for call in calls:
        live = program(0.03).run(**options(kept, workers))
        live.insert("edges", [(i, i + 1) for i in range(40)])
        thread = threading.Thread(target=live.commit)
        thread.start()
        while not live._at.turns.stepping:
            time.sleep(0.001)
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        began = time.monotonic()
        try:
            call(live)
            raise AssertionError("Ctrl-C was not heard")
        except KeyboardInterrupt:
            assert thread.is_alive(), f"it was heard when the step was over, after {time.monotonic() - began:.2f} s"
        thread.join()
        timer.join()
        assert not live._at.turns.line and not live._at.turns.is_taken
        live.insert("edges", [(40, 41)])
        live.commit()
        live.close()
        assert len(live.snapshot("reach")) == 42, len(live.snapshot("reach"))


def first_sessions_at_once(kept: bool, workers: int) -> None:
    """Nothing is linked yet, and several threads want all of it."""
    raised: list = []

    def alone() -> None:
        try:
            with program().run(**options(kept, workers)) as live:
                live.insert("edges", [(0, 1), (1, 2)])
                assert len(live.commit()["reach"]) == 3
        except BaseException as error:
            raised.append(error)

    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=alone) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not raised, raised


def others(kept: bool, workers: int) -> None:
    """All in which the process goes on, one after the other."""
    for act in (
        leave_with,
        leave_with_an_error,
        close_from_many,
        collected_in_mid_step,
        interrupted_while_waiting,
    ):
        print(act.__name__, flush=True)
        act(kept, workers)


EXITS = {act.__name__: act for act in (exit_with_a_daemon, exit_with_daemons_that_wait)}


def main(name: str, kept: str = "0", workers: str = "1") -> None:
    faulthandler.enable()
    faulthandler.dump_traceback_later(300, exit=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.setswitchinterval(1e-5)
    globals()[name](kept == "1", int(workers))


if __name__ == "__main__":
    main(*sys.argv[1:])
