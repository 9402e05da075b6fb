"""Heap: a worker's memory, from which every structure of the engine is allocated.

Kernels see memory as one array of words, and identify a structure by the address of its first word. The worker's fields
are at the start of the heap; their address is `worker` in every kernel.

Allocation inside a kernel never fails, because a half-done change could not be undone. A block beyond the limit sets an
error code; the walk stops at its next check and the step is undone. Reserved space behind the limit is there for what
is allocated until then.

Rule: a block has the size of its size class, and is returned to the free list of that class and to no other.
"""

from __future__ import annotations

import numpy as np

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import CHECKED, CLOSED, load_shared, store_shared
from ebbflow.native.structs import Words
from ebbflow.trace.failures import USED_UP, fail
from ebbflow.trace.worker_fields import Vector, Worker

FIRST_ROOM = 64  # words of a vector of the header that nothing was put into yet
BEYOND = 1024  # in checked mode, so many words behind the last that was given out are closed
LARGE = 1 << 15  # words of a block whose pages are worth returning
HUGE = 1 << 18  # words of a vector that it would cost to copy again and again
MIDDLING, CUT_AT_MOST = 12, 64  # the class of blocks that are cut, of 256 words; the largest of what they are cut into
COALESCED = 26  # the class of blocks, of LARGE words, that middling ones become which lie side by side; cut likewise
MIDDLING_KEPT = 1 << 9  # blocks that stay as they are, 1 MB: small ones are cut out of them, and their pages are there
RETURNED = 1  # in a large free block, behind its link: whether its pages were returned


@inline
def size_class(n: int) -> int:
    """The class of a block of n words: sizes 4, 6, 8, 12, 16, 24, ..."""
    i = 0
    size = 4
    while size < n:
        i += 1
        if i & 1:
            size = size + (size >> 1)
        else:
            size = (size // 3) * 4
    return i


@inline
def class_size(i: int) -> int:
    return (4 << (i >> 1)) + ((2 << (i >> 1)) if i & 1 else 0)


@inline
def peek(at: Words) -> int:
    """A word of a heap, whether somebody holds it or not."""
    return load_shared(at) if CHECKED else at[0]


@kernel
def mark_words(p: Words, n: int, closed: int) -> None:
    """In checked mode: whether touching one of n words is a mistake."""
    for word in range(p, p + n):
        at = CLOSED + (word >> 5)
        bit = 1 << (word & 31)
        store_shared(at, load_shared(at) | bit if closed else load_shared(at) & ~bit)


@inline
def cut(worker: Worker, size: int) -> Words:
    """A small block out of a middling one that is free, whose pages are there already, or else out of a gathered one; 0
    when there is none.
    """
    p = Words(worker.cut)
    if p + size > worker.cut_end:
        i = MIDDLING if worker.free[MIDDLING] else COALESCED
        p = Words(worker.free[i])
        if p == 0:
            return Words(0)
        worker.free[i] = peek(p)
        worker.cut_end = p + class_size(i)
    worker.cut = p + size
    return p


@inline
def is_used_up(worker: Worker) -> bool:
    """Whether more words are handed out than may be."""
    return worker.live > worker.limit - worker - Worker.SIZE


@kernel
def overdraw(worker: Worker, end: int) -> None:
    """A block ends beyond the limit, here.

    leaves: an error, unless that is only because blocks of other sizes lie free, and half of the space behind is left.
    """
    if end > worker.space_end:
        worker.broken = 1
        raise MemoryError("the worker's reserved memory is used up")
    if is_used_up(worker) or 2 * end > worker.limit + worker.space_end:
        fail(worker, USED_UP, worker.pc, worker.stage, worker.limit - worker)


@kernel
def alloc(worker: Worker, n: int) -> Words:
    """A block of at least n words, content undefined."""
    i = size_class(n)
    p = Words(worker.free[i])
    worker.live += class_size(i)
    if p:
        if CHECKED:
            mark_words(p, n, 0)
        worker.free[i] = p[0]
        return p
    if class_size(i) <= CUT_AT_MOST or i == MIDDLING:
        p = cut(worker, class_size(i))
        if p:
            if CHECKED:
                mark_words(p, n, 0)
            return p
    p = Words(worker.bump)
    end = p + class_size(i)
    if end > worker.limit:
        overdraw(worker, end)
    worker.bump = end
    if CHECKED:
        mark_words(p, n, 0)
        mark_words(p + n, end + BEYOND - p - n, 1)
    return p


@kernel
def release(worker: Worker, p: Words, n: int) -> None:
    """Give back the block at p that was asked for with n words."""
    i = size_class(n)
    worker.live -= class_size(i)
    if class_size(i) >= LARGE:
        worker.loose = 1
        p[RETURNED] = 0
    p[0] = worker.free[i]
    worker.free[i] = p
    if CHECKED:
        mark_words(p, class_size(i), 1)


@kernel
def count_free(worker: Worker, i: int) -> int:
    """How many blocks of a class are free."""
    n = 0
    p = Words(worker.free[i])
    while p:
        n += 1
        p = Words(peek(p))
    return n


@kernel
def list_free(worker: Worker, i: int, words: np.ndarray) -> None:
    """The free blocks of a class."""
    n = 0
    p = Words(worker.free[i])
    while p:
        words[n] = p
        n += 1
        p = Words(peek(p))


@kernel
def free_again(worker: Worker, i: int, words: np.ndarray) -> None:
    """These blocks, which nobody holds, are the first free ones of a class, in this order."""
    for k in range(len(words) - 1, -1, -1):
        store_shared(words[k], worker.free[i])
        if class_size(i) >= LARGE:
            store_shared(words[k] + RETURNED, 0)
        worker.free[i] = words[k]


@kernel
def regrow(worker: Worker, v: Vector, n: int) -> None:
    """Move the vector at v to a block with room for n words."""
    cap = v.capacity
    new = cap * 2 if cap < HUGE else cap * worker.growth
    if new < n or worker.bump + new > worker.limit:
        new = n  # where memory is short, no more than is needed: sizes are some way apart as it is
    class_ = size_class(new)
    if class_size(class_) >= HUGE and worker.growth > 2:
        for larger in range(class_, class_ + 5):  # up to four times as large: its pages are there already
            if worker.free[larger]:
                class_ = larger
                break
    new = class_size(class_)
    p = v.pointer
    end = p + class_size(size_class(cap))
    # the last block grows where it is, unless that would leave a free one lying: large blocks are never cut
    if cap and end == worker.bump and p + new <= worker.limit and worker.free[class_] == 0:
        worker.bump = p + new
        worker.live += p + new - end
        v.capacity = new
        if CHECKED:
            mark_words(p, new, 0)
            mark_words(p + new, BEYOND, 1)
        return
    q = alloc(worker, new)
    for i in range(v.length):
        q[i] = p[i]
    if cap:
        release(worker, p, cap)
    v.pointer = q
    v.capacity = new


@inline
def reserve(worker: Worker, v: Vector, n: int) -> Words:
    """The content of the vector at v, which has room for n words from now on.

    leaves: its length as it was; only the words within the length are kept by growth.
    """
    if n > v.capacity:
        regrow(worker, v, n)
    return v.pointer


@inline
def push_word(worker: Worker, v: Vector, word: int) -> None:
    n = v.length
    p = reserve(worker, v, n + 1)
    p[n] = word
    v.length = n + 1


@kernel
def drop_vector(worker: Worker, v: Vector) -> None:
    if v.capacity:
        release(worker, v.pointer, v.capacity)
    v.pointer = Words(0)
    v.length = 0
    v.capacity = 0


@inline
def same(p: Words, q: Words, n: int) -> bool:
    for i in range(n):
        if p[i] != q[i]:
            return False
    return True


@inline
def copy_words(p: Words, q: Words, n: int) -> None:
    """n words from p to q."""
    for i in range(n):
        q[i] = p[i]
