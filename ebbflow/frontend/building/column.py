"""The sugar with which people write expressions.

`col("x") + 1`, `edges.x + 1` and `lambda r: r.x + 1` build the same tree.  Nothing is computed here: a column has no
value while the plan is made, and Python's own words that need one (if, and, len, int, f-strings) are refused with the
way to say it.

Rule: every operator and method gives a new Column; a lambda is called once and returns one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

from ebbflow.columns.ddl import type_of
from ebbflow.errors import NotAnExpression
from ebbflow.expressions import ast as w
from ebbflow.expressions.resolve import literal
from ebbflow.frontend import aliases
from ebbflow.frontend.aliases import public_names, unknown_method
from ebbflow.frontend.building.date_methods import Moment
from ebbflow.frontend.building.mistakes import Rows, is_no_value, refuse_pyspark
from ebbflow.frontend.building.numpy_functions import OPERATIONS_BY_NUMPY
from ebbflow.frontend.building.text_methods import Text

String = str  # inside Column, str is the accessor
_TRUTH = (
    "Write & for and, | for or, ~ for not, each comparison in brackets: (r.x > 1) & (r.y < 2).  "
    "For if: ebb.when(cond, a).otherwise(b).  For 1 < x < 3: x.between(1, 3) or (1 < x) & (x < 3).  "
    "For x in [...]: x.is_in([...]).  For max(x, y): ebb.greatest(x, y)."
)


@runtime_checkable
class Spread(Protocol):
    """A window: what spreads an aggregate over the rows around each."""

    def _over(self, tree: w.Ast) -> w.Ast: ...


class Column:  # long: operators and methods of one class, each with its example
    """An expression over columns: `col("x")`, `edges.x`, `r.x` in a lambda, and what is made of them."""

    __slots__ = ("branches", "descending", "given_name", "nulls_last", "tree")

    def __init__(
        self,
        tree: w.Ast,
        given_name: str | None = None,
        branches: tuple[w.Ast, ...] = (),
        descending: bool = False,
        nulls_last: bool | None = None,
    ):
        self.tree, self.given_name, self.branches, self.descending = tree, given_name, branches, descending
        self.nulls_last = nulls_last  # where an order puts nulls; None: first, or last where it is descending

    @property
    def output_name(self) -> str | None:
        """What the column is called in a select: its alias, or the name of the column it plainly is.

        >>> col("x").output_name
        'x'
        """
        return self.given_name or (self.tree.name if isinstance(self.tree, w.Named) else None)

    # ---- arithmetic -------------------------------------------------------------------------

    def __add__(self, other: object) -> Column:
        return _apply("add", self, other)

    def __radd__(self, other: object) -> Column:
        return _apply("add", other, self)

    def __sub__(self, other: object) -> Column:
        return _apply("sub", self, other)

    def __rsub__(self, other: object) -> Column:
        return _apply("sub", other, self)

    def __mul__(self, other: object) -> Column:
        return _apply("mul", self, other)

    def __rmul__(self, other: object) -> Column:
        return _apply("mul", other, self)

    def __truediv__(self, other: object) -> Column:
        return _apply("div", self, other)

    def __rtruediv__(self, other: object) -> Column:
        return _apply("div", other, self)

    def __floordiv__(self, other: object) -> Column:
        return _apply("floordiv", self, other)

    def __rfloordiv__(self, other: object) -> Column:
        return _apply("floordiv", other, self)

    def __mod__(self, other: object) -> Column:
        return _apply("mod", self, other)

    def __rmod__(self, other: object) -> Column:
        return _apply("mod", other, self)

    def __pow__(self, other: object) -> Column:
        return _apply("pow", self, other)

    def __rpow__(self, other: object) -> Column:
        return _apply("pow", other, self)

    def __neg__(self) -> Column:
        return _apply("neg", self)

    def __pos__(self) -> Column:
        return self

    def __abs__(self) -> Column:
        return _apply("abs", self)

    def __round__(self, digits: int = 0) -> Column:
        return _apply("round", self, digits)

    def __floor__(self) -> Column:
        return _apply("floor", self)

    def __ceil__(self) -> Column:
        return _apply("ceil", self)

    def abs(self) -> Column:
        """Without its sign.

        >>> col("x").abs()
        Column<abs(x)>
        """
        return _apply("abs", self)

    def round(self, digits: int = 0) -> Column:
        """Half away from zero, as in Spark.

        >>> col("x").round(2)
        Column<round(x, 2)>
        """
        return _apply("round", self, digits)

    def floor(self) -> Column:
        """The next whole number below, a long.

        >>> col("x").floor()
        Column<floor(x)>
        """
        return _apply("floor", self)

    def ceil(self) -> Column:
        """The next whole number above, a long.

        >>> col("x").ceil()
        Column<ceil(x)>
        """
        return _apply("ceil", self)

    def sqrt(self) -> Column:
        """Square root; nan below 0.

        >>> col("x").sqrt()
        Column<sqrt(x)>
        """
        return _apply("sqrt", self)

    # ---- comparison and logic ---------------------------------------------------------------

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return _apply("eq", self, other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return _apply("ne", self, other)

    def __lt__(self, other: object) -> Column:
        return _apply("lt", self, other)

    def __le__(self, other: object) -> Column:
        return _apply("le", self, other)

    def __gt__(self, other: object) -> Column:
        return _apply("gt", self, other)

    def __ge__(self, other: object) -> Column:
        return _apply("ge", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: object) -> Column:
        return _apply("and", self, other)

    def __rand__(self, other: object) -> Column:
        return _apply("and", other, self)

    def __or__(self, other: object) -> Column:
        return _apply("or", self, other)

    def __ror__(self, other: object) -> Column:
        return _apply("or", other, self)

    def __xor__(self, other: object) -> Column:
        """One of two conditions, not both."""
        return _apply("ne", _apply("and", self, True), _apply("and", other, True))

    __rxor__ = __xor__

    def __invert__(self) -> Column:
        return _apply("not", self)

    def eq_null_safe(self, other: object) -> Column:
        """Equal, where null equals null.

        >>> col("x").eq_null_safe(col("y"))
        Column<eq_null_safe(x, y)>
        """
        return _apply("eq_null_safe", self, other)

    def is_null(self) -> Column:
        """Whether it is null.

        >>> col("x").is_null()
        Column<is_null(x)>
        """
        return _apply("is_null", self)

    def is_not_null(self) -> Column:
        """Whether it is not null.

        >>> col("x").is_not_null()
        Column<not(is_null(x))>
        """
        return _apply("not", _apply("is_null", self))

    def is_nan(self) -> Column:
        """Whether it is nan; false for null.

        >>> col("x").is_nan()
        Column<is_nan(x)>
        """
        return _apply("is_nan", self)

    def fill_null(self, value: object) -> Column:
        """The value where this is null; text is text.

        >>> col("x").fill_null(0)
        Column<coalesce(x, 0)>
        """
        return _apply("coalesce", self, value)

    def is_in(self, *choices: object) -> Column:
        """One of a few values: `r.kind.is_in(["a", "b"])`.  Rows of another collection are a semijoin.

        >>> col("x").is_in([1, 2])
        Column<is_in(x, 1, 2)>
        """
        values: Sequence[object] = choices
        if len(choices) == 1 and not isinstance(choices[0], str | bytes | Column):
            if isinstance(choices[0], Rows):
                raise NotAnExpression(
                    "is_in takes a list of values, not a collection.", hint="Use a.semijoin(b, on=...)."
                )
            values = list(choices[0]) if isinstance(choices[0], Iterable) else choices
        return _apply("is_in", self, *values)

    def between(self, low: object, high: object) -> Column:
        """Both ends belong to it.

        >>> col("x").between(1, 9)
        Column<and(ge(x, 1), le(x, 9))>
        """
        return _apply("and", _apply("ge", self, low), _apply("le", self, high))

    # ---- the rest ---------------------------------------------------------------------------

    def cast(self, kind: object) -> Column:
        """As another type, `"double"` or `float`; null where a value has no counterpart.

        >>> col("x").cast("double")
        Column<cast(x, double)> as x
        """
        return Column(w.Applied("cast", (self.tree,), (type_of(kind),)), self.output_name)

    def try_cast(self, kind: object) -> Column:
        """As another type; null where a value has no counterpart, also in a program with `ansi=True`.

        >>> col("x").try_cast("long")
        Column<cast(x, long, try)> as x
        """
        return Column(w.Applied("cast", (self.tree,), (type_of(kind), "try")), self.output_name)

    def alias(self, name: String, *more: String) -> Column:
        """Under another name; what makes several columns takes several.

        >>> col("x").alias("total")
        Column<x> as total
        """
        if more:
            if not isinstance(self.tree, w.Exploded):
                raise NotAnExpression(f"{self.tree} is one column, and {1 + len(more)} names are given.", hint="One.")
            return Column(replace(self.tree, names=(name, *more)))
        return Column(self.tree, name, self.branches, self.descending, self.nulls_last)

    def desc(self) -> Column:
        """For order_by: the largest first.

        >>> col("x").desc()
        Column<x>
        """
        return Column(self.tree, self.given_name, self.branches, True)

    def asc(self) -> Column:
        """For order_by: the smallest first.

        >>> col("x").asc()
        Column<x>
        """
        return Column(self.tree, self.given_name, self.branches, False)

    def asc_nulls_first(self) -> Column:
        """For the order of a window: nulls, then the smallest; as asc().

        >>> col("x").asc_nulls_first()
        Column<x>
        """
        return Column(self.tree, self.given_name, self.branches, False, False)

    def asc_nulls_last(self) -> Column:
        """For the order of a window: the smallest first, nulls last.

        >>> col("x").asc_nulls_last()
        Column<x>
        """
        return Column(self.tree, self.given_name, self.branches, False, True)

    def desc_nulls_first(self) -> Column:
        """For the order of a window: nulls, then the largest.

        >>> col("x").desc_nulls_first()
        Column<x>
        """
        return Column(self.tree, self.given_name, self.branches, True, False)

    def desc_nulls_last(self) -> Column:
        """For the order of a window: the largest first, nulls last; as desc().

        >>> col("x").desc_nulls_last()
        Column<x>
        """
        return Column(self.tree, self.given_name, self.branches, True, True)

    def over(self, window: object) -> Column:
        """An aggregate, or a function of a row's place, over the rows of a window, for each row.

        >>> import ebbflow as ebb
        >>> ebb.sum("x").over(ebb.Window.partition_by("k").order_by("t"))
        Column<sum(x) over a window>
        """
        if not isinstance(window, Spread):
            refuse_pyspark(window)
            raise NotAnExpression(
                f"over takes a window; got {window!r:.60}.",
                hint='For example .over(ebb.Window.partition_by("k").order_by("t")).',
            )
        return Column(window._over(self.tree), self.given_name)

    def when(self, condition: object, value: object) -> Column:
        """One more branch of a `when`.

        >>> when(col("x") > 9, "much").when(col("x") > 5, "some")
        Column<when(gt(x, 9), 'much', gt(x, 5), 'some', None)>
        """
        if not self.branches:
            raise NotAnExpression("when(...) continues another when(...).", hint="Begin with ebb.when(cond, value).")
        return _branched((*self.branches, _condition(condition), _branch(value)))

    def otherwise(self, value: object) -> Column:
        """What a `when` gives where nothing holds.

        >>> when(col("x") > 9, "much").otherwise("little")
        Column<when(gt(x, 9), 'much', 'little')>
        """
        if not self.branches:
            raise NotAnExpression("otherwise(...) ends a when(...).", hint="Begin with ebb.when(cond, value).")
        return Column(w.Applied("when", (*self.branches, _branch(value))))

    @property
    def str(self) -> Text[Column]:
        """What can be done with text.

        >>> col("name").str.lower()
        Column<lower(name)>
        """
        return Text(self, _apply)

    @property
    def dt(self) -> Moment[Column]:
        """What can be done with dates and timestamps.

        >>> col("at").dt.year()
        Column<year(at)>
        """
        return Moment(self, _apply)

    def __repr__(self) -> String:
        return f"Column<{self.tree}>" + (f" as {self.given_name}" if self.given_name else "")

    if not TYPE_CHECKING:  # a type checker knows the methods there are

        def __getattr__(self, name: String) -> NoReturn:
            raise unknown_method(name, "A column", aliases.FOREIGN_COLUMN, public_names(Column))

    def get_item(self, key: object) -> Column:
        """An element of an array, from 0 on, the value that a map has for a key, or a struct's field; also `[key]`.

        >>> col("xs").get_item(0)
        Column<get_item(xs, 0)>
        """
        return self[key]

    def get_field(self, name: object) -> Column:
        """A struct's field; also `["name"]`, and `col("s.name")`.

        >>> col("s").get_field("a")
        Column<get_field(s, 'a')> as a
        """
        found = _apply("get_field", self, name)
        return found.alias(name) if isinstance(name, String) else found

    def with_field(self, name: String, value: object) -> Column:
        """A struct with a field more, or with another one in its place.

        >>> col("s").with_field("a", 1)
        Column<with_field(s, 'a', 1)>
        """
        return _apply("with_field", self, lit(name), value)

    def bitwise_and(self, other: object) -> Column:
        """The bits that both have.

        >>> col("x").bitwise_and(1)
        Column<bitwise_and(x, 1)>
        """
        return Column(w.Applied("bitwise_and", (self.tree, operand(other))))

    def bitwise_or(self, other: object) -> Column:
        """The bits that one of them has.

        >>> col("x").bitwise_or(1)
        Column<bitwise_or(x, 1)>
        """
        return Column(w.Applied("bitwise_or", (self.tree, operand(other))))

    def bitwise_xor(self, other: object) -> Column:
        """The bits in which the two differ.

        >>> col("x").bitwise_xor(1)
        Column<bitwise_xor(x, 1)>
        """
        return Column(w.Applied("bitwise_xor", (self.tree, operand(other))))

    # ---- PySpark's spellings ----------------------------------------------------------------

    isNull = is_null
    isNotNull = is_not_null
    isNaN = is_nan
    isin = is_in
    getItem = get_item
    getField = get_field
    withField = with_field
    astype = cast
    name = alias
    eqNullSafe = eq_null_safe
    bitwiseAND = bitwise_and
    bitwiseOR = bitwise_or
    bitwiseXOR = bitwise_xor

    def startswith(self, other: object) -> Column:
        """PySpark's spelling of `str.starts_with(text)`.

        >>> col("name").startswith("a")
        Column<starts_with(name, 'a')>
        """
        return self.str.starts_with(other)

    def endswith(self, other: object) -> Column:
        """PySpark's spelling of `str.ends_with(text)`.

        >>> col("name").endswith("a")
        Column<ends_with(name, 'a')>
        """
        return self.str.ends_with(other)

    def contains(self, other: object) -> Column:
        """PySpark's spelling of `str.contains(text)`.

        >>> col("name").contains("a")
        Column<contains(name, 'a')>
        """
        return self.str.contains(other)

    def like(self, other: object) -> Column:
        """PySpark's spelling of `str.like(pattern)`.

        >>> col("name").like("%b_")
        Column<like(name, '%b_')>
        """
        return self.str.like(other)

    def ilike(self, other: object) -> Column:
        """PySpark's spelling of `str.ilike(pattern)`.

        >>> col("name").ilike("%B_")
        Column<like(lower(name), '%b_')>
        """
        return self.str.ilike(other)

    def rlike(self, pattern: object) -> Column:
        """Whether a regular expression occurs in it.

        >>> col("name").rlike("^[A-Z]")
        Column<regexp_like(name, '^[A-Z]')>
        """
        given = w.Constant(pattern) if isinstance(pattern, str) else operand(pattern)
        return Column(w.Applied("regexp_like", (self.tree, given)))

    def substr(self, start: object, length: object) -> Column:
        """PySpark's spelling of `str.substr(start, length)`.

        >>> col("name").substr(1, 3)
        Column<substr(name, 1, 3)>
        """
        return self.str.substr(start, length)

    # ---- what a column is asked for and does not have ---------------------------------------

    def __bool__(self) -> NoReturn:
        is_no_value("if, and, or, not, in, max, min and chained comparisons ask a column whether it is true", _TRUTH)

    def __iter__(self) -> NoReturn:
        is_no_value(
            "a loop asks a column for its values",
            "Expressions work on the whole column; your own code over rows is map_rows(fn, schema).",
        )

    def __len__(self) -> NoReturn:
        is_no_value(
            "len() asks a column for its length",
            "The length of text is .str.length(); rows are counted by group_by(...).count().",
        )

    def __contains__(self, item: object) -> NoReturn:
        is_no_value(
            "`in` asks a column for its values",
            "Text within text is .str.contains(text); a few values are .is_in([...]); other rows a semijoin.",
        )

    def __int__(self) -> NoReturn:
        is_no_value("int() asks a column for a number", 'Write .cast("long"); / and // and ebb.floor work on columns.')

    def __index__(self) -> NoReturn:
        is_no_value(
            "a column stands where Python needs a number",
            "Write the computation with columns; your own code over rows is map_rows(fn, schema).",
        )

    def __float__(self) -> NoReturn:
        is_no_value(
            "float(), and the functions of math, ask a column for a number",
            'Write .cast("double"); functions are ebb.sqrt(x), or numpy\'s: np.sqrt(x).',
        )

    __complex__ = __float__

    def __format__(self, spec: String) -> NoReturn:
        is_no_value(
            "an f-string, or format(), would make text of a column",
            'Put text together with ebb.concat(a, ebb.lit(" "), b); numbers become text with .cast("string").',
        )

    def __getitem__(self, item: object) -> Column:
        if isinstance(item, slice):
            is_no_value("[a:b] asks a column for a part", "Part of a text is .str.substr(start, length), from 1.")
        return _apply("get_item", self, item)

    # ---- numpy ------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: String, *inputs: object, **options: object) -> Column:
        build = OPERATIONS_BY_NUMPY.get(ufunc.__name__)
        if method != "__call__" or options or build is None:
            raise NotAnExpression(
                f"numpy's {ufunc.__name__}{'' if method == '__call__' else '.' + method} does not work on a column.",
                hint=f"These do: {', '.join(sorted(OPERATIONS_BY_NUMPY))}.  Whole arrays are map_batches(fn, schema).",
            )
        return _apply(build, *inputs) if isinstance(build, String) else build(_apply, *inputs)

    def __array_function__(
        self, function: Any, types: object, args: tuple[Any, ...], options: dict[String, Any]
    ) -> Column:
        if function.__name__ == "where" and len(args) == 3:
            return when(args[0], args[1]).otherwise(args[2])
        raise NotAnExpression(
            f"numpy's {function.__name__} needs the values, and a column has none while the plan is made.",
            hint="For np.where write ebb.when(cond, a).otherwise(b).  Whole arrays are map_batches(fn, schema).",
        )


# ---- making columns -------------------------------------------------------------------------


def col(name: str) -> Column:
    """The column of this name, of whatever collection the expression is used on.

    >>> col("x") + 1
    Column<add(x, 1)>
    """
    if not isinstance(name, str):
        raise NotAnExpression(f"col takes the name of a column; got {name!r}.", hint="A constant is ebb.lit(value).")
    return Column(w.Named(name))


def lit(value: object) -> Column:
    """A constant, the same for every row.

    >>> lit("text")
    Column<'text'>
    """
    if isinstance(value, Column):
        return value
    if isinstance(value, list | tuple):
        return Column(w.Applied("array", tuple(lit(each).tree for each in value)))
    tree = operand(value)
    if not isinstance(tree, w.Constant):
        raise NotAnExpression("lit takes a constant, not a function.", hint="A lambda stands where a column is wanted.")
    literal(tree.value)  # is there a type for it?
    return Column(tree)


def when(condition: object, value: object) -> Column:
    """`ebb.when(cond, a).when(cond, b).otherwise(c)`; null where nothing holds and there is no otherwise.

    Plain text is text, as in PySpark.

    >>> when(col("x") > 9, "big")
    Column<when(gt(x, 9), 'big', None)>
    """
    return _branched((_condition(condition), _branch(value)))


def _branched(branches: tuple[w.Ast, ...]) -> Column:
    return Column(w.Applied("when", (*branches, w.Constant(None))), branches=branches)


def _condition(condition: object) -> w.Ast:
    return w.Named(condition) if isinstance(condition, str) else operand(condition)


def _branch(value: object) -> w.Ast:
    return w.Word(value) if isinstance(value, str) else operand(value)


def operand(value: object) -> w.Ast:
    """One side of an operator: a column, a constant, or a lambda over the row."""
    if isinstance(value, Column):
        return value.tree
    refuse_pyspark(value)
    if callable(value) and not isinstance(value, type) and not isinstance(value, Rows):
        return w.Traced(value)
    if callable(value) or isinstance(value, Rows):
        raise NotAnExpression(
            f"{value!r} stands where a column or a constant is wanted.", hint='Name the column: col("x").'
        )
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()  # a scalar of numpy's is a plain number
    return w.Constant(value)


def _apply(op: str, *args: object) -> Column:
    return Column(w.Applied(op, tuple(operand(arg) for arg in args)))


def named_or(value: object) -> Column:
    """For functions: a plain string is the name of a column."""
    return col(value) if isinstance(value, str) else Column(operand(value))
