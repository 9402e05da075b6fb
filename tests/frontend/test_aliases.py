"""The table of other tools' words, line by line."""

import pytest

import ebbflow as ebb
from ebbflow import col
from ebbflow.errors import UnknownMethod
from ebbflow.frontend import aliases
from ebbflow.frontend.building.collection import Collection
from ebbflow.frontend.building.column import Column
from ebbflow.frontend.building.grouping import Grouped
from ebbflow.frontend.building.joining import HOW
from ebbflow.frontend.building.text_methods import Text

PROMISED = [
    "where",
    "groupBy",
    "withColumn",
    "withColumns",
    "withColumnRenamed",
    "unionByName",
    "unionAll",
    "crossJoin",
    "orderBy",
    "printSchema",
]


def edges():
    return ebb.Dataflow().input("edges", "src long, dst long")


ARGUMENTS = {
    "where": (lambda e: (e.src > 1,), lambda e: e.filter(e.src > 1)),
    "groupBy": (lambda e: ("src",), lambda e: e.group_by("src")),
    "groupby": (lambda e: ("src",), lambda e: e.group_by("src")),
    "withColumn": (lambda e: ("x", e.src + 1), lambda e: e.with_columns(x=e.src + 1)),
    "withColumns": (lambda e: ({"x": e.src, "y": e.dst},), lambda e: e.with_columns(x=e.src, y=e.dst)),
    "withColumnRenamed": (lambda e: ("src", "from"), lambda e: e.rename({"src": "from"})),
    "withColumnsRenamed": (lambda e: ({"src": "from"},), lambda e: e.rename({"src": "from"})),
    "unionByName": (lambda e: (e,), lambda e: e.union(e)),
    "unionAll": (lambda e: (e,), lambda e: e.union(e)),
    "crossJoin": (lambda e: (e, "2"), lambda e: e.join(e, how="cross", suffix="2")),
    "groupingSets": (
        lambda e: ([["src"], []], "src"),
        lambda e: e.grouping_sets([["src"], []], "src"),
    ),
    "orderBy": (lambda e: ("src",), lambda e: e.order_by("src")),
    "printSchema": (lambda e: (), lambda e: e.print_schema()),
}


def made(found):
    """What can be compared of a result: the node, or what a half-finished sentence holds."""
    return found._node if isinstance(found, Collection) else repr(found)


@pytest.mark.parametrize("word", aliases.COLLECTION_ALIASES)
def test_a_second_spelling_of_a_collection_does_what_ours_does(word):
    e = edges()
    given, ours = ARGUMENTS[word]
    assert made(getattr(e, word)(*given(e))) == made(ours(e))


def test_the_spellings_that_are_promised_are_there():
    assert set(PROMISED) <= set(aliases.COLLECTION_ALIASES)
    assert "toPandas" in aliases.TABLE_ALIASES


@pytest.mark.parametrize("word", aliases.COLUMN_ALIASES)
def test_a_second_spelling_of_a_column_gives_a_column(word):
    arguments = {
        "isin": ([1, 2],),
        "astype": ("double",),
        "name": ("n",),
        "eqNullSafe": (1,),
        "bitwiseAND": (1,),
        "bitwiseOR": (1,),
        "bitwiseXOR": (1,),
        "getItem": (0,),
        "getField": ("a",),
        "withField": ("a", 1),
        "substr": (1, 2),
        "startswith": ("a",),
        "endswith": ("a",),
        "contains": ("a",),
        "like": ("%a_",),
        "ilike": ("%A_",),
    }
    assert isinstance(getattr(col("x"), word)(*arguments.get(word, ())), Column)


@pytest.mark.parametrize(
    "table, kind",
    [(aliases.COLLECTION_ALIASES, Collection), (aliases.COLUMN_ALIASES, Column), (aliases.GROUPED_ALIASES, Grouped)],
)
def test_every_line_of_the_tables_is_a_method(table, kind):
    for word, ours in table.items():
        assert callable(getattr(kind, word))
        owner, _, method = ours.rpartition(".")
        assert callable(getattr(Text if owner == "str" else kind, method))


@pytest.mark.parametrize("kind", [Collection, Column, Grouped, ebb.Table])
def test_a_method_in_capitals_is_a_spelling_of_the_tables(kind):
    tables = {
        Collection: aliases.COLLECTION_ALIASES,
        Column: aliases.COLUMN_ALIASES,
        Grouped: aliases.GROUPED_ALIASES,
        ebb.Table: aliases.TABLE_ALIASES,
    }
    capitals = {name for name in vars(kind) if not name.startswith("_") and name != name.lower()}
    assert capitals <= set(tables[kind])


@pytest.mark.parametrize("word", aliases.FOREIGN)
def test_a_foreign_word_is_answered_with_ours(word):
    with pytest.raises(UnknownMethod) as refusal:
        getattr(edges(), word)
    assert str(refusal.value).startswith(f'edges has no "{word}".')
    assert aliases.FOREIGN[word] in refusal.value.hint
    assert isinstance(refusal.value, AttributeError)


@pytest.mark.parametrize(
    "word", ["merge", "assign", "mutate", "query", "map_partitions", "collect", "lazy", "cache", "repartition"]
)
def test_the_words_that_are_promised_are_answered(word):
    assert word in aliases.FOREIGN


@pytest.mark.parametrize("word", aliases.FOREIGN_COLUMN)
def test_a_foreign_word_of_a_column_is_answered_with_ours(word):
    with pytest.raises(UnknownMethod) as refusal:
        getattr(col("x"), word)
    assert aliases.FOREIGN_COLUMN[word] in refusal.value.hint


def test_no_foreign_word_is_one_of_ours():
    assert not [word for word in aliases.FOREIGN if hasattr(Collection, word)]
    assert not [word for word in aliases.FOREIGN_COLUMN if hasattr(Column, word)]


def test_every_how_leads_to_one_of_ours():
    assert set(HOW.values()) == {"inner", "left", "right", "full", "semi", "anti", "cross"}


def table():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long"))
    return flow.compute(xs=[(1,)])["out"]


@pytest.mark.parametrize("word", sorted(aliases.FOREIGN_TABLE))
def test_a_foreign_word_of_a_table_is_answered_with_ours(word):
    with pytest.raises(UnknownMethod) as refusal:
        getattr(table(), word)
    assert aliases.FOREIGN_TABLE[word] in refusal.value.hint


@pytest.mark.parametrize("word", sorted(aliases.FOREIGN_SESSION))
def test_a_foreign_word_of_a_session_is_answered_with_ours(word):
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long"))
    with flow.run() as live, pytest.raises(UnknownMethod) as refusal:
        getattr(live, word)
    assert aliases.FOREIGN_SESSION[word] in refusal.value.hint


@pytest.mark.parametrize("word", sorted(aliases.TABLE_ALIASES))
def test_a_second_spelling_of_a_table_is_a_method(word):
    assert len(getattr(table(), word)()) == 1


@pytest.mark.parametrize("word", sorted(aliases.FOREIGN_FUNCTION))
def test_a_function_of_another_tool_is_answered_with_ours(word):
    with pytest.raises(AttributeError) as refusal:
        getattr(ebb.functions, word)
    assert aliases.FOREIGN_FUNCTION[word] in str(refusal.value)


def test_a_misspelt_name_is_answered_with_near_ones():
    with pytest.raises(AttributeError, match="Dataflow"):
        ebb.Dataflw
    with pytest.raises(AttributeError, match="count_distinct"):
        ebb.functions.cont_distinct
    with pytest.raises(AttributeError, match="connected_components"):
        ebb.algorithms.connectedComponents
    assert not hasattr(ebb, "__wrapped__")


def test_every_public_name_is_listed():
    assert {"spark", "changes", "append", "upsert", "debezium", "change_feed"} <= set(dir(ebb))
    assert {"table", "change_log", "view", "each", "kafka", "Dataflow", "col"} <= set(dir(ebb))


def test_a_hint_that_is_a_sentence_stands_alone():
    assert aliases.ours("distinct()") == "Here: distinct()."
    assert aliases.ours("Rows are known.").startswith("Rows are known")
