import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.columns.pool import Pool
from ebbflow.columns.schema import BOOLEAN, BYTE, DOUBLE, FLOAT, INT, LONG, SHORT, STRING, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.errors import EbbflowError
from ebbflow.frontend.given import Given, told, whole, whole_numbers, whole_table

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

    return Given(n.Input("x", schema, key), coordinates, pool, text_id)


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
    monkeypatch.setattr(Given, "_add_many", None)
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
