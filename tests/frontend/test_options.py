"""Public options are few and checked; those for measuring and testing are not reachable by `run`."""

import pytest

import ebbflow as ebb
from ebbflow.errors import PlanError, TypeMismatch, UnknownOption
from ebbflow.frontend.options import LEAST_TASK_BYTES, check_task_bytes
from ebbflow.limits import WORKERS
from ebbflow.runtime.local import LocalRuntime


def copying():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("xs", "x long"))
    return flow


@pytest.mark.parametrize("option", [*LocalRuntime.OPTIONS, "reserve", "base", "runtime", "pool", "glancing", "threads"])
def test_run_has_no_option_of_the_engine(option):
    with pytest.raises(UnknownOption, match=f'run has no option "{option}"'):
        copying().run(**{option: 1})


CALLS = {
    "Dataflow": (lambda: ebb.Dataflow(tiem="t"), "time"),
    "input": (lambda: ebb.Dataflow().input("xs", "x long", keys="x"), "key"),
    "output": (lambda: copying().output("again", None, change=False), "changes"),
    "run": (lambda: copying().run(worker=2), "workers"),
    "run, a history": (lambda: copying().run(histroy="all"), "history"),
    "stream": (lambda: copying().stream(None, checkpoint="dir", inputs={}, outputs={}, shard=2), "shards"),
    "iterate": (lambda: ebb.Dataflow().input("xs", "x long").iterate(lambda v: v, max_round=3), "max_rounds"),
    "iterate of several": (lambda: ebb.Dataflow().iterate(lambda a: a, on_limits="raise"), "on_limit"),
}


@pytest.mark.parametrize("call", CALLS)
def test_an_unknown_option_gets_the_near_name(call):
    make, meant = CALLS[call]
    with pytest.raises(UnknownOption) as told:
        make()
    assert f'Did you mean "{meant}"?' in told.value.hint
    assert isinstance(told.value, TypeError)


@pytest.mark.parametrize("workers", [0, -1, True, 1.0, "2", None, 2**70])
def test_workers_are_a_number_of_threads(workers):
    with pytest.raises((TypeMismatch, PlanError)):
        copying().run(workers=workers)


@pytest.mark.parametrize("history", [-1, True, 1.5, "some", 2**70, (1,)])
def test_history_is_a_number_of_time_units_or_all(history):
    with pytest.raises(TypeMismatch, match="history"):
        copying().run(history=history)


@pytest.mark.parametrize("changes", [0, 1, "no", None])
def test_changes_is_true_or_false(changes):
    flow = ebb.Dataflow()
    with pytest.raises(TypeMismatch, match="True or False"):
        flow.output("out", flow.input("xs", "x long"), changes=changes)


@pytest.mark.parametrize("rounds", [0, -1, True, 1.5, "3", 2**63])
def test_max_rounds_is_a_number_of_rounds(rounds):
    with pytest.raises(PlanError, match="max_rounds"):
        ebb.Dataflow().input("xs", "x long").iterate(lambda v: v, max_rounds=rounds)


@pytest.mark.parametrize("key", [1, [1], b"x", [None], ["x", 5]])
def test_a_key_names_columns(key):
    with pytest.raises(ebb.EbbflowError):
        ebb.Dataflow().input("xs", "x long", key=key)


@pytest.mark.parametrize("given", [0, -1, LEAST_TASK_BYTES - 1, True, 1e9, "1g", None, 1 << 62])
def test_task_bytes_is_a_size(given):
    with pytest.raises(TypeMismatch, match="task_bytes"):
        check_task_bytes(given)


def test_task_bytes_from_the_least_on_are_one():
    check_task_bytes(LEAST_TASK_BYTES)
    check_task_bytes((1 << 62) - 1)


def test_compute_takes_inputs_and_nothing_else():
    with pytest.raises(ebb.errors.UnknownInput):
        copying().compute(workers=2)


def test_the_workers_at_the_limit():
    with pytest.raises(PlanError, match=f"1 to {WORKERS} workers"):
        copying().run(workers=WORKERS + 1)


def test_the_door_for_tests_tunes_the_engine_and_changes_no_result():
    found = []
    for tuning in ({}, {"slice_times": 1}, {"slice_times": 3, "seal_rows": 1, "keep_records": 0}):
        with copying()._run_tuned(tuning) as live:
            for time in range(7):
                live.insert("xs", [(time % 3,)], time=time)
            live.advance_to(9)
            found.append(live.changes("copy").rows())
    assert found[0] == found[1] == found[2] and len(found[0]) == 7


@pytest.mark.parametrize("slice_times", [0, -1, 2**19])
def test_sizes_that_would_give_wrong_answers_do_not_start(slice_times):
    with pytest.raises(AssertionError, match="bits"):
        copying()._run_tuned({"slice_times": slice_times})
