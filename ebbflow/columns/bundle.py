"""All compiled kernels in one file, and linked from it.

Loading kernels one by one through the compiler takes longer than anything a small program does; a bundle is read,
checked and linked in a tenth of a second, without it.

Rule: a bundle is whole or it is not used; what is damaged is thrown away.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ebbflow.columns.border import INSIDE, Border, Linker, python_function
from ebbflow.columns.kept import get, put

Piece = tuple[Border, str, bytes]  # a kernel seen from outside, the name of its function, its machine code


class Bundle:
    """Kernels that are linked into this process; callees before their callers."""

    def __init__(self, pieces: list[Piece], entries: bytes):
        self.linker = Linker()
        self.borders = {border.symbol: border for border, _, _ in pieces}
        for border, native, code in pieces:
            self.linker.link(code)
            self.linker.name(border.symbol, native)
        self.linker.link(entries)

    def function(self, symbol: str, doc: str | None) -> Callable[..., Any]:
        border = self.borders[symbol]
        if border.gives == INSIDE:
            return only_inside(symbol)
        return python_function(border, self.linker.address(border.entry), doc)


def only_inside(symbol: str) -> Callable[..., Any]:
    def refuse(*arguments: Any) -> None:
        raise TypeError(f"{symbol} can only be called by another kernel.")

    return refuse


# ---- as a file: each part behind its length


def write(path: Path, pieces: list[Piece], entries: bytes) -> None:
    parts = [entries]
    for border, native, code in pieces:
        parts += [" ".join([border.symbol, border.gives, native, *border.takes]).encode(), code]
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
        pieces.append((Border(symbol, tuple(takes), gives), native, code))
    return Bundle(pieces, entries)


def _parts(data: bytes) -> list[bytes]:
    found = []
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<q", data, at)
        found.append(data[at + 8 : at + 8 + length])
        at += 8 + length
    return found
