"""Functions of text, and hashes of values.

Where a function takes a column, a plain string is the column's name; what to look for, or to put in, is plain text.

Rule: each function is one row of the table of operations.
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


def btrim(column: Given, these: Given = None) -> Column:
    """Without spaces, or these characters, at both ends.

    >>> btrim("x")
    Column<trim(x)>
    """
    return of("trim", column, None if these is None else text(these))


def char(column: Given) -> Column:
    """The character of a number, of its last eight bits.

    >>> char("x")
    Column<chr(x)>
    """
    return of("chr", column)


def concat_ws(separator: Given, *columns: Given) -> Column:
    """Those that are not null, a separator between.

    >>> concat_ws(", ", "x", "y")
    Column<concat_ws(', ', x, y)>
    """
    return of("concat_ws", text(separator), *columns)


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


def elt(number: Given, *columns: Given) -> Column:
    """The one of that number, from 1; null where there is none.

    >>> elt(1, "x", "y")
    Column<elt(1, x, y)>
    """
    return of("elt", number, *columns)


def find_in_set(column: Given, among: Given) -> Column:
    """Its number in a list with commas; 0 where it is not there.

    >>> find_in_set("x", "list")
    Column<find_in_set(x, list)>
    """
    return of("find_in_set", column, among)


def format_number(column: Given, digits: Given) -> Column:
    """With commas, and so many digits behind the point.

    >>> format_number("x", 2)
    Column<format_number(x, 2)>
    """
    return of("format_number", column, digits)


def format_string(form: Given, *columns: Given) -> Column:
    """Put into a format, as printf does: `format_string("%s: %05d", "name", "n")`.

    >>> format_string("%s!", "x", "y")
    Column<format_string('%s!', x, y)>
    """
    return of("format_string", text(form), *columns)


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


def initcap(column: Given) -> Column:
    """Each word with a capital.

    >>> initcap("x")
    Column<initcap(x)>
    """
    return of("initcap", column)


def instr(column: Given, part: Given) -> Column:
    """Where a text occurs, from 1; 0 where it does not.

    >>> instr("x", "a")
    Column<instr(x, 'a')>
    """
    return of("instr", column, text(part))


def locate(part: Given, column: Given, start: Given = 1) -> Column:
    """Where a text occurs, from a position on; 0 where it does not.

    >>> locate("a", "x")
    Column<locate('a', x, 1)>
    """
    return of("locate", text(part), column, start)


def position(part: Given, column: Given, start: Given = None) -> Column:
    """Where a text, which may be a column, occurs; 0 where it does not.

    >>> position("part", "x")
    Column<locate(part, x)>
    """
    return of("locate", part, column, start)


def levenshtein(column: Given, other: Given, most: Given = None) -> Column:
    """How many characters have to be put in, left out or replaced; -1 for more than a largest number.

    >>> levenshtein("x", "y")
    Column<levenshtein(x, y)>
    """
    return of("levenshtein", column, other, most)


def lpad(column: Given, length: Given, pad: Given = " ") -> Column:
    """Filled up at the start to a length, or cut to it.

    >>> lpad("x", 5)
    Column<lpad(x, 5, ' ')>
    """
    return of("lpad", column, length, text(pad))


def rpad(column: Given, length: Given, pad: Given = " ") -> Column:
    """Filled up at the end to a length, or cut to it.

    >>> rpad("x", 5)
    Column<rpad(x, 5, ' ')>
    """
    return of("rpad", column, length, text(pad))


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


def overlay(column: Given, by: Given, start: Given, length: Given = None) -> Column:
    """With another text in place of its characters from a position on.

    >>> overlay("x", "y", 2)
    Column<overlay(x, y, 2)>
    """
    return of("overlay", column, by, start, length)


def regexp_like(column: Given, pattern: Given) -> Column:
    """Whether a regular expression occurs in it; classes such as \\d are those of ASCII.

    >>> regexp_like("x", "[0-9]+")
    Column<regexp_like(x, '[0-9]+')>
    """
    return of("regexp_like", column, text(pattern))


def regexp_extract(column: Given, pattern: Given, group: Given = 1) -> Column:
    """A group of the first match; an empty text where there is none.

    >>> regexp_extract("x", "[0-9]+")
    Column<regexp_extract(x, '[0-9]+', 1)>
    """
    return of("regexp_extract", column, text(pattern), group)


def regexp_substr(column: Given, pattern: Given) -> Column:
    """The first match; null without one.

    >>> regexp_substr("x", "[0-9]+")
    Column<regexp_substr(x, '[0-9]+')>
    """
    return of("regexp_substr", column, text(pattern))


def regexp_count(column: Given, pattern: Given) -> Column:
    """How many matches there are.

    >>> regexp_count("x", "[0-9]+")
    Column<regexp_count(x, '[0-9]+')>
    """
    return of("regexp_count", column, text(pattern))


def regexp_instr(column: Given, pattern: Given, group: Given = None) -> Column:
    """Where the first match begins, from 1; 0 without one.

    >>> regexp_instr("x", "[0-9]+")
    Column<regexp_instr(x, '[0-9]+')>
    """
    return of("regexp_instr", column, text(pattern), group)


def regexp_replace(column: Given, pattern: Given, by: Given) -> Column:
    """Each match replaced; `$1` stands for a group of it.

    >>> regexp_replace("x", "[0-9]+", "y")
    Column<regexp_replace(x, '[0-9]+', 'y')>
    """
    return of("regexp_replace", column, text(pattern), text(by))


def repeat(column: Given, times: Given) -> Column:
    """So many times.

    >>> repeat("x", 3)
    Column<repeat(x, 3)>
    """
    return of("repeat", column, times)


def reverse(column: Given) -> Column:
    """From its end to its start.

    >>> reverse("x")
    Column<reverse(x)>
    """
    return of("reverse", column)


def soundex(column: Given) -> Column:
    """How an English word sounds: a letter and three digits.

    >>> soundex("x")
    Column<soundex(x)>
    """
    return of("soundex", column)


def split_part(column: Given, delimiter: Given, number: Given) -> Column:
    """The part of this number between delimiters, from the end for a negative one.

    >>> split_part("x", ",", 1)
    Column<split_part(x, ',', 1)>
    """
    return of("split_part", column, text(delimiter), number)


def substring_index(column: Given, delimiter: Given, count: Given) -> Column:
    """What stands before so many delimiters; behind, from the end, for a negative number.

    >>> substring_index("x", ",", 1)
    Column<substring_index(x, ',', 1)>
    """
    return of("substring_index", column, text(delimiter), count)


def translate(column: Given, these: Given, by: Given) -> Column:
    """Characters replaced by others, one for one; those without a counterpart go.

    >>> translate("x", "ab", "y")
    Column<translate(x, 'ab', 'y')>
    """
    return of("translate", column, text(these), text(by))


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
rlike = regexp_like
regexp = regexp_like
sha = sha1
try_url_decode = url_decode
printf = format_string
