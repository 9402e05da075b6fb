"""Kernels: plain Python functions compiled once, with one signature each, and kept for the next process.

A kernel takes words, and arrays of words; nothing else crosses its border, so its signature follows from the names of
its parameters.  Compiled code is kept in a directory of our own, each file with a digest of its content.

Rule: kept code is used only if the kernel's own code, every constant it reads, every kernel it calls, the compiler, the
processor and the file's digest are the same; otherwise it is compiled again.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import pickle
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import llvmlite.binding as ll
import numba
import numpy as np
from numba import types
from numba.core import compiler
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from ebbflow.columns.memory import MEMORY, Memory

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parents[1]
DIGEST = 32
KEPT_VERSIONS = 3  # of one kernel: two checkouts side by side do not throw each other's code away

ARGUMENTS = {
    "H": MEMORY,
    "words": types.int64[::1],
    "ids": types.int64[::1],
    "offsets": types.int64[::1],
    "rows": types.int64[:, ::1],
    "out": types.int64[:, ::1],
    "bytes_": types.Array(types.uint8, 1, "C", readonly=True),
    "valid": types.Array(types.uint8, 1, "C", readonly=True),
    "text": types.uint8[::1],
    "x": types.float64,
}
"""The parameters that are not one int64 word, by name."""


def memory() -> Memory:
    """The whole address space as words: element i is the word at machine address 8 * (i + 1)."""
    return _MEMORY


def address_of(array: np.ndarray) -> int:
    """The index in `memory()` of an array's first word."""
    return array.ctypes.data // 8 - 1


_MEMORY = Memory()


def kernel(f: F) -> F:
    """Compile `f` for its one signature, or load it as compiled before."""
    return _compiled(f)


def inline(f: F) -> F:
    """A kernel whose body is copied into every kernel that calls it."""
    return _compiled(f, forceinline=True)


if numba.config.DISABLE_JIT:
    np.seterr(over="ignore")  # words wrap around in compiled code; so they do here


def _compiled(f: F, **options: Any) -> F:
    _Progress.begun += 1
    if numba.config.DISABLE_JIT:
        return f
    assert f.__closure__ is None, "what a kernel reads from outside must be a constant of its module"
    signature = tuple(ARGUMENTS.get(name, types.int64) for name in inspect.signature(f).parameters)
    options |= {"nogil": True, "error_model": "numpy"}
    dispatcher: Any = numba.njit(**options)(f)
    kept = dispatcher._cache = _Kept(f, repr((signature, sorted(options.items()))))
    with _Progress.shown(compiles=not kept.is_there()):
        dispatcher.compile(signature)
    dispatcher.disable_compile()
    if not options.get("forceinline"):
        _call_by_name(dispatcher, signature)
    return dispatcher


def _call_by_name(dispatcher: Any, signature: tuple[types.Type, ...]) -> None:
    """Let other kernels call this one by its symbol.

    Linked into each caller, as the compiler does by itself, a kernel would be optimised again at every level of every
    chain of calls; by name it is compiled once.
    """
    compiled = dispatcher.overloads[signature]
    called = copy(compiled.fndesc)
    called.mangled_name = _symbol(dispatcher.py_func)
    ll.add_symbol(called.mangled_name, compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
    dispatcher.targetctx.insert_user_function(compiled.entry_point, called, ())


def _symbol(f: Callable[..., Any]) -> str:
    """By what other kernels call this one: the same in every process."""
    return f"{f.__module__}.{f.__qualname__}"


def compile_all(progress: Callable[[int, int], None] | None = None) -> int:
    """Import every module that has kernels, so that all are compiled and kept; how many there are."""
    _Progress.listener = progress
    try:
        for module in _modules_with_kernels():
            importlib.import_module(module)
    finally:
        _Progress.listener = None
    return _total()


def directory() -> Path:
    """Where compiled kernels are kept."""
    given = os.environ.get("EBBFLOW_CACHE_DIR")
    if given:
        return Path(given) / "kernels" / _key()
    users = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(users) / "ebbflow" / "kernels" / _key()


@cache
def _key() -> str:
    """What all kernels depend on beside their source: compiler, Python, processor, and how the compiler is set."""
    from numba.core.registry import cpu_target

    config = numba.config
    settings = [config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT]
    facts = [
        _source(Path(inspect.getfile(Memory))),  # how a word is loaded is compiled into all of them
        _source(Path(__file__)),  # and so is how they call each other
        numba.__version__,
        np.__version__,
        sys.version,
        cpu_target.target_context.codegen().magic_tuple(),
        settings,
    ]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _private(path: Path) -> bool:
    """Whether the directory is there, ours, and no one else's to write: what lies in it is executed."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


# ---- what a kernel's code depends on


def _fingerprint(f: Callable[..., Any]) -> str:
    """A hash of all that is compiled into a kernel: its code, and what the names in it stand for at this moment."""
    assert isinstance(f, FunctionType)
    known = _FINGERPRINTS.get(f)
    if known is None:
        _FINGERPRINTS[f] = "itself"  # as a function that calls itself sees it
        known = hashlib.sha256(repr(list(_essence(f.__code__, f))).encode()).hexdigest()
        _FINGERPRINTS[f] = known
    return known


_FINGERPRINTS: dict[FunctionType, str] = {}


def _essence(code: CodeType, f: FunctionType) -> Iterator[object]:
    documented = f.__doc__ is not None and code.co_consts[:1] == (f.__doc__,)
    constants = code.co_consts[1:] if documented else code.co_consts
    yield code.co_code, code.co_names, code.co_varnames, code.co_flags, code.co_exceptiontable
    for constant in constants:
        if isinstance(constant, CodeType):
            yield from _essence(constant, f)
        else:
            yield repr(constant)
    for name in code.co_names:
        if name in f.__globals__:
            yield name, _essence_of(f.__globals__[name], f)


_PLAIN = int | float | str | bytes | None
_OTHERS = ("numpy", "math", "numba", "builtins")  # their versions are part of the directory's name


def _essence_of(value: Any, f: FunctionType) -> str:
    if isinstance(value, _PLAIN) or (isinstance(value, tuple) and all(isinstance(part, _PLAIN) for part in value)):
        return repr(value)
    if hasattr(value, "py_func") and value.targetoptions.get("forceinline"):
        return f"{_fingerprint(value.py_func)} {value.targetoptions}"
    if hasattr(value, "py_func"):  # called by name: nothing of it is compiled in but what it takes and gives
        return f"{_symbol(value.py_func)} {value.nopython_signatures}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, ModuleType | type):
        home = value.__name__ if isinstance(value, ModuleType) else value.__module__
        if home.partition(".")[0] in _OTHERS:
            return repr(value)
    if isinstance(value, ModuleType):
        inside = [(name, part) for name, part in vars(value).items() if isinstance(part, _PLAIN | tuple)]
        kernels = [(name, _essence_of(part, f)) for name, part in vars(value).items() if hasattr(part, "py_func")]
        return repr((inside, kernels))
    return _source(Path(inspect.getfile(f)))  # something else: any edit of the file counts


@cache
def _source(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""


_DECORATED = re.compile(r"^@(?:kernel|inline)$", re.M)


def _modules_with_kernels() -> list[str]:
    found = [path for path in sorted(PACKAGE.rglob("*.py")) if _DECORATED.search(_source(path))]
    return [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in found]


@cache
def _total() -> int:
    return sum(len(_DECORATED.findall(_source(path))) for path in PACKAGE.rglob("*.py"))


# ---- keeping compiled code


class _Kept:
    """One kernel's compiled code in one file: a digest, then the code as the compiler writes it down.

    It takes the place of the compiler's own cache, which trusts every file it finds and raises on a damaged one.
    """

    def __init__(self, f: Callable[..., Any], signature: str):
        self.name = re.sub(r"[^\w.]", "_", f"{f.__module__}.{f.__qualname__}")
        self.path: Path | None = None
        if _private(directory()):
            code = hashlib.sha256(f"{_fingerprint(f)} {signature}".encode()).hexdigest()[:24]
            self.path = directory() / f"{self.name}-{code}.kernel"

    cache_path = property(lambda self: str(directory()))

    def is_there(self) -> bool:
        return self.path is not None and self.path.is_file()

    def load_overload(self, signature: Any, context: Any) -> Any:
        if self.path is None:
            return None
        try:
            data = self.path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(data[DIGEST:]).digest() != data[:DIGEST]:
            self.path.unlink(missing_ok=True)
            return None
        try:
            rtsys.initialize(context)  # the runtime's symbols; all else that compiling needs stays unloaded
            if b"hashsecret" in data:  # the one symbol that comes with the rest
                context.refresh()
            return compiler.CompileResult._rebuild(context, *pickle.loads(data[DIGEST:]))
        except Exception:  # whole, and yet not understood: nothing in this directory can be trusted
            shutil.rmtree(directory(), ignore_errors=True)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        if self.path is None or result.library.has_dynamic_globals or result.lifted:
            return
        data = dumps(result._reduce())
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, draft = tempfile.mkstemp(dir=self.path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(data).digest() + data)
                os.replace(draft, self.path)
            except BaseException:
                os.unlink(draft)
                raise
            versions = sorted(self.path.parent.glob(f"{self.name}-*.kernel"), key=lambda path: path.stat().st_mtime)
            for old in versions[:-KEPT_VERSIONS]:
                old.unlink(missing_ok=True)
        except OSError:
            return  # a full or read-only disk costs time, not the answer

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...


class _Progress:
    """How far compiling is: shown on a terminal while a kernel compiles, and told to who listens."""

    begun = 0
    listener: Callable[[int, int], None] | None = None

    @classmethod
    @contextmanager
    def shown(cls, compiles: bool) -> Iterator[None]:
        if cls.listener is not None:
            yield
            cls.listener(cls.begun, _total())
        elif compiles and sys.stderr is not None and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            total = max(_total(), cls.begun)
            text = TextColumn("compiling kernels, once: {task.completed} of {task.total}")
            with Progress(text, BarColumn(), console=Console(stderr=True), transient=True) as bar:
                bar.add_task("", total=total, completed=cls.begun)
                yield
        else:
            yield
