"""Random queries, asked of ebbflow and of DuckDB while rows come and go.

A query is grown from the outside in: what is wanted of a part (a condition, a value of some type, rows) is given, and
one of the ways to write it is drawn.  So every query is well typed, and joins, groups, sets of groups, set operations,
subqueries of every kind, limits and common tables stand inside each other as nobody would write them by hand.

    python -m tests.relational.random_sql --cases 3000 --seed 1

Rule: only what means the same in Spark's SQL and in DuckDB's is drawn, and limits come with an order of all columns.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field

from tests.relational.against_duckdb import SCHEMAS, compare

Scope = list[tuple[str, str]]  # (how a column is written, its type)

TYPES = {"long": "bigint", "double": "double", "string": "string", "date": "date", "boolean": "boolean"}
LITERALS = {
    "long": ["0", "1", "2", "-1", "5"],
    "double": ["cast(0.5 as double)", "cast(-2.25 as double)"],
    "string": ["'a'", "''", "'ab'", "'Zed'"],
    "date": ["date '2024-02-29'", "date '1969-12-31'"],
    "boolean": ["true", "false"],
}
JOINS = ["join", "join", "left join", "right join", "full join", "left semi join", "left anti join", "cross join"]
SETS = ["union", "union all", "except", "intersect", "except all", "intersect all"]


@dataclass
class Writer:
    """Writes one query; `common` are the tables of its `with`."""

    rng: random.Random
    common: dict[str, list[str]] = field(default_factory=dict)
    aliases: int = 0

    def one_of(self, *ways: str) -> str:
        return self.rng.choice(ways)

    def happens(self, chance: float) -> bool:
        return self.rng.random() < chance

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    def known(self, kind: str, scope: Scope) -> str | None:
        names = [name for name, each in scope if each == kind]
        return self.rng.choice(names) if names else None

    def column(self, kind: str, scope: Scope) -> str:
        return self.known(kind, scope) or f"cast(null as {TYPES[kind]})"

    # ---- values -----------------------------------------------------------------------------

    def value(self, kind: str, scope: Scope, depth: int, outer: Scope | None = None) -> str:
        """outer: the columns of the query around a subquery, which it may read; None where none may be asked."""
        if depth <= 0 or self.happens(0.3):
            return self.rng.choice(LITERALS[kind]) if self.happens(0.2) else self.column(kind, scope)

        def inside(of: str = kind) -> str:
            return self.value(of, scope, depth - 1, outer)

        if outer is not None and self.happens(0.2):
            return self.scalar(kind, [*scope, *outer])
        chance = self.rng.random()
        if chance < 0.15:
            return f"case when {self.condition(scope, depth - 1, outer)} then {inside()} else {inside()} end"
        if chance < 0.2:
            return f"case {inside('long')} when {inside('long')} then {inside()} when 2 then {inside()} end"
        if chance < 0.3:
            return f"coalesce({inside()}, {inside()})"
        if chance < 0.36:
            return f"nullif({inside()}, {inside()})"
        if chance < 0.42 and kind != "boolean":
            return f"{self.one_of('least', 'greatest')}({inside()}, {inside()})"
        match kind:
            case "long":
                return self.one_of(
                    f"({inside()} {self.one_of('+', '-', '*')} {inside()})", f"abs({inside()})", f"(- {inside()})",
                    f"length({inside('string')})", f"({inside()} % 3)",
                    f"{self.one_of('year', 'month')}({inside('date')})",
                )  # fmt: skip
            case "double":
                return self.one_of(
                    f"({inside()} + {inside()})", f"cast({inside('long')} as double)", f"({inside('long')} / 2)"
                )
            case "string":
                return self.one_of(
                    f"upper({inside()})", f"({inside()} || {inside()})", f"substr({inside()}, 2, 1)",
                    f"cast({inside('long')} as string)", f"replace({inside()}, 'a', 'b')",
                )  # fmt: skip
            case "boolean":
                return f"({self.condition(scope, depth - 1, outer)})"
        return inside()

    def scalar(self, kind: str, outer: Scope) -> str:
        """A subquery of one row."""
        source, scope = self.table()
        where = f" where {self.correlated(scope, outer)}" if self.happens(0.8) else ""
        return f"(select {self.aggregate(kind, scope)} from {source}{where})"

    def correlated(self, scope: Scope, outer: Scope) -> str:
        kind = self.one_of("long", "long", "string")
        mine, theirs = self.known(kind, scope), self.known(kind, outer)
        if mine is None or theirs is None or self.happens(0.3):
            return self.condition(scope, 1)
        return f"{mine} {self.one_of('=', '=', '=', '<', '<>')} {theirs}"

    # ---- conditions -------------------------------------------------------------------------

    def condition(self, scope: Scope, depth: int, outer: Scope | None = None) -> str:
        if outer is not None and depth > 0 and self.happens(0.35):
            return self.asked(scope, outer)
        if depth > 0 and self.happens(0.3):
            one, two = self.condition(scope, depth - 1, outer), self.condition(scope, depth - 1, outer)
            return self.one_of(f"({one} and {two})", f"({one} or {two})", f"not ({one})")
        kind = self.one_of("long", "long", "string", "double", "date")

        def inside() -> str:
            return self.value(kind, scope, depth - 1, outer)

        literals = LITERALS[kind]
        return self.one_of(
            f"{inside()} {self.one_of('=', '<>', '<', '>=')} {inside()}",
            f"{inside()} is {self.one_of('', 'not ')}null",
            f"{inside()} between {inside()} and {inside()}",
            f"{inside()} {self.one_of('in', 'not in')} ({literals[0]}, {literals[1]}{self.one_of('', ', null')})",
            f"{inside()} is {self.one_of('', 'not ')}distinct from {inside()}",
            f"{self.column('string', scope)} {self.one_of('like', 'not like')} '{self.one_of('a%', '%b', '_', '%')}'",
        )

    def asked(self, scope: Scope, outer: Scope) -> str:
        """A condition with a subquery."""
        around = [*scope, *outer]
        source, inner = self.table()
        where = f" where {self.correlated(inner, around)}" if self.happens(0.7) else ""
        if self.happens(0.4):
            return f"{self.one_of('', 'not ')}exists (select 1 from {source}{where})"
        kind = self.one_of("long", "string")
        if self.happens(0.7):
            member = f"select {self.value(kind, inner, 1)} from {source}{where}"
            return f"{self.column(kind, scope)} {self.one_of('in', 'not in')} ({member})"
        return f"{self.column('long', scope)} {self.one_of('<', '=', '>=')} {self.scalar('long', around)}"

    # ---- rows -------------------------------------------------------------------------------

    def table(self, depth: int = 0) -> tuple[str, Scope]:
        alias = self.alias()
        if depth > 0 and self.happens(0.3):
            text, kinds = self.query(depth - 1)
            return f"({text}) {alias}", [(f"{alias}.c{i}", kind) for i, kind in enumerate(kinds)]
        if self.common and self.happens(0.4):
            name = self.rng.choice(list(self.common))
            return f"{name} {alias}", [(f"{alias}.c{i}", kind) for i, kind in enumerate(self.common[name])]
        if self.happens(0.06):
            rows = ", ".join(f"({self.rng.choice(LITERALS['long'])}, {self.one_of('null', '1 + 1')})" for _ in range(2))
            return f"(values {rows}) as {alias}(m, n)", [(f"{alias}.m", "long"), (f"{alias}.n", "long")]
        name = self.rng.choice(list(SCHEMAS))
        return f"{name} {alias}", [(f"{alias}.{column}", kind) for column, kind in SCHEMAS[name]]

    def source(self, depth: int) -> tuple[str, Scope]:
        left, scope = self.table(depth)
        for _ in range(self.rng.choice([0, 0, 1, 1, 2]) if depth else 0):
            right, more = self.table(depth - 1)
            how, kind = self.rng.choice(JOINS), self.one_of("long", "string")
            mine, theirs = self.known(kind, scope), self.known(kind, more)
            if how == "cross join" or mine is None or theirs is None:
                left, scope = f"{left} cross join {right}", scope + more
                continue
            on = f"{mine} = {theirs}"
            if self.happens(0.3):
                on += f" and {self.condition(scope + more, 1)}"
            elif self.happens(0.2) and how != "full join":
                on = self.condition(scope + more, 1)
            left, scope = f"{left} {how} {right} on {on}", scope if "semi" in how or "anti" in how else scope + more
        return left, scope

    # ---- queries ----------------------------------------------------------------------------

    def aggregate(self, kind: str, scope: Scope) -> str:
        of = self.value("long" if kind in ("boolean", "double") and self.happens(0.4) else kind, scope, 1)
        match kind:
            case "long":
                other = self.value(self.one_of("string", "double"), scope, 1)
                text = self.one_of(
                    "count(*)", f"count({other})", f"sum({of})", f"min({of})", f"max({of})", f"count(distinct {other})",
                    f"sum(distinct {of})",
                )  # fmt: skip
            case "double":
                text = self.one_of(f"avg({self.value('long', scope, 1)})", f"sum({self.value('double', scope, 1)})")
            case "boolean":
                flag = self.value("boolean", scope, 1)
                text = self.one_of(f"bool_and({flag})", f"bool_or({flag})")
            case _:
                text = self.one_of(f"min({of})", f"max({of})")
        return f"{text} filter (where {self.condition(scope, 1)})" if self.happens(0.15) else text

    # ---- windows ----------------------------------------------------------------------------

    def over(self, scope: Scope, tied: bool, frame: bool = True) -> str:
        """A window; tied: whether rows that are alike in its order may be told apart by nothing else."""
        by = [f"{name} {self.one_of('asc', 'desc')} nulls {self.one_of('first', 'last')}" for name, _ in scope]
        self.rng.shuffle(by)
        if tied:
            by = by[: self.rng.randint(0, 2)]
        parts = ", ".join(name for name, _ in self.rng.sample(scope, self.rng.randint(0, min(2, len(scope)))))
        told = f"partition by {parts} " if parts else ""
        told += f"order by {', '.join(by)}" if by else ""
        if frame and not tied and self.happens(0.6):
            start, end = self.rng.choice(
                [("2 preceding", "1 following"), ("unbounded preceding", "current row"), ("1 following", "2 following"),
                 ("current row", "unbounded following"), ("3 preceding", "1 preceding")]
            )  # fmt: skip
            told += f" rows between {start} and {end}"
        elif frame and tied and len(by) == 1 and self.happens(0.6):
            name, kind = self.rng.choice(scope)
            if kind in ("long", "double"):
                end = self.one_of("current row", "2 following", "unbounded following")
                told = f"order by {name} {self.one_of('asc', 'desc')} nulls last range between 1 preceding and {end}"
        return f"over ({told})"

    def windowed(self, kind: str, scope: Scope) -> str:
        """A window function: what depends on the order of equal rows is over an order of all columns."""
        of = self.value(kind, scope, 1)
        moves = f"{self.one_of('lag', 'lead')}({of}, {self.rng.randint(0, 2)}{self.one_of('', ', ' + of)})"
        skips = f"{self.one_of('lag', 'lead')}({of}{self.one_of('', ' ignore nulls')})"
        ends = f"{self.one_of('first_value', 'last_value')}({of}{self.one_of('', ' ignore nulls')})"
        exact = [f"{moves} {self.over(scope, False, False)}", f"{skips} {self.over(scope, False, False)}",
                 f"{ends} {self.over(scope, False)}", f"nth_value({of}, 2) {self.over(scope, False)}"]  # fmt: skip
        free = [f"{self.one_of('min', 'max')}({of}) {self.over(scope, self.happens(0.5))}"]
        if kind == "long":
            places = self.one_of("row_number()", f"ntile({self.rng.randint(1, 3)})")
            exact.append(f"{places} {self.over(scope, False, False)}")
            free += [f"{self.one_of('rank()', 'dense_rank()')} {self.over(scope, True, False)}" for _ in range(2)]
            free += [f"{self.one_of('count(*)', f'count({of})', f'sum({of})')} {self.over(scope, self.happens(0.5))}"]
        if kind == "double":
            free += [f"{self.one_of('percent_rank()', 'cume_dist()')} {self.over(scope, True, False)}"]
            free += [f"avg({self.value('long', scope, 1)}) {self.over(scope, self.happens(0.5))}"]
        if kind == "boolean":
            return f"({self.windowed('long', scope)} > 1)"
        return self.one_of(*exact, *free, *free)

    def select(self, depth: int, kinds: list[str]) -> str:
        source, scope = self.source(depth)
        where = f" where {self.condition(scope, depth, [])}" if self.happens(0.5) else ""
        if not self.happens(0.4):
            written = [
                self.windowed(kind, scope) if self.happens(0.2) else self.value(kind, scope, depth, [])
                for kind in kinds
            ]
            columns = ", ".join(f"{text} as c{i}" for i, text in enumerate(written))
            qualify = f" qualify {self.windowed('long', scope)} <= 2" if self.happens(0.08) else ""
            return f"select {self.one_of('', '', '', 'distinct ')}{columns} from {source}{where}{qualify}"
        count = self.rng.randint(0, len(kinds))
        keys = [f"coalesce({self.value(kind, scope, 1)}, {self.column(kind, scope)})" for kind in kinds[:count]]
        values = [*keys, *(self.aggregate(kind, scope) for kind in kinds[count:])]
        if count < len(kinds) and kinds[-1] == "long" and self.happens(0.3):  # of groups
            order = ", ".join(f"{key} nulls first" for key in [*keys, values[-1]])
            running = f"order by {order}" if keys else ""
            values[-1] = self.one_of(
                f"rank() over (order by {values[-1]} nulls first)", f"sum({values[-1]}) over ({running})"
            )
        columns = ", ".join(f"{value} as c{i}" for i, value in enumerate(values))
        listed, group = ", ".join(keys), ""
        if keys:
            group = " group by " + self.one_of(
                listed, listed, ", ".join(str(i + 1) for i in range(count)), f"rollup({listed})", f"cube({listed})",
                f"grouping sets (({listed}), ({keys[0]}), ())",
            )  # fmt: skip
        having = ""
        if self.happens(0.3):
            having = (
                f" having {self.aggregate('long', scope)} {self.one_of('>', '<=')} {self.rng.choice(LITERALS['long'])}"
            )
        return f"select {columns} from {source}{where}{group}{having}"

    def query(self, depth: int) -> tuple[str, list[str]]:
        kinds = [
            self.one_of("long", "long", "string", "double", "date", "boolean") for _ in range(self.rng.randint(1, 3))
        ]
        text = self.select(depth, kinds)
        if depth > 0 and self.happens(0.25):
            for _ in range(self.rng.choice([1, 1, 2])):
                text = f"({text}) {self.rng.choice(SETS)} ({self.select(depth - 1, kinds)})"
        elif self.happens(0.2):
            order = ", ".join(
                f"{i + 1} {self.one_of('asc', 'desc')} nulls {self.one_of('first', 'last')}" for i in range(len(kinds))
            )
            text += f" order by {order} limit {self.rng.randint(0, 3)}{self.one_of('', '', ' offset 1')}"
        return text, kinds

    def whole(self, depth: int) -> str:
        parts = []
        for i in range(self.rng.choice([0, 0, 1, 2])):
            text, kinds = self.query(depth - 1)
            parts.append(f"w{i} as ({text})")
            self.common[f"w{i}"] = kinds
        text, _ = self.query(depth)
        return f"with {', '.join(parts)} {text}" if parts else text


def written(seed: int) -> str:
    rng = random.Random(seed)
    return Writer(rng).whole(rng.choice([1, 2, 2, 3]))


def in_duckdb(query: str) -> str:
    return query.replace("left semi join", "semi join").replace("left anti join", "anti join")


def ask(connection, seed: int) -> bool:
    """Compare one query; whether DuckDB could answer it.  AssertionError, with the query, where the two differ."""
    import duckdb

    query = written(seed)
    beside = [Writer(random.Random(-seed - i)).whole(1) for i in range((0, 0, 1, 3)[seed % 4])]  # other views
    try:
        compare(
            connection,
            query,
            seed,
            in_duckdb(query),
            [(one, in_duckdb(one)) for one in beside],
            workers=1 + seed // 4 % 2,
        )
    except duckdb.Error:
        return False
    except Exception as problem:
        problem.add_note(f"seed {seed}: {query}")
        raise
    return True


def main(arguments: list[str] | None = None) -> int:
    import duckdb

    parser = argparse.ArgumentParser(prog="python -m tests.relational.random_sql", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    failures = answered = 0
    with duckdb.connect() as connection:
        for seed in range(asked.seed, asked.seed + asked.cases):
            if seed > asked.seed and (seed - asked.seed) % 1000 == 0:
                print(f"{seed - asked.seed} queries, {answered} compared, {failures} failures", flush=True)
            try:
                answered += ask(connection, seed)
            except Exception as problem:  # whatever it is, the next query is asked
                failures += 1
                print(f"{type(problem).__name__}: {str(problem)[:600]}\n  {' '.join(problem.__notes__)}", flush=True)
    print(f"{asked.cases} queries, {answered} compared, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
