"""Kernel cache: the directory of compiled kernels, and the keys by which they are found.

Machine code is valid for the sources, the compiler and the processor it was made from and for; a file's name is a hash
of these.

Rule: code is loaded only from a directory that no other user can write, because it is executed.
"""

from __future__ import annotations

import dis
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from ebbflow.native import processor
from ebbflow.native.memory import CHECKED

PACKAGE = Path(__file__).resolve().parents[1]
DIGEST = 32
VERSIONS_OF_A_FILE = 3  # of one file: two checkouts side by side do not throw each other's code away
TWINS: dict[Any, Callable[..., Any]] = {}  # the Python functions that kernels were made of


class Named(NamedTuple):
    """A kernel that is not compiled yet, and what stands for it in its module."""

    made: Any
    f: Callable[..., Any]
    inlined: bool


only_named: list[Named] | None = None
"""Where kernels are only named as their modules are imported, and compiled when they are asked for; else None."""


def symbol(f: Callable[..., Any]) -> str:
    """By what other kernels call this one: the same in every process."""
    return f"{f.__module__}.{f.__qualname__}"


def read_from_outside(code: CodeType, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a function's code reads of its module, by name, and of modules of ours that are named there."""
    said, value = "", None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, ModuleType) and _is_ours(value):
            said, value = f"{said}.{step.argval}", getattr(value, step.argval)
            continue
        if said:
            yield said, value
        said = step.argval if step.opname == "LOAD_GLOBAL" and step.argval in names else ""
        value = names.get(said)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from read_from_outside(constant, names)


def _is_ours(module: ModuleType) -> bool:
    return module.__name__.partition(".")[0] == PACKAGE.name


def directory() -> Path:
    """Where compiled kernels are kept."""
    given = os.environ.get("EBBFLOW_CACHE_DIR")
    if given:
        return Path(given) / "kernels" / _key()
    users = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(users) / "ebbflow" / "kernels" / _key()


SHAPING = (
    "memory structs kernel kernel_cache compiler llvm_memory numba_memory numba_types bundle code_image linker abi"
).split()
"""The modules beside the kernels' own that decide what is compiled, and how it is kept and called."""


@cache
def _key() -> str:
    """What all kernels depend on beside their source: compiler, Python, processor, and how the compiler is set."""
    facts = [
        [source(PACKAGE / "native" / f"{name}.py") for name in SHAPING],
        [version(name) for name in ("numba", "llvmlite", "numpy")],
        sys.version,
        processor.identity(),
        sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_")),
        CHECKED,
    ]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def put(path: Path, data: bytes) -> bool:
    """Keep some bytes below their digest.  Whether that could be done: if not, it costs time and not the answer."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise
        name = path.name.partition("-")[0]
        versions = sorted(path.parent.glob(f"{name}-*{path.suffix}"), key=lambda one: one.stat().st_mtime)
        for old in versions[:-VERSIONS_OF_A_FILE]:
            old.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def get(path: Path) -> bytes | None:
    """What was kept; None where nothing is, or where it is not as it was written."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[DIGEST:]).digest() != data[:DIGEST]:
        with suppress(OSError):  # it may be part of an installation that is not ours to change
            path.unlink(missing_ok=True)
        return None
    return data[DIGEST:]


def is_private(path: Path) -> bool:
    """Whether the directory is there, ours, and no one else's to write: what lies in it is executed."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def bundle_path() -> Path:
    """Where the bundle of just these sources is, or would be."""
    return directory() / f"all-{hashlib.sha256(repr(kernel_sources()).encode()).hexdigest()[:24]}.bundle"


def kernel_sources() -> list[tuple[str, str]]:
    """The files whose text decides what the kernels are, and their texts."""
    return [(str(path.relative_to(PACKAGE)), source(path)) for path in sorted(_with_imports())]


@cache
def source(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""


_DECORATED = re.compile(r"^@(?:kernel|inline)$", re.M)


@cache
def _sources_with_kernels() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if _DECORATED.search(source(path))]


_IMPORT = re.compile(r"^ *(?:from (ebbflow[\w.]*) import ([\w, ]+|\()|import (ebbflow[\w.]+))", re.M)


def _with_imports() -> set[Path]:
    """The sources with kernels, and all of this package that they import: a constant from there is compiled in."""
    found: set[Path] = set()
    ahead = list(_sources_with_kernels())
    while ahead:
        path = ahead.pop()
        if path not in found:
            found.add(path)
            for package, names, module in _IMPORT.findall(source(path)):
                parts = [f"{package}.{name.split(' as ')[0].strip()}" for name in names.split(",")]
                ahead += [one for name in (package, module, *parts) if (one := _file_of(name)) is not None]
    return found


def _file_of(module: str) -> Path | None:
    path = PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py") if module else None
    return path if path is not None and path.is_file() else None


@cache
def modules_with_kernels() -> list[str]:
    return [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in _sources_with_kernels()]


@cache
def kernels() -> int:
    """How many kernels there are."""
    return sum(len(_DECORATED.findall(source(path))) for path in _sources_with_kernels())
