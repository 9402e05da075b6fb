"""Typed structure: a class that names the words at an address, in their order.

A value of such a class is the address: an `int` with fields. It costs nothing, can be used wherever a number can, and
a number becomes one by `Node(number)`. In compiled kernels a field is one load or store (`numba_types` says how); in
Python, and in kernels that are not compiled, it is a property.

Rule: the offset of a field follows from its class and from nothing else; compiled code is cached under a digest of the
layouts that it uses.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import wraps
from inspect import get_annotations, signature
from types import FunctionType
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar, get_args, get_origin, overload

from ebbflow.native.memory import H

T = TypeVar("T")
At = Annotated[T, "at"]
"""Of a field: one word, the address of a structure that lies elsewhere."""

CLASSES: dict[str, type[Address]] = {}  # by their layouts


class Field(NamedTuple):
    offset: int
    kind: type  # int, or the class of what is there
    is_inside: bool  # the structure lies here, not its address
    number: int  # how many, one behind the other; 0: as many as follow


class _Placed(NamedTuple):
    number: int | None = None
    beside: str = ""
    behind: int = 0


def several(number: int) -> Any:
    """So many of a kind, one behind the other; 0: all that follow."""
    return _Placed(number)


def beside(name: str, behind: int = 0, number: int | None = None) -> Any:
    """In the same words as another field, or so many words behind its first: a structure has one of the two."""
    return _Placed(number, name, behind)


class AddressClass(type):
    """The type of such a class, by which the compiler recognises it."""


class Address(int, metaclass=AddressClass):
    """The address of a word, and what is there."""

    FIELDS: ClassVar[dict[str, Field]] = {}
    END: ClassVar[int] = 0  # behind the last field
    SIZE: ClassVar[int] = 1  # words from one to the next
    LAYOUT: ClassVar[str] = ""  # a name that no other layout has

    def __init_subclass__(cls, words: int = 0) -> None:
        names = vars(sys.modules[cls.__module__])
        cls.FIELDS = dict(cls.FIELDS)
        said: list[object] = [words, cls.__mro__[1].__dict__.get("LAYOUT")]
        for name, written in get_annotations(cls).items():
            kind = eval(written, names, {cls.__name__: cls}) if isinstance(written, str) else written
            placed = cls.__dict__.get(name, _Placed())
            is_there = get_origin(kind) is not Annotated
            kind = kind if is_there else get_args(kind)[0]
            # words of its own lie inside where it is said how many; else a word says where they are
            is_inside = kind is not int and is_there and (kind is not Words or placed.number is not None)
            offset = cls.FIELDS[placed.beside].offset + placed.behind if placed.beside else cls.END
            number = 1 if placed.number is None else placed.number
            cls.FIELDS[name] = field = Field(offset, kind, is_inside, number)
            cls.END = max(cls.END, offset + number * (kind.SIZE if is_inside else 1))
            said.append((name, offset, is_inside, "itself" if kind is cls else getattr(kind, "LAYOUT", "int")))
            setattr(cls, name, _property(field))
        cls.SIZE = max(cls.END, words, 1)
        assert not words or cls.END <= words, f"{cls.__name__} has {cls.END} words"
        digest = hashlib.sha256(repr(said).encode()).hexdigest()[:12]
        cls.LAYOUT = f"{cls.__module__}.{cls.__qualname__}.{digest}"
        CLASSES[cls.LAYOUT] = cls

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"


def _property(field: Field) -> property:
    offset, kind, is_inside, _ = field

    def get(self: Address) -> Any:
        if is_inside:
            return kind(int(self) + offset)
        word = H[int(self) + offset]
        return word if kind is int else kind(word)

    def put(self: Address, value: int) -> None:
        H[int(self) + offset] = value

    return property(get, None if is_inside else put)


class Struct(Address):
    """Fields at an address; `s[i]` is the i-th of its kind behind it."""

    def __getitem__(self, i: int) -> Self:
        return type(self)(int(self) + int(i) * self.SIZE)


class Words(Address):
    """Words from an address on."""

    def __getitem__(self, i: int) -> int:
        word: int = H[int(self) + int(i)]
        return word

    def __setitem__(self, i: int, word: int) -> None:
        H[int(self) + int(i)] = word

    def __add__(self, n: int) -> Words:
        return Words(int(self) + int(n))

    @overload
    def __sub__(self, n: Words) -> int: ...  # type: ignore[overload-overlap]  # words are a number, too
    @overload
    def __sub__(self, n: int) -> Words: ...
    def __sub__(self, n: int) -> int:
        return int(self) - int(n) if isinstance(n, Words) else Words(int(self) - int(n))


def annotated(f: Callable[..., Any]) -> dict[str, type]:
    """The classes of a kernel's parameters, and of its result as `return`, where they are annotated."""
    assert isinstance(f, FunctionType)
    said = f.__annotations__.items()
    kinds = {name: eval(text, f.__globals__) if isinstance(text, str) else text for name, text in said}
    return {name: kind for name, kind in kinds.items() if kind in (int, float) or is_address(kind)}


def is_address(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Address)


def interpreted(f: Any) -> Any:
    """A kernel that is not compiled, and takes numbers for structures as a compiled one does."""
    kinds = {name: kind for name, kind in annotated(f).items() if is_address(kind)}
    casts = [(i, kinds[name]) for i, name in enumerate(signature(f).parameters) if name in kinds]
    if not casts:
        return with_result(f, f)

    @wraps(f)
    def call(*given: Any) -> Any:
        taken = list(given)
        for i, kind in casts:
            if type(taken[i]) is not kind:
                taken[i] = kind(taken[i])
        return f(*taken)

    return with_result(f, call)


def with_result(f: Any, made: Any) -> Any:
    """What Python calls for the kernel `f`, whose result is a word: a structure, where `f` says so."""
    if f.__annotations__.get("return") in (None, "None", "int", "bool", "float"):
        return made
    kind = annotated(f).get("return")
    return made if kind is None else wraps(f)(lambda *given: kind(made(*given)))
