"""Worker fields: what the first words of a heap say of the worker that owns it.

Rule: every structure of a worker is reached from here, so that a heap that is read back in another process needs
nothing beside its words.
"""

from __future__ import annotations

from ebbflow.native.structs import At, Struct, Words, beside, several


class Vector(Struct, words=4):
    """Words that grow; the length is counted in words."""

    pointer: Words
    length: int
    capacity: int


class Segment(Vector):
    """A vector of entries, of which some are from earlier slices; the length is counted in entries."""

    old: int  # so many entries are from earlier slices
    stamp: int  # the slice in which it was last touched


class RefusedRow(Vector):
    """The row that was refused."""

    wide: int  # whether some entry was ever of a diff beyond WIDE_DIFF


class KeyPair(Vector):
    """Room for two keys."""

    wide_shown: int  # whether an output has given a row of a diff beyond WIDE_DIFF


class Outbox(Vector):
    """Rows for another worker."""

    last_run: int  # where its last run begins, if it is not empty


class Worker(Struct):
    """The header of a worker's heap."""

    bump: int  # the first word never given out
    limit: int  # where the space ends that may be used; as many words may be handed out and not given back
    step: int  # the number of the slice in progress
    first: int  # the number of the first slice of this advance; segments older than that are saved before they change
    saves_segments: int  # whether segments are saved so that the advance can be undone
    serial: int  # the last bucket's number
    guard: int  # one bit above each field of a rounds word
    bits: int  # the width of such a field
    coords: int  # input coordinates
    general: int  # whether times are interned rows of coordinates (1), or ranks along one line (0)
    workers: int
    me: int
    nodes: Words  # the addresses of the nodes
    pool: int  # address of the text pool
    error: int
    error_node: int
    error_rank: int
    error_word: int
    pc: int  # where the walk stands, and why it came back
    rounds: int
    phase: int
    reason: int
    loop_at: int
    best: int  # the least pending rounds here; of all workers
    agreed: int
    visits: int  # counters: of keys, where a node's `visits` are the walk's
    inserts: int
    deltas: int
    evals: int
    owed: int
    fuel: int  # visits until the walk looks up
    live: int  # words handed out and not given back
    replayed: int  # buffered rows looked at by replays
    seal: int  # from so many rows at once a bulk is sealed, where more than so many records would be there
    keep: int
    effort: int  # keys and entries that merges may move between two advances for nothing in return
    sealed: int  # words in sealed batches
    loose: int  # whether large blocks were given back since pages were last returned to the system
    node_count: int  # how many addresses the table of nodes has
    key_at: int  # the key that a reduce looks at: its record, or its lanes
    free: Words = several(128)  # lists of free blocks, by class
    events: Vector
    events2: Vector
    values: Vector
    want: Vector
    have: Vector
    delta: Vector
    row: Vector
    row2: Vector
    sorted: Vector
    undo: Vector
    slots: Vector
    state: Vector
    ranks: Vector
    moments: Vector
    side: Vector
    times: Vector
    timeslots: Vector
    complete: Vector
    lower: Vector
    upper: Vector
    stored_in: Vector
    stored_out: Vector
    seeds: Vector
    outboxes: Outbox = several(64)  # one per worker
    cold: Segment  # what the spine holds of a key that is only read
    merges: int  # counters: merges of batches that ended, keys and entries before them, and after
    merged_from: int
    merged_to: int
    bulk: Vector
    bulk2: Vector
    counts: Vector
    draft: Vector
    stream: Vector
    pair: KeyPair
    refused: RefusedRow
    delivers_bulk: int  # whether the rows that are delivered are many
    block: int  # the address of the room in which blocks of rows are worked on, column by column
    in_order: int  # whether the rows that an input is fed come in the order of their times
    in_order_word: Words = beside("in_order", 0, 1)
    lowest: int  # one more than the rank of the lower frontier's only element, 0 when it has several or none
    barrier: int  # the barrier of this process's workers, how many were passed, how far in one
    barrier_count: int
    stage: int
    chain_from: int  # of interned times, the rank from which on each one precedes the next
    poured: int  # how many rows an input was fed last
    past: int  # so many interned times, the first ones, precede the lower frontier's only element; they may be more
    presence_slice: int  # the number of the slice whose lines are kept
    cached_slots: int  # so many slots, and cache lines, are in the cache anyway: they are not prefetched
    runs: Vector  # of a slice in a loop, a run of each key; their lines
    presence_lines: Vector
    growth: int  # how many times as large a huge vector becomes
    indexed: int  # so many interned times, the first ones, are in their index
    greatest: int  # the rank of the interned time that is the last when rows are read from left to right
    cut: int  # what is left of a block of which small ones are cut
    cut_end: int
    noted: Vector  # the rounds at which the key that is visited will have to be visited again
    early: int  # the least pending rounds here at the nodes of a loop before its last barrier
    quiet: int  # whether this round of a loop needs no barrier but the one at its head
    other_outboxes: At[Outbox]  # as many as in `outboxes`, for every other barrier, or 0
    outbox_offset: int  # how far from `outboxes` the vectors are that are written now: 0, or those
    sent: int  # how many rows were sent to other workers
    space_end: int  # the end of the reserved space
    broken: int  # whether even that was not enough: a kernel ended in the middle
    index_undo: Vector  # what the advance changed in ordered indexes
    index_rows: int  # from so many values on, the rows of a window's partition have an ordered index
    index_entries: int  # from so many old entries on, a key of an arrangement has an index
