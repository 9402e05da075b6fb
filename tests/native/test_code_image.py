"""Claims about code images: what is laid out once is the same code as what LLVM links, and anything else is refused."""

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ebbflow.native import bundle, code_image, processor, shipping
from ebbflow.native import kernel as k
from ebbflow.native.kernel_cache import bundle_path, get

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def kept():
    """The bytes of the bundle that this process would load."""
    k.compile_all()
    data = get(bundle_path())
    assert data is not None
    return data


def objects_of(data):
    head, _, _, *objects = bundle._parts(data)
    return objects, {symbol: native for symbol, _, native, *_ in json.loads(head)["kernels"]}


def test_laying_out_the_same_objects_gives_the_same_image(kept):
    _, code, own, *_ = bundle._parts(kept)
    image = code_image.lay_out(*objects_of(kept))
    assert image is not None, "the kernels of this machine make an image"
    assert image.code == code and image.own.tobytes() == own and len(image.functions) > 600


def test_a_kernel_of_the_image_answers_as_one_that_is_linked(kept, tmp_path):
    path = tmp_path / "all.bundle"
    head, _, own, *objects = bundle._parts(kept)
    for name, parts in {"image": None, "linked": [head, b"", own, *objects]}.items():
        found = bundle.read(bundle_path())
        if parts is not None:
            assert bundle.put(path, bundle._joined(parts))
            found = bundle.read(path)
        sum_fits = found.function("ebbflow.trace.diff_limits.sum_fits", None)
        assert [sum_fits(2**62, 2**61), sum_fits(2**63 - 1, 1), sum_fits(-5, 4)] == [True, False, True], name


def with_another_relocation(data):
    """An object file whose first relocation of instructions is of a kind we have no rule for; None if it has none."""
    data = bytearray(data)
    (first,) = struct.unpack_from("<Q", data, 40)
    size, count, _ = struct.unpack_from("<HHH", data, 58)
    sections = [code_image.SECTION.unpack_from(data, first + size * i) for i in range(count)]
    for _, type_, _, _, offset, length, _, target, _, _ in sections:
        if type_ == code_image.RELOCATIONS and length and sections[target][2] & 4:  # which are instructions
            where, info, addend = code_image.RELOCATION.unpack_from(data, offset)
            code_image.RELOCATION.pack_into(data, offset, where, info >> 32 << 32 | 2, addend)
            return bytes(data)
    return None


def test_relocations_of_another_kind_are_not_understood(kept):
    objects, natives = objects_of(kept)
    changed = [with_another_relocation(data) or data for data in objects]
    assert changed != objects
    assert code_image.lay_out(changed, natives) is None


@pytest.mark.parametrize("damage", [lambda o: b"\x7fELF\x01" + o[5:], lambda o: o[:200], lambda o: b""])
def test_files_of_another_kind_or_cut_short_are_not_understood(kept, damage):
    objects, natives = objects_of(kept)
    assert code_image.lay_out([damage(objects[0]), *objects[1:]], natives) is None


def test_a_name_that_nothing_here_has_is_not_loaded():
    nowhere = code_image.Image(bytes(16), np.empty(0, np.int64), {"no_such_function_anywhere": [0]}, {})
    assert code_image.load(nowhere) is None


# ---- shipped with a wheel -------------------------------------------------------------------------------

PROGRAM = """
import sys
import ebbflow as ebb
from ebbflow.native import kernel
flow = ebb.Dataflow()
flow.output("o", flow.input("e", "a long, b long").group_by("a").count())
found = flow.compute(e=[(1, 2), (1, 3)])["o"].rows()
print(found, sorted({"numba", "llvmlite"} & set(sys.modules)), kernel.bundle().path.parent.name)
"""


def test_who_finds_kernels_in_the_installation_compiles_nothing(kept, tmp_path):
    """And loads neither Numba nor LLVM."""
    levels = processor.levels()
    if not levels:
        pytest.skip("wheels hold kernels for x86-64 only")
    elsewhere = tmp_path / "site"
    shutil.copytree(ROOT / "ebbflow", elsewhere / "ebbflow", ignore=shutil.ignore_patterns("__pycache__"))
    place = elsewhere / "ebbflow" / "native" / "shipped"
    assert bundle.put(place / shipping.file_name(levels[-1]), bundle.image_only(kept))
    env = {**os.environ, "PYTHONPATH": str(elsewhere), "EBBFLOW_CACHE_DIR": str(tmp_path / "empty")}
    env["NUMBA_CACHE_DIR"] = str(tmp_path / "numba")  # asks for no other code
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[(1, 2, 1)] [] shipped\n", done.stdout + done.stderr


def test_levels_are_what_the_processor_has(monkeypatch):
    v2 = " ".join(processor.LEVELS["x86-64-v2"])
    v3 = " ".join(processor.LEVELS["x86-64-v3"])
    for flags, expected in {"": [], v2: ["x86-64-v2"], f"{v2} {v3}": ["x86-64-v3", "x86-64-v2"], v3: []}.items():
        monkeypatch.setattr(processor, "_told", lambda flags=flags: {"flags": flags})
        monkeypatch.setattr(processor.platform, "machine", lambda: "x86_64")
        assert processor.levels.__wrapped__() == expected
    monkeypatch.setattr(processor.platform, "machine", lambda: "aarch64")
    assert processor.levels.__wrapped__() == []
