"""The same sums without numpy and without us: every answer found anew at every time, in plain Python."""

from collections import Counter

WORD = (1 << 64) - 1


def splitmix64(x):
    z = (x + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def mix2(a, b):
    return splitmix64((splitmix64(a) + b) & WORD)


def edge(i, nodes, seed=42):
    return splitmix64(seed + 2 * i) % nodes, splitmix64(seed + 2 * i + 1) % nodes


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


def checks(answer, nodes, edges, times, seed=42):
    there = Counter(edge(i, nodes, seed) for i in range(edges))
    told = {"updates": 0, "later": 0, "size": 0, "final": 0, "times": 0}
    before = Counter()
    for t in range(times + 1):
        if t:
            there[edge(t - 1, nodes, seed)] -= 1
            there[edge(edges + t - 1, nodes, seed)] += 1
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
