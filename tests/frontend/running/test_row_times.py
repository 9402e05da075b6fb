import numpy as np

from ebbflow.frontend.running.row_times import whole_numbers, whole_table


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
