"""A crew: threads that wait for something to do, beside the one that asks them.

Each stands at a post, some lines of words that it shares with the one who asks, and waits there in compiled code: it
walks when it is told to, and comes back to Python only for what needs Python.  So a step of a few milliseconds does
not wait for the interpreter's lock at its begin and at its end.  Who waits long sleeps, on a semaphore; one that is
called up before there is an order looks out for it a while.

Rule: an order is answered once, before the next one is given; a crew that has ended has no thread left.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence

import numpy as np

from ebbflow.columns.kernel import LINE, address_of, inline, kernel, memory, whole_lines, wrap_around
from ebbflow.columns.memory import call_back, give_way, load_shared, store_shared
from ebbflow.errors import NoThread
from ebbflow.operators.meeting import STOPPED
from ebbflow.runtime.walk import FAILED, FINISHED, FULL, PAUSED, walk
from ebbflow.trace.heap import FUEL, MEETING
from ebbflow.turns import working_for

Job = Callable[[int], int]  # what is to be done in Python, given what the walk came back for

# ---- a post: lines of words, so that no two who write share one --------------------------------------
CALLED, ORDER, HEADER, IS_OVER = 0, 1, 2, 3  # who asks writes: the order that will come; the last given; who walks
WAIT, WAKE = 4, 5  # the functions of a semaphore, which nobody writes to
DOING, DONE, ANSWER = LINE, LINE + 1, LINE + 2  # who stands there writes: the order it is at; the last one done
AWAKE, HEARD = 2 * LINE, 3 * LINE  # the semaphores, a line each: somebody is wanted; somebody has answered
POST = 4 * LINE
LEAVES = -1  # in place of what the walk came back for
LOOKS = 2000  # before the core is offered to others
FOR_ORDERS, FOR_ANSWERS = 2048, 256  # how often it is offered before sleeping: about a millisecond, and a tenth of one

_libc = ctypes.CDLL(None, use_errno=True)


@inline
def semaphore(at):
    """The machine address of a word."""
    return 8 * (at + 1)


@kernel
def look_out(at, word, turns):
    """Wait a while for a word to become another one; whether it did."""
    looks = 0
    while load_shared(at) == word:
        looks += 1
        if looks > LOOKS:
            if looks > LOOKS + turns:
                return False
            give_way()
    return True


@kernel
def answer(H, post, told):
    """The order is done; `told` is what comes of it.  Whom others wait for in vain, they need not wait for."""
    W = H[post + HEADER]
    if W and H[W + MEETING] and told != FINISHED:
        store_shared(H[W + MEETING] + STOPPED, 1)
    H[post + ANSWER] = told
    store_shared(post + DONE, H[post + DOING])
    call_back(H[post + WAKE], semaphore(post + HEARD))


@kernel
def stand_by(H, post):
    """Wait for orders and walk, again and again, until Python is needed.  Returns what for: what the walk came back
    for, PAUSED if it has not begun, or LEAVES.
    """
    while True:
        done = H[post + DONE]
        is_patient = done > 0
        while load_shared(post + ORDER) == done:
            if load_shared(post + IS_OVER):
                return LEAVES
            is_patient |= load_shared(post + CALLED) > done
            if not is_patient or not look_out(post + ORDER, done, FOR_ORDERS):
                is_patient = False
                call_back(H[post + WAIT], semaphore(post + AWAKE))
        H[post + DOING] = done + 1
        W = H[post + HEADER]
        if W == 0:
            return PAUSED
        H[W + FUEL] = FULL
        reason = walk(H, W)
        if reason != FINISHED:
            return reason
        answer(H, post, reason)


@kernel
def call_up(H, at, count):
    """There will be orders for the posts from `at` on: who stands there may wake up."""
    for post in range(at, at + POST * count, POST):
        store_shared(post + CALLED, H[post + ORDER] + 1)
        call_back(H[post + WAKE], semaphore(post + AWAKE))


@kernel
def give_orders(H, at, count):
    """An order for each post."""
    for post in range(at, at + POST * count, POST):
        store_shared(post + ORDER, H[post + ORDER] + 1)
        call_back(H[post + WAKE], semaphore(post + AWAKE))


@kernel
def wait_for(H, post):
    """Wait for the answer to the last order; whether it is there.  It may not be, where a signal came instead."""
    look_out(post + DONE, H[post + ORDER] - 1, FOR_ANSWERS)
    call_back(H[post + WAIT], semaphore(post + HEARD))
    return load_shared(post + DONE) == H[post + ORDER]


class Post:
    """Where a thread stands.  It knows nothing of its crew, so that nobody is kept alive by one that waits."""

    def __init__(self, words: np.ndarray, header: int):
        self.words, self.at = words, address_of(words)
        self.job: Job | None = None
        self.error: BaseException | None = None
        self.asked_by = 0  # the thread that gave the order
        words[HEADER] = header
        words[WAIT], words[WAKE] = (ctypes.cast(f, ctypes.c_void_p).value for f in (_libc.sem_wait, _libc.sem_post))
        for at in (AWAKE, HEARD):
            if _libc.sem_init(ctypes.c_void_p(words[at:].ctypes.data), 0, 0):
                raise NoThread("Workers in threads need semaphores, which this system refuses.")

    def stand(self) -> None:
        """The life of a thread."""
        wrap_around()
        told = PAUSED
        while told != LEAVES:
            try:
                told = int(stand_by(memory(), self.at))
                if told != LEAVES:
                    assert self.job is not None
                    with working_for(self.asked_by):
                        found = self.job(told)
                    self.give_answer(found)
            except BaseException as error:
                self.error = error
                self.give_answer(FAILED)

    def give_answer(self, told: int) -> None:
        answer(memory(), self.at, told)


class Crew:
    def __init__(self, headers: Sequence[int]):
        """A thread for each worker that may walk, by its header; 0: one that does everything in Python."""
        count = len(headers)
        words = whole_lines(count * POST // LINE)
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
        call_up(memory(), self._at, self._count)

    def ask(self, jobs: Sequence[Job]) -> None:
        """All of them walk; what is to be done in Python is the job of each."""
        for post, job in zip(self.posts, jobs, strict=True):
            post.job, post.asked_by = job, threading.get_ident()
        give_orders(memory(), self._at, self._count)

    def answers(self) -> list[int]:
        """What they answer to what they were asked last; the first error of any, once all have answered."""
        H = memory()
        for post in self.posts:
            while not wait_for(H, post.at):
                pass  # Python looks here whether somebody interrupts
        heard = [int(post.words[ANSWER]) for post in self.posts]
        errors = [post.error for post in self.posts if post.error is not None]
        for post in self.posts:
            post.job = post.error = None
        for error in errors:
            raise error
        return heard

    def end(self) -> None:
        """Let them finish what they are at, and go."""
        self._dismiss()
        for thread in self.threads:
            thread.join()


def dismiss(words: np.ndarray) -> None:
    """Who stands at one of these posts goes, once it has answered."""
    words[IS_OVER::POST] = 1
    call_up(memory(), address_of(words), len(words) // POST)
