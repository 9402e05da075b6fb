"""`python -m tests.mutants.fronts`: bugs planted where queries and streams are read, each for the test that names it.

Rule: as in kept: plain Python, a copy of the whole house.  Those of formats need Spark.
"""

from __future__ import annotations

import sys

from tests.mutants import durable
from tests.mutants.mutants import Mutant

RANDOM = "tests/relational/test_random_sql.py::test_a_random_query_is_kept_up_to_date"
QUERIES = "tests/relational/test_sql.py::test_a_query_is_kept_up_to_date"
FORMATS, BUILD, GROUPS = "pipeline/formats.py", "relational/build.py", "relational/groups.py"
WORDS, FEW = "columns/plain_words.py", "tests/columns/test_plain_words.py::"
ROUNDED = "tests/pipeline/test_formats.py::test_what_would_be_rounded_or_cut_off_is_told"

PLANTED: list[tuple[Mutant, str]] = [
    (
        Mutant(
            "an anti join has the other side's key",
            "frontend/building/joining.py",
            "    graph.outer_joins[found] = {name: [(left, name)] for name in graph.schemas[left].names}  # and of no "
            "right key\n",
            "",
        ),
        "tests/frontend/building/test_joining.py::test_an_anti_join_has_no_column_of_the_other_side",
    ),
    (
        Mutant(
            "a decimal alone is cut off",
            WORDS,
            "        if units != scaled:\n            return None\n",
            "",
        ),
        f"{FEW}test_random_decimals_are_the_same_by_both_ways",
    ),
    (
        Mutant(
            "a moment alone keeps the clock of its zone",
            WORDS,
            "(without_zone(value) - EPOCH)",
            "(value.replace(tzinfo=None) - EPOCH)",
        ),
        f"{FEW}test_a_value_has_the_words_of_a_column",
    ),
    (
        Mutant(
            "a few rows with a NaN are put in order by their values",
            "frontend/running/table.py",
            "                elif type_.is_float and any(value != value for value in column):\n"
            "                    are_plain = False\n",
            "",
        ),
        f"{FEW}test_few_rows_are_told_in_the_order_of_many",
    ),
    (
        Mutant(
            "a wide decimal alone has the other word first",
            "frontend/running/intake.py",
            "found += words_of(word) if value is not None",
            "found += words_of(word)[::-1] if value is not None",
        ),
        f"{FEW}test_few_rows_are_told_in_the_order_of_many",
    ),
    (
        Mutant(
            "a group of all rows without aggregates has no constant",
            BUILD,
            "        if not aggregates:  # the row that others are joined to: a relation without columns carries a "
            "constant\n",
            "        if aggregates is None:\n",
        ),
        RANDOM,
    ),
    (
        Mutant(
            "the group of no rows is there beside that of rows",
            BUILD,
            "        return summed(self.graph, [found, otherwise, negated(self.graph, taken)])\n",
            "        return summed(self.graph, [found, otherwise])\n",
        ),
        RANDOM,
    ),
    (
        Mutant(
            "a constant is no key",
            GROUPS,
            "        if node in self.written:",
            "        if node in self.written and node.find(exp.Query):",
        ),
        QUERIES,
    ),
    (
        Mutant(
            "a key is bound again where it is shown",
            GROUPS,
            "        if node in self.written:",
            "        if node in self.written and not node.find(exp.Query):",
        ),
        QUERIES,
    ),
    (
        Mutant(
            "distinct from is not distinct from",
            "relational/operators.py",
            '    is_negated = node.args.get("negate") or isinstance(node, exp.NullSafeNEQ)\n',
            '    is_negated = node.args.get("negate")\n',
        ),
        RANDOM,
    ),
    (
        Mutant(
            "rows of values share what their subqueries add",
            "relational/query.py",
            "    computed = tuple(a.Project(source, row) for source, row in zip(sources, columns))\n",
            "    computed = tuple(a.Project(sources[0], row) for source, row in zip(sources, columns))\n",
        ),
        QUERIES,
    ),
    (
        Mutant(
            "a table is pickled as it was first put together",
            "frontend/running/table.py",
            "    return Table(record, encode(values, record, pool), times, weights, coordinates, pool)\n",
            "    return Table(record, encode(values, record, pool), times, weights[::-1], coordinates[:1], pool)\n",
        ),
        "tests/frontend/running/test_table.py::test_a_table_is_the_same_after_pickle_and_copy",
    ),
    (
        Mutant(
            "times of edits are compared as they are written",
            "pipeline/shaping.py",
            '        order = [(self._time(name), cast("DataType", LongType())) for name in self.source.time]\n',
            '        order = [self._envelope_or(name, "time") for name in self.source.time]\n',
        ),
        "tests/pipeline/test_formats.py::test_edits_are_in_the_order_of_their_times_however_they_are_written",
    ),
    (
        Mutant(
            "digits of a decimal are rounded away",
            "pipeline/casting.py",
            "    return F.when(finer == value, value)\n",
            "    return value\n",
        ),
        ROUNDED,
    ),
    (
        Mutant(
            "a time of day is today's",
            "pipeline/casting.py",
            '    says_all = column.rlike(MIDNIGHT if wanted.name == "date" else YEAR_FIRST)\n',
            '    says_all = column.rlike(MIDNIGHT) if wanted.name == "date" else F.lit(True)\n',
        ),
        ROUNDED,
    ),
]


if __name__ == "__main__":
    sys.exit(durable.main(planted=PLANTED, prog="python -m tests.mutants.fronts", about=__doc__))
