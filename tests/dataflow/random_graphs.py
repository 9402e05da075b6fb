"""Random graphs with loops inside loops, for tests that care about shape and not about rows."""

from random import Random

from ebbflow.columns.schema import LONG, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, Loop

ROW = Schema((Field("x", LONG),))


def put(graph: Graph, node: n.Node, scope: tuple[int, ...]) -> int:
    """Append a node as it is: nothing inferred, nothing shared."""
    graph.nodes.append(node)
    graph.schemas.append(ROW)
    graph.scopes.append(scope)
    graph.places.append(None)
    return len(graph.nodes) - 1


def race() -> tuple[Graph, int, int, int]:
    """The graph of the frontier race: A = input, B = union(A, C one round later), C = map(B)."""
    graph = Graph()
    source = put(graph, n.Input("a", ROW), ())
    graph.loops.append(Loop(None))
    a = put(graph, n.Linear(source, n.Enter(0)), (0,))
    b = put(graph, n.Feedback(a, 0, 0), (0,))
    c = put(graph, n.Linear(b, n.Negate()), (0,))
    graph.next_of[b] = c
    put(graph, n.Output("c", put(graph, n.Linear(c, n.Leave(0)), ())), ())
    return graph, source, b, c


def random_graph(random: Random, coordinates: int = 1, depth: int = 2) -> Graph:
    graph = Graph(tuple(f"t{i}" for i in range(coordinates)))
    inputs = [put(graph, n.Input(f"in{i}", ROW), ()) for i in range(random.randint(1, 3))]
    made = _body(graph, random, (), inputs, depth)
    put(graph, n.Output("out", made[-1]), ())
    return graph


def _body(graph: Graph, random: Random, scope: tuple[int, ...], known: list[int], depth: int) -> list[int]:
    known = list(known)
    for _ in range(random.randint(1, 4)):
        kind = random.choice(["negate", "concat", "delay", "loop", "loop"] if depth else ["negate", "concat", "delay"])
        if kind == "negate":
            known.append(put(graph, n.Linear(random.choice(known), n.Negate()), scope))
        elif kind == "concat":
            known.append(put(graph, n.Concat((random.choice(known), random.choice(known))), scope))
        elif kind == "delay":
            known.append(put(graph, n.Linear(random.choice(known), n.Delay(())), scope))
        else:
            known += _loop(graph, random, scope, known, depth - 1)
    return known


def _loop(graph: Graph, random: Random, scope: tuple[int, ...], known: list[int], depth: int) -> list[int]:
    loop = len(graph.loops)
    graph.loops.append(Loop(scope[-1] if scope else None, random.choice([None, None, 1, 3])))
    inside = (*scope, loop)
    starts = [put(graph, n.Linear(random.choice(known), n.Enter(loop)), inside) for _ in range(random.randint(1, 2))]
    variables = [put(graph, n.Feedback(start, loop, i), inside) for i, start in enumerate(starts)]
    made = _body(graph, random, inside, starts + variables, depth)
    for variable in variables:
        graph.next_of[variable] = random.choice(made)
    chosen = random.sample(made, min(2, len(made)))
    return [put(graph, n.Linear(node, n.Leave(loop)), scope) for node in chosen]
