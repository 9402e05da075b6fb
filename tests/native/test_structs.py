"""Claims about structures: compiled or not, a field is where its class says, and its code is that of a plain offset."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ebbflow.native.kernel import INTERPRETED, address_of, inline, kernel, twin
from ebbflow.native.memory import CHECKED, H
from ebbflow.native.structs import At, Struct, Words, beside, several


class Pair(Struct):
    first: int
    second: int


class Other(Struct):
    only: int


class Thing(Struct, words=16):
    name: int
    pairs: Pair = several(3)
    more: Words
    other: Other = beside("more")
    next: At[Thing]
    rest: Words = several(0)


class Larger(Thing):
    added: int


@inline
def pair_of(thing: Thing, i: int) -> Pair:
    return thing.pairs[i]


@kernel
def second_of(p):
    return H[p + 1]


@kernel
def work(thing: Thing, n: int) -> int:
    thing.name = n
    thing.next = thing
    pair_of(thing, 1).second += 5
    thing.next.pairs[2].first = second_of(thing.pairs[1])
    thing.more = thing.rest + 1
    p = thing.more
    for i in range(n):
        p[0] = i
        p += 1
    end = Thing(0)
    if not end and thing:
        thing.rest[0] = (p - thing.more) + Thing.SIZE + thing.other.only - thing.more
    return thing.next.name


@kernel
def find_named(things: Thing, n: int, name: int) -> Thing:
    """A structure also where a number is returned, or was put first."""
    found = 0
    for i in range(n):
        if things[i].name == name:
            found = things[i]
    if found and found.name != name:
        return 0
    return found


def test_fields_follow_each_other_and_what_is_inside_takes_its_size():
    offsets = {name: field.offset for name, field in Thing.FIELDS.items()}
    assert offsets == {"name": 0, "pairs": 1, "more": 7, "other": 7, "next": 8, "rest": 9}
    assert (Thing.SIZE, Thing.END, Larger.FIELDS["added"].offset, Larger.SIZE) == (16, 9, 9, 10)


@pytest.mark.interpreted
def test_fields_are_words_at_an_address():
    words = np.zeros(32, np.int64)
    at = address_of(words)
    for run in (work, twin(work)):
        words[:] = 0
        assert run(at, 4) == 4
        rest = at + Thing.END
        assert words[: Thing.END + 6].tolist() == [4, 0, 0, 0, 5, 5, 0, rest + 1, at, 20, 0, 1, 2, 3, 0]


@pytest.mark.interpreted
def test_python_gets_a_structure_where_a_kernel_says_so():
    words = np.zeros(3 * Thing.SIZE, np.int64)
    things = Thing(address_of(words))
    things[2].name = 7
    found = find_named(things, 3, 7)
    assert type(found) is Thing and found == things[2] and found.name == 7
    assert find_named(things, 3, 8) == 0


def test_a_field_that_is_not_there_or_lies_inside_is_not_assigned():
    thing = Thing(address_of(np.zeros(16, np.int64)))
    with pytest.raises(AttributeError):
        thing.pairs = thing  # type: ignore[misc]


# ---- machine code: each kernel once by offsets, once by fields


@kernel
def count_up(at, n):
    H[at] += n
    H[at + 8] = at
    H[at + 1 + 2 * n + 1] = H[H[at + 7] + n]


@kernel
def count_up_by_name(thing: Thing, n: int) -> None:
    thing.name += n
    thing.next = thing
    thing.pairs[n].second = thing.more[n]


@kernel
def total(at, n):
    s = 0
    e = at
    while e < at + n * 2:
        if H[e] > n:
            s += H[e + 1]
        e += 2
    return s


@kernel
def total_by_name(pairs: Pair, n: int) -> int:
    s = 0
    pair = pairs
    while pair < pairs + n * 2:
        if pair.first > n:
            s += pair.second
        pair = pair[1]
    return s


@kernel
def last_of(at):
    while H[at + 8]:
        at = H[at + 8]
    return at


@kernel
def last_of_by_name(thing: Thing) -> Thing:
    while thing.next:
        thing = thing.next
    return thing


@pytest.mark.skipif(INTERPRETED or CHECKED, reason="compares the code of kernels without checks")
@pytest.mark.parametrize(
    "by_offset, by_name", [(count_up, count_up_by_name), (total, total_by_name), (last_of, last_of_by_name)]
)
def test_a_kernel_over_structures_has_the_machine_code_of_one_over_offsets(by_offset, by_name):
    from ebbflow.native.compiler import _PIECES
    from tests.native.compare_code import text_of

    one, two = (text_of(_PIECES[f"{__name__}.{twin(run).__name__}"][2]) for run in (by_offset, by_name))
    assert one == two


CHANGED = """
import sys
from ebbflow.native import kernel as k
from ebbflow.native.structs import Struct
import numpy as np

class Two(Struct):
    {fields}

@k.kernel
def second(two: Two) -> int:
    return two.b

print(second(k.address_of(np.arange(10, 13))))
"""


@pytest.mark.skipif(INTERPRETED, reason="is about code that is cached")
def test_cached_code_is_not_used_for_another_layout(tmp_path):
    file, root = tmp_path / "program.py", str(Path(__file__).resolve().parents[2])
    env = {**os.environ, "PYTHONPATH": root, "EBBFLOW_CACHE_DIR": str(tmp_path / "kept")}
    for fields, word in (("a: int; b: int", "11"), ("a: int; c: int; b: int", "12"), ("b: int; a: int", "10")):
        file.write_text(CHANGED.format(fields=fields))
        done = subprocess.run([sys.executable, str(file)], env=env, capture_output=True, text=True, timeout=300)
        assert (done.stdout.strip(), done.stderr) == (word, "")
