"""Spark's SQL as sqlglot reads it, but for functions, which come as they were written.

sqlglot rewrites many functions into forms of its own (formats into those of C, arguments in another order), which loses
what was meant.  So the names that are known here are kept from it.

Rule: a function whose name is in the table comes with its own name and arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokens import Token, TokenType

from ebbflow.expressions.statistics import OF_ONE, OF_TWO
from ebbflow.relational.functions import BY_NAME


class NamedAggregate(exp.Anonymous):  # type: ignore[misc]
    """An aggregate that comes as it was written: its name, and what it is of."""


AGGREGATES_BY_NAME = (
    "median", "percentile", "percentile_approx", "approx_percentile", "percentile_cont", "percentile_disc", "mode",
    "product", "bit_and", "bit_or", "bit_xor", "max_by", "min_by", "approx_count_distinct", "std", *OF_ONE, *OF_TWO,
)  # fmt: skip


def _named_aggregate(name: str) -> Callable[[list[exp.Expression]], exp.Expression]:
    return lambda args: NamedAggregate(this=name, expressions=args)


class Dialect(Spark):  # type: ignore[misc]
    """Spark's SQL, in which the functions of the table come as they were written.

    A doubled quote inside a text is a quote, as in Spark 4; sqlglot reads it as two texts put together.
    """

    class Tokenizer(Spark.Tokenizer):  # type: ignore[misc]
        STRING_ESCAPES: ClassVar = ["\\", "'", '"']

    class Parser(Spark.Parser):  # type: ignore[misc]
        FUNCTIONS: ClassVar = {
            **{n: fn for n, fn in Spark.Parser.FUNCTIONS.items() if n.lower() not in BY_NAME or n == "ARRAY"},
            **{name.upper(): _named_aggregate(name) for name in AGGREGATES_BY_NAME},
            "EVERY": exp.LogicalAnd.from_arg_list,
            "SOME": exp.LogicalOr.from_arg_list,
        }
        FUNCTION_PARSERS: ClassVar = {
            name: fn
            for name, fn in Spark.Parser.FUNCTION_PARSERS.items()
            if name in ("POSITION", "OVERLAY") or name.lower() not in (*BY_NAME, *AGGREGATES_BY_NAME)
        }
        ARRAY_CONSTRUCTORS: ClassVar[
            dict[str, bool]
        ] = {}  # array(1, 2)[0] is an element: sqlglot would read the array of 0

        def parse(self, raw_tokens: list[Token], sql: str) -> list[exp.Expression | None]:
            """`window` in front of a bracket is a function: the clause has a name behind the word."""
            for word, following in pairwise(raw_tokens):
                if word.token_type == TokenType.WINDOW and following.token_type == TokenType.L_PAREN:
                    word.token_type = TokenType.VAR
            return list(super().parse(raw_tokens, sql))
