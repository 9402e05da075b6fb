"""Memory as the compiler sees it: `H`, which has one value, and what kernels ask of it by name.

Nothing is passed for `H`; prefetching, yielding and calling back are one instruction or call each.

Rule: a kernel reaches memory by these alone, so that one place decides how it is read and written.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_constant
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model, typeof_impl

from ebbflow.native.abi import WORDS_AT
from ebbflow.native.llvm_memory import LLVM_WORD, _check, _pointer, load, store
from ebbflow.native.memory import (
    Memory,
    call_back,
    load_lane,
    load_shared,
    prefetch,
    store_lane,
    store_shared,
    yield_core,
)
from ebbflow.native.numba_types import AddressType


class MemoryType(types.Type):
    """The type of `H`; it has one value, so nothing is passed for it."""

    def __init__(self) -> None:
        super().__init__("Memory")


MEMORY = MemoryType()


@register_model(MemoryType)
class _MemoryModel(models.StructModel):
    def __init__(self, manager: Any, type_: Any):
        super().__init__(manager, type_, [])


@typeof_impl.register(Memory)
def _type_of_memory(value: Memory, c: Any) -> MemoryType:
    return MEMORY


@infer_global(operator.getitem)
class _Load(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if args[0] == MEMORY and isinstance(args[1], types.Integer | AddressType):
            return signature(types.int64, MEMORY, types.int64)
        return None


@infer_global(operator.setitem)
class _Store(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if args[0] == MEMORY and isinstance(args[1], types.Integer | AddressType):
            return signature(types.none, MEMORY, types.int64, types.int64)
        return None


@infer_global(load_lane)
@infer_global(load_shared)
class _LoadBy(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.int64, types.int64)


@infer_global(store_lane)
@infer_global(store_shared)
class _StoreBy(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.none, types.int64, types.int64)


@infer_global(prefetch)
class _Prefetch(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.none, types.int64)


@infer_global(call_back)
class _CallBack(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.none, types.int64, types.int64)


@infer_global(yield_core)
class _YieldCore(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.none)


@lower_builtin(operator.getitem, MemoryType, types.int64)
def _load(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return load(context, builder, args[1])


@lower_builtin(operator.setitem, MemoryType, types.int64, types.int64)
def _store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return store(context, builder, args[1], args[2])


def _element(builder: Any, at: Any) -> Any:
    """The same word as an element of one array: in these terms the compiler sees that words follow each other.

    Not so for all loads and stores: it would prepare every loop over the lanes of a row for thousands of them.
    """
    module = builder.module
    if WORDS_AT not in module.globals:
        ir.GlobalVariable(module, ir.ArrayType(LLVM_WORD, 0), WORDS_AT)
    return builder.gep(module.get_global(WORDS_AT), [LLVM_WORD(0), at])


@lower_builtin(load_lane, types.int64)
def _load_lane(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    _check(context, builder, args[0])
    return builder.load(_element(builder, args[0]))


@lower_builtin(store_lane, types.int64, types.int64)
def _store_lane(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    _check(context, builder, args[0])
    builder.store(args[1], _element(builder, args[0]))
    return context.get_dummy_value()


@lower_builtin(load_shared, types.int64)
def _load_shared(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load_atomic(_pointer(builder, args[0]), "acquire", 8)


@lower_builtin(store_shared, types.int64, types.int64)
def _store_shared(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store_atomic(args[1], _pointer(builder, args[0]), "release", 8)
    return context.get_dummy_value()


@lower_builtin(prefetch, types.int64)
def _prefetch(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    number = ir.IntType(32)
    fetch = ir.FunctionType(ir.VoidType(), [LLVM_WORD.as_pointer(), number, number, number])
    for_reading, near, data = number(0), number(3), number(1)
    function = cgutils.get_or_insert_function(builder.module, fetch, "llvm.prefetch.p0")
    builder.call(function, [_pointer(builder, args[0]), for_reading, near, data])
    return context.get_dummy_value()


@lower_builtin(call_back, types.int64, types.int64)
def _call_back(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    function = ir.FunctionType(ir.VoidType(), [LLVM_WORD])
    builder.call(builder.inttoptr(args[0], function.as_pointer()), [args[1]])
    return context.get_dummy_value()


@lower_builtin(yield_core)
def _yield_core(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    yields = ir.FunctionType(ir.IntType(32), [])
    builder.call(cgutils.get_or_insert_function(builder.module, yields, "sched_yield"), [])
    return context.get_dummy_value()


@lower_constant(MemoryType)
def _memory(context: Any, builder: Any, type_: Any, value: Any) -> Any:
    return context.get_constant_undef(type_)
