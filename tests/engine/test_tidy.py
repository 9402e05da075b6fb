from ebbflow.columns.text_pool import Pool
from ebbflow.engine.host import Host
from ebbflow.operators import node as kinds
from ebbflow.trace import table as t
from tests.meaning.programs import Sketch
from tests.meaning.runtimes import arrays
from tests.runtime.states import kept


def test_keys_of_which_nothing_is_left_are_forgotten():
    s = Sketch()
    x = s.input("x")
    s.output("out", s.aggregate(s.join(x, x, {"a": "a"}, a="left.a", b="right.b"), ("a",), n=("sum", "b")))
    host, words = Host(s.graph, 1, Pool()), []
    (worker,) = host.workers
    for cycle in range(6):
        for sign in (1, -1):
            rows = [((1000 * cycle + i, i), (2 * cycle + (sign < 0),), sign) for i in range(3000)]
            host.advance({"x": arrays(rows, 2, 1)}, (), ())
        for _ in range(3):
            worker.tidy(1 << 20)
        words.append(worker.counters()["words"])
    tables = [int(kinds.Node(nd).table) for nd in worker.at if kinds.Node(nd).table]
    assert all(t.Table(tb).count < 1500 for tb in tables)
    assert words[-1] <= words[1] + 2000
    assert not any(kept(worker).values())
