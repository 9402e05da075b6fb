"""Worker threads: one thread for each worker but the first, waiting in compiled code for steps to run.

Each thread has a *post*, some cache lines shared with the thread that dispatches work, and waits there without the
interpreter's lock: it walks when it is told to, and returns to Python only for what needs Python. So a step of a few
milliseconds never waits for the interpreter's lock. A thread that has waited long sleeps on a semaphore; one that is
woken before there is work polls for it for a while.

Rule: each order is answered once, before the next is given; after `end` no thread is left.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence

import numpy as np

from ebbflow.engine.walk import FAILED, FINISHED, FULL, PAUSED, walk
from ebbflow.errors import NoThread
from ebbflow.native.kernel import CACHE_LINE, address_of, cache_lines, inline, kernel, wrap_around
from ebbflow.native.memory import H, call_back, load_shared, store_shared, yield_core
from ebbflow.native.structs import Words
from ebbflow.operators.exchange.barrier import SPINS, STOPPED
from ebbflow.trace.worker_fields import Worker
from ebbflow.turns import working_for

Job = Callable[[int], int]  # what is to be done in Python, given what the walk came back for

# ---- a post: lines of words, so that no two who write share one --------------------------------------
# The dispatcher's: the next order; the last given; the worker's header; whether the thread shall leave.
CALLED, ORDER, WORKER_HEADER, IS_OVER = 0, 1, 2, 3
WAIT_CALL, WAKE_CALL = 4, 5  # the functions of a semaphore, which nobody writes to
# Written by the thread: the order it runs; the last one done; what its walk came back for.
DOING, ORDER_DONE, ANSWER = CACHE_LINE, CACHE_LINE + 1, CACHE_LINE + 2
AWAKE, HEARD = 2 * CACHE_LINE, 3 * CACHE_LINE  # the semaphores, a cache line each: there is work; there is an answer
POST = 4 * CACHE_LINE
THREAD_LEAVES = -1  # in place of what the walk came back for
FOR_ORDERS, FOR_ANSWERS = 2048, 256  # how often it is yielded before sleeping: for 1 ms, and 0.1 ms

_libc = ctypes.CDLL(None, use_errno=True)


@inline
def semaphore(at: int) -> int:
    """The machine address of a word."""
    return 8 * (at + 1)


@kernel
def wait_for_change(at: int, word: int, turns: int) -> bool:
    """Wait a while for a word to become another one; whether it did."""
    spins = 0
    while load_shared(at) == word:
        spins += 1
        if spins > SPINS:
            if spins > SPINS + turns:
                return False
            yield_core()
    return True


@kernel
def answer(post: Words, told: int) -> None:
    """The order is done, with result `told`.  If the walk did not finish, workers at its barrier are released."""
    worker = Worker(post[WORKER_HEADER])
    if worker and worker.barrier and told != FINISHED:
        store_shared(worker.barrier + STOPPED, 1)
    post[ANSWER] = told
    store_shared(post + ORDER_DONE, post[DOING])
    call_back(post[WAKE_CALL], semaphore(post + HEARD))


@kernel
def stand_by(post: Words) -> int:
    """Wait for orders and walk, again and again, until Python is needed.  Returns what for: what the walk came back
    for, PAUSED if it has not begun, or THREAD_LEAVES.
    """
    while True:
        done = post[ORDER_DONE]
        is_patient = done > 0
        while load_shared(post + ORDER) == done:
            if load_shared(post + IS_OVER):
                return THREAD_LEAVES
            is_patient |= load_shared(post + CALLED) > done
            if not is_patient or not wait_for_change(post + ORDER, done, FOR_ORDERS):
                is_patient = False
                call_back(post[WAIT_CALL], semaphore(post + AWAKE))
        post[DOING] = done + 1
        worker = Worker(post[WORKER_HEADER])
        if worker == 0:
            return PAUSED
        worker.fuel = FULL
        reason = walk(worker)
        if reason != FINISHED:
            return reason
        answer(post, reason)


@kernel
def call_up(at: int, count: int) -> None:
    """There will be orders for the posts from `at` on: wake their threads."""
    for post in range(at, at + POST * count, POST):
        store_shared(post + CALLED, H[post + ORDER] + 1)
        call_back(H[post + WAKE_CALL], semaphore(post + AWAKE))


@kernel
def give_orders(at: int, count: int) -> None:
    """An order for each post."""
    for post in range(at, at + POST * count, POST):
        store_shared(post + ORDER, H[post + ORDER] + 1)
        call_back(H[post + WAKE_CALL], semaphore(post + AWAKE))


@kernel
def wait_for(post: Words) -> bool:
    """Wait for the answer to the last order; whether it is there.  It may not be, where a signal came instead."""
    wait_for_change(post + ORDER_DONE, post[ORDER] - 1, FOR_ANSWERS)
    call_back(post[WAIT_CALL], semaphore(post + HEARD))
    return load_shared(post + ORDER_DONE) == post[ORDER]


class Post:
    """What a thread and its dispatcher share.  It has no reference to `WorkerThreads`: a thread keeps nothing alive."""

    def __init__(self, words: np.ndarray, header: int):
        self.words, self.at = words, Words(address_of(words))
        self.job: Job | None = None
        self.error: BaseException | None = None
        self.asked_by = 0  # the thread that gave the order
        words[WORKER_HEADER] = header
        calls = _libc.sem_wait, _libc.sem_post
        words[WAIT_CALL], words[WAKE_CALL] = (ctypes.cast(f, ctypes.c_void_p).value for f in calls)
        for at in (AWAKE, HEARD):
            if _libc.sem_init(ctypes.c_void_p(words[at:].ctypes.data), 0, 0):
                raise NoThread("Workers in threads need semaphores, which this system refuses.")

    def stand(self) -> None:
        """What the thread runs."""
        wrap_around()
        told = PAUSED
        while told != THREAD_LEAVES:
            try:
                told = int(stand_by(self.at))
                if told != THREAD_LEAVES:
                    assert self.job is not None
                    with working_for(self.asked_by):
                        found = self.job(told)
                    self.give_answer(found)
            except BaseException as error:
                self.error = error
                self.give_answer(FAILED)

    def give_answer(self, told: int) -> None:
        answer(self.at, told)


class WorkerThreads:
    def __init__(self, headers: Sequence[int]):
        """A thread for each worker that may walk, by its header; 0: one that does everything in Python."""
        count = len(headers)
        words = cache_lines(count * POST // CACHE_LINE)
        self._at, self._count = address_of(words), count
        self.posts = [Post(words[POST * i : POST * (i + 1)], header) for i, header in enumerate(headers)]
        self.threads = [
            threading.Thread(target=post.stand, name=f"ebbflow-{i}", daemon=True) for i, post in enumerate(self.posts)
        ]
        self._dismiss = weakref.finalize(self, dismiss, words)
        self._dismiss.atexit = False
        for i, thread in enumerate(self.threads):
            try:
                thread.start()
            except RuntimeError as error:
                self.threads = self.threads[:i]
                self.end()
                what = f"The system refuses a thread for worker {i + 2} of {count + 1} ({error})."
                raise NoThread(what) from None

    def call_up(self) -> None:
        """There will be something to do in a moment."""
        call_up(self._at, self._count)

    def dispatch(self, jobs: Sequence[Job]) -> None:
        """Let every thread walk; `jobs` has for each what is to be done in Python."""
        for post, job in zip(self.posts, jobs, strict=True):
            post.job, post.asked_by = job, threading.get_ident()
        give_orders(self._at, self._count)

    def answers(self) -> list[int]:
        """The answers to the last orders, once all threads have answered; the first error, if there is one."""
        for post in self.posts:
            while not wait_for(post.at):
                pass  # Python looks here whether somebody interrupts
        heard = [int(post.words[ANSWER]) for post in self.posts]
        errors = [post.error for post in self.posts if post.error is not None]
        for post in self.posts:
            post.job = post.error = None
        for error in errors:
            raise error
        return heard

    def end(self) -> None:
        """Let the threads finish their order and end."""
        self._dismiss()
        for thread in self.threads:
            thread.join()


def dismiss(words: np.ndarray) -> None:
    """The threads of these posts end, once they have answered."""
    words[IS_OVER::POST] = 1
    call_up(address_of(words), len(words) // POST)
