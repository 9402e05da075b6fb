"""Claims about a user's program seen from outside."""

import sys

import pytest

import ebbflow
from ebbflow.tools import program

PLAN = """
import ebbflow as ebb
flow = ebb.Dataflow()
edges = flow.input("edges", "src long, dst long")
flow.output("degrees", edges.group_by("src").count())
"""


@pytest.fixture
def written(tmp_path):
    def write(text, name="program.py"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_a_program_sees_its_own_arguments_and_neighbours(written):
    written("answer = 42", "neighbour.py")
    path = written("import sys, neighbour\nseen = sys.argv[1:], neighbour.answer, __name__")
    before = sys.argv, sys.path[:]
    assert program.run(path, ["a", "--b"])["seen"] == (["a", "--b"], 42, "__main__")
    assert (sys.argv, sys.path) == before


@pytest.mark.parametrize(
    "ending", ["", "flow.run()", "flow.compute(edges=[])", "try: flow.run()\nexcept Exception: pass"]
)
def test_asking_for_plans_runs_nothing(written, ending, capsys):
    plans = program.plans(written(f"{PLAN}\n{ending}\n" + ("print('it ran')" if ending else "")))
    assert len(plans) == 1 and "degrees" in plans[0][1]
    assert "it ran" not in capsys.readouterr().out


def test_every_dataflow_is_called_by_its_name(written):
    text = PLAN + PLAN.replace("flow =", "other =").replace("flow.", "other.")
    assert [name for name, _ in program.plans(written(text))] == ["flow", "other"]


def test_dataflows_are_as_they_were_afterwards(written):
    before = ebbflow.Dataflow.run, ebbflow.Dataflow.compute, ebbflow.Dataflow.__init__
    program.plans(written(PLAN + "\nflow.run()"))
    with pytest.raises(ZeroDivisionError):
        program.plans(written("1 / 0"))
    assert (ebbflow.Dataflow.run, ebbflow.Dataflow.compute, ebbflow.Dataflow.__init__) == before
