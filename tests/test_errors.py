"""Claims about refusals: three parts, the user's own line, and the same text wherever they are read."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

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
