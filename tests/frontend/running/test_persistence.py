"""What a session keeps beside the engine: rows that wait, rows by key, what was shown, what was read."""

import pytest

import ebbflow as ebb
from ebbflow.errors import ChangesNotKept, HistoryGone, NumberOverflow, WrongTime


def keyed():
    flow = ebb.Dataflow()
    rows = flow.input("rows", "id long, name string", key="id")
    flow.output("rows", rows)
    flow.output("names", rows.select("name").distinct(), changes=False)
    return flow


def program():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("edges", "src long, dst long"))
    return flow


def crash(live) -> None:
    live._release()  # nothing is said or kept on the way


def test_what_is_read_between_a_step_and_a_crash_is_unread_again(tmp_path):
    live = keyed().run(checkpoint=tmp_path / "state")
    live.upsert("rows", [(1, "a")])
    first = live.commit()["rows"].rows()
    crash(live)
    live = keyed().run(checkpoint=tmp_path / "state")
    assert live.changes("rows").rows() == first == [(1, "a", 0, 1)]
    live.upsert("rows", [(1, "b")])
    second = live.commit()["rows"].rows()
    crash(live)
    live = keyed().run(checkpoint=tmp_path / "state")
    assert live.changes("rows").rows() == second == [(1, "a", 1, -1), (1, "b", 1, 1)]
    assert live.changes("rows").rows() == []
    crash(live)


def test_what_is_read_before_a_block_ends_stays_read(tmp_path):
    with keyed().run(checkpoint=tmp_path / "state") as live:
        live.upsert("rows", [(1, "a")])
        live.commit()
    with keyed().run(checkpoint=tmp_path / "state") as live:
        assert live.changes("rows").rows() == []
        step = live._runtime.ledger.step
    with keyed().run(checkpoint=tmp_path / "state") as live:
        assert live._runtime.ledger.step == step + 1  # reading nothing is reading too, once
        assert live.snapshot("names").rows() == [("a", 1)]
        with pytest.raises(ChangesNotKept):
            live.changes("names")


def test_many_edits_at_once_are_kept_as_few_are(tmp_path):
    live = keyed().run(checkpoint=tmp_path / "state")
    live.upsert("rows", [(i, f"n{i % 7}") for i in range(500)])
    live.commit()
    live.delete("rows", [(i,) for i in range(0, 500, 2)])
    live.upsert("rows", [(i, "odd") for i in range(1, 500, 4)])
    live.commit()
    right = live.snapshot("rows").rows()
    crash(live)
    live = keyed().run(checkpoint=tmp_path / "state")
    assert live.snapshot("rows").rows() == right and len(right) == 250
    live.upsert("rows", [(1, "one"), (0, "nil"), (3, "n3")])
    assert live.commit()["rows"].rows()[-3:] == [(0, "nil", 2, 1), (1, "odd", 2, -1), (1, "one", 2, 1)]
    crash(live)


def test_subscribers_hear_of_a_step_when_it_is_kept(tmp_path):
    heard = []
    with keyed().run(checkpoint=tmp_path / "state") as live:
        live.subscribe("rows", lambda changes, frontier: heard.append((live._runtime.ledger.step, changes.rows())))
        live.upsert("rows", [(1, "a")])
        live.commit()
    assert heard == [(1, [(1, "a", 0, 1)])]


def test_history_goes_on_from_where_it_was(tmp_path):
    live = keyed().run(checkpoint=tmp_path / "state", history=2)
    for time in range(6):
        live.upsert("rows", [(1, f"v{time}")])
        live.commit()
    crash(live)
    live = keyed().run(checkpoint=tmp_path / "state", history=2)
    assert live.snapshot("rows", at=4).rows() == [(1, "v4", 1)]
    with pytest.raises(HistoryGone):
        live.snapshot("rows", at=1)
    crash(live)


def test_a_reader_with_a_cursor_sees_each_change_once(tmp_path):
    live = program().run(checkpoint=tmp_path / "state")
    live.insert("edges", [(1, 2)], time=3)
    live.advance_to(5)
    seen, cursor = live.changes("copy").rows(), live.frontier("copy")
    del live  # before a step that knows of it
    live = program().run(checkpoint=tmp_path / "state")
    seen += live.changes("copy", since=cursor).rows()
    live.insert("edges", [(2, 3)], time=5)
    live.advance_to(6)
    seen += live.changes("copy", since=cursor).rows()
    assert seen == [(1, 2, 3, 1), (2, 3, 5, 1)]
    live.close()


def test_what_could_be_seen_before_a_close_can_be_seen_after_it():
    live = program().run()
    live.insert("edges", [(1, 2)], time=3)
    live.advance_to(8)
    live.close()
    assert live.snapshot("copy", at=2).rows() == []
    assert live.snapshot("copy", at=5).rows() == [(1, 2, 1)]


def test_a_cursor_is_a_frontier_in_any_of_its_forms():
    flow = ebb.Dataflow(time=("valid", "system"))
    flow.output("copy", flow.input("xs", "x long"))
    live = flow.run()
    live.apply("xs", [(1,), (2,), (3,)], time=[(0, 0), (3, 0), (0, 5)], diff=1)
    live.advance_to((9, 9))
    assert live.changes("copy", since=[(3, 0), (0, 5)]).rows() == [(3, (0, 5), 1), (2, (3, 0), 1)]
    with pytest.raises(WrongTime, match="changes is given the time x"):
        live.changes("copy", since="x")


def test_rows_that_waited_and_were_discarded_do_not_come_back(tmp_path):
    def more():
        flow = ebb.Dataflow()
        xs = flow.input("xs", "x long")
        flow.output("more", xs.select(y=xs.x + 1))
        return flow.run(checkpoint=tmp_path / "state")

    with more() as live:
        live.apply("xs", {"x": [1, 2**63 - 1, 2], "t": [0, 5, 20]}, time="t")
        live.advance_to(3)
        with pytest.raises(NumberOverflow):
            live.advance_to(10)
        live.discard()
    with more() as live:
        live.advance_to(30)
        assert live.changes("more").rows() == [(2, 0, 1), (3, 20, 1)]
