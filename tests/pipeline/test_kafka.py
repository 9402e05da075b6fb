"""Claims about Kafka: Debezium's messages in, changes out, through a real broker on the loopback."""

import json

import pytest

import ebbflow as ebb
from tests import parts
from tests.pipeline.given import balances, run


@pytest.mark.slow
def test_messages_of_a_database_in_and_changes_out(spark, tmp_path):
    parts.need_connector(spark, "kafka")
    one = {"id": 1, "owner": "ann", "amount": 10}
    messages = [
        json.dumps({"payload": {"op": "r", "before": None, "after": one, "source": {"lsn": 1}}}),
        json.dumps({"op": "c", "before": None, "after": {"id": 2, "owner": "ann", "amount": 5}, "source": {"lsn": 2}}),
        json.dumps({"op": "d", "before": one, "after": None, "source": {"lsn": 3}}),
        None,  # the tombstone that follows a deletion
        "not an envelope",
    ]
    with parts.broker(tmp_path) as servers:
        written = spark.createDataFrame([(message,) for message in messages], "value string").coalesce(1)
        to = {"kafka.bootstrap.servers": servers}
        written.write.format("kafka").options(**to, topic="accounts").save()
        topic = spark.readStream.format("kafka").options(**to, subscribe="accounts", startingOffsets="earliest").load()
        outputs = {"totals": ebb.kafka("totals", servers=servers, key="owner")}
        inputs = {"accounts": ebb.debezium(topic)}
        run(balances(), spark, tmp_path, inputs, outputs, dead_letters=str(tmp_path / "dead"), shards=1)
        found = spark.read.format("kafka").options(**to, subscribe="totals", includeHeaders="true").load().collect()
    assert [json.loads(row["value"]) for row in found] == [{"owner": "ann", "total": 5, "_time": 0, "_diff": 1}]
    assert [json.loads(row["key"]) for row in found] == [{"owner": "ann"}]
    assert {header["key"]: bytes(header["value"]) for header in found[0]["headers"]}["ebbflow-step"] == b"1"
    letters = spark.read.json(str(tmp_path / "dead")).collect()
    assert [row["reason"] for row in letters] == ["the message is not a JSON envelope"]
