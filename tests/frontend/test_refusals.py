"""Every refusal of a session: what, where and what to do, and a state that stays as it was."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow import errors as e
from ebbflow.columns.schema import LONG, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.frontend.running.session import Session, compute
from ebbflow.runtime.oracle.runtime import OracleRuntime
from tests.frontend.flows import NAMED, PAIR, Flow, echo, run


def program():
    """edges (plain), people (keyed), old (already closed) -> all"""
    flow = Flow()
    edges, people, old = flow.input("edges"), flow.input("people", PAIR, ("src",)), flow.input("old")
    flow.output("all", flow.graph.add(n.Concat((edges, people))))
    flow.output("silent", edges, changes=False)
    flow.output("before", old)
    return flow


def story(refused=None):
    """A session told a story, with one call in the middle that is refused; what it shows in the end."""
    with run(program()) as live:
        live.insert("edges", [(1, 2), (2, 3)], time=0)
        live.insert("people", [(1, 10)], time=2)
        live.advance_to(3)
        live.advance_to(5)
        live.advance_to(old=[])
        live.insert("edges", [(7, 7)], time=6)
        live.upsert("people", [(1, 11)], time=8)
        error = None
        if refused is not None:
            with pytest.raises(e.EbbflowError) as caught:
                refused(live)
            error = caught.value
        live.delete("edges", [(1, 2)], time=7)
        live.upsert("people", [(1, 12)], time=6)
        live.advance_to(edges=9, people=8)
        shown = [live.changes("all").rows(), live.snapshot("all").rows(), live.frontier("all")]
        live.close()
        return error, [*shown, live.changes("all").rows(), live.snapshot("silent").rows(), live.frontier("all")]


_, UNDISTURBED = story()
TABLE = pa.table({"src": [1, 2], "dst": [3, 4], "ts": [9, 9], "when": ["a", "b"], "half": [0.5, 1.0]})
DATA = TABLE.select(["src", "dst"])
GOES_ON = "Results stay readable. Start another session with flow.run() for more input."

REFUSALS = {
    "a frame of pandas whose values are of no type of Arrow": (
        lambda live: live.insert("edges", pd.DataFrame({"src": [1, "x"], "dst": [1, 2]})),
        e.TypeMismatch,
        "the column \"src\" is a long; row 1 has 'x', a str.",
        'Read it with int(...), or declare the column "string".',
    ),
    "a frame of pandas with a column twice": (
        lambda live: live.insert("edges", pd.DataFrame([[1, 2]], columns=["src", "src"])),
        e.DuplicateName,
        'insert finds two columns named "src" in the rows of "edges".',
        "Rename one of them, or leave it out.",
    ),
    "names of columns that are not text": (
        lambda live: live.insert("edges", {3: [1], "dst": [2]}),
        e.UnknownColumn,
        'insert looks for the column "src" of the input "edges" in its rows, which have: 3, dst.',
        "The input has: src long, dst long.",
    ),
    "an unknown input, with the near name": (
        lambda live: live.insert("edgs", [(1, 2)]),
        e.UnknownInput,
        'insert looks for the input "edgs"; this flow has: edges, people, old.',
        'Did you mean "edges"?',
    ),
    "an unknown input with no near name": (
        lambda live: live.apply("zzz", DATA),
        e.UnknownInput,
        'apply looks for the input "zzz"; this flow has: edges, people, old.',
        "Inputs are declared with flow.input(name, schema).",
    ),
    "an output fed": (
        lambda live: live.delete("all", [(1, 2)]),
        e.UnknownInput,
        'delete looks for the input "all"; this flow has: edges, people, old.',
        '"all" is an output: it follows from the inputs.',
    ),
    "an input that is no name": (
        lambda live: live.insert(3, [(1, 2)]),
        e.UnknownInput,
        'insert looks for the input "3"; this flow has: edges, people, old.',
        "Inputs are declared with flow.input(name, schema).",
    ),
    "an unknown output": (
        lambda live: live.changes("al"),
        e.UnknownOutput,
        'changes looks for the output "al"; this flow has: all, silent, before.',
        'Did you mean "all"?',
    ),
    "an input read": (
        lambda live: live.snapshot("edges"),
        e.UnknownOutput,
        'snapshot looks for the output "edges"; this flow has: all, silent, before.',
        '"edges" is an input; flow.output("edges", ...) would show it.',
    ),
    "the frontier of nothing": (
        lambda live: live.frontier("sillent"),
        e.UnknownOutput,
        'frontier looks for the output "sillent"; this flow has: all, silent, before.',
        'Did you mean "silent"?',
    ),
    "a late row": (
        lambda live: live.insert("edges", [(1, 2)], time=4),
        e.LateTime,
        'insert comes too late at time 4: the input "edges" is complete before its frontier, 5.',
        "Use a time from 5 on; nothing of this call was taken in.",
    ),
    "a late row among others": (
        lambda live: live.apply("edges", DATA, time=[5, 4]),
        e.LateTime,
        'apply comes too late at time 4 (row 1): the input "edges" is complete before its frontier, 5.',
        "Use a time from 5 on; nothing of this call was taken in.",
    ),
    "a time before the beginning": (
        lambda live: live.upsert("people", [(1, 2)], time=-1),
        e.LateTime,
        'upsert comes too late at time -1: the input "people" is complete before its frontier, 5.',
        "Use a time from 5 on; nothing of this call was taken in.",
    ),
    "a frontier moved back": (
        lambda live: live.advance_to(edges=4),
        e.FrontierMovedBack,
        'advance_to would move the frontier of the input "edges" back from 5 to 4; what is complete stays complete.',
        "Give a later time, or name the inputs that go on: advance_to(name=time).",
    ),
    "a frontier moved back for one input of all": (
        lambda live: (live.advance_to(people=6), live.advance_to(5)),
        e.FrontierMovedBack,
        'advance_to would move the frontier of the input "people" back from 6 to 5; what is complete stays complete.',
        "Give a later time, or name the inputs that go on: advance_to(name=time).",
    ),
    "a frontier of an unknown input": (
        lambda live: live.advance_to(edges=9, root=9),
        e.UnknownInput,
        'advance_to looks for the input "root"; this flow has: edges, people, old.',
        "Inputs are declared with flow.input(name, schema).",
    ),
    "an advance to nowhere": (
        lambda live: live.advance_to(),
        e.WrongTime,
        "advance_to is not told where to.",
        "Write advance_to(8), or advance_to(edges=8).",
    ),
    "a frontier that is no time": (
        lambda live: live.advance_to(edges="noon"),
        e.WrongTime,
        "advance_to is given the time noon; a time of this flow is a whole number.",
        "Write advance_to(8).",
    ),
    "a time with too many coordinates": (
        lambda live: live.insert("edges", [(1, 2)], time=(6, 0)),
        e.WrongTime,
        "insert is given the time (6, 0); a time of this flow is a whole number.",
        "Write time=8.",
    ),
    "half a time": (
        lambda live: live.insert("edges", [(1, 2)], time=6.5),
        e.WrongTime,
        "insert takes as time one whole number for each of its 1 rows, not 6.5.",
        "Give one time, the name of a column of whole numbers, or an array of them.",
    ),
    "a time that is true": (
        lambda live: live.insert("edges", [(1, 2)], time=True),
        e.WrongTime,
        "insert takes as time one whole number for each of its 1 rows, not true.",
        "Give one time, the name of a column of whole numbers, or an array of them.",
    ),
    "a time with no place in 64 bits": (
        lambda live: live.insert("edges", [(1, 2)], time=2**63),
        e.WrongTime,
        "insert is given the time 9223372036854775808, which does not fit 64 bits; a time of this flow is a whole "
        "number.",
        "Write time=8.",
    ),
    "times of text": (
        lambda live: live.apply("edges", TABLE.select(["src", "dst", "when"]), time="when"),
        e.WrongTime,
        'apply takes as time one whole number for each of its 2 rows, not the column "when" of string (row 0 has a).',
        "Give one time, the name of a column of whole numbers, or an array of them.",
    ),
    "times of another length": (
        lambda live: live.apply("edges", DATA, time=[6, 7, 8]),
        e.WrongTime,
        "apply takes as time one whole number for each of its 2 rows, not 3 values such as 6.",
        "Give one time, the name of a column of whole numbers, or an array of them.",
    ),
    "missing times": (
        lambda live: live.apply("edges", DATA, time=pa.array([6, None])),
        e.WrongTime,
        "apply takes as time one whole number for each of its 2 rows, not 2 values such as 6 (row 1 has null).",
        "Give one time, the name of a column of whole numbers, or an array of them.",
    ),
    "an unknown column of times": (
        lambda live: live.apply("edges", TABLE.select(["src", "dst", "ts"]), time="t"),
        e.UnknownColumn,
        'apply looks for the column "t" (time=) in its rows, which have: src, dst, ts.',
        'Did you mean "ts"?',
    ),
    "half a diff": (
        lambda live: live.apply("edges", DATA, diff=0.5),
        e.WrongDiff,
        "apply takes as diff one whole number for each of its 2 rows, not 0.5.",
        "A diff counts copies of a row: 1 adds one, -1 takes one away.",
    ),
    "a column of half diffs": (
        lambda live: live.apply("edges", TABLE.select(["src", "dst", "half"]), diff="half"),
        e.WrongDiff,
        'apply takes as diff one whole number for each of its 2 rows, not the column "half" of double (row 0 has 0.5).',
        "A diff counts copies of a row: 1 adds one, -1 takes one away.",
    ),
    "a diff that is true": (
        lambda live: live.apply("edges", DATA, diff=True),
        e.WrongDiff,
        "apply takes as diff one whole number for each of its 2 rows, not true.",
        "A diff counts copies of a row: 1 adds one, -1 takes one away.",
    ),
    "a diff with no place in 64 bits": (
        lambda live: live.apply("edges", DATA, diff=np.array([1, 2**63], np.uint64)),
        e.WrongDiff,
        "apply takes as diff one whole number for each of its 2 rows, not 2 values such as 1 (row 1 has "
        "9223372036854775808, which does not fit 64 bits).",
        "A diff counts copies of a row: 1 adds one, -1 takes one away.",
    ),
    "a missing column": (
        lambda live: live.insert("edges", {"src": [1], "dts": [2]}),
        e.UnknownColumn,
        'insert looks for the column "dst" of the input "edges" in its rows, which have: src, dts.',
        'Did you mean "dts"?',
    ),
    "a column too many": (
        lambda live: live.insert("edges", TABLE.select(["src", "dst", "half"])),
        e.UnknownColumn,
        'insert finds the column "half" in its rows, which the input "edges" does not have: src, dst.',
        "Leave it out, or name it as time= or diff=.",
    ),
    "two columns of one name": (
        lambda live: live.insert("edges", pa.table([[1], [2], [3]], names=["src", "dst", "dst"])),
        e.DuplicateName,
        'insert finds two columns named "dst" in the rows of "edges".',
        "Rename one of them, or leave it out.",
    ),
    "a row too short": (
        lambda live: live.insert("edges", [(1, 2), (3,)]),
        e.TypeMismatch,
        'insert finds 1 value in row 1; a row of "edges" has 2: src long, dst long.',
        "Write each row as a tuple: (src, dst).",
    ),
    "a row instead of rows": (
        lambda live: live.insert("edges", (1, 2)),
        e.TypeMismatch,
        'insert finds 1 in row 0; a row of "edges" has 2: src long, dst long.',
        "Write each row as a tuple: (src, dst).",
    ),
    "rows that differ": (
        lambda live: live.insert("edges", [{"src": 1, "dst": 2}, {"src": 1}]),
        e.TypeMismatch,
        'insert finds other columns in row 1 for "edges" than in row 0: src instead of src, dst.',
        "Give every row the same columns; None is a value.",
    ),
    "columns of unequal length": (
        lambda live: live.insert("edges", {"src": [1, 2], "dst": [3]}),
        e.TypeMismatch,
        'insert takes columns of equal length for "edges"; these have: src 2, dst 1.',
        "A dict holds an array for every column.",
    ),
    "no rows at all": (
        lambda live: live.insert("edges", 7),
        e.TypeMismatch,
        'insert takes the rows of "edges" as a list of tuples, a dict of arrays, or anything Arrow, not int.',
        "Write [(src, dst)].",
    ),
    "upsert without a key": (
        lambda live: live.upsert("edges", [(1, 2)]),
        e.NoKey,
        'upsert replaces rows by key, and the input "edges" has no key.',
        'Declare it as flow.input("edges", ..., key="..."), or use insert and delete.',
    ),
    "a key that is null": (
        lambda live: live.upsert("people", [(1, 2), (None, 3)]),
        e.NoKey,
        'upsert finds no value for the key "src" of "people" in row 1.',
        "A key is never null: it says which row is meant.",
    ),
    "two copies of a key": (
        lambda live: live.apply("people", DATA, time=9, diff=[1, 2]),
        e.WrongDiff,
        'apply finds the diff 2 in row 1; "people" has a key, and a key has one row.',
        "Use 1 for a row that shall be there, -1 for one that shall not.",
    ),
    "a time not yet complete": (
        lambda live: live.snapshot("all", at=5),
        e.NotComplete,
        'snapshot asks for "all" at 5, which is not complete: its frontier is 5.',
        "Call advance_to with a later time first, or leave at= out for the last complete time.",
    ),
    "a time too long ago": (
        lambda live: live.snapshot("all", at=2),
        e.HistoryGone,
        'snapshot asks for "all" at 2, which is no longer kept: it reaches back to 3, where the last advance began.',
        'To look further back, start with run(history="all"), or run(history=1000), so many time units.',
    ),
    "a snapshot at no time": (
        lambda live: live.snapshot("all", at="noon"),
        e.WrongTime,
        "snapshot is given the time noon; a time of this flow is a whole number.",
        "Write at=8.",
    ),
    "changes that are not kept": (
        lambda live: live.changes("silent"),
        e.ChangesNotKept,
        'the output "silent" was declared with changes=False: its changes are not kept.',
        "Leave changes=False out of flow.output, use subscribe to see changes go by, or read snapshot.",
    ),
    "a subscriber that cannot be called": (
        lambda live: live.subscribe("all", "print"),
        e.TypeMismatch,
        "subscribe takes a function of (changes, frontier), not print.",
        "live.subscribe(name, lambda changes, frontier: print(changes))",
    ),
    "rows for an input that has ended": (
        lambda live: live.insert("old", [(1, 2)]),
        e.SessionClosed,
        'insert comes after the input "old" was closed, which said that no more input follows.',
        GOES_ON,
    ),
    "an output the runtime cannot add": (
        lambda live: live.add_output("later"),
        e.UnknownOutput,
        'add_output looks for the output "later"; this flow has: all, silent, before.',
        "Outputs are declared with flow.output(name, collection).",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_says_what_and_where_and_what_to_do_and_changes_nothing(case):
    call, kind, what, hint = REFUSALS[case]
    error, shown = story(call)
    assert type(error) is kind
    first, where, last = str(error).split("\n")
    assert first == what
    assert where.startswith("  at test_refusals.py, line ")
    assert last == "  " + hint
    assert shown == UNDISTURBED


def test_after_close_nothing_goes_in():
    live = run(program())
    live.insert("edges", [(1, 2)])
    live.close()
    for verb, call in [
        ("insert", lambda: live.insert("edges", [(1, 2)])),
        ("delete", lambda: live.delete("edges", [(1, 2)])),
        ("upsert", lambda: live.upsert("people", [(1, 2)])),
        ("apply", lambda: live.apply("edges", DATA)),
        ("advance_to", lambda: live.advance_to(9)),
        ("advance_to", lambda: live.advance_to(edges=9)),
        ("commit", lambda: live.commit()),
    ]:
        with pytest.raises(e.SessionClosed) as caught:
            call()
        assert caught.value.what == f"{verb} comes after the session was closed, which said that no more input follows."
        assert caught.value.hint == GOES_ON
    assert live.changes("all") == [(1, 2, 0, 1)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("verb", ["insert", "advance_to", "commit", "discard", "close"])
def test_a_function_of_the_program_does_not_change_the_session_that_calls_it(verb, workers):
    """A row that came while a step was under way would be gone when it ends."""
    acts = {
        "insert": lambda: live.insert("xs", [(5,)]),
        "advance_to": lambda: live.advance_to(9),
        "commit": lambda: live.commit(),
        "discard": lambda: live.discard(),
        "close": lambda: live.close(),
    }
    caught = []

    def act(row):
        with pytest.raises(e.StepUnderWay, match=f"^{verb} comes in the middle of a step") as refusal:
            acts[verb]()
        caught.append(refusal.value.hint)
        return row

    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long").map_rows(act, "x long"))
    live = flow.run(workers=workers)
    live.insert("xs", [(1,)])
    assert live.commit()["out"].rows() == [(1, 0, 1)] and "subscribe" in caught[0]
    live.insert("xs", [(2,)])
    live.advance_to(3)
    assert live.changes("out").rows() == [(2, 1, 1)]
    live.close()


def test_after_the_last_time_there_is_none_to_open():
    with run(echo()) as live:
        live.advance_to(2**63 - 1)
        live.insert("edges", [(1, 2)])
        with pytest.raises(e.WrongTime, match="the time after 9223372036854775807") as caught:
            live.commit()
        assert "close()" in caught.value.hint
    assert live.changes("copy") == [(1, 2, 2**63 - 1, 1)]


def test_where_every_input_has_ended_no_time_goes_on():
    with run(program()) as live:
        live.advance_to([])
        for verb, call in [("advance_to", lambda: live.advance_to(9)), ("commit", live.commit)]:
            with pytest.raises(e.SessionClosed, match=f"^{verb} comes after every input was closed"):
                call()


def test_several_coordinates_ask_for_as_many_numbers():
    with run(echo(coordinates=("valid", "system"))) as live:
        live.advance_to([(3, 0), (0, 5)])
        for call, kind, what, hint in [
            (
                lambda: live.insert("edges", [(1, 2)], time=3),
                e.WrongTime,
                "insert is given the time 3; a time of this flow is 2 whole numbers (valid, system).",
                "Write a tuple, such as (3, 0).",
            ),
            (
                lambda: live.insert("edges", [(1, 2)], time=(1, 2, 3)),
                e.WrongTime,
                "insert is given the time (1, 2, 3); a time of this flow is 2 whole numbers (valid, system).",
                "Write a tuple, such as (3, 0).",
            ),
            (
                lambda: live.apply("edges", TABLE.select(["src", "dst", "ts"]), time="ts"),
                e.WrongTime,
                "apply takes as time 2 whole numbers (valid, system) for each of its 2 rows, "
                'not the column "ts" of int64.',
                "Give one time, the name of a column of whole numbers, or an array of them, for each coordinate.",
            ),
            (
                lambda: live.insert("edges", [(1, 2)]),
                e.WrongTime,
                'insert has no time, and the input "edges" has several open ones: (0, 5) and (3, 0).',
                "Say which: time=(0, 5).",
            ),
            (
                lambda: live.commit(),
                e.WrongTime,
                'commit has no time, and the input "edges" has several open ones: (0, 5) and (3, 0).',
                "Say how far: advance_to((0, 5)).",
            ),
            (
                lambda: live.insert("edges", [(1, 2)], time=(2, 4)),
                e.LateTime,
                'insert comes too late at time (2, 4): the input "edges" is complete before its frontier, '
                "(0, 5) and (3, 0).",
                "Use a time from (0, 5) and (3, 0) on; nothing of this call was taken in.",
            ),
            (
                lambda: live.advance_to((2, 4)),
                e.FrontierMovedBack,
                'advance_to would move the frontier of the input "edges" back from (0, 5) and (3, 0) to (2, 4); '
                "what is complete stays complete.",
                "Give a later time.",
            ),
            (
                lambda: live.snapshot("copy", at=(3, 0)),
                e.NotComplete,
                'snapshot asks for "copy" at (3, 0), which is not complete: its frontier is (0, 5) and (3, 0).',
                "Call advance_to with a later time first, or leave at= out for the last complete time.",
            ),
        ]:
            with pytest.raises(kind) as caught:
                call()
            assert (caught.value.what, caught.value.hint) == (what, hint)
        live.insert("edges", [(1, 2)], time=(0, 5))
        live.close()
        assert live.changes("copy") == [(1, 2, (0, 5), 1)]


def test_keys_need_one_coordinate():
    with pytest.raises(e.NoKey) as caught:
        run(echo(coordinates=("valid", "system"), key=("src",)))
    assert caught.value.what == (
        'the input "edges" has a key, and this flow\'s times have 2 coordinates (valid, system); '
        "rows are replaced by key along one coordinate only."
    )


@pytest.mark.parametrize("rows", [[(1, "x", "fast")], [("one", "x", 1.0)], [(1, 2, 1.0)], [(2**63, "x", 1.0)]])
@pytest.mark.parametrize("times", [1, 50])
def test_a_value_of_another_type_is_refused_however_many_rows_there_are(rows, times):
    with run(echo(NAMED)) as live:
        live.insert("edges", [(1, "a", 0.5)])
        with pytest.raises(e.EbbflowError) as caught:
            live.insert("edges", [(1, "fine", 0.5)] * times + rows)
        assert "  at test_refusals.py, line " in str(caught.value)
        assert live.commit() == {"copy": [(1, "a", 0.5, 0, 1)]}


def test_a_step_that_is_refused_keeps_its_input_until_it_is_discarded():
    """A user's function that raises, or a number that overflows, ends in the runtime; the session stays."""
    refusing = True

    class Refusing(OracleRuntime):
        def advance(self, frontiers):
            if refusing:
                raise e.NumberOverflow("a sum has no place in 64 bits.", hint="...")
            super().advance(frontiers)

    with Session(program(), runtime=Refusing) as live:
        live.insert("edges", [(1, 2)])
        live.upsert("people", [(5, 5)])
        for act in (lambda: live.advance_to(3), live.commit, live.close):
            with pytest.raises(e.NumberOverflow):
                act()
            assert live.frontier("all") == live.frontier("edges") == [(0,)]
        live.upsert("people", [(5, 6)])  # the step is still open: more may come, and wins
        refusing = False
        live.advance_to(3)
        assert live.changes("all") == [(1, 2, 0, 1), (5, 6, 0, 1)]
        refusing = True
        live.insert("edges", [(3, 4)])
        live.upsert("people", [(5, 7)])
        with pytest.raises(e.NumberOverflow):
            live.advance_to(4)
        live.discard()
        refusing = False
        live.insert("edges", [(8, 8)])
        live.advance_to(4)
        assert live.changes("all") == [(8, 8, 3, 1)]


def test_rows_that_waited_for_a_step_that_is_refused_are_discarded_with_it():
    """Else the session could never go on: the row is refused again with every step that takes it in."""
    flow = ebb.Dataflow()
    xs = flow.input("xs", "id long, x long", key="id")
    flow.output("more", xs.select(y=xs.x + 1))
    with flow.run() as live:
        live.upsert("xs", [(1, 2**63 - 1)], time=5)
        live.upsert("xs", [(2, 2)], time=20)
        live.advance_to(3)
        with pytest.raises(e.NumberOverflow):
            live.advance_to(10)
        live.advance_to(4)  # the row still waits
        with pytest.raises(e.NumberOverflow):
            live.advance_to(10)
        live.discard()
        live.advance_to(10)
        live.upsert("xs", [(3, 3)])
    assert live.changes("more") == [(4, 10, 1), (3, 20, 1)]


def test_an_interrupted_step_leaves_the_session_usable():
    interrupted = True

    class Interrupted(OracleRuntime):
        def advance(self, frontiers):
            if interrupted:
                raise KeyboardInterrupt
            super().advance(frontiers)

    with Session(echo(), runtime=Interrupted) as live:
        live.insert("edges", [(1, 2)])
        with pytest.raises(KeyboardInterrupt):
            live.commit()
        interrupted = False
        assert live.commit() == {"copy": [(1, 2, 0, 1)]}


def test_an_error_while_leaving_the_with_block_is_told():
    class Refusing(OracleRuntime):
        def advance(self, frontiers):
            raise e.NumberOverflow("a sum has no place in 64 bits.", hint="...")

    with pytest.raises(e.NumberOverflow), Session(echo(), runtime=Refusing) as live:
        live.insert("edges", [(1, 2)])
    assert live.changes("copy") == []


def test_compute_names_what_it_does_not_know():
    with pytest.raises(e.UnknownInput, match='compute looks for the input "edge"; this flow has: edges'):
        compute(echo(), {"edge": []}, runtime=OracleRuntime)


@pytest.mark.parametrize("history", [-1, "some", 2.5, True])
def test_history_is_a_number_of_time_units_or_all(history):
    with pytest.raises(e.TypeMismatch, match="history says how far back snapshots reach"):
        run(echo(), history=history)


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", True])
def test_workers_are_counted(workers):
    with pytest.raises(e.TypeMismatch, match=f"workers is a number of threads, 1 or more, not {workers!r}[.]"):
        run(echo(), workers=workers)


@pytest.mark.parametrize("key", [[], (), b"x", 3])
def test_a_key_names_columns(key):
    with pytest.raises(e.TypeMismatch, match="names no columns"):
        ebb.Dataflow().input("t", "x long", key=key)


def test_what_stands_in_brackets_is_a_name():
    with pytest.raises(e.NotAnExpression) as caught:
        ebb.Dataflow().input("t", "x long")[0]
    assert caught.value.hint == 'For example c["x"].'


def test_whole_numbers_that_pandas_made_floats_are_told_how_to_come_back():
    pandas = pytest.importorskip("pandas")
    flow = ebb.Dataflow()
    flow.output("out", flow.input("t", "x long"))
    frame = pandas.DataFrame({"x": [1, None]})
    with pytest.raises(e.TypeMismatch) as caught:
        flow.compute(t=frame)
    assert ".astype('Int64')" in caught.value.hint
    assert flow.compute(t=frame.astype("Int64"))["out"].rows() == [(None, 1), (1, 1)]


def test_names_of_people_cannot_disturb_a_message():
    flow = Flow()
    flow.output("out", flow.input("\x1b[31m", Schema((Field("x", LONG),))))
    with run(flow) as live, pytest.raises(e.UnknownInput) as caught:
        live.insert("a\nb", [(1,)])
    assert caught.value.what == 'insert looks for the input "a\\nb"; this flow has: \\x1b[31m.'
