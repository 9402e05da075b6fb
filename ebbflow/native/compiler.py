"""Compiler: Numba, extended by the types of memory and structures and by calls between kernels.

Compiled code is cached in one file per kernel, with a digest of its content, until all kernels are there and can be
written as a bundle.

Rule: cached code is used only if the kernel's bytecode, every constant it reads, every kernel it calls, the compiler,
the processor and the file's digest are the same; otherwise the kernel is compiled again.
"""

from __future__ import annotations

import hashlib
import inspect
import operator
import pickle
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite.binding as ll
import numba
import numpy as np
from numba import types
from numba.core import compiler, typed_passes, untyped_passes
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.typing.templates import signature

from ebbflow.native import abi as b
from ebbflow.native import bundle
from ebbflow.native.kernel_cache import (
    TWINS,
    directory,
    get,
    is_private,
    kernels,
    put,
    read_from_outside,
    source,
    symbol,
)
from ebbflow.native.linker import Linker
from ebbflow.native.memory import Memory
from ebbflow.native.numba_memory import MEMORY
from ebbflow.native.numba_types import AddressType, type_of
from ebbflow.native.progress_bar import progress_bar
from ebbflow.native.structs import annotated, is_address, with_result

# ---- less work for the compiler ----------------------------------------------------------------------


class _Passes(compiler.CompilerBase):
    """The passes of the compiler without those that find nothing to do in a kernel.

    Kernels have no closures, no expressions over whole arrays, and nothing reads their types aloud.
    """

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [one for one in passes.passes if one[0] not in self.IDLE]
        passes.finalize()
        return [passes]

    IDLE = (
        typed_passes.AnnotateTypes,
        typed_passes.InlineOverloads,
        typed_passes.NopythonRewrites,
        untyped_passes.InlineClosureLikes,
    )


def _asked_once(ask: Callable[..., Any]) -> Callable[..., Any]:
    """The types that an operator takes and gives, asked once for each kind of operands.

    The compiler tries all it knows about an operator for every `+` of a kernel; a seventh of its time.
    """
    operators = frozenset(one for one in vars(operator).values() if callable(one))

    def answer(self: Any, context: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        if kws or self.typing_key not in operators:
            return ask(self, context, args, kws)
        known = self.__dict__.setdefault("_known", {})
        if args not in known:
            known[args] = ask(self, context, args, kws)
        return known[args]

    return answer


types.Function.get_call_type = _asked_once(types.Function.get_call_type)

# ---- compiling -------------------------------------------------------------------------------------

ARGUMENTS: dict[str, tuple[types.Type, str]] = {
    "H": (MEMORY, b.MEMORY_ARGUMENT),
    "words": (types.int64[::1], b.WORDS_ARGUMENT),
    "ids": (types.int64[::1], b.WORDS_ARGUMENT),
    "moments": (types.int64[::1], b.WORDS_ARGUMENT),
    "offsets": (types.int64[::1], b.WORDS_ARGUMENT),
    "rows": (types.int64[:, ::1], b.ROWS_ARGUMENT),
    "out": (types.int64[:, ::1], b.ROWS_ARGUMENT),
    "bytes_": (types.Array(types.uint8, 1, "C", readonly=True), b.BYTES_ARGUMENT),
    "valid": (types.Array(types.uint8, 1, "C", readonly=True), b.BYTES_ARGUMENT),
    "text": (types.uint8[::1], b.BYTES_ARGUMENT),
    "x": (types.float64, b.FLOAT_ARGUMENT),
}
"""The parameters that are not one int64 word, by name."""

_DISPATCHERS: dict[Any, Any] = {}  # by the function that Python calls
_PIECES: dict[str, bundle.Piece] = {}  # all that was compiled or loaded, callees first


def compiled(f: Callable[..., Any], inlined: bool) -> Any:
    """A function for Python, and for other kernels, with the compiled code of `f`."""
    dispatcher, seen, address = _machine_code(f, inlined)
    made = with_result(f, _function(seen, address, f.__doc__))
    _make_known(made, dispatcher)
    return made


def compiled_as(made: Callable[..., Any], f: Callable[..., Any], inlined: bool) -> bundle.Piece:
    """The compiled code of `f`, which other kernels know as `made`; for a process that calls no kernels."""
    dispatcher, seen, _ = _machine_code(f, inlined)
    _make_known(made, dispatcher)
    return _PIECES[seen.symbol]


def _machine_code(f: Callable[..., Any], inlined: bool) -> tuple[Any, b.Signature, int]:
    """The compiler's handle of `f`, what is seen of it from outside, and where its code is."""
    _Progress.begun += 1
    assert f.__closure__ is None, "what a kernel reads from outside must be a constant of its module"
    given = _parameters(f)
    taken = tuple(type_ for type_, _ in given)
    gives = _result(f)
    options = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    if inlined:
        options["forceinline"] = True
    dispatcher: Any = numba.njit(**options, pipeline_class=_Passes)(f)
    kept = dispatcher._cache = _Cached(f, repr((taken, gives, sorted(options.items()))))
    with _Progress.shown(compiles=not kept.is_there()):
        dispatcher.compile(taken if gives is None else signature(gives, *taken))
    dispatcher.disable_compile()
    seen = b.Signature(symbol(f), tuple(kind for _, kind in given), _answer(dispatcher.overloads[taken]))
    if kept.code is not None:
        _PIECES[seen.symbol] = (seen, dispatcher.overloads[taken].fndesc.llvm_func_name, kept.code)
    return dispatcher, seen, _call_by_name(dispatcher, taken, inlined)


def _parameters(f: Callable[..., Any]) -> list[tuple[types.Type, str]]:
    """What a kernel takes: as its annotations say, or else the names."""
    said = annotated(f)
    by_class = {int: (types.int64, b.WORD_ARGUMENT), float: (types.float64, b.FLOAT_ARGUMENT)}
    return [
        ARGUMENTS.get(name, (types.int64, b.WORD_ARGUMENT))
        if name not in said
        else by_class.get(said[name]) or (type_of(said[name]), b.WORD_ARGUMENT)
        for name in inspect.signature(f).parameters
    ]


def _result(f: Callable[..., Any]) -> types.Type | None:
    """The structure that a kernel returns, also where it has computed a number; None: what it returns."""
    kind = annotated(f).get("return")
    return type_of(kind) if kind is not None and is_address(kind) else None


def _make_known(made: Callable[..., Any], dispatcher: Any) -> None:
    _DISPATCHERS[made] = dispatcher
    cpu_target.typing_context.insert_global(made, types.Dispatcher(dispatcher))


def _answer(result: Any) -> str:
    given = types.unliteral(result.signature.return_type)
    kinds = {
        types.int64: b.WORD_ARGUMENT,
        types.none: b.NO_RESULT,
        types.boolean: b.TRUTH,
        types.float64: b.FLOAT_ARGUMENT,
    }
    return b.WORD_ARGUMENT if isinstance(given, AddressType) else kinds.get(given, b.INSIDE)


def _call_by_name(dispatcher: Any, taken: tuple[types.Type, ...], inlined: bool) -> int:
    """Let other kernels call this one by its symbol; the address of its code.

    Linked into each caller, as the compiler does by itself, a kernel would be optimised again at every level of every
    chain of calls; by name it is compiled once.
    """
    result = dispatcher.overloads[taken]
    address = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
    ll.add_symbol(symbol(dispatcher.py_func), address)
    if not inlined:
        called = copy(result.fndesc)
        called.mangled_name = symbol(dispatcher.py_func)
        dispatcher.targetctx.insert_user_function(result.entry_point, called, ())
    return int(address)


_LINKER: list[Linker] = []


def _linker() -> Linker:
    if not _LINKER:
        _LINKER.append(Linker())
    return _LINKER[0]


def _function(seen: b.Signature, address: int, doc: str | None) -> Any:
    """For Python to call."""
    if seen.gives == b.INSIDE:
        return bundle.only_inside(seen.symbol)
    linker = _linker()
    linker.link(linker.object_of([seen]))
    return b.python_function(seen, linker.address(seen.entry), doc)


def bundle_up(path: Path) -> None:
    """Keep all that was compiled as one file, if all of it was kept."""
    pieces = [piece for name, piece in _PIECES.items() if name.startswith("ebbflow.")]
    if len(pieces) == kernels() and not path.exists() and is_private(directory()):
        bundle.write(path, pieces, _linker().object_of([seen for seen, _, _ in pieces]))


# ---- what a kernel's code depends on ---------------------------------------------------------------


def _fingerprint(f: Callable[..., Any]) -> str:
    """A hash of all that is compiled into a kernel: its code, and what the names in it stand for at this moment."""
    assert isinstance(f, FunctionType)
    known = _FINGERPRINTS.get(f)
    if known is None:
        _FINGERPRINTS[f] = "itself"  # as a function that calls itself sees it
        outside = [(name, _essence_of(value, f)) for name, value in read_from_outside(f.__code__, f.__globals__)]
        seen = [*_essence(f.__code__, f.__doc__), _parameters(f), _result(f), outside]
        known = hashlib.sha256(repr(seen).encode()).hexdigest()
        _FINGERPRINTS[f] = known
    return known


_FINGERPRINTS: dict[FunctionType, str] = {}


def _essence(code: CodeType, doc: str | None) -> Iterator[object]:
    constants = code.co_consts[1:] if doc is not None and code.co_consts[:1] == (doc,) else code.co_consts
    yield code.co_code, code.co_names, code.co_varnames, code.co_flags, code.co_exceptiontable
    for constant in constants:
        if isinstance(constant, CodeType):
            yield from _essence(constant, doc)
        else:
            yield repr(constant)


_PLAIN = int | float | str | bytes | None
_OTHERS = ("numpy", "math", "numba", "builtins")  # their versions are part of the directory's name


def _dispatcher(value: Any) -> Any:
    try:
        return _DISPATCHERS.get(value)
    except TypeError:  # not hashable
        return None


def _essence_of(value: Any, f: FunctionType) -> str:
    if isinstance(value, _PLAIN) or (isinstance(value, tuple) and all(isinstance(part, _PLAIN) for part in value)):
        return repr(value)
    if is_address(value):
        return str(value.LAYOUT)
    dispatcher = _dispatcher(value)
    if dispatcher is not None and dispatcher.targetoptions.get("forceinline"):
        return f"{_fingerprint(TWINS[value])} {dispatcher.targetoptions}"
    if dispatcher is not None:  # called by name: nothing of it is compiled in but what it takes and gives
        return f"{symbol(TWINS[value])} {dispatcher.nopython_signatures}"
    if isinstance(value, Memory):
        return "memory"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, ModuleType | type):
        home = value.__name__ if isinstance(value, ModuleType) else value.__module__
        if home.partition(".")[0] in _OTHERS:
            return repr(value)
    return source(Path(inspect.getfile(f)))  # something else: any edit of the file counts


# ---- keeping compiled code -------------------------------------------------------------------------


class _Cached:
    """One kernel's compiled code in one file: a digest, then the code as the compiler writes it down.

    It takes the place of the compiler's own cache, which trusts every file it finds and raises on a damaged one.
    """

    def __init__(self, f: Callable[..., Any], taken: str):
        self.name = re.sub(r"[^\w.]", "_", f"{f.__module__}.{f.__qualname__}")
        self.path: Path | None = None
        self.code: bytes | None = None  # as machine code, once loaded or saved
        if is_private(directory()):
            code = hashlib.sha256(f"{_fingerprint(f)} {taken}".encode()).hexdigest()[:24]
            self.path = directory() / f"{self.name}-{code}.kernel"

    cache_path = property(lambda self: str(directory()))

    def is_there(self) -> bool:
        return self.path is not None and self.path.is_file()

    def load_overload(self, taken: Any, context: Any) -> Any:
        if self.path is None:
            return None
        data = get(self.path)
        if data is None:
            return None
        try:
            rtsys.initialize(context)  # the runtime's symbols; all else that compiling needs stays unloaded
            if b"hashsecret" in data:  # the one symbol that comes with the rest
                context.refresh()
            state = pickle.loads(data)
            loaded = compiler.CompileResult._rebuild(context, *state)
            self.code = state[0][2][0]
            return loaded
        except Exception:  # whole, and yet not understood: nothing in this directory can be trusted
            shutil.rmtree(directory(), ignore_errors=True)
            return None

    def save_overload(self, taken: Any, result: Any) -> None:
        if self.path is None or result.library.has_dynamic_globals or result.lifted:
            return
        state = result._reduce()
        if put(self.path, dumps(state)):
            self.code = state[0][2][0]

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...


# ---- saying how far it is --------------------------------------------------------------------------


class _Progress:
    """How far compiling is: shown on a terminal while a kernel compiles, and told to who listens."""

    begun = 0
    listener: Callable[[int, int], None] | None = None

    @classmethod
    @contextmanager
    def shown(cls, compiles: bool) -> Iterator[None]:
        if cls.listener is not None:
            yield
            cls.listener(cls.begun, kernels())
        elif compiles:
            with progress_bar(max(kernels(), cls.begun)) as show:
                show(cls.begun)
                yield
        else:
            yield


@contextmanager
def told_to(progress: Callable[[int, int], None] | None) -> Iterator[None]:
    _Progress.listener = progress
    try:
        yield
    finally:
        _Progress.listener = None
