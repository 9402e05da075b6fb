from collections import Counter
from random import Random

import numpy as np
import pytest

import ebbflow as ebb
from ebbflow.columns.schema import LONG
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.lower import lower
from ebbflow.dataflow.placement import is_local
from ebbflow.dataflow.plan import Begin, End
from ebbflow.expressions.columnwise import outside
from ebbflow.expressions.typed import Column
from ebbflow.operators import node as kinds
from ebbflow.operators.exchange import outbox
from ebbflow.operators.reduce import answers
from ebbflow.runtime.local import LocalRuntime
from ebbflow.runtime.oracle.values import Values
from tests.meaning.cases import make_case
from tests.meaning.programs import ONE, Sketch, call, lit, own, reach
from tests.meaning.runtimes import arrays, encoded
from tests.trace.heaps import records


def lowered(s):
    return lower(s.graph, lambda stage: False)


def total(pairs):
    found = Counter()
    for row, diff in pairs:
        found[row] += diff
    return {row: diff for row, diff in found.items() if diff}


# ---- the sum of the pipes into a cell is the collection it reads --------------------------------------


def linear_program(random):
    """A random program of linear steps, and for each of its nodes what it makes of the inputs."""
    s = Sketch()
    x, y = s.input("x"), s.input("y")
    made = [(x, lambda given: given["x"]), (y, lambda given: given["y"])]
    for _ in range(random.randint(2, 9)):
        at, of = random.choice(made)
        match random.randrange(5):
            case 0:
                made.append((s.negate(at), lambda g, of=of: {row: -d for row, d in of(g).items()}))
            case 1 | 2:
                parts = [random.choice(made) for _ in range(random.randint(1, 3))] + [(at, of)]
                concat = lambda g, parts=parts: total(pair for _, f in parts for pair in f(g).items())
                made.append((s.concat(*(number for number, _ in parts)), concat))
            case 3:
                k = random.randrange(4)
                turned = s.map(at, a="b", b=call("add", s.col(at, "a"), lit(k)))
                shift = lambda g, of=of, k=k: total(((b, a + k), d) for (a, b), d in of(g).items())
                made.append((turned, shift))
            case _:
                k = random.randrange(4)
                kept = s.filter(at, call("lt", s.col(at, "a"), lit(k)))
                made.append((kept, lambda g, of=of, k=k: {row: d for row, d in of(g).items() if row[0] < k}))
    for i, (at, _) in enumerate(made):
        s.output(f"out{i}", at)
    return s, [of for _, of in made]


def collection(cell, plan, given, pool):
    """What a cell emits: an input's rows, or the sum of its pipes."""
    if cell.kind == kinds.INPUT:
        return given[plan.graph.nodes[cell.node].name]
    return total(pair for pipe in cell.pipes for pair in through(pipe, plan, given, pool))


def through(pipe, plan, given, pool):
    rows = list(collection(pipe.source, plan, given, pool).items())
    lanes = np.array([row for row, _ in rows], np.int64).reshape(len(rows), -1).T
    diffs = np.array([diff for _, diff in rows], np.int64) * pipe.sign
    for stage in pipe.stages:
        if not lanes.shape[1]:
            return []
        lanes, keep = outside(stage.columns, stage.condition, stage.schema, pool, np.ascontiguousarray(lanes))
        lanes, diffs = lanes[:, keep], diffs[keep]
    return list(zip(map(tuple, lanes.T.tolist()), diffs.tolist(), strict=True))


@pytest.mark.parametrize("number", range(40))
def test_the_pipes_into_a_cell_sum_to_the_collection_its_node_reads(number):
    random = Random(number)
    s, meanings = linear_program(random)
    plan, pool = lowered(s), Pool()
    given = {
        name: {(random.randrange(4), random.randrange(4)): random.choice([1, 2, -1]) for _ in range(5)} for name in "xy"
    }
    for i, of in enumerate(meanings):
        assert collection(plan.outputs[f"out{i}"], plan, given, pool) == of(given)


def test_a_collection_read_by_many_has_a_cell_so_that_paths_do_not_multiply():
    s = Sketch()
    at = s.input("x")
    for _ in range(12):
        at = s.concat(at, s.map(at, a="b", b="a"), s.negate(at))
    s.output("out", at)
    plan = lowered(s)
    assert sum(len(cell.pipes) for cell in plan.cells) < 100


def test_stages_that_only_pick_columns_become_one():
    s = Sketch()
    x = s.input("x")
    s.output("out", s.map(s.map(s.map(x, a="b", b="a"), c="b"), d="c"))
    (pipe,) = lowered(s).outputs["out"].pipes
    (stage,) = pipe.stages
    assert stage.as_copy() == (0,)


# ---- loops --------------------------------------------------------------------------------------------


def test_a_variable_is_its_start_and_a_round_later_what_the_body_makes_of_it_less_the_start():
    s = Sketch()
    x = s.input("x", ONE)
    s.output("out", s.iterate(x, lambda v, _: s.map(v, a=call("add", s.col(v, "a"), lit(1))), max_rounds=4))
    plan = lowered(s)
    (settle,) = (cell for cell in plan.cells if cell.kind == kinds.SETTLE)
    said = {(pipe.source.kind, pipe.sign, pipe.rises, len(pipe.stages), pipe.limit) for pipe in settle.pipes}
    assert said == {
        (kinds.INPUT, 1, (), 0, None),
        (kinds.SETTLE, 1, (1,), 1, 4),
        (kinds.INPUT, -1, (1,), 0, 4),
    }
    (out,) = plan.outputs["out"].pipes
    assert out.keeps == frozenset() and out.source is settle  # every round is summed
    assert [type(part) for part in plan.program] == [Begin, type(settle), End]


def test_leaving_keeps_the_rounds_of_the_loops_around():
    s = Sketch()
    x = s.input("x", ONE)

    def outer(v, loop):
        inner = s.iterate(v, lambda u, _: s.distinct(u), loop)
        return s.distinct(inner)

    s.output("out", s.iterate(x, outer))
    plan = lowered(s)
    keeps = {pipe.keeps for cell in plan.cells for pipe in cell.pipes if pipe.keeps is not None}
    assert keeps == {frozenset(), frozenset({1})} and plan.depth == 2


# ---- cells --------------------------------------------------------------------------------------------


def test_what_no_output_needs_is_left_out():
    s = Sketch()
    x, y = s.input("x"), s.input("y")
    s.distinct(y)
    s.output("out", x)
    plan = lowered(s)
    assert {cell.kind for cell in plan.cells} == {kinds.INPUT, kinds.OUTPUT} and set(plan.inputs) == {"x"}


def test_an_index_is_shared_and_one_of_what_entered_a_loop_is_the_index_outside():
    s = Sketch()
    x = s.input("x")
    s.output("one", s.join(x, x, {"a": "a"}, a="left.a", b="right.b"))
    s.output("two", reach(s, x, s.map(x, a="a")))
    arranged = [cell for cell in lowered(s).cells if cell.kind == kinds.ARRANGE]
    assert len([cell for cell in arranged if cell.node == x and cell.key == ("a",)]) == 1
    assert len([cell for cell in arranged if cell.depth]) == 1  # the variable's own


def test_an_index_of_a_reduction_by_its_own_key_is_its_output():
    s = Sketch()
    x, y = s.input("x"), s.input("y")
    counts = s.aggregate(x, ("a",), n=("count_rows", None))
    s.output("own", s.join(counts, y, {"a": "a"}, a="left.a", n="left.n", b="right.b"))
    s.output("other", s.join(counts, y, {"n": "a"}, a="left.a", n="left.n", b="right.b"))
    plan = lowered(s)
    (reduction,) = (cell for cell in plan.cells if cell.kind == kinds.REDUCE)
    joins = [cell for cell in plan.cells if cell.kind == kinds.JOIN]
    families = [(side.cell is reduction, side.family) for join in joins for side in (join.left, join.right)]
    assert families.count((True, 1)) == 1
    assert all(family == 0 for own_, family in families if not own_)


OPS = {
    "distinct": (lambda s, x: s.distinct(x), answers.DISTINCT, answers.DISTINCT),
    "count": (
        lambda s, x: s.aggregate(x, ("a",), n=("count_rows", None)),
        answers.COUNT_OF_ROWS,
        answers.COUNT_OF_ROWS,
    ),
    "sum": (lambda s, x: s.aggregate(x, ("a",), n=("sum", "b"), m=("avg", "b")), answers.SUMMED, answers.BAGGED),
    "min": (lambda s, x: s.aggregate(x, ("a",), n=("sum", "b"), m=("min", "b")), answers.BAGGED, answers.BAGGED),
    "top": (lambda s, x: s.top(x, ("a",), 1, ("b", False)), answers.TOPPED, answers.TOPPED),
    "own": (lambda s, x: s.own(x, ("a",), "first_row"), answers.USER_FUNCTION, answers.USER_FUNCTION),
}


@pytest.mark.parametrize("name", OPS)
def test_sums_are_kept_as_sums_only_along_one_coordinate(name):
    build, one, several = OPS[name]
    for coordinates, op in [(("time",), one), (("time", "valid"), several)]:
        s = Sketch(*coordinates)
        s.output("out", build(s, s.input("x")))
        (cell,) = (cell for cell in lowered(s).cells if cell.kind == kinds.REDUCE)
        assert cell.op == op


def test_a_delay_makes_the_clock_general():
    s = Sketch()
    x = s.input("x")
    s.output("out", s.distinct(x))
    assert not lowered(s).general
    s.output("late", s.delay(x, call("add", Column("time", LONG), lit(2))))
    assert lowered(s).general


# ---- placement ------------------------------------------------------------------------------------------


def places(s, kind=kinds.ARRANGE):
    """Per pipe into the cells of a kind, whether it needs no exchange."""
    return [is_local(pipe, cell) for cell in lowered(s).cells if cell.kind == kind for pipe in cell.pipes]


def test_an_exchange_is_left_out_where_rows_are_placed_alike_already():
    s = Sketch()
    x = s.input("x")
    counts = s.aggregate(x, ("a",), b=("count_rows", None))
    s.output("again", s.aggregate(counts, ("a",), b=("max", "b")))
    s.output("renamed", s.aggregate(s.map(counts, b="a", a="b"), ("b",), c=("max", "a")))
    assert places(s, kinds.REDUCE) == [False, True, True]


def test_an_exchange_stays_where_the_key_is_another_or_was_computed():
    s = Sketch()
    x = s.input("x")
    counts = s.aggregate(x, ("a",), b=("count_rows", None))
    s.output("by count", s.aggregate(counts, ("b",), n=("count_rows", None)))
    moved = s.map(counts, a=call("add", s.col(counts, "a"), lit(1)), b="b")
    s.output("by another", s.aggregate(moved, ("a",), n=("max", "b")))
    assert places(s, kinds.REDUCE) == [False, False, False]


@pytest.mark.parametrize("workers", [2, 3])
def test_whatever_is_left_out_every_key_is_on_the_worker_that_owns_it(workers):
    left_out = kept = 0
    for number in range(12):
        case, _, _ = make_case(23, number)
        graph, pool = case.program.graph(), Pool()
        runtime = LocalRuntime(graph, workers, pool)
        values, width = Values(pool), len(graph.coordinates)
        for step in case.steps:
            for name, rows in encoded(graph, step.changes, values).items():
                if rows:
                    runtime.feed(name, *arrays(rows, len(rows[0][0]), width))
            runtime.advance(dict(step.frontiers))
            for part in runtime.parts:
                for worker in part.host.workers:
                    kept += owned(worker)
        for part in runtime.parts:
            left_out += sum(len(cell.local) for cell in part.host.plan.cells if cell.kind == kinds.REDUCE)
        runtime.close()
    assert left_out > 5 and kept > 200


def owned(worker):
    """How many keys a worker has; all must be its own."""
    found = 0
    for cell, nd in zip(worker.plan.cells, worker.at, strict=True):
        if cell.kind in (kinds.ARRANGE, kinds.REDUCE, kinds.SETTLE) and kinds.Node(nd).partition_lanes:
            for rc in records(worker.H, int(kinds.Node(nd).table)):
                assert outbox.owner_of(worker.W, nd, rc) == worker.me, (cell, cell.key, cell.partition_key)
                found += 1
    return found


def test_users_functions_have_a_cell_that_asks_and_one_that_sends_on():
    s = Sketch()
    s.output("out", s.apply(s.input("x"), "swapped", "rows"))
    plan = lowered(s)
    asks, sends = (cell for cell in plan.cells if cell.kind in (kinds.OUTSIDE, kinds.PASS))
    assert sends.follows is asks and plan.outputs["out"].pipes[0].source is sends
    assert own("swapped").name == asks.action.function.name


# ---- columns that are renamed ---------------------------------------------------------------------

T, U = [(1, 9), (9, 1), (7, 8), (6, 6)], [(1, 100), (8, 800), (7, 700), (6, 600)]


def computed(program):
    flow = ebb.Dataflow()
    program(flow, flow.input("t", "a long, b long"), flow.input("u", "k long, v long"))
    return {name: table.rows() for name, table in flow.compute(t=T, u=U).items()}


def test_a_filter_on_swapped_names_keeps_them_swapped_for_a_join():
    swapped = lambda t: t.select(b="a", a="b").filter(ebb.col("b") > 5)
    found = computed(lambda flow, t, u: flow.output("out", swapped(t).join(u, on={"a": "k"})))
    assert found["out"] == [(6, 6, 600, 1), (7, 8, 800, 1), (9, 1, 100, 1)]


def test_a_filter_on_new_names_is_joined_by_a_new_name():
    renamed = lambda t: t.select(x="a", y="b").filter(ebb.col("x") > 5)
    found = computed(lambda flow, t, u: flow.output("out", renamed(t).join(u, on={"y": "k"})))
    assert found["out"] == [(6, 6, 600, 1), (7, 8, 800, 1), (9, 1, 100, 1)]


def test_a_renamed_collection_is_filtered_twice_renamed_again_joined_and_shown():
    def program(flow, t, u):
        renamed = t.rename({"a": "x", "b": "y"})
        one, two = renamed.filter(ebb.col("x") > 5), renamed.filter(ebb.col("y") > 5).rename({"x": "z"})
        flow.output("out", one.join(two, on="y"))
        flow.output("renamed", renamed)

    found = computed(program)
    assert found["out"] == [(6, 6, 6, 1), (7, 8, 7, 1)]
    assert found["renamed"] == [(1, 9, 1), (6, 6, 1), (7, 8, 1), (9, 1, 1)]


def test_a_condition_and_columns_that_fit_only_apart_stay_apart():
    def program(flow, t, u):
        condition = ebb.col("a") > 0
        for i in range(12):
            condition = condition & (ebb.col("a") * i + ebb.col("b") >= -1000)
        flow.output("out", t.filter(condition).select(**{f"c{i}": ebb.col("a") + i for i in range(40)}))

    assert [row[:2] for row in computed(program)["out"]] == [(1, 2), (6, 7), (7, 8), (9, 10)]


def test_a_loop_variable_is_joined_by_its_whole_row_and_by_part_of_it():
    flow = ebb.Dataflow()
    t, u = flow.input("t", "a long, b long"), flow.input("u", "a long, b long, c long")
    w = flow.input("w", "b long, z long")

    def body(v):
        whole = v.join(u.distinct(), on=["a", "b"]).select("a", b="c")
        part = v.join(w.distinct(), on="b").select("a", b="z")
        return (whole + part + t).distinct()

    flow.output("out", t.distinct().iterate(body))
    found = flow.compute(t=[(1, 1)], u=[(1, 1, 10), (1, 2, 20)], w=[(1, 2), (2, 3)])["out"].rows()
    assert found == [(1, 1, 1), (1, 2, 1), (1, 3, 1), (1, 10, 1), (1, 20, 1)]


def test_a_body_that_is_kept_by_part_of_its_row_is_joined_by_the_whole_of_it():
    flow = ebb.Dataflow()
    t, w = flow.input("t", "a long, b long"), flow.input("w", "b long, z long")

    def body(v):
        following = (v.join(w.distinct(), on="b").select("a", b="z") + t).distinct()
        back = following.join(t.distinct(), on=["a", "b"]).select("a", "b")
        return following, back

    found, back = flow.iterate(lambda v, back: body(v), v=t.distinct(), back=t.distinct())
    flow.output("out", found)
    flow.output("back", back)
    shown = flow.compute(t=[(1, 1), (2, 1)], w=[(1, 2), (2, 3)])
    assert shown["out"].rows() == [(a, b, 1) for a in (1, 2) for b in (1, 2, 3)]
    assert shown["back"].rows() == [(1, 1, 1), (2, 1, 1)]
