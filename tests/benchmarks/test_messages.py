"""Messages arrive whole, whichever way they travel."""

import pytest

from benchmarks import messages


@pytest.mark.parametrize("way", messages.WAYS)
def test_what_is_sent_is_read_in_the_next_superstep(spark, tmp_path, way):
    found = list(messages.WAYS[way](spark, tmp_path, 300, 3))
    assert found == [messages.expected(300, superstep) for superstep in range(3)]


def test_a_message_is_cut_into_rows_of_bounded_size(monkeypatch):
    monkeypatch.setattr(messages, "PIECE", 64)
    sent = messages.first_words(1, 20)
    rows = [batch.to_pylist()[0] for batch in messages.pieces(1, 7, sent)]
    assert [row["at"] for row in rows] == [0, 8, 16]
    assert b"".join(row["data"] for row in rows) == sent.tobytes()
    assert {(row["task"], row["to"], row["total"]) for row in rows} == {(1, 0, 7)}
