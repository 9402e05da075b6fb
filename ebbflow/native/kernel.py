"""Kernels: plain Python functions, compiled once with one signature each, and cached for the next process.

A kernel takes words and arrays of words and nothing else, so its signature follows from the names of its parameters.
All kernels are cached as one *bundle* of machine code; a process that finds a bundle for its sources loads it and never
loads the compiler. A wheel may hold bundles as well.

Rule: a bundle is used only if every source with kernels, the compiler, the processor and the file's digest are the
same; otherwise kernels are looked up one by one in the cache, and those that are missing are compiled.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ebbflow.native import kernel_cache
from ebbflow.native.bundle import Bundle, only_inside, read
from ebbflow.native.kernel_cache import (
    PACKAGE,
    TWINS,
    bundle_path,
    directory,
    is_private,
    kernels,
    modules_with_kernels,
    symbol,
)
from ebbflow.native.memory import H, Memory
from ebbflow.native.progress_bar import progress_bar
from ebbflow.native.shipping import shipped
from ebbflow.native.structs import interpreted, with_result

F = TypeVar("F", bound=Callable[..., Any])

CACHE_LINE = 8  # words
_reading = threading.Lock()  # of who links the bundle: two threads may begin their first session at once
_compiling = threading.Lock()  # of who has it compiled, in other processes; who waits finds it there
INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def memory() -> Memory:
    """The whole address space as words: element i is the word at machine address 8 * (i + 1)."""
    return H


def address_of(array: np.ndarray) -> int:
    """The index in `memory()` of an array's first word."""
    return array.ctypes.data // 8 - 1


def cache_lines(count: int) -> np.ndarray:
    """So many lines of the processor's cache, zeros: who writes to one disturbs nobody who reads another."""
    words = np.zeros(CACHE_LINE * (count + 1), np.int64)
    return words[-(address_of(words) + 1) % CACHE_LINE :][: CACHE_LINE * count]


def lanes_of(rows: np.ndarray | Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Lanes that are each in one piece, and where each begins; who reads there holds them."""
    lanes = [np.require(lane, np.int64, ["C", "A"]) for lane in rows]
    return lanes, np.array([address_of(lane) for lane in lanes], np.int64)


def kernel(f: F) -> F:
    """Compile `f` for its one signature, or link it as compiled before."""
    return _ready(f, inlined=False)


def inline(f: F) -> F:
    """A kernel whose body is copied into every kernel that calls it."""
    return _ready(f, inlined=True)


def wrap_around() -> None:
    """Let words wrap around, as they do in compiled code; numpy asks each thread for itself."""
    if INTERPRETED:
        np.seterr(over="ignore")


wrap_around()


def twin(compiled: Any) -> Callable[..., Any]:
    """The Python function a kernel was made of."""
    return interpreted(TWINS[compiled]) if compiled in TWINS else compiled


def _ready(f: F, inlined: bool) -> F:
    if INTERPRETED:
        return interpreted(f)
    if kernel_cache.only_named is not None:
        made: Any = only_inside(symbol(f))
        kernel_cache.only_named.append(kernel_cache.Named(made, f, inlined))
        TWINS[made] = f
        return made
    found = bundle() if _is_ours(f) else None
    if found is not None:
        made = with_result(f, found.function(symbol(f), f.__doc__))
    else:
        from ebbflow.native import compiler  # takes half a second to load

        made = compiler.compiled(f, inlined)
    TWINS[made] = f
    return made


def _is_ours(f: Callable[..., Any]) -> bool:
    return f.__module__.startswith("ebbflow.") and Path(f.__code__.co_filename).is_relative_to(PACKAGE)


def compile_all(progress: Callable[[int, int], None] | None = None) -> int:
    """Import every module that has kernels, so that all are compiled and kept; how many there are."""
    if INTERPRETED:
        return kernels()
    with _compiling:
        is_there = bundle() is not None or _compiled_in_parallel(progress)
    if not is_there:
        from ebbflow.native import compiler

        with compiler.told_to(progress):
            _import_all()
        compiler.bundle_up(bundle_path())
    else:
        _import_all()
    return kernels()


def _compiled_in_parallel(progress: Callable[[int, int], None] | None) -> bool:
    """Let all cores compile, unless some kernels are compiled in this process; whether there is a bundle now."""
    if any(_is_ours(f) for f in TWINS.values()):
        return False
    from ebbflow.native.parallel_compile import compile_in_parallel

    if progress is None:
        with progress_bar(kernels()) as show:
            compile_in_parallel(lambda done, total: show(done))
    else:
        compile_in_parallel(progress)
    with _reading:
        _bundle.cache_clear()
    return bundle() is not None


def _import_all() -> None:
    for module in modules_with_kernels():
        importlib.import_module(module)


def bundle() -> Bundle | None:
    """All kernels of this package, linked; None when they have to be compiled, or loaded one by one."""
    with _reading:
        return _bundle()


@cache
def _bundle() -> Bundle | None:
    return (read(bundle_path()) if is_private(directory()) else None) or shipped()
