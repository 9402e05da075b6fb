import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ebbflow as ebb
from ebbflow.columns.schema import BOOLEAN, BYTE, DOUBLE, FLOAT, INT, LONG, SHORT, STRING, Field, Schema
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.errors import EbbflowError
from ebbflow.frontend.running.input_buffer import SEVERAL, InputBuffer, told, whole, whole_numbers, whole_table
from ebbflow.frontend.running.output_log import joined

TYPES = (LONG, INT, SHORT, BYTE, DOUBLE, FLOAT, BOOLEAN, STRING)
ALL = Schema(tuple(Field(str(type_), type_) for type_ in TYPES))
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


def make(schema=ALL, key=(), coordinates=("time",)):
    pool = Pool()

    def text_id(text):
        try:
            return int(pool.encode_texts([text])[0])
        except UnicodeEncodeError:
            return None

    return InputBuffer(n.Input("x", schema, key), coordinates, pool, text_id)


def taken(given_):
    (block,) = given_.due(((10**6,),)).now
    return block.lanes.tolist(), block.times.tolist(), block.diffs.tolist()


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
    monkeypatch.setattr(InputBuffer, "_add_many", None)
    input_.edit("insert", [(1, 2, 3, 4, 0.5, None, True, "x")], None, 1)
    input_.edit("delete", [(2**63 - 1, None, None, None, -0.0, None, False, "")] * 16, 7, -1)
    assert taken(input_)[1] == [[0]] + [[7]] * 16


def test_rows_stay_in_the_order_given_however_they_came():
    schema = Schema((Field("id", LONG),))
    input_ = make(schema)
    input_.edit("insert", [(0,)], None, 1)
    input_.edit("insert", {"id": [1, 2]}, None, 1)
    input_.edit("insert", [(3,)], None, 1)
    blocks = input_.due(()).now
    assert [i for block in blocks for i in block.lanes[0].tolist()] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), (np.int32(3), 3), (np.uint64(2**63), None), (True, None), (np.True_, None), (3.0, None), ("3", None)]
    + [(2**63 - 1, 2**63 - 1), (2**63, None), (-(2**63), None), (None, None), ([1], None)],
)
def test_a_whole_number_is_one_that_fits_a_word(value, number):
    assert whole(value) == number


def test_columns_of_whole_numbers_are_recognised():
    assert whole_numbers([1, 2]).tolist() == [1, 2]
    assert whole_numbers(np.array([1, 2], np.uint8)).dtype == np.int64
    assert whole_numbers([]).tolist() == []
    for no in ([1.0], [True], ["1"], [2**64], [1, None], [[1], [2, 3]], np.array([2**63], np.uint64)):
        assert whole_numbers(no) is None, no
    assert whole_table([(1, 2), (3, 4)], 2).tolist() == [[1, 2], [3, 4]]
    assert whole_table([1, 2], 2).tolist() == [[1], [2]]
    assert whole_table([1, 2], 3) is None
    assert whole_table(7, 1) is None


def test_times_read_as_people_write_them():
    assert told((8,)) == told(((8,),)) == "8"
    assert told((3, 0)) == "(3, 0)"
    assert told(((0, 5), (3, 0))) == "(0, 5) and (3, 0)"
    assert told(()) == "closed"


# ---- tables of Arrow, as they lie


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
    monkeypatch.setattr(InputBuffer, "_add_many", lambda self, *call: long_way.append(call))
    table = pa.table({"x": [1, 2], "s": ["a", None], "t": [5, 6], "d": [1, -1]})
    given_ = make(Schema((Field("s", STRING), Field("x", LONG))))
    given_.edit("apply", table, "t", "d")
    given_.edit("apply", table.select(["x", "s"]), 7, 2)
    given_.edit("apply", table.select(["s", "x"]).to_batches()[0], None, -1)
    assert not long_way
    times = [block.times.tolist() for block in given_.due(((10,),)).now]
    assert times == [[[5], [6]], [[7], [7]], [[0], [0]]]


def test_rows_are_the_sessions_own_whatever_becomes_of_the_table():
    numbers = np.arange(3)
    given_ = make(Schema((Field("x", LONG),)))
    given_.edit("apply", pa.table({"x": numbers}), 0, 1)
    numbers[:] = 9
    assert taken(given_)[0] == [[0, 1, 2]]


def test_the_room_of_a_table_that_was_taken_serves_for_the_next_one_of_its_size():
    given_ = make(Schema((Field("x", LONG),)))
    given_.edit("apply", pa.table({"x": [1, 2, 3]}), 0, 2)
    lanes, diffs = given_.rows_now()
    given_.settle_at(((1,),))
    given_.edit("apply", pa.table({"x": [4, 5, 6]}), 1, 1)
    assert given_.rows_now()[0] is lanes and lanes.tolist() == [[4, 5, 6]] and diffs.tolist() == [2]
    given_.edit("apply", pa.table({"x": [7, 8, 9]}), 1, 1)  # while those wait, their room is not free
    assert all_of(given_) == ([[4, 5, 6, 7, 8, 9]], [1] * 6, [1] * 6)
    given_.settle(given_.due(((2,),)))  # somebody may still have them
    given_.edit("apply", pa.table({"x": [0, 0, 0]}), 2, 1)
    assert given_.rows_now()[0] is not lanes


@pytest.mark.parametrize("column", ["time", "diff"])
def test_a_room_is_left_where_other_columns_are_read(column):
    given_ = make(Schema((Field("x", LONG),)))
    given_.edit("apply", pa.table({"x": [1, 2, 3]}), 0, 1)
    given_.settle_at(((1,),))
    table = pa.table({"x": [4, 5, 6], column: [3, 3, 3]})
    given_.edit("apply", table, column if column == "time" else 3, column if column == "diff" else 3)
    assert all_of(given_) == ([[4, 5, 6]], [3] * 3, [3] * 3)


def test_a_table_beside_single_rows_is_given_with_them_in_order():
    given_ = make(Schema((Field("x", LONG),)))
    given_.edit("insert", [(1,)], 4, 1)
    given_.edit("apply", pa.table({"x": [2, 3]}), 4, -1)
    given_.edit("insert", [(5,)], 4, 1)
    lanes, diffs = given_.rows_now()
    assert (lanes.tolist(), diffs.tolist()) == ([[1, 2, 3, 5]], [1, -1, -1, 1])
    assert all_of(given_) == ([[1, 2, 3, 5]], [4] * 4, [1, -1, -1, 1])


def all_of(given_):
    """The rows of all blocks, times and diffs as plain numbers."""
    lanes, times, diffs = joined(given_.due(((10**6,),)).now)
    return lanes.tolist(), times[:, 0].tolist(), diffs.tolist()


# ---- what is known of the times of rows


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(-1, 1)), max_size=6))
def test_rows_at_one_time_are_known_to_be(edits):
    given_ = make(Schema((Field("x", LONG),)))
    there = set()
    for time, rows, diff in edits:
        given_.edit("apply", [(i,) for i in range(rows)], time, diff)
        there |= {time} if rows and diff else set()
    assert given_.moment == (min(there) if len(there) == 1 else SEVERAL if there else None)
    given_.clear()
    assert given_.moment is None


def test_rows_that_wait_are_no_moment():
    given_ = make(Schema((Field("x", LONG),)))
    given_.edit("insert", [(1,)], 4, 1)
    assert given_.moment == 4
    given_.settle(given_.due(((2,),)))
    assert given_.moment is SEVERAL, "what waits comes with whatever comes next"
    given_.edit("insert", [(2,)], 5, 1)
    assert given_.moment is SEVERAL
    waiting = joined(given_.waiting_rows())
    given_.settle(given_.due(((6,),)))
    assert given_.moment is None
    given_.resume(((2,),), waiting, given_.keyed_rows())
    assert given_.moment is SEVERAL


def test_whoever_interrupts_the_giving_of_rows_leaves_a_step_that_can_be_taken():
    """Their time was noted and they were not kept: there is a moment and nothing at it."""
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("rows", "x long"))
    with flow.run() as live:
        live._inputs["rows"]._note(3, 3)
        live.advance_to(4)
        live.insert("rows", [(1,)], time=4)
        live.advance_to(5)
        assert live.changes("copy").rows() == [(1, 4, 1)]


def test_rows_that_came_one_by_one_become_arrays_when_they_are_many():
    given_ = make(Schema((Field("x", LONG),)))
    for i in range(20_000):
        given_.edit("insert", [(i,)], 4, 1)
    assert len(given_.rows_now()[1]) == 20_000
    assert given_.rows_now()[0][0].tolist() == list(range(20_000))


# ---- columns that are words already


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
    monkeypatch.setattr(InputBuffer, "_add_many", None)
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
