"""Joins of every kind, composed of one.

A join pairs rows with equal keys.  Semi is a join with the other's distinct keys, anti is what semi leaves over, and
the outer joins are the inner one plus what found no partner, with nulls.

Rule: a null key matches nothing, so rows with one are dropped by inner and semi, and kept by anti and outer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ebbflow.columns.ddl import checked
from ebbflow.columns.schema import DOUBLE, PRECISION, Field, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import TypeMismatch, UnclearJoin, did_you_mean, users_place
from ebbflow.expressions import ast as w
from ebbflow.expressions.operations import cast, same_words, whole_digits
from ebbflow.expressions.typed import Column as Read
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.frontend.aliases import HOW
from ebbflow.frontend.building.column import Column
from ebbflow.frontend.building.lineage import called, name_here, resolved, row_of
from ebbflow.frontend.building.mistakes import refuse_pyspark
from ebbflow.frontend.building.shaping import distinct, every_column, negated, project, sum_of, unused

_ON = 'Say which columns belong together: on="id", on=["a", "b"], on={"left": "right"} or on=a.x == b.y.'


@dataclass(frozen=True)
class Pair:
    """A key on the left and its partner on the right."""

    left: Expr
    right: Expr

    @property
    def keys(self) -> Pair:
        """The two with equal words where they are equal; null where the other side cannot have such a value."""
        here, there = self.left.type, self.right.type
        if same_words(here, there):
            return self
        if here.is_exact and there.is_exact:
            scale = max(here.scale, there.scale)
            whole = min(whole_digits(here), whole_digits(there))  # what has more equals nothing on the other side
            common = Type("decimal", min(max(whole + scale, 1), PRECISION), scale)
        else:
            common = DOUBLE
        return Pair(cast(self.left, common), cast(self.right, common))

    @property
    def are_comparable(self) -> bool:
        here, there = self.left.type, self.right.type
        decimals = "decimal" in (here.name, there.name)
        return same_words(here, there) or (decimals and here.is_number and there.is_number)


def join(graph: Graph, left: int, right: int, on: object, how: str, suffix: str | None) -> int:
    kind = HOW.get(how.replace("_", "").replace(" ", "").lower()) if isinstance(how, str) else None
    if kind is None:
        raise UnclearJoin(
            f"there is no join how={how!r}.",
            hint=" ".join(
                filter(None, [did_you_mean(how, HOW), "There are: inner, left, right, full, semi, anti, cross."])
            ),
        )
    if kind == "cross":
        if on is not None:
            raise UnclearJoin(
                "a cross join pairs every row with every row, and takes no on=.", hint='Leave on= out, or how="cross".'
            )
        return _inner(graph, left, right, [], _columns(graph, left, right, [], suffix))
    pairs = _pairs(graph, left, right, on)
    if kind in ("semi", "anti"):
        return (_semi if kind == "semi" else _anti)(graph, left, right, pairs)
    columns = _columns(graph, left, right, pairs, suffix)
    parts = [_inner(graph, left, right, pairs, columns)]
    if kind in ("left", "full"):
        parts.append(_left_alone(graph, left, right, pairs, columns))
    if kind in ("right", "full"):
        parts.append(_right_alone(graph, left, right, pairs, columns))
    joined = sum_of(graph, parts, "join")
    if kind != "inner":
        graph.outer_joins[joined] = _copied(left, right, kind, pairs, columns)
    return joined


def _copied(
    left: int, right: int, kind: str, pairs: list[Pair], columns: tuple[tuple[str, int, str], ...]
) -> dict[str, list[tuple[int, str]]]:
    """Which column of its sides each column of an outer join is: one that both fill, as a full join's keys, is none.

    The key of a side without a partner is null in SQL, and is shown with the other side's value here.
    """
    plain = [(pair.left, pair.right) for pair in pairs]
    keys = {mine.name: theirs.name for mine, theirs in plain if isinstance(mine, Read) and isinstance(theirs, Read)}
    of_key = {
        "left": lambda name: [(left, name)],
        "right": lambda name: [(right, keys[name])],
        "full": lambda name: [],
    }[kind]
    return {
        shown: [(right, there)] if side else of_key(there) if there in keys else [(left, there)]
        for shown, side, there in columns
    }


# ---- the kinds ------------------------------------------------------------------------------


def _inner(graph: Graph, left: int, right: int, pairs: list[Pair], columns: tuple[tuple[str, int, str], ...]) -> int:
    place = users_place()
    left, left_key = _with_keys(graph, left, [pair.keys.left for pair in pairs])
    right, right_key = _with_keys(graph, right, [pair.keys.right for pair in pairs])
    left, right = graph.together((left, right), place)
    return graph.add(
        n.Join(graph.add(n.Arrange(left, left_key), place), graph.add(n.Arrange(right, right_key), place), columns),
        place,
    )


def _semi(graph: Graph, left: int, right: int, pairs: list[Pair]) -> int:
    pairs = [pair.keys for pair in pairs]
    asked = [pair.right for pair in pairs]
    keys = list(zip(_key_names(asked, ()), asked))
    known = distinct(graph, project(graph, right, keys))
    there = [Pair(pair.left, Read(name, pair.right.type)) for pair, (name, _) in zip(pairs, keys)]
    return _inner(graph, left, known, there, tuple((name, 0, name) for name in graph.schemas[left].names))


def _anti(graph: Graph, left: int, right: int, pairs: list[Pair]) -> int:
    found = sum_of(graph, [left, negated(graph, _semi(graph, left, right, pairs))], "antijoin")
    graph.outer_joins[found] = {name: [(left, name)] for name in graph.schemas[left].names}  # and of no right key
    return found


def _left_alone(
    graph: Graph, left: int, right: int, pairs: list[Pair], columns: tuple[tuple[str, int, str], ...]
) -> int:
    alone = _anti(graph, left, right, pairs)
    mine, theirs = graph.schemas[left], graph.schemas[right]
    return project(
        graph,
        alone,
        [(name, Literal(None, theirs[there]) if side else Read(there, mine[there])) for name, side, there in columns],
    )


def _right_alone(
    graph: Graph, left: int, right: int, pairs: list[Pair], columns: tuple[tuple[str, int, str], ...]
) -> int:
    """The key's columns are on the left; a row that is only on the right has its own key there."""
    alone = _anti(graph, right, left, [Pair(pair.right, pair.left) for pair in pairs])
    mine, theirs = graph.schemas[left], graph.schemas[right]
    keys = {pair.left.name: pair.right for pair in pairs if isinstance(pair.left, Read)}
    shown = []
    for name, side, there in columns:
        shown.append((name, Read(there, theirs[there]) if side else keys.get(there) or Literal(None, mine[there])))
    return project(graph, alone, shown)


# ---- keys and columns -----------------------------------------------------------------------


def _key_names(keys: list[Expr], taken: Iterable[str]) -> list[str]:
    """A plain column keeps its name, once; anything else becomes a column of its own, none of those that are taken."""
    plain = {expr.name for expr in keys if isinstance(expr, Read)}
    names: list[str] = []
    for i, expr in enumerate(keys):
        is_first = isinstance(expr, Read) and expr.name not in names
        names.append(str(expr) if is_first else unused(f"_key{i}", {*taken, *plain, *names}))
    return names


def _with_keys(graph: Graph, node: int, keys: list[Expr]) -> tuple[int, tuple[str, ...]]:
    """The collection with every key as a column, and their names."""
    names = _key_names(keys, graph.schemas[node].names)
    added = [(name, expr) for name, expr in zip(names, keys) if not (isinstance(expr, Read) and expr.name == name)]
    return project(graph, node, [*every_column(graph.schemas[node]), *added]), tuple(names)


def _columns(
    graph: Graph, left: int, right: int, pairs: list[Pair], suffix: str | None
) -> tuple[tuple[str, int, str], ...]:
    """Left columns, then the right's other columns: all but the keys that are on the left already."""
    known = graph.schemas[left].names
    same = {pair.right.name for pair in pairs if isinstance(pair.left, Read) and isinstance(pair.right, Read)}
    others = [name for name in graph.schemas[right].names if name not in same]
    clashes = [name for name in others if name in known]
    if suffix is not None and not isinstance(suffix, str):
        raise UnclearJoin(f"suffix={suffix!r:.60} is not text.", hint='For example join(..., suffix="_right").')
    if clashes and suffix is None:
        raise UnclearJoin(
            f"both sides of the join have {_listed(clashes)}: {called(graph, left)} and {called(graph, right)}.",
            hint=f'Rename one side, or say join(..., suffix="_right"), which gives "{clashes[0]}_right".',
        )
    columns = [(name, 0, name) for name in known] + [
        (name + (suffix or "") if name in clashes else name, 1, name) for name in others
    ]
    schemas = graph.schemas[left], graph.schemas[right]
    checked(Field(name, schemas[side][there]) for name, side, there in columns)
    return tuple(columns)


def _listed(names: list[str]) -> str:
    return ("a column " if len(names) == 1 else "columns ") + " and ".join(f'"{name}"' for name in names)


# ---- what `on` says -------------------------------------------------------------------------


def _pairs(graph: Graph, left: int, right: int, on: object) -> list[Pair]:
    if on is None or (isinstance(on, list | tuple | Mapping) and not on):
        both = [name for name in graph.schemas[left].names if name in graph.schemas[right]]
        shared = f" Both have: {', '.join(both)}." if both else ""
        raise UnclearJoin("join does not know which rows belong together.", hint=_ON + shared)
    pairs = _read(graph, left, right, on)
    for pair in pairs:
        if not pair.are_comparable:
            raise TypeMismatch(
                f'join compares "{pair.left}" ({pair.left.type}) of {called(graph, left)}'
                f' with "{pair.right}" ({pair.right.type}) of {called(graph, right)}.',
                hint=f'Cast one: .cast("{pair.left.type}") on the right, or .cast("{pair.right.type}") on the left.',
            )
    return pairs


def _read(graph: Graph, left: int, right: int, on: object) -> list[Pair]:
    if isinstance(on, Mapping):
        return [
            Pair(_side(graph, left, mine, "left"), _side(graph, right, theirs, "right")) for mine, theirs in on.items()
        ]
    if isinstance(on, list | tuple | set | frozenset):
        return [pair for each in on for pair in _read(graph, left, right, each)]
    if isinstance(on, str) or (isinstance(on, Column) and isinstance(on.tree, w.Named)):
        return [Pair(_side(graph, left, on, "left"), _side(graph, right, on, "right"))]
    if isinstance(on, Column):
        return [_compared(graph, left, right, each) for each in _conditions(on.tree)]
    refuse_pyspark(on)
    if callable(on):
        return _read(graph, left, right, _asked(on, graph, left, right))
    raise UnclearJoin(f"join cannot read on={on!r}.", hint=_ON)


def _asked(fn: Callable[..., object], graph: Graph, left: int, right: int) -> object:
    if len(inspect.signature(fn).parameters) != 2:
        raise UnclearJoin(
            "a function given as on= takes the two sides.", hint="For example on=lambda a, b: a.x == b.y."
        )
    answer = fn(row_of(graph, left, "join", "left"), row_of(graph, right, "join", "right"))
    if not isinstance(answer, Column):
        raise UnclearJoin(f"the function given as on= returned {answer!r}.", hint=_ON)
    return answer


def _side(graph: Graph, node: int, given: object, side: str) -> Expr:
    row = row_of(graph, node, "join", side)
    tree = given.tree if isinstance(given, Column) else None
    if isinstance(tree, w.Named):
        known = tree.owner is not None and tree.owner in graph.ancestors(node)
        given = name_here(graph, node, tree.name, tree.owner, "join") if known and tree.owner is not None else tree.name
    if isinstance(given, str):
        row[given]
        return Read(given, graph.schemas[node][given])
    if isinstance(given, Column):
        return resolved(graph, node, given.tree, "join")
    raise UnclearJoin(f"join cannot read {given!r} as a column of its {side} side.", hint=_ON)


def _conditions(tree: w.Ast) -> list[w.Ast]:
    match tree:
        case w.Applied("and", args):
            return [each for arg in args for each in _conditions(arg)]
    return [tree]


def _compared(graph: Graph, left: int, right: int, condition: w.Ast) -> Pair:
    match condition:
        case w.Applied("eq", (one, two)):
            pass
        case _:
            raise UnclearJoin(
                f"join pairs rows with equal keys, and {condition} is no equality.",
                hint='Join on what is equal and .filter(...) the result; without one, join(other, how="cross").',
            )
    sides = _owner(graph, left, right, one), _owner(graph, left, right, two)
    if left != right and sides[0] is not None and sides[0] == sides[1]:
        raise UnclearJoin(
            f"{condition} compares two columns of one side, {called(graph, (left, right)[sides[0]])}.",
            hint="A join compares a column of each side: a.x == b.y. Columns of one side are compared by filter.",
        )
    straight = _has(graph, left, one) and _has(graph, right, two)
    crossed = _has(graph, left, two) and _has(graph, right, one)
    if left != right and (sides[0] == 1 or sides[1] == 0 or (crossed and not straight)):
        one, two = two, one
    return Pair(_side(graph, left, Column(one), "left"), _side(graph, right, Column(two), "right"))


def _has(graph: Graph, node: int, tree: w.Ast) -> bool:
    return all(part.name in graph.schemas[node] for part in w.parts_of(tree) if isinstance(part, w.Named))


def _owner(graph: Graph, left: int, right: int, tree: w.Ast) -> int | None:
    """The side whose columns an expression was written with: 0, 1, or None when that does not tell."""
    found = set()
    for part in w.parts_of(tree):
        if isinstance(part, w.Named) and part.owner is not None:
            mine, theirs = part.owner == left, part.owner == right
            if mine == theirs:
                mine, theirs = part.owner in graph.ancestors(left), part.owner in graph.ancestors(right)
            found.add(None if mine == theirs else int(theirs))
    return found.pop() if len(found) == 1 else None
