"""Small programs for the tests of sessions, built node by node and run by the oracle, or by whom `RUNTIME` names."""

from types import SimpleNamespace

from ebbflow.columns.schema import DOUBLE, LONG, STRING, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.frontend.running.session import Session
from ebbflow.runtime.oracle.runtime import OracleRuntime

RUNTIME = OracleRuntime

PAIR = Schema((Field("src", LONG), Field("dst", LONG)))
NAMED = Schema((Field("id", LONG), Field("name", STRING), Field("score", DOUBLE)))


class Flow(SimpleNamespace):
    """A graph built node by node, as the frontend would."""

    def __init__(self, coordinates=("time",)):
        super().__init__(graph=Graph(coordinates), _leaves={})

    def input(self, name, schema=PAIR, key=()):
        return self.graph.add(n.Input(name, schema, key))

    def output(self, name, source, changes=True):
        return self.graph.add(n.Output(name, source, changes))


def echo(schema=PAIR, coordinates=("time",), changes=True, key=()):
    """edges -> copy"""
    flow = Flow(coordinates)
    flow.output("copy", flow.input("edges", schema, key), changes)
    return flow


def both():
    """edges + roots -> copy, edges -> left"""
    flow = Flow()
    edges, roots = flow.input("edges"), flow.input("roots")
    flow.output("copy", flow.graph.add(n.Concat((edges, roots))))
    flow.output("left", edges)
    return flow


def run(flow, **options):
    return Session(flow, **{"runtime": RUNTIME, **options})
