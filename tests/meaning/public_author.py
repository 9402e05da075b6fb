"""Random programs through the public interface: the calls of collections, as text.

A program is written statement by statement against its plain meaning, so that the columns it names are there and rows
are left where that can be had.  Names are few, so that they clash, swap and come back; some are those that the package
gives to columns of its own.  Loops either add rows made of the values there are, or are cut after some rounds.

Rule: the same random numbers give the same program.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from random import Random

import ebbflow
from tests.meaning import plain
from tests.meaning.plain_values import CASTS, DECIMAL, NUMBERS, WIDE, WIDENED, Refused, parts_of
from tests.meaning.public_cases import WORDS, Case, Change, Let, Loop, Mutual, Statement, grid, made_by, rows_at

BIG = Decimal(2**64) / 10**10  # one lane of a decimal of 38 digits is full
DOMAINS = {
    "long": [0, 1, 2, 3, 3, -2],
    "int": [0, 1, 2, 3],
    "double": [0.0, 1.5, -2.0, 2.0, math.nan, -0.0],
    "string": ["", "a", "b", "Ab", "é"],
    "boolean": [True, False],
    "date": [datetime.date(2024, 2, 29), datetime.date(1969, 12, 31), datetime.date(2024, 3, 1)],
    "timestamp": [datetime.datetime(2024, 7, 1, 22), datetime.datetime(1999, 12, 31, 23, 59, 59, 5)],
    DECIMAL: [Decimal("0.00"), Decimal("1.50"), Decimal("-2.25")],
    WIDE: [Decimal("1.5"), Decimal("-2.25"), BIG, BIG - Decimal("1e-10"), -BIG, Decimal("-1e-10"), Decimal("1e17")],
    "array<long>": [[], [3], [3, 3], [None, 1], [2, 1]],
    "array<decimal(38,10)>": [[], [BIG], [Decimal("1.5"), None], [-BIG, BIG]],
    "struct<p:long,q:string>": [{"p": p, "q": q} for p, q in [(1, "a"), (1, None), (None, None), (2, ""), (-2, "é")]],
    "struct<p:decimal(38,10),q:array<timestamp>>": [
        {"p": BIG, "q": []},
        {"p": None, "q": [datetime.datetime(1582, 10, 4), None]},
        {"p": -BIG, "q": None},
    ],
    "map<string,long>": [{}, {"a": 1}, {"b": 2, "a": 1}, {"a": None}],
}
SHARES = [40, 12, 12, 14, 7, 6, 5, 4, 7, 4, 3, 4, 3, 3]
TYPES = list(DOMAINS)
WRITTEN = ("long", "int", "double", "string", "boolean", "date")  # types with constants in a program
NAMES = ["a", "b", "c", "d", "k", "x", "y"]
OURS = ["_key0", "_by0", "_of0", "_0", "round", "count", "a b", "time"]  # names that the package uses itself


@dataclass
class Author:
    random: Random
    made: dict = field(default_factory=dict)  # the collections so far, by name, as plain ones
    statements: list[Statement] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    coordinates: tuple[str, ...] = ("time",)

    def case(self) -> Case:
        random = self.random
        self.coordinates = coordinates = ("time",) if random.random() < 0.75 else ("valid", "known")
        inputs, changes = self.inputs(), []
        for name, fields in inputs.items():
            changes += self.history(name, [kind for _, kind in fields], len(coordinates))
        ddl = {name: ", ".join(f"{written(n)} {kind}" for n, kind in fields) for name, fields in inputs.items()}
        case = Case(coordinates, ddl, (), (), tuple(changes))
        last = max(grid(case))
        flow = plain.Flow({name: rows_at(case, name, last) for name in inputs}, lambda *_: {})
        flow.later = lambda name, later: flow.given[name]
        self.env: dict = {"flow": flow, "ebb": plain.ebb, "col": plain.col, **WORDS}
        for name, text in ddl.items():
            self.made[name] = self.env[name] = flow.input(name, text)
        if random.random() < 0.15:
            self.only_ask()
        for _ in range(random.choice([1, 2, 3, 3, 4, 5, 6])):
            self.add()
        cuts = sorted(random.sample(range(1, 5), random.choice([0, 1, 1, 2])))
        return replace(
            case,
            statements=tuple(self.statements),
            outputs=self.outputs(),
            cuts=tuple(cuts),
            workers=random.choices([1, 2, 3], [88, 8, 4])[0],
            indexed=random.random() < 0.2,
        )

    def outputs(self) -> tuple[str, ...]:
        random = self.random
        mine = [name for statement in self.statements for name in made_by(statement)]
        if not mine:
            return (random.choice(list(self.made)),)
        used = set().union(*(statement.names() for statement in self.statements))
        ends = [name for name in mine if name not in used] or mine[-1:]
        more = [name for name in self.made if name not in ends and random.random() < 0.2]
        return (*ends, *more)

    def inputs(self) -> dict[str, list[tuple[str, str]]]:
        random = self.random
        found: dict = {}
        kinds = random.choices(TYPES, SHARES, k=random.choice([1, 2, 2, 3]))
        for name in ["t", "u", "v"][: random.choices([1, 2, 3], [25, 60, 15])[0]]:
            width = random.choices([1, 2, 3, 4, 5, 6], [12, 38, 28, 12, 6, 4])[0]
            names = random.sample(NAMES, width)
            if random.random() < 0.12:
                names[random.randrange(width)] = random.choice(OURS)
            found[name] = [(column, random.choice(kinds)) for column in names]
        return found

    def history(self, name: str, types: list[str], width: int) -> list[Change]:
        random = self.random
        nulls = random.choice([0, 0, 0.15])
        value = lambda kind: None if random.random() < nulls else random.choice(DOMAINS[kind])
        rows: list[tuple] = []
        changes: list[Change] = []
        for _ in range(random.randint(2, 7)):
            again = bool(rows) and random.random() < 0.3
            row = random.choice(rows) if again else tuple(map(value, types))
            rows.append(row)
            diff = -1 if again and random.random() < 0.7 else random.choice([1, 1, 1, 1, 2])
            changes.append((name, row, tuple(random.randint(0, 4 if width == 1 else 2) for _ in range(width)), diff))
        return changes

    # ---- statements

    def add(self) -> None:
        """One statement more, which has rows if that can be had."""
        for attempt in range(12):
            statement = self.statement()
            if statement is None:
                continue
            if isinstance(statement, Let) and any(statement.text == getattr(s, "text", 0) for s in self.statements):
                continue
            found = self.tried(statement, self.env)
            if found is None or (not any(bag.rows for bag in found.values()) and attempt < 8):
                continue
            if any(len(bag.names) > 9 for bag in found.values()):
                continue
            self.statements.append(statement)
            self.made |= found
            self.env |= found
            return

    def tried(self, statement: Statement, env: dict) -> dict | None:
        """The collections it makes, if it has a meaning."""
        scope = dict(env)
        try:
            exec("\n".join(statement.lines()), scope)
        except Refused:
            return None
        return {name: scope[name] for name in made_by(statement)}

    def new(self) -> str:
        return f"c{next(self.numbers)}"

    def pick(self) -> str:
        names = list(self.made)
        return max(self.random.choice(names), self.random.choice(names), key=names.index)

    def statement(self) -> Statement | None:
        random = self.random
        roll = random.random()
        if roll < 0.08:
            return self.climbing(self.pick(), self.made, self.new(), 1 if random.random() < 0.3 else 0)
        if roll < 0.12:
            return self.bounded(self.pick())
        if roll < 0.135:
            return self.mutual(self.pick())
        return self.let(self.pick(), self.made)

    def let(self, source: str, made: dict) -> Let | None:
        random, bag = self.random, made[source]
        if len(bag.names) > 6:
            return Let(self.new(), f"{source}.{self.narrower(bag)}", (source,))
        writers = [
            (16, self.selected),
            (9, self.renamed),
            (8, self.with_columns),
            (5, self.dropped),
            (17, self.filtered),
            (6, self.rows_only),
            (22, self.joined),
            (6, self.union),
            (9, self.grouped),
            (5, self.first),
            (2, self.own),
            (3 if any(kind.startswith("array<") for kind in bag.types) else 0, self.exploded),
        ]
        writer = random.choices([w for _, w in writers], [n for n, _ in writers])[0]
        written_ = writer(source, bag, made)
        if written_ is None:
            return None
        text, *others = written_
        return Let(self.new(), text, (source, *others))

    # ---- columns

    def narrower(self, bag) -> str:
        names = self.random.sample(bag.names, self.random.randint(1, 4))
        return f"select({', '.join(map(repr, names))})"

    def name(self, bag, taken=()) -> str:
        """A name for a column, often one that another column has or had."""
        pool = [*NAMES, *bag.names, *bag.names]
        free = [name for name in pool if name not in taken and name.isidentifier()]
        if self.random.random() < 0.02:
            free = [name for name in OURS if name not in taken and name.isidentifier()]
        return self.random.choice(free) if free else f"n{len(taken)}"

    def selected(self, source, bag, made):
        random = self.random
        if random.random() < 0.05:
            return (f'{source}.select("*")',)
        plain_names = random.sample(bag.names, random.randint(0, min(3, len(bag.names))))
        if random.random() < 0.25:  # a swap, or a turn of names
            some = [name for name in bag.names if name.isidentifier()]
            turned = random.sample(some, min(len(some), random.randint(2, 3)))
            if len(turned) > 1:
                rest = [name for name in bag.names if name not in turned and random.random() < 0.7]
                moved = {new: repr(old) for new, old in zip(turned, turned[1:] + turned[:1])}
                return (f"{source}.select({', '.join([*map(repr, rest), *pairs(moved)])})",)
        new: dict[str, str] = {}
        for _ in range(random.randint(0 if plain_names else 1, 3)):
            name = self.name(bag, [*plain_names, *new])
            if random.random() < 0.65:
                new[name] = repr(random.choice(bag.names))
            else:
                new[name] = self.value(source, bag, made)
        positional = [repr(n) if random.random() < 0.8 else f'col("{n}")' for n in plain_names]
        if positional and random.random() < 0.1:
            positional.append(f'col("{random.choice(bag.names)}").alias("{self.name(bag, [*plain_names, *new])}")')
        return (f"{source}.select({', '.join([*positional, *pairs(new)])})",)

    def renamed(self, source, bag, made):
        random = self.random
        old = random.sample(bag.names, random.randint(1, min(3, len(bag.names))))
        if len(old) > 1 and random.random() < 0.5:
            new = old[1:] + old[:1]
        else:
            kept = [name for name in bag.names if name not in old]
            new = []
            for _ in old:
                new.append(self.name(bag, [*kept, *new]))
        listed = ", ".join(f"{one!r}: {two!r}" for one, two in zip(old, new))
        return (f"{source}.rename({{{listed}}})",)

    def with_columns(self, source, bag, made):
        random = self.random
        new: dict[str, str] = {}
        for _ in range(random.randint(1, 2)):
            some = [name for name in bag.names if name.isidentifier()]
            name = random.choice(some) if some and random.random() < 0.5 else self.name(bag, new)
            new[name] = self.value(source, bag, made) if random.random() < 0.75 else repr(random.choice(bag.names))
        return (f"{source}.with_columns({', '.join(pairs(new))})",)

    def dropped(self, source, bag, made):
        if len(bag.names) < 2:
            return None
        names = self.random.sample(bag.names, self.random.randint(1, min(2, len(bag.names) - 1)))
        return (f"{source}.drop({', '.join(map(repr, names))})",)

    # ---- expressions

    def reference(self, source, bag, made) -> Callable[[str], str]:
        """How a column is written: by name, of this collection, of an earlier one, or of a lambda's row."""
        style = self.random.choices(["col", "own", "row", "earlier"], [50, 20, 20, 10])[0]
        if style == "row":
            return lambda name: f"r.{name}" if can_be_attribute(name) else f"r[{name!r}]"
        if style == "own":
            return lambda name: f"{source}.{name}" if can_be_attribute(name) else f"{source}[{name!r}]"
        if style == "earlier":
            return lambda name: self.earlier(name, bag, made)
        return lambda name: f"col({name!r})"

    def earlier(self, name: str, bag, made) -> str:
        """The column as one of the collections that this one comes from knows it."""
        at = bag.names.index(name)
        found = []
        for other, there in made.items():
            for column in there.names:
                if there.serial != bag.serial and (there.serial, column) in bag.origins[at]:
                    found.append((other, column, there))
        self.random.shuffle(found)
        for other, column, there in found[:2]:
            try:
                if bag.find(column, there) == at:
                    return f"{other}[{column!r}]"
            except Refused:
                continue
        return f"col({name!r})"

    def traced(self, text: str) -> str:
        return f"lambda r: {text}" if "r." in text or "r[" in text else text

    def value(self, source, bag, made) -> str:
        """An expression of any type."""
        return self.traced(self.expression(bag, self.reference(source, bag, made), 2))

    def condition(self, source, bag, made) -> str:
        return self.traced(self.truth(bag, self.reference(source, bag, made), 2))

    def of_type(self, bag, types) -> str | None:
        found = [name for name, kind in zip(bag.names, bag.types) if kind in types]
        return self.random.choice(found) if found else None

    def constant(self, kind: str) -> str:
        value = self.random.choice(DOMAINS[kind])
        return 'float("nan")' if value != value else repr(value)

    def expression(self, bag, ref, depth: int) -> str:
        random = self.random
        name = random.choice(bag.names)
        kind = bag.types[bag.names.index(name)]
        x = ref(name)
        other = self.of_type(bag, NUMBERS)
        if parts_of(kind) and random.random() < 0.6:
            return f"ebb.functions.size({x})" if kind[0] != "s" and random.random() < 0.3 else x + self.part(kind)
        match random.randrange(9):
            case 0 | 1 if kind in NUMBERS and other is not None:
                op = random.choice(["+", "-", "*"])
                return f"({x} {op} {ref(other) if random.random() < 0.5 else random.randint(0, 3)})"
            case 2 if kind in NUMBERS:
                op, by = random.choice(["%", "//", "/"]), random.choice([2, 3])
                by = ref(other) if op == "/" and random.random() < 0.3 and other is not None else by
                return f"({x} {op} {by})"
            case 3 if kind in NUMBERS:
                return f"(-{x})"
            case 4 if kind == "string":
                return random.choice(
                    [f"{x}.str.lower()", f"{x}.str.upper()", f"{x}.str.length()", f'ebb.concat({x}, ebb.lit("!"))']
                )
            case 4 if kind == "date":
                return random.choice([f"{x}.dt.year()", f"{x}.dt.day()"])
            case 5 if depth:
                return self.truth(bag, ref, depth - 1)
            case 6:
                same = self.of_type(bag, [kind])
                value = ref(same) if kind not in WRITTEN or random.random() < 0.5 else self.lit(kind)
                if kind in ("int", "long") and random.random() < 0.1:
                    value = "1.5"
                return f"ebb.when({self.truth(bag, ref, 0)}, {x}).otherwise({value})"
            case 7 if kind in WRITTEN:
                return f"{x}.fill_null({self.constant(kind)})"
            case 8 if kind in ("int", "long", "boolean", "date"):
                targets = [target for here, target in CASTS if here == kind]
                return f'{x}.cast("{random.choice(targets)}")'
        if random.random() < 0.15:
            return self.lit(random.choice(["long", "string", "double", "boolean", "date"]))
        return f"{x}.is_null()" if random.random() < 0.3 else x

    def part(self, kind: str) -> str:
        """What is written behind a value that has parts, to get one."""
        if kind.startswith("array"):
            return f"[{self.random.randint(0, 2)}]"
        return f"[{self.random.choice(list(parts_of(kind)) if kind.startswith('struct') else ['a', 'b'])!r}]"

    def lit(self, kind: str) -> str:
        return f"ebb.lit({self.constant(kind)})" if kind != "int" else f"ebb.lit({self.constant('long')})"

    def truth(self, bag, ref, depth: int) -> str:
        random = self.random
        if depth and random.random() < 0.3:
            one, two = self.truth(bag, ref, depth - 1), self.truth(bag, ref, depth - 1)
            return random.choice([f"({one} & {two})", f"({one} | {two})", f"(~{one})"])
        name = random.choice(bag.names)
        kind = bag.types[bag.names.index(name)]
        x = ref(name)
        same = self.of_type(bag, next((some for some in (NUMBERS, WIDENED) if kind in some), [kind]))
        op = random.choice(["==", "!=", "<", "<=", ">", ">="])
        roll = random.random()
        if kind == "boolean" and roll < 0.4:
            return x
        if kind == "string" and roll < 0.35:
            return random.choice([f'{x}.str.contains("a")', f'{x}.str.like("%b%")', f'{x}.str.starts_with("A")'])
        if kind in NUMBERS and roll < 0.2:
            return f"(({x} + 1) {op} {random.randint(0, 3)})"
        if roll < 0.3:
            return random.choice([f"{x}.is_null()", f"{x}.is_not_null()"])
        if roll < 0.5 and kind in WRITTEN and kind != "boolean":
            if random.random() < 0.5:
                return f"{x}.is_in([{self.constant(kind)}, {self.constant(kind)}])"
            return f"{x}.between({self.constant(kind)}, {self.constant(kind)})"
        if roll < 0.75 or kind not in WRITTEN:
            return f"({x} {op} {ref(same)})"
        return f"({x} {op} {self.constant(kind)})"

    # ---- rows

    def filtered(self, source, bag, made):
        conditions = [self.condition(source, bag, made) for _ in range(self.random.choices([1, 2], [85, 15])[0])]
        return (f"{source}.filter({', '.join(conditions)})",)

    def only_ask(self) -> None:
        """Text of an input that nothing is done with but to ask about it; nothing else reads this input."""
        name = self.random.choice(list(self.made))
        text = self.of_type(self.made[name], ["string"])
        if text is None or len(self.made[name].names) < 2:
            return
        asks = self.random.choice(['contains("a")', 'like("%b%")', 'starts_with("A")'])
        statement = Let(self.new(), f"{name}.filter(col({text!r}).str.{asks}).drop({text!r})", (name,))
        found = self.tried(statement, self.env)
        if found is not None:
            del self.made[name]
            self.statements.append(statement)
            self.made |= found
            self.env |= found

    def rows_only(self, source, bag, made):
        random = self.random
        if bag.input is not None and random.random() < 0.3 and made is self.made:
            width = 1 if "known" not in self.coordinates else 2
            later = "lambda t: t + 1" if width == 1 else "lambda valid, known: (valid + 1, known + 1)"
            return (f"{source}.delay({later})",)
        fn = random.choice(["lambda n: n // 2", "lambda n: abs(n)", "lambda n: n if n > 1 else 0", "lambda n: -n"])
        return (
            random.choice(
                [f"{source}.distinct()"] * 6
                + [f"{source}.negate()"] * 2
                + [f"{source}.threshold({fn})"] * 2
                + [f"-(-{source})"]
            ),
        )

    def union(self, source, bag, made):
        """With another collection, its columns chosen, renamed or cast to fit."""
        random = self.random
        other = random.choice(list(made))
        there = made[other]
        chosen = {}
        for name, kind in zip(bag.names, bag.types):
            fitting = [
                n
                for n, k in zip(there.names, there.types)
                if k == kind or {k, kind} <= set(NUMBERS) or {k, kind} <= set(WIDENED)
            ]
            if not fitting:
                return None
            chosen[name] = name if name in fitting and random.random() < 0.5 else random.choice(fitting)
        turned = random.sample(list(chosen), len(chosen))
        if all(chosen[name] == name for name in chosen) and set(there.names) == set(bag.names):
            shaped = other
        elif all(name.isidentifier() for name in chosen):
            shaped = f"{other}.select({', '.join(f'{name}={chosen[name]!r}' for name in turned)})"
        else:
            return None
        how = random.choice([f"{source}.union({shaped})", f"{source} + {shaped}", f"{source} - {shaped}"])
        if random.random() < 0.15:
            how = f"{source}.union({shaped}, {source})"
        return how, other

    # ---- joins

    def joined(self, source, bag, made):
        random = self.random
        other = random.choice(list(made))
        there = made[other]
        how = random.choices(["inner", "left", "right", "full", "semi", "anti", "cross"], [34, 13, 11, 12, 12, 12, 6])[
            0
        ]
        shown = f', how="{how}"' if how != "inner" or random.random() < 0.1 else ""
        suffix = f', suffix="{random.choice(["_r", "_2", "x"])}"'
        if how in ("semi", "anti") or (not set(bag.names) & set(there.names) and random.random() < 0.7):
            suffix = ""
        if how == "cross":
            return f'{source}.join({other}{suffix}, how="cross")', other
        pairs_ = [
            (one, two)
            for one, a in zip(bag.names, bag.types)
            for two, b in zip(there.names, there.types)
            if a == b or {a, b} == {"int", "long"} or {a, b} <= set(WIDENED)
        ]
        if not pairs_:
            return None
        on = self.on(source, other, bag, there, pairs_)
        if how in ("semi", "anti") and random.random() < 0.5:
            return f"{source}.{how}join({other}, on={on})", other
        return f"{source}.join({other}, on={on}{shown}{suffix})", other

    def on(self, source: str, other: str, bag, there, pairs_: list[tuple[str, str]]) -> str:
        random = self.random
        same = [one for one, two in pairs_ if one == two]
        chosen = random.sample(pairs_, min(len(pairs_), random.choices([1, 2, 3], [75, 20, 5])[0]))
        chosen = list({one: (one, two) for one, two in chosen}.values())
        roll = random.random()
        if same and roll < 0.3:
            some = random.sample(same, min(len(same), random.choice([1, 1, 2])))
            return repr(some[0]) if len(some) == 1 and random.random() < 0.7 else repr(some)
        if roll < 0.65 or (roll < 0.85 and source == other):
            return "{" + ", ".join(f"{one!r}: {two!r}" for one, two in chosen) + "}"
        if roll < 0.8:
            inputs = set().union(*bag.roots), set().union(*there.roots)
            apart = all(inputs) and not inputs[0] & inputs[1]
            turned = apart and random.random() < 0.4
            sides = [(f"{source}[{one!r}]", f"{other}[{two!r}]") for one, two in chosen]
            return " & ".join(f"({b} == {a})" if turned else f"({a} == {b})" for a, b in sides)
        if roll < 0.92 or not all(bag.types[bag.names.index(one)] == "long" for one, _ in chosen):
            return "lambda l, r: " + " & ".join(f"(l[{one!r}] == r[{two!r}])" for one, two in chosen)
        one, two = chosen[0]  # a computed key
        if there.types[there.names.index(two)] != "long":
            return repr({one: two})
        return random.choice(
            [
                f"lambda l, r: (l[{one!r}] + 1 == r[{two!r}])",
                f"lambda l, r: (l[{one!r}] == r[{two!r}] % 2)",
                f"lambda l, r: (l[{one!r}] % 2 == r[{two!r}] % 2)",
            ]
        )

    # ---- groups

    def aggregates(self, bag, taken) -> list[str]:
        random = self.random
        found: dict[str, str] = {}
        for _ in range(random.choices([1, 2, 3, 4], [40, 30, 20, 10])[0]):
            number, any_ = self.of_type(bag, NUMBERS), random.choice(bag.names)
            decimal = self.of_type(bag, (DECIMAL, WIDE))
            forms = [
                "ebb.count()",
                f"ebb.count({any_!r})",
                f"ebb.min({any_!r})",
                f"ebb.max({any_!r})",
                f"ebb.any_value({any_!r})",
                f"ebb.count_distinct({any_!r})",
            ]
            if random.random() < 0.2:
                forms = [f"ebb.functions.collect_{how}({any_!r})" for how in ("list", "set")]
            if decimal is not None:
                forms += [f"ebb.sum({decimal!r})"] * 2
            if number is not None:
                forms += [f"ebb.sum({number!r})", f"ebb.avg({number!r})", f"ebb.sum(col({number!r}) + 1)"]
                forms += [f"ebb.sum({number!r}) / ebb.count()", f"ebb.max(col({number!r}) * 2)"]
            found[self.name(bag, [*taken, *found])] = random.choice(forms)
        return pairs(found)

    def grouped(self, source, bag, made):
        random = self.random
        keys = random.sample(bag.names, random.choices([0, 1, 2], [10, 65, 25])[0] if len(bag.names) > 1 else 1)
        written_keys = list(map(repr, keys))
        if random.random() < 0.25:
            name = self.name(bag, keys)
            written_keys.append(f"{name}={self.value(source, bag, made)}")
            keys = [*keys, name]
        groups = f"{source}.group_by({', '.join(written_keys)})"
        roll = random.random()
        if roll < 0.15 and "count" not in keys:
            return (f"{groups}.count()",)
        if roll < 0.35:
            return (f"{groups}.top({random.randint(1, 2)}, order_by={self.order(bag)})",)
        number = self.of_type(bag, NUMBERS)
        if roll < 0.45 and number is not None and number not in keys:
            return (f"{groups}.{random.choice(['sum', 'min', 'max'])}({number!r})",)
        return (f"{groups}.agg({', '.join(self.aggregates(bag, keys))})",)

    def order(self, bag) -> str:
        random = self.random
        names = random.sample(bag.names, random.randint(1, min(2, len(bag.names))))
        forms = [
            random.choice([repr(name), repr(f"-{name}"), f"col({name!r}).desc()", f"col({name!r})"]) for name in names
        ]
        number = self.of_type(bag, NUMBERS)
        if number is not None and random.random() < 0.2:
            forms[0] = random.choice([f"col({number!r}) % 2", f"(-col({number!r}))"])
        return forms[0] if len(forms) == 1 else f"[{', '.join(forms)}]"

    def first(self, source, bag, made):
        order = self.order(bag)
        listed = order[1:-1] if order.startswith("[") else order
        return (f"{source}.order_by({listed}).limit({self.random.randint(1, 3)})",)

    def own(self, source, bag, made):
        names = [name for name in bag.names if name.isidentifier() and not name.startswith("_")][:3]
        if not names or len(set(names)) < len(names):
            return None
        turned = names[1:] + names[:1]
        kinds = ", ".join(f"{new} {bag.types[bag.names.index(old)]}" for new, old in zip(names, turned))
        row = f"({', '.join(f'r.{old}' for old in turned)},)"
        if self.random.random() < 0.5:
            return (f'{source}.map_rows(lambda r: {row}, "{kinds}")',)
        return (f'{source}.flat_map(lambda r: [{row}] * (r.{names[0]} is not None), "{kinds}")',)

    def exploded(self, source, bag, made):
        random = self.random
        arrays = [name for name, kind in zip(bag.names, bag.types) if kind.startswith("array<")]
        if not arrays:
            return None
        kept = random.sample(bag.names, random.randint(0, min(2, len(bag.names))))
        array, new = random.choice(arrays), self.name(bag, kept)
        given = [*map(repr, kept), f"{new}=ebb.functions.explode({array!r})"]
        return (f"{source}.select({', '.join(given)})",)

    # ---- loops

    def shaped(self, bag, start) -> str | None:
        """A selection that has the columns of a loop's variable again, rather from elsewhere than its own."""
        new = {}
        for name, kind in zip(start.names, start.types):
            fitting = [n for n, k in zip(bag.names, bag.types) if k == kind]
            if not fitting or not name.isidentifier():
                return None
            others = [n for n in fitting if n != name]
            new[name] = repr(self.random.choice(others if others and self.random.random() < 0.6 else fitting))
        order = self.random.sample(list(new), len(new))
        return f"select({', '.join(f'{name}={new[name]}' for name in order)})"

    def climbing(self, source: str, made: dict, name: str, deeper: int) -> Loop | None:
        """A loop that adds rows, made of the values there are, until there are none to add."""
        random, start = self.random, made[source]
        if len(start.names) > 4:
            return None
        variable = f"{name}_"
        inside = {**made, variable: plain.Bag(start.flow, start.names, start.types, start.distinct().rows)}
        env = {**self.env, variable: inside[variable]}
        body: list[Statement] = []
        ends = []
        for _ in range(random.choices([1, 2], [75, 25])[0]):
            at = variable
            for writer in random.choice(
                [
                    [self.walk],
                    [self.walk],
                    [self.walk],
                    [self.renamed, self.walk],
                    [self.filtered, self.walk],
                    [self.filtered],
                ]
            ):
                written_ = writer(at, inside[at], inside)
                if written_ is None:
                    return None
                step = Let(self.new(), written_[0], (at, *written_[1:]))
                found = self.tried(step, env)
                if found is None:
                    return None
                body.append(step)
                inside |= found
                env |= found
                at = step.name
            if deeper:
                within = self.inner(at, inside, env)
                if within is not None:
                    body.append(within[0])
                    inside |= within[1]
                    env |= within[1]
                    at = within[0].name
            text = self.shaped(inside[at], start)
            if text is None:
                return None
            step = Let(self.new(), f"{at}.{text}", (at,))
            body.append(step)
            ends.append(step.name)
        together = " + ".join([*ends, source])
        return Loop(name, f"{source}.distinct()", tuple(body), f"({together}).distinct()")

    def inner(self, at: str, inside: dict, env: dict):
        keep, self.env = self.env, env
        try:
            loop = self.climbing(at, inside, self.new(), 0)
            found = self.tried(loop, env) if loop is not None else None
        finally:
            self.env = keep
        return None if found is None else (loop, found)

    def walk(self, source, bag, made):
        """A join with something from outside, each of its rows once."""
        random = self.random
        other = random.choice([name for name in made if name != source])
        there = made[other]
        pairs_ = [
            (one, two)
            for one, a in zip(bag.names, bag.types)
            for two, b in zip(there.names, there.types)
            if a == b and a != "double"
        ]
        if not pairs_:
            return None
        how = random.choices(["inner", "semi"], [85, 15])[0]
        many = random.choices([1, 2, 9], [65, 15, 20])[0]  # by all columns: the rows of a set are their own key
        chosen = list(dict(random.sample(pairs_, len(pairs_))).items())[:many]
        on = "{" + ", ".join(f"{one!r}: {two!r}" for one, two in chosen) + "}"
        if how == "semi":
            return f"{source}.semijoin({other}, on={on})", other
        return f'{source}.join({other}.distinct(), on={on}, suffix="_r")', other

    def bounded(self, source: str) -> Loop | None:
        """A loop of anything, cut after some rounds."""
        random, start = self.random, self.made[source]
        if len(start.names) > 4:
            return None
        name = self.new()
        variable = f"{name}_"
        inside = {**self.made, variable: plain.Bag(start.flow, start.names, start.types, start.rows)}
        env = {**self.env, variable: inside[variable]}
        body: list[Statement] = []
        at = variable
        for _ in range(random.randint(1, 3)):
            step = self.let(at, inside)
            found = self.tried(step, env) if step is not None and "delay(" not in step.text else None
            if found is None:
                continue
            body.append(step)
            inside |= found
            env |= found
            at = step.name
        text = self.shaped(inside[at], start)
        if text is None or not body:
            return None
        if random.random() < 0.15:  # the same in every round
            return Loop(name, source, tuple(body), source)
        return Loop(name, source, tuple(body), f"{at}.{text}", random.randint(1, 3))

    def mutual(self, source: str) -> Mutual | None:
        start = self.made[source]
        if len(start.names) > 3 or not all(name.isidentifier() for name in start.names):
            return None
        other = self.random.choice(list(self.made))
        written_ = self.walk("q", start, {**self.made, "q": start})
        if written_ is None:
            return None
        scope = {**self.env, "q": start}
        found = self.tried(Let("step", written_[0]), scope)
        text = self.shaped(found["step"], start) if found else None
        if text is None:
            return None
        first = f"({written_[0]}.{text} + {source}).distinct()"
        second = f"p.{self.shaped(start, start)}.distinct()"
        starts = (
            f"{source}.distinct()",
            f"{source}.filter({self.truth(start, lambda n: f'col({n!r})', 0)}).distinct()",
        )
        return Mutual(self.new(), starts, (first, second), (source, other, *written_[1:]))


def pairs(named: dict[str, str]) -> list[str]:
    return [f"{name}={text}" for name, text in named.items()]


def written(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def can_be_attribute(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_") and not hasattr(ebbflow.Collection, name)
