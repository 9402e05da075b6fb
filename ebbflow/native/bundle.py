"""Bundle: the machine code of all kernels in one file, loaded at start.

Loading kernels one by one through Numba takes longer than a small program runs. A bundle is read, checked against its
digest and copied into place in milliseconds, without loading Numba or LLVM; where an image of the code cannot be used,
LLVM links the object files that the bundle holds as well.

Rule: a bundle is used whole or not at all; a damaged file is deleted.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ebbflow.native.abi import INSIDE, Signature, python_function
from ebbflow.native.code_image import Image, lay_out, load
from ebbflow.native.kernel_cache import get, put

Piece = tuple[Signature, str, bytes]  # a kernel seen from outside, the name of its function, its machine code


class Bundle:
    """Kernels that are in this process, ready to be called."""

    def __init__(self, path: Path, signatures: dict[str, Signature], address: Callable[[str], int]):
        self.path, self.signatures, self.address = path, signatures, address

    def function(self, symbol: str, doc: str | None) -> Callable[..., Any]:
        signature = self.signatures[symbol]
        if signature.gives == INSIDE:
            return only_inside(symbol)
        return python_function(signature, self.address(signature.entry), doc)


def only_inside(symbol: str) -> Callable[..., Any]:
    def refuse(*arguments: Any) -> None:
        raise TypeError(f"{symbol} can only be called by another kernel.")

    return refuse


# ---- as a file: what it holds, the image, the functions that Python calls, then the kernels; each behind its length


def write(path: Path, pieces: list[Piece], entries: bytes) -> None:
    """Keep all kernels; `entries` is the machine code of the functions that Python calls."""
    objects = [entries, *(code for _, _, code in pieces)]
    image = lay_out(objects, {signature.symbol: native for signature, native, _ in pieces})
    listing = {
        "kernels": [[seen.symbol, seen.gives, native, *seen.takes] for seen, native, _ in pieces],
        "outside": image.outside if image else {},
        "functions": image.functions if image else {},
    }
    parts = [json.dumps(listing).encode(), image.code if image else b"", image.own.tobytes() if image else b""]
    put(path, _joined([*parts, *objects]))


def read(path: Path) -> Bundle | None:
    """The bundle in a file, loaded; None when there is none, or none that is whole."""
    data = get(path)
    if data is None:
        return None
    head, code, own, *objects = _parts(data)
    listing = json.loads(head)
    pieces = [(Signature(symbol, tuple(takes), gives), native) for symbol, gives, native, *takes in listing["kernels"]]
    signatures = {signature.symbol: signature for signature, _ in pieces}
    functions = listing["functions"]
    base = load(Image(code, np.frombuffer(own, np.int64), listing["outside"], functions)) if code else None
    if base is not None:
        return Bundle(path, signatures, lambda name: base + int(functions[name]))
    if not objects:
        return None
    return Bundle(path, signatures, _linked([native for _, native in pieces], list(signatures), objects))


def _linked(natives: list[str], symbols: list[str], objects: list[bytes]) -> Callable[[str], int]:
    """The object files linked by LLVM, callees before their callers; where each function is."""
    from ebbflow.native.linker import Linker  # it takes 100 MB, and is needed only where no image can be loaded

    linker = Linker()
    entries, *kernels = objects
    for symbol, native, code in zip(symbols, natives, kernels, strict=True):
        linker.link(code)
        linker.name(symbol, native)
    linker.link(entries)
    return linker.address


def image_only(data: bytes) -> bytes | None:
    """A bundle's bytes without its object files; None if it has no image."""
    head, code, own, *_ = _parts(data)
    return _joined([head, code, own]) if code else None


def _joined(parts: list[bytes]) -> bytes:
    return b"".join(struct.pack("<q", len(part)) + part for part in parts)


def _parts(data: bytes) -> list[bytes]:
    found = []
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<q", data, at)
        found.append(data[at + 8 : at + 8 + length])
        at += 8 + length
    return found
