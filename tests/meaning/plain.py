"""The calls of the public interface on plain dictionaries: what each method of a collection means at one time.

A program as people write it is run on this module in place of ebbflow: a collection is a dictionary from row to
count, a method makes the next dictionary at once, a loop calls its body until nothing changes.  Nothing is shared with
the package, neither names of columns nor nulls nor types, so that a mistake of the frontend is noticed as well as one
of the planner.  `col`, `lit`, `when` and the aggregates stand here under the names they have in ebbflow.

Rule: written from DESIGN.md's meaning of each method; what a program means at a time depends on its inputs there alone.
"""

from __future__ import annotations

from collections import Counter, namedtuple

from tests.meaning.plain_values import (
    NUMBERS,
    WIDENED,
    Aggregate,
    Exploded,
    Refused,
    Value,
    as_type,
    clean,
    col,
    common,
    divided,
    ebb,
    lit,
    named,
    nothing,
    rank,
    total,
)

PATIENCE = 60  # rounds after which a loop counts as one that does not settle


class Flow:
    """A program at one time: `given` holds the rows of each input there, `shown` what it shows."""

    def __init__(self, given: dict, later=None):
        self.given, self.later = given, later  # later(name, shift): an input's rows as if all came so much later
        self.shown: dict[str, Bag] = {}
        self.calls: Counter[str] = Counter()
        self.serial = 0

    def input(self, name: str, ddl: str) -> Bag:
        fields = [part.rsplit(" ", 1) for part in divided(ddl)]
        names, types = zip(*((field.strip("`"), kind) for field, kind in fields))
        bag = Bag(self, names, types, self.given[name], roots=[{(name, column)} for column in names])
        bag.input = name
        return bag

    def output(self, name: str, bag: Bag) -> None:
        self.shown[name] = bag

    def iterate(self, body, max_rounds=None, **starts):
        self.calls["mutual recursion"] += 1
        return looped(self, list(starts.values()), lambda now: body(**dict(zip(starts, now))), max_rounds)


def looped(flow, starts, body, max_rounds):
    flow.calls["bounded loop" if max_rounds else "loop"] += 1
    now, rounds = starts, 0
    shaped = lambda bag, start: bag.select(*start.names)._typed(start.types)
    while True:
        following = [shaped(bag, start) for bag, start in zip(body(now), starts, strict=True)]
        rounds += 1
        settled = all(new.rows == old.rows for new, old in zip(following, now))
        if rounds > 2:
            flow.calls["rounds"] += 1
        if settled or rounds == max_rounds:
            for kind in ("origins", "roots"):
                come_round(kind, starts, now, following)
            return tuple(following)
        if rounds > PATIENCE or sum(len(bag.rows) for bag in following) > 300:
            raise Refused("the loop does not settle")
        now = [Bag(flow, old.names, old.types, new.rows) for old, new in zip(now, following)]


def come_round(kind, starts, now, following):
    """Where the columns of a loop come from: what its variables start with, and around it again."""
    known = [list(getattr(bag, kind)) for bag in following]
    first = [getattr(bag, kind) for bag in starts]
    results = {bag.serial for bag in following}  # none of these has a part in another
    copies = [  # column i of bag b is a copy of column j of variable v
        (b, i, v, j)
        for b, bag in enumerate(following)
        for i, origins in enumerate(bag.origins)
        for v, variable in enumerate(now)
        for j, name in enumerate(variable.names)
        if (variable.serial, name) in origins
    ]
    for _ in range(len(copies) + 1):
        for b, i, v, j in copies:
            known[b][i] = known[b][i] | first[v][j] | {one for one in known[v][j] if one[0] not in results}
    for bag, found in zip(following, known):
        setattr(bag, kind, found)


class Row:
    """What a lambda over a collection is given."""

    def __init__(self, bag):
        self._bag = bag

    def __getattr__(self, name):
        return named(name, self._bag)

    __getitem__ = __getattr__


class Bag:
    def __init__(self, flow, names, types, rows, origins=None, roots=None):
        self.flow, self.names, self.types, self.rows = flow, tuple(names), tuple(types), rows
        flow.serial += 1
        self.serial, self.input = flow.serial, None
        self.origins = [{(self.serial, name)} | set(old) for name, old in zip(self.names, origins or [()] * 99)]
        self.roots = roots or [set()] * len(self.names)
        if len(set(self.names)) < len(self.names):
            raise Refused("two columns have one name")
        if len(rows) > 2000:
            raise Refused("too many rows")

    def find(self, name, owner=None) -> int:
        if owner is None or owner is self:
            if name not in self.names:
                raise Refused(f"no column {name}")
            return self.names.index(name)
        found = [i for i, origins in enumerate(self.origins) if (owner.serial, name) in origins]
        if len(found) != 1 or any(self.roots[found[0]] & r for i, r in enumerate(self.roots) if i != found[0]):
            raise Refused("a column whose origin is not sure")
        self.flow.calls["column of an earlier collection"] += owner is not self
        return found[0]

    def expression(self, given):
        """The type and function of what was given where a value is wanted."""
        if isinstance(given, str):
            given = col(given)
        elif callable(given):
            given = given(Row(self))
        return lit(given).of(self)

    def value(self, given) -> Value:
        return col(given) if isinstance(given, str) else given(Row(self)) if callable(given) else lit(given)

    def __getattr__(self, name):
        if name.startswith("_") or name not in self.__dict__.get("names", ()):
            raise AttributeError(name)
        return named(name, self)

    def __getitem__(self, name):
        return named(name, self)

    @property
    def columns(self):
        return list(self.names)

    def made(self, rows, call) -> Bag:
        """The same columns."""
        self.flow.calls[call] += 1
        return Bag(self.flow, self.names, self.types, rows, self.origins, self.roots)

    def _typed(self, types) -> Bag:
        if self.types == types:
            return self
        for here, kind in zip(self.types, types):
            if common([here, kind]) != kind:
                raise Refused("a loop that changes a type")
        rows = total((tuple(map(as_type, row, types)), count) for row, count in self.rows.items())
        return Bag(self.flow, self.names, types, rows)

    # ---- columns

    def copied(self, value) -> int | None:
        """The column whose values an expression has, as they are or in a wider type."""
        kind = lambda v: v.of(self)[0]
        while value.op == "cast" and kind(value) == kind(value.parts[0]):
            value = value.parts[0]  # a cast that keeps the type
        if value.op == "cast" and value.parts[0].op == "column":
            kinds = [kind(value.parts[0]), kind(value)]
            if all(k in NUMBERS for k in kinds) and common(kinds) == kinds[1]:
                value = value.parts[0]
        return self.find(*value.parts) if value.op == "column" else None

    def _project(self, columns, call) -> Bag:
        """(name, expression) pairs; a plain column keeps its origin."""
        self.flow.calls[call] += 1
        names, types, functions, origins, roots = [], [], [], [], []
        for name, given in columns:
            value = self.value(given)
            kind, fn = value.of(self)
            at = self.copied(value)
            plain = at is not None
            names.append(name)
            types.append(kind)
            functions.append(fn)
            origins.append(self.origins[at] if plain else ())
            roots.append(self.roots[at] if plain else set())
            self.flow.calls["renamed column"] += plain and name != self.names[at]
            self.flow.calls["computed column"] += not plain
        moved = [name for name, value in zip(names, roots) if name in self.names and value]
        swapped = [n for n in moved if roots[names.index(n)] != self.roots[self.names.index(n)]]
        self.flow.calls["swapped names"] += len(swapped) > 1
        rows = total((tuple(fn(row) for fn in functions), count) for row, count in self.rows.items())
        return Bag(self.flow, names, types, rows, origins, roots)

    def exploded(self, columns):
        """Rows once for each element of one of the columns: before the others are computed."""
        ((name, found),) = [(n, x) for n, x in columns if isinstance(x, Exploded)]
        self.flow.calls["explode"] += 1
        kind, many = found.value.of(self)
        if not kind.startswith("array<"):
            raise Refused("an array is exploded")
        given = [(n, self.value(x).of(self)) for n, x in columns if x is not found]
        rows = total(
            (tuple(item if n == name else fns[n](row) for n, _ in columns), count)
            for fns in [{n: fn for n, (_, fn) in given}]
            for row, count in self.rows.items()
            for item in many(row) or ()
        )
        kinds = {name: kind[6:-1]} | {n: kind for n, (kind, _) in given}
        return Bag(self.flow, [n for n, _ in columns], [kinds[n] for n, _ in columns], rows)

    def select(self, *names, **named):
        if any(isinstance(value, Exploded) for value in named.values()):
            return self.exploded([*((name, name) for name in names), *named.items()])
        given = []
        for name in names:
            if isinstance(name, str) and name == "*":
                given += [(each, each) for each in self.names]
            else:
                value = self.value(name)
                given.append((value.name, value))
        return self._project([*given, *named.items()], "select")

    def with_columns(self, **named):
        columns = {name: name for name in self.names} | named
        self.flow.calls["overwritten column"] += any(name in self.names for name in named)
        return self._project(columns.items(), "with_columns")

    def drop(self, *names):
        for name in names:
            self.find(name)
        return self._project([(name, name) for name in self.names if name not in names], "drop")

    def rename(self, new):
        return self._project([(new.get(name, name), name) for name in self.names], "rename")

    # ---- rows

    def filter(self, *conditions):
        holds = [self.expression(condition) for condition in conditions]
        if any(kind != "boolean" for kind, _ in holds):
            raise Refused("a condition is a boolean")
        return self.made(
            {row: count for row, count in self.rows.items() if all(fn(row) is True for _, fn in holds)}, "filter"
        )

    def distinct(self):
        return self.made({row: 1 for row, count in self.rows.items() if count > 0}, "distinct")

    def negate(self):
        return self.made({row: -count for row, count in self.rows.items()}, "negate")

    def __neg__(self):
        return self.negate()

    def threshold(self, fn):
        return self.made(total((row, fn(count)) for row, count in self.rows.items()), "threshold")

    def union(self, *others, call="union"):
        bags = [self]
        for other in others:
            if set(other.names) != set(self.names):
                raise Refused("a union of other columns")
            at = [other.names.index(name) for name in self.names]
            rows = total((tuple(row[i] for i in at), count) for row, count in other.rows.items())
            origins, roots = [other.origins[i] for i in at], [other.roots[i] for i in at]
            bags.append(Bag(self.flow, self.names, [other.types[i] for i in at], rows, origins, roots))
        types = [common(kinds) for kinds in zip(*(bag.types for bag in bags))]
        self.flow.calls["union of types"] += any(tuple(types) != bag.types for bag in bags)
        rows = total((tuple(map(as_type, row, types)), count) for bag in bags for row, count in bag.rows.items())
        self.flow.calls[call] += 1
        origins = [set().union(*parts) for parts in zip(*(bag.origins for bag in bags))]
        roots = [set().union(*parts) for parts in zip(*(bag.roots for bag in bags))]
        return Bag(self.flow, self.names, types, rows, origins, roots)

    def __add__(self, other):
        return self.union(other)

    def __sub__(self, other):
        return self.union(other.negate(), call="minus")

    def map_rows(self, fn, ddl):
        return self.flat_map(lambda row: [fn(row)], ddl, "map_rows")

    def flat_map(self, fn, ddl, call="flat_map"):
        self.flow.calls[call] += 1
        row_type = namedtuple("row_type", self.names, rename=True)
        names, types = zip(*(part.rsplit(" ", 1) for part in divided(ddl)))
        pairs = ((tuple(map(clean, out)), n) for row, n in self.rows.items() for out in fn(row_type(*row)))
        return Bag(self.flow, names, types, total(pairs))

    def delay(self, fn):
        if self.input is None:
            raise Refused("only inputs are delayed here")
        return self.made(self.flow.later(self.input, fn), "delay")

    # ---- joins

    def join(self, other, on=None, how="inner", suffix=None):
        self.flow.calls[f"{how} join"] += 1
        pairs = [] if how == "cross" else self._pairs(other, on)
        bound = [((left.of(self), left), (right.of(other), right)) for left, right in pairs]
        for ((one, _), _), ((two, _), _) in bound:
            if one != two and {one, two} != {"int", "long"} and not {one, two} <= set(WIDENED):
                raise Refused("keys of other types")
        mine = lambda row: tuple(fn(row) for ((_, fn), _), _ in bound)
        theirs = lambda row: tuple(fn(row) for _, ((_, fn), _) in bound)
        if how in ("semi", "anti"):
            return self._kept(other, mine, theirs, how)
        plain = [(left, right) for left, right in pairs if left.op == right.op == "column"]
        shared = [(self.find(*left.parts), other.find(*right.parts)) for left, right in plain]
        others = [i for i in range(len(other.names)) if all(i != j for _, j in shared)]
        clash = [other.names[i] for i in others if other.names[i] in self.names]
        self.flow.calls["suffix"] += bool(clash)
        if clash and suffix is None:
            raise Refused("both sides have a column of this name")
        names = [*self.names, *(other.names[i] + (suffix if other.names[i] in clash else "") for i in others)]
        matched = total(
            ((*row, *(found[i] for i in others)), count * n)
            for row, count in self.rows.items()
            for found, n in other.rows.items()
            if None not in [*map(nothing, mine(row))] and [*map(rank, mine(row))] == [*map(rank, theirs(found))]
        )
        types = [*self.types, *(other.types[i] for i in others)]
        rows = list(matched.items())
        if how in ("left", "full"):
            alone = self._kept(other, mine, theirs, "anti").rows
            rows += [((*row, *[None] * len(others)), count) for row, count in alone.items()]
        origins = [*self.origins, *(other.origins[i] for i in others)]
        roots = [*self.roots, *(other.roots[i] for i in others)]
        for at, j in shared:  # the right's key is the left's column that equals it; one that may be null is neither
            for found, here, there in ((origins, self.origins, other.origins), (roots, self.roots, other.roots)):
                found[at] = {"left": here[at], "right": there[j], "full": set()}.get(how, here[at] | there[j])
        if how in ("right", "full"):
            back: dict = {}  # a column on the left that is a key shows the key of a row that is only on the right
            for left, right in pairs:
                if left.op == "column":
                    at, (kind, fn) = self.find(*left.parts), right.of(other)
                    if at in back:
                        raise Refused("one column that is the partner of two")
                    back[at], types[at] = fn, common([types[at], kind])
            alone = other._kept(self, theirs, mine, "anti").rows
            for row, count in alone.items():
                shown = [back[i](row) if i in back else None for i in range(len(self.names))]
                rows.append(((*shown, *(row[i] for i in others)), count))
        return Bag(self.flow, names, types, total(rows), origins, roots)

    def _kept(self, other, mine, theirs, how):
        """The rows that have a partner, or none: a key is there when its count is above zero."""
        counts = total((tuple(map(rank, theirs(row))), count) for row, count in other.rows.items())
        there = lambda row: None not in [*map(nothing, mine(row))] and counts.get(tuple(map(rank, mine(row))), 0) > 0
        return self.made({row: n for row, n in self.rows.items() if there(row) == (how == "semi")}, "kept")

    def _pairs(self, other, on):
        if isinstance(on, dict):
            return [(self.value(left), other.value(right)) for left, right in on.items()]
        if isinstance(on, list):
            return [pair for each in on for pair in self._pairs(other, each)]
        if isinstance(on, str):
            return [(col(on), col(on))]
        if callable(on) and not isinstance(on, Value):
            on = on(Row(self), Row(other))
        if on.op == "and":
            return [pair for part in on.parts for pair in self._pairs(other, part)]
        one, two = on.parts
        turned = other is not self and owners(one) == {other.serial} and owners(two) == {self.serial}
        return [(two, one)] if turned else [(one, two)]

    def semijoin(self, other, on):
        return self.join(other, on, "semi")

    def antijoin(self, other, on):
        return self.join(other, on, "anti")

    # ---- groups

    def group_by(self, *names, **named):
        keys = [(self.value(name).name, name) for name in names] + list(named.items())
        self.flow.calls["computed key"] += bool(named)
        return Groups(self, keys)

    def agg(self, **named):
        return self.group_by().agg(**named)

    def order_by(self, *order):
        self.flow.calls["order_by"] += 1
        return Ordered(self, order)

    def iterate(self, body, max_rounds=None):
        return looped(self.flow, [self], lambda now: [body(now[0])], max_rounds)[0]


def owners(value) -> set:
    if value.op == "column":
        return {value.parts[1].serial} if value.parts[1] is not None else set()
    return set().union(*(owners(part) for part in value.parts)) if value.parts else set()


class Ordered:
    def __init__(self, bag, order):
        self.bag, self.order = bag, order

    def limit(self, n):
        return Groups(self.bag, []).top(n, list(self.order))


class Groups:
    def __init__(self, bag, keys):
        self.bag, self.keys = bag, keys

    def _groups(self):
        bound = [self.bag.expression(given) for _, given in self.keys]
        groups: dict = {}
        for row, count in self.bag.rows.items():
            groups.setdefault(tuple(fn(row) for _, fn in bound), {})[row] = count
        return [kind for kind, _ in bound], groups

    def _key_origins(self):
        values = [self.bag.value(given) for _, given in self.keys]
        at = [self.bag.copied(value) for value in values]
        return (
            [self.bag.origins[i] if i is not None else set() for i in at],
            [self.bag.roots[i] if i is not None else set() for i in at],
        )

    def agg(self, call="agg", **named):
        self.bag.flow.calls[call] += 1
        self.bag.flow.calls["several aggregates"] += len(named) > 1
        given = {
            n: fn(Row(self.bag)) if callable(fn) and not isinstance(fn, Aggregate) else fn for n, fn in named.items()
        }
        bound = {name: value.of(self.bag) for name, value in given.items()}
        types, groups = self._groups()
        rows = {
            (*key, *(fn(group) for _, fn in bound.values())): 1
            for key, group in groups.items()
            if sum(group.values()) != 0
        }
        origins, roots = self._key_origins()
        names = [*(name for name, _ in self.keys), *bound]
        kinds = [*types, *(kind for kind, _ in bound.values())]
        more = len(bound)
        return Bag(self.bag.flow, names, kinds, rows, origins + [set()] * more, roots + [set()] * more)

    def count(self):
        return self.agg(call="count", count=ebb.count())

    def sum(self, *names):
        return self.agg(call="sum", **{name: ebb.sum(name) for name in names})

    def min(self, *names):
        return self.agg(call="min", **{name: ebb.min(name) for name in names})

    def max(self, *names):
        return self.agg(call="max", **{name: ebb.max(name) for name in names})

    def top(self, n, order_by):
        bag = self.bag
        bag.flow.calls["top"] += 1
        values = [bag.value(given) for _, given in self.keys]
        new = [v.op != "column" or v.parts[0] != name for (name, _), v in zip(self.keys, values)]
        added = [key for key, is_new in zip(self.keys, new) if is_new]
        if any(name in bag.names for name, _ in added):
            raise Refused("a computed key in place of a column")
        order = []
        for given in order_by if isinstance(order_by, list) else [order_by]:
            down = isinstance(given, str) and given.startswith("-")
            value = bag.value(given[1:] if down else given)
            if value.op == "neg":
                value, down = value.parts[0], True
            order.append((value.of(bag)[1], down != value.descending))

        def place(row):
            asked = [Reversed(rank(fn(row))) if down else rank(fn(row)) for fn, down in order]
            return (*asked, *map(rank, row))

        keyed = [bag.expression(given) for _, given in added]
        rows = []
        for group in self._groups()[1].values():
            left = n
            for row in sorted((row for row, count in group.items() if count > 0), key=place):
                copies = min(left, group[row])
                left -= copies
                rows.append(((*(fn(row) for _, fn in keyed), *row), copies))
        names = [*(name for name, _ in added), *bag.names]
        kinds = [*(kind for kind, _ in keyed), *bag.types]
        origins, roots = ([one for one, is_new in zip(found, new) if is_new] for found in self._key_origins())
        return Bag(bag.flow, names, kinds, total(rows), origins + bag.origins, roots + bag.roots)


class Reversed(tuple):
    def __lt__(self, other):
        return tuple.__gt__(self, other)
