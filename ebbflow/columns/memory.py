"""Memory as kernels see it: the machine's words, with no array around them.

Every kernel takes `H`, and `H[p]` is the word at machine address 8 * (p + 1).  Compiled, that is one load or store:
no bounds, no base to fetch, nothing to count.  Interpreted, and from Python, the same words are reached through
numpy.

Rule: this is the one place that reads or writes memory without a check; whoever holds an address owns what is there.
"""

from __future__ import annotations

import ctypes
import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import NativeValue, intrinsic, lower_builtin, models, register_model, unbox

WORD = ir.IntType(64)


class MemoryType(types.Type):
    """The type of `H`; it has one value, so nothing is passed for it."""

    def __init__(self) -> None:
        super().__init__("Memory")


MEMORY = MemoryType()
register_model(MemoryType)(models.OpaqueModel)


class Memory:
    """All words, from Python: one by one, or as slices that are arrays in place."""

    _numba_type_ = MEMORY

    def __init__(self) -> None:
        self.words = np.frombuffer((ctypes.c_int64 * (1 << 44)).from_address(8), np.int64)

    def __getitem__(self, at: Any) -> Any:
        return self.words[at]

    def __setitem__(self, at: Any, value: Any) -> None:
        self.words[at] = value


@unbox(MemoryType)
def _unbox(type_: MemoryType, value: Any, c: Any) -> NativeValue:
    return NativeValue(c.context.get_dummy_value())


@infer_global(operator.getitem)
class _Load(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if args[0] == MEMORY and isinstance(args[1], types.Integer):
            return signature(types.int64, MEMORY, types.int64)
        return None


@infer_global(operator.setitem)
class _Store(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if args[0] == MEMORY and isinstance(args[1], types.Integer):
            return signature(types.none, MEMORY, types.int64, types.int64)
        return None


def _pointer(builder: Any, at: Any) -> Any:
    return builder.inttoptr(builder.add(builder.shl(at, WORD(3)), WORD(8)), WORD.as_pointer())


@lower_builtin(operator.getitem, MemoryType, types.int64)
def _load(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(_pointer(builder, args[1]))


@lower_builtin(operator.setitem, MemoryType, types.int64, types.int64)
def _store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[2], _pointer(builder, args[1]))
    return context.get_dummy_value()


@intrinsic
def all_memory(context: Any) -> Any:
    """`H`, for a kernel that Python calls often: an argument less to look at."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return context.get_dummy_value()

    return MEMORY(), generate


if numba.config.DISABLE_JIT:
    _MEMORY = Memory()

    def all_memory() -> Memory:  # type: ignore[no-redef]
        return _MEMORY
