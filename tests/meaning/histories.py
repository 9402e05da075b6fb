"""Histories for the tests: what arrives at the inputs, in which steps, and what is promised about the rest.

A step feeds some changes, in no order and with any times not yet complete, and moves every input's frontier.  A
random history retracts what it inserted, empties keys and fills them again, repeats times, leaves times out,
runs ahead of its frontier and counts below zero.

Rule: every change is fed before the frontier of its input has passed its time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise, product
from random import Random

from hypothesis import strategies as st

from ebbflow.runtime.oracle.histories import Time, complete, lower_envelope

Row = tuple[object, ...]
Change = tuple[str, Row, Time, int]  # input, row of Python values, time, diff


@dataclass(frozen=True)
class Step:
    changes: tuple[Change, ...]
    frontiers: tuple[tuple[str, tuple[Time, ...]], ...]  # of every input
    takes: bool = True  # whether the outputs are read after it


def joined(one: tuple[Time, ...], other: tuple[Time, ...]) -> tuple[Time, ...]:
    """The frontier of what may still appear at both."""
    return lower_envelope([[tuple(map(max, s, t)) for s in one for t in other]])


def random_times(random: Random, width: int, many: bool) -> list[Time]:
    """A few times to choose from: often a chain or a grid, now and then far apart."""
    if many:
        sides = {1: 60, 2: 6, 3: 3}
        return [
            tuple(random.randint(0, sides[width]) for _ in range(width)) for _ in range({1: 50, 2: 12, 3: 7}[width])
        ]
    side = {1: random.randint(1, 7), 2: random.randint(1, 4), 3: random.randint(1, 2)}[width]
    stride = random.choice([1, 1, 1, 1, 3, 10**6])
    count = random.randint(1, {1: 8, 2: 8, 3: 6}[width])
    return [tuple(stride * random.randint(0, side) for _ in range(width)) for _ in range(count)]


def random_row(random: Random, domain: list, columns: int, nullable: bool) -> Row:
    return tuple(None if nullable and random.random() < 0.25 else random.choice(domain) for _ in range(columns))


def random_changes(random: Random, name: str, rows: list[Row], times: list[Time], many: bool) -> list[Change]:
    """Changes of one input: insertions and what is taken back of them, in some style."""
    style = random.choice(["coming and going", "coming and going", "growing", "flicker", "wild"])
    changes: list[Change] = []
    for _ in range(random.choice([20, 40, 80] if many else [0, 3, 4, 6, 8, 10, 14])):
        row, time = random.choice(rows), random.choice(times)
        if style == "growing":
            changes.append((name, row, time, 1))
        elif style == "wild":
            changes.append((name, row, time, random.choice([-2, -1, 1, 1, 2, 3])))
        elif style == "flicker":  # the same row in, out and in again
            changes += [(name, row, t, -1 if i % 2 else 1) for i, t in enumerate(sorted(times)[: random.randint(1, 4)])]
        else:
            changes.append((name, row, time, 1))
            if random.random() < 0.6:
                changes.append((name, row, tuple(map(max, time, random.choice(times))), -1))
    return changes


def random_frontiers(
    random: Random, names: list[str], times: list[Time], steps: int
) -> list[dict[str, tuple[Time, ...]]]:
    """How every input's frontier moves, step by step, to the end of all times."""
    width = len(times[0])
    together = random.random() < 0.6
    now = dict.fromkeys(names, ((0,) * width,))
    moves = []
    for _ in range(steps - 1):
        shared = random_antichain(random, times)
        for name in names:
            now[name] = joined(now[name], shared if together else random_antichain(random, times))
        moves.append(dict(now))
    beyond = (tuple(max(t[i] for t in times) + 1 for i in range(width)),)
    last = random.choice([(), (), beyond])
    return [*moves, {name: joined(now[name], last) for name in names}]


def random_antichain(random: Random, times: list[Time]) -> tuple[Time, ...]:
    width = len(times[0])
    picked = []
    for _ in range(random.randint(1, 1 if width == 1 else 3)):
        mixed = tuple(random.choice(times)[i] + random.choice([0, 0, 1]) for i in range(width))
        picked.append(random.choice([mixed, random.choice(times)]))
    if random.random() < 0.15:
        return ((0,) * width,)  # stays where it is
    return lower_envelope([picked])


def dealt(
    random: Random, changes: list[Change], moves: list[dict[str, tuple[Time, ...]]], eager: float = 0.2
) -> list[Step]:
    """The changes dealt to steps: each in the last step that may still bring it, or, if eager, in an earlier one."""
    hands: list[list[Change]] = [[] for _ in moves]
    for change in changes:
        name, _, time, _ = change
        last = next((i for i, move in enumerate(moves) if complete(time, move[name])), len(moves) - 1)
        hands[random.randint(0, last) if random.random() < eager else last].append(change)
    for hand in hands:
        random.shuffle(hand)
    return [Step(tuple(hand), tuple(sorted(move.items()))) for hand, move in zip(hands, moves, strict=True)]


def random_history(random: Random, inputs: dict[str, int], domain: list, nullable: bool, width: int) -> list[Step]:
    """inputs: each name with its number of columns."""
    many = random.random() < 0.05  # long histories of few keys, and keys with many values
    times = random_times(random, width, many)
    if many and all(isinstance(value, int) and not isinstance(value, bool) for value in domain):
        domain = [*domain, *range(4, 30)]
    rows = {}
    for name, columns in inputs.items():
        count = random.randint(3, 40) if many else random.randint(2, 12)
        rows[name] = [random_row(random, domain, columns, nullable) for _ in range(count)]
        if random.random() < 0.7 and columns == 2:  # a path through the domain, so that loops have a long way to go
            rows[name] = rows[name][: random.randint(1, 5)] + list(pairwise(domain))
        if many:
            rows[name] = [(random.choice(domain[:2]), *row[1:]) for row in rows[name]]
    if random.random() < 0.6 and not many:
        return nudged(random, rows, width)
    changes = [change for name in inputs for change in random_changes(random, name, rows[name], times, many)]
    moves = random_frontiers(random, list(inputs), times, random.choice([1, 2, 2, 3, 4, 6]))
    steps = dealt(random, changes, moves, random.choice([0.0, 0.3, 1.0]))
    if random.random() < 0.2:
        steps = [replace(step, takes=random.random() < 0.5) for step in steps]
    return steps


def nudged(random: Random, rows: dict[str, list[Row]], width: int) -> list[Step]:
    """Much at first, then a change here and there, each time in a step of its own: what was settled moves a little."""
    grid = list(product(range({1: 9, 2: 4, 3: 3}[width]), repeat=width))
    later = sorted(random.sample(grid, random.randint(4, min(9, len(grid)))))
    least = (0,) * width
    every = [(name, row) for name in rows for row in dict.fromkeys(rows[name])]
    there = {one for one in every if random.random() < 0.85}
    changes: list[Change] = [(name, row, least, 1) for name, row in every if (name, row) in there]
    for time in later:
        for _ in range(random.choice([1, 1, 1, 2, 3])):
            absent = [one for one in every if one not in there]
            name, row = one = random.choice(absent if absent and random.random() < 0.6 else every)
            changes.append((name, row, time, -1 if one in there else 1))
            there ^= {one}
    moves = []
    now: tuple[Time, ...] = ((0,) * len(least),)
    for time in later[1:]:
        now = joined(now, lower_envelope([[t for t in later if t >= time]]))
        moves.append(dict.fromkeys(rows, now))
    moves.append(dict.fromkeys(rows, ()))
    return dealt(random, changes, moves, random.choice([0.0, 0.0, 0.3]))


def recut(random: Random, steps: list[Step], pieces: int, times: list[Time]) -> list[Step]:
    """The same changes up to the same last frontier, cut into other steps."""
    changes = [change for step in steps for change in step.changes]
    end = dict(steps[-1].frontiers)
    names = list(end)
    moves = random_frontiers(random, names, times, pieces)
    moves = [{name: within(move[name], end[name]) for name in names} for move in moves[:-1]] + [end]
    return dealt(random, changes, moves)


def within(frontier: tuple[Time, ...], end: tuple[Time, ...]) -> tuple[Time, ...]:
    """The frontier, held back so that `end` does not have to move back."""
    return lower_envelope([frontier, end])


def singletons(changes: list[Change], names: list[str], end: dict[str, tuple[Time, ...]]) -> list[Step]:
    """Each change in a step of its own, earlier times first, every frontier as far on as what remains allows."""
    ordered = sorted(changes, key=lambda change: change[2])
    steps = []
    for i, change in enumerate(ordered):
        rest = {name: [c[2] for c in ordered[i + 1 :] if c[0] == name] for name in names}
        steps.append(
            Step((change,), tuple((name, within(lower_envelope([rest[name]]), end[name])) for name in sorted(names)))
        )
    return [*steps, Step((), tuple(sorted(end.items())))]


def at_once(changes: list[Change], end: dict[str, tuple[Time, ...]]) -> list[Step]:
    return [Step(tuple(changes), tuple(sorted(end.items())))]


# ---- for Hypothesis, which makes a failing history smaller by itself ------------------------


@st.composite
def histories(draw: st.DrawFn, inputs: dict[str, list[list]], width: int, side: int = 3) -> list[Step]:
    """inputs: each name with the values its columns may hold."""
    times = st.tuples(*[st.integers(0, side)] * width)
    diffs = st.sampled_from([1, 1, 1, -1, -1, 2, -2])
    change = st.one_of(
        *(
            st.tuples(st.just(name), st.tuples(*map(st.sampled_from, columns)), times, diffs)
            for name, columns in inputs.items()
        )
    )
    changes = draw(st.lists(change, max_size=12))
    antichains = st.lists(times, min_size=1, max_size=1 if width == 1 else 3).map(lambda t: lower_envelope([t]))
    now = dict.fromkeys(inputs, ((0,) * width,))
    moves = []
    for _ in range(draw(st.integers(0, 3))):
        shared = draw(antichains)
        apart = draw(st.booleans())
        now = {name: joined(now[name], draw(antichains) if apart else shared) for name in inputs}
        moves.append(now)
    moves.append(dict.fromkeys(inputs, ()))
    hands: list[list[Change]] = [[] for _ in moves]
    for name, row, time, diff in changes:
        last = next(i for i, move in enumerate(moves) if complete(time, move[name]))
        hands[draw(st.integers(0, last)) if draw(st.booleans()) else last].append((name, row, time, diff))
    return [Step(tuple(hand), tuple(sorted(move.items()))) for hand, move in zip(hands, moves, strict=True)]


@st.composite
def toggled(draw: st.DrawFn, name: str, rows: list[Row], others: dict[str, list[Row]]) -> list[Step]:
    """Rows of one input come and go, one at each time, many times a step; those of the others are there from the start.

    What is said at a round is then often said again, earlier or later, in another step.
    """
    there: set[Row] = set()
    first = [(other, row, (0,), 1) for other, given in others.items() for row in given]
    steps, time = [Step(tuple(first), tuple((one, ((1,),)) for one in sorted([name, *others])))], 1
    for count in draw(st.lists(st.integers(1, 12), min_size=2, max_size=5)):
        changes = []
        for row in draw(st.lists(st.sampled_from(rows), min_size=count, max_size=count)):
            changes.append((name, row, (time,), -1 if row in there else 1))
            there ^= {row}
            time += 1
        steps.append(Step(tuple(changes), tuple((one, ((time,),)) for one in sorted([name, *others]))))
    return steps
