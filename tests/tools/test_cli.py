"""Claims about the command line, each as a person would meet it."""

import json
import re

import click
import pytest
from click.testing import CliRunner

import ebbflow as ebb
from ebbflow.tools import cli


def ask(*words):
    return CliRunner().invoke(cli.main, [str(word) for word in words])


@pytest.fixture
def program(tmp_path):
    def write(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return path

    return write


PLAN = """
import ebbflow as ebb
flow = ebb.Dataflow()
edges = flow.input("edges", "src long, dst long")
flow.output("degrees", edges.group_by("src").count())
"""


def test_every_command_has_a_line_of_help():
    shown = ask("--help").output
    for command in cli.main.commands:
        assert f"  {command} " in shown


@pytest.mark.parametrize("name", sorted(cli.main.commands))
def test_the_help_of_every_command_has_an_example(name):
    told = cli.main.commands[name].get_help(click.Context(cli.main.commands[name], info_name=f"ebbflow {name}"))
    assert re.search(rf"Examples?:\n +(\w+=\S+ )?ebbflow {name}", told), told


def test_scripts_read_json(program, tmp_path):
    found = json.loads(ask("doctor", "--json").output)
    assert {"topic": "Python", "found": found[1]["found"], "hint": None} == found[1]
    plan = json.loads(ask("explain", "--json", program(PLAN)).output)
    assert "edges" in str(plan["flow"]["nodes"])
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("xs", "x long"))
    with flow.run(checkpoint=tmp_path / "state") as live:
        live.insert("xs", [(1,)])
        live.commit()
    told = json.loads(ask("check", "--json", tmp_path / "state").output)
    assert told["steps"][0]["inputs"] == {"xs": [[1]]} and {one["damage"] for one in told["steps"]} == {None}


def test_a_command_that_is_not_understood_ends_with_two():
    assert ask("expolre").exit_code == ask("check").exit_code == ask("completion", "cmd").exit_code == 2


@pytest.mark.parametrize("command", ["explain", "explore"])
def test_a_program_without_a_dataflow_is_a_sentence(command, tmp_path):
    (tmp_path / "nothing.py").write_text("x = 1")
    found = ask(command, str(tmp_path / "nothing.py"))
    assert found.exit_code == 1 and "Error: " in found.output and "click" not in found.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_the_commands(shell):
    assert "_EBBFLOW_COMPLETE" in ask("completion", shell).output
    asked = {"_EBBFLOW_COMPLETE": f"{shell}_complete", "COMP_WORDS": "ebbflow exp"}
    asked["COMP_CWORD"] = "exp" if shell == "fish" else "1"  # fish gives the word, the others its number
    found = CliRunner().invoke(cli.main, [], prog_name="ebbflow", env=asked)
    assert "explain" in found.output and "explore" in found.output and "doctor" not in found.output


def test_doctor_tells_python_java_versions_and_kernels():
    result = ask("doctor")
    assert result.exit_code == 0
    for topic in ("Python", "ebbflow", "numba", "Java", "kernels"):
        assert any(line.startswith(topic) for line in result.output.splitlines()), topic


def test_doctor_is_silent_about_what_is_there(monkeypatch):
    monkeypatch.setattr(cli.machine, "surroundings", lambda: [cli.machine.Finding("Java", "17")])
    assert ask("doctor", "--missing").output == ""
    monkeypatch.setattr(cli.machine, "surroundings", lambda: [cli.machine.Finding("Java", "missing", "Get Java.")])
    assert ask("doctor", "--missing").output == "Get Java.\n"


def test_run_runs_the_program_as_python_would(program):
    path = program("import sys\nprint(__name__, sys.argv[1:])")
    result = ask("run", path, "a", "--b")
    assert result.exit_code == 0
    assert result.output == "__main__ ['a', '--b']\n"


def test_a_refusal_is_three_parts_and_no_traceback(program):
    result = ask("run", program(PLAN + '\nedges.select("scr")\n'))
    assert result.exit_code == 1
    assert result.output.startswith("UnknownColumn: ")
    assert 'program.py, line 7:  edges.select("scr")' in result.output
    assert "src" in result.output.splitlines()[-1]
    assert "Traceback" not in result.output


def test_explain_shows_the_plan(program):
    result = ask("explain", program(PLAN))
    assert result.exit_code == 0, result.output
    assert result.output.startswith("flow\n")
    assert "degrees" in result.output and "edges" in result.output


def test_explain_says_when_there_is_nothing_to_explain(program):
    result = ask("explain", program("x = 1"))
    assert result.exit_code == 1
    assert "no Dataflow" in result.output


def test_a_program_that_is_not_there_is_told():
    assert "does not exist" in ask("run", "no-such-program.py").output


def test_a_bug_in_the_program_shows_the_program_s_own_lines(program):
    result = ask("run", program("def f():\n    return 1 / 0\nf()\n"))
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.output and "return 1 / 0" in result.output
    assert "runpy" not in result.output and "click" not in result.output


def test_a_refusal_of_a_command_names_no_line_of_ours(tmp_path):
    result = ask("check", str(tmp_path / "nothing"))
    assert result.exit_code == 1
    assert "NotACheckpoint" in result.output and "line" not in result.output
