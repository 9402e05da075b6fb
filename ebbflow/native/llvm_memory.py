"""Loads and stores as LLVM has them: a word of memory by its index in `H`.

Rule: a load or store is one instruction, unless all accesses are checked (`EBBFLOW_CHECKED`).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from ebbflow.native.memory import CHECKED, CLOSED, TOUCHED

LLVM_WORD = ir.IntType(64)


def _pointer(builder: Any, at: Any) -> Any:
    return builder.inttoptr(builder.add(builder.shl(at, LLVM_WORD(3)), LLVM_WORD(8)), LLVM_WORD.as_pointer())


def _check(context: Any, builder: Any, at: Any) -> None:
    """Where memory is checked: the process ends, with a sentence, if the word is closed."""
    if not CHECKED:
        return
    bits = builder.load(_pointer(builder, builder.add(builder.lshr(at, LLVM_WORD(5)), LLVM_WORD(CLOSED))))
    closed = builder.trunc(builder.lshr(bits, builder.and_(at, LLVM_WORD(31))), ir.IntType(1))
    with builder.if_then(closed, likely=False):
        text = context.insert_const_string(builder.module, TOUCHED.format("%lld"))
        number, nothing = ir.IntType(32), ir.VoidType()
        tell = ir.FunctionType(number, [number, text.type], var_arg=True)
        builder.call(cgutils.get_or_insert_function(builder.module, tell, "dprintf"), [number(2), text, at])
        end = ir.FunctionType(nothing, [])
        builder.call(cgutils.get_or_insert_function(builder.module, end, "abort"), [])


def load(context: Any, builder: Any, at: Any) -> Any:
    _check(context, builder, at)
    return builder.load(_pointer(builder, at))


def store(context: Any, builder: Any, at: Any, word: Any) -> Any:
    _check(context, builder, at)
    builder.store(word, _pointer(builder, at))
    return context.get_dummy_value()
