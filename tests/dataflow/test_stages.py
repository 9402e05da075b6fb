from functools import cache
from random import Random

import ebbflow as ebb
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.rewrite import rewrite
from ebbflow.dataflow.rules.check import check
from ebbflow.dataflow.stages import cut
from ebbflow.runtime.local import LocalRuntime
from tests.meaning.cases import make_case
from tests.meaning.histories import dealt
from tests.meaning.programs import Sketch, reach
from tests.meaning.runtimes import arrays, judge, taken


def outputs_of(stage):
    return {node.name for node in stage.graph.nodes if isinstance(node, n.Output)} - stage.exports


def chained():
    """x -> one; x, y -> two; x, y, z -> three."""
    s = Sketch()
    x, y, z = (s.input(name) for name in "xyz")
    one = s.distinct(x)
    two = s.join(one, y, {"a": "a"}, a="left.a", b="right.b")
    three = s.aggregate(s.concat(two, z), ("a",), b=("count_rows", None))
    for name, at in zip(("one", "two", "three"), (one, two, three), strict=True):
        s.output(name, at)
    return s


def test_a_program_whose_outputs_wait_for_the_same_inputs_is_one_stage():
    s = Sketch()
    x = s.input("x")
    s.output("one", s.distinct(x))
    s.output("two", s.aggregate(x, ("a",), n=("count_rows", None)))
    (stage,) = cut(s.graph)
    assert stage.graph is s.graph and stage.inputs == {"x"} and not stage.imports and not stage.exports


def test_a_program_is_cut_where_outputs_wait_for_different_inputs():
    stages = cut(chained().graph)
    assert [(stage.inputs, outputs_of(stage)) for stage in stages] == [
        ({"x"}, {"one"}),
        ({"x", "y"}, {"two"}),
        ({"x", "y", "z"}, {"three"}),
    ]
    assert stages[0].exports == stages[1].imports and stages[1].exports == stages[2].imports
    reductions = [sum(isinstance(node, n.Reduce) for node in stage.graph.nodes) for stage in stages]
    assert reductions == [1, 0, 1]  # nothing is computed twice


def test_an_output_moves_on_though_an_input_it_does_not_need_stays():
    runtime = LocalRuntime(chained().graph)
    runtime.feed("x", *arrays([((1, 2), (0,), 1)], 2, 1))
    runtime.feed("y", *arrays([((1, 7), (1,), 1)], 2, 1))
    runtime.feed("z", *arrays([((5, 5), (1,), 1)], 2, 1))
    frontiers = {"x": ((4,),), "y": ((1,),), "z": ((0,),)}
    runtime.advance(frontiers)
    assert [runtime.frontier(name) for name in ("one", "two", "three")] == [((4,),), ((1,),), ((0,),)]
    assert taken(runtime, "one") == {((1, 2), (0,)): 1} and taken(runtime, "two") == {}
    runtime.advance(frontiers | {"y": ((2,),)})
    assert taken(runtime, "two") == {((1, 7), (1,)): 1} and runtime.frontier("two") == ((2,),)
    assert taken(runtime, "three") == {} and runtime.frontier("three") == ((0,),)
    runtime.advance(frontiers | {"y": ((2,),), "z": ((2,),)})
    assert taken(runtime, "three") == {((1, 1), (1,)): 1, ((5, 1), (1,)): 1}


def looping():
    """x alone is counted; x and y are in one loop; z is joined to what comes out."""
    s = Sketch()
    x, y, z = (s.input(name) for name in "xyz")
    s.output("counted", s.aggregate(x, ("a",), n=("count_rows", None)))
    reached = reach(s, s.distinct(x), s.map(s.distinct(y), a="a"))
    s.output("reached", reached)
    s.output("joined", s.join(reached, z, {"b": "a"}, a="left.a", b="right.b"))
    return s


def test_a_loop_is_never_cut():
    s = looping()
    stages = cut(s.graph)
    assert [(stage.inputs, outputs_of(stage)) for stage in stages] == [
        ({"x"}, {"counted"}),
        ({"x", "y"}, {"reached"}),
        ({"x", "y", "z"}, {"joined"}),
    ]
    assert [bool(stage.graph.next_of) for stage in stages] == [False, True, False]
    for stage in stages:
        check(stage.graph)  # each is a program of its own


@cache
def cases():
    """Random programs of several stages."""
    found = [(number, make_case(31, number)[0]) for number in range(60)]
    several = [(number, case) for number, case in found if len(cut(rewrite(case.program.graph())[0])) > 1]
    assert len(several) >= 4
    return several


def test_a_stage_waits_for_what_the_stages_it_reads_wait_for():
    for _, case in cases():
        graph, _ = rewrite(case.program.graph())
        made, loops = {}, {}
        for place, stage in enumerate(cut(graph)):
            check(stage.graph)
            for name in stage.imports:
                assert made[name].inputs <= stage.inputs
            made |= dict.fromkeys(stage.exports, stage)
            for at, loop in enumerate(stage.graph.scopes):
                if loop and isinstance(stage.graph.nodes[at], n.Feedback):
                    assert loops.setdefault(loop[0], place) == place
            given = {node.name for node in stage.graph.nodes if isinstance(node, n.Input)}
            assert given - stage.imports <= stage.inputs
        assert set(loops) == {graph.scopes[i][0] for i in wanted(graph)}
        names = [name for stage in cut(graph) for name in outputs_of(stage)]
        assert sorted(names) == sorted(node.name for node in graph.nodes if isinstance(node, n.Output))


def wanted(graph):
    """The loop variables that an output needs."""
    outputs = [i for i, node in enumerate(graph.nodes) if isinstance(node, n.Output)]
    return {i for i in graph.ancestors(*outputs) if isinstance(graph.nodes[i], n.Feedback)}


def test_a_program_in_stages_says_what_it_means_however_its_inputs_move():
    for number, case in cases():
        graph, random = case.program.graph(), Random(number)
        changes = [change for step in case.steps for change in step.changes]
        names = [node.name for node in graph.nodes if isinstance(node, n.Input)]
        width = len(graph.coordinates)
        moves, now = [], dict.fromkeys(names, 0)
        for _ in range(4):
            now = {name: at + random.randrange(3) for name, at in now.items()}
            moves.append({name: ((at,) * width,) for name, at in now.items()})
        steps = dealt(random, changes, [*moves, dict.fromkeys(names, ())], eager=0.5)
        judge(lambda graph, pool: LocalRuntime(graph, 1, pool), graph, steps, Pool())


def test_what_leaves_a_loop_stays_with_it_when_only_a_later_stage_reads_it():
    flow = ebb.Dataflow()
    u, v = flow.input("u", "a long, b long"), flow.input("v", "b long")
    turn = lambda p, q: (q.join(u, on=["a", "b"]).union(u).distinct(), p.select(a="b", b="a").distinct())
    one, two = flow.iterate(turn, p=u.distinct(), q=u.distinct())
    flow.output("two", two)  # waits for u
    flow.output("met", one.join(v, on="b"))  # waits for u and v, and is all that reads the first
    found = flow.compute(u=[(1, 2)], v=[(2,)])
    assert found["two"].rows() == [(2, 1, 1)] and found["met"].rows() == [(1, 2, 1)]


def test_a_stage_takes_over_what_its_outputs_need_and_one_without_outputs_is_left_out():
    flow = ebb.Dataflow()
    flow.input("t", "a long, b long")
    flow.input("u", "a long, c long")
    flow.output("p", flow.sql("select count(t.a) as n from t join u on t.a = u.c"))
    flow.output("q", flow.sql("select u.a from u join t on u.c = t.b group by cube(u.a)"))
    flow.output("r", flow.sql("select a from u where c < a"))
    for stage in cut(flow.graph):  # the index of u that p and q share waits for t and u, and so do p and q for more
        inputs = {node.name for node in stage.graph.nodes if isinstance(node, n.Input)}
        assert outputs_of(stage) | stage.exports and stage.imports <= inputs
    with flow.run() as live:
        live.insert("u", [(3, 1)])
        assert {name: table.rows() for name, table in live.commit().items()} == {
            "p": [(0, 0, 1)],
            "q": [(None, 0, 1)],
            "r": [(3, 0, 1)],
        }
