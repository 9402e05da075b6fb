"""The same sums without numpy and without us: every answer found anew at every time, in plain Python."""

import statistics
from collections import Counter

from benchmarks import hub

WORD = (1 << 64) - 1


def splitmix64(x):
    z = (x + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def mix2(a, b):
    return splitmix64((splitmix64(a) + b) & WORD)


def narrow(x, nodes, skew):
    zeros = f"{splitmix64(x):064b}"[::-1].find("1") if splitmix64(x) else 64
    return x % max(nodes >> (skew * zeros), 1)


def edge(i, nodes, seed=42, skew=0, shape="random"):
    a, b = splitmix64(seed + 2 * i), splitmix64(seed + 2 * i + 1)
    match shape:
        case "random":
            return narrow(a, nodes, skew), narrow(b, nodes, skew)
        case "bipartite":
            half = nodes // 2
            pair = a % half, half + narrow(b, nodes - half, skew)
            return pair[:: -1 if i % 2 else 1]
    whole = fixed(shape, nodes)
    return whole[(splitmix64(seed) + i * 2_654_435_761) % len(whole)]


def fixed(shape, nodes):
    """All edges of a fixed graph, in their order."""
    match shape:
        case "chain":
            return [(i, i + 1) for i in range(nodes - 1)]
        case "star":
            return [edge for leaf in range(1, nodes) for edge in ((0, leaf), (leaf, 0))]
    side = max(n for n in range(nodes + 1) if n * n <= nodes)
    streets = []
    for line in range(side):
        for along in range(side - 1):
            row = [line * side + along, line * side + along + 1]
            column = [along * side + line, (along + 1) * side + line]
            streets += [tuple(ends[:: -1 if line % 2 else 1]) for ends in (row, column)]
    return streets


def degrees(edges):
    of = Counter()
    for (src, _), count in edges.items():
        of[src] += count
    return Counter(Counter(degree for degree in of.values() if degree).items())


def distances(edges, root):
    found, now = {root: 0}, [root]
    while now:
        now = [d for node in now for s, d in edges if s == node]
        now = list(dict.fromkeys(d for d in now if d not in found))
        found |= dict.fromkeys(now, max(found.values()) + 1)
    return found


def reach(edges):
    return Counter((root, node) for root in range(10) for node in distances(edges, root))


def bfs(edges):
    return Counter(distances(edges, 0).items())


def scc(edges):
    """An edge is inside a component where its end leads back to its start."""
    return Counter({(s, d): count for (s, d), count in edges.items() if s in distances(edges, d)})


def components(edges):
    both = Counter([*edges, *((d, s) for s, d in edges)])
    return Counter((node, min(distances(both, node))) for node in {s for s, _ in both})


def checks(answer, nodes, edges, times, seed=42, **graph):
    there = Counter(edge(i, nodes, seed, **graph) for i in range(edges))
    told = {"updates": 0, "later": 0, "size": 0, "final": 0, "times": 0}
    before = Counter()
    for t in range(times + 1):
        if t:
            there[edge(t - 1, nodes, seed, **graph)] -= 1
            there[edge(edges + t - 1, nodes, seed, **graph)] += 1
        now = answer(+there)
        for record in before.keys() | now.keys():
            diff = now[record] - before[record]
            if diff:
                h = mix2(*record)
                told["updates"] += 1
                told["later"] += t > 0
                told["size"] += diff
                told["final"] = (told["final"] + diff * h) & WORD
                told["times"] = (told["times"] + diff * mix2(h, t)) & WORD
        before = now
    return told | {name: f"{told[name]:016x}" for name in ("final", "times")}


def hub_changes(kind, values, times):
    """How many changes the answer of `benchmarks.hub` has after its load, from the set of values at each time."""
    there = {2 * i for i in range(values)}
    answers = {
        "min": lambda: {min(there)},
        "top": lambda: set(sorted(there)[-3:]),
        "median": lambda: {statistics.median(there)},
    }
    answer = answers.get(kind, lambda: set(there))
    found, before = 0, answer()
    for t in range(1, times + 1):
        there.remove(2 * (t * hub.STRIDE % values))
        there.add(2 * (t * hub.STRIDE * 3 % values) + 1)
        found += len(before ^ answer())
        before = answer()
    return found
