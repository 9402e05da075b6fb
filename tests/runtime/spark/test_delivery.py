"""Deliveries: the next one is taken in, the last one is answered from the ledger, any other is refused."""

import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow.errors import DeliveryRefused, LateTime, UnknownColumn, WrongTime
from ebbflow.frontend.running.session import Session
from ebbflow.runtime.spark.cluster import Here
from ebbflow.runtime.spark.delivery import judge
from ebbflow.runtime.spark.runtime import SparkRuntime


class Frame:
    """An Arrow table that answers as much of a DataFrame as staging asks."""

    def __init__(self, table):
        self.table, self.columns = table, table.column_names

    def select(self, *names):
        return Frame(self.table.select([name.strip("`") for name in names]))

    def to_batches(self):
        return self.table.to_batches(2)

    def mapInArrow(self, *_):
        raise AssertionError


def frame(rows, **types):
    names = list(types)
    return Frame(pa.table({n: pa.array([row[i] for row in rows], types[n]) for i, n in enumerate(names)}))


def edges(*rows, time=None):
    return frame([(*row, time, 1) for row in rows], src=pa.int64(), dst=pa.int64(), _time=pa.int64(), _diff=pa.int64())


def program():
    flow = ebb.Dataflow()
    given = flow.input("edges", "src long, dst long")
    flow.output("degrees", given.group_by("src").count())
    names = flow.input("names", "id long, name string", key="id")
    flow.output("names", names)
    return flow


def opened(root, **options):
    def make(graph, workers=1, pool=None, **_):
        return SparkRuntime(graph, Here(), str(root), 3, pool, reserve=1 << 28, durable=True, **options)

    return Session(program(), runtime=make)


def test_a_delivery_is_taken_in_once(tmp_path):
    live = opened(tmp_path / "a")
    given = edges((1, 2), (1, 3), (2, 3))
    taken = live.deliver({"edges": given}, "q", 0)
    assert (taken.rows, taken.repeated, taken.step) == (3, False, 1)
    assert live.changes("degrees").rows() == [(1, 2, 0, 1), (2, 1, 0, 1)]
    again = live.deliver({"edges": edges((2, 3), (1, 3), (1, 2))}, "q", 0)  # in whatever order
    assert again == taken._replace(repeated=True)
    assert live.changes("degrees").rows() == [] and live.frontier("edges") == [(1,)]


def test_after_a_restart_the_last_delivery_is_known_and_its_changes_are_given_again(tmp_path):
    live = opened(tmp_path / "a")
    live.deliver({"edges": edges((1, 2))}, "q", 0)
    live.changes("degrees")
    live.deliver({"edges": edges((1, 3))}, "q", 1)
    assert live.changes("degrees").rows() == [(1, 1, 1, -1), (1, 2, 1, 1)]  # read, and nobody knows what became of it
    live = opened(tmp_path / "a")
    assert live.deliver({"edges": edges((1, 3))}, "q", 1).repeated
    assert live.changes("degrees").rows() == [(1, 1, 1, -1), (1, 2, 1, 1)]
    assert not live.deliver({"edges": edges((1, 4))}, "q", 2).repeated
    assert live.changes("degrees").rows() == [(1, 2, 2, -1), (1, 3, 2, 1)]


@pytest.mark.parametrize(
    ("query", "batch", "rows", "says"),
    [
        ("q", 3, [(1, 2), (1, 2)], "now comes with 2 rows"),
        ("q", 3, [(1, 3)], "now comes with 1 rows"),
        ("q", 5, [(1, 2)], "what lies between is missing"),
        ("q", 2, [(1, 2)], "comes after batch 3 was taken in"),
        ("other", 4, [(1, 2)], "comes from the query other"),
        ("other", 0, [(1, 2)], "comes from the query other"),
    ],
)
def test_any_other_delivery_is_refused_and_changes_nothing(tmp_path, query, batch, rows, says):
    live = opened(tmp_path / "a")
    live.deliver({"edges": edges((1, 2))}, "q", 3)
    with pytest.raises(DeliveryRefused, match=says):
        live.deliver({"edges": edges(*rows)}, query, batch)
    assert live.frontier("edges") == [(1,)]
    assert live.deliver({"edges": edges((1, 2))}, "q", 3).repeated
    assert live.deliver({"edges": edges((5, 6))}, "q", 4).step == 2


def test_a_batch_of_many_rows_waits_in_files_and_counts_like_any_other(tmp_path, monkeypatch):
    monkeypatch.setattr("ebbflow.runtime.spark.pack.FEW_TO_PACK", 3)
    live = opened(tmp_path / "a", wide_rows=5)
    rows = [(i % 7, i) for i in range(40)]
    assert live.deliver({"edges": edges(*rows)}, "q", 0).rows == 40
    assert live.snapshot("degrees").rows() == [(i, len(range(i, 40, 7)), 1) for i in range(7)]
    live = opened(tmp_path / "a", wide_rows=5)
    assert live.deliver({"edges": edges(*rows[::-1])}, "q", 0).repeated


def test_rows_keep_their_own_times_and_inputs_go_as_far_as_they_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr("ebbflow.runtime.spark.pack.FEW_TO_PACK", 1)
    live = opened(tmp_path / "a")
    whole = frame([(1, 2, 0), (1, 3, 2), (1, 4, 5), (1, 5, 9)], src=pa.int64(), dst=pa.int64(), _time=pa.int64())
    live.deliver({"edges": whole}, "q", 0, frontiers={"edges": [(4,)], "names": [(4,)]})
    assert live.changes("degrees").rows() == [(1, 1, 0, 1), (1, 1, 2, -1), (1, 2, 2, 1)]
    live = opened(tmp_path / "a")  # what waits in files is there after a restart
    live.advance_to(10)
    assert live.snapshot("degrees").rows() == [(1, 4, 1)]
    assert [row[2:] for row in live.changes("degrees").rows()][-1] == (9, 1)


def test_rows_that_come_too_late_refuse_the_whole_delivery(tmp_path):
    live = opened(tmp_path / "a")
    live.deliver({"edges": edges((1, 2), time=5)}, "q", 0)
    with pytest.raises(LateTime, match="too late at time 3"):
        live.deliver({"edges": edges((1, 3), time=3)}, "q", 1)
    assert live.deliver({"edges": edges((1, 3), time=6)}, "q", 1).step == 2


def test_rows_by_key_are_replaced_in_their_order(tmp_path):
    live = opened(tmp_path / "a")
    kinds = {"id": pa.int64(), "name": pa.string(), "_order": pa.int64(), "_diff": pa.int64()}
    live.deliver({"names": frame([(1, "b", 2, 1), (1, "a", 1, 1), (2, "c", 1, 1)], **kinds)}, "q", 0)
    assert live.snapshot("names").rows() == [(1, "b", 1), (2, "c", 1)]
    live.deliver({"names": frame([(1, "b", 1, -1), (2, "d", 2, 1)], **kinds)}, "q", 1)
    assert live.snapshot("names").rows() == [(2, "d", 1)]
    del kinds["_order"]
    with pytest.raises(WrongTime, match="nothing says which is later"):
        live.deliver({"names": frame([(1, "x", 1), (1, "y", 1)], **kinds)}, "q", 2)


def test_a_delivery_without_rows_is_one_too(tmp_path):
    live = opened(tmp_path / "a")
    assert live.deliver({}, "q", 0).rows == 0
    assert live.deliver({}, "q", 0).repeated and live.frontier("edges") == [(1,)]


def test_columns_that_do_not_fit_are_refused_by_name(tmp_path):
    live = opened(tmp_path / "a")
    with pytest.raises(UnknownColumn, match='the column "dst" of the input "edges"'):
        live.deliver({"edges": frame([(1, 2)], src=pa.int64(), dts=pa.int64())}, "q", 0)
    with pytest.raises(ebb.EbbflowError, match="src"):
        live.deliver({"edges": frame([("a", 2)], src=pa.string(), dst=pa.int64())}, "q", 0)
    assert live.deliver({"edges": edges((1, 2))}, "q", 0).step == 1


def test_the_first_delivery_may_have_any_number():
    assert judge(None, "q", 17, 1, "x") is False


def test_a_delivery_is_a_step_of_its_own(tmp_path):
    live = opened(tmp_path / "a")
    live.insert("edges", [(1, 2)])
    with pytest.raises(DeliveryRefused, match="other rows wait"):
        live.deliver({"edges": edges((1, 3))}, "q", 0)
    live.discard()
    assert live.deliver({"edges": edges((1, 3))}, "q", 0).step == 1
