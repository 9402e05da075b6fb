"""Algorithms on graphs: functions from collections to collections, under networkx's names.

Edges come with the columns src and dst, what comes out speaks of an id: GraphFrames' words.  An edge is there or not,
however often it was given; undirected where networkx's function is.

Rule: each is composed of what a Collection offers to everyone, and stays right while its edges come and go.
"""

from typing import TYPE_CHECKING, NoReturn

from ebbflow.algorithms.components import (
    connected_components,
    strongly_connected_components,
    strongly_connected_edges,
)
from ebbflow.algorithms.paths import (
    bfs_layers,
    reachable,
    shortest_paths,
    topological_generations,
    transitive_closure,
)
from ebbflow.algorithms.ranking import degree, pagerank
from ebbflow.algorithms.structure import all_triangles, clustering, core_number, k_core, triangles
from ebbflow.frontend.aliases import unknown_name

__all__ = [
    "all_triangles",
    "bfs_layers",
    "clustering",
    "connected_components",
    "core_number",
    "degree",
    "k_core",
    "pagerank",
    "reachable",
    "shortest_paths",
    "strongly_connected_components",
    "strongly_connected_edges",
    "topological_generations",
    "transitive_closure",
    "triangles",
]


if not TYPE_CHECKING:  # a type checker knows the algorithms there are

    def __getattr__(name: str) -> NoReturn:
        raise unknown_name("ebb.algorithms", name, __all__)
