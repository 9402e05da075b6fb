import os
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbflow.columns.schema import NULL
from ebbflow.columns.text_intern import is_utf8
from ebbflow.columns.text_kernels import text_compare, text_length
from ebbflow.columns.text_pool import Pool, tuples
from ebbflow.columns.text_table import hash_words
from ebbflow.native.kernel import address_of, twin

TEXTS = st.lists(st.none() | st.text(max_size=20) | st.text("ab\0é😀", max_size=20), max_size=40)


@given(TEXTS, st.sampled_from([2, 8, 64]), st.sampled_from([pa.string(), pa.large_string()]))
def test_text_comes_back_and_equal_ids_mean_equal_text(texts, bits, kind):
    pool = Pool(bits=bits)
    ids = pool.encode(pa.array(texts, kind))
    assert pool.decode(ids).to_pylist() == texts
    assert pool.encode_texts(texts).tolist() == ids.tolist()
    assert len(pool) == len(set(texts) - {None}) == len(set(ids.tolist()) - {NULL})
    assert [text is None for text in texts] == [id_ == NULL for id_ in ids]


BYTES = (
    st.binary(max_size=9)
    | st.text(max_size=9).map(str.encode)
    | st.lists(
        st.sampled_from([*"aé€😀".encode(), *b"\x80\xbf\xc1\xc2\xe0\x9f\xa0\xed\xf0\x8f\x90\xf4\xf5\xff"]), max_size=9
    ).map(bytes)
)


def is_text(raw):
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.lists(BYTES, min_size=1, max_size=9))
def test_bytes_that_are_no_text_are_known_as_such_wherever_they_come_from(given_):
    pool, other = Pool(), Pool()
    ids = pool.encode_texts(given_)
    entries = pool.entries()
    places = dict(places_in(entries))
    for raw, id_ in zip(given_, ids, strict=True):
        assert bool(is_utf8(places[id_], len(raw))) == is_text(raw)
    assert pool.is_all_utf8 == all(map(is_text, given_))
    assert other.add_entries(entries) and other.is_all_utf8 == pool.is_all_utf8


def places_in(entries):
    """The id of each text, and where it lies."""
    at = 0
    while at < len(entries):
        yield entries[at], address_of(entries) + at + 2
        at += 2 + (int(entries[at + 1]) + 7) // 8


def order(a, b):
    key = lambda text: (text is not None, (text or "").encode())
    return (key(a) > key(b)) - (key(a) < key(b))


@given(TEXTS, st.sampled_from([2, 64]))
def test_order_is_that_of_the_bytes_and_length_counts_characters(texts, bits):
    pool = Pool(bits=bits)
    ids = pool.encode_texts(texts)
    for text, id_ in zip(texts, ids, strict=True):
        for other, other_id in zip(texts, ids, strict=True):
            assert text_compare(pool.address, id_, other_id) == order(text, other)
        assert text is None or text_length(pool.address, id_) == len(text)


def test_thousands_of_texts_share_a_hash_of_eight_bits():
    pool = Pool(bits=8)
    texts = [f"text {i}" for i in range(5000)]
    ids = pool.encode_texts(texts)
    assert len(set(ids.tolist())) == 5000
    assert pool.decode(ids).to_pylist() == texts
    assert pool.encode_texts(reversed(texts)).tolist() == ids.tolist()[::-1]


def test_ids_are_the_same_in_every_pool_and_depend_on_the_key():
    texts = [f"{i}" * (i % 30) for i in range(1000)]
    ids = Pool().encode_texts(texts).tolist()
    assert Pool().encode_texts(texts[::-1]).tolist() == ids[::-1]
    assert not set(Pool(key=(1, 2)).encode_texts(texts).tolist()) & set(ids)


def test_a_text_longer_than_a_chunk_and_bytes_that_are_no_text():
    pool = Pool()
    long, raw = "x" * (1 << 24) + "y", bytes(range(256))
    ids = pool.encode_texts([long, "short", raw])
    assert pool.decode(ids[:2]).to_pylist() == [long, "short"]
    assert pool.decode(ids[2:], binary=True).to_pylist() == [raw]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", "b", None, "a", "", "c"])[1:5],
        pa.array(["a", "b", None, "a", ""]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array(["a", None, "b"])),
        pa.array(["a", "b" * 20, None, ""], pa.string_view()),
        pa.chunked_array([["a", None], [], ["b"]], pa.string()),
        pa.chunked_array([], pa.string()),
        pa.array([], pa.string()),
        pa.array([None, None], pa.string()),
        pa.array(["", ""]),
        pa.array([b"ab", b"cd"], pa.binary(2)),
    ],
    ids=lambda array: str(array.type),
)
def test_every_arrow_layout_of_text_is_read(array):
    pool = Pool()
    ids = pool.encode(array)
    wanted = [text.encode() if isinstance(text, str) else text for text in array.to_pylist()]
    assert pool.decode(ids, binary=True).to_pylist() == wanted
    assert pool.decode(ids, binary=True).type == pa.binary()


def test_readers_see_their_ids_while_another_thread_appends():
    pool = Pool()
    texts = [f"{i:05}" for i in range(300)]
    ids = pool.encode_texts(texts)
    wrong, done = [], threading.Event()

    def read():
        while not done.is_set():
            if pool.decode(ids).to_pylist() != texts or text_compare(pool.address, ids[7], ids[8]) != -1:
                wrong.append(1)

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(60):
        pool.encode_texts([f"more {i} {j}" for j in range(1000)])
    done.set()
    reader.join()
    assert not wrong and len(pool) == 300 + 60_000


def test_the_hash_spreads_and_its_twin_agrees():
    words = np.arange(4096)
    p = address_of(words)
    key = np.int64(1), np.int64(-2)
    with np.errstate(over="ignore"):
        for n in range(4):
            args = np.int64(p + 5), n, np.int64(9), *key
            assert hash_words(*args) == twin(hash_words)(*args)
    hashes = np.array([hash_words(p + i, 1, 8, 1, 2) for i in range(4096)])
    for bit in range(64):
        assert 1700 < ((hashes >> bit) & 1).sum() < 2400


def test_the_pool_works_interpreted():
    program = """
from ebbflow.columns.text_kernels import (text_compare)
from ebbflow.columns.text_pool import (Pool)
from ebbflow.native.kernel import address_of
pool = Pool()
texts = ["ebb", None, "flow", "", "a text of more than eight bytes"] + [str(i) for i in range(300)]
ids = pool.encode_texts(texts)
assert pool.decode(ids).to_pylist() == texts
assert text_compare(pool.address, ids[0], ids[2]) == -1
print(ids.tolist())
"""
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.stderr == ""
    texts = ["ebb", None, "flow", "", "a text of more than eight bytes"] + [str(i) for i in range(300)]
    assert done.stdout.strip() == str(Pool().encode_texts(texts).tolist())


@given(st.lists(TEXTS, max_size=6), st.sampled_from([2, 8, 64]))
def test_what_was_added_since_is_taken_in_by_another_pool(batches, bits):
    pool, other, at = Pool(bits=bits), Pool(bits=bits), 0
    for texts in batches:
        ids = pool.encode_texts(texts)
        assert other.add_entries(pool.entries(at))
        at = pool.length
        assert other.decode(ids).to_pylist() == texts and len(other) == len(pool)
        assert other.entries().tolist() == pool.entries().tolist()
    assert other.add_entries(pool.entries()) and len(other) == len(pool)


def test_entries_survive_growth_and_long_texts():
    pool, other = Pool(), Pool()
    texts = [f"{i}" * (i % 50) for i in range(3000)] + ["x" * 100_000]
    ids = pool.encode_texts(texts)
    assert other.add_entries(pool.entries())
    assert other.decode(ids).to_pylist() == texts
    assert len(pool.entries(pool.length)) == 0


def test_an_id_that_is_another_text_here_is_told():
    pool, other = Pool(bits=2), Pool(bits=2)
    pool.encode_texts(["a", "b", "c", "d", "e"])
    other.encode_texts(["e", "d", "c", "b", "a"])
    assert not other.add_entries(pool.entries())


@given(
    st.text("ANRFO", min_size=0, max_size=300),
    st.integers(0, 20),
    st.lists(st.tuples(st.integers(0, 299), st.sampled_from(["", "AN", "x", "F", None])), max_size=3),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_letters_have_the_ids_of_their_texts(letters, start, others, kind):
    """Wherever a column of letters begins, and whatever stands between them: a letter never met, none, two, a null."""
    texts: list[str | None] = list(letters)
    for row, other in others:
        texts[row : row + 1] = [other]
    pool, column = Pool(), pa.array(texts, kind).slice(start)
    for _ in range(2):  # unmet, and met
        ids = pool.encode(column)
        assert pool.decode(ids).to_pylist() == texts[start:]
        assert len(set(ids.tolist())) == len(set(texts[start:]))


# ---- rows for Python


WORDS = st.integers(NULL, 2**63 - 1) | st.integers(-3, 3)


@given(
    st.integers(1, 3).flatmap(
        lambda lanes: st.lists(st.tuples(*[WORDS] * lanes, st.sampled_from([7, 7, 7, 8]), st.just(1)), min_size=1)
    ),
    st.integers(0, 7),
    st.sets(st.integers(-3, 3)),
)
def test_changes_of_one_time_become_sorted_tuples(rows, texts, known):
    words = np.ascontiguousarray(np.array(rows, np.int64).T)
    texts &= (1 << (len(words) - 2)) - 1
    names = {word: f"text {word}" for word in known}
    named = [tuple(names.get(x) if texts >> i & 1 else x for i, x in enumerate(row)) for row in rows]
    is_plain = len({row[-2] for row in rows}) == 1 and not any(x is None or x == NULL for row in named for x in row)
    assert tuples(words, names, texts) == (sorted(named) if is_plain else None)


def test_rows_know_their_texts_from_the_first_time_on():
    pool = Pool()
    ids = pool.encode_texts(["flow", "ebb"])
    words = np.array([ids, [1, 2], [0, 0], [1, 1]])
    for _ in range(2):
        assert pool.rows(words, 1) == [("ebb", 2, 0, 1), ("flow", 1, 0, 1)]
    words[0, 0] = NULL
    assert pool.rows(words, 1) is None
