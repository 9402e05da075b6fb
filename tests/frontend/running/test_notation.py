import numpy as np
import pytest

from ebbflow.frontend.running.notation import told, whole


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), (np.int32(3), 3), (np.uint64(2**63), None), (True, None), (np.True_, None), (3.0, None), ("3", None)]
    + [(2**63 - 1, 2**63 - 1), (2**63, None), (-(2**63), None), (None, None), ([1], None)],
)
def test_a_whole_number_is_one_that_fits_a_word(value, number):
    assert whole(value) == number


def test_times_read_as_people_write_them():
    assert told((8,)) == told(((8,),)) == "8"
    assert told((3, 0)) == "(3, 0)"
    assert told(((0, 5), (3, 0))) == "(0, 5) and (3, 0)"
    assert told(()) == "closed"
