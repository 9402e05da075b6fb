"""What surrounds a program: settings of a session and of the process, looked at while our calls run.

Rule: what is looked at is what others in the process rely on: it is the same before, during and after a call.
"""

from __future__ import annotations

import decimal
import gc
import locale
import logging
import os
import signal
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy  # noqa: F401  # it sets filters of warnings when it is first imported, whoever imports it
from pyspark.conf import SparkConf
from pyspark.core.context import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.conf import RuntimeConfig

from ebbflow import interrupts

# Spark sets it itself, on the thread that makes a plan with a shuffle: every query of the user's does, a `count` too.
SPARKS_OWN = {"__fetch_continuous_blocks_in_batch_enabled"}
SIGNALS = [number for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP)]


def of_process():
    umask = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Umask"))
    root = logging.getLogger()
    return {
        "environment": dict(os.environ),
        "current directory": os.getcwd(),
        "signals": {number: signal.getsignal(number) for number in SIGNALS},
        "umask": umask,
        "sys.path": list(sys.path),
        "hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook, sys.displayhook, sys.gettrace()),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval(), threading.stack_size()),
        "streams": (sys.stdout, sys.stderr, sys.stdin),
        "warnings": list(warnings.filters),
        "logging": (root.level, list(root.handlers), logging.root.manager.disable),
        "locale": locale.setlocale(locale.LC_ALL),
        "decimal": repr(decimal.DefaultContext),
        "gc": (gc.isenabled(), gc.get_threshold()),
    }


def of_session(spark):
    context = spark.sparkContext
    return {
        "settings": dict(spark.conf.getAll),
        "context": sorted(SparkConf(_jconf=context._jsc.sc().conf()).getAll()),
        "environment of tasks": dict(context.environment),
        "current database": spark.catalog.currentDatabase(),
        "checkpoints": context.getCheckpointDir(),
    }


def of_thread(spark):
    """What Spark keeps for each thread; a stream's own threads have Spark's own."""
    properties = spark.sparkContext._jsc.sc().getLocalProperties()
    names = {str(name) for name in properties.stringPropertyNames()} - SPARKS_OWN
    active = SparkSession.getActiveSession()
    return {
        "properties": {name: str(properties.getProperty(name)) for name in names},
        "active session": active is None or active._jsparkSession.sessionUUID() == spark._jsparkSession.sessionUUID(),
    }


def differences(before, now):
    found = {}
    for name, was in before.items():
        is_now = now[name]
        if was != is_now and isinstance(was, dict):
            keys = {key for key in {*was, *is_now} if was.get(key) != is_now.get(key)}
            was, is_now = ({key: one.get(key) for key in keys} for one in (was, is_now))
        if was != is_now:
            found[name] = was, is_now
    return found


class Watch:
    """Differences that were seen, by whoever looks: another thread, a function of the user's, a sink, a listener."""

    def __init__(self, spark=None):
        self.spark, self.seen, self.looks, self.here = spark, [], 0, threading.get_ident()
        self.process = of_process()
        self.session = of_session(spark) if spark is not None else {}
        self.thread = of_thread(spark) if spark is not None else {}

    def look(self, where, beside=False):
        """Compare; `beside` a step of the main thread Ctrl-C may be noted rather than handled."""
        now = of_process()
        handler = now["signals"][signal.SIGINT]
        if beside and handler is interrupts._note:
            now["signals"][signal.SIGINT] = self.process["signals"][signal.SIGINT]
        self._note(where, differences(self.process, now))
        self.looks += 1

    def look_at_session(self, where):
        self._note(where, differences(self.session, of_session(self.spark)))
        if threading.get_ident() == self.here:
            self._note(where, differences(self.thread, of_thread(self.spark)))
        self.looks += 1

    def _note(self, where, found):
        if found:
            self.seen.append((where, found))

    @contextmanager
    def watching(self, pause=0.0005):
        """Look from another thread all the time, and wherever something is set on any session or context."""
        ends = threading.Event()

        def looks():
            last = 0.0
            while not ends.is_set():
                self.look("another thread", beside=True)
                if self.spark is not None and time.monotonic() - last > 0.05:
                    self.look_at_session("another thread")
                    last = time.monotonic()
                ends.wait(pause)

        spied = [(RuntimeConfig, "set"), (RuntimeConfig, "unset")]
        spied += [
            (SparkContext, name) for name in ("setLocalProperty", "setJobGroup", "setJobDescription", "setLogLevel")
        ]
        real = [(kind, name, getattr(kind, name)) for kind, name in spied if self.spark is not None]
        other = threading.Thread(target=looks)
        try:
            for kind, name, was in real:
                setattr(kind, name, self._spy(name, was))
            other.start()
            yield self
        finally:
            ends.set()
            other.join()
            for kind, name, was in real:
                setattr(kind, name, was)
        self.look("afterwards")
        if self.spark is not None:
            self.look_at_session("afterwards")

    def _spy(self, name, was):
        def spy(*given, **more):
            found = was(*given, **more)
            if name in ("set", "unset"):
                self.look_at_session(f"{name} {given[1:]}")
            else:
                self.seen.append((name, given[1:]))
            return found

        return spy
