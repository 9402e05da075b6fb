"""Claims about telling and listening."""

import pytest

from ebbflow import events


def test_nobody_listening_means_nothing_is_kept():
    assert not events.is_heard()
    events.tell(events.Arrived("edges", 3))
    assert not events.is_heard()


def test_a_listener_hears_exactly_what_is_told_inside_its_block():
    heard = []
    events.tell(events.RoundBegan(0, 1))
    with events.listening(heard.append):
        assert events.is_heard()
        events.tell(events.RoundBegan(0, 2))
    events.tell(events.RoundBegan(0, 3))
    assert heard == [events.RoundBegan(0, 2)]


def test_the_block_ends_listening_even_when_it_raises():
    with pytest.raises(KeyError), events.listening(print):
        raise KeyError
    assert not events.is_heard()


def test_a_ring_is_bounded_and_counts_what_it_let_go():
    with events.listening(events.Ring(keep=10)) as ring:
        for round in range(25):
            events.tell(events.RoundBegan(0, round))
    assert [event.round for event in ring] == list(range(15, 25))
    assert (ring.heard, ring.lost, len(ring)) == (25, 15, 10)


def test_a_listener_that_raises_is_dropped_and_the_others_are_told():
    heard = []

    def breaks(event):
        raise ValueError("no")

    with events.listening(breaks), events.listening(heard.append):
        with pytest.warns(RuntimeWarning, match="no longer told"):
            events.tell(events.Arrived("edges", 1))
        events.tell(events.Arrived("edges", 2))
    assert [event.rows for event in heard] == [1, 2]


def test_events_are_values():
    assert events.Merged(1, 10, 4) == events.Merged(1, 10, 4)
    with pytest.raises(AttributeError):
        events.Merged(1, 10, 4).after = 5
