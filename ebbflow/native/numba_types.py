"""Numba types: structures as the compiler sees them.

Each class of structures has a type, whose values are words: reading a
field is one load at a constant distance from the word, writing it one store, and a field that lies inside is the sum
of the two. A structure can be used as a number, and a number as a structure; neither costs an instruction.

Rule: what is compiled into a kernel depends on a class only by its layout, which is the type's name.
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

from llvmlite import ir
from numba import types
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import (
    lower_builtin,
    lower_cast,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    typeof_impl,
)

from ebbflow.native.llvm_memory import LLVM_WORD, load, store
from ebbflow.native.structs import CLASSES, Address, AddressClass, Field, Words

# ---- types and what they convert to -------------------------------------------------------------


class AddressType(types.Type):
    """The type of a structure's address; known by its layout, so that it can be kept without the class."""

    def __init__(self, layout: str):
        super().__init__(layout)

    @property
    def of(self) -> type[Address]:
        return CLASSES[self.name]

    def can_convert_to(self, context: Any, other: Any) -> Any:
        is_base = isinstance(other, AddressType) and issubclass(self.of, other.of)
        return Conversion.safe if other == types.int64 or is_base else None

    def can_convert_from(self, context: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, types.Integer) else None

    def unify(self, context: Any, other: Any) -> Any:
        if isinstance(other, AddressType):
            return other if issubclass(self.of, other.of) else self if issubclass(other.of, self.of) else None
        return self if isinstance(other, types.Integer) else None


@register_model(AddressType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, type_: Any):
        super().__init__(manager, type_, LLVM_WORD)


@lower_cast(AddressType, types.int64)
@lower_cast(AddressType, AddressType)
def _as_it_is(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return value


@lower_cast(types.Integer, AddressType)
def _as_address(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return context.cast(builder, value, given, types.int64)


def type_of(kind: type) -> Any:
    return AddressType(kind.LAYOUT) if issubclass(kind, Address) else types.int64


@infer_global(bool)
@infer_global(operator.not_)
class _Truth(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.boolean, args[0]) if isinstance(args[0], AddressType) else None


@lower_builtin(bool, AddressType)
def _is_there(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.icmp_signed("!=", args[0], LLVM_WORD(0))


@lower_builtin(operator.not_, AddressType)
def _is_nowhere(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.icmp_signed("==", args[0], LLVM_WORD(0))


# ---- a class in a kernel: `Node(word)`, `Node.SIZE` ------------------------------------------------


class ClassType(types.Callable, types.Opaque):
    def __init__(self, made: AddressType):
        self.made = made
        super().__init__(f"class {made.name}")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        fits = len(args) == 1 and not kws and isinstance(args[0], types.Integer | AddressType)
        return signature(self.made, types.int64) if fits else None

    def get_call_signatures(self) -> Any:
        return [signature(self.made, types.int64)], False

    def get_impl_key(self, sig: Any) -> Any:
        return ClassType


register_model(ClassType)(models.OpaqueModel)


@typeof_impl.register(AddressClass)
def _type_of_class(value: Any, c: Any) -> Any:
    return ClassType(AddressType(value.LAYOUT))


@lower_builtin(ClassType, types.int64)
def _made(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return args[0]


@infer_getattr
class _Size(AttributeTemplate):
    key = ClassType

    def resolve_SIZE(self, type_: ClassType) -> Any:
        return types.int64


@lower_getattr_generic(ClassType)
def _size(context: Any, builder: Any, type_: ClassType, value: Any, name: str) -> Any:
    return LLVM_WORD(type_.made.of.SIZE)


# ---- fields ---------------------------------------------------------------------------------------


@infer_getattr
class _Fields(AttributeTemplate):
    key = AddressType

    def generic_resolve(self, type_: AddressType, name: str) -> Any:
        field = type_.of.FIELDS.get(name)
        return None if field is None else type_of(field.kind)


def _place(builder: Any, type_: AddressType, value: Any, name: str) -> tuple[Field, Any]:
    field = type_.of.FIELDS[name]
    return field, builder.add(value, LLVM_WORD(field.offset), flags=["nsw"])


@lower_getattr_generic(AddressType)
def _get_field(context: Any, builder: Any, type_: AddressType, value: Any, name: str) -> Any:
    field, at = _place(builder, type_, value, name)
    return at if field.is_inside else load(context, builder, at)


@lower_setattr_generic(AddressType)
def _set_field(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    field, at = _place(builder, sig.args[0], args[0], name)
    if field.is_inside:
        raise TypeError(f"{name} lies inside {sig.args[0].name}, and cannot be another.")
    store(context, builder, at, args[1])


# ---- words and structures in a row -----------------------------------------------------------------


def is_words(type_: Any) -> bool:
    return isinstance(type_, AddressType) and type_.of is Words


@infer_global(operator.getitem)
class _Item(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], AddressType) and isinstance(args[1], types.Integer | AddressType):
            return signature(types.int64 if is_words(args[0]) else args[0], args[0], types.int64)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if is_words(args[0]) and isinstance(args[1], types.Integer | AddressType):
            return signature(types.none, args[0], types.int64, types.int64)
        return None


def _item(builder: Any, first: Any, i: Any) -> Any:
    """The address of word i: the terms of a sum are added to it one by one, as if it had been written `first + ...`."""
    if isinstance(i, ir.Instruction) and i.opname in ("add", "sub"):
        left, right = i.operands
        return getattr(builder, i.opname)(_item(builder, first, left), right, flags=["nsw"])
    return builder.add(first, i, flags=["nsw"])


@lower_builtin(operator.getitem, AddressType, types.int64)
def _get_item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    if is_words(sig.args[0]):
        return load(context, builder, _item(builder, *args))
    far = builder.mul(args[1], LLVM_WORD(sig.args[0].of.SIZE), flags=["nsw"])
    return builder.add(args[0], far, flags=["nsw"])


@lower_builtin(operator.setitem, AddressType, types.int64, types.int64)
def _set_item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return store(context, builder, _item(builder, args[0], args[1]), args[2])


class _Moved(AbstractTemplate):
    """`words + n` are words.  Asked before what is known of numbers, which words pass for."""

    metadata: ClassVar = {"target": "cpu"}

    def generic(self, args: Any, kws: Any) -> Any:
        if len(args) == 2 and is_words(args[0]) and isinstance(args[1], types.Integer):
            return signature(args[0], args[0], types.int64)
        return None


def _moving(operators: tuple[Any, ...], way: str) -> None:
    def move(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, way)(*args, flags=["nsw"])

    for one in operators:
        infer_global(one)(type("_Moved", (_Moved,), {}))
        lower_builtin(one, AddressType, types.int64)(move)


_moving((operator.add, operator.iadd), "add")
_moving((operator.sub, operator.isub), "sub")
