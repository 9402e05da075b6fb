"""A worker that Spark let go of ends in silence; everything else is PySpark's own."""

import pytest

from ebbflow.runtime.spark import daemon, session


def test_a_worker_that_was_hung_up_on_ends_in_silence(monkeypatch):
    def hung_up(sock, authenticated):
        raise BrokenPipeError

    monkeypatch.setattr(daemon, "_worker", hung_up)
    assert daemon.worker(None, True) == 1


def test_what_else_goes_wrong_is_told(monkeypatch):
    def broken(sock, authenticated):
        raise ValueError("other")

    monkeypatch.setattr(daemon, "_worker", broken)
    with pytest.raises(ValueError, match="other"):
        daemon.worker(None, True)


def test_our_sessions_start_it():
    assert session.defaults()["spark.python.daemon.module"] == daemon.__name__
