"""ABI: how a call crosses from Python into a compiled kernel, and how its result comes back.

The machine code of a kernel takes words and the parts of arrays. For each kernel this module generates a function that
Python can call: it checks the types of the arguments, releases the interpreter's lock while the kernel runs, and
converts the result. The function is generated as LLVM text, so calling a kernel does not load the compiler that made
it.

Rule: a kernel receives words and contiguous arrays of the types it was compiled for; on anything else the call raises
and the kernel does not run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# ---- kinds of parameters and answers
MEMORY_ARGUMENT, WORD_ARGUMENT, FLOAT_ARGUMENT, WORDS_ARGUMENT, ROWS_ARGUMENT, BYTES_ARGUMENT = (
    "memory",
    "word",
    "float",
    "words",
    "rows",
    "bytes",
)
NO_RESULT, TRUTH, INSIDE = "nothing", "truth", "inside"  # INSIDE: what only another kernel can take

PASSED = {
    MEMORY_ARGUMENT: [],
    WORD_ARGUMENT: ["i64"],
    FLOAT_ARGUMENT: ["double"],
    WORDS_ARGUMENT: ["ptr", "ptr", "i64", "i64", "ptr", "i64", "i64"],
    ROWS_ARGUMENT: ["ptr", "ptr", "i64", "i64", "ptr", "i64", "i64", "i64", "i64"],
    BYTES_ARGUMENT: ["ptr", "ptr", "i64", "i64", "ptr", "i64", "i64"],
}
DIMENSIONS = {WORDS_ARGUMENT: 1, ROWS_ARGUMENT: 2, BYTES_ARGUMENT: 1}
OBJECTS = {"ebbflow.array": np.ndarray, "ebbflow.none": None, "ebbflow.type": TypeError, "ebbflow.memory": MemoryError}
"""Python's objects that the code names, by symbols of ours: the compiler has other ideas of theirs."""

WORDS_AT, WORDS_ADDRESS = "ebbflow.words", 8  # all of memory as one array; its first element is `H[0]`

PREAMBLE = """
@"ebbflow.array" = external global i8
@"ebbflow.none" = external global i8
@"ebbflow.type" = external global i8
@"ebbflow.memory" = external global i8
@used_up = private constant [41 x i8] c"the worker's reserved memory is used up.\\00"
@not_fit = private constant [57 x i8] c"a kernel is given arguments of another number, or kinds.\\00"
declare i64 @PyLong_AsLongLong(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyBool_FromLong(i64)
declare void @Py_IncRef(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

define private i1 @is_array(ptr %object, i32 %dimensions, i1 %bytes) {
  %type_at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type_at
  %is = icmp eq ptr %type, @"ebbflow.array"
  br i1 %is, label %array, label %no
array:
  %nd_at = getelementptr i8, ptr %object, i64 24
  %nd = load i32, ptr %nd_at
  %same = icmp eq i32 %nd, %dimensions
  %descr_at = getelementptr i8, ptr %object, i64 56
  %descr = load ptr, ptr %descr_at
  %number_at = getelementptr i8, ptr %descr, i64 28
  %number = load i32, ptr %number_at
  %long = icmp eq i32 %number, 7
  %longlong = icmp eq i32 %number, 9
  %whole = or i1 %long, %longlong
  %byte = icmp eq i32 %number, 2
  %kind = select i1 %bytes, i1 %byte, i1 %whole
  %flags_at = getelementptr i8, ptr %object, i64 64
  %flags = load i32, ptr %flags_at
  %bit = and i32 %flags, 1
  %contiguous = icmp eq i32 %bit, 1
  %both = and i1 %same, %kind
  %all = and i1 %both, %contiguous
  ret i1 %all
no:
  ret i1 false
}
"""


@dataclass(frozen=True)
class Signature:
    """A kernel as seen from outside."""

    symbol: str
    takes: tuple[str, ...]
    gives: str

    @property
    def entry(self) -> str:
        return f"python.{self.symbol}"

    def text(self) -> str:
        """The function that Python calls."""
        if self.gives == INSIDE:
            return ""
        passed = ", ".join(part for kind in self.takes for part in PASSED[kind])
        lines = [
            f'declare i32 @"{self.symbol}"(ptr, ptr{", " if passed else ""}{passed})',
            f'define ptr @"{self.entry}"(ptr %self, ptr %given, i64 %count) {{',
            "  %answer = alloca i64",
            "  %raised = alloca ptr",
            f"  %enough = icmp eq i64 %count, {len(self.takes)}",
            "  br i1 %enough, label %look, label %not_fit",
            "look:",
        ]
        fits = "true"
        for i, kind in enumerate(self.takes):
            lines += [f"  %p{i} = getelementptr ptr, ptr %given, i64 {i}", f"  %o{i} = load ptr, ptr %p{i}"]
            if kind in DIMENSIONS:
                is_bytes = "true" if kind == BYTES_ARGUMENT else "false"
                lines += [
                    f"  %is{i} = call i1 @is_array(ptr %o{i}, i32 {DIMENSIONS[kind]}, i1 {is_bytes})",
                    f"  %fit{i} = and i1 {fits}, %is{i}",
                ]
                fits = f"%fit{i}"
        lines += [f"  br i1 {fits}, label %take, label %not_fit", "take:"]
        handed: list[str] = []
        for i, kind in enumerate(self.takes):
            taken, values = _take(i, kind)
            lines += taken
            handed += values
        lines += [
            "  %wrong = call ptr @PyErr_Occurred()",
            "  %fine = icmp eq ptr %wrong, null",
            "  br i1 %fine, label %run, label %refuse",
            "run:",
            "  %others = call ptr @PyEval_SaveThread()",
            f'  %status = call i32 @"{self.symbol}"({", ".join(["ptr %answer", "ptr %raised", *handed])})',
            "  call void @PyEval_RestoreThread(ptr %others)",
            "  %done = icmp eq i32 %status, 0",
            "  br i1 %done, label %give, label %used_up",
            "give:",
            *_give(self.gives),
            "used_up:",
            '  call void @PyErr_SetString(ptr @"ebbflow.memory", ptr @used_up)',
            "  ret ptr null",
            "not_fit:",
            '  call void @PyErr_SetString(ptr @"ebbflow.type", ptr @not_fit)',
            "  ret ptr null",
            "refuse:",
            "  ret ptr null",
            "}",
        ]
        return "\n".join(lines)


def _take(i: int, kind: str) -> tuple[list[str], list[str]]:
    """What turns argument i into values, and the values."""
    if kind == MEMORY_ARGUMENT:
        return [], []
    if kind == WORD_ARGUMENT:
        return [f"  %v{i} = call i64 @PyLong_AsLongLong(ptr %o{i})"], [f"i64 %v{i}"]
    if kind == FLOAT_ARGUMENT:
        return [f"  %v{i} = call double @PyFloat_AsDouble(ptr %o{i})"], [f"double %v{i}"]
    item = 1 if kind == BYTES_ARGUMENT else 8
    lines = [
        f"  %da{i} = getelementptr i8, ptr %o{i}, i64 16",
        f"  %d{i} = load ptr, ptr %da{i}",
        f"  %sa{i} = getelementptr i8, ptr %o{i}, i64 32",
        f"  %s{i} = load ptr, ptr %sa{i}",
        f"  %n{i} = load i64, ptr %s{i}",
    ]
    if kind != ROWS_ARGUMENT:
        sizes = [f"i64 %n{i}", f"i64 {item}", f"ptr %d{i}", f"i64 %n{i}", f"i64 {item}"]
    else:
        lines += [
            f"  %ma{i} = getelementptr i64, ptr %s{i}, i64 1",
            f"  %m{i} = load i64, ptr %ma{i}",
            f"  %nm{i} = mul i64 %n{i}, %m{i}",
            f"  %mb{i} = mul i64 %m{i}, {item}",
        ]
        sizes = [f"i64 %nm{i}", f"i64 {item}", f"ptr %d{i}", f"i64 %n{i}", f"i64 %m{i}", f"i64 %mb{i}", f"i64 {item}"]
    return lines, ["ptr null", "ptr null", *sizes]


def _give(kind: str) -> list[str]:
    if kind == NO_RESULT:
        return ['  call void @Py_IncRef(ptr @"ebbflow.none")', '  ret ptr @"ebbflow.none"']
    if kind == TRUTH:
        load = ["  %bit = load i8, ptr %answer", "  %word = zext i8 %bit to i64"]
        return [*load, "  %given_back = call ptr @PyBool_FromLong(i64 %word)", "  ret ptr %given_back"]
    if kind == FLOAT_ARGUMENT:
        return [
            "  %real = load double, ptr %answer",
            "  %given_back = call ptr @PyFloat_FromDouble(double %real)",
            "  ret ptr %given_back",
        ]
    return [
        "  %word = load i64, ptr %answer",
        "  %given_back = call ptr @PyLong_FromLongLong(i64 %word)",
        "  ret ptr %given_back",
    ]


# ---- functions for Python


class _Method(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_FASTCALL = 0x0080
_KEPT: list[_Method] = []
_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = (ctypes.POINTER(_Method), ctypes.c_void_p, ctypes.py_object)


def python_function(border: Signature, address: int, doc: str | None) -> Callable[..., Any]:
    """A function for Python whose code is at an address."""
    module, _, name = border.symbol.rpartition(".")
    method = _Method(name.encode(), address, _FASTCALL, (doc or "").encode())
    _KEPT.append(method)
    made: Callable[..., Any] = _new_function(ctypes.byref(method), None, module)
    return made
