"""Code image: the machine code of all kernels as one block, laid out once and copied into place at start.

The object files of kernels refer to each other by name. Laying them out resolves these names to positions in the
block; what is left to do at start is to add the block's address to some words, and to fill in the addresses of Python's
functions and the system's. That takes a few milliseconds and no linker.

Rule: an image is made only of what this module understands in full (ELF objects for x86-64 that refer to others by
whole addresses); for anything else `lay_out` answers None and the object files are linked by LLVM.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from dataclasses import dataclass

import numpy as np

from ebbflow.native.abi import OBJECTS, WORDS_ADDRESS, WORDS_AT

ELF_64 = b"\x7fELF\x02\x01"  # 64 bits, little end first
X86_64 = 62
ABSOLUTE_64 = 1  # the one kind of relocation: a whole address
SYMBOLS, RELOCATIONS, NO_BITS = 2, 4, 8  # types of sections
IN_MEMORY = 2  # a section's flag
NO_SECTION, RESERVED_SECTIONS = 0, 0xFF00  # indexes of sections
SYMBOL, RELOCATION, SECTION = struct.Struct("<IBBHQQ"), struct.Struct("<QQq"), struct.Struct("<IIQQQQIIQQ")
ALIGN_TO = 64


@dataclass(frozen=True)
class Image:
    """Machine code that is valid at any address once its own and the outside's addresses are filled in."""

    code: bytes
    own: np.ndarray  # offsets of words to which the image's address is added
    outside: dict[str, list[int]]  # offsets of words to which the address of a name is added
    functions: dict[str, int]  # where each function begins


# ---- laying out


class _NotUnderstood(Exception):
    """Something in an object file that this module has no rule for."""


class _Object:
    """One object file: its sections with a place in the image, and its symbols."""

    def __init__(self, data: bytes, code: bytearray):
        if data[:6] != ELF_64 or struct.unpack_from("<H", data, 18)[0] != X86_64:
            raise _NotUnderstood
        self.data = data
        (first,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        self.sections = [SECTION.unpack_from(data, first + size * i) for i in range(count)]
        self.starts: dict[int, int] = {}
        for i, (name, type_, flags, _, offset, length, *_, align, _) in enumerate(self.sections):
            if flags & IN_MEMORY and self._text(names, name) != ".eh_frame":  # nothing is ever unwound
                code.extend(bytes(-len(code) % max(align, ALIGN_TO)))
                self.starts[i] = len(code)
                code.extend(bytes(length) if type_ == NO_BITS else data[offset : offset + length])
        self.symbols: list[tuple[str, int | None]] = []  # name, and position in the image
        for _, type_, _, _, offset, length, texts, _, _, _ in self.sections:
            if type_ == SYMBOLS:
                entries = [SYMBOL.unpack_from(data, offset + at) for at in range(0, length, SYMBOL.size)]
                self.symbols = [
                    (self._text(texts, name), self._position(section, value))
                    for name, _, _, section, value, _ in entries
                ]

    def _position(self, section: int, value: int) -> int | None:
        if section == NO_SECTION or section >= RESERVED_SECTIONS or section not in self.starts:
            return None
        return self.starts[section] + value

    def _text(self, section: int, at: int) -> str:
        start = self.sections[section][4] + at
        return self.data[start : self.data.index(b"\0", start)].decode()

    def references(self) -> list[tuple[int, int, int]]:
        """Where the image needs an address: the position, the symbol's number, what is added to it."""
        found = []
        for _, type_, _, _, offset, length, _, target, _, _ in self.sections:
            if type_ == RELOCATIONS and target in self.starts:
                for at in range(0, length, RELOCATION.size):
                    where, info, addend = RELOCATION.unpack_from(self.data, offset + at)
                    if info & 0xFFFFFFFF != ABSOLUTE_64:
                        raise _NotUnderstood
                    found.append((self.starts[target] + where, info >> 32, addend))
        return found


def lay_out(objects: list[bytes], natives: dict[str, str]) -> Image | None:
    """One image of all object files; None if something in them is not understood.

    natives: by the symbol under which a kernel is called, the name under which its object file defines it.
    """
    code = bytearray()
    try:
        parts = [_Object(data, code) for data in objects]
        defined = {name: at for part in parts for name, at in part.symbols if name and at is not None}
        functions = {symbol: defined[native] for symbol, native in natives.items()}
        functions |= {name: at for name, at in defined.items() if name.startswith("python.")}
        own: list[int] = []
        outside: dict[str, list[int]] = {}
        for part in parts:
            for position, number, addend in part.references():
                name, at = part.symbols[number]
                at = functions.get(name) if at is None else at
                if at is None:
                    if not name:
                        raise _NotUnderstood
                    outside.setdefault(name, []).append(position)
                else:
                    own.append(position)
                struct.pack_into("<Q", code, position, ((at or 0) + addend) % 2**64)
    except (_NotUnderstood, KeyError, IndexError, ValueError, struct.error):
        return None
    return Image(bytes(code), np.array(own, np.int64), outside, functions)


# ---- loading


def load(image: Image) -> int | None:
    """Where the image's code begins in this process; None if the system does not let it in."""
    length = -(-len(image.code) // mmap.PAGESIZE) * mmap.PAGESIZE
    try:
        block = mmap.mmap(-1, length, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
        outside = {name: _address(name) for name in image.outside}
    except (OSError, ValueError, AttributeError):
        return None
    block[: len(image.code)] = image.code
    code = np.frombuffer(block, np.uint8)
    base = code.ctypes.data
    _add(code, image.own, base)
    for name, positions in image.outside.items():
        _add(code, np.array(positions, np.int64), outside[name])
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(block))  # never unmapped: threads may run it while the process ends
    system = ctypes.CDLL(None, use_errno=True)
    if system.mprotect(ctypes.c_void_p(base), ctypes.c_size_t(length), mmap.PROT_READ | mmap.PROT_EXEC):
        return None
    return base


def _add(code: np.ndarray, positions: np.ndarray, address: int) -> None:
    """Add an address to the words at some positions, which need not be aligned."""
    bytes_ = positions[:, None] + np.arange(8)
    words = code[bytes_].view("<u8") + np.uint64(address)
    code[bytes_] = words.view(np.uint8)


def _address(name: str) -> int:
    """The address of a name outside of the image: one of our own, Python's or the system's."""
    if name in OBJECTS:
        return id(OBJECTS[name])
    known = {WORDS_AT: WORDS_ADDRESS, "NRT_MemInfo_call_dtor": 1}  # the latter for arrays that own memory; none does
    if name in known:
        return known[name]
    library = ctypes.pythonapi if name.startswith("Py") else ctypes.CDLL(None)
    found = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    if not found:
        raise AttributeError(name)
    return found
