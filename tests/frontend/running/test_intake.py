"""Claims about the intake: its quick ways read what the long one does, to the same words."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.columns.schema import BYTE, INT, LONG, STRING, Field, Schema
from ebbflow.errors import EbbflowError
from ebbflow.frontend.running.input_buffer import SEVERAL
from ebbflow.frontend.running.intake import Intake
from tests.frontend.running.buffers import TYPES, all_of, make, taken

EDGES = [0, 1, -1, *(s * (2**b) + d for b in (7, 15, 31, 63) for s in (1, -1) for d in (-1, 0, 1))]
VALUE = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(EDGES),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["\ud800", np.int64(3), np.float64(0.5), -0.0, b"x"]),
)


@given(column=st.sampled_from(range(len(TYPES))), value=VALUE)
def test_the_short_way_for_a_few_rows_takes_and_refuses_what_the_long_way_does(column, value):
    row = tuple(value if i == column else None for i in range(len(TYPES)))
    short, long = make(), make()
    answers = []
    for input_, rows in ((short, [row]), (long, iter([row]))):  # an iterator is never a few rows
        try:
            input_.edit("insert", rows, 3, 1)
            answers.append(taken(input_))
        except EbbflowError as error:
            answers.append((type(error), error.what))
    assert answers[0] == answers[1]


def test_the_long_way_is_taken_only_where_it_must(monkeypatch):
    input_ = make()
    monkeypatch.setattr(Intake, "_any", None)
    input_.edit("insert", [(1, 2, 3, 4, 0.5, None, True, "x")], None, 1)
    input_.edit("delete", [(2**63 - 1, None, None, None, -0.0, None, False, "")] * 16, 7, -1)
    assert taken(input_)[1] == [[0]] + [[7]] * 16


def outcome(given_, rows, time, diff):
    """What becomes of a call: the rows that are there after it, or the refusal."""
    try:
        given_.edit("apply", rows, time, diff)
    except EbbflowError as error:
        return type(error), error.what, error.hint
    blocks = given_.due(((10**6,),)).now
    return [(block.lanes.tolist(), block.times.tolist(), block.diffs.tolist()) for block in blocks]


NUMBER = st.integers(-2, 9) | st.none()


TIMES = [None, 3, -1, 0, 10**7, "t", "d", "x", "gone", [1, 2], (3,), True, 2**70, "s"]


DIFFS = [1, -1, 0, 3, "d", "t", "x", "gone", "s", 2**64, 0.5, True]


@given(st.data())
def test_a_table_of_arrow_is_taken_and_refused_as_its_columns_are(data):
    count = data.draw(st.integers(0, 4))
    values = lambda kind: data.draw(st.lists(kind, min_size=count, max_size=count))
    columns = {
        "x": pa.array(values(NUMBER), data.draw(st.sampled_from([pa.int64(), pa.int8()]))),
        "s": pa.array(values(st.none() | st.sampled_from(["", "ebb", "flow" * 9]))),
    }
    for name in data.draw(st.sets(st.sampled_from(["t", "d", "more"]))):
        columns[name] = pa.array(values(NUMBER if data.draw(st.booleans()) else st.integers(0, 9)), pa.int64())
    schema = Schema((Field("s", STRING), Field("x", data.draw(st.sampled_from([LONG, BYTE, INT])))))
    time, diff = data.draw(st.sampled_from(TIMES)), data.draw(st.sampled_from(DIFFS))
    key = data.draw(st.sampled_from([(), ("x",)]))
    found = []
    for rows in (pa.table(columns), pa.record_batch(columns), columns):
        given_ = make(schema, key)
        given_.settle(given_.due(((1,),)))
        found.append(outcome(given_, rows, time, diff))
    assert found[0] == found[1] == found[2]


def test_a_table_of_arrow_is_read_as_it_lies(monkeypatch):
    long_way = []
    monkeypatch.setattr(Intake, "_any", lambda self, *call: long_way.append(call))
    table = pa.table({"x": [1, 2], "s": ["a", None], "t": [5, 6], "d": [1, -1]})
    given_ = make(Schema((Field("s", STRING), Field("x", LONG))))
    given_.edit("apply", table, "t", "d")
    given_.edit("apply", table.select(["x", "s"]), 7, 2)
    given_.edit("apply", table.select(["s", "x"]).to_batches()[0], None, -1)
    assert not long_way
    times = [block.times.tolist() for block in given_.due(((10,),)).now]
    assert times == [[[5], [6]], [[7], [7]], [[0], [0]]]


COLUMNS = st.lists(st.tuples(*[st.integers(-3, 3)] * 2, st.integers(0, 5), st.integers(-2, 2)), max_size=20)


@given(COLUMNS, st.booleans(), st.integers(-1, 2))
def test_columns_of_words_are_taken_as_lists_of_numbers_are(rows, named, diff):
    kept = []
    for of in (lambda numbers: np.array(numbers, np.int64), list):
        given_ = make(Schema((Field("x", LONG), Field("y", LONG))))
        columns = {name: of([row[i] for row in rows]) for i, name in enumerate("yxtd")}
        if not named:
            del columns["d"]
        given_.edit("apply", columns, "t", "d" if named else diff)
        kept.append((given_.moment, all_of(given_) if given_._blocks else None))
    assert kept[0] == kept[1]


def test_columns_of_words_are_not_looked_at_one_by_one(monkeypatch):
    monkeypatch.setattr(Intake, "_any", None)
    given_ = make(Schema((Field("x", LONG),)))
    given_.edit("apply", {"x": np.array([1, 2]), "t": np.array([4, 3])}, "t", 1)
    assert all_of(given_) == ([[1, 2]], [4, 3], [1, 1]) and given_.moment is SEVERAL


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ({"x": np.array([1, -(2**63)]), "t": np.array([4, 4])}, "x"),
        ({"x": np.array([1, 2]), "t": np.array([4, 2])}, "3"),
        ({"x": np.array([1, 2]), "t": np.array([4, 4]), "z": np.array([1, 2])}, "z"),
        ({"x": np.array([1, 2]), "t": np.array([4])}, "t"),
    ],
)
def test_columns_of_words_that_do_not_fit_are_refused_as_others_are(columns, error):
    given_ = make(Schema((Field("x", LONG),)))
    given_.frontier = ((3,),)
    with pytest.raises(EbbflowError, match=error):
        given_.edit("apply", columns, "t", 1)
    assert given_.is_empty and given_.moment is None
