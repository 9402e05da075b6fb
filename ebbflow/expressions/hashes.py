"""Hashes of values, byte for byte those of Spark.

Rule: `hash` and `xxhash64` go from one argument to the next with the hash so far as seed, which starts at 42; a null
leaves it as it is.  A value is hashed by the bytes that Spark keeps it in, so its type counts: a 1 as an int and as a
long differ.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from ebbflow.columns.ddl import type_of
from ebbflow.columns.ranges import EPOCH, EXACT_DECIMALS
from ebbflow.columns.schema import Type
from ebbflow.expressions.signature import Function

SEED = 42
_32, _64 = 2**32 - 1, 2**64 - 1


def sha2(x: str | bytes, bits: int) -> str | None:
    sizes = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}
    return hashlib.new(sizes[bits], _bytes(x)).hexdigest() if bits in sizes else None


def _bytes(x: str | bytes) -> bytes:
    return x.encode() if isinstance(x, str) else x


# ---- one value as bytes ---------------------------------------------------------------------


def _parts(value: Any, kind: str) -> tuple[str, Any]:
    """How a value is hashed: as four bytes, as eight, or as a text of bytes."""
    if isinstance(value, bool) or kind in ("int", "short", "byte"):
        return "int", int(value)
    if kind == "float":
        return "int", struct.unpack("<i", struct.pack("<f", value + 0.0))[0]
    if kind == "double":
        return "long", struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    if isinstance(value, datetime):
        return "long", (value - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return "int", (value - EPOCH.date()).days
    if isinstance(value, Decimal):
        precision, scale = map(int, kind[8:-1].split(","))
        units = int(value.scaleb(scale, EXACT_DECIMALS))
        if precision <= 18:
            return "long", units
        return "bytes", units.to_bytes((units if units >= 0 else ~units).bit_length() // 8 + 1, "big", signed=True)
    return ("long", value) if isinstance(value, int) else ("bytes", _bytes(value))


def _hashed(of: dict[str, Callable[[Any, int], int]], bits: int, values: tuple[Any, ...], types: str) -> int:
    found = SEED
    for value, kind in zip(values, _divided(types), strict=True):
        found = _going_on(of, value, kind, found)
    return found - (1 << bits) if found >> (bits - 1) else found


def _going_on(of: dict[str, Callable[[Any, int], int]], value: Any, kind: str, found: int) -> int:
    """The hash after a value, of an array after its elements, of a struct after its fields."""
    if value is None:
        return found
    if "<" in kind:
        for part, inner in _parts_of(value, type_of(kind)):
            found = _going_on(of, part, str(inner), found)
        return found
    how, word = _parts(value, kind)
    return of[how](word, found)


def _parts_of(value: Any, kind: Type) -> Iterator[tuple[Any, Type]]:
    inner = [part for _, part in kind.parts]
    if kind.name == "array":
        return ((part, inner[0]) for part in value)
    if kind.name == "struct":
        return zip(value, inner, strict=True)
    return (each for pair in value for each in zip(pair, inner, strict=True))


def _divided(types: str) -> list[str]:
    """Types between spaces; a name within one may have spaces of its own."""
    found, depth, is_quoted = [""], 0, False
    for letter in types:
        is_quoted ^= letter == "`"
        depth += 0 if is_quoted else (letter in "<(") - (letter in ">)")
        if letter == " " and depth == 0 and not is_quoted:
            found.append("")
        else:
            found[-1] += letter
    return found


def murmur(*given: Any) -> int:
    return _hashed({"int": _murmur_int, "long": _murmur_long, "bytes": _murmur_bytes}, 32, given[:-1], given[-1])


def xxhash64(*given: Any) -> int | None:
    found = _hashed({"int": _xx_int, "long": _xx_long, "bytes": _xx_bytes}, 64, given[:-1], given[-1])
    return None if found == -(2**63) else found


# ---- murmur3, of 32 bits --------------------------------------------------------------------


def _turned(x: int, by: int, mask: int = _32, bits: int = 32) -> int:
    x &= mask
    return (x << by | x >> (bits - by)) & mask


def _mixed(k: int, h: int) -> int:
    k = _turned(k * 0xCC9E2D51, 15) * 0x1B873593 & _32
    return (_turned(h ^ k, 13) * 5 + 0xE6546B64) & _32


def _finished(h: int, length: int) -> int:
    h ^= length
    h = (h ^ h >> 16) * 0x85EBCA6B & _32
    h = (h ^ h >> 13) * 0xC2B2AE35 & _32
    return h ^ h >> 16


def _murmur_int(x: int, seed: int) -> int:
    return _finished(_mixed(x & _32, seed), 4)


def _murmur_long(x: int, seed: int) -> int:
    return _finished(_mixed(x >> 32 & _32, _mixed(x & _32, seed)), 8)


def _murmur_bytes(x: bytes, seed: int) -> int:
    """Four bytes at a time, then each that is left, as a signed number, by itself."""
    whole = len(x) - len(x) % 4
    h = seed
    for at in range(0, whole, 4):
        h = _mixed(int.from_bytes(x[at : at + 4], "little"), h)
    for byte in x[whole:]:
        h = _mixed((byte - 256 if byte > 127 else byte) & _32, h)
    return _finished(h, len(x))


# ---- xxhash, of 64 bits ---------------------------------------------------------------------

_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _turn64(x: int, by: int) -> int:
    return _turned(x, by, _64, 64)


def _round(so_far: int, word: int) -> int:
    return _turn64(so_far + word * _P2, 31) * _P1 & _64


def _end64(h: int) -> int:
    h = (h ^ h >> 33) * _P2 & _64
    h = (h ^ h >> 29) * _P3 & _64
    return h ^ h >> 32


def _xx_int(x: int, seed: int) -> int:
    h = (seed + _P5 + 4) & _64
    h ^= (x & _32) * _P1 & _64
    return _end64((_turn64(h, 23) * _P2 + _P3) & _64)


def _xx_long(x: int, seed: int) -> int:
    h = (seed + _P5 + 8) & _64
    h ^= _round(0, x & _64)
    return _end64((_turn64(h, 27) * _P1 + _P4) & _64)


def _xx_bytes(x: bytes, seed: int) -> int:
    at, h = 0, (seed + _P5) & _64
    if len(x) >= 32:
        lanes = [(seed + start) & _64 for start in (_P1 + _P2, _P2, 0, -_P1)]
        while at + 32 <= len(x):
            for i in range(4):
                lanes[i] = _round(lanes[i], int.from_bytes(x[at + 8 * i : at + 8 * i + 8], "little"))
            at += 32
        h = sum(_turn64(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _64
        for lane in lanes:
            h = ((h ^ _round(0, lane)) * _P1 + _P4) & _64
    h = (h + len(x)) & _64
    while at + 8 <= len(x):
        h = (_turn64(h ^ _round(0, int.from_bytes(x[at : at + 8], "little")), 27) * _P1 + _P4) & _64
        at += 8
    if at + 4 <= len(x):
        h ^= int.from_bytes(x[at : at + 4], "little") * _P1 & _64
        h = (_turn64(h, 23) * _P2 + _P3) & _64
        at += 4
    for byte in x[at:]:
        h = _turn64(h ^ byte * _P5 & _64, 11) * _P1 & _64
    return _end64(h)


# ---- the table ------------------------------------------------------------------------------

HASH_FUNCTIONS = (
    Function("md5", "bytes", "string", "the MD5 of its bytes, in sixteens",
             lambda x: hashlib.md5(_bytes(x)).hexdigest()),
    Function("sha1", "bytes", "string", "the SHA-1 of its bytes, in sixteens",
             lambda x: hashlib.sha1(_bytes(x)).hexdigest(), also="sha"),
    Function("sha2", "bytes int", "string", "the SHA-2 of so many bits, in sixteens; 0 is 256", sha2),
    Function("crc32", "bytes", "long", "the CRC-32 of its bytes", lambda x: zlib.crc32(_bytes(x))),
    Function("hash", "any any*", "int", "the Murmur3 of all values, in 32 bits", murmur, sees_null=True,
             of_types=True),
    Function("xxhash64", "any any*", "long", "the xxHash of all values, in 64 bits", xxhash64, sees_null=True,
             of_types=True),
)  # fmt: skip
