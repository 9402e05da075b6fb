"""Values, expressions and aggregates of the plain meaning: Python values, null is None.

Rule: nothing is shared with the package; what its documentation says of an operation is computed in Python's own way.
"""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from fractions import Fraction

HEAVY = 1 << 40  # counts and numbers beyond this tell more about overflow than about meaning
NUMBERS = ("long", "int", "double")
DECIMAL, WIDE = "decimal(10,2)", "decimal(38,10)"
WIDENED = (DECIMAL, "decimal(20,2)", WIDE)  # each fits into those behind it


class Refused(Exception):
    """A program that has no meaning, or one that is not tried here."""


# ---- values ---------------------------------------------------------------------------------


class Many(tuple):
    """The elements of an array."""


class Named(tuple):
    """The fields of a struct, or the entries of a map: pairs in the order of their names."""

    def get(self, name):
        return next((value for key, value in self if key == name), None)


def clean(value):
    """One nan and one zero; what has parts as tuples."""
    if isinstance(value, list | Many):
        return Many(map(clean, value))
    if isinstance(value, dict | Named):
        pairs = value.items() if isinstance(value, dict) else value
        return Named(sorted(((name, clean(part)) for name, part in pairs), key=lambda pair: rank(pair[0])))
    if isinstance(value, float):
        return math.nan if value != value else value + 0.0
    if isinstance(value, int) and abs(value) > HEAVY:
        raise Refused("numbers grow too large")
    return value


def rank(value):
    """What sorts a value: null first, nan last, text by its bytes."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (2,) if value != value else (1, value)
    if isinstance(value, Many):
        return (1, tuple(map(rank, value)))
    if isinstance(value, Named):
        return (1, tuple((rank(name), rank(part)) for name, part in value))
    return (1, value.encode()) if isinstance(value, str) else (1, value)


def parts_of(kind: str) -> dict[str, str]:
    """The types within an array, a struct or a map, by what is written to get there."""
    inner = kind[kind.index("<") + 1 : -1] if "<" in kind else ""
    if kind.startswith("array"):
        return {"": inner}
    if kind.startswith("map"):
        return {"": divided(inner)[1]}
    return dict(field.split(":", 1) for field in divided(inner)) if kind.startswith("struct") else {}


def divided(text: str) -> list[str]:
    """The parts between the commas that stand in no brackets."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [part.strip() for part in found]


def common(types) -> str:
    known = list(dict.fromkeys(types))
    if len(known) == 1:
        return known[0]
    if all(t in WIDENED for t in known):
        return max(known, key=WIDENED.index)
    if not all(t in NUMBERS for t in known):
        raise Refused(f"no common type of {known}")
    return "double" if "double" in known else "long"


def as_type(value, kind: str):
    return float(value) if kind == "double" and isinstance(value, int) else value


def total(pairs) -> dict:
    sums: dict = {}
    for row, count in pairs:
        sums[row] = sums.get(row, 0) + count
    found = {row: count for row, count in sums.items() if count}
    if any(abs(count) > HEAVY for count in found.values()):
        raise Refused("counts grow too large")
    return found


# ---- expressions ----------------------------------------------------------------------------


class Value:
    """An expression: `of(bag)` gives its type and its function of a row."""

    constant = None  # the value of one that is the same for every row

    def __init__(self, of, name=None, parts=(), op=None, descending=False):
        self.of, self.name, self.parts, self.op, self.descending = of, name, parts, op, descending

    def alias(self, name):
        return Value(self.of, name, self.parts, self.op)

    def desc(self):
        return Value(self.of, self.name, self.parts, self.op, True)

    def __add__(self, other):
        return arithmetic("add", lambda x, y: x + y, self, other)

    def __radd__(self, other):
        return arithmetic("add", lambda x, y: x + y, lit(other), self)

    def __sub__(self, other):
        return arithmetic("sub", lambda x, y: x - y, self, other)

    def __mul__(self, other):
        return arithmetic("mul", lambda x, y: x * y, self, other)

    def __mod__(self, other):
        return arithmetic("mod", remainder, self, other)

    def __floordiv__(self, other):
        return arithmetic("floordiv", lambda x, y: None if y == 0 else x // y, self, other)

    def __truediv__(self, other):
        return strict("div", "double", lambda x, y: None if y == 0 else float(x) / float(y), self, lit(other))

    def __neg__(self):
        return Value(arithmetic("neg", lambda x, y: x - y, lit(0), self).of, None, (self,), "neg")

    def __eq__(self, other):
        return comparison("eq", lambda x, y: x == y, self, other)

    def __ne__(self, other):
        return comparison("ne", lambda x, y: x != y, self, other)

    def __lt__(self, other):
        return comparison("lt", lambda x, y: x < y, self, other)

    def __le__(self, other):
        return comparison("le", lambda x, y: x <= y, self, other)

    def __gt__(self, other):
        return comparison("gt", lambda x, y: x > y, self, other)

    def __ge__(self, other):
        return comparison("ge", lambda x, y: x >= y, self, other)

    __hash__ = None

    def __and__(self, other):
        both = lambda x, y: False if x is False or y is False else None if x is None or y is None else True
        return computed("and", "boolean", both, self, other)

    def __or__(self, other):
        either = lambda x, y: True if x is True or y is True else None if x is None or y is None else False
        return computed("or", "boolean", either, self, other)

    def __invert__(self):
        return strict("not", "boolean", lambda x: not x, self)

    def is_null(self):
        return computed("is_null", "boolean", lambda x: x is None, self)

    def is_not_null(self):
        return ~self.is_null()

    def fill_null(self, other):
        other = lit(other)

        def of(bag):
            (one, x), (two, y) = self.of(bag), other.of(bag)
            kind = common([beside(self, one), beside(other, two)])
            return kind, lambda row: as_type(y(row) if x(row) is None else x(row), kind)

        return Value(of)

    def is_in(self, values):
        def of(bag):
            _, x = self.of(bag)

            def holds(row):
                found = x(row)
                if found is None:
                    return None
                return any(v is not None and rank(v) == rank(found) for v in values)

            return "boolean", holds

        return Value(of)

    def between(self, low, high):
        return (self >= low) & (self <= high)

    def cast(self, kind):
        def of(bag):
            here, x = self.of(bag)
            if (here, kind) not in CASTS:
                raise Refused("a cast that is not tried")
            return kind, lambda row: None if x(row) is None else clean(CASTS[here, kind](x(row)))

        return Value(of, None, (self,), "cast")

    def __getitem__(self, at):
        """A field of a struct, the entry of a map, an element of an array; null where there is none."""

        def of(bag):
            kind, x = self.of(bag)
            parts = parts_of(kind)
            if (
                not parts
                or (kind.startswith("struct") and at not in parts)
                or isinstance(at, int) != kind.startswith("array")
            ):
                raise Refused("a part that is not there")

            def part(row):
                found = x(row)
                if found is None:
                    return None
                return found.get(at) if isinstance(found, Named) else found[at] if at < len(found) else None

            return parts.get(at, parts.get("")), part

        return Value(of)

    @property
    def str(self):
        return Texts(self)

    @property
    def dt(self):
        return Dates(self)


CASTS = {
    ("int", "long"): int,
    ("int", "double"): float,
    ("long", "double"): float,
    ("int", "string"): str,
    ("long", "string"): str,
    ("boolean", "long"): int,
    ("long", "boolean"): bool,
    ("date", "string"): str,
    **{(kind, kind): lambda value: value for kind in ("long", "int", "double", "string", "boolean", "date")},
}


class Texts:
    def __init__(self, value):
        self.value = value

    def lower(self):
        return strict("lower", "string", lambda x: x.lower(), self.value)

    def upper(self):
        return strict("upper", "string", lambda x: x.upper(), self.value)

    def length(self):
        return strict("length", "int", len, self.value)

    def contains(self, text):
        return strict("contains", "boolean", lambda x: text in x, self.value)

    def starts_with(self, text):
        return strict("starts_with", "boolean", lambda x: x.startswith(text), self.value)

    def like(self, pattern):
        told = re.compile(re.escape(pattern).replace("%", ".*").replace("_", "."), re.DOTALL)
        return strict("like", "boolean", lambda x: told.fullmatch(x) is not None, self.value)


class Dates:
    def __init__(self, value):
        self.value = value

    def year(self):
        return strict("year", "int", lambda x: x.year, self.value)

    def day(self):
        return strict("day", "int", lambda x: x.day, self.value)


def remainder(x, y):
    """With the sign of x."""
    return None if y == 0 else math.fmod(x, y) if isinstance(x, float) else abs(x) % abs(y) * (-1 if x < 0 else 1)


def computed(op, kind, fn, *parts):
    parts = tuple(map(lit, parts))

    def of(bag):
        bound = [part.of(bag)[1] for part in parts]
        return kind, lambda row: clean(fn(*(part(row) for part in bound)))

    return Value(of, None, parts, op)


def strict(op, kind, fn, *parts):
    """Null where a part is null."""
    return computed(op, kind, lambda *values: None if None in [*map(nothing, values)] else fn(*values), *parts)


def nothing(value):
    return None if value is None else 0


def arithmetic(op, fn, *parts):
    parts = tuple(map(lit, parts))

    def of(bag):
        kind = common([part.of(bag)[0] for part in parts])
        if kind not in NUMBERS:
            raise Refused(f"{op} of {kind}")
        kind = "long" if kind == "int" else kind
        widened = lambda *values: fn(*(as_type(value, kind) for value in values))
        return kind, strict(op, kind, widened, *parts).of(bag)[1]

    return Value(of, None, parts, op)


def comparison(op, fn, *parts):
    parts = tuple(map(lit, parts))

    def of(bag):
        common([part.of(bag)[0] for part in parts])
        return "boolean", strict(op, "boolean", lambda x, y: fn(rank(x), rank(y)), *parts).of(bag)[1]

    return Value(of, None, parts, op)


LITERALS = {bool: "boolean", int: "long", float: "double", str: "string", datetime.date: "date"}


def lit(value) -> Value:
    if isinstance(value, Value):
        return value
    kind, plain = LITERALS[type(value)], clean(value)
    found = Value(lambda bag: (kind, lambda row: plain))
    found.constant = plain
    return found


def beside(value: Value, kind: str) -> str:
    """The type of a value as one of several to choose from: a constant that fits an int is one, as in PySpark."""
    return "int" if kind == "long" and value.constant is not None and abs(value.constant) < 2**31 else kind


def col(name: str) -> Value:
    return named(name, None)


def named(name: str, owner) -> Value:
    """A column by its name, or one of another collection by where it comes from."""

    def of(bag):
        at = bag.find(name, owner)
        return bag.types[at], lambda row: row[at]

    return Value(of, name, (name, owner), "column")


def when(condition, value):
    return When(lit(condition), lit(value))


class When:
    def __init__(self, condition, value):
        self.condition, self.value = condition, value

    def otherwise(self, other):
        other = lit(other)

        def of(bag):
            (_, holds), (one, x), (two, y) = self.condition.of(bag), self.value.of(bag), other.of(bag)
            kind = common([beside(self.value, one), beside(other, two)])
            return kind, lambda row: as_type(x(row) if holds(row) is True else y(row), kind)

        return Value(of)


def concat(*parts):
    return strict("concat", "string", lambda *texts: "".join(texts), *parts)


# ---- aggregates -----------------------------------------------------------------------------


class Aggregate:
    """`of(bag)` gives a type and a function of a group, a dictionary of rows."""

    def __init__(self, of):
        self.of = of

    def _with(self, other, fn, kind):
        other = other if isinstance(other, Aggregate) else Aggregate(lambda bag: (None, lambda group: other))

        def of(bag):
            (one, x), (two, y) = self.of(bag), other.of(bag)
            found = kind or common([one, two or one])

            def answer(group):
                a, b = x(group), y(group)
                return None if a is None or b is None else clean(fn(as_type(a, found), as_type(b, found)))

            return found, answer

        return Aggregate(of)

    def __add__(self, other):
        return self._with(other, lambda x, y: x + y, None)

    def __sub__(self, other):
        return self._with(other, lambda x, y: x - y, None)

    def __truediv__(self, other):
        return self._with(other, lambda x, y: None if y == 0 else x / y, "double")


def aggregate(fn, kind):
    """An aggregate of the values of an expression that are not null, with their counts."""

    def make(value):
        value = col(value) if isinstance(value, str) else value

        def of(bag):
            here, x = value.of(bag) if isinstance(value, Value) else bag.expression(value)

            def answer(group):
                counts = total((x(row), count) for row, count in group.items())
                counts.pop(None, None)
                return clean(fn(counts))

            return kind(here), answer

        return Aggregate(of)

    return make


def present(counts):
    return sorted((value for value, count in counts.items() if count > 0), key=rank)


def exact(counts):
    """The sum, rounded once; null where as many rows are taken away as there are."""
    if sum(counts.values()) == 0:
        return None
    if any(isinstance(value, float) for value in counts):
        if any(value != value for value in counts):
            return math.nan
        return float(sum(Fraction(value) * count for value, count in counts.items()))
    found = sum(value * count for value, count in counts.items())
    if isinstance(found, Decimal) and abs(found) >= 10**18:
        raise Refused("decimals grow too large")
    return found


def mean(counts):
    return None if exact(counts) is None else exact(counts) / sum(counts.values())


def sum_type(kind):
    if kind in (DECIMAL, WIDE):
        return {DECIMAL: "decimal(20,2)", WIDE: WIDE}[kind]
    if kind not in NUMBERS:
        raise Refused("a sum that is not tried")
    return "double" if kind == "double" else "long"


def mean_type(kind):
    if kind not in NUMBERS:
        raise Refused("a mean that is not tried")
    return "double"


def collected(counts):
    """The values as often as they are there, in their order."""
    if any(count < 0 for count in counts.values()):
        raise Refused("a list of what is not there")
    return Many(value for value in present(counts) for _ in range(counts[value]))


_sum = sum
_rows = Aggregate(lambda bag: ("long", lambda group: _sum(group.values())))
_count = aggregate(lambda counts: _sum(counts.values()), lambda kind: "long")
_min = aggregate(lambda counts: next(iter(present(counts)), None), lambda kind: kind)
_avg = aggregate(mean, mean_type)


class Exploded:
    """One row for each element of an array."""

    def __init__(self, value):
        self.value = col(value) if isinstance(value, str) else value


class functions:
    """What a program writes as `ebb.functions.name`."""

    explode = Exploded
    size = staticmethod(lambda value: strict("size", "int", len, col(value) if isinstance(value, str) else value))
    collect_list = staticmethod(aggregate(collected, lambda kind: f"array<{kind}>"))
    collect_set = staticmethod(aggregate(lambda counts: Many(present(counts)), lambda kind: f"array<{kind}>"))


class ebb:
    """What a program writes as `ebb.name`."""

    functions = functions

    lit, when, concat, col = staticmethod(lit), staticmethod(when), staticmethod(concat), staticmethod(col)
    sum, avg = staticmethod(aggregate(exact, sum_type)), staticmethod(_avg)
    min = any_value = staticmethod(_min)
    max = staticmethod(aggregate(lambda counts: next(reversed(present(counts)), None), lambda kind: kind))
    count_distinct = staticmethod(aggregate(lambda counts: len(present(counts)), lambda kind: "long"))

    @staticmethod
    def count(value=None):
        return _rows if value is None else _count(value)
