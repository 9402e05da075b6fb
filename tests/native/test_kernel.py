import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ebbflow.native import memory as memory_of
from ebbflow.native.kernel import INTERPRETED, address_of, inline, kernel, lanes_of, memory, twin
from ebbflow.native.kernel_cache import directory, read_from_outside

PROGRAM = """
import sys
from ebbflow.native import (kernel as k, kernel_cache)
from ebbflow.native.memory import H

@k.inline
def twice(a):
    return a + a

@k.kernel
def total(p, n):
    s = 0
    for i in range(n):
        s += twice(H[p + i])
    return s

import numpy as np
a = np.arange(10)
assert total(k.address_of(a), 10) == 90
if k.INTERPRETED:
    print("interpreted")
else:
    from ebbflow.native.compiler import _DISPATCHERS as made
    print(*(sum(made[one].stats.cache_hits.values()) for one in (total, twice)), kernel_cache.directory())
"""


@pytest.fixture
def run(tmp_path):
    """Run PROGRAM (or another) in a process of its own, with a cache of its own."""
    file = tmp_path / "program.py"

    def start(program=PROGRAM, **env):
        file.write_text(program)
        root = str(Path(__file__).resolve().parents[2])
        env = {**os.environ, "PYTHONPATH": root, "EBBFLOW_CACHE_DIR": str(tmp_path / "kept"), **env}
        done = subprocess.run([sys.executable, str(file)], env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout.split()

    return start


@inline
def third(words, i):
    return words[i * 3]


@kernel
def sum_of_thirds(words, n):
    """needs: 3 * n words.  leaves: nothing changed."""
    s = 0
    for i in range(n):
        s += third(words, i)
    return s


def test_a_kernel_has_one_signature_and_keeps_its_python_twin():
    assert sum_of_thirds(np.arange(9), 3) == 9 == twin(sum_of_thirds)(np.arange(9), 3)


STRANGE = [
    (),
    (np.arange(9),),
    (np.arange(9), 3, 3),
    (np.zeros(9), 3),  # not whole numbers
    (np.arange(9, dtype=np.int32), 3),
    (np.arange(9, dtype=np.uint8), 3),
    (np.arange(18)[::2], 3),  # not side by side
    (np.arange(9).reshape(3, 3), 3),
    (list(range(9)), 3),
    (None, 3),
    (np.arange(9), 3.0),
    (np.arange(9), "3"),
    (np.arange(9), None),
]


@pytest.mark.skipif(INTERPRETED, reason="interpreted, a kernel is a Python function and takes what that takes")
@pytest.mark.parametrize("arguments", STRANGE)
def test_what_a_kernel_does_not_take_is_refused_before_it_runs(arguments):
    with pytest.raises(TypeError):
        sum_of_thirds(*arguments)


@pytest.mark.skipif(INTERPRETED, reason="interpreted, numbers have any size")
def test_a_number_that_is_no_word_is_refused():
    with pytest.raises(OverflowError):
        sum_of_thirds(np.arange(9), 2**63)


def test_every_kind_of_answer_comes_back_as_it_is():
    assert negated(5) == -5 and negated(-(2**63) + 1) == 2**63 - 1 and negated(np.int64(7)) == -7
    assert is_odd(3) is True and is_odd(4) is False
    assert half(3.0) == 1.5 and half(float("inf")) == float("inf")
    array = np.arange(6).reshape(2, 3)
    assert add_to_all(array, 10) is None
    assert array.tolist() == [[10, 11, 12], [13, 14, 15]]
    assert first_byte(np.frombuffer(b"ebb", np.uint8)) == ord("e")


@kernel
def negated(n):
    return -n


@kernel
def is_odd(n):
    return n % 2 == 1


@kernel
def half(x):
    return x / 2


@kernel
def add_to_all(rows, n):
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            rows[i, j] += n


@kernel
def first_byte(bytes_):
    return bytes_[0] + 0


def test_what_a_kernel_reads_from_outside_is_known_by_name_and_not_by_the_names_of_attributes():
    names = {"np": np, "memory_of": memory_of, "ctypes": "an attribute below", "here": 3, "shape": 4}
    code = compile(
        "def f(a):\n return memory_of.WORDS + a.ctypes.shape[here] + np.shape + [len(b) for b in a]", "f", "exec"
    )
    found = list(read_from_outside(code.co_consts[0], names))
    assert found == [("memory_of.WORDS", memory_of.WORDS), ("here", 3), ("np", np)]


def test_memory_reads_and_writes_any_array_by_its_address():
    array = np.array([5, 6, 7])
    p = address_of(array)
    assert [memory()[p + i] for i in range(3)] == [5, 6, 7]
    memory()[p + 1] = 60
    assert array[1] == 60


def test_kernels_are_loaded_in_the_next_process_from_a_private_directory(run):
    first, second = run(), run()
    assert first[:2] == ["0", "0"] and second[:2] == ["1", "1"]
    assert os.stat(first[2]).st_mode & 0o077 == 0


def test_what_is_compiled_in_decides_and_nothing_else(run):
    """An edited constant, or callee, compiles its callers again; a comment, a docstring or a moved line does not."""
    constant = PROGRAM.replace("@k.inline", "EXTRA = 0\n@k.inline", 1).replace("a + a", "a + a + EXTRA")
    assert run(constant)[:2] == ["0", "0"]
    told = constant.replace("    return s", "    # a comment\n    return s").replace("EXTRA = 0", "\n\nEXTRA = 0")
    assert run(told)[:2] == ["1", "1"]
    assert run(constant.replace("EXTRA = 0", "EXTRA = 0 * 7 + 1 - 1"))[:2] == ["1", "1"]
    other = constant.replace("EXTRA = 0", "EXTRA = 10").replace("== 90", "== 190")
    assert run(other)[:2] == ["0", "0"]
    assert run(other.replace("s = 0", "s = 5").replace("== 190", "== 195"))[:2] == ["0", "1"]


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-1], lambda data: bytes(99)], ids=["empty", "cut", "garbage"]
)
def test_damaged_files_are_compiled_again_without_a_word(run, damage):
    kept = Path(run()[2])
    for file in kept.iterdir():
        file.write_bytes(damage(file.read_bytes()))
    assert run()[:2] == ["0", "0"]
    assert run()[:2] == ["1", "1"]


def test_a_whole_file_with_strange_content_throws_the_directory_away(run):
    import hashlib
    import pickle

    kept = Path(run()[2])
    for file in kept.iterdir():
        data = pickle.dumps(("not", "code"))
        file.write_bytes(hashlib.sha256(data).digest() + data)
    assert run()[:2] == ["0", "0"]
    assert run()[:2] == ["1", "1"]


BUNDLED = """
import sys
from ebbflow.native import (kernel as k, kernel_cache)
if "--warm" in sys.argv:
    k.compile_all()
from ebbflow.trace.diff_limits import sum_fits
from ebbflow.trace.heap import regrow
from ebbflow.trace.reserved_heap import Heap
heap = Heap(1 << 26)
assert sum_fits(2**62, 2**61) and not sum_fits(2**63 - 1, 1)
print("numba" in sys.modules, k.bundle() is not None, kernel_cache.bundle_path())
"""


def test_a_process_that_finds_all_kernels_in_one_file_leaves_the_compiler_alone(tmp_path):
    """And one that finds the file damaged does without it, throws it away, and gets a whole one the next time."""
    program = tmp_path / "program.py"
    program.write_text(BUNDLED)
    root = str(Path(__file__).resolve().parents[2])
    kept = tmp_path / "kept"
    shared = directory()
    (kept / "kernels").mkdir(parents=True, mode=0o700)
    shutil.copytree(shared, kept / "kernels" / shared.name)
    env = {**os.environ, "PYTHONPATH": root, "EBBFLOW_CACHE_DIR": str(kept)}

    def run(*options):
        command = [sys.executable, str(program), *options]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    *_, path = run("--warm")
    assert run() == ["False", "True", path]
    whole = Path(path).read_bytes()
    for damaged in (b"", whole[:-1], whole[:100] + b"x" + whole[101:]):
        Path(path).write_bytes(damaged)
        assert run() == ["True", "False", path]
        assert not Path(path).exists()
        Path(path).write_bytes(whole)
        assert run() == ["False", "True", path]


def test_a_bundle_is_found_by_all_that_is_compiled_into_it(tmp_path):
    """Sources with kernels, and those that their constants come from; what nobody of them imports does not count."""
    root = Path(__file__).resolve().parents[2]
    shutil.copytree(root / "ebbflow", tmp_path / "ebbflow", ignore=shutil.ignore_patterns("__pycache__"))

    def path():
        program = "from ebbflow.native.kernel_cache import bundle_path; print(bundle_path().name)"
        env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", program], env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    seen = [path()]
    for changed in ("trace/heap.py", "columns/schema.py", "durable/store.py"):
        with open(tmp_path / "ebbflow" / changed, "a") as file:
            file.write("\nANOTHER = 1\n")
        seen.append(path())
    assert len(set(seen)) == 4
    with open(tmp_path / "ebbflow" / "frontend" / "building" / "column.py", "a") as file:
        file.write("\nANOTHER = 1\n")
    assert path() == seen[-1]


def test_a_directory_others_can_write_is_not_used(run):
    kept = Path(run()[2])
    kept.chmod(0o777)
    assert run()[:2] == ["0", "0"]


def test_without_the_compiler_kernels_are_plain_functions(run):
    assert run(NUMBA_DISABLE_JIT="1") == ["interpreted"]


def test_a_terminal_is_shown_how_far_compiling_is(tmp_path):
    import pty

    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    root = str(Path(__file__).resolve().parents[2])
    env = {
        **os.environ,
        "PYTHONPATH": root,
        "EBBFLOW_CACHE_DIR": str(tmp_path / "kept"),
        "TERM": "xterm",
        "COLUMNS": "80",
    }
    shown = []
    for _ in range(2):
        ours, theirs = pty.openpty()
        done = subprocess.run(
            [sys.executable, str(program)], env=env, stdout=subprocess.DEVNULL, stderr=theirs, timeout=300
        )
        os.close(theirs)
        text = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:
                break
            if not more:
                break
            text += more
        os.close(ours)
        assert done.returncode == 0, text
        shown.append(text.decode())
    assert "compiling kernels, once: 2 of" in shown[0]
    assert shown[1] == ""


def test_all_kernels_are_found_and_counted():
    """In a process of its own, interpreted: what is counted is decorators, not machine code."""
    program = """
from ebbflow.native import kernel_cache as k
assert {"ebbflow.columns.text_kernels", "ebbflow.columns.exact_sums"} <= set(k.modules_with_kernels())
assert k.kernels() > 20
"""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "rows",
    [
        np.arange(6).reshape(2, 3),
        np.arange(20).reshape(2, 10)[:, 3:6],
        np.arange(6).reshape(3, 2).T,
        np.frombuffer(b"x" + np.arange(6).tobytes(), np.int64, offset=1).reshape(2, 3),
        np.empty((0, 3), np.int64),
    ],
)
def test_lanes_are_read_where_they_begin_however_they_lie(rows):
    lanes, starts = lanes_of(rows)
    assert [[memory()[int(start) + i] for i in range(rows.shape[1])] for start in starts] == rows.tolist()
    assert len(lanes) == len(starts) == len(rows)
