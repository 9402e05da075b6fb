"""Every public name of PySpark's functions and classes is ours, or is answered with a sentence, never with a guess."""

import inspect

import pytest

import ebbflow as ebb
import ebbflow.functions as ours
from ebbflow.errors import NotAnExpression, UnknownMethod
from ebbflow.frontend import aliases, pyspark_names

pyspark = pytest.importorskip("pyspark", reason="PySpark, which is not installed, has the names")
import pyspark.sql.functions as theirs  # noqa: E402
from pyspark.sql import Column, DataFrame, GroupedData, Window, WindowSpec  # noqa: E402


def public(thing):
    return [name for name in dir(thing) if not name.startswith("_")]


def of_functions():
    """What `import pyspark.sql.functions as F` offers: its list, and functions that are not on it."""
    defined = [name for name in public(theirs) if inspect.isfunction(getattr(theirs, name))]
    own = [name for name in defined if getattr(theirs, name).__module__.startswith("pyspark.sql.functions")]
    return sorted({*theirs.__all__, *own})


FUNCTIONS = of_functions()


def edges():
    return ebb.Dataflow().input("edges", "src long, dst long")


def is_answered(thing, name):
    """Whether it has the name, or refuses it with a sentence that guesses nothing and says what to do."""
    try:
        return callable(getattr(thing, name)) or name in public(type(thing))
    except UnknownMethod as refusal:
        assert f'has no "{name}"' in refusal.what
        assert "Did you mean" not in refusal.hint, f"{name} is PySpark's: {refusal.hint}"
        assert not refusal.hint.startswith(("There are:", "dir(")), f"nothing is said about {name}"
        return True


def test_the_lists_are_those_of_pyspark():
    assert pyspark.__version__.startswith("4.2")
    assert len(FUNCTIONS) > 540
    assert {"lag", "nvl", "date_trunc", "udf", "pandas_udf", "shiftLeft"} <= set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_pyspark_is_ours_or_answered(name):
    assert is_answered(ours, name)
    assert is_answered(ebb, name)


@pytest.mark.parametrize("name", public(DataFrame))
def test_a_method_of_a_dataframe_is_ours_or_answered(name):
    assert is_answered(edges(), name)


@pytest.mark.parametrize("name", public(Column))
def test_a_method_of_a_column_is_ours_or_answered(name):
    assert is_answered(ebb.col("x"), name)


@pytest.mark.parametrize("name", public(GroupedData))
def test_a_method_of_grouped_data_is_ours_or_answered(name):
    assert is_answered(edges().group_by("src"), name)


@pytest.mark.parametrize("kind", [WindowSpec, DataFrame])
def test_a_class_of_pyspark_is_answered(kind):
    with pytest.raises(UnknownMethod) as refusal:
        getattr(ebb, kind.__name__)
    assert "Did you mean" not in refusal.value.hint


@pytest.mark.parametrize("name", [*public(Window), *public(WindowSpec)])
def test_a_word_of_windows_is_ours(name):
    for window in (ebb.Window, ebb.Window.partition_by("src")):
        assert hasattr(window, name) or (name in public(Window) and name not in public(WindowSpec))
    assert name not in aliases.WINDOW_ALIASES or getattr(ebb.Window, name) == getattr(
        ebb.Window, aliases.WINDOW_ALIASES[name]
    )


@pytest.mark.parametrize(
    "table, known, have",
    [
        (pyspark_names.FUNCTION_NAMES, FUNCTIONS, ours.__all__),
        (pyspark_names.COLLECTION, public(DataFrame), public(ebb.Collection)),
        (pyspark_names.COLUMN, public(Column), public(ebb.Column)),
        (pyspark_names.GROUPED, public(GroupedData), ["agg", "count", "sum", "avg", "mean", "min", "max"]),
    ],
    ids=["functions", "collection", "column", "grouped"],
)
def test_a_table_has_names_that_pyspark_has_and_we_do_not(table, known, have):
    assert not set(table) - set(known)
    assert not set(table) & set(have)


def test_a_name_stands_in_one_family_only():
    for families in (pyspark_names._FUNCTIONS, pyspark_names._COLLECTION, pyspark_names._COLUMN):
        names = [name for _, group in families for name in group.split()]
        assert len(names) == len(set(names)), sorted(name for name in set(names) if names.count(name) > 1)


@pytest.mark.parametrize("name", sorted(set(ours.__all__) - set(ebb.__all__)))
def test_a_function_that_is_not_in_ebb_is_found_in_functions(name):
    with pytest.raises(UnknownMethod) as refusal:
        getattr(ebb, name)
    assert f"F.{name}" in refusal.value.hint


def test_a_sentence_begins_so_that_it_can_follow_ours():
    for sentence in {*pyspark_names.FUNCTION_NAMES.values(), *pyspark_names.COLLECTION.values()}:
        assert aliases.ours(sentence).startswith("Here: ")
        assert not sentence.endswith(".")


# ---- PySpark's objects, given by mistake ----------------------------------------------------


class FakeColumn:
    """Like a column of PySpark: it answers to every name."""

    __module__ = "pyspark.sql.column"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return FakeColumn()

    def __repr__(self):
        return "Column<'x'>"


FakeColumn.__name__ = "Column"


@pytest.mark.parametrize(
    "use",
    [
        lambda e, c: e.filter(c),
        lambda e, c: e.select(c),
        lambda e, c: e.select(x=c),
        lambda e, c: e.with_columns(x=c),
        lambda e, c: e.with_columns(x=e.src + c),
        lambda e, c: e.group_by(c),
        lambda e, c: e.group_by("src").agg(c),
        lambda e, c: e.group_by("src").agg(n=c),
        lambda e, c: e.order_by(c),
        lambda e, c: e.join(e.rename({"dst": "to"}), on=c),
        lambda e, c: e.filter(e.src.is_in([c])),
        lambda e, c: e.filter(e.src == c),
        lambda e, c: ebb.lit(c),
        lambda e, c: ebb.sum(c),
        lambda e, c: ebb.when(c, 1),
        lambda e, c: e.filter(lambda r: c),
        lambda e, c: e.join(c, on="src"),
        lambda e, c: e.union(c),
        lambda e, c: e.drop(c),
    ],
)
def test_a_column_of_pyspark_is_named_as_such(use):
    with pytest.raises(NotAnExpression) as refusal:
        use(edges(), FakeColumn())
    assert "PySpark's Column" in refusal.value.what
    assert "ebbflow" in refusal.value.hint
