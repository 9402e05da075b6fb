"""What DESIGN 9 says of sessions: rows in every form, advancing, commit, upsert, subscribe, compute, added outputs."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import ebbflow as ebb


@dataclass
class Edge:
    src: int
    dst: int


class Pair(NamedTuple):
    src: int
    dst: int


class Capsule:
    """Something that speaks Arrow and nothing else, as Polars and DuckDB do."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def echo(schema="src long, dst long", **options):
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("edges", schema, **options))
    return flow


FORMS = {
    "tuples": [(1, 2), (3, 4)],
    "lists": [[1, 2], [3, 4]],
    "dicts": [{"src": 1, "dst": 2}, {"dst": 4, "src": 3}],
    "dataclasses": [Edge(1, 2), Edge(3, 4)],
    "named tuples": [Pair(1, 2), Pair(3, 4)],
    "a generator": lambda: ((i, i + 1) for i in (1, 3)),
    "a dict of lists": {"src": [1, 3], "dst": [2, 4]},
    "a dict of arrays": {"dst": np.array([2, 4]), "src": np.array([1, 3])},
    "a dict of small arrays": {"dst": np.array([2, 4], np.int8), "src": np.array([1, 3], np.uint16)},
    "a dict of Arrow arrays": {"src": pa.array([1, 3]), "dst": pa.chunked_array([[2], [4]])},
    "an array": np.array([[1, 2], [3, 4]]),
    "a record array": np.array([(1, 2), (3, 4)], dtype=[("src", "i8"), ("dst", "i8")]),
    "an Arrow table": pa.table({"src": [1, 3], "dst": [2, 4]}),
    "an Arrow batch": pa.record_batch({"dst": [2, 4], "src": [1, 3]}),
    "an Arrow reader": lambda: pa.table({"src": [1, 3], "dst": [2, 4]}).to_reader(),
    "anything with a capsule": Capsule(pa.table({"src": [1, 3], "dst": [2, 4]})),
    "a set": {(1, 2), (3, 4)},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("verb", ["insert", "apply", "compute"])
def test_rows_in_every_form(form, verb):
    rows = FORMS[form]() if callable(FORMS[form]) else FORMS[form]
    flow = echo()
    if verb == "compute":
        assert flow.compute(edges=rows)["copy"].rows() == [(1, 2, 1), (3, 4, 1)]
        return
    with flow.run() as live:
        getattr(live, verb)("edges", rows, time=3)
        live.advance_to(4)
        assert live.changes("copy").rows() == [(1, 2, 3, 1), (3, 4, 3, 1)]


def test_a_table_of_one_session_is_rows_for_another():
    table = echo().compute(edges=[(1, 2)])["copy"]
    flow = echo("src long, dst long, n long")
    assert flow.compute(edges=table.to_arrow().rename_columns(["src", "dst", "n"]))["copy"].rows() == [(1, 2, 1, 1)]


def test_the_changes_of_one_session_are_applied_to_another():
    with echo().run() as first, echo().run() as second:
        first.insert("edges", [(1, 2)], time=3)
        first.delete("edges", [(1, 2)], time=5)
        first.advance_to(8)
        changes = first.changes("copy")
        second.apply("edges", changes, time="_time", diff="_diff")
        second.advance_to(8)
        assert second.changes("copy") == changes


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"src": [1, 3], "dst": [2, 4], "ts": [0, 6], "d": [2, -1]}),
        {"src": [1, 3], "dst": [2, 4], "ts": [0, 6], "d": [2, -1]},
        {"src": np.array([1, 3]), "dst": np.array([2, 4]), "ts": np.array([0, 6]), "d": np.array([2, -1], np.int8)},
        [{"src": 1, "dst": 2, "ts": 0, "d": 2}, {"src": 3, "dst": 4, "ts": 6, "d": -1}],
    ],
    ids=["arrow", "dict", "numpy", "dicts"],
)
def test_apply_takes_times_and_diffs_by_column_name(table):
    with echo().run() as live:
        live.apply("edges", table, time="ts", diff="d")
        live.advance_to(8)
        assert live.changes("copy").rows() == [(1, 2, 0, 2), (3, 4, 6, -1)]


@pytest.mark.parametrize("wrap", [list, np.array, pa.array], ids=["list", "numpy", "arrow"])
def test_apply_takes_times_and_diffs_as_arrays(wrap):
    with echo().run() as live:
        live.apply("edges", [(1, 2), (3, 4)], time=wrap([0, 6]), diff=wrap([2, -1]))
        live.apply("edges", [(5, 5)], time=7, diff=3)
        live.apply("edges", [(6, 6)], time=7)
        live.advance_to(8)
        assert live.changes("copy").rows() == [(1, 2, 0, 2), (3, 4, 6, -1), (5, 5, 7, 3), (6, 6, 7, 1)]


def test_one_time_and_one_diff_for_all():
    with echo().run() as live:
        live.apply("edges", pa.table({"src": [1], "dst": [2], "d": [5]}), time=4, diff="d")
        live.advance_to(5)
        assert live.changes("copy").rows() == [(1, 2, 4, 5)]


def test_changes_become_complete_as_the_frontier_passes_them():
    with echo().run() as live:
        live.insert("edges", [(1, 1)], time=2)
        live.insert("edges", [(2, 2)], time=5)
        live.advance_to(2)
        assert live.changes("copy").rows() == []
        live.advance_to(3)
        assert live.changes("copy").rows() == [(1, 1, 2, 1)]
        live.advance_to(3)
        live.advance_to(6)
        assert live.changes("copy").rows() == [(2, 2, 5, 1)]


def two():
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "src long")
    flow.output("edges only", edges.group_by("src").count())
    flow.output("roots only", roots.distinct())
    flow.output("both", edges.join(roots, on="src"))
    return flow


@pytest.mark.parametrize("workers", [1, 2])
def test_inputs_advance_separately_and_an_output_waits_for_its_own(workers):
    with two().run(workers=workers) as live:
        live.insert("edges", [(1, 2)], time=0)
        live.insert("edges", [(1, 3)], time=6)
        live.insert("roots", [(1,)], time=4)
        live.insert("roots", [(2,)], time=6)
        live.advance_to(edges=8, roots=5)
        assert live.frontier("edges only") == [(8,)]
        assert live.frontier("roots only") == [(5,)]
        assert live.frontier("both") == [(5,)]
        assert live.changes("edges only").rows() == [(1, 1, 0, 1), (1, 1, 6, -1), (1, 2, 6, 1)]
        assert live.changes("roots only").rows() == [(1, 4, 1)]
        assert live.changes("both").rows() == [(1, 2, 4, 1)]
        live.advance_to(roots=8)
        assert live.changes("both").rows() == [(1, 3, 6, 1)]
        assert live.changes("roots only").rows() == [(2, 6, 1)]
        assert live.changes("edges only").rows() == []
        assert live.frontier("both") == [(8,)]


def test_one_input_alone_may_advance():
    with two().run() as live:
        live.advance_to(edges=3)
        assert live.frontier("edges") == [(3,)] and live.frontier("roots") == [(0,)]
        with pytest.raises(ebb.errors.LateTime):
            live.insert("edges", [(1, 2)], time=2)
        live.insert("roots", [(1,)], time=2)


def test_without_times_commit_ends_a_group_of_edits():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("copy", edges)
    flow.output("degrees", edges.group_by("src").count())
    with flow.run() as live:
        live.insert("edges", [(1, 2), (1, 3)])
        found = live.commit()
        assert set(found) == {"copy", "degrees"}
        assert found["degrees"].rows() == [(1, 2, 0, 1)]
        live.delete("edges", [(1, 3)])
        live.insert("edges", [(2, 3)])
        assert live.commit()["degrees"].rows() == [(1, 1, 1, 1), (1, 2, 1, -1), (2, 1, 1, 1)]
        assert live.commit()["degrees"].rows() == []
        assert live.frontier("degrees") == [(3,)]


def test_commit_after_advance_to_goes_on_from_there():
    with echo().run() as live:
        live.insert("edges", [(1, 2)], time=3)
        live.advance_to(10)
        live.insert("edges", [(3, 4)])
        assert live.commit()["copy"].rows() == [(1, 2, 3, 1), (3, 4, 10, 1)]
        assert live.frontier("copy") == [(11,)]


def test_upsert_replaces_rows_by_key():
    flow = ebb.Dataflow()
    accounts = flow.input("accounts", "id long, name string, balance long", key="id")
    flow.output("copy", accounts)
    flow.output("total", accounts.group_by().agg(total=ebb.sum("balance")))
    with flow.run() as live:
        live.upsert("accounts", [(1, "Ann", 10), (2, "Bob", 5)])
        assert live.commit()["total"].rows() == [(15, 0, 1)]
        live.upsert("accounts", [(1, "Ann", 30)])
        found = live.commit()
        assert found["copy"].rows() == [(1, "Ann", 10, 1, -1), (1, "Ann", 30, 1, 1)]
        assert found["total"].rows() == [(15, 1, -1), (35, 1, 1)]
        live.upsert("accounts", [(1, "Ann", 30)])
        assert live.commit()["copy"].rows() == [], "the same row again is no change"
        live.delete("accounts", [(2, "Bob", 5)])
        live.delete("accounts", [1])
        live.commit()
        assert live.snapshot("copy").rows() == []


def test_upserts_may_arrive_out_of_order_and_in_bulk():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("accounts", {"id": int, "v": int}, key=["id"]))
    with flow.run() as live:
        live.upsert("accounts", {"id": [1, 1], "v": [50, 40]}, time=5)
        live.upsert("accounts", pa.table({"id": [1, 2], "v": [10, 20]}), time=1)
        live.advance_to(9)
        assert live.changes("copy").rows() == [(1, 10, 1, 1), (2, 20, 1, 1), (1, 10, 5, -1), (1, 40, 5, 1)]


def test_upsert_with_a_key_of_two_columns():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("cells", "row long, col string, v long", key=("row", "col")))
    with flow.run() as live:
        live.upsert("cells", [(1, "a", 1), (1, "b", 2)])
        live.commit()
        live.upsert("cells", [(1, "a", 3)])
        live.commit()
        assert live.snapshot("copy").rows() == [(1, "a", 3, 1), (1, "b", 2, 1)]


def test_subscribe_hears_of_results_as_they_complete():
    with echo().run() as live:
        heard = []
        live.subscribe("copy", lambda changes, frontier: heard.append((changes.rows(), frontier)))
        live.insert("edges", [(1, 2)], time=0)
        live.advance_to(4)
        live.advance_to(5)
        live.delete("edges", [(1, 2)], time=5)
        live.advance_to(6)
        assert heard[0] == ([(1, 2, 0, 1)], [(4,)])
        assert ([(1, 2, 5, -1)], [(6,)]) in heard
        assert live.changes("copy").rows() == [(1, 2, 0, 1), (1, 2, 5, -1)]
    assert sum(len(rows) for rows, _ in heard) == 2


def test_compute_runs_the_program_once():
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "root long")
    start = roots.select("root", node="root")
    flow.output(
        "reach",
        start.iterate(lambda r: r.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()),
    )
    result = flow.compute(edges=[(1, 2), (2, 3)], roots=[(1,)])
    assert list(result) == ["reach"] and isinstance(result["reach"], ebb.Table)
    assert result["reach"].rows() == [(1, 1, 1), (1, 2, 1), (1, 3, 1)]
    assert flow.compute(edges=[], roots=[(1,)])["reach"].rows() == [(1, 1, 1)]
    assert flow.compute(roots=[(7,)])["reach"].rows() == [(7, 7, 1)], "an input that is not named is empty"


def test_one_program_runs_in_several_sessions_at_once():
    flow = echo()
    with flow.run() as one, flow.run() as two_:
        one.insert("edges", [(1, 1)])
        two_.insert("edges", [(2, 2)])
        assert one.commit()["copy"].rows() == [(1, 1, 0, 1)]
        assert two_.commit()["copy"].rows() == [(2, 2, 0, 1)]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_how_the_input_was_cut_cannot_be_seen(workers):
    changes = [((i * 5) % 7, (i * 3) % 5, (i * 11) % 13, 1 if i % 4 else -1) for i in range(80)]

    def told(cuts, workers):
        flow = ebb.Dataflow()
        edges = flow.input("edges", "src long, dst long")
        flow.output(
            "out",
            edges.join(edges, on={"dst": "src"}, suffix="2").group_by("src").agg(n=ebb.count(), most=ebb.max("dst2")),
        )
        with flow.run(workers=workers) as live:
            for cut in cuts:
                part = [c for c in changes if c[2] < cut and (cut == cuts[0] or c[2] >= cuts[cuts.index(cut) - 1])]
                live.apply("edges", [c[:2] for c in part], time=[c[2] for c in part], diff=[c[3] for c in part])
                live.advance_to(cut)
            return live.changes("out").rows()

    assert told([13], 1) == told(list(range(1, 14)), workers) == told([4, 9, 13], workers)


def test_an_output_added_while_it_runs_shows_what_is_there():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("two", edges.join(edges, on={"dst": "src"}, suffix="2").select("src", dst="dst2"))
    with flow.run() as live:
        live.insert("edges", [(1, 2), (2, 3)])
        live.commit()
        flow.output("degrees", edges.group_by("src").count())
        assert live.snapshot("degrees").rows() == [(1, 1, 1), (2, 1, 1)]
        live.insert("edges", [(1, 4)])
        live.commit()
        assert live.snapshot("degrees").rows() == [(1, 2, 1), (2, 1, 1)]
        assert live.frontier("degrees") == live.frontier("two")


def test_an_output_of_what_is_kept_nowhere_is_refused_when_it_comes_late():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("degrees", edges.group_by("src").count())
    with flow.run() as live:
        live.insert("edges", [(1, 2)])
        live.commit()
        flow.output("once", edges.distinct())
        with pytest.raises(ebb.EbbflowError, match="keeps no whole copy") as raised:
            live.snapshot("once")
        assert len(str(raised.value).splitlines()) == 3
        live.insert("edges", [(1, 3)])
        assert live.commit()["degrees"].rows() == [(1, 1, 1, -1), (1, 2, 1, 1)]


def test_counters_count():
    with echo().run() as live:
        live.insert("edges", [(1, 2)])
        live.commit()
        assert {"rows", "visits", "answers", "replayed", "words"} <= set(live.counters())


def test_a_checkpoint_survives_its_session(tmp_path):
    with echo().run(checkpoint=str(tmp_path / "state")) as live:
        live.insert("edges", [(1, 2)])
        live.commit()
    with echo().run(checkpoint=str(tmp_path / "state")) as live:
        assert live.snapshot("copy").rows() == [(1, 2, 1)] and live.frontier("copy") == [(1,)]
