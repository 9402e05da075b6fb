"""Claims about Ctrl-C: wherever in a step it comes, the step happened or it did not, and nothing is lost or doubled.

The interruption is put before every so many instructions of Python that a step executes in our modules, one run for
each of them; afterwards the same calls are made again, as a person would, and everything shown is compared with an
undisturbed run.
"""

import signal
import sys
import threading
from pathlib import Path

import pytest

import ebbflow as ebb
from ebbflow import interrupts
from tests.tuned import tuned

HOME = str(Path(ebb.__file__).parent)


@pytest.fixture(autouse=True)
def pythons_own_way():
    """Ctrl-C raises KeyboardInterrupt; a process in which Spark was started asks Spark first."""
    was = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, was)


def interrupted_at(number, act):
    """Do something, with Ctrl-C before the given instruction in our modules; whether it came, and was raised."""
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            seen += 1
            if seen == number:
                signal.raise_signal(signal.SIGINT)
        return trace

    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True, True
    finally:
        sys.settrace(None)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "Ctrl-C is Python's again"
    return seen >= number, False


def program():
    flow = ebb.Dataflow()
    orders = flow.input("orders", "customer long, amount long")
    names = flow.input("names", "customer long, name string", key="customer")
    spent = orders.group_by("customer").agg(spent=ebb.sum("amount"))
    flow.output("spent", spent)
    flow.output("named", spent.join(names, on="customer"))
    return flow


def one_row(live, act):
    """The shortest step: a row at one time of one input."""
    live.insert("orders", [(1, 5)], time=1)
    act(lambda: live.advance_to(2))


def many_times(live, act):
    """Several inputs and times, rows that go on waiting, and a row that replaces another."""
    live.apply("orders", {"customer": [1, 2, 3], "amount": [5, 6, 7], "t": [1, 1, 2]}, time="t")
    live.insert("orders", [(9, 9)], time=7)
    live.upsert("names", [(2, "Bo"), (3, "Cy")], time=1)
    act(lambda: live.advance_to(3))


def story(tell, act, **options):
    """Everything that a reader and a subscriber are shown, when one step in the middle is done by `act`."""
    heard, read = [], []
    with tuned(program(), **options) as live:
        live.subscribe("spent", lambda changes, frontier: heard.append((frontier, sorted(changes.rows()))))
        live.insert("orders", [(1, 100), (2, 50)], time=0)
        live.upsert("names", [(1, "Al"), (2, "Bob")], time=0)
        live.advance_to(1)
        tell(live, act)
        live.insert("orders", [(1, 1), (3, 1)], time=4)
        live.upsert("names", [(1, "Ann")], time=4)
        live.advance_to(5)
        for name in ("spent", "named"):
            read += [(name, *row) for row in live.changes(name).rows()]
    told_once = [one for one, before in zip(heard, [None, *heard]) if one != before]  # again, if interrupted
    return told_once, sorted(read, key=str), sorted(live.snapshot("named").rows())


def again_if_interrupted(number, came):
    def act(call):
        came.append(interrupted_at(number, call))
        if came[-1][1]:
            call()

    return act


def check_each(stride, tell, **options):
    """A run for every so many instructions of the step."""
    where = lambda number: {name: make(number) if callable(make) else make for name, make in options.items()}
    expected = story(tell, lambda call: call(), **where(0))
    came, raised, number = [(True, False)], 0, 1
    while came[-1][0]:
        assert story(tell, again_if_interrupted(number, came), **where(number)) == expected, f"at instruction {number}"
        raised += came[-1][1]
        number += stride
    assert number > 20 * stride and raised > 10 and not came[-1][1]


def test_ctrl_c_in_the_shortest_step_loses_and_doubles_nothing():
    check_each(11, one_row)


def test_ctrl_c_in_a_step_of_many_times_loses_and_doubles_nothing():
    check_each(31, many_times)


def test_ctrl_c_in_a_step_of_two_workers_loses_and_doubles_nothing():
    check_each(101, many_times, workers=2)


def test_ctrl_c_in_a_step_that_is_kept_loses_and_doubles_nothing(tmp_path):
    check_each(211, many_times, checkpoint=lambda number: tmp_path / str(number))


def test_the_interruption_of_a_step_that_counts_is_raised_when_it_is_over():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("rows", "x long"))
    with flow.run() as live:
        live.insert("rows", [(1,)])
        settle = type(live._inputs["rows"]).settle_at

        def settle_slowly(given, frontier):
            signal.raise_signal(signal.SIGINT)
            settle(given, frontier)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(live._inputs["rows"]), "settle_at", settle_slowly)
            with pytest.raises(KeyboardInterrupt):
                live.advance_to(1)
        assert live.frontier("rows") == [(1,)] and live.changes("copy").rows() == [(1, 0, 1)]


def test_a_users_function_is_interrupted_at_once():
    called = []

    def slow(values):
        called.append("called")
        signal.raise_signal(signal.SIGINT)
        called.append("went on")  # an error would not do: the interruption that comes later would stand in its place
        return values

    flow = ebb.Dataflow()
    rows = flow.input("rows", "k long, x long")
    flow.output("slow", rows.group_by("k").reduce(slow, "x long"))
    with flow.run() as live:
        live.insert("rows", [(1, 2)])
        with pytest.raises(KeyboardInterrupt):
            live.advance_to(1)
        assert called == ["called"]
        live.discard()


def test_who_handles_ctrl_c_is_asked_when_the_step_is_over():
    heard = []
    handler = lambda number, frame: heard.append(number)
    signal.signal(signal.SIGINT, handler)
    with interrupts.held():
        with interrupts.held():
            signal.raise_signal(signal.SIGINT)
        assert heard == [], "it is held once, and to the end"
        with interrupts.allowed():
            assert heard == [signal.SIGINT], "what was noted is handled before others' code runs"
            signal.raise_signal(signal.SIGINT)
            assert len(heard) == 2
        signal.raise_signal(signal.SIGINT)
        assert len(heard) == 2
    assert len(heard) == 3 and signal.getsignal(signal.SIGINT) is handler


def test_nobody_is_asked_where_ctrl_c_is_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts.held():
        signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_are_never_interrupted():
    found = []

    def elsewhere():
        with interrupts.held():
            interrupts.look()
        with interrupts.allowed():
            found.append("went on")

    with pytest.raises(KeyboardInterrupt), interrupts.held():
        signal.raise_signal(signal.SIGINT)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert found == ["went on"]
        found.append("to the end")
    assert found == ["went on", "to the end"]


def test_who_holds_lets_go_and_nobody_else():
    assert interrupts.hold() and not interrupts.hold()
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interrupts.let_go()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert interrupts.hold()
    interrupts.let_go()


def test_another_signals_handler_may_call_us_wherever_ctrl_c_is_being_held_or_let_go():
    """Python runs handlers of all signals within the calls that set one; each may make a step of its own."""
    seen, number, held = 0, 1, list(interrupts._held)

    def call_us():
        with interrupts.held(), interrupts.allowed():
            pass

    def trace(frame, event, _):
        nonlocal seen
        if frame.f_code.co_filename != interrupts.__file__:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            seen += 1
            if seen == number:
                call_us()
        return trace

    while seen + 1 >= number:
        seen = 0
        sys.settrace(trace)
        try:
            with interrupts.held(), interrupts.allowed():
                pass
        finally:
            sys.settrace(None)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler and interrupts._held == held
        if seen < number:
            break
        number += 1
    assert number > 30  # so many instructions were tried
