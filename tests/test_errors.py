"""Claims about refusals: three parts, the user's own line, and the same text wherever they are read."""

import os
import pickle
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

import ebbflow as ebb
from ebbflow import errors
from ebbflow.errors import EbbflowError, Place, users_place

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, EbbflowError)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_has_three_parts_even_where_no_hint_is_given(kind):
    what, where, hint = str(kind("the sky is not a column.")).splitlines()
    assert what == "the sky is not a column."
    assert where.startswith("  at test_errors.py, line ") and "kind(" in where
    assert hint.strip() == kind.otherwise


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_is_the_same_after_a_journey(kind):
    told = kind("the sky is not a column.", at=Place(__file__, 3), hint="Look down.")
    again = pickle.loads(pickle.dumps(told))
    assert type(again) is kind and str(again) == str(told)
    assert (again.what, again.at, again.hint) == (told.what, told.at, told.hint)


def test_the_place_is_the_users_and_not_that_of_our_threads():
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(users_place).result() is None
        assert threads.submit(lambda: users_place()).result().file == __file__


def test_refusals_are_also_what_python_expects():
    assert issubclass(errors.UnknownColumn, AttributeError)  # hasattr and editors that probe are answered
    assert issubclass(errors.NumberOverflow, OverflowError)
    assert issubclass(errors.NoValueYet, TypeError)


@pytest.mark.parametrize("package", ["click", "pyspark"])
def test_who_calls_us_from_outside_is_not_the_user(package, tmp_path):
    runner = tmp_path / "site-packages" / package / "core.py"
    names = {"users_place": users_place}
    exec(compile("def call():\n    return users_place()\n", str(runner), "exec"), names)
    assert names["call"]().file == __file__


def test_who_calls_the_command_line_is_not_the_user():
    names = {"users_place": users_place}
    command = os.path.join(os.path.dirname(errors.__file__), "tools", "cli.py")
    exec(compile("def call():\n    return users_place()\n", command, "exec"), names)
    assert names["call"]() is None


def test_a_line_of_a_notebook_is_named_by_its_cell(monkeypatch):
    cells = {"/tmp/ipykernel_7/3612222422.py": ("Cell", "In[3]")}
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name=cells.get))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert str(Place("/tmp/ipykernel_7/3612222422.py", 5)) == "at In[3], line 5"
    assert str(Place("/home/ann/program.py", 5)) == "at program.py, line 5"
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert str(Place("/tmp/ipykernel_7/3612222422.py", 5)) == "at 3612222422.py, line 5"


def test_an_output_that_is_not_there_is_a_key_error_in_a_sentence():
    flow = ebb.Dataflow()
    flow.output("totals", flow.input("sales", "amount long"))
    tables = flow.compute(sales=[(1,)])
    with pytest.raises(KeyError, match=r'^there is no table "total"; there are: totals\.') as refusal:
        tables["total"]
    assert refusal.value.hint == 'Did you mean "totals"?'
    assert tables.get("total") is None and "total" not in tables
