"""Programs for the tests: a pencil with which to sketch graphs, and random ones that are sure to end.

A sketch adds nodes straight to a graph, below the interface that people use.  Random programs mix every node kind;
their loops end because they either climb a finite set (only monotone steps, from a start they keep), improve a
minimum, shrink a set, or are cut by `max_rounds`.

Rule: the same random numbers give the same program.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from random import Random

from ebbflow.columns.schema import BOOLEAN, DATE, DOUBLE, LONG, STRING, Field, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow import windows
from ebbflow.dataflow.aggregates import result_type
from ebbflow.dataflow.graph import Graph, Loop
from ebbflow.expressions.operations import typed
from ebbflow.expressions.typed import Call, Column, Expr, Literal

DECIMAL, WIDE = Type("decimal", 9, 2), Type("decimal", 38, 2)


def schema(**types: Type) -> Schema:
    return Schema(tuple(Field(name, type) for name, type in types.items()))


PAIR = schema(a=LONG, b=LONG)
ONE = schema(a=LONG)


# ---- people's own functions, by name, so that a printed case can be pasted ------------------

FUNCTIONS = {
    "swapped": lambda row: (row[1], row[0]),
    "itself_and_swapped": lambda row: [(row[0], row[1]), (row[1], row[0])],
    "only_equal": lambda row: [tuple(row)] if row[0] == row[1] else [],
    "swapped_columns": lambda columns: {"a": columns["b"], "b": columns["a"]},
    "first_row": lambda rows: [rows[0][0]],
    "every_row_once": lambda rows: [row for row, _ in rows],
    "last_if_many": lambda rows: [rows[-1][0]] if len(rows) > 1 else [],
    "twice_the_first": lambda rows: [rows[0][0], rows[0][0]],
    "count_mod_three": lambda count: count % 3,
    "minus_count": lambda count: -count,
    "one_if_even": lambda count: int(count % 2 == 0),
}


def own(name: str) -> n.Function:
    fn = FUNCTIONS[name]
    return n.Function(fn, id(fn), name)


# ---- expressions ----------------------------------------------------------------------------


def call(op: str, *args: Expr) -> Call:
    return typed(op, args)


def lit(value: object, type: Type = LONG) -> Literal:
    return Literal(value, type)


def add_mod(x: Expr, y: Expr, k: int) -> Expr:
    return call("mod", call("add", x, y), lit(k))


# ---- the pencil -----------------------------------------------------------------------------


class Sketch:
    def __init__(self, *coordinates: str):
        self.graph = Graph(coordinates or ("time",))

    def add(self, node: n.Node) -> int:
        return self.graph.add(node)

    def schema(self, at: int) -> Schema:
        return self.graph.schemas[at]

    def col(self, at: int, name: str) -> Column:
        return Column(name, self.schema(at)[name])

    def input(self, name: str, schema: Schema = PAIR) -> int:
        return self.add(n.Input(name, schema))

    def output(self, name: str, source: int) -> int:
        return self.add(n.Output(name, source))

    def linear(self, source: int, action: n.Action) -> int:
        return self.add(n.Linear(source, action))

    def map(self, source: int, **columns: Expr | str) -> int:
        named = ((k, self.col(source, v) if isinstance(v, str) else v) for k, v in columns.items())
        return self.linear(source, n.Map(tuple(named)))

    def filter(self, source: int, condition: Expr) -> int:
        return self.linear(source, n.Filter(condition))

    def negate(self, source: int) -> int:
        return self.linear(source, n.Negate())

    def concat(self, *sources: int) -> int:
        return self.add(n.Concat(sources))

    def minus(self, left: int, right: int) -> int:
        return self.concat(left, self.negate(right))

    def delay(self, source: int, *times: Expr) -> int:
        return self.linear(source, n.Delay(times))

    def threshold(self, source: int, function: n.Function | None = None) -> int:
        s = self.schema(source)
        return self.add(n.Reduce(source, s.names, n.Threshold(function), s))

    distinct = threshold

    def aggregate(self, source: int, key: tuple[str, ...], **aggregates: tuple[str | None, ...]) -> int:
        """aggregates: name=(op, column), or name=(op, column, by)."""
        s = self.schema(source)
        asked = tuple(n.Aggregate(op, column, name, *by) for name, (op, column, *by) in aggregates.items())
        added = [Field(a.name, result_type(a.op, s[a.column] if a.column else None)) for a in asked]
        fields = (*(Field(name, s[name]) for name in key), *added)
        return self.add(n.Reduce(source, key, n.Aggregates(asked), Schema(fields)))

    def _rest(self, source: int, key: tuple[str, ...]) -> tuple[Schema, Schema]:
        """The key's columns, then the others; and the others alone."""
        s = self.schema(source)
        rest = tuple(f for f in s if f.name not in key)
        return Schema((*(Field(name, s[name]) for name in key), *rest)), Schema(rest)

    def top(self, source: int, key: tuple[str, ...], limit: int, *order: tuple[str, bool]) -> int:
        return self.add(n.Reduce(source, key, n.Top(limit, order), self._rest(source, key)[0]))

    def window(self, source: int, key: tuple[str, ...], order: str, *functions: n.WindowFunction) -> int:
        """order: columns, with - before those that are descending, and ! behind those whose nulls are last."""
        by = tuple((name.strip("-!"), name[0] == "-", name[-1] == "!") for name in order.split())
        s, whole = self.schema(source), self._rest(source, key)[0]
        added = [
            Field(
                f.name,
                result_type(f.op, s[f.column] if f.column else None)
                if f.op not in windows.PLACES
                else windows.result_type(f.op, s[f.column] if f.column else None),
            )
            for f in functions
        ]
        return self.add(n.Reduce(source, key, n.Window(by, functions), Schema((*whole.fields, *added))))

    def own(self, source: int, key: tuple[str, ...], name: str, how: str = "rows") -> int:
        whole, rest = self._rest(source, key)
        return self.add(n.Reduce(source, key, n.Own(own(name), how, rest), whole))

    def apply(self, source: int, name: str, how: str) -> int:
        return self.linear(source, n.Apply(own(name), how, self.schema(source)))

    def arrange(self, source: int, *key: str) -> int:
        return self.add(n.Arrange(source, key))

    def join(self, left: int, right: int, on: dict[str, str], **columns: str) -> int:
        """columns: name="left.column" or "right.column"."""
        sides = {"left": 0, "right": 1}
        taken = []
        for name, place in columns.items():
            side, column = place.split(".")
            taken.append((name, sides[side], column))
        return self.add(n.Join(self.arrange(left, *on), self.arrange(right, *on.values()), tuple(taken)))

    def keys(self, source: int, *names: str) -> int:
        return self.distinct(self.map(source, **{name: name for name in names}))

    def semijoin(self, left: int, right: int, on: dict[str, str]) -> int:
        """The left rows that have a partner, once each per left copy, however many partners there are."""
        kept = {name: f"left.{name}" for name in self.schema(left).names}
        return self.join(left, self.keys(right, *on.values()), on, **kept)

    def antijoin(self, left: int, right: int, on: dict[str, str]) -> int:
        return self.minus(left, self.semijoin(left, right, on))

    def outer(self, left: int, right: int, on: dict[str, str], how: str) -> int:
        """left, right or full: columns left_* and right_*, nulls where there is no partner."""
        lefts, rights = self.schema(left), self.schema(right)
        names = [("left", f) for f in lefts] + [("right", f) for f in rights]
        matched = self.join(left, right, on, **{f"{side}_{f.name}": f"{side}.{f.name}" for side, f in names})
        parts = [matched]
        backwards = {r: l for l, r in on.items()}
        if how in ("left", "full"):
            alone = self.antijoin(left, right, on)
            columns = {f"{s}_{f.name}": f.name if s == "left" else lit(None, f.type) for s, f in names}
            parts.append(self.map(alone, **columns))
        if how in ("right", "full"):
            alone = self.antijoin(right, left, backwards)
            columns = {f"{s}_{f.name}": f.name if s == "right" else lit(None, f.type) for s, f in names}
            parts.append(self.map(alone, **columns))
        return self.concat(*parts)

    # ---- loops

    def loop(self, parent: int | None = None, max_rounds: int | None = None, on_limit: str = "return") -> int:
        self.graph.loops.append(Loop(parent, max_rounds, on_limit))
        return len(self.graph.loops) - 1

    def enter(self, source: int, loop: int) -> int:
        """Into a loop, through all the loops around it that the source is not in yet."""
        parent = self.graph.loops[loop].parent
        scope = self.graph.scopes[source]
        if scope and scope[-1] == loop:
            return source
        if parent is not None:
            source = self.enter(source, parent)
        return self.linear(source, n.Enter(loop))

    def wait(self, source: int, loop: int, rounds: Expr) -> int:
        """Into a loop, each row in the round that an expression over it says."""
        kept = {name: name for name in self.schema(source).names}
        entered = self.enter(self.map(source, **kept, round=rounds), loop)
        return self.map(self.linear(entered, n.Wait("round")), **kept)

    def variable(self, start: int, loop: int, index: int = 0) -> int:
        return self.add(n.Feedback(self.enter(start, loop), loop, index))

    def leave(self, source: int, loop: int) -> int:
        return self.linear(source, n.Leave(loop))

    def becomes(self, variable: int, following: int) -> None:
        self.graph.next_of[variable] = following

    def iterate(self, start, body, parent: int | None = None, **options) -> int:
        """body(variable, loop) -> its next round."""
        loop = self.loop(parent, **options)
        variable = self.variable(start, loop)
        following = body(variable, loop)
        self.becomes(variable, following)
        return self.leave(following, loop)


# ---- whole programs that people know --------------------------------------------------------


def reach(s: Sketch, edges: int, roots: int) -> int:
    """roots (a), edges (a, b): the pairs (a root, b reached)."""
    start = s.map(roots, a="a", b="a")

    def body(reached: int, loop: int) -> int:
        stepped = s.join(reached, s.enter(edges, loop), {"b": "a"}, a="left.a", b="right.b")
        return s.distinct(s.concat(stepped, s.enter(start, loop)))

    return s.iterate(start, body)


def distances(s: Sketch, edges: int, roots: int) -> int:
    """Breadth-first: (a node, b steps from the nearest root)."""
    start = s.map(roots, a="a", b=lit(0))

    def body(found: int, loop: int) -> int:
        stepped = s.join(found, s.enter(edges, loop), {"a": "a"}, a="right.b", b="left.b")
        further = s.map(stepped, a="a", b=call("add", s.col(stepped, "b"), lit(1)))
        return s.aggregate(s.concat(further, s.enter(start, loop)), ("a",), b=("min", "b"))

    return s.iterate(start, body)


def labels(s: Sketch, edges: int, parent: int | None = None, between: int = 0) -> int:
    """(a node, b the least node from which it is reached), each node by itself too.

    `between`: labels set out one after the other, so many rounds apart.
    """
    nodes = s.distinct(s.concat(s.map(edges, a="a", b="a"), s.map(edges, a="b", b="b")))
    start = s.filter(nodes, lit(False, BOOLEAN)) if between else nodes

    def body(known: int, loop: int) -> int:
        stepped = s.join(known, s.enter(edges, loop), {"a": "a"}, a="right.b", b="left.b")
        turn = call("mul", s.col(nodes, "b"), lit(between)) if between else None
        own = s.enter(nodes, loop) if turn is None else s.wait(nodes, loop, turn)
        return s.aggregate(s.concat(stepped, own), ("a",), b=("min", "b"))

    return s.iterate(start, body, parent)


def components(s: Sketch, edges: int, between: int = 0) -> int:
    return labels(s, s.concat(edges, s.map(edges, a="b", b="a")), between=between)


def trimmed(s: Sketch, cycle: int, edges: int, loop: int, between: int) -> int:
    """The edges, turned around, whose ends get one label when labels follow `cycle`."""
    known = labels(s, cycle, loop, between)
    left = s.join(edges, known, {"a": "a"}, a="left.a", b="left.b", x="right.b")
    both = s.join(left, known, {"b": "a"}, a="left.a", b="left.b", x="left.x", y="right.b")
    same = s.filter(both, call("eq", s.col(both, "x"), s.col(both, "y")))
    return s.map(same, a="b", b="a")


def strong(s: Sketch, edges: int, parent: int | None = None, between: int = 0) -> int:
    """The edges inside strongly connected components."""
    reversed_edges = s.map(edges, a="b", b="a")

    def body(kept: int, loop: int) -> int:
        inside, turned = s.enter(edges, loop), s.enter(reversed_edges, loop)
        return trimmed(s, trimmed(s, kept, inside, loop, between), turned, loop, between)

    return s.iterate(edges, body, parent)


def core(s: Sketch, edges: int, degree: int, parent: int | None = None) -> int:
    """The edges that remain when nodes with fewer than `degree` edges out are taken away, again and again."""

    def body(kept: int, loop: int) -> int:
        degrees = s.aggregate(kept, ("a",), b=("count_rows", None))
        enough = s.filter(degrees, call("ge", s.col(degrees, "b"), lit(degree)))
        return s.semijoin(s.semijoin(s.enter(edges, loop), enough, {"a": "a"}), enough, {"b": "a"})

    return s.iterate(edges, body, parent)


# ---- random programs ------------------------------------------------------------------------

DOMAINS: dict[Type, list] = {
    LONG: [0, 1, 2, 3, 4, 5, 6],
    STRING: ["", "a", "b", "ab", "é"],
    DOUBLE: [0.0, -0.0, 1.5, 0.1, 0.2, -2.25, 1e16, math.inf, math.nan],
    BOOLEAN: [False, True],
    DATE: [date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29)],
    DECIMAL: [Decimal("0.00"), Decimal("1.25"), Decimal("-3.10")],
    WIDE: [
        Decimal(number).scaleb(-2)
        for number in (0, 125, 2**64 - 1, -(2**63), 2**64 * 3, 10**28 - 1, -(10**28) + 1)  # words that are at an end
    ],
}


@dataclass
class Program:
    """A graph as a list of nodes, which can be printed, cut down and built again."""

    coordinates: tuple[str, ...]
    nodes: list[n.Node]
    loops: list[Loop] = field(default_factory=list)
    next_of: dict[int, int] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()

    @staticmethod
    def of(graph: Graph, tags: frozenset[str] = frozenset()) -> Program:
        return Program(tuple(graph.coordinates), list(graph.nodes), list(graph.loops), dict(graph.next_of), tags)

    def graph(self) -> Graph:
        graph = Graph(self.coordinates)
        graph.loops.extend(self.loops)
        number: dict[int, int] = {}
        for i, node in enumerate(self.nodes):
            number[i] = graph.add(renumbered(node, number))
        for variable, following in self.next_of.items():
            graph.next_of[number[variable]] = number[following]
        return graph

    @property
    def inputs(self) -> list[n.Input]:
        return [node for node in self.nodes if isinstance(node, n.Input)]


def renumbered(node: n.Node, number: dict[int, int]) -> n.Node:
    match node:
        case n.Concat(sources):
            return replace(node, sources=tuple(number[s] for s in sources))
        case n.Join(left, right):
            return replace(node, left=number[left], right=number[right])
        case n.Feedback(start):
            return replace(node, start=number[start])
        case n.Input():
            return node
    return replace(node, source=number[node.source])


class Author:
    """Writes one random program."""

    def __init__(self, random: Random):
        self.random = random
        roll = random.random()
        self.width = 1 if roll < 0.54 else 2 if roll < 0.86 else 3
        self.s = Sketch(*("time", "valid", "known")[: self.width])
        kinds = [LONG, STRING, DOUBLE, BOOLEAN, DATE, DECIMAL, WIDE]
        self.type = random.choices(kinds, [80, 7, 6, 3, 2, 1, 1])[0]
        self.nullable = random.random() < 0.25
        self.schema = schema(a=self.type, b=self.type)
        self.aside = Random(repr(random.getstate()))  # for what leaves all other choices as they are
        self.tags: set[str] = {f"{self.width} coordinates", str(self.type)}
        if self.nullable:
            self.tags.add("nulls")

    def program(self) -> Program:
        s, random = self.s, self.random
        known = [s.input(name, self.schema) for name in ("x", "y", "z")[: random.randint(1, 3)]]
        self.inputs = list(known)
        depth = random.choices([0, 1, 2, 3], [18, 32, 46, 4])[0]
        self.tags.add(f"{depth} nested loops")
        self.grow(known, random.randint(0, 2), self.free)
        if depth:
            known.append(self.loop(known, depth, None, sets=False))
            if random.random() < 0.15:
                self.tags.add("two loops in a row")
                known.append(self.loop(known, 1, None, sets=False))
        self.grow(known, random.randint(0 if depth else 1, 2), self.free)
        last = known[-1]
        if random.random() < 0.35:
            last = self.ending(known)
        s.output("out", last)
        if random.random() < 0.2:
            s.output("also", random.choice(known))
        return Program.of(s.graph, frozenset(self.tags))

    def pick(self, known: list[int]) -> int:
        """One of the collections, the later ones more likely."""
        return known[max(self.random.randrange(len(known)), self.random.randrange(len(known)))]

    def edges(self, known: list[int]) -> int:
        """Something to walk along: mostly an input as it is, since little is left of what many steps have changed."""
        return self.random.choice(self.inputs) if self.random.random() < 0.65 else self.pick(known)

    def grow(self, known: list[int], steps: int, step) -> None:
        for _ in range(steps):
            known.append(step(known))

    # ---- steps that a climbing loop may take: more rows in, no fewer rows out

    def monotone(self, known: list[int]) -> int:
        s, source = self.s, self.pick(known)
        match self.random.randrange(8):
            case 0 | 1:
                return self.mapped(source)
            case 2:
                return self.filtered(source)
            case 3 | 4 | 5:
                return self.joined(source, self.pick(known))
            case 6:
                return s.concat(source, self.pick(known))
            case _:
                return s.distinct(source)

    def mapped(self, source: int) -> int:
        s, random = self.s, self.random
        a, b = s.col(source, "a"), s.col(source, "b")
        choices: list[Expr] = [a, b, b, a, lit(random.choice(DOMAINS[self.type]), self.type)]
        if self.nullable:
            choices.append(lit(None, self.type))
        if self.type == LONG:
            k = random.randint(2, 5)
            choices += [add_mod(a, b, k), add_mod(b, lit(random.randint(0, 3)), k), add_mod(a, lit(1), k)]
        return s.map(source, a=random.choice(choices), b=random.choice(choices))

    def condition(self, source: int) -> Expr:
        s, random = self.s, self.random
        x = s.col(source, random.choice("ab"))
        y: Expr = random.choice(
            [s.col(source, "a"), s.col(source, "b"), lit(random.choice(DOMAINS[self.type]), self.type)]
        )
        return call(random.choice(["eq", "ne", "lt", "le", "gt", "ge"]), x, y)

    def filtered(self, source: int) -> int:
        condition = self.condition(source)
        match self.random.randrange(6):
            case 0:
                condition = call("and", condition, self.condition(source))
            case 1:
                condition = call("or", condition, self.condition(source))
            case 2:
                condition = call("not", condition)
        return self.s.filter(source, condition)

    def joined(self, left: int, right: int) -> int:
        s, random = self.s, self.random
        self.tags.add("self-join" if left == right else "join")
        match random.randrange(5):
            case 0 | 1:
                return s.join(left, right, {"b": "a"}, a="left.a", b="right.b")
            case 2:
                return s.join(left, right, {"a": "a"}, a="right.b", b="left.b")
            case 3:
                return s.join(left, right, {"a": "a", "b": "b"}, a="left.b", b="right.a")
            case _:
                return s.semijoin(left, right, {random.choice("ab"): random.choice("ab")})

    # ---- steps that only a bounded loop may take, or none at all

    def free(self, known: list[int]) -> int:
        s, random, source = self.s, self.random, self.pick(known)
        inside = bool(s.graph.scopes[source])
        same = [c for c in known if s.schema(c) == self.schema]
        match random.randrange(16):
            case 0 | 1 | 2 | 3 | 4:
                return self.monotone(known)
            case 5:
                self.tags.add("negate")
                return s.negate(source)
            case 6:
                self.tags.add("minus")
                return s.minus(source, self.pick(known))
            case 7:
                self.tags.add("antijoin")
                return s.antijoin(source, self.pick(known), {random.choice("ab"): random.choice("ab")})
            case 8 | 9 | 10:
                ops = ["min", "max", "any_value", "mode", "percentile_disc(0.5)"]
                if self.type == LONG:
                    ops += ["count", "count_rows", "sum", "count_distinct", "bit_and", "bit_xor"]
                op = random.choice(ops)
                self.tags.add(op)
                return s.aggregate(source, ("a",), b=(op, None if op == "count_rows" else "b"))
            case 11:
                self.tags.add("top")
                order = [(name, random.random() < 0.5) for name in random.choice(["b", "a", "ab", "ba", ""])]
                return s.top(source, random.choice([("a",), ("a",), ()]), random.randint(1, 3), *order)
            case 12:
                self.tags.add("own reduce")
                names = ["first_row", "every_row_once", "last_if_many", "twice_the_first"]
                return s.own(source, ("a",), random.choice(names))
            case 13:
                self.tags.add("threshold")
                return s.threshold(source, own(random.choice(["count_mod_three", "minus_count", "one_if_even"])))
            case 14:
                self.tags.add("apply")
                name, how = random.choice(
                    [
                        ("swapped", "rows"),
                        ("itself_and_swapped", "flat"),
                        ("only_equal", "flat"),
                        ("swapped_columns", "batches"),
                    ]
                )
                if how == "batches" and (self.type != LONG or self.nullable):
                    name, how = "swapped", "rows"
                return s.apply(source, name, how)
            case _ if inside or random.random() < 0.5:
                return s.concat(source, *random.choices(same, k=random.randint(1, 2)))
            case _:
                self.tags.add("delay")
                names = s.graph.coordinates
                times: list[Expr] = [Column(name, LONG) for name in names]
                which = random.randrange(len(names))
                times[which] = call("add", times[which], lit(random.randint(1, 2)))
                return s.delay(source, *times)

    def ending(self, known: list[int]) -> int:
        """A last step whose columns nothing else need understand."""
        s, random, source = self.s, self.random, self.pick(known)
        match random.randrange(5):
            case 0 | 1:
                self.tags.add("many aggregates")
                asked = {
                    "n": ("count_rows", None),
                    "c": ("count", "b"),
                    "low": ("min", "b"),
                    "high": ("max", "b"),
                    "some": ("any_value", "b"),
                    "kinds": ("count_distinct", "b"),
                    "usual": ("mode", "b"),
                    "behind": ("max_by", "b", "a"),
                }
                if self.type.is_number:
                    asked["total"] = ("sum", "b")
                if self.type.is_integer or self.type.is_float:
                    asked["mean"] = ("avg", "b")
                chosen = random.sample(sorted(asked), random.randint(1, len(asked)))
                return s.aggregate(source, random.choice([("a",), ()]), **{name: asked[name] for name in chosen})
            case 2 | 3:
                how = random.choice(["left", "right", "full"])
                self.tags.add(f"{how} join")
                return s.outer(source, self.pick(known), {random.choice("ab"): random.choice("ab")}, how)
            case _:
                return s.join(source, self.pick(known), {"a": "a"}, a="left.a", b="left.b", c="right.b")

    # ---- loops

    def loop(self, known: list[int], depth: int, parent: int | None, sets: bool) -> int:
        """A loop over some of the known collections; `sets`: it must climb, for the sake of a loop around it."""
        roll = self.random.random()
        if not sets and self.type == LONG and depth == 1 and roll < 0.12:
            return self.improving(known, parent)
        if not sets and depth == 1 and roll < 0.2:
            self.tags.add("components")
            return labels(self.s, self.within(self.s.distinct(self.edges(known)), parent), parent, self.between())
        if not sets and depth == 2 and roll < 0.12:
            self.tags.add("strong")
            return strong(self.s, self.within(self.s.distinct(self.edges(known)), parent), parent, self.between())
        if not sets and depth == 1 and roll > 0.94:
            self.tags.add("core")
            return core(self.s, self.within(self.s.distinct(self.edges(known)), parent), 1 + (roll > 0.97), parent)
        if not sets and roll < 0.42:
            return self.bounded(known, depth, parent)
        return self.climbing(known, depth, parent)

    def between(self) -> int:
        """How many rounds apart labels set out; numbers only can be multiplied."""
        return self.aside.choice([0, 1, 3]) if self.type == LONG else 0

    def entered(self, source: int, loop: int) -> int:
        """Into a loop; sometimes each row in a round of its own."""
        s = self.s
        if self.aside.random() >= 0.2:
            return s.enter(source, loop)
        self.tags.add("wait")
        rounds: Expr = lit(self.aside.randint(0, 5))
        if s.schema(source)["b"] == LONG and self.aside.random() < 0.8:
            rounds = call("mod", s.col(source, self.aside.choice("ab")), lit(self.aside.randint(2, 7)))
        return s.wait(source, loop, rounds)

    def within(self, source: int, loop: int | None) -> int:
        return source if loop is None else self.s.enter(source, loop)

    def climbing(self, known: list[int], depth: int, parent: int | None) -> int:
        s, random = self.s, self.random
        self.tags.add("climbing loop")
        loop = s.loop(parent, max_rounds=random.randint(1, 4) if random.random() < 0.08 else None)
        starts = [self.start(known) for _ in range(1 + (random.random() < 0.25))]
        if len(starts) > 1:
            self.tags.add("mutual")
        variables = [s.variable(start, loop, i) for i, start in enumerate(starts)]
        outer = [self.entered(s.distinct(self.edges(known)), loop) for _ in range(random.randint(1, 2))]
        inside = [*outer, *variables]
        if random.random() < 0.75:  # a step along edges, which takes many rounds
            path = s.join(variables[0], random.choice(outer), {"b": "a"}, a="left.a", b="right.b")
            inside.append(path)
            self.grow(inside, random.choice([0, 0, 0, 1]), self.monotone)
        else:
            self.grow(inside, random.randint(1, 2) if depth == 1 else random.randint(0, 1), self.monotone)
        if depth > 1:
            inside.append(self.loop(inside, depth - 1, loop, sets=True))
            self.grow(inside, random.randint(0, 1), self.monotone)
        for variable, start in zip(variables, starts, strict=True):
            parts = [self.entered(start, loop), inside[-1] if variable == variables[0] else self.pick(inside)]
            s.becomes(variable, s.distinct(s.concat(*parts)))
        following = [s.graph.next_of[variable] for variable in variables]
        return s.leave(random.choice([*following, *following, inside[-1]]), loop)

    def start(self, known: list[int]) -> int:
        """A set to start from; often a small one, from which the way is long."""
        s = self.s
        inside = s.graph.scopes[known[-1]]
        source = self.pick(known) if inside else self.edges(known)
        if self.random.random() < 0.55:
            first = lit(DOMAINS[self.type][0], self.type)
            source = s.filter(source, call("eq", s.col(source, "a"), first))
            if self.random.random() < 0.5:
                source = s.map(source, a="a", b="a")
        return s.distinct(source)

    def improving(self, known: list[int], parent: int | None) -> int:
        s, random = self.s, self.random
        self.tags.add("improving loop")
        edges, start = s.distinct(self.edges(known)), self.start(known)

        def body(found: int, loop: int) -> int:
            stepped = s.join(found, self.entered(edges, loop), {"a": "a"}, a="right.b", b="left.b")
            further = s.map(stepped, a="a", b=call("add", s.col(stepped, "b"), lit(random.randint(0, 2))))
            return s.aggregate(s.concat(further, self.entered(start, loop)), ("a",), b=("min", "b"))

        return s.iterate(s.aggregate(start, ("a",), b=("min", "b")), body, parent)

    def bounded(self, known: list[int], depth: int, parent: int | None) -> int:
        s, random = self.s, self.random
        self.tags.add("bounded loop")
        loop = s.loop(parent, max_rounds=random.randint(1, 4))
        starts = [self.pick(known) for _ in range(1 + (random.random() < 0.25))]
        variables = [s.variable(start, loop, i) for i, start in enumerate(starts)]
        inside = [self.entered(self.pick(known), loop), *variables]
        self.grow(inside, random.randint(1, 3), self.free)
        if depth > 1:
            inside.append(self.loop(inside, depth - 1, loop, sets=False))
            self.grow(inside, random.randint(0, 1), self.free)
        for variable in variables:
            s.becomes(variable, inside[-1] if variable == variables[0] else self.pick(inside))
        return s.leave(s.graph.next_of[random.choice(variables)], loop)


def random_program(random: Random) -> Program:
    return Author(random).program()
