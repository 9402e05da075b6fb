"""Functions of text, with Spark's meanings.

Texts are interned, so each of these is computed once for a distinct text (or combination of arguments) of a batch, not
once a row.

Rule: positions count characters from 1; what sticks out of a text is cut off; regular expressions are read by Python,
in which classes such as \\d and \\w are those of ASCII, as in Java.
"""

from __future__ import annotations

import base64
import math
import re
import urllib.parse
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from ebbflow.columns.schema import BINARY, STRING, Type
from ebbflow.expressions import reference as m
from ebbflow.expressions.regular_expressions import (
    regexp_count,
    regexp_extract,
    regexp_instr,
    regexp_like,
    regexp_replace,
    regexp_substr,
)
from ebbflow.expressions.signature import Function
from ebbflow.expressions.typed import Expr
from ebbflow.expressions.value_casts import cast_value

LONGEST_TEXT = 2**31 - 1  # of a text, in bytes


# ---- parts ----------------------------------------------------------------------------------


def initcap(x: str) -> str:
    """Words begin in title case and go on in small letters; a word is what stands between spaces."""
    return " ".join(word[:1].title() + word[1:] for word in x.lower().split(" "))


def instr(x: str, part: str) -> int:
    return x.find(part) + 1


def locate(part: str, x: str, start: int = 1) -> int:
    """An empty text is found at once, wherever the search begins."""
    if start < 1:
        return 0
    return x.find(part, start - 1) + 1 if part else 1


def split_part(x: str, by: str, number: int) -> str | None:
    """From the end for a negative number; nothing where there is no such part, null for part 0."""
    if number == 0:
        return None
    parts = x.split(by) if by else [x]
    at = number - 1 if number > 0 else len(parts) + number
    return parts[at] if 0 <= at < len(parts) else ""


def substring_index(x: str, by: str, count: int) -> str:
    """What stands before so many delimiters; behind, counted from the end, for a negative number."""
    if not by or not count:
        return ""
    if count > 0:
        found = -1
        for _ in range(count):
            found = x.find(by, found + 1)
            if found < 0:
                return x
        return x[:found]
    at = len(x) - len(by) + 1
    for _ in range(-count):
        at = x.rfind(by, 0, at - 1 + len(by)) if at > 0 else -1
        if at < 0:
            return x
    return x[at + len(by) :]


def overlay(x: Any, by: Any, at: int, length: int = -1) -> Any:
    length = len(by) if length < 0 else length
    return m.substr(x, 1, at - 1) + by + m.substr(x, at + length, LONGEST_TEXT)


def find_in_set(x: str, among: str) -> int:
    return 0 if "," in x else among.split(",").index(x) + 1 if x in among.split(",") else 0


def elt(*values: Any) -> Any:
    """The one of that number; null where there is none."""
    number, *texts = values
    return texts[number - 1] if number is not None and 1 <= number <= len(texts) else None


# ---- changed text ---------------------------------------------------------------------------


def lpad(x: Any, length: int, pad: Any | None = None) -> Any:
    return _padding(x, length, pad) + x if length > len(x) else x[: max(length, 0)]


def rpad(x: Any, length: int, pad: Any | None = None) -> Any:
    return x + _padding(x, length, pad) if length > len(x) else x[: max(length, 0)]


def _padding(x: Any, length: int, pad: Any | None) -> Any:
    if pad is None:
        pad = b"\0" if isinstance(x, bytes) else " "
    if not pad:
        return pad
    more = length - len(x)
    _fits(length)
    return (pad * (more // len(pad) + 1))[:more]


def _fits(length: int) -> None:
    if length > LONGEST_TEXT // 4:
        raise OverflowError(f"a text of {length} characters has no room")


def repeat(x: str, times: int) -> str:
    _fits(len(x) * max(times, 0))
    return x * max(times, 0)


def space(n: int) -> str:
    return repeat(" ", n)


def translate(x: str, these: str, by: str) -> str:
    """Each character replaced by the one at its place; those without a counterpart go."""
    table: dict[int, str | None] = {}
    for i, letter in enumerate(these):
        table.setdefault(ord(letter), by[i] if i < len(by) else None)
    return x.translate(table)


def concat_ws(*values: str | None) -> str | None:
    """The values that are there, with a separator between; null without one."""
    by, *parts = values
    return None if by is None else by.join(part for part in parts if part is not None)


# ---- likeness -------------------------------------------------------------------------------


def levenshtein(one: str, two: str, most: int | None = None) -> int:
    """How many characters have to be put in, left out or replaced; -1 where that is more than `most`."""
    before = list(range(len(two) + 1))
    for i, letter in enumerate(one, 1):
        now = [i]
        for j, other in enumerate(two, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (letter != other)))
        before = now
    return before[-1] if most is None or before[-1] <= most else -1


_SOUNDS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))


def soundex(x: str) -> str:
    """A letter and three digits for how an English word sounds; a text that begins with no letter stays."""
    first = x[:1].upper() if x[:1].isascii() else ""
    if first not in _SOUNDS:
        return x
    found, last = first, _SOUNDS[first]
    for letter in x[1:]:
        code = _SOUNDS.get(letter.upper() if letter.isascii() else "")
        if code is None:
            last = "0"
        elif code == "7":  # h and w do not part equal sounds
            continue
        else:
            if code not in ("0", last):
                found += code
                if len(found) == 4:
                    return found
            last = code
    return found.ljust(4, "0")


# ---- codes ----------------------------------------------------------------------------------


def ascii(x: str) -> int:
    return ord(x[0]) if x else 0


def char(n: int) -> str:
    return "" if n < 0 else chr(n & 0xFF)


def hexadecimal(x: Any) -> str:
    if isinstance(x, int):
        return f"{x & 0xFFFF_FFFF_FFFF_FFFF:X}"
    return (x.encode() if isinstance(x, str) else x).hex().upper()


def unhex(x: str) -> bytes | None:
    try:
        return bytes.fromhex("0" * (len(x) % 2) + x) if not re.search(r"\s", x) else None
    except ValueError:
        return None


def from_base64(x: str) -> bytes | None:
    """Null where it is none, as try_to_binary; line breaks do not count."""
    try:
        text = re.sub(r"\s", "", x)
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return None


CHARSETS = {"utf-8": "utf-8", "us-ascii": "ascii", "iso-8859-1": "latin-1", "utf-16be": "utf-16-be",
            "utf-16le": "utf-16-le", "utf-16": "utf-16"}  # fmt: skip


def encode(x: str | bytes, charset: str) -> bytes | None:
    """Null for a text with characters that the charset has not, and for a charset that is not known."""
    text, known = x.decode() if isinstance(x, bytes) else x, CHARSETS.get(charset.lower())
    try:
        found = text.encode(known) if known else None
    except UnicodeEncodeError:
        return None
    return b"\xfe\xff" + text.encode("utf-16-be") if known == "utf-16" and text else found if known != "utf-16" else b""


def decode(x: str | bytes, charset: str) -> str | None:
    known = CHARSETS.get(charset.lower())
    try:
        return (x.encode() if isinstance(x, str) else x).decode(known) if known else None
    except UnicodeDecodeError:
        return None


def url_decode(x: str) -> str | None:
    try:
        return None if re.search(r"%(?![0-9a-fA-F]{2})", x) else urllib.parse.unquote_plus(x, errors="strict")
    except UnicodeDecodeError:
        return None


def url_encode(x: str) -> str:
    return urllib.parse.quote_plus(x, safe="*-._").replace("~", "%7E")


# ---- regular expressions --------------------------------------------------------------------


# ---- formats --------------------------------------------------------------------------------


def format_number(x: Any, digits: int) -> str | None:
    """With commas, and so many digits behind the point (up to 400); halves go to the even neighbour."""
    if not 0 <= digits <= 400:
        return None
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if x != x else "∞" if x > 0 else "-∞"
    exact = _rounded(Decimal(x), digits, ROUND_HALF_EVEN)
    shown = f"{exact.copy_abs():,f}"
    return f"-{shown}" if exact < 0 or (exact == 0 and x < 0) else shown


def _rounded(x: Decimal, digits: int, how: str) -> Decimal:
    return x.quantize(Decimal(1).scaleb(-digits), context=Context(prec=1000, rounding=how))


_FORMAT = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


def format_string(*values: Any) -> str | None:
    """As Java's printf, of text, whole numbers, numbers with a point and booleans; null where it does not fit."""
    form, *args = values
    if form is None:
        return None
    taken = iter(args)
    try:
        return _FORMAT.sub(lambda found: _shown(found, args, taken), form)
    except (ValueError, TypeError, StopIteration, IndexError, OverflowError):
        return None


def _shown(found: re.Match[str], args: Sequence[Any], taken: Any) -> str:
    at, flags, width, digits, letter = found.groups()
    if letter in "%n":
        return {"%": "%", "n": "\n"}[letter]
    value = args[int(at) - 1] if at else next(taken)
    text = _converted(value, letter, flags, digits)
    if "0" in flags and width and value is not None:
        sign = text[: len(text) - len(text.lstrip("+- ("))]
        return sign + text[len(sign) :].rjust(int(width) - len(sign), "0")
    size = int(width or 0)
    return text.ljust(size) if "-" in flags else text.rjust(size)


def _converted(value: Any, letter: str, flags: str, digits: str | None) -> str:
    kind = letter.lower()
    if kind == "b":
        text = str(value is True or (value is not None and not isinstance(value, bool))).lower()
    elif kind == "s":
        text = ("null" if value is None else cast_value(value, "string"))[: int(digits) if digits else None]
    elif value is None:
        text = "null"[: int(digits) if digits else None]
    elif kind == "c":
        text = value if isinstance(value, str) else chr(value)
    elif kind in "dxo":
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(value)
        text = (
            _signed(f"{abs(value):{',' if ',' in flags else ''}}", value < 0, flags)
            if kind == "d"
            else (f"{value & (2**64 - 1):{kind}}")
        )
    elif kind in "fe" and isinstance(value, float | Decimal):
        text = _pointed(value, kind, flags, int(digits or 6))
    else:
        raise TypeError(value)
    return text.upper() if letter.isupper() else text


def _pointed(value: float | Decimal, kind: str, flags: str, digits: int) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    if kind == "f":
        text = f"{_rounded(exact, digits, ROUND_HALF_UP).copy_abs():{',' if ',' in flags else ''}f}"
    else:
        text = f"{abs(value):.{digits}e}"
    return _signed(text, value < 0, flags)


def _signed(text: str, negative: bool, flags: str) -> str:
    if negative:
        return f"({text})" if "(" in flags else f"-{text}"
    return f"+{text}" if "+" in flags else f" {text}" if " " in flags else text


# ---- the table ------------------------------------------------------------------------------


def _same_text(args: Sequence[Expr]) -> Type:
    return BINARY if args[0].type == BINARY else STRING


def _row(name: str, takes: str, gives: Any, says: str, fn: Callable[..., Any], also: str = "") -> Function:
    return Function(name, takes, gives, says, fn, also=also)


TEXT_FUNCTIONS = (
    _row("ascii", "text", "int", "the number of its first character; 0 of an empty text", ascii),
    _row("chr", "int", "string", "the character of a number, of its last eight bits", char, "char"),
    _row("base64", "bytes", "string", "its bytes in base 64", lambda x: base64.b64encode(_bytes(x)).decode()),
    _row("unbase64", "text", "binary", "the bytes that are written in base 64; null where that fails", from_base64),
    _row("hex", "coded", "string", "a whole number, or the bytes of a text, in sixteens", hexadecimal),
    _row("unhex", "text", "binary", "the bytes that are written in sixteens; null where that fails", unhex),
    _row("encode", "text text", "binary", "a text in a charset; null where it has not these characters", encode),
    _row("decode", "bytes text", "string", "the text that bytes are in a charset; null where they are none", decode),
    _row("url_encode", "text", "string", "as part of an address", url_encode),
    _row("url_decode", "text", "string", "from a part of an address; null where it is none", url_decode,
         "try_url_decode"),
    _row("initcap", "text", "string", "each word with a capital", initcap),
    _row("instr", "text text", "int", "where a text occurs, from 1; 0 where it does not", instr),
    _row("split_part", "text text int", "string", "the part of this number between delimiters", split_part),
    _row("substring_index", "text text int", "string", "what stands before so many delimiters", substring_index),
    _row("overlay", "bytes bytes int int?", _same_text, "with a part replaced", overlay),
    _row("find_in_set", "text text", "int", "its number in a list with commas", find_in_set),
    _row("lpad", "bytes int bytes?", _same_text, "filled up at the start to a length", lpad),
    _row("rpad", "bytes int bytes?", _same_text, "filled up at the end to a length", rpad),
    _row("repeat", "text int", "string", "so many times", repeat),
    _row("space", "int", "string", "so many spaces", space),
    _row("translate", "text text text", "string", "characters replaced by others, one for one", translate),
    _row("levenshtein", "text text int?", "int", "how many characters differ; -1 beyond a largest number", levenshtein),
    _row("soundex", "text", "string", "how an English word sounds", soundex),
    _row("bit_length", "bytes", "int", "the number of its bits", lambda x: 8 * len(_bytes(x))),
    _row("octet_length", "bytes", "int", "the number of its bytes", lambda x: len(_bytes(x))),
    _row("regexp_like", "text text!", "boolean", "whether a regular expression occurs in it", regexp_like,
         "rlike regexp"),
    _row("regexp_extract", "text text! int?", "string", "a group of the first match", regexp_extract),
    _row("regexp_substr", "text text!", "string", "the first match; null without one", regexp_substr),
    _row("regexp_count", "text text!", "int", "how many matches there are", regexp_count),
    _row("regexp_instr", "text text! int?", "int", "where the first match begins, from 1", regexp_instr),
    _row("regexp_replace", "text text! text int?", "string", "each match replaced; $1 is a group", regexp_replace),
    _row("format_number", "number int", "string", "with commas, and so many digits behind the point", format_number),
    Function("locate", "text text int?", "int", "where a text occurs in another, from a position on",
             locate, also="position charindex"),
    Function("elt", "int text*", "string", "the text of that number", elt, sees_null=True),
    Function("concat_ws", "text text*", "string", "those that are not null, a separator between", concat_ws,
             sees_null=True),
    Function("format_string", "text any*", "string", "put into a format, as printf does", format_string,
             also="printf", sees_null=True),
)  # fmt: skip


def _bytes(x: str | bytes) -> bytes:
    return x.encode() if isinstance(x, str) else x
