"""Bundle: the machine code of all kernels in one file, linked at start.

Loading kernels one by one through Numba takes longer than a small program runs. A bundle is read, checked against its
digest and linked in a tenth of a second, without loading Numba.

Rule: a bundle is used whole or not at all; a damaged file is deleted.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ebbflow.native.abi import INSIDE, Linker, Signature, python_function
from ebbflow.native.kernel_cache import get, put

Piece = tuple[Signature, str, bytes]  # a kernel seen from outside, the name of its function, its machine code


class Bundle:
    """Kernels that are linked into this process; callees before their callers."""

    def __init__(self, pieces: list[Piece], entries: bytes):
        self.linker = Linker()
        self.signatures = {signature.symbol: signature for signature, _, _ in pieces}
        for signature, native, code in pieces:
            self.linker.link(code)
            self.linker.name(signature.symbol, native)
        self.linker.link(entries)

    def function(self, symbol: str, doc: str | None) -> Callable[..., Any]:
        signature = self.signatures[symbol]
        if signature.gives == INSIDE:
            return only_inside(symbol)
        return python_function(signature, self.linker.address(signature.entry), doc)


def only_inside(symbol: str) -> Callable[..., Any]:
    def refuse(*arguments: Any) -> None:
        raise TypeError(f"{symbol} can only be called by another kernel.")

    return refuse


# ---- as a file: each part behind its length


def write(path: Path, pieces: list[Piece], entries: bytes) -> None:
    parts = [entries]
    for signature, native, code in pieces:
        parts += [" ".join([signature.symbol, signature.gives, native, *signature.takes]).encode(), code]
    put(path, b"".join(struct.pack("<q", len(part)) + part for part in parts))


def read(path: Path) -> Bundle | None:
    """The bundle in a file, linked; None when there is none, or none that is whole."""
    data = get(path)
    if data is None:
        return None
    entries, *rest = _parts(data)
    pieces: list[Piece] = []
    for described, code in zip(rest[::2], rest[1::2], strict=True):
        symbol, gives, native, *takes = described.decode().split(" ")
        pieces.append((Signature(symbol, tuple(takes), gives), native, code))
    return Bundle(pieces, entries)


def _parts(data: bytes) -> list[bytes]:
    found = []
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<q", data, at)
        found.append(data[at + 8 : at + 8 + length])
        at += 8 + length
    return found
