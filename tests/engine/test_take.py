import numpy as np

from ebbflow.columns.text_pool import Pool
from ebbflow.engine import walk as w
from ebbflow.engine.host import Host
from tests.meaning.programs import Sketch


def counting(*coordinates):
    s = Sketch(*coordinates)
    s.output("out", s.aggregate(s.input("x"), ("a",), n=("count_rows", None)))
    return s.graph


def test_what_an_output_took_in_is_given_once():
    host = Host(counting(), 1, Pool())
    (worker,) = host.workers
    worker.begin_advance(keeping=False)
    worker.begin_slice()
    worker.feed("x", np.array([[1, 1], [5, 6]]), np.array([1, 1]), np.array([1, 1]))
    assert worker.run() == w.FINISHED
    assert worker.take("out").tolist() == [[1], [2], [1], [1]]  # a, n, rank, diff
    assert worker.take("out") is None
