"""The check of a lowered plan: every expression reads columns that its stage has, of the type it was written for.

Stages hand rows on by position, and expressions name columns: where lowering puts stages together, a name that no
longer means the same position gives wrong rows without a word.  Every plan is checked once, before it is laid out.

Rule: a plan that passes has, in every pipe, stages that take what the one before gives, and ends in what its cell
keeps; a join gives columns that its arrangements have.
"""

from __future__ import annotations

from collections.abc import Iterator

from ebbflow.columns.schema import BOOLEAN, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.plan import Cell, Pipe, Plan, Stage
from ebbflow.expressions.operations import same_words
from ebbflow.expressions.typed import Call, Column, Expr
from ebbflow.operators import node as kinds


def check_plan(plan: Plan) -> None:
    """An AssertionError that names node and expression, if lowering made a mistake."""
    for cell in plan.cells:
        for breach in _breaches(plan, cell):
            raise AssertionError(f"the plan of node {cell.node}, {plan.graph.nodes[cell.node]}: {breach}.")


def _breaches(plan: Plan, cell: Cell) -> Iterator[str]:
    if len(set(cell.schema.names)) < len(cell.schema):
        yield f"two of its columns have one name: {cell.schema}"
    if cell.kind == kinds.JOIN:
        yield from _of_join(cell)
    if cell.partition_key is not None and not set(cell.partition_key) <= set(cell.key or cell.schema.names):
        yield f"rows are placed by {cell.partition_key}, of the key {cell.key or cell.schema.names}"
    wanted = _kept(plan, cell)
    for pipe in cell.pipes:
        yield from _of_pipe(pipe, wanted)


def _kept(plan: Plan, cell: Cell) -> list[Type]:
    """The types of the rows that a cell takes in."""
    if cell.kind not in (kinds.ARRANGE, kinds.REDUCE):
        return list(cell.schema.types)
    node, schema = plan.graph.nodes[cell.node], cell.schema
    if isinstance(node, n.Reduce) and cell.kind == kinds.REDUCE:
        schema = plan.graph.schemas[node.source]
    return [schema[name] for name in cell.key + cell.values]


def _of_pipe(pipe: Pipe, wanted: list[Type]) -> Iterator[str]:
    source = pipe.source.schema
    if pipe.stages and pipe.stages[0].schema != source:
        yield f"a stage takes ({pipe.stages[0].schema}) from a cell that gives ({source})"
    types = list(source.types)
    for stage in pipe.stages:
        if list(stage.schema.types) != types:
            yield f"a stage takes ({stage.schema}) where rows have the types {_listed(types)}"
        yield from _of_stage(stage)
        types = [expr.type for expr in stage.columns]
    if types != wanted:
        yield f"rows of the types {_listed(types)} arrive where {_listed(wanted)} are kept"


def _of_stage(stage: Stage) -> Iterator[str]:
    if stage.condition is not None:
        if stage.condition.type != BOOLEAN:
            yield f"the condition {stage.condition} is a {stage.condition.type}"
        yield from _of_expression(stage.condition, stage.schema)
    for expr in stage.columns:
        yield from _of_expression(expr, stage.schema)


def _of_expression(whole: Expr, schema: Schema) -> Iterator[str]:
    todo = [whole]
    while todo:  # not by recursion: an expression may be as deep as a person's program made it
        part = todo.pop()
        if isinstance(part, Call):
            todo += part.args
        elif isinstance(part, Column):
            if part.name not in schema:
                yield f'the expression {whole} reads the column "{part.name}", and its stage has ({schema})'
            elif schema[part.name] != part.type:
                yield f'the expression {whole} reads "{part.name}" as {part.type}, and its stage has ({schema})'


def _of_join(cell: Cell) -> Iterator[str]:
    assert cell.left is not None and cell.right is not None, cell
    sides = (cell.left, cell.right)
    for one, two in zip(cell.left.key, cell.right.key, strict=True):
        types = cell.left.cell.schema[one], cell.right.cell.schema[two]
        if not same_words(*types):
            yield f'the key "{one}" ({types[0]}) is compared with "{two}" ({types[1]})'
    for (name, side, column), field in zip(cell.columns, cell.schema, strict=True):
        family = sides[side]
        if column not in family.key + family.values:
            yield f'the column "{name}" is "{column}" of an arrangement that has {family.key + family.values}'
        elif (field.name, field.type) != (name, family.cell.schema[column]):
            yield f'the column "{name}" is "{column}", a {family.cell.schema[column]}, and is given as {field}'
    for family in sides:
        if family.key != family.cell.key:
            yield f"an arrangement by {family.cell.key} is read by {family.key}"


def _listed(types: list[Type]) -> str:
    return f"({', '.join(map(str, types))})"
