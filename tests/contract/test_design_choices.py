"""DESIGN 9, "Choices, so that nobody has to guess": every sentence a case."""

import pytest

import ebbflow as ebb
from ebbflow import col

MOST = 2**63 - 1


def program(make, schema="x long"):
    flow = ebb.Dataflow()
    flow.output("out", make(flow.input("xs", schema)))
    return flow


def test_division_by_zero_gives_null():
    flow = program(
        lambda xs: xs.select(
            "x",
            a=xs.x / 0,
            b=xs.x // 0,
            c=xs.x % 0,
            d=xs.x / 0.0,
            e=xs.x.cast("double") / 0.0,
            f=xs.x.cast("double") % 0.0,
        )
    )
    assert flow.compute(xs=[(1,), (0,)])["out"].rows() == [(0, *[None] * 6, 1), (1, *[None] * 6, 1)]


def test_a_cast_that_fails_gives_null():
    flow = program(
        lambda xs: xs.select(a=xs.s.cast("long"), b=xs.s.cast("double"), c=xs.s.cast("date"), d=xs.s.cast("boolean")),
        "s string",
    )
    assert flow.compute(xs=[("abc",)])["out"].rows() == [(None, None, None, None, 1)]
    assert flow.compute(xs=[("12",)])["out"].rows()[0][:2] == (12, 12.0)
    flow = program(lambda xs: xs.select(a=xs.x.cast("byte"), b=xs.x.cast("int")))
    assert flow.compute(xs=[(300,)])["out"].rows() == [(None, 300, 1)]


@pytest.mark.parametrize(
    "make",
    [
        lambda xs: xs.select(y=xs.x + 1),
        lambda xs: xs.select(y=xs.x * 2),
        lambda xs: xs.select(y=-xs.x - 2),
        lambda xs: xs.filter(xs.x + 1 > 0),
        lambda xs: xs.union(xs.select(x=ebb.lit(1))).group_by().agg(y=ebb.sum("x")),
        lambda xs: xs.select(y=(xs.x + 1).cast("string")),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_overflow_refuses_the_step_and_the_session_stays_usable(make, workers):
    flow = program(make)
    with flow.run(workers=workers) as live:
        live.insert("xs", [(1,)], time=0)
        live.advance_to(1)
        before = live.snapshot("out").rows()
        live.insert("xs", [(MOST,)], time=3)
        with pytest.raises(ebb.EbbflowError) as raised:
            live.advance_to(5)
        text = str(raised.value)
        assert type(raised.value).__name__ == "NumberOverflow"
        assert "time 3" in text and "test_design_choices.py, line" in text and "live.discard()" in text
        assert live.frontier("out") == [(1,)]
        assert live.snapshot("out").rows() == before
        with pytest.raises(ebb.EbbflowError):
            live.advance_to(5)  # the input is still pending
        live.discard()
        live.insert("xs", [(2,)], time=4)
        live.advance_to(5)
        assert live.frontier("out") == [(5,)]


def test_overflow_names_the_row():
    flow = program(lambda xs: xs.select("name", y=xs.x + 1), "name string, x long")
    with flow.run() as live:
        live.insert("xs", [("fine", 1), ("much", MOST)], time=3)
        with pytest.raises(ebb.EbbflowError) as raised:
            live.advance_to(5)
        live.discard()
        text = str(raised.value)
        assert "name='much'" in text and f"x={MOST}" in text and "add(x, 1)" in text and "time 3" in text, text
        assert 'xs.select("name", y=xs.x + 1)' in text


def test_an_overflowing_sum_names_the_group():
    flow = program(lambda xs: xs.group_by("name").agg(y=ebb.sum("x")), "name string, x long")
    with flow.run() as live:
        live.insert("xs", [("fine", 1), ("much", MOST), ("much", 1)], time=3)
        with pytest.raises(ebb.EbbflowError) as raised:
            live.advance_to(5)
        live.discard()
        text = str(raised.value)
        assert "name='much'" in text and "time 3" in text and 'agg(y=ebb.sum("x"))' in text, text
    with pytest.raises(ebb.EbbflowError, match="sum\\(x\\) in out leaves 64 bits, for the group of all rows at time 0"):
        program(lambda xs: xs.group_by().agg(y=ebb.sum("x"))).compute(xs=[(MOST,), (1,)])


def test_a_user_function_that_raises_names_row_operator_and_time():
    flow = program(lambda xs: xs.map_rows(lambda row: (10 // row.x,), "y long"))
    with flow.run() as live:
        live.insert("xs", [(5,)], time=0)
        live.advance_to(1)
        live.insert("xs", [(2,), (0,)], time=3)
        with pytest.raises(ebb.EbbflowError) as raised:
            live.advance_to(4)
        text = str(raised.value)
        assert type(raised.value).__name__ == "FunctionFailed"
        for part in (
            "x=0",
            "map_rows",
            "time 3",
            "ZeroDivisionError",
            "test_design_choices.py, line",
            "live.discard()",
        ):
            assert part in text, (part, text)
        assert isinstance(raised.value.__cause__, ZeroDivisionError)
        assert live.snapshot("out").rows() == [(2, 1)]
        live.discard()
        live.insert("xs", [(2,)], time=3)
        live.advance_to(4)
        assert live.snapshot("out").rows() == [(2, 1), (5, 1)]


@pytest.mark.parametrize(
    ("make", "verb"),
    [
        (lambda xs: xs.flat_map(lambda row: [(10 // row.x,)], "y long"), "flat_map"),
        (lambda xs: xs.map_batches(lambda b: {"y": [10 // int(x) for x in b["x"]]}, "y long"), "map_batches"),
        (lambda xs: xs.group_by("k").reduce(lambda rows: [(10 // rows[0][0].x,)], "y long"), "reduce"),
        (
            lambda xs: xs.group_by("k").reduce_batches(
                lambda c, o: ({"y": [10 // int(x) for x in c["x"]]}, o), "y long"
            ),
            "reduce_batches",
        ),
        (lambda xs: xs.select("x").threshold(lambda n: n // 0), "threshold"),
        (lambda xs: xs.inspect(lambda t: [10 // row[1] for row in t]), "inspect"),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_every_kind_of_user_function_may_raise(make, verb, workers):
    flow = program(make, "k long, x long")
    with flow.run(workers=workers) as live:
        live.insert("xs", [(1, 0)], time=3)
        with pytest.raises(ebb.errors.FunctionFailed) as raised:
            live.advance_to(4)
        text = str(raised.value)
        assert verb in text and "time 3" in text and "ZeroDivisionError" in text, text
        live.discard()
        live.advance_to(5)
        assert live.snapshot("out").rows() == []


@pytest.mark.parametrize("answer", [("text",), (1, 2), None, (1.5,), 7.5, (2**70,)])
def test_a_function_that_returns_what_does_not_fit_is_refused(answer):
    flow = program(lambda xs: xs.map_rows(lambda row: answer, "y long"))
    with flow.run() as live:
        live.insert("xs", [(1,)], time=3)
        with pytest.raises(ebb.errors.FunctionFailed) as raised:
            live.advance_to(4)
        assert "time 3" in str(raised.value)
        live.discard()


def test_a_branch_that_is_not_taken_cannot_overflow():
    flow = program(
        lambda xs: xs.select(
            a=ebb.when(xs.x < MOST, xs.x + 1).otherwise(xs.x),
            b=ebb.coalesce(xs.x, xs.x + 1),
            c=ebb.when(xs.x == MOST, 0).when(xs.x + 1 > 5, 1).otherwise(2),
            d=xs.x.fill_null(xs.x + MOST),
        )
    )
    assert flow.compute(xs=[(MOST,), (1,)])["out"].rows() == [(2, 1, 2, 1, 1), (MOST, MOST, 0, MOST, 1)]


def test_a_condition_behind_one_that_decides_cannot_overflow():
    flow = program(lambda xs: xs.filter((xs.x < MOST) & (xs.x + 1 > 0) | (xs.x == MOST)))
    assert flow.compute(xs=[(MOST,), (1,), (-5,)])["out"].rows() == [(1, 1), (MOST, 1)]
    flow = program(lambda xs: xs.filter(xs.x < MOST, xs.x + 1 > 0))
    assert flow.compute(xs=[(MOST,), (1,), (-5,)])["out"].rows() == [(1, 1)]


def test_branches_beside_text_are_asked_in_turn_too():
    flow = program(lambda xs: xs.select(a=ebb.when(xs.x < MOST, (xs.x + 1).cast("string")).otherwise("much")))
    assert flow.compute(xs=[(MOST,), (1,)])["out"].rows() == [("2", 1), ("much", 1)]


def test_a_branch_that_is_taken_overflows():
    for make in (
        lambda xs: xs.select(a=ebb.when(xs.x == MOST, xs.x + 1).otherwise(xs.x)),
        lambda xs: xs.select(a=ebb.when(xs.x + 1 > 0, 1).otherwise(2)),
        lambda xs: xs.select(a=ebb.coalesce(ebb.lit(None).cast("long"), xs.x + 1)),
    ):
        with pytest.raises(ebb.errors.NumberOverflow):
            program(make).compute(xs=[(MOST,)])
        assert len(program(make).compute(xs=[(5,)])["out"]) == 1


def test_a_snapshot_reaches_back_to_the_start_of_the_last_advance():
    flow = program(lambda xs: xs)
    with flow.run() as live:
        live.insert("xs", [(1,)], time=0)
        live.advance_to(3)
        live.insert("xs", [(2,)], time=5)
        live.advance_to(8)
        assert live.snapshot("out", at=3).rows() == [(1, 1)]
        assert live.snapshot("out", at=5).rows() == [(1, 1), (2, 1)]
        assert live.snapshot("out", at=7).rows() == live.snapshot("out").rows()
        with pytest.raises(ebb.errors.HistoryGone, match='history="all"'):
            live.snapshot("out", at=2)
        with pytest.raises(ebb.errors.NotComplete):
            live.snapshot("out", at=8)


def test_history_keeps_more():
    flow = program(lambda xs: xs)
    with flow.run(history="all") as live:
        for t in range(10):
            live.insert("xs", [(t,)], time=t)
            live.advance_to(t + 1)
        assert [len(live.snapshot("out", at=t)) for t in range(10)] == list(range(1, 11))
    flow = program(lambda xs: xs)
    with flow.run(history=5) as live:
        for t in range(10):
            live.insert("xs", [(t,)], time=t)
            live.advance_to(t + 1)
        assert [len(live.snapshot("out", at=t)) for t in range(5, 10)] == list(range(6, 11))
        with pytest.raises(ebb.errors.HistoryGone, match="history="):
            live.snapshot("out", at=4)


def test_changes_nobody_read_are_kept_until_read():
    flow = program(lambda xs: xs)
    with flow.run() as live:
        for t in range(5):
            live.insert("xs", [(t,)], time=t)
            live.advance_to(t + 1)
        assert live.changes("out").rows() == [(t, t, 1) for t in range(5)]
        assert live.changes("out").rows() == []


def test_an_output_without_changes_keeps_none():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long"), changes=False)
    with flow.run() as live:
        live.insert("xs", [(1,)])
        assert live.commit() == {}
        assert live.snapshot("out").rows() == [(1, 1)]
        with pytest.raises(ebb.errors.ChangesNotKept, match="changes=False"):
            live.changes("out")


def test_results_stay_readable_after_close():
    flow = program(lambda xs: xs.group_by().count())
    live = flow.run()
    live.insert("xs", [(1,), (2,)], time=4)
    live.close()
    assert live.changes("out").rows() == [(2, 4, 1)]
    assert live.snapshot("out").rows() == [(2, 1)]
    assert live.frontier("out") == []
    live.close()
    with pytest.raises(ebb.errors.SessionClosed):
        live.insert("xs", [(1,)])


def test_upserts_need_one_coordinate():
    flow = ebb.Dataflow(time=("valid", "system"))
    with pytest.raises(ebb.EbbflowError, match="one coordinate"):
        flow.input("accounts", "id long, balance long", key="id")


def test_at_equal_times_the_last_upsert_wins():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("accounts", "id long, balance long", key="id"))
    with flow.run() as live:
        live.upsert("accounts", [(1, 10), (1, 20)], time=0)
        live.upsert("accounts", [(1, 30)], time=0)
        live.advance_to(1)
        assert live.changes("out").rows() == [(1, 30, 0, 1)]


def test_memory_is_flat_by_default():
    flow = program(lambda xs: xs.group_by("x").count())
    with flow.run() as live:
        words = []
        for t in range(4000):
            live.insert("xs", [(t % 7,)], time=t)
            if t >= 10:
                live.delete("xs", [((t - 10) % 7,)], time=t)
            live.advance_to(t + 1)
            live.changes("out")
            words.append(live.counters()["words"])
        assert max(words[-1000:]) <= max(words[500:1500])


def test_rows_come_in_no_order_and_tables_sort_by_time_then_record():
    flow = program(lambda xs: xs, "x long, s string")
    with flow.run(workers=3) as live:
        live.apply("xs", {"x": [3, 1, 2, 1], "s": ["a", "b", "c", "a"], "t": [5, 9, 5, 9]}, time="t")
        live.advance_to(10)
        assert live.changes("out").rows() == [(2, "c", 5, 1), (3, "a", 5, 1), (1, "a", 9, 1), (1, "b", 9, 1)]


def test_the_null_that_a_column_may_not_hold_as_a_number_is_refused():
    flow = program(lambda xs: xs)
    with flow.run() as live:
        with pytest.raises(ebb.EbbflowError, match="does not fit"):
            live.insert("xs", [(-(2**63),)])
        with pytest.raises(ebb.EbbflowError):
            live.insert("xs", [(2**63,)])
        live.insert("xs", [(-(2**63) + 1,)])
        live.commit()


def test_col_is_a_name_of_ebb():
    assert ebb.col is col
