"""Presence by round: for a distinct in a loop, the state of each value is kept from one round of a slice to the next.

A slice of many times visits a key at many rounds. A *line* holds all entries of one value that count so far: the sum
over earlier slices with a cursor into their order, and the entries of this slice and the corrections emitted, as points
in the order of time. A visit adds the entries of its rounds and scans the line.

Rule: a line holds the entries of its value at rounds up to those of its last visit; no entry is read twice in a slice.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Struct, Words, beside, several
from ebbflow.operators.node import Node, queue
from ebbflow.operators.reduce.corrections import emit_correction
from ebbflow.operators.value_index import enter_all, enter_index, index_among, mask_for
from ebbflow.trace.diff_limits import LAST
from ebbflow.trace.heap import copy_words, drop_vector, push_word, reserve, same
from ebbflow.trace.segment import VALUE, Entry, diff_of, first_from, rank_of
from ebbflow.trace.table import Marks, Record, Table, segment_of
from ebbflow.trace.worker_fields import Segment, Worker


class PresenceRun(Struct):
    """What a slice keeps of a key: where its lines are, how many, and where they are found by their lanes."""

    first_line: int
    line_count: int
    line_room: int
    seen: int  # how many of the slice's entries the lines have
    found_by: int
    mask: int


class Line(Struct):
    """The entries of one value: cursors into the input and the output of earlier slices, and points."""

    next_in: int
    next_out: int
    cursors: Words = beside("next_in", 0, 2)
    next: int  # the rounds of the next entry there
    count: int  # the sums of those behind
    emitted: int
    sums: Words = beside("count", 0, 2)
    points: int
    point_count: int
    point_room: int
    looked: int  # the rounds it was last looked at, one more
    lanes: Words = several(0)


class Point(Struct):
    """What came, and what was emitted, at a rank."""

    rank: int
    come_in: int
    gone_out: int


FIRST_POINTS, FIRST_LINES = 4, 4
KEPT_WORDS = 1 << 20  # from slice to slice; what a large one took goes back
RUN_BITS = 20  # of a record's word: the number of its run, below that of the slice


@inline
def take_room(worker: Worker, n: int) -> int:
    """Where n more words of the slice are, behind the first of them all."""
    at = worker.presence_lines.length
    reserve(worker, worker.presence_lines, at + n)
    worker.presence_lines.length = at + n
    return at


@kernel
def run_of(worker: Worker, node: Node, record: Record) -> int:
    """The number of the key's run in this slice, begun if there is none; -1 when there are as many as can be told."""
    if worker.presence_slice != worker.step:
        worker.presence_slice = worker.step
        worker.runs.length = 0
        worker.presence_lines.length = 0
        if worker.presence_lines.capacity > KEPT_WORDS:
            drop_vector(worker, worker.runs)
            drop_vector(worker, worker.presence_lines)
    marks = Marks(record + node.table.keys)
    if marks.head >> RUN_BITS == worker.step:
        return marks.head & ((1 << RUN_BITS) - 1)
    at = worker.runs.length
    number = at // PresenceRun.SIZE
    if number >> RUN_BITS:
        return -1
    marks.head = (worker.step << RUN_BITS) + number
    run = reserve(worker, worker.runs, at + PresenceRun.SIZE) + at
    worker.runs.length = at + PresenceRun.SIZE
    for k in range(PresenceRun.SIZE):
        run[k] = 0
    return number


@inline
def rounds_at(segment: Segment, w: int, i: int, lanes: Words) -> int:
    """The rounds of entry i of earlier slices if it is of this value; none ever otherwise."""
    if i < segment.old:
        e = Entry(segment.pointer + i * w)
        if same(e.lanes, lanes, w - VALUE):
            return e.rounds
    return LAST


@inline
def move_on(segment: Segment, w: int, line: Line, side: int, rounds: int) -> int:
    """What earlier slices left of a line's value in a segment at rounds up to these goes into a sum of the line.

    Returns the rounds of the entry at which the cursor stands then.
    """
    i = line.cursors[side]
    at = rounds_at(segment, w, i, line.lanes)
    while at <= rounds:
        line.sums[side] += diff_of(segment.pointer[i * w + 1])
        i += 1
        at = rounds_at(segment, w, i, line.lanes)
    line.cursors[side] = i
    return at


@kernel
def add_line(worker: Worker, number: int, si: Segment, so: Segment, w: int, lanes: Words) -> int:
    """One more line of a run, for the value with these lanes.  Returns its place among them."""
    nv = w - VALUE
    step = nv + Line.SIZE
    run = PresenceRun(worker.runs.pointer + number * PresenceRun.SIZE)
    i = run.line_count
    if i == run.line_room:
        room = 2 * i if i else FIRST_LINES
        at = take_room(worker, room * step)
        base = worker.presence_lines.pointer
        copy_words(base + run.first_line, base + at, i * step)
        run.first_line = at
        run.line_room = room
    run.line_count = i + 1
    points = take_room(worker, Point.SIZE * FIRST_POINTS)
    line = Line(worker.presence_lines.pointer + run.first_line + i * step)
    line.next_in = first_from(si.pointer, 0, si.old, w, lanes, 0)
    line.next_out = first_from(so.pointer, 0, so.old, w, lanes, 0)
    line.next = LAST
    line.count = 0
    line.emitted = 0
    line.points = points
    line.point_count = 0
    line.point_room = FIRST_POINTS
    line.looked = 0
    copy_words(lanes, line.lanes, nv)
    mask = run.mask
    wanted = mask_for(i + 1, mask)
    if wanted != mask:
        run.mask = wanted
        run.found_by = take_room(worker, wanted + 1)
        base = worker.presence_lines.pointer
        first = base + run.first_line + Line.SIZE
        enter_all(first, step, i + 1, nv, base + run.found_by, wanted)
    elif mask:
        enter_index(i, lanes, nv, worker.presence_lines.pointer + run.found_by, mask)
    return i


@kernel
def line_of(worker: Worker, number: int, si: Segment, so: Segment, w: int, lanes: Words) -> int:
    """The place of the line of the value with these lanes among a run's; a new one if there is none."""
    nv = w - VALUE
    step = nv + Line.SIZE
    run = PresenceRun(worker.runs.pointer + number * PresenceRun.SIZE)
    base = worker.presence_lines.pointer
    first = base + run.first_line + Line.SIZE
    n = run.line_count
    i = index_among(first, step, n, lanes, nv, base + run.found_by, run.mask)
    return i if i < n else add_line(worker, number, si, so, w, lanes)


@kernel
def add_point(worker: Worker, at: int, rank: int, diff: int) -> None:
    """Something came at a rank of the line that is at `at` among the slice's words."""
    line = Line(worker.presence_lines.pointer + at)
    n = line.point_count
    p = Point(worker.presence_lines.pointer + line.points)
    i = p[n]
    while i > p and i[-1].rank > rank:
        i = i[-1]
    if i > p and i[-1].rank == rank:
        i[-1].come_in += diff
        return
    if n == line.point_room:
        i = Point(i - p)
        new = take_room(worker, 2 * n * Point.SIZE)
        line = Line(worker.presence_lines.pointer + at)
        p = Point(worker.presence_lines.pointer + new)
        copy_words(worker.presence_lines.pointer + line.points, Words(p), n * Point.SIZE)
        line.points = new
        line.point_room = 2 * n
        i = Point(i + p)
    j = p[n]
    while j > i:
        j.rank = j[-1].rank
        j.come_in = j[-1].come_in
        j.gone_out = j[-1].gone_out
        j = j[-1]
    i.rank = rank
    i.come_in = diff
    i.gone_out = 0
    line.point_count = n + 1


@inline
def look_at(worker: Worker, line: Line, i: int, rounds: int) -> None:
    """A line, whose place among its run's is i, is among those that this visit goes along, once."""
    if line.looked != rounds + 1:
        line.looked = rounds + 1
        push_word(worker, worker.values, i)


@kernel
def take_new(worker: Worker, number: int, si: Segment, so: Segment, w: int, rounds: int) -> None:
    """What came since the last visit at rounds up to these goes to the lines of its values; the rest waits behind.

    needs:  all visits of the slice went along lines.  A key with a past does: it is sealed only between two advances.
    """
    p = si.pointer
    seen = p + (si.old + PresenceRun(worker.runs.pointer)[number].seen) * w
    for here in range(seen, p + si.length * w, w):
        e = Entry(here)
        if e.rounds <= rounds:
            i = line_of(worker, number, si, so, w, e.lanes)
            at = PresenceRun(worker.runs.pointer)[number].first_line + i * (w - VALUE + Line.SIZE)
            add_point(worker, at, rank_of(e.stamp), diff_of(e.stamp))
            look_at(worker, Line(worker.presence_lines.pointer + at), i, rounds)
            if e != seen:
                for k in range(w):
                    x = Words(e)[k]
                    Words(e)[k] = seen[k]
                    seen[k] = x
            seen += w
    PresenceRun(worker.runs.pointer)[number].seen = (seen - p) // w - si.old


@kernel
def go_along(worker: Worker, line: Line, nv: int) -> None:
    """Scan the points of a line; emit a correction where its value is present and was not emitted so, or the reverse.

    leaves: no point at which nothing came and nothing was emitted.
    """
    p = Point(worker.presence_lines.pointer + line.points)
    count = line.count
    emitted = line.emitted
    q = p
    for at in range(p, p[line.point_count], Point.SIZE):
        e = Point(at)
        count += e.come_in
        emitted += e.gone_out
        change = (1 if count > 0 else 0) - emitted
        if change != 0:
            emit_correction(worker, e.rank, change, line.lanes, nv)
            emitted += change
        if e.come_in != 0 or e.gone_out + change != 0:
            q.rank = e.rank
            q.come_in = e.come_in
            q.gone_out = e.gone_out + change
            q = q[1]
    worker.evals += line.point_count
    line.point_count = (q - p) // Point.SIZE


@kernel
def visit_by_round(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> bool:
    """Every value of a key that these rounds concern, along time: there, or not.  Returns whether lines are worth it:
    the key has a past that would be looked through at each of its rounds.

    needs:  rounds of one loop, later than those of earlier visits of the slice, or the same; both segments touched.
    leaves: the key owes a visit where a value that differs has its next entry of an earlier slice.
    """
    w = table.widths[0]
    si = segment_of(table, record, 0)
    so = segment_of(table, record, 1)
    if si.old + so.old == 0:
        return False
    number = run_of(worker, node, record)
    if number < 0:
        return False
    step = w - VALUE + Line.SIZE
    worker.values.length = 0
    take_new(worker, number, si, so, w, rounds)
    run = PresenceRun(worker.runs.pointer + number * PresenceRun.SIZE)
    first = worker.presence_lines.pointer + run.first_line
    for i in range(run.line_count):
        line = Line(first + i * step)
        if line.next <= rounds and line.point_count:
            look_at(worker, line, i, rounds)
    before = LAST
    for k in range(worker.values.length):
        line = Line(first + worker.values.pointer[k] * step)
        come = move_on(si, w, line, 0, rounds)
        gone = move_on(so, w, line, 1, rounds)
        line.next = min(come, gone)
        go_along(worker, line, w - VALUE)
        if line.next != LAST and line.point_count and line.next != before:
            before = line.next
            worker.owed += 1
            queue(worker, node, record, before)
    return True
