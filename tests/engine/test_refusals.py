import numpy as np
import pytest

from ebbflow.columns.text_pool import Pool
from ebbflow.engine.host import Host
from ebbflow.engine.refusals import refusal, told
from ebbflow.errors import EbbflowError, NeverSettles, NumberOverflow, Place, WrongTime
from ebbflow.operators import node as kinds
from ebbflow.runtime.local import LocalRuntime
from ebbflow.trace import failures as f
from ebbflow.trace.failures import (
    BACKWARDS,
    COUNT_OVERFLOW,
    DIFF_OVERFLOW,
    LIMIT_REACHED,
    OVERFLOW,
    PARTITION_OVERFLOW,
    PRODUCT_OVERFLOW,
    ROUNDS_OVERFLOW,
    ROW_OVERFLOW,
    SUM_OVERFLOW,
    TOO_MANY_TIMES,
    fail,
)
from tests.meaning.programs import ONE, Sketch, call, lit
from tests.meaning.runtimes import arrays


def worker_with_a_reduction():
    s = Sketch()
    s.output("out", s.aggregate(s.input("x"), ("a",), b=("sum", "b")))
    (worker,) = Host(s.graph, 1, Pool()).workers
    worker.slice_times = np.array([40, 41])
    return worker


CODES = {
    OVERFLOW: (NumberOverflow, "64 bits"),
    DIFF_OVERFLOW: (NumberOverflow, "times"),
    SUM_OVERFLOW: (NumberOverflow, "leave 64 bits"),
    PRODUCT_OVERFLOW: (NumberOverflow, "62 bits"),
    COUNT_OVERFLOW: (NumberOverflow, "rows"),
    PARTITION_OVERFLOW: (NumberOverflow, "rows"),
    ROUNDS_OVERFLOW: (NeverSettles, "went round"),
    LIMIT_REACHED: (NeverSettles, "rounds it was given"),
    BACKWARDS: (WrongTime, "back"),
    TOO_MANY_TIMES: (NumberOverflow, "distinct times"),
}


@pytest.mark.parametrize("code", CODES)
def test_every_error_of_the_walk_has_a_sentence_with_its_time(code):
    worker = worker_with_a_reduction()
    (out,) = worker.plan.outputs.values()
    fail(worker.W, code, out.number, 2, 12345)
    error = refusal(worker)
    kind, part = CODES[code]
    assert type(error) is kind and part in error.what
    assert error.hint and error.what.endswith(".")
    if code != TOO_MANY_TIMES:
        assert "at time 41" in error.what


def test_the_walk_knows_no_other_errors():
    known = {
        name for name in vars(f) if name in ("OVERFLOW", "BACKWARDS", "LIMIT_REACHED") or name.endswith("_OVERFLOW")
    }
    known |= {"TOO_MANY_TIMES"}
    assert len({getattr(f, name) for name in known}) == len(known) and 0 not in {getattr(f, name) for name in known}
    assert {getattr(f, name) for name in known} - set(CODES) <= {ROW_OVERFLOW}  # which is asked below


def test_a_time_that_is_not_known_is_left_out():
    worker = worker_with_a_reduction()
    fail(worker.W, ROUNDS_OVERFLOW, 0, 77, 0)
    assert "at time" not in refusal(worker).what


def test_times_are_told_as_one_or_from_first_to_last():
    assert told(np.array([[5], [5]])) == " at time 5"
    assert told(np.array([[7], [5], [6]])) == " at times from 5 to 7"
    assert told(np.array([[1, 2]])) == " at time (1, 2)"
    assert told(np.empty((0, 1), np.int64)) == ""


def refused(graph, width=1, **rows):
    runtime = LocalRuntime(graph)
    for name, changes in rows.items():
        runtime.feed(name, *arrays(changes, len(changes[0][0]), width))
    with pytest.raises(EbbflowError) as found:
        runtime.advance(dict.fromkeys(rows, ((9,) * width,)))
    return found.value


@pytest.mark.parametrize("width", [1, 2])
def test_a_sum_that_overflows_is_told_by_its_group_and_time(width):
    s = Sketch(*("time", "valid")[:width])
    s.output("out", s.aggregate(s.input("x"), ("a",), b=("sum", "b")))
    rows = [((7, 2**62), (3,) * width, 1), ((7, 2**62), (4,) * width, 1), ((8, 5), (4,) * width, 1)]
    error = refused(s.graph, width, x=rows)
    assert isinstance(error, NumberOverflow)
    assert "a=7" in error.what and f"at time {4 if width == 1 else (4, 4)}" in error.what


def test_an_expression_that_overflows_is_told_by_its_row_and_time():
    s = Sketch()
    x = s.input("x")
    s.output("out", s.distinct(s.map(x, c=call("mul", s.col(x, "a"), s.col(x, "b")))))
    error = refused(s.graph, x=[((1, 2), (0,), 1), ((2**40, 2**41), (6,), 1)])
    assert isinstance(error, NumberOverflow)
    assert str(2**40) in error.what and str(2**41) in error.what and "at time 6" in error.what


def test_copies_that_cannot_be_kept_are_told_with_their_number():
    s = Sketch()
    s.output("out", s.distinct(s.input("x")))
    error = refused(s.graph, x=[((1, 2), (5,), 2**50)])
    assert isinstance(error, NumberOverflow) and f"{2**50:,} times in a collection at time 5" in error.what


def test_a_delay_that_goes_back_is_told():
    s = Sketch()
    x = s.input("x")
    s.output("out", s.delay(x, call("sub", call("mul", lit(0), lit(0)), lit(1))))
    error = refused(s.graph, x=[((1, 2), (5,), 1)])
    assert isinstance(error, WrongTime) and "at time 5" in error.what and "-1" in error.what


def test_a_loop_that_is_stopped_is_told_with_its_rounds():
    s = Sketch()
    x = s.input("x", ONE)
    grows = s.iterate(x, lambda v, _: s.map(v, a=call("add", s.col(v, "a"), lit(1))), max_rounds=5, on_limit="raise")
    s.output("out", grows)
    error = refused(s.graph, x=[((1,), (3,), 1)])
    assert isinstance(error, NeverSettles) and "5 rounds" in error.what and "at time 3" in error.what
    assert "max_rounds" in error.hint


def test_a_refusal_points_at_a_place():
    worker = worker_with_a_reduction()
    (reduction,) = (cell for cell in worker.plan.cells if cell.kind == kinds.REDUCE)
    worker.plan.graph.places[reduction.node] = place = Place("a_program.py", 12)
    fail(worker.W, ROUNDS_OVERFLOW, reduction.number, 1, 0)
    assert refusal(worker).at == place
