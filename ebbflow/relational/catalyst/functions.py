"""Catalyst's functions made into those of the table.

Most are one line: Catalyst's class and the row that it is, with the same arguments in the same order.  A few of
Spark's functions are classes put together, which are recognised as what was written.

Rule: with ANSI, a function that Spark raises an error in refuses the step where it would be null and its arguments are
not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from ebbflow.columns.ranges import EPOCH
from ebbflow.columns.schema import INT, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ
from ebbflow.expressions import guards
from ebbflow.expressions.operations import MOMENTS, cast, typed
from ebbflow.expressions.resolve import literal
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational.catalyst import nested
from ebbflow.relational.catalyst.refusals import unsupported
from ebbflow.relational.catalyst.tree import Node
from ebbflow.relational.catalyst.types import NARROW_BOUNDS, type_of

Bind = Callable[[Node], Expr]
ANSI, TRY = "ANSI", "TRY"
OF_TABLE = {
    "Ascii": "ascii", "Chr": "chr", "UnBase64": "unbase64", "Hex": "hex", "Unhex": "unhex", "InitCap": "initcap",
    "StringInstr": "instr", "SubstringIndex": "substring_index", "Overlay": "overlay", "FindInSet": "find_in_set",
    "StringLPad": "lpad", "StringRPad": "rpad", "StringRepeat": "repeat", "StringSpace": "space", "Reverse": "reverse",
    "StringTranslate": "translate", "Levenshtein": "levenshtein", "SoundEx": "soundex", "BitLength": "bit_length",
    "OctetLength": "octet_length", "RLike": "regexp_like", "RegExpExtract": "regexp_extract",
    "RegExpInStr": "regexp_instr", "RegExpReplace": "regexp_replace", "FormatNumber": "format_number",
    "StringLocate": "locate", "Elt": "elt", "FormatString": "format_string", "Md5": "md5",
    "Sha1": "sha1", "Sha2": "sha2", "Crc32": "crc32", "Cbrt": "cbrt", "Acos": "acos", "Asin": "asin", "Atan": "atan",
    "Cosh": "cosh", "Sinh": "sinh", "Tanh": "tanh", "Acosh": "acosh", "Asinh": "asinh", "Atanh": "atanh", "Cot": "cot",
    "Sec": "sec", "Csc": "csc", "ToDegrees": "degrees", "ToRadians": "radians", "Expm1": "expm1", "Rint": "rint",
    "Log1p": "log1p", "Logarithm": "log_of", "Atan2": "atan2", "Hypot": "hypot", "Factorial": "factorial",
    "WidthBucket": "width_bucket", "RoundCeil": "ceil_to", "RoundFloor": "floor_to", "Conv": "conv", "Bin": "bin",
    "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "BitwiseNot": "bitwise_not",
    "ShiftLeft": "shiftleft", "ShiftRight": "shiftright", "ShiftRightUnsigned": "shiftrightunsigned",
    "BitwiseGet": "getbit", "DayOfWeek": "dayofweek", "DayOfYear": "dayofyear", "WeekOfYear": "weekofyear",
    "YearOfWeek": "yearofweek", "Quarter": "quarter", "DayName": "dayname", "MonthName": "monthname",
    "AddMonths": "add_months", "LastDay": "last_day", "NextDay": "next_day", "TruncDate": "trunc",
    "TruncTimestamp": "date_trunc", "MakeDate": "make_date", "MonthsBetween": "months_between",
    "DateFormatClass": "date_format", "FromUnixTime": "from_unixtime", "UnixSeconds": "unix_seconds",
    "UnixMillis": "unix_millis", "UnixMicros": "unix_micros", "SecondsToTimestamp": "timestamp_seconds",
    "MillisToTimestamp": "timestamp_millis", "MicrosToTimestamp": "timestamp_micros", "UnixDate": "unix_date",
    "DateFromUnixDate": "date_from_unix_date", "FromUTCTimestamp": "from_utc_timestamp",
    "ToUTCTimestamp": "to_utc_timestamp", "Murmur3Hash": "hash", "XxHash64": "xxhash64",
    "MakeTimestamp": "make_timestamp", **nested.NESTED_OF_TABLE,
}  # fmt: skip
JAVA_METHODS = {
    "Base64.encode": ("base64", 1), "Encode.encode": ("encode", 2), "StringDecode.decode": ("decode", 2),
    "UrlCodec.encode": ("url_encode", 1), "UrlCodec.decode": ("url_decode", 1), **nested.JSON_METHODS,
}  # fmt: skip
"""What Spark replaces by a call of a Java method, and how many of its arguments are the function's."""


def mode_of(node: Node) -> str:
    """How an operation errs, as it was when the DataFrame was written: ANSI, TRY (null) or LEGACY."""
    java = node.java.evalContext() if node.has("evalContext") else node.java
    return str(java.evalMode().toString())


def of_table(node: Node, bind: Bind) -> Expr:
    """A function of the table, with Spark's type."""
    values = [bind(child) for child in node.children]
    op = OF_TABLE[node.kind]
    if op in ("hash", "xxhash64") and str(node["seed"]) != "42":
        raise unsupported(node, "a hash with a seed of its own")
    if op == "make_timestamp" and len(values) > 6:
        raise unsupported(node, "make_timestamp with a zone of its own", "Use to_utc_timestamp.")
    found = typed(op, values)
    return _refusing(found, values) if node["failOnError"] is True and op != "make_date" else found


def _refusing(found: Expr, values: list[Expr]) -> Expr:
    """Where Spark raises an error: there is no answer, and all arguments are there."""
    there = reduce(guards.both, [guards.is_there(value) for value in values])
    return guards.unless(guards.both(typed("is_null", (found,)), there), found)


def _bround(node: Node, bind: Bind) -> Expr:
    value, digits = (bind(child) for child in node.children)
    found = typed("bround", (value, digits))
    return guards.within(found, value.type, NARROW_BOUNDS[value.type]) if value.type in NARROW_BOUNDS else found


def _bit_count(node: Node, bind: Bind) -> Expr:
    value = bind(node.children[0])
    return typed("bit_count", (value if value.type.is_integer else cast(value, INT),))


def _pmod(node: Node, bind: Bind) -> Expr:
    left, right = (bind(child) for child in node.children)
    value: Expr = typed("pmod", (left, right))
    if mode_of(node) == ANSI:
        value = guards.unless(guards.both(guards.is_zero(right), guards.is_there(left)), value)
    return cast(value, left.type) if left.type in NARROW_BOUNDS else value


def _read_by_format(node: Node, bind: Bind) -> Expr:
    """to_timestamp and to_date of a text and a format; what is a moment already needs none."""
    value, form = (bind(child) for child in node.children[:2])
    target = type_of(node["dataType"], node)
    if value.type in MOMENTS:
        return cast(value, target)
    found = typed("to_ntz_as" if target == TIMESTAMP_NTZ else "to_timestamp_as", (value, form))
    return _refusing(found, [value]) if node["failOnError"] is True else found


def _unix_timestamp(node: Node, bind: Bind) -> Expr:
    value, form = (bind(child) for child in node.children[:2])
    if value.type in MOMENTS:
        return typed("unix_timestamp", (value,))
    found = typed("unix_timestamp_as", (value, form))
    return _refusing(found, [value]) if node["failOnError"] is True else found


def _in_micros(node: Node, bind: Bind) -> Expr:
    """Moments as numbers and back, of which Spark makes windows of time."""
    value = bind(node.children[0])
    if value.type == TIMESTAMP:
        return typed("unix_micros", (value,))
    micros = literal("MICROSECOND")
    start = Literal(EPOCH, TIMESTAMP_NTZ)
    if value.type == TIMESTAMP_NTZ:
        return typed("timestampdiff", (micros, start, value))
    target = type_of(node["toType"], node)
    return typed("timestamp_micros", (value,)) if target == TIMESTAMP else typed("timestampadd", (micros, value, start))


def _joined(node: Node, bind: Bind) -> Expr:
    """concat_ws: an array among its arguments counts as its elements, of which nulls are left out."""
    delimiter, *values = (bind(child) for child in node.children)
    texts = []
    for value in values:
        if value.type.name == "array":
            there = typed("array_compact", (value,))
            some = typed("gt", (typed("size", (there,)), Literal(0, INT)))
            value = typed("when", (some, typed("array_join", (there, delimiter)), Literal(None, STRING)))
        texts.append(value)
    return typed("concat_ws", (delimiter, *texts))


def _added(node: Node, bind: Bind) -> Expr:
    number, moment = (bind(child) for child in node.children)
    return typed("timestampadd", (literal(str(node["unit"])), number, moment))


def _between(node: Node, bind: Bind) -> Expr:
    start, end = (bind(child) for child in node.children)
    return typed("timestampdiff", (literal(str(node["unit"])), start, end))


def _later(node: Node, bind: Bind) -> Expr:
    """A moment and a constant interval: months, or microseconds, of which whole days go by the calendar."""
    moment, interval = node.children
    return typed("later", (bind(moment), *_length(interval, node)))


def _length(interval: Node, node: Node) -> list[Expr]:
    """The months, days and microseconds of a constant interval."""
    if not _is_interval(interval) or interval.kind != "Literal":
        raise unsupported(node, "an interval that is computed", "Add a constant interval, or use timestampadd.")
    amount = interval.java.value()
    if not isinstance(amount, int):
        fields = [amount.getClass().getField(name) for name in ("months", "days", "microseconds")]
        found = [int(field.get(amount)) for field in fields]
    elif set(str(interval["dataType"]).split()) & {"year", "month"}:
        found = [amount, 0, 0]
    else:
        days, micros = divmod(abs(amount), 86_400_000_000)
        found = [0, days, micros] if amount >= 0 else [0, -days, -micros]
    return [Literal(number, LONG) for number in found]


def _is_interval(node: Node) -> bool:
    return isinstance(node["dataType"], str) and node["dataType"].startswith("interval")


def _sequence(node: Node, bind: Bind) -> Expr:
    """Numbers, dates or moments from one to another, a step apart."""
    first, last, *step = node.children
    if not step or not _is_interval(step[0]):
        return typed("sequence", [bind(child) for child in node.children])
    return typed("sequence_by", (bind(first), bind(last), *_length(step[0], node)))


def _like_some(op: str, is_not: bool) -> Callable[[Node, Bind], Expr]:
    """like any and like all of constant patterns, and their opposites."""

    def made(node: Node, bind: Bind) -> Expr:
        text, patterns = bind(node.children[0]), node.java.patterns()
        found = [typed("like", (text, literal(str(patterns.apply(i))))) for i in range(patterns.size())]
        each = [typed("not", (one,)) for one in found] if is_not else found
        return reduce(lambda one, two: typed(op, (one, two)), each)

    return made


def _split_part(node: Node, bind: Bind) -> Expr:
    """split_part is Spark's element of a split text; every other element is one."""
    inside, number = node.children[:2]
    if inside.kind != "StringSplitSQL":
        return nested.element_at(node, bind)
    return typed("split_part", (*(bind(child) for child in inside.children), bind(number)))


def _matches(node: Node, bind: Bind) -> Expr:
    """regexp_count is the size of all matches; every other size is one."""
    inside = node.children[0]
    if inside.kind != "RegExpExtractAll":
        return nested.size(node, bind)
    found = typed("regexp_count", [bind(child) for child in inside.children[:2]])
    return typed("coalesce", (found, Literal(-1, INT))) if node["legacySizeOfNull"] is True else found


def _nan_or(node: Node, bind: Bind) -> Expr:
    value, other = (bind(child) for child in node.children)
    return typed("when", (typed("is_nan", (value,)), other, value))


def _method(node: Node, bind: Bind) -> Expr:
    name = f"{str(node['staticObject']).rsplit('.', 1)[-1].rstrip('$')}.{node['functionName']}"
    if name not in JAVA_METHODS:
        raise unsupported(node)
    op, many = JAVA_METHODS[name]
    return typed(op, [bind(child) for child in node.children[:many]])


BY_KIND: dict[str, Callable[[Node, Bind], Expr]] = {
    **dict.fromkeys(OF_TABLE, of_table),
    "LikeAny": _like_some("or", False), "LikeAll": _like_some("and", False),
    "NotLikeAny": _like_some("or", True), "NotLikeAll": _like_some("and", True),
    "PreciseTimestampConversion": _in_micros, "ConcatWs": _joined,
    "BRound": _bround, "BitwiseCount": _bit_count, "Pmod": _pmod, "NaNvl": _nan_or,
    "GetTimestamp": _read_by_format, "UnixTimestamp": _unix_timestamp, "ToUnixTimestamp": _unix_timestamp,
    "TimestampAdd": _added, "TimestampDiff": _between, "TimestampAddInterval": _later, "TimestampAddYMInterval": _later,
    "DateAddYMInterval": _later, "ElementAt": _split_part, "Size": _matches, "StaticInvoke": _method,
    "Sequence": _sequence,
}  # fmt: skip
