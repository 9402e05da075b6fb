"""Claims about the demo: it shows the change, and maintaining costs less than starting over."""

import re

import pytest

from ebbflow.dataflow.fingerprint import fingerprint
from ebbflow.tools import demo


@pytest.fixture
def printed(capsys):
    demo.show(nodes=60, edges=120)
    return capsys.readouterr().out


def test_the_demo_shows_what_went_with_the_edge(printed):
    assert "│    1 │    4 │     1 │    -1 │" in printed


def test_the_program_it_shows_is_the_program_it_runs():
    names: dict = {}
    exec("import ebbflow as ebb\n" + demo.PROGRAM, names)
    assert fingerprint(names["flow"].graph) == fingerprint(demo.program().graph)


def test_keeping_a_result_right_touches_fewer_rows_than_starting_over(printed):
    touched = dict(re.findall(r"rows touched (to|by) .*? {2,}([\d,.]+\d)", printed))
    kept, anew = (float(touched[word].replace(",", "")) for word in ("to", "by"))
    assert 0 < kept < anew / 2
