import os
import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.columns.arrow import Reader
from ebbflow.columns.like_patterns import read_pattern
from ebbflow.columns.patterns import TextMatcher
from ebbflow.columns.schema import BOOLEAN, LONG, NULL, STRING, Field
from ebbflow.columns.text_pool import Pool
from ebbflow.errors import TypeMismatch
from ebbflow.expressions.operations import OPERATIONS, typed
from ebbflow.expressions.typed import Call, Column, Literal

LETTERS = "abé😀\n %_\\"
TEXT = st.text(LETTERS, max_size=12) | st.text("ab", max_size=30)
PATTERN = st.lists(st.sampled_from(["a", "b", "é", "😀", "%", "_", "\\%", "\\_", "\\\\", "ab", " "]), max_size=7).map(
    "".join
)
ASKED = st.tuples(st.just("like"), PATTERN) | st.tuples(
    st.sampled_from(["contains", "starts_with", "ends_with"]), st.text(LETTERS, max_size=4)
)


def call(op, text):
    return Call(op, (Column("t", STRING), Literal(text, STRING)), BOOLEAN)


def meant(asked, text):
    """The answers by definition."""
    if text is None:
        return NULL
    return sum(OPERATIONS[op].fn(text, constant) << k for k, (op, constant) in enumerate(asked))


@settings(max_examples=400)
@given(st.lists(ASKED, min_size=1, max_size=3), st.lists(st.none() | TEXT, max_size=12), st.data())
def test_a_text_is_like_what_its_meaning_says(asked, texts, data):
    look = TextMatcher([call(*each) for each in asked])
    array = pa.array(texts, data.draw(st.sampled_from([pa.string(), pa.large_string()])))
    start = data.draw(st.integers(0, len(texts)))
    wanted = [meant(asked, text) for text in texts]
    assert look.at_column(array).tolist() == wanted
    assert look.at_column(array[start:]).tolist() == wanted[start:]
    assert [look.at(text) for text in texts if text is not None] == [word for word in wanted if word != NULL]
    pool = Pool()
    assert look.at_ids(pool.encode(array), pool).tolist() == wanted


@given(ASKED, st.lists(st.lists(st.none() | TEXT, max_size=5), max_size=3), st.booleans())
def test_columns_in_chunks_are_read_as_answers_and_their_text_is_not_kept(asked, chunks, wide):
    column = pa.chunked_array(chunks, pa.large_string() if wide else pa.string())
    table = pa.table({"t": column, "n": pa.array(range(len(column)), pa.int64())})
    fields, pool = [Field("n", LONG), Field("t", STRING)], Pool()
    lanes = Reader.of(table.schema, fields, (), {1: TextMatcher([call(*asked)])}).read(table, pool)
    assert lanes.tolist() == [list(range(len(column))), [meant([asked], text) for text in column.to_pylist()]]
    assert len(pool) == 0


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65])
@pytest.mark.parametrize("lead", range(9))
def test_a_piece_is_found_wherever_it_stands_in_a_word(length, lead):
    look = TextMatcher(
        [call("like", "%needle%"), call("like", "%needle"), call("like", "needle%"), call("like", "%n%d%e")]
    )
    texts = ["x" * lead, "n" * length + "needle" + "e" * length, "needl" * length, "\1" * length + "needle"]
    asked = [("like", p) for p in ("%needle%", "%needle", "needle%", "%n%d%e")]
    assert look.at_column(pa.array(texts)).tolist() == [meant(asked, text) for text in texts]


def test_a_pattern_of_many_pieces_takes_no_longer_than_its_text():
    text = "a" * 20_000
    look = TextMatcher([call("like", "%" + "a%" * 200 + "b")])
    assert look.at_column(pa.array([text, text + "b"])).tolist() == [0, 1]


@pytest.mark.parametrize("pattern", ["\\a", "a\\", "\\\\\\"])
def test_a_backslash_before_something_plain_is_refused(pattern):
    assert read_pattern(pattern) is None
    with pytest.raises(TypeMismatch, match="backslash"):
        typed("like", [Column("t", STRING), Literal(pattern, STRING)])


@pytest.mark.parametrize("pattern", [Column("t", STRING), Literal(None, STRING), Literal(1, LONG)])
def test_a_pattern_is_plain_text(pattern):
    with pytest.raises(TypeMismatch, match="like takes its pattern as plain text"):
        typed("like", [Column("t", STRING), pattern])


def test_patterns_work_interpreted():
    program = """
import pyarrow as pa
from ebbflow.expressions.typed import (Call, Column, Literal)
from ebbflow.columns.patterns import TextMatcher
from ebbflow.columns.schema import BOOLEAN, STRING
calls = [Call("like", (Column("t", STRING), Literal(p, STRING)), BOOLEAN) for p in ("%special%requests%", "_b%", "%é")]
print(TextMatcher(calls).at_column(pa.array(["ebb", "the special x requests", "é", "special", ""])).tolist())
"""
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.stderr == "" and done.stdout.strip() == "[2, 1, 4, 0, 0]"
