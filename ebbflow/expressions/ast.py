"""AST: expressions as written, before the columns they refer to are known.

`col("x") + 1` names a column of whatever collection it will be used on. `resolve` makes it a typed expression there.

Rule: these trees are data and hold no types; two trees with the same text are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ebbflow.errors import NotAnExpression
from ebbflow.limits import TERMS


@dataclass(frozen=True)
class Named:
    """A column by name; `owner` is the node it was taken from (edges.x), None for col("x")."""

    name: str
    owner: int | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Constant:
    value: object

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Word:
    """Text where a value is wanted, as in when(cond, "big"): a constant, and refused where a column has that name."""

    text: str

    def __str__(self) -> str:
        return repr(self.text)


@dataclass(frozen=True)
class Applied:
    """An operation of the table; options are plain values that are not computed (the type of a cast)."""

    op: str
    args: tuple[Ast, ...]
    options: tuple[object, ...] = ()
    terms: int = field(init=False, compare=False, repr=False)  # a part that is written twice counts twice

    def __post_init__(self) -> None:
        terms = 1 + sum(arg.terms if isinstance(arg, Applied) else 1 for arg in self.args)
        if terms > TERMS:
            raise NotAnExpression(
                f"an expression has more than {TERMS:,} terms; a part that is used twice counts twice.",
                hint="Give the values to an input, and keep the rows whose value is there: semijoin(values, on=...)."
                if self.op == "is_in"
                else 'Make a column of a part that is used several times: with_columns(part=...), then col("part").',
            )
        object.__setattr__(self, "terms", terms)

    def __str__(self) -> str:
        return f"{self.op}({', '.join([*map(str, self.args), *map(str, self.options)])})"


@dataclass(frozen=True)
class Traced:
    """A lambda inside an expression, as in sum(lambda r: r.x): asked what it computes where the row is known."""

    fn: Callable[..., object]

    def __str__(self) -> str:
        return "lambda"


@dataclass(frozen=True)
class Aggregated:
    """An aggregate over the rows of a group; `of` is None for the count of rows."""

    op: str
    of: Ast | None
    by: Ast | None = None  # that its rows are ordered by, of those that have an order

    def __str__(self) -> str:
        of = "" if self.of is None else f"{self.of}" if self.by is None else f"{self.of}, {self.by}"
        return f"{self.op}({of})"


@dataclass(frozen=True)
class Placed:
    """A function of a row's place among others, which has a meaning only over a window."""

    op: str
    of: Ast | None = None
    number: int = 0
    default: Ast | None = None
    skips_nulls: bool = False

    def __str__(self) -> str:
        given = [self.of, self.number or None, self.default]
        return f"{self.op}({', '.join(str(each) for each in given if each is not None)})"


@dataclass(frozen=True)
class Over:
    """An aggregate, or a function of a row's place, over a window.

    order: (what, whether descending, whether nulls are last); frame: (unit, start, end), None where it is not stated.
    """

    call: Aggregated | Placed
    partition: tuple[Ast, ...]
    order: tuple[tuple[Ast, bool, bool], ...]
    frame: tuple[str, object, object] | None

    def __str__(self) -> str:
        return f"{self.call} over a window"


@dataclass(frozen=True)
class Exploded:
    """A row for each element of an array, or each entry of a map; names: of the columns that it makes."""

    of: Ast
    has_position: bool = False
    is_outer: bool = False
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{'pos' if self.has_position else ''}explode{'_outer' if self.is_outer else ''}({self.of})"


Ast = Named | Constant | Word | Applied | Traced | Aggregated | Placed | Over | Exploded


def parts_of(tree: Ast) -> Iterator[Ast]:
    """The tree and everything in it, outside first; however deep it is."""
    todo: list[Ast] = [tree]
    while todo:
        part = todo.pop()
        yield part
        match part:
            case Applied(_, args):
                todo += reversed(args)
            case Exploded(of):
                todo.append(of)
            case Aggregated(_, of, by):
                todo += [one for one in (by, of) if one is not None]
