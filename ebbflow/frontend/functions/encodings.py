"""Functions of bytes, of text written in other forms, and hashes.

Rule: each function is one row of the table of operations; the bytes are those that Spark has.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column
from ebbflow.frontend.functions.calling import Given, of, text


def ascii(column: Given) -> Column:
    """The number of its first character; 0 of an empty text.

    >>> ascii("x")
    Column<ascii(x)>
    """
    return of("ascii", column)


def base64(column: Given) -> Column:
    """Its bytes in base 64.

    >>> base64("x")
    Column<base64(x)>
    """
    return of("base64", column)


def unbase64(column: Given) -> Column:
    """The bytes that are written in base 64; null where that fails.

    >>> unbase64("x")
    Column<unbase64(x)>
    """
    return of("unbase64", column)


def char(column: Given) -> Column:
    """The character of a number, of its last eight bits.

    >>> char("x")
    Column<chr(x)>
    """
    return of("chr", column)


def decode(column: Given, charset: Given) -> Column:
    """The text that bytes are in a charset, such as UTF-8; null where they are none.

    >>> decode("x", "UTF-8")
    Column<decode(x, 'UTF-8')>
    """
    return of("decode", column, text(charset))


def encode(column: Given, charset: Given) -> Column:
    """Its bytes in a charset, such as UTF-8; null where that has not all characters.

    >>> encode("x", "UTF-8")
    Column<encode(x, 'UTF-8')>
    """
    return of("encode", column, text(charset))


def hex(column: Given) -> Column:
    """A whole number, or the bytes of a text, in sixteens.

    >>> hex("x")
    Column<hex(x)>
    """
    return of("hex", column)


def unhex(column: Given) -> Column:
    """The bytes that are written in sixteens; null where that fails.

    >>> unhex("x")
    Column<unhex(x)>
    """
    return of("unhex", column)


def octet_length(column: Given) -> Column:
    """The number of its bytes.

    >>> octet_length("x")
    Column<octet_length(x)>
    """
    return of("octet_length", column)


def bit_length(column: Given) -> Column:
    """The number of its bits.

    >>> bit_length("x")
    Column<bit_length(x)>
    """
    return of("bit_length", column)


def url_encode(column: Given) -> Column:
    """As part of an address.

    >>> url_encode("x")
    Column<url_encode(x)>
    """
    return of("url_encode", column)


def url_decode(column: Given) -> Column:
    """From a part of an address; null where it is none.

    >>> url_decode("x")
    Column<url_decode(x)>
    """
    return of("url_decode", column)


def md5(column: Given) -> Column:
    """The MD5 of its bytes, in sixteens.

    >>> md5("x")
    Column<md5(x)>
    """
    return of("md5", column)


def sha1(column: Given) -> Column:
    """The SHA-1 of its bytes, in sixteens.

    >>> sha1("x")
    Column<sha1(x)>
    """
    return of("sha1", column)


def sha2(column: Given, bits: Given) -> Column:
    """The SHA-2 of its bytes, of 224, 256, 384 or 512 bits, in sixteens; 0 is 256.

    >>> sha2("x", 256)
    Column<sha2(x, 256)>
    """
    return of("sha2", column, bits)


def crc32(column: Given) -> Column:
    """The CRC-32 of its bytes.

    >>> crc32("x")
    Column<crc32(x)>
    """
    return of("crc32", column)


def hash(*columns: Given) -> Column:
    """The Murmur3 of all values, an int: Spark's.

    >>> hash("x", "y")
    Column<hash(x, y)>
    """
    return of("hash", *columns)


def xxhash64(*columns: Given) -> Column:
    """The xxHash of all values, a long: Spark's.

    >>> xxhash64("x", "y")
    Column<xxhash64(x, y)>
    """
    return of("xxhash64", *columns)


chr = char
sha = sha1
try_url_decode = url_decode
