"""`not null` in a schema: rows without a value are refused by every door, and nothing of their call is taken in."""

import numpy as np
import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow.columns.ddl import schema_of
from ebbflow.dataflow.fingerprint import fingerprint
from ebbflow.dataflow.plan_json import from_json, to_json
from ebbflow.errors import TypeMismatch

SCHEMA = "id long not null, name string, price double NOT NULL"


def program(schema=SCHEMA, key=None):
    flow = ebb.Dataflow()
    flow.output("out", flow.input("items", schema, key=key).select("id", "name", "price"))
    return flow


TABLE = pa.table({"id": pa.array([1, 2]), "name": pa.array(["a", None]), "price": pa.array([1.5, None])})
DOORS = {
    "one row": lambda live: live.insert("items", [(2, None, None)]),
    "rows": lambda live: live.insert("items", [(i, "a", 1.0) for i in range(50)] + [(50, "a", None)]),
    "dictionaries": lambda live: live.insert("items", [{"id": None, "name": "a", "price": 1.0}]),
    "a dict of lists": lambda live: live.insert("items", {"id": [1, None], "name": ["a", "b"], "price": [1.0, 2.0]}),
    "a dict of arrays": lambda live: live.insert(
        "items", {"id": np.array([1, 2]), "name": ["a", "b"], "price": np.array([1.0, None], object)}
    ),
    "arrow": lambda live: live.insert("items", TABLE),
    "arrow at a time": lambda live: live.insert("items", TABLE, time=0),
    "a batch of arrow": lambda live: live.insert("items", TABLE.to_batches()[0]),
    "pandas": lambda live: live.insert("items", pa.table(TABLE).to_pandas().astype({"price": object})),
    "apply": lambda live: live.apply("items", TABLE.append_column("d", pa.array([1, 1])), diff="d"),
    "deleting": lambda live: live.delete("items", [(None, "a", 1.0)]),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_row_without_a_value_is_refused_by_column_and_row(door):
    with program().run() as live:
        live.insert("items", [(1, None, 0.5)])
        with pytest.raises(TypeMismatch, match=r'no value for "(id|price)" of "items" in row \d+; the schema says not'):
            DOORS[door](live)
        assert live.commit()["out"].rows() == [(1, None, 0.5, 0, 1)]


def test_other_columns_may_be_null():
    with program().run() as live:
        live.insert("items", TABLE.slice(0, 1))
        live.insert("items", [(3, None, 2.0)])
        assert len(live.commit()["out"]) == 2


def test_rows_by_key_are_deleted_by_their_key_alone():
    with program(key="id").run() as live:
        live.upsert("items", [(1, "a", 1.0)])
        with pytest.raises(TypeMismatch, match='no value for "price"'):
            live.upsert("items", [(1, "a", None)])
        live.commit()
        live.delete("items", [1])
        assert live.commit()["out"].rows() == [(1, "a", 1.0, 1, -1)]


@pytest.mark.parametrize(
    "written",
    [
        SCHEMA,
        "id bigint NOT NULL COMMENT 'the number', name string null, price double not  null",
        pa.schema(
            [pa.field("id", pa.int64(), False), pa.field("name", pa.string()), pa.field("price", pa.float64(), False)]
        ),
    ],
)
def test_it_is_read_from_every_form_that_can_say_it(written):
    assert [field.nullable for field in schema_of(written)] == [False, True, False]
    assert schema_of(written).never_null == (0, 2)


def test_it_is_part_of_the_program_but_not_of_the_type():
    flow = program()
    again = from_json(to_json(flow.graph))
    assert [field.nullable for field in again.nodes[0].schema] == [False, True, False]
    assert fingerprint(again) == fingerprint(flow.graph)
    assert fingerprint(flow.graph) != fingerprint(program("id long, name string, price double").graph)
    assert schema_of(SCHEMA) == schema_of("id long, name string, price double")
