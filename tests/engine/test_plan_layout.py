from ebbflow.columns.schema import LONG
from ebbflow.columns.text_pool import Pool
from ebbflow.engine import walk as w
from ebbflow.engine.host import Host
from ebbflow.operators import node as kinds
from ebbflow.trace.worker_fields import Worker
from tests.meaning.programs import PAIR, Sketch, reach, schema
from tests.meaning.runtimes import arrays


def test_only_an_output_that_is_given_whole_reductions_takes_rows_as_they_come():
    s = Sketch()
    x = s.input("x")
    counts = s.aggregate(x, ("a",), b=("count_rows", None))
    s.output("whole", counts)
    s.output("turned", s.map(counts, b="b", a="a"))
    s.output("part", s.map(counts, b="b"))
    s.output("twice", s.concat(counts, s.map(counts, a="a", b="b")))
    s.output("raw", x)
    (worker,) = Host(s.graph, 1, Pool()).workers
    found = {name: bool(kinds.Node(at).raw) for name, (at, _) in worker.outputs.items()}
    assert found == {"whole": True, "turned": True, "part": False, "twice": False, "raw": False}


def reaching(workers):
    """A host of a program with a loop, from one root along a path of 30 edges."""
    s = Sketch()
    s.output("out", reach(s, s.input("x", PAIR), s.input("roots", schema(a=LONG))))
    host = Host(s.graph, workers, Pool(), few_rows=0)
    path = [((i, i + 1), (0,), 1) for i in range(30)]
    return host, {"x": arrays(path, 2, 1), "roots": arrays([((0,), (0,), 1)], 1, 1)}


def test_workers_meet_where_rows_may_have_been_sent_and_not_elsewhere():
    host, _ = reaching(2)
    worker, code = host.workers[0], []
    while not code or code[-1] != w.STOP:
        code.append(int(worker.H[worker.program + w.Instruction.SIZE * len(code)]))
    # the rows fed; the index of edges; in the loop what begins it, and what the join made of that
    assert code == [w.SYNC, w.NODE_AT, w.LOOP, w.NODE_AT, w.SYNC, w.NODE_AT, w.LOOP_END, w.STOP]


def test_a_round_in_which_nothing_is_sent_before_its_end_has_one_meeting():
    host, rows = reaching(2)
    found = host.advance(rows, ((0,),), ((1,),))
    assert sum(len(diffs) for _, _, diffs in found["out"]) == 31
    worker = host.workers[0]
    rounds, arrivals = 31, int(Worker(worker.W).barrier_count)
    assert rounds <= arrivals <= rounds + 6  # with a second meeting in every round, twice as many
    host.close()
