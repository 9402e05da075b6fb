"""A meeting: workers of one process wait for each other inside their walks, and read each other's mail where it lies.

Each has a line of its own in a shared block, which only it writes: how often it has arrived, and what it said then.
Who arrives has written its mail, and said the least rounds that are pending with it or in its mail; who finds that all
have arrived takes what is for it, and knows the least rounds anywhere.

Rule: what was written for a meeting is written over only when all have come to the next one, and whoever comes there
has read it.
"""

from __future__ import annotations

from ebbflow.columns.kernel import LINE, inline, kernel
from ebbflow.columns.memory import give_way, load_shared, store_shared
from ebbflow.operators.edges import receive_at
from ebbflow.trace.heap import (
    AGREED,
    BEST,
    EARLY,
    FUEL,
    LEN,
    MAIL,
    ME,
    MEETING,
    MET,
    OTHER_MAIL,
    OUTBOX,
    PTR,
    QUIET,
    STAGE,
    VECTOR,
    WORKERS,
    alloc,
)

# ---- the shared block: a line of words for all, then one for each worker, so that no two write to one line ---
STOPPED = 0  # somebody will not come
ARRIVED, WHO = 0, 1  # of a worker: how often it has arrived; its header
SAID = 2  # of every other meeting: the least rounds pending at this worker, and those before a loop's last meeting
SPINS, TURNS = 2000, 1 << 10  # looks before the core is offered to others; and how often, before Python is asked
FOR_ARRIVING, FOR_WAITING = 1 << 10, 1 << 12  # fuel: a walk that meets others often, or waits long, looks up in time


@inline
def line_of(meeting, worker):
    return meeting + LINE * (worker + 1)


@inline
def letters_of(H, W, meeting):
    """The vectors of what a worker has written for a meeting, by its number."""
    return W + MAIL if meeting % 2 else H[W + OTHER_MAIL]


@kernel
def write_for(H, W, meeting):
    """From here on mail is for a meeting, by its number: there is none yet."""
    letters = letters_of(H, W, meeting)
    for i in range(H[W + WORKERS]):
        H[letters + VECTOR * i + LEN] = 0
    H[W + OUTBOX] = letters - (W + MAIL)


@kernel
def forget_mail(H, W):
    """All that was written to others, for any meeting, is forgotten."""
    for meeting in range(2):
        if letters_of(H, W, meeting):
            write_for(H, W, meeting)
    H[W + OUTBOX] = 0


@kernel
def open_meeting(H, at, count, place):
    """A place where the walks of the workers whose headers are listed at `at` meet by themselves; nobody is there yet.

    needs:  place: a line of words for all, and one for each worker.
    """
    for k in range(LINE * (count + 1)):
        H[place + k] = 0
    for i in range(count):
        W = H[at + i]
        H[line_of(place, i) + WHO] = W
        H[W + MEETING] = place
        H[W + MET] = 0
        H[W + STAGE] = 0
        if H[W + OTHER_MAIL] == 0:
            n = VECTOR * H[W + WORKERS]
            H[W + OTHER_MAIL] = alloc(H, W, n)
            for k in range(n):
                H[H[W + OTHER_MAIL] + k] = 0


@kernel
def close_meeting(H, at, count):
    """The workers meet nowhere, and all mail was read."""
    for i in range(count):
        forget_mail(H, H[at + i])
        H[H[at + i] + MEETING] = 0


@inline
def is_stopped(H, W):
    """Whether somebody will not come."""
    return load_shared(H[W + MEETING] + STOPPED) != 0


@kernel
def all_arrived(H, W):
    """Wait until every worker has arrived as often as this one; False if it takes too long, or one stays away."""
    meeting = H[W + MEETING]
    often = H[W + MET]
    for i in range(H[W + WORKERS]):
        at = line_of(meeting, i) + ARRIVED
        looks = 0
        while load_shared(at) < often:
            looks += 1
            if looks > SPINS:
                if is_stopped(H, W) or looks > SPINS + TURNS:
                    return False
                H[W + FUEL] -= FOR_WAITING
                give_way()
    return True


@inline
def arrive(H, W):
    H[W + MET] += 1
    H[W + FUEL] -= FOR_ARRIVING
    store_shared(line_of(H[W + MEETING], H[W + ME]) + ARRIVED, H[W + MET])


@kernel
def take_mail(H, W):
    """Deliver what every other worker posted here."""
    for i in range(H[W + WORKERS]):
        v = letters_of(H, H[line_of(H[W + MEETING], i) + WHO], H[W + MET]) + VECTOR * H[W + ME]
        if H[v + LEN]:
            receive_at(H, W, H[v + PTR], H[v + LEN])


@inline
def said_at(H, W, worker, meeting):
    """Where a worker says what is pending at it, for a meeting by its number."""
    return line_of(H[W + MEETING], worker) + SAID + 2 * (meeting % 2)


@inline
def say_least(H, W):
    """What is pending here is said to those who come to the next meeting."""
    at = said_at(H, W, H[W + ME], H[W + MET] + 1)
    H[at] = H[W + BEST]
    H[at + 1] = H[W + EARLY]


@kernel
def agree_on(H, W):
    """The least rounds that are pending at any worker, each of which has said its own.

    If no worker has anything to do then before the last meeting of the round, nothing will be sent before it: the
    round is quiet.
    """
    least = H[W + BEST]
    early = H[W + EARLY]
    for i in range(H[W + WORKERS]):
        at = said_at(H, W, i, H[W + MET])
        least = min(least, H[at])
        early = min(early, H[at + 1])
    H[W + AGREED] = least
    H[W + QUIET] = 1 if early > least else 0
