import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ebbflow as ebb
from ebbflow.columns.schema import LONG, Field, Schema
from ebbflow.frontend.running.input_buffer import SEVERAL
from ebbflow.frontend.running.output_log import joined
from tests.frontend.running.buffers import all_of, make, taken


def test_rows_stay_in_the_order_given_however_they_came():
    schema = Schema((Field("id", LONG),))
    input_ = make(schema)
    input_.edit("insert", [(0,)], None, 1)
    input_.edit("insert", {"id": [1, 2]}, None, 1)
    input_.edit("insert", [(3,)], None, 1)
    blocks = input_.due(()).now
    assert [i for block in blocks for i in block.lanes[0].tolist()] == [0, 1, 2, 3]


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
