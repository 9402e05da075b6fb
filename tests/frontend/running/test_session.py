"""Sessions, asked of every runtime: rows in, results out, and the frontiers between."""

import importlib
import random

import numpy as np
import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow.columns.schema import DOUBLE, LONG, STRING, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.errors import EbbflowError, FunctionFailed, NumberOverflow, SessionClosed, TypeMismatch
from ebbflow.frontend.running import output_log as shown_module
from ebbflow.frontend.running import results, stepping
from ebbflow.frontend.running.session import compute
from ebbflow.runtime.local import LocalRuntime
from ebbflow.runtime.oracle.runtime import OracleRuntime
from ebbflow.times.frontier import before
from tests.frontend import flows
from tests.frontend.flows import NAMED, both, echo, run


@pytest.fixture(params=[OracleRuntime, LocalRuntime], autouse=True)
def runtime(request, monkeypatch):
    monkeypatch.setattr(flows, "RUNTIME", request.param)
    return request.param


# ---- rows in, changes out


def test_changes_carry_their_own_times_and_are_given_once():
    with run(echo()) as live:
        live.insert("edges", [(1, 2), (2, 3)], time=0)
        live.delete("edges", [(2, 3)], time=7)
        live.advance_to(7)
        assert live.changes("copy") == [(1, 2, 0, 1), (2, 3, 0, 1)]
        live.advance_to(8)
        assert live.changes("copy") == [(2, 3, 7, -1)]
        assert live.changes("copy") == []
        assert live.frontier("copy") == [(8,)]


ROWS = [(1, 2), (3, 4), (5, 6)]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        tuple(ROWS),
        dict.fromkeys(ROWS).keys(),
        [list(row) for row in ROWS],
        [{"dst": d, "src": s} for s, d in ROWS],
        {"src": [1, 3, 5], "dst": np.array([2, 4, 6])},
        {"dst": pa.array([2, 4, 6]), "src": range(1, 6, 2)},
        np.array(ROWS),
        np.array(ROWS, [("src", "i8"), ("dst", "i4")]),
        pa.table({"dst": [2, 4, 6], "src": [1, 3, 5]}),
        pa.record_batch({"src": [1, 3, 5], "dst": [2, 4, 6]}),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_rows_may_come_in_any_form(rows):
    with run(echo()) as live:
        live.insert("edges", rows, time=3)
        live.advance_to(4)
        assert live.changes("copy") == [(s, d, 3, 1) for s, d in ROWS]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_column_alone_is_not_rows(package):
    with run(echo()) as live, pytest.raises(TypeMismatch) as caught:
        live.insert("edges", importlib.import_module(package).Series([1, 2]))
    assert "(src, dst)" in caught.value.hint


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_rows_may_come_as_frames(package):
    frames = importlib.import_module(package)
    frame = frames.DataFrame({"src": [1, 3, 5], "dst": [2, 4, 6], "ts": [2, 0, 1], "d": [1, -1, 2]})
    if package == "pandas":
        frame = frame.set_index(frames.Index(["a", "b", "c"]))  # not a column of ours
    plain = frame[["src", "dst"]]
    expected = [(3, 4, 0, -1), (5, 6, 1, 2), (1, 2, 2, 1)]
    for given in (
        {"table": frame, "time": "ts", "diff": "d"},
        {"table": plain, "time": frame["ts"], "diff": frame["d"]},
        {"table": {"src": frame["src"], "dst": frame["dst"]}, "time": frame["ts"], "diff": frame["d"]},
    ):
        with run(echo()) as live:
            live.apply("edges", **given)
            live.advance_to(3)
            assert live.changes("copy") == expected
    with run(echo(NAMED)) as live:
        live.insert("edges", frames.DataFrame({"id": [1, 2], "name": ["x", None], "score": [0.5, 2.0]}))
        assert live.commit() == {"copy": [(1, "x", 0.5, 0, 1), (2, None, 2.0, 0, 1)]}


def test_a_few_rows_mean_the_same_as_many():
    """The short way for a few tuples against the way through Arrow."""
    rows = [(1, "ebb", 0.5), (2, None, -0.0), (None, "", float("inf")), (-5, "flöw", float("nan")), (7, "x", None)]
    for cut in (1, 5):
        with run(echo(NAMED)) as live:
            for i in range(0, 5, cut):
                live.insert("edges", rows[i : i + cut])
            live.delete("edges", pa.table(dict(zip(NAMED.names, zip(*rows)))))
            assert live.commit()["copy"] == []


def test_apply_takes_times_and_diffs_by_name_by_array_and_as_numbers():
    table = pa.table({"src": [1, 2, 3], "dst": [4, 5, 6], "ts": [2, 0, 1], "d": [1, -2, 0]})
    data = table.select(["src", "dst"])
    expected = [(2, 5, 0, -2), (1, 4, 2, 1)]
    for time, diff, rows in [
        ("ts", "d", table),
        ("ts", [1, -2, 0], table.select(["src", "dst", "ts"])),
        (np.array([2, 0, 1], np.int32), np.array([1, -2, 0]), data),
        (pa.array([2, 0, 1]), "d", table.select(["src", "dst", "d"])),
    ]:
        with run(echo()) as live:
            live.apply("edges", rows, time=time, diff=diff)
            live.advance_to(3)
            assert live.changes("copy") == expected
    with run(echo()) as live:
        live.apply("edges", data, time=1, diff=5)
        live.apply("edges", data)
        live.advance_to(2)
        assert live.changes("copy") == [(s, d, t, w) for t, w in [(0, 1), (1, 5)] for s, d in [(1, 4), (2, 5), (3, 6)]]


def test_a_column_may_be_data_and_time_at_once():
    with run(echo()) as live:
        live.apply("edges", {"src": [1, 2], "dst": [7, 8]}, time="dst")
        live.advance_to(9)
        assert live.changes("copy") == [(1, 7, 7, 1), (2, 8, 8, 1)]


def test_what_was_given_may_change_afterwards():
    columns = {name: np.array([1, 2]) for name in ("src", "dst", "t", "d")}
    rows = [[5, 5]]
    with run(echo()) as live:
        live.apply("edges", columns, time="t", diff="d")
        live.insert("edges", rows, time=1)
        for column in columns.values():
            column[:] = 7
        rows[0][0] = 7
        live.advance_to(3)
        assert live.changes("copy") == [(1, 1, 1, 1), (5, 5, 1, 1), (2, 2, 2, 2)]


def test_results_of_one_session_are_input_of_another():
    for coordinates, time in [(("time",), 1), (("valid", "system"), (1, 2))]:
        with run(echo(coordinates=coordinates)) as first, run(echo(coordinates=coordinates)) as second:
            first.insert("edges", ROWS, time=time)
            first.close()
            changes = first.changes("copy")
            second.apply("edges", changes, time="_time", diff="_diff")
            second.close()
            assert second.changes("copy") == changes


def test_rows_at_later_times_wait():
    with run(echo()) as live:
        live.insert("edges", [(1, 1)], time=20)
        live.insert("edges", [(2, 2)], time=3)
        live.advance_to(8)
        assert live.changes("copy") == [(2, 2, 3, 1)]
        live.discard()  # what a step has taken in is not dropped
        live.advance_to(21)
        assert live.changes("copy") == [(1, 1, 20, 1)]


def test_inputs_advance_apart_and_outputs_wait_for_those_they_read():
    with run(both()) as live:
        live.insert("edges", [(1, 1)], time=0)
        live.insert("roots", [(2, 2)], time=0)
        live.advance_to(edges=8, roots=5)
        assert live.frontier("copy") == [(5,)]
        assert (live.frontier("edges"), live.frontier("roots")) == ([(8,)], [(5,)])
        live.insert("edges", [(3, 3)])  # the open time of each input
        live.insert("roots", [(4, 4)])
        live.advance_to(9)
        assert live.changes("copy") == [(1, 1, 0, 1), (2, 2, 0, 1), (4, 4, 5, 1), (3, 3, 8, 1)]


def test_an_output_waits_only_for_the_inputs_it_reads():
    with run(both()) as live:
        live.insert("edges", [(1, 1)], time=6)
        live.advance_to(edges=8, roots=5)
        assert live.frontier("left") == [(8,)]
        assert live.changes("left") == [(1, 1, 6, 1)]


def test_rows_of_an_input_that_is_ahead_survive_a_refused_step(runtime):
    refusing = False

    class Refusing(runtime):
        def advance(self, frontiers):
            if refusing:
                raise ZeroDivisionError
            super().advance(frontiers)

    with run(both(), runtime=Refusing) as live:
        live.insert("edges", [(1, 1)], time=6)
        live.advance_to(edges=8, roots=5)
        refusing = True
        with pytest.raises(ZeroDivisionError):
            live.advance_to(9)
        live.discard()
        refusing = False
        live.advance_to(9)
        assert live.changes("copy") == [(1, 1, 6, 1)]


def test_several_coordinates_take_tuples_and_give_structs():
    with run(echo(coordinates=("valid", "system"))) as live:
        live.insert("edges", [(1, 2)], time=(3, 0))
        live.apply("edges", {"src": [5, 6], "dst": [5, 6], "v": [0, 1], "s": [4, 2]}, time=("v", "s"))
        live.apply("edges", {"src": [7, 8], "dst": [7, 8]}, time=[(0, 0), (2, 4)])
        live.apply("edges", {"src": [9], "dst": [9], "v": [1]}, time=("v", 3))
        live.advance_to([(3, 0), (0, 5)])
        assert live.frontier("copy") == [(0, 5), (3, 0)]
        changes = live.changes("copy")
        assert changes == [
            (7, 7, (0, 0), 1),
            (5, 5, (0, 4), 1),
            (6, 6, (1, 2), 1),
            (9, 9, (1, 3), 1),
            (8, 8, (2, 4), 1),
        ]
        assert changes.to_arrow()["_time"].to_pylist()[1] == {"valid": 0, "system": 4}
        live.advance_to((3, 5))
        live.advance_to((4, 6))
        assert live.changes("copy") == [(1, 2, (3, 0), 1)]


def test_commit_closes_the_current_time_and_opens_the_next():
    with run(both()) as live:
        live.insert("edges", [(1, 2)])
        assert live.commit() == {"copy": [(1, 2, 0, 1)], "left": [(1, 2, 0, 1)]}
        live.insert("roots", [(3, 4)])
        live.delete("edges", [(1, 2)])
        assert live.commit() == {"copy": [(1, 2, 1, -1), (3, 4, 1, 1)], "left": [(1, 2, 1, -1)]}
        assert live.commit() == {"copy": [], "left": []}
        assert live.frontier("copy") == [(3,)]


def test_commit_with_several_coordinates_moves_the_last():
    with run(echo(coordinates=("valid", "system"))) as live:
        live.insert("edges", [(1, 2)], time=(5, 0))
        assert live.commit() == {"copy": [(1, 2, (5, 0), 1)]}
        live.insert("edges", [(3, 4)])
        assert live.commit() == {"copy": [(3, 4, (0, 1), 1)]}


def test_closing_completes_everything_and_results_stay_readable():
    live = run(echo())
    live.insert("edges", ROWS, time=50)
    live.close()
    live.close()
    assert live.frontier("copy") == []
    assert live.changes("copy") == [(s, d, 50, 1) for s, d in ROWS]
    assert live.changes("copy") == []
    assert live.snapshot("copy") == live.snapshot("copy", at=10**6) == [(s, d, 1) for s, d in ROWS]


def test_leaving_a_with_block_closes_and_an_error_in_it_does_no_work():
    with run(echo()) as live:
        live.insert("edges", [(1, 2)])
    assert live.changes("copy") == [(1, 2, 0, 1)]
    with pytest.raises(ZeroDivisionError), run(echo()) as live:
        live.insert("edges", [(1, 2)])
        live.advance_to(1)
        live.insert("edges", [(3, 4)])
        raise ZeroDivisionError
    assert live.changes("copy") == [(1, 2, 0, 1)]


def test_one_input_can_end_before_the_others():
    with run(both()) as live:
        live.insert("roots", [(2, 2)])
        live.advance_to(roots=[])
        assert live.frontier("roots") == [] and live.frontier("copy") == [(0,)]
        live.insert("edges", [(1, 1)])
        assert live.commit()["copy"] == [(1, 1, 0, 1), (2, 2, 0, 1)]
        live.advance_to(7)
        assert live.frontier("copy") == [(7,)]


# ---- snapshots


def test_a_snapshot_is_the_sum_of_what_precedes_it():
    with run(echo(), history="all") as live:
        live.insert("edges", [(1, 1), (1, 1), (2, 2)], time=1)
        live.delete("edges", [(1, 1)], time=4)
        live.delete("edges", [(2, 2)], time=6)
        live.advance_to(3)
        live.advance_to(9)
        assert live.snapshot("copy", at=0) == []
        assert live.snapshot("copy", at=1) == live.snapshot("copy", at=3) == [(1, 1, 2), (2, 2, 1)]
        assert live.snapshot("copy", at=5) == [(1, 1, 1), (2, 2, 1)]
        assert live.snapshot("copy", at=8) == live.snapshot("copy") == [(1, 1, 1)]
        assert live.snapshot("copy").columns == ["src", "dst", "_count"]


def test_a_collection_that_was_emptied_is_empty():
    with run(echo()) as live:
        live.insert("edges", [(1, 2)])
        live.commit()
        live.delete("edges", [(1, 2)])
        live.commit()
        assert live.snapshot("copy") == live.snapshot("copy", at=1) == []


def test_before_anything_is_complete_a_snapshot_is_empty():
    with run(echo()) as live:
        live.insert("edges", ROWS)
        assert live.snapshot("copy") == []
        assert live.changes("copy") == []


@pytest.mark.parametrize("coordinates", [1, 2, 3])
@pytest.mark.parametrize("history", [None, 2, "all"])
@pytest.mark.parametrize("log", [0, 1 << 16])
def test_every_snapshot_that_is_kept_is_exact(coordinates, history, log, monkeypatch):
    monkeypatch.setattr(shown_module, "LOG", log)
    for seed in range(12):
        dice = random.Random(f"{coordinates} {history} {seed}")
        given, width, far = [], coordinates, 7
        with run(echo(coordinates=tuple("abc"[:width])), history=history) as live:
            frontier = [(0,) * width]
            for _ in range(6):
                for _ in range(dice.randrange(6)):
                    time = [max(c + dice.randrange(3), 0) for c in dice.choice(frontier)]
                    row, diff = (dice.randrange(2), dice.randrange(2)), dice.choice([1, 1, -1, 2])
                    live.apply("edges", [row], time=tuple(time), diff=diff)
                    given.append((row, tuple(time), diff))
                steps = [tuple(c + dice.randrange(3) for c in element) for element in frontier * dice.choice([1, 2])]
                live.advance_to(steps)
                frontier = live.frontier("copy")
                if dice.random() < 0.3:
                    live.changes("copy")
                readable = 0
                for time in np.ndindex(*[far] * width):
                    if any(before(f, time) for f in frontier) or not live._outputs["copy"].is_kept(time):
                        continue
                    sums = {}
                    for row, t, diff in given:
                        if before(t, time):
                            sums[row] = sums.get(row, 0) + diff
                    expected = sorted((*row, count) for row, count in sums.items() if count)
                    assert live.snapshot("copy", at=time) == expected
                    readable += 1
                now = results.last_time(live._at, live._outputs["copy"])
                assert (now is None) == (frontier == [(0,) * width])
                if now is not None:
                    assert not any(before(f, now) for f in frontier) and live._outputs["copy"].is_kept(now)
                    assert live.snapshot("copy") == live.snapshot("copy", at=now)
                if history == "all":
                    assert readable == sum(not any(before(f, t) for f in frontier) for t in np.ndindex(*[far] * width))


def test_history_in_time_units_reaches_that_far_back():
    with run(echo(), history=3) as live:
        for time in range(10):
            live.insert("edges", [(time, time)])
            live.commit()
        assert len(live.snapshot("copy", at=7)) == 8
        assert len(live.snapshot("copy", at=9)) == 10


def test_memory_of_a_sliding_window_is_flat(monkeypatch):
    monkeypatch.setattr(shown_module, "LOG", 16)
    with run(echo(changes=False), runtime=Relay) as live:
        for time in range(400):
            live.insert("edges", [(time, 0)])
            if time >= 5:
                live.delete("edges", [(time - 5, 0)])
            live.commit()
        shown = live._outputs["copy"]
        assert shown.unread == [] and shown._in_log <= 16 + 2 * 8
        assert live.snapshot("copy") == [(time, 0, 1) for time in range(395, 400)]


class Relay:
    """A runtime that passes the one input on to the one output; it completes what the frontier leaves behind."""

    text_predicates, guard, watches = {}, None, False
    moments = staging = keeper = late_outputs = recording = None

    def rest(self):
        pass

    def __init__(self, graph, workers=1, pool=None, **options):
        self.buffer, self.ready, self.at = [], [], ((0,) * len(graph.coordinates),)

    def feed(self, name, lanes, times, diffs):
        self.buffer.append((lanes, times, diffs))

    def advance(self, frontiers):
        (self.at,) = frontiers.values()
        self.ready, self.buffer = self.ready + self.buffer, []

    def discard(self):
        self.buffer = []

    def take(self, output):
        ready, self.ready = self.ready, []
        if not ready:
            return np.empty((2, 0), np.int64), np.empty((0, 1), np.int64), np.empty(0, np.int64)
        return tuple(np.concatenate([part[i] for part in ready], axis=axis) for i, axis in [(0, 1), (1, 0), (2, 0)])

    def frontier(self, output):
        return self.at

    def close(self):
        self.buffer = None


# ---- subscriptions


def test_subscribers_hear_of_changes_as_they_complete():
    heard = []
    with run(both()) as live:
        live.insert("edges", [(0, 0)])
        live.commit()
        stop = live.subscribe("copy", lambda changes, frontier: heard.append((changes.rows(), frontier)))
        live.insert("edges", [(1, 2)])
        live.commit()
        live.commit()
        live.insert("roots", [(3, 4)], time=8)
        live.advance_to(5)
        live.advance_to(9)
        assert heard == [([(1, 2, 1, 1)], [(2,)]), ([(3, 4, 8, 1)], [(9,)])]
        assert live.changes("copy") == [(3, 4, 8, 1)]  # commit gave the rest
        stop()
        live.insert("edges", [(5, 6)])
    assert len(heard) == 2


def test_a_subscriber_that_raises_leaves_the_session_as_it_should_be():
    heard = []

    def fails(changes, frontier):
        raise RuntimeError("mine")

    with run(echo()) as live:
        live.subscribe("copy", fails)
        stop = live.subscribe("copy", lambda changes, frontier: heard.append(changes.rows()))
        live.insert("edges", [(1, 2)])
        with pytest.raises(RuntimeError, match="mine"):
            live.commit()
        assert heard == [[(1, 2, 0, 1)]]
        assert live.frontier("copy") == [(1,)]
        assert live.changes("copy") == [(1, 2, 0, 1)]
        live._outputs["copy"].subscribers.remove(fails)
        live.insert("edges", [(3, 4)])
        assert live.commit() == {"copy": [(3, 4, 1, 1)]}
        stop()


def test_a_subscriber_may_feed_the_session_and_all_hear_in_order():
    first, second = [], []

    with run(echo()) as live:

        def goes_on(changes, frontier):
            first.append(changes.rows())
            if len(first) < 3:
                live.insert("edges", [(len(first), 0)])
                live.commit()

        live.subscribe("copy", goes_on)
        live.subscribe("copy", lambda changes, frontier: second.append(changes.rows()))
        live.insert("edges", [(0, 0)])
        live.commit()
        assert first == second == [[(i, 0, i, 1)] for i in range(3)]


def test_an_output_that_keeps_no_changes_still_has_subscribers_and_snapshots():
    heard = []
    with run(echo(changes=False)) as live:
        live.subscribe("copy", lambda changes, frontier: heard.append(changes.rows()))
        live.insert("edges", [(1, 2)])
        assert live.commit() == {}
        assert heard == [[(1, 2, 0, 1)]]
        assert live.snapshot("copy") == [(1, 2, 1)]


# ---- keyed inputs


KEYED = Schema((Field("name", STRING), Field("id", LONG), Field("score", DOUBLE)))


def test_upserts_replace_the_row_of_their_key():
    with run(echo(KEYED, key=("id",)), history="all") as live:
        live.upsert("edges", [("a", 1, 1.0), ("b", 2, 2.0)], time=0)
        live.upsert("edges", {"name": ["late", "c"], "id": [1, 2], "score": [9.0, 3.0]}, time=5)
        live.upsert("edges", [("early", 1, 0.0)], time=3)  # out of order
        live.upsert("edges", [("twice", 2, 0.0)], time=7)
        live.upsert("edges", [("wins", 2, 0.0)], time=7)
        live.delete("edges", [(1,)], time=8)
        live.delete("edges", {"id": [2]}, time=9)
        live.advance_to(6)
        live.upsert("edges", [("x", 3, None)], time=8)
        live.delete("edges", [3], time=9)
        live.advance_to(10)
        at = {time: [row[:2] for row in live.snapshot("copy", at=time)] for time in range(10)}
        assert at[0] == at[2] == [("a", 1), ("b", 2)]
        assert at[3] == at[4] == [("b", 2), ("early", 1)]
        assert at[5] == at[6] == [("c", 2), ("late", 1)]
        assert at[7] == [("late", 1), ("wins", 2)]
        assert at[8] == [("wins", 2), ("x", 3)]
        assert at[9] == []


def test_insert_delete_and_apply_on_a_keyed_input_go_by_key_too():
    with run(echo(KEYED, key=("id",))) as live:
        live.insert("edges", [("a", 1, None)])
        live.commit()
        live.insert("edges", [("b", 1, None)])
        assert live.commit()["copy"] == [("a", 1, None, 1, -1), ("b", 1, None, 1, 1)]
        live.delete("edges", [("whatever", 1, None)])
        assert live.commit()["copy"] == [("b", 1, None, 2, -1)]
        table = {"name": ["c", "d", "e"], "id": [1, 1, 1], "score": [None, None, None], "t": [3, 4, 5], "d": [1, 1, -1]}
        live.apply("edges", table, time="t", diff="d")
        live.advance_to(9)
        assert [row[-2:] for row in live.changes("copy")] == [(3, 1), (4, -1), (4, 1), (5, -1)]


def test_discarded_upserts_never_were():
    with run(echo(KEYED, key=("id",))) as live:
        live.upsert("edges", [("a", 1, None)])
        live.commit()
        live.upsert("edges", [("b", 1, None)], time=1)
        live.discard()
        live.upsert("edges", [("c", 1, None)], time=2)
        live.advance_to(3)
        assert live.snapshot("copy") == [("c", 1, None, 1)]


# ---- the rest


def test_a_program_can_be_run_once_as_a_batch(runtime):
    results = compute(both(), {"edges": [(1, 2), (1, 2)], "roots": pa.table({"src": [3], "dst": [4]})}, runtime=runtime)
    assert results == {"copy": [(1, 2, 2), (3, 4, 1)], "left": [(1, 2, 2)]}
    assert compute(both(), {}, runtime=runtime) == {"copy": [], "left": []}


def test_an_output_added_later_reaches_the_session_if_the_runtime_can():
    class Growing(OracleRuntime):
        late_outputs = property(lambda self: self)

        def add_output(self, name, past):
            number = next(
                i for i, node in enumerate(self.graph.nodes) if isinstance(node, n.Output) and node.name == name
            )
            self.outputs[name] = number
            self.meaning = type(self.meaning)(self.graph)
            self.ready[name] = [(row, (2,), diff) for row, _, diff in self.history["edges"]]
            return ((2,),)

    flow = echo()
    with run(flow, runtime=Growing) as live:
        live.insert("edges", [(1, 2)])
        live.advance_to(3)
        flow.output("again", 0)
        live.add_output("again")
        live.add_output("again")
        assert live.changes("again") == [(1, 2, 2, 1)]
        assert live.snapshot("again", at=2) == [(1, 2, 1)]


def test_an_output_added_after_the_end_is_refused_as_such():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    flow.output("once", xs.distinct())
    live = flow.run()
    live.close()
    flow.output("late", xs.distinct())
    with pytest.raises(SessionClosed, match="after the session was closed"):
        live.snapshot("late")


def test_counters_are_those_of_the_runtime():
    class Counting(OracleRuntime):
        def counters(self):
            return {"rows": 7}

    assert run(echo(), runtime=Counting).counters() == {"rows": 7}
    assert run(echo(), runtime=OracleRuntime).counters() == {}


def test_a_session_tells_where_it_stands():
    with run(both()) as live:
        live.advance_to(edges=3)
        assert repr(live) == "Session(inputs: edges 3, roots 0; outputs: copy 0, left 3)"


def test_options_reach_the_runtime():
    seen = {}

    class Noting(OracleRuntime):
        def __init__(self, graph, **options):
            seen.update(options)
            super().__init__(graph, **options)

    run(echo(), workers=3, slice=7, runtime=Noting)
    assert (seen["workers"], seen["slice"]) == (3, 7)


# ---- rows at one time


def shouting(flow, at=13):
    """edges -> loud, by a function that refuses a number; roots and edges -> copy."""

    def twice(row):
        assert row.src != at, "not this one"
        return ((row.src or 0) * 2, row.dst)

    edges, roots = flow.input("edges"), flow.input("roots")
    function = n.Function(twice, id(twice), "twice")
    loud = flow.graph.add(n.Linear(edges, n.Apply(function, "rows", flows.PAIR)))
    flow.output("loud", flow.graph.add(n.Concat((loud, roots))))
    return flow


def histories(seed):
    """Calls that a session is given, in the order given."""
    rng, now = random.Random(seed), 0
    for _ in range(30):
        rows = [(rng.choice([1, 2, 3, 13, None]), rng.randrange(3)) for _ in range(rng.choice([0, 1, 1, 2, 20]))]
        time = now + rng.choice([0, 0, 0, 1, 3])
        form = rng.choice(["rows", "rows", "arrow"])
        table = (
            rows if form == "rows" else pa.table({k: [row[i] for row in rows] for i, k in enumerate(("src", "dst"))})
        )
        yield "apply", (rng.choice(["edges", "edges", "edges", "roots"]), table, time, rng.choice([1, 1, -1, 0]))
        if rng.random() < 0.6:
            now += rng.choice([0, 1, 1, 2])
            yield "advance_to", (now,)


@pytest.mark.parametrize("seed", range(12))
def test_a_step_at_one_time_is_like_any_other(runtime, seed):
    def lived(short):
        heard, told = [], []
        live = run(shouting(flows.Flow()))
        if not short:
            live._at.advance_moment = None
        if seed % 3 == 0:
            live.subscribe("loud", lambda changes, frontier: heard.append((changes.rows(), frontier)))
        for call, arguments in histories(seed):
            try:
                getattr(live, call)(*arguments)
            except EbbflowError as error:
                told.append((type(error), error.what))
                if isinstance(error, FunctionFailed) or seed % 2:
                    live.discard()
            told.append((live.frontier("loud"), live.frontier("edges")))
            if seed % 4:
                told.append(live.changes("loud").rows())
            told.append(live.snapshot("loud").rows())
        return heard, told, live.changes("loud").rows()

    assert lived(True) == lived(False)


def test_a_step_at_one_time_that_is_refused_leaves_everything_as_it_was(runtime):
    with run(shouting(flows.Flow())) as live:
        live.insert("edges", [(1, 1)], time=0)
        live.advance_to(1)
        live.insert("edges", [(2, 2), (13, 0)], time=1)
        for _ in range(2):
            with pytest.raises(FunctionFailed, match="not this one"):
                live.advance_to(2)
            assert live.frontier("loud") == live.frontier("edges") == [(1,)]
        live.discard()
        live.insert("edges", [(3, 3)], time=1)
        live.advance_to(2)
        assert live.changes("loud") == [(2, 1, 0, 1), (6, 3, 1, 1)]


def test_a_table_whose_step_was_refused_is_there_for_the_next_one():
    flow = ebb.Dataflow()
    rows = flow.input("rows", "x long")
    flow.output("more", rows.select(x=lambda r: r.x + 1))
    with flow.run() as live:
        for t in range(3):
            live.apply("rows", pa.table({"x": [t, 2**63 - 2 + t % 2]}), time=t)  # every other one overflows
            if t == 1:
                for _ in range(2):
                    with pytest.raises(NumberOverflow):
                        live.advance_to(t + 1)
                live.apply("rows", pa.table({"x": [5, 6]}), time=t)  # of the same size, beside it
                with pytest.raises(NumberOverflow):
                    live.advance_to(t + 1)
                live.discard()
                live.apply("rows", pa.table({"x": [8, 9]}), time=t)
            live.advance_to(t + 1)
        read = live.changes("more").rows()
    assert read == [(1, 0, 1), (2**63 - 1, 0, 1), (9, 1, 1), (10, 1, 1), (3, 2, 1), (2**63 - 1, 2, 1)]


def test_what_the_long_way_left_unread_comes_before_what_the_short_way_shows():
    with run(echo(), runtime=LocalRuntime) as live:
        live.apply("edges", {"src": [1, 2], "dst": [1, 2], "t": [0, 1]}, time="t")
        live.advance_to(2)
        live.insert("edges", [(3, 3)], time=2)
        live.advance_to(3)
        first = live._outputs["copy"].unread[0]
        assert first.times[:, 0].tolist() == [0, 1]
        assert live.changes("copy") == [(1, 1, 0, 1), (2, 2, 1, 1), (3, 3, 2, 1)]
        live.apply("edges", {"src": [4, 5], "dst": [4, 5], "t": [3, 4]}, time="t")
        live.advance_to(5)  # and what it shows is asked for again
        assert live.changes("copy") == [(4, 4, 3, 1), (5, 5, 4, 1)]


def test_rows_at_one_time_take_the_short_way(monkeypatch):
    with run(both(), runtime=LocalRuntime) as live, run(echo(), runtime=LocalRuntime) as single:
        monkeypatch.setattr(stepping, "work", lambda here, *call: pytest.fail("the long way"))
        single.insert("edges", [(1, 2)], time=0)
        single.advance_to(4)
        single.apply("edges", pa.table({"src": range(50), "dst": range(50)}), time=9)
        single.advance_to(10)
        assert single.frontier("copy") == [(10,)] and len(single.changes("copy")) == 51
        monkeypatch.undo()
        live.insert("edges", [(1, 2)], time=0)  # two outputs that wait for different inputs: stages
        live.advance_to(4)
        assert live.changes("left") == [(1, 2, 0, 1)]
