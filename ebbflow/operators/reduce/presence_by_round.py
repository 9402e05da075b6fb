"""Presence by round: for a distinct in a loop, the state of each value is kept from one round of a slice to the next.

A slice of many times visits a key at many rounds. A *line* holds all entries of one value that count so far: the sum
over earlier slices with a cursor into their order, and the entries of this slice and the corrections emitted, as points
in the order of time. A visit adds the entries of its rounds and scans the line.

Rule: a line holds the entries of its value at rounds up to those of its last visit; no entry is read twice in a slice.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.node import TB, queue
from ebbflow.operators.reduce.corrections import emit_correction
from ebbflow.operators.value_index import enter_all, enter_index, index_among, mask_for
from ebbflow.trace.heap import (
    CAP,
    EVALS,
    LAST,
    LEN,
    OWED,
    PRESENCE_LINES,
    PRESENCE_SLICE,
    PTR,
    RUNS,
    STEP,
    VALUES,
    copy_words,
    drop_vector,
    push_word,
    reserve,
    same,
)
from ebbflow.trace.segment import OLD, VALUE, diff_of, first_from, rank_of
from ebbflow.trace.table import HEAD, KEYS

# ---- a run, which is what a slice keeps of a key: where its lines are, how many, room for how many, how many of the
# slice's entries they have, and where they are found by their lanes once they are many
FIRST_LINE, LINE_COUNT, LINE_ROOM, SEEN, FOUND_BY, MASK_OF = 0, 1, 2, 3, 4, 5
RUN = 6
# ---- a line: cursors into the input and the output of earlier slices, the rounds of the next entry there; the sums
# of those behind; points; the rounds it was last looked at, one more; the value's lanes
NEXT_IN, NEXT_OUT, NEXT, COUNT, EMITTED, POINTS, POINT_COUNT, POINT_ROOM, LOOKED, LINE_LANES = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
)
# ---- a point: a rank, what came there, what was emitted there
COME_IN, GONE_OUT = 1, 2
POINT = 3
FIRST_POINTS, FIRST_LINES = 4, 4
KEPT_WORDS = 1 << 20  # from slice to slice; what a large one took goes back
RUN_BITS = 20  # of a record's word: the number of its run, below that of the slice


@inline
def take_room(H, W, n):
    """Where n more words of the slice are, behind the first of them all."""
    at = H[W + PRESENCE_LINES + LEN]
    reserve(H, W, W + PRESENCE_LINES, at + n)
    H[W + PRESENCE_LINES + LEN] = at + n
    return at


@kernel
def run_of(H, W, nd, rc):
    """The number of the key's run in this slice, begun if there is none; -1 when there are as many as can be told."""
    if H[W + PRESENCE_SLICE] != H[W + STEP]:
        H[W + PRESENCE_SLICE] = H[W + STEP]
        H[W + RUNS + LEN] = 0
        H[W + PRESENCE_LINES + LEN] = 0
        if H[W + PRESENCE_LINES + CAP] > KEPT_WORDS:
            drop_vector(H, W, W + RUNS)
            drop_vector(H, W, W + PRESENCE_LINES)
    word = rc + H[H[nd + TB] + KEYS] + HEAD
    if H[word] >> RUN_BITS == H[W + STEP]:
        return H[word] & ((1 << RUN_BITS) - 1)
    at = H[W + RUNS + LEN]
    number = at // RUN
    if number >> RUN_BITS:
        return -1
    H[word] = (H[W + STEP] << RUN_BITS) + number
    run = reserve(H, W, W + RUNS, at + RUN) + at
    H[W + RUNS + LEN] = at + RUN
    for k in range(RUN):
        H[run + k] = 0
    return number


@inline
def rounds_at(H, sg, w, i, lanes):
    """The rounds of entry i of earlier slices if it is of this value; none ever otherwise."""
    if i < H[sg + OLD]:
        e = H[sg + PTR] + i * w
        if same(H, e + VALUE, lanes, w - VALUE):
            return H[e]
    return LAST


@inline
def move_on(H, sg, w, line, cursor, total, rounds):
    """What earlier slices left of a line's value in a segment at rounds up to these goes into a sum of the line.

    Returns the rounds of the entry at which the cursor stands then.
    """
    i = H[line + cursor]
    at = rounds_at(H, sg, w, i, line + LINE_LANES)
    while at <= rounds:
        H[line + total] += diff_of(H[H[sg + PTR] + i * w + 1])
        i += 1
        at = rounds_at(H, sg, w, i, line + LINE_LANES)
    H[line + cursor] = i
    return at


@kernel
def add_line(H, W, number, si, so, w, lanes):
    """One more line of a run, for the value with these lanes.  Returns its place among them."""
    nv = w - VALUE
    step = nv + LINE_LANES
    run = H[W + RUNS + PTR] + number * RUN
    i = H[run + LINE_COUNT]
    if i == H[run + LINE_ROOM]:
        room = 2 * i if i else FIRST_LINES
        at = take_room(H, W, room * step)
        base = H[W + PRESENCE_LINES + PTR]
        copy_words(H, base + H[run + FIRST_LINE], base + at, i * step)
        H[run + FIRST_LINE] = at
        H[run + LINE_ROOM] = room
    H[run + LINE_COUNT] = i + 1
    points = take_room(H, W, POINT * FIRST_POINTS)
    line = H[W + PRESENCE_LINES + PTR] + H[run + FIRST_LINE] + i * step
    H[line + NEXT_IN] = first_from(H, H[si + PTR], 0, H[si + OLD], w, lanes, 0)
    H[line + NEXT_OUT] = first_from(H, H[so + PTR], 0, H[so + OLD], w, lanes, 0)
    H[line + NEXT] = LAST
    H[line + COUNT] = 0
    H[line + EMITTED] = 0
    H[line + POINTS] = points
    H[line + POINT_COUNT] = 0
    H[line + POINT_ROOM] = FIRST_POINTS
    H[line + LOOKED] = 0
    copy_words(H, lanes, line + LINE_LANES, nv)
    mask = H[run + MASK_OF]
    wanted = mask_for(i + 1, mask)
    if wanted != mask:
        H[run + MASK_OF] = wanted
        H[run + FOUND_BY] = take_room(H, W, wanted + 1)
        base = H[W + PRESENCE_LINES + PTR]
        first = base + H[run + FIRST_LINE] + LINE_LANES
        enter_all(H, first, step, i + 1, nv, base + H[run + FOUND_BY], wanted)
    elif mask:
        enter_index(H, i, lanes, nv, H[W + PRESENCE_LINES + PTR] + H[run + FOUND_BY], mask)
    return i


@kernel
def line_of(H, W, number, si, so, w, lanes):
    """The place of the line of the value with these lanes among a run's; a new one if there is none."""
    nv = w - VALUE
    step = nv + LINE_LANES
    run = H[W + RUNS + PTR] + number * RUN
    base = H[W + PRESENCE_LINES + PTR]
    first = base + H[run + FIRST_LINE] + LINE_LANES
    n = H[run + LINE_COUNT]
    i = index_among(H, first, step, n, lanes, nv, base + H[run + FOUND_BY], H[run + MASK_OF])
    return i if i < n else add_line(H, W, number, si, so, w, lanes)


@kernel
def add_point(H, W, at, rank, diff):
    """Something came at a rank of the line that is at `at` among the slice's words."""
    line = H[W + PRESENCE_LINES + PTR] + at
    n = H[line + POINT_COUNT]
    p = H[W + PRESENCE_LINES + PTR] + H[line + POINTS]
    i = p + n * POINT
    while i > p and H[i - POINT] > rank:
        i -= POINT
    if i > p and H[i - POINT] == rank:
        H[i - POINT + COME_IN] += diff
        return
    if n == H[line + POINT_ROOM]:
        i -= p
        new = take_room(H, W, 2 * n * POINT)
        line = H[W + PRESENCE_LINES + PTR] + at
        p = H[W + PRESENCE_LINES + PTR] + new
        copy_words(H, H[W + PRESENCE_LINES + PTR] + H[line + POINTS], p, n * POINT)
        H[line + POINTS] = new
        H[line + POINT_ROOM] = 2 * n
        i += p
    j = p + n * POINT
    while j > i:
        H[j] = H[j - POINT]
        H[j + COME_IN] = H[j - POINT + COME_IN]
        H[j + GONE_OUT] = H[j - POINT + GONE_OUT]
        j -= POINT
    H[i] = rank
    H[i + COME_IN] = diff
    H[i + GONE_OUT] = 0
    H[line + POINT_COUNT] = n + 1


@inline
def look_at(H, W, line, i, rounds):
    """A line, whose place among its run's is i, is among those that this visit goes along, once."""
    if H[line + LOOKED] != rounds + 1:
        H[line + LOOKED] = rounds + 1
        push_word(H, W, W + VALUES, i)


@kernel
def take_new(H, W, number, si, so, w, rounds):
    """What came since the last visit at rounds up to these goes to the lines of its values; the rest waits behind.

    needs:  all visits of the slice went along lines.  A key with a past does: it is sealed only between two advances.
    """
    p = H[si + PTR]
    seen = p + (H[si + OLD] + H[H[W + RUNS + PTR] + number * RUN + SEEN]) * w
    for e in range(seen, p + H[si + LEN] * w, w):
        if H[e] <= rounds:
            i = line_of(H, W, number, si, so, w, e + VALUE)
            at = H[H[W + RUNS + PTR] + number * RUN + FIRST_LINE] + i * (w - VALUE + LINE_LANES)
            add_point(H, W, at, rank_of(H[e + 1]), diff_of(H[e + 1]))
            look_at(H, W, H[W + PRESENCE_LINES + PTR] + at, i, rounds)
            if e != seen:
                for k in range(w):
                    x = H[e + k]
                    H[e + k] = H[seen + k]
                    H[seen + k] = x
            seen += w
    H[H[W + RUNS + PTR] + number * RUN + SEEN] = (seen - p) // w - H[si + OLD]


@kernel
def go_along(H, W, line, nv):
    """Scan the points of a line; emit a correction where its value is present and was not emitted so, or the reverse.

    leaves: no point at which nothing came and nothing was emitted.
    """
    p = H[W + PRESENCE_LINES + PTR] + H[line + POINTS]
    count = H[line + COUNT]
    emitted = H[line + EMITTED]
    q = p
    for e in range(p, p + H[line + POINT_COUNT] * POINT, POINT):
        count += H[e + COME_IN]
        emitted += H[e + GONE_OUT]
        change = (1 if count > 0 else 0) - emitted
        if change != 0:
            emit_correction(H, W, H[e], change, line + LINE_LANES, nv)
            emitted += change
        if H[e + COME_IN] != 0 or H[e + GONE_OUT] + change != 0:
            H[q] = H[e]
            H[q + COME_IN] = H[e + COME_IN]
            H[q + GONE_OUT] = H[e + GONE_OUT] + change
            q += POINT
    H[W + EVALS] += H[line + POINT_COUNT]
    H[line + POINT_COUNT] = (q - p) // POINT


@kernel
def visit_by_round(H, W, nd, rc, number, si, so, w, rounds):
    """Every value of a key that these rounds concern, along time: there, or not.

    needs:  rounds of one loop, later than those of earlier visits of the slice, or the same; both segments touched.
    leaves: the key owes a visit where a value that differs has its next entry of an earlier slice.
    """
    step = w - VALUE + LINE_LANES
    H[W + VALUES + LEN] = 0
    take_new(H, W, number, si, so, w, rounds)
    run = H[W + RUNS + PTR] + number * RUN
    first = H[W + PRESENCE_LINES + PTR] + H[run + FIRST_LINE]
    for i in range(H[run + LINE_COUNT]):
        line = first + i * step
        if H[line + NEXT] <= rounds and H[line + POINT_COUNT]:
            look_at(H, W, line, i, rounds)
    before = LAST
    for k in range(H[W + VALUES + LEN]):
        line = first + H[H[W + VALUES + PTR] + k] * step
        come = move_on(H, si, w, line, NEXT_IN, COUNT, rounds)
        gone = move_on(H, so, w, line, NEXT_OUT, EMITTED, rounds)
        H[line + NEXT] = min(come, gone)
        go_along(H, W, line, w - VALUE)
        if H[line + NEXT] != LAST and H[line + POINT_COUNT] and H[line + NEXT] != before:
            before = H[line + NEXT]
            H[W + OWED] += 1
            queue(H, W, nd, rc, before)
