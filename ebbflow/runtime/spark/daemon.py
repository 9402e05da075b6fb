"""Spark's Python daemon, which does not mind being hung up on.

Spark lets go of a worker that was idle for a minute, and of all of them at the end.  Over its unix sockets the worker's
last word then meets a broken pipe, and PySpark prints a traceback for it in the middle of what a program shows.

Rule: it is PySpark's own daemon; only a worker that nobody listens to any more ends in silence.
"""

from __future__ import annotations

from typing import Any

from pyspark import daemon

_worker = daemon.worker


def worker(sock: Any, authenticated: bool) -> int:
    try:
        return _worker(sock, authenticated)
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
