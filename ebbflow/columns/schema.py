"""Schema: the names and types of a collection's columns.

Types have Spark's names. A value is one int64 word, a decimal of more than 18 digits two (a *lane* holds one word per
row); `NULL` is the least word, so nulls come first in every order and need no lane of their own.

Rule: a schema is an ordered tuple of fields with distinct names, in the order in which they were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ebbflow.errors import UnknownColumn

NULL = -(2**63)
DIGITS = 18  # of a decimal that one word holds
PRECISION = 38  # that a decimal's type can have, as Spark's
RESERVED = ("_time", "_diff", "_count")


@dataclass(frozen=True)
class Type:
    """long int short byte double float boolean string binary date timestamp timestamp_ntz decimal(precision, scale)
    array<T> map<K,V> struct<name:T,...>.

    A timestamp is an instant.  A timestamp_ntz is what a clock and a calendar show, in no zone.  `parts`: the names and
    types of a nested type's parts: the element, the key and the value, or the fields.
    """

    name: str
    precision: int = 0
    scale: int = 0
    parts: tuple[tuple[str, Type], ...] = ()

    def __str__(self) -> str:
        if self.is_nested:
            inside = [f"{quoted(name)}:{kind}" if self.name == "struct" else str(kind) for name, kind in self.parts]
            return f"{self.name}<{','.join(inside)}>"
        return f"decimal({self.precision},{self.scale})" if self.name == "decimal" else self.name

    @property
    def is_nested(self) -> bool:
        return self.name in ("array", "map", "struct")

    @property
    def is_pooled(self) -> bool:
        """Whether its words are ids of contents that the text pool holds; they are equal as the contents are."""
        return self.is_text or self.is_nested

    @property
    def element(self) -> Type:
        """Of an array."""
        return self.parts[0][1]

    @property
    def is_integer(self) -> bool:
        return self.name in ("long", "int", "short", "byte")

    @property
    def is_float(self) -> bool:
        return self.name in ("double", "float")

    @property
    def is_number(self) -> bool:
        return self.is_integer or self.is_float or self.name == "decimal"

    @property
    def is_timestamp(self) -> bool:
        return self.name in ("timestamp", "timestamp_ntz")

    @property
    def is_exact(self) -> bool:
        """Whether its words are whole numbers of some power of ten."""
        return self.is_integer or self.name == "decimal"

    @property
    def is_wide(self) -> bool:
        """Whether its values are two words: decimals with more digits than one word holds."""
        return self.precision > DIGITS

    @property
    def words(self) -> int:
        """How many lanes a column of it has."""
        return 2 if self.precision > DIGITS else 1

    @property
    def most(self) -> int:
        """The largest decimal, counted in units of its last digit."""
        return 10**self.precision - 1

    @property
    def is_text(self) -> bool:
        return self.name in ("string", "binary")


LONG, INT, SHORT, BYTE = Type("long"), Type("int"), Type("short"), Type("byte")
DOUBLE, FLOAT, BOOLEAN = Type("double"), Type("float"), Type("boolean")
STRING, BINARY, DATE, TIMESTAMP = Type("string"), Type("binary"), Type("date"), Type("timestamp")
TIMESTAMP_NTZ = Type("timestamp_ntz")
VOID = Type("void")  # of a null that nothing has given a type yet


def array_of(element: Type) -> Type:
    return Type("array", parts=(("element", element),))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", parts=(("key", key), ("value", value)))


def struct_of(*fields: tuple[str, Type]) -> Type:
    return Type("struct", parts=fields)


def quoted(name: str) -> str:
    """A name as a schema writes it."""
    return name if name.isidentifier() else in_backticks(name)


def in_backticks(name: str) -> str:
    """A name as Spark reads it, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


@dataclass(frozen=True)
class Field:
    """A column.  Whether it may hold nulls is a rule for the rows of an input; it is no part of the type."""

    name: str
    type: Type
    nullable: bool = field(default=True, compare=False)

    def __str__(self) -> str:
        return f"{quoted(self.name)} {self.type}"


@dataclass(frozen=True)
class Schema:
    """The columns of a collection or a result: names with their types, in order.

    >>> import ebbflow as ebb
    >>> schema = ebb.Dataflow().input("edges", "src long, dst long").schema
    >>> print(schema)
    src long, dst long
    >>> schema.names
    ('src', 'dst')
    """

    fields: tuple[Field, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @cached_property
    def types(self) -> tuple[Type, ...]:
        return tuple(field.type for field in self.fields)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first lane of each column."""
        found, at = [], 0
        for type_ in self.types:
            found.append(at)
            at += type_.words
        return tuple(found)

    @cached_property
    def width(self) -> int:
        """How many lanes the columns have."""
        return sum(type_.words for type_ in self.types)

    @cached_property
    def is_wide(self) -> bool:
        """Whether some column has two lanes."""
        return self.width > len(self.fields)

    def lanes_of(self, names: Iterable[str]) -> list[int]:
        """All the lanes of these columns, one column after the other."""
        return [lane for name in names for lane in self.lanes(name)]

    def lanes(self, name: str) -> range:
        """The lanes of one column."""
        at = self.index(name)
        return range(self.starts[at], self.starts[at] + self.types[at].words)

    @cached_property
    def not_whole(self) -> tuple[int, ...]:
        """The columns whose words are not their values."""
        return tuple(i for i, type_ in enumerate(self.types) if not type_.is_integer)

    @cached_property
    def never_null(self) -> tuple[int, ...]:
        """The columns that an input's rows must have a value for."""
        return tuple(i for i, field in enumerate(self.fields) if not field.nullable)

    @cached_property
    def has_text(self) -> bool:
        """Whether any column is of words that the text pool explains."""
        return any(type_.is_pooled for type_ in self.types)

    @cached_property
    def texts(self) -> int | None:
        """The columns of text, a bit each, where the words of all others are their values; None where they are not."""
        if len(self) > 60 or any(self.types[i].name != "string" for i in self.not_whole):
            return None
        return sum(1 << i for i in self.not_whole)

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Type:
        return self.fields[self.index(name)].type

    def index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownColumn(
                f'a schema is asked for the column "{name}"; it has: {", ".join(self.names)}.',
                hint="Name one of these.",
            )
        return self.names.index(name)

    def __str__(self) -> str:
        return ", ".join(map(str, self.fields))

    def __repr__(self) -> str:
        return f'Schema("{self}")'
