"""A step that is refused leaves everything as it was, and what comes after is right."""

from random import Random

import pytest

from ebbflow.columns.schema import LONG
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.errors import EbbflowError
from ebbflow.runtime.oracle.values import Values
from ebbflow.times.frontier import before
from tests.meaning.cases import make_case
from tests.meaning.histories import dealt, joined, random_antichain
from tests.meaning.programs import ONE, Program, Sketch, call, lit, schema
from tests.meaning.runtimes import ASKED, RUNTIMES, arrays, encoded, expected, taken

POISON = 13


def raises_on_poison(row):
    if row[0] == POISON:
        raise ValueError("this row is poison")
    return tuple(row)


def overflow(s, poison):
    """A number that has no place in 64 bits."""
    return s.map(poison, a=call("mul", call("mul", s.col(poison, "a"), lit(2**40)), lit(2**20)))


def raising(s, poison):
    """A person's function that raises."""
    fn = n.Function(raises_on_poison, id(raises_on_poison), "raises_on_poison")
    return s.linear(poison, n.Apply(fn, "rows", schema(a=LONG)))


def raising_in_a_loop(s, poison):
    """The same after some rounds: 10 becomes poison in the third."""
    return s.iterate(poison, lambda v, loop: raising(s, s.map(v, a=call("add", s.col(v, "a"), lit(1)))), max_rounds=3)


def sum_overflow(s, poison):
    big = s.map(poison, a=call("mul", s.col(poison, "a"), lit(2**59)))
    return s.aggregate(s.concat(big, big), (), total=("sum", "a"))


WAYS = {
    "overflow": (overflow, POISON),
    "raising": (raising, POISON),
    "in a loop": (raising_in_a_loop, 10),
    "sum": (sum_overflow, 12),
}


def poisoned(program: Program, way) -> Sketch:
    """The program, and beside it something that can be refused."""
    s = Sketch(*program.coordinates)
    s.graph = program.graph()
    s.output("poisoned", way(s, s.input("poison", ONE)))
    return s


def plan(number: int, way):
    """A program, its graph, and steps in which all inputs advance together and nothing is fed ahead."""
    random = Random(number)
    case, _, _ = make_case(60, number)
    s = poisoned(case.program, way)
    changes = [change for step in case.steps for change in step.changes]
    changes += [("poison", (i,), change[2], 1) for i, change in enumerate(changes[:3])]
    times = [change[2] for change in changes] or [(0,) * len(s.graph.coordinates)]
    names = [node.name for node in s.graph.nodes if isinstance(node, n.Input)]
    now, moves = ((0,) * len(s.graph.coordinates),), []
    for _ in range(3):
        now = joined(now, random_antichain(random, times))
        moves.append(dict.fromkeys(names, now))
    moves.append(dict.fromkeys(names, ()))
    return s.graph, dealt(random, changes, moves, eager=0.0)


def last_complete(changes, ending, otherwise):
    """The last of the times that a step completes, as they are read: when it is met, much has been done."""
    complete = [time for _, _, time, _ in changes if not any(before(element, time) for element in ending)]
    return max(complete, default=otherwise)


@pytest.mark.parametrize("late", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("runtime", [*ASKED, "local-1-sliced", "local-2-sliced"])
def test_a_refused_step_leaves_everything_as_it_was(runtime, number, way, late):
    build, poison = WAYS[way]
    graph, steps = plan(number, build)
    pool = Pool()
    right = expected(graph, steps, pool)
    values, width = Values(pool), len(graph.coordinates)
    asked = RUNTIMES[runtime](graph, pool)
    outputs = [node.name for node in graph.nodes if isinstance(node, n.Output)]
    shown: dict = {name: {} for name in outputs}
    reached = ((0,) * width,)
    for i, step in enumerate(steps):
        rows = encoded(graph, step.changes, values)
        feed(asked, rows, width)
        were = {name: asked.frontier(name) for name in outputs}
        ending = step.frontiers[0][1]
        if ending != reached:  # something completes, so poison fed at the first open time is met
            at = last_complete(step.changes, ending, reached[0]) if late else reached[0]
            feed(asked, {"poison": [((poison,), at, 1)]}, width)
            further = steps[i + 1] if late and i + 1 < len(steps) else step  # than it will go afterwards
            with pytest.raises(EbbflowError):
                asked.advance(dict(further.frontiers))
            assert {name: asked.frontier(name) for name in outputs} == were
            assert not any(taken(asked, name) for name in outputs)
            with pytest.raises(EbbflowError):  # it is still there
                asked.advance(dict(step.frontiers))
            asked.discard()
            feed(asked, rows, width)
        asked.advance(dict(step.frontiers))
        reached = ending or reached
        for name in outputs:
            news = taken(asked, name)
            assert not any(before(element, time) for _, time in news for element in asked.frontier(name)), name
            shown[name].update(news)
    asked.close()
    for name in outputs:
        assert shown[name] == right[name], name


def feed(runtime, rows, width):
    for name, changes in rows.items():
        if changes:
            runtime.feed(name, *arrays(changes, len(changes[0][0]), width))
