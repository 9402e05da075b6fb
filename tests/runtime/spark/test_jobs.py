"""Claims about what is said of jobs; tests/pipeline/test_figures.py asks Spark itself."""

import io
import sys
import time

import pytest

from ebbflow.frontend.running.session import Session as Session_
from ebbflow.runtime.spark import jobs
from ebbflow.runtime.spark.cluster import Here
from ebbflow.runtime.spark.runtime import SparkRuntime
from ebbflow.tools.query import Line
from tests.pipeline.given import reach


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Context:
    """The properties of a thread, as Spark has them."""

    def __init__(self, **properties):
        self.properties = dict(properties)

    def getLocalProperty(self, name):
        return self.properties.get(name)

    def setLocalProperty(self, name, value):
        self.properties[name] = value


class Session:
    def __init__(self, context):
        self._jsparkSession = type("Java", (), {"sparkContext": lambda _: context})()


def test_properties_of_the_thread_are_set_for_one_action_and_put_back_whatever_it_raises():
    context = Context(**{jobs.DESCRIPTION: "mine", jobs.TAGS: "mine"})
    with pytest.raises(KeyboardInterrupt), jobs.described(Session(context), "revenue, step 3"):
        assert context.properties == {jobs.DESCRIPTION: "ebbflow: revenue, step 3", jobs.TAGS: "mine,ebbflow"}
        raise KeyboardInterrupt
    assert context.properties == {jobs.DESCRIPTION: "mine", jobs.TAGS: "mine"}
    bare = Context()
    with jobs.described(Session(bare), "revenue"):
        assert bare.properties[jobs.TAGS] == "ebbflow"
    assert bare.properties == {jobs.DESCRIPTION: None, jobs.TAGS: None}


def test_nothing_is_set_on_connect_or_where_threads_are_shared(monkeypatch):
    with jobs.described(object(), "a step"):
        pass
    monkeypatch.setenv("PYSPARK_PIN_THREAD", "false")
    context = Context()
    with jobs.described(Session(context), "a step"):
        assert context.properties == {}


def test_a_terminal_is_told_what_takes_long_and_the_line_goes_again(monkeypatch):
    monkeypatch.setattr(jobs, "SOON", 0.02)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with jobs.described(object(), "revenue, step 3"):
        time.sleep(0.3)
    assert "ebbflow: revenue, step 3: 0 s" in terminal.getvalue() and terminal.getvalue().endswith("\r\x1b[2K")
    quick = Terminal()
    monkeypatch.setattr(sys, "stderr", quick)
    monkeypatch.setattr(jobs, "SOON", 5.0)
    with jobs.described(object(), "revenue"):
        pass
    assert quick.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(jobs, "SOON", 0.0)
    with jobs.described(object(), "revenue"):
        time.sleep(0.01)
    assert sys.stderr.getvalue() == ""


def test_a_superstep_says_which_round_of_which_loop_it_is_for(tmp_path):
    said = []

    class Told(Here):
        def superstep(self, order, tasks, functions):
            said.append(self.doing)
            return super().superstep(order, tasks, functions)

    def make(graph, workers=1, pool=None):
        return SparkRuntime(graph, Told(2), str(tmp_path), 4, pool, reserve=1 << 28, wide_rows=0, narrow_words=0)

    with Session_(reach(), runtime=make) as live:
        live.insert("edges", [(i, i + 1) for i in range(6)])
        live.insert("roots", [(0,)])
        live.commit()
        assert len(live.snapshot("reach")) == 7
    assert said[0] == "reach, step 1"
    rounds = [text.removeprefix("reach, step 1, round ").removesuffix(" of reach") for text in said if "round" in text]
    numbers = [int(text) for text in rounds]
    assert numbers == sorted(numbers) and set(range(1, 6)) <= set(numbers), said


def test_many_outputs_are_told_by_the_first():
    assert jobs.titled(["a"]) == "a" and jobs.titled(list("abcd")) == "a, b, c ..."


def test_a_line_of_the_command_line_is_overwritten_on_a_terminal_only(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    line = Line()
    line.show("step 1")
    line.clear()
    assert sys.stderr.getvalue() == "\r\x1b[2Kstep 1\r\x1b[2K"
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    line = Line()
    line.show("step 1")
    line.say("kept")
    assert sys.stderr.getvalue() == "kept\n"
