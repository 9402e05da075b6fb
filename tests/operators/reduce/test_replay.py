from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.operators import node as kinds
from ebbflow.operators.reduce import answers
from ebbflow.operators.reduce import replay as r
from ebbflow.operators.reduce.times_to_visit import pop_moment, push_moment
from ebbflow.trace import append
from ebbflow.trace import table as t
from ebbflow.trace.worker_fields import Worker
from tests.trace.heaps import Bench


def precedes(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True))


def join(a, b):
    return tuple(map(max, a, b))


def is_complete(time, upper):
    return not any(precedes(element, time) for element in upper)


class Key:
    """One key of a reduction in the general clock: its input and output histories, and what it owes."""

    def __init__(self, width, op=answers.USER_FUNCTION, lanes=1, spec=()):
        self.bench = bench = Bench(coordinates=width, general=True)
        self.w, self.w1 = 2 + lanes, 3
        self.nd = bench.node(kinds.REDUCE, 1, (self.w, self.w1))
        kinds.Node(self.nd).op, kinds.Node(self.nd).spec = op, bench.heap.keep(spec)
        self.tb = bench.table(self.nd)
        self.rc = bench.record(self.tb, (0,))
        self.input, self.output = (int(t.segment_of(self.tb, self.rc, f)) for f in (0, 1))

    def touch(self):
        append.touch(self.bench.W, self.input, self.w)
        append.touch(self.bench.W, self.output, self.w1)

    def add(self, time, diff, values):
        self.bench.push(self.input, self.w, 0, self.bench.rank(time), diff, values)

    def say(self, time, diff, values):
        self.bench.push(self.output, self.w1, 0, self.bench.rank(time), diff, values)

    def replay(self, asks):
        self.touch()
        self.bench.header.delta.length = 0
        r.replay(self.bench.W, self.nd, self.tb, self.rc, 0, asks)

    def asked(self):
        """The groups asked about: time, then rows (count, values)."""
        words, at, found = self.bench.vector(kinds.Node(self.nd).call_args), 0, []
        while at < len(words):
            rows = words[at + 2]
            width = self.w - 1
            group = [words[at + 3 + i * width : at + 3 + (i + 1) * width] for i in range(rows)]
            found.append((self.bench.time(words[at + 1]), sorted((count, *values) for count, *values in group)))
            at += 3 + rows * width
        return found

    def owed(self):
        words = self.bench.vector(kinds.Node(self.nd).owes)
        return [self.bench.time(rank) for rank in words[2::3]]

    def said(self):
        """The corrections of the last replay: time, diff, values."""
        words, step = self.bench.vector(Worker(self.bench.W).delta), self.w1
        rows = [words[i : i + step] for i in range(0, len(words), step)]
        return [(self.bench.time(rank), diff, tuple(values)) for rank, diff, *values in rows]


def lattices(sides):
    """A width, times of it, and a frontier under which some are complete."""

    def of(width):
        time = st.tuples(*[st.integers(0, sides[width])] * width)
        return st.tuples(
            st.lists(time, max_size=5), st.lists(time, max_size=3), st.lists(time, max_size=4), upper(time)
        )

    def upper(time):
        return st.lists(time.map(lambda at: tuple(x + 1 for x in at)), max_size=3)

    return st.integers(1, 3).flatmap(lambda width: st.tuples(st.just(width), of(width)))


@settings(max_examples=150)
@given(lattices({1: 6, 2: 3, 3: 2}))
def test_moments_are_the_complete_joins_with_what_is_new_and_the_first_beyond_are_owed(case):
    width, (stored, outputs, new, upper) = case
    key = Key(width)
    for i, time in enumerate(stored):
        key.add(time, 1, (i,))
    for i, time in enumerate(outputs):
        key.say(time, 1, (i,))
    key.bench.next_slice()
    key.touch()
    key.bench.frontiers(upper=upper)
    seeds = {time for time in new if is_complete(time, upper)}
    for i, time in enumerate(sorted(seeds)):
        key.add(time, 1, (100 + i,))
    key.replay(asks=1)
    everything = [*stored, *outputs, *seeds]
    moments = set(seeds)
    while True:
        more = {join(m, t) for m in moments for t in everything} - moments
        more = {time for time in more if is_complete(time, upper)}
        if not more:
            break
        moments |= more
    asked = key.asked()
    assert sorted(time for time, _ in asked) == sorted(moments)
    entries = [(time, (1, i)) for i, time in enumerate(stored)]
    entries += [(time, (1, 100 + i)) for i, time in enumerate(sorted(seeds))]
    for time, rows in asked:
        assert rows == sorted(row for at, row in entries if precedes(at, time))
    beyond = {join(m, t) for m in moments for t in everything}
    beyond = {time for time in beyond if not is_complete(time, upper)}
    owed = key.owed()
    assert len(set(owed)) == len(owed) and set(owed) <= beyond
    assert all(any(precedes(o, time) for o in owed) for time in beyond)


# ---- a whole life ----------------------------------------------------------------------------------


def least(rows):
    """One row with the least value that is there, where the counts do not sum to zero."""
    if not sum(rows.values()):
        return {}
    there = [value for value, count in rows.items() if count > 0]
    return {(min(there) if there else -(2**63),): 1}


def counted(rows):
    total = sum(rows.values())
    return {(total,): 1} if total else {}


KINDS = {
    "count": (counted, answers.COUNT_OF_ROWS, 0, [1]),
    "min": (least, answers.BAGGED, 1, [1, answers.MIN, 0, answers.WHOLE_NUMBER, 1]),
}


def lives(width, side):
    time = st.tuples(*[st.integers(0, side)] * width)
    updates = st.lists(st.tuples(time, st.sampled_from([1, 1, -1, 2]), st.integers(0, 2)), max_size=4)
    return st.lists(st.tuples(updates, st.lists(time, min_size=1, max_size=2)), min_size=1, max_size=4)


def accumulated(updates, time):
    total = Counter()
    for at, diff, value in updates:
        if precedes(at, time):
            total[value] += diff
    return {value: diff for value, diff in total.items() if diff}


@settings(max_examples=50)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width,side", [(1, 4), (2, 2), (3, 1)])
@given(data=st.data())
def test_what_was_said_up_to_any_complete_time_is_the_answer_there(kind, width, side, data):
    answer, op, lanes, spec = KINDS[kind]
    key = Key(width, op, lanes, spec)
    grid = list(product(range(side + 3), repeat=width))
    lower, waiting, given_, said = [(0,) * width], [], [], []
    for updates, ends in [*data.draw(lives(width, side)), ([], [])]:
        upper = sorted({join(e, f) for e in ends for f in lower})
        key.bench.next_slice()
        key.bench.frontiers(lower=lower, upper=upper)
        key.touch()
        fresh = [(at, diff, value) for at, diff, value in updates if any(precedes(e, at) for e in lower)]
        given_ += fresh
        waiting += fresh
        for at, diff, value in waiting:
            if is_complete(at, upper):
                key.add(at, diff, (value,)[:lanes])
        waiting = [update for update in waiting if not is_complete(update[0], upper)]
        due = [at for at in key.owed() if is_complete(at, upper)]
        later = [at for at in key.owed() if not is_complete(at, upper)]
        kinds.Node(key.nd).owes.length = 0
        for at in later:
            r.owe(key.bench.W, key.nd, key.rc, 0, key.bench.rank(at))
        for at in due:  # a seed that changes nothing
            key.add(at, 0, (0,)[:lanes])
        key.replay(asks=0)
        news = key.said()
        assert all(is_complete(at, upper) for at, _, _ in news)
        assert len({(at, values) for at, _, values in news}) == len(news)
        for at, diff, values in news:
            key.say(at, diff, values)
        said += news
        for time in grid:
            if is_complete(time, upper):
                assert accumulated(said, time) == answer(accumulated(given_, time)), time
        lower = upper


@pytest.mark.interpreted
def test_two_unordered_changes_are_answered_at_their_join():
    key = Key(2, answers.COUNT_OF_ROWS, 0, [1])
    for time in [(0, 1), (1, 0)]:
        key.add(time, 1, ())
    key.bench.frontiers(upper=[(2, 0)])
    key.replay(asks=0)
    assert sorted(key.said()) == [((0, 1), 1, (1,)), ((1, 0), 1, (1,)), ((1, 1), -2, (1,)), ((1, 1), 1, (2,))]
    assert key.owed() == []


@pytest.mark.interpreted
def test_a_join_beyond_the_frontier_is_owed():
    key = Key(2, answers.COUNT_OF_ROWS, 0, [1])
    for time in [(0, 1), (1, 0)]:
        key.add(time, 1, ())
    key.bench.frontiers(upper=[(1, 1)])
    key.replay(asks=0)
    assert key.owed() == [(1, 1)] and len(key.said()) == 2


@pytest.mark.parametrize("shape", [lambda i: (i, i), lambda i: (i, 7)], ids=["a diagonal", "a row"])
def test_a_chain_costs_what_a_chain_costs(shape):
    def looked_at(n):
        key = Key(2, answers.COUNT_OF_ROWS, 0, [1])
        for i in range(n):
            key.add(shape(i), 1, ())
        before = key.bench.header.replayed
        key.replay(asks=0)
        return key.bench.header.replayed - before

    assert looked_at(400) <= 4.4 * looked_at(100)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=40, unique=True))
def test_moments_to_come_are_met_from_left_to_right(times):
    bench = Bench(coordinates=2, general=True)
    ranks = [bench.rank(time) for time in times]
    for rank in ranks:
        push_moment(bench.W, rank)
    found = [bench.time(int(pop_moment(bench.W))) for _ in ranks]
    assert found == sorted(times)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 1), st.tuples(st.integers(0, 2), st.integers(0, 2)), st.integers(-2, 2), st.integers(0, 3)
        ),
        max_size=40,
    ),
    st.lists(
        st.tuples(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.integers(-2, 2), st.integers(0, 3)), max_size=8
    ),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
)
def test_the_values_at_a_moment_are_those_whose_rounds_and_times_precede_it(updates, said, at):
    bench = Bench(coordinates=2, general=True)
    sg = bench.segment()
    for rounds, time, diff, value in updates:
        bench.push(sg, 3, rounds, bench.rank(time), diff, (value,))
    bench.heap.load(Worker(bench.W).delta, [x for time, diff, value in said for x in (bench.rank(time), diff, value)])
    r.values_at(bench.W, sg, 3, 0, bench.rank(at), Worker(bench.W).have, 3)
    words = bench.vector(Worker(bench.W).have)
    found = dict(zip(words[1::2], words[::2], strict=True))
    assert len(found) == len(words) // 2
    wanted = accumulated([(time, d, v) for rounds, time, d, v in updates if rounds == 0] + said, at)
    assert {value: count for value, count in found.items() if count} == wanted
