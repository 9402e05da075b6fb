"""The forms in which a delay can be written."""

import pytest

import ebbflow as ebb
from ebbflow.errors import NotAnExpression, UnknownColumn


def unpacked(time):
    valid, system = time
    return valid + 1, system


@pytest.mark.parametrize(
    "fn, then",
    [
        (lambda t: (t[0] + 1, t[1]), (1, 0)),
        (lambda t: (t.valid, t["system"] + 2), (0, 2)),
        (lambda valid, system: (valid, system + 1), (0, 1)),
        (lambda t: {"system": t.system + 3, "valid": t[-2]}, (0, 3)),
        (unpacked, (1, 0)),
    ],
)
def test_a_time_of_two_coordinates_is_taken_by_name_by_place_or_apart(fn, then):
    flow = ebb.Dataflow(time=("valid", "system"))
    flow.output("later", flow.input("xs", "x long").delay(fn))
    with flow.run() as live:
        live.insert("xs", [(7,)], time=(0, 0))
        live.advance_to((9, 9))
        assert live.changes("later").rows() == [(7, then, 1)]


def test_what_is_no_time_is_refused():
    xs = ebb.Dataflow(time=("valid", "system")).input("xs", "x long")
    with pytest.raises(UnknownColumn, match="valid, system"):
        xs.delay(lambda t: (t[2], t[0]))
    with pytest.raises(NotAnExpression, match="one time for each coordinate"):
        xs.delay(lambda t: t[0])
    with pytest.raises(NotAnExpression, match="has the coordinates valid, system") as caught:
        xs.delay(lambda t: t + 1)
    assert "lambda valid, system: (valid, system + 1)" in caught.value.hint
