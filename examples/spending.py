"""What each customer has spent, kept right by a database's own log: Debezium's envelopes in, a table out."""

import json
import tempfile
from pathlib import Path

import ebbflow as ebb

PLACE = Path(tempfile.mkdtemp())


def logged(table: str, number: int, *events: tuple) -> None:
    """What Debezium would send to the topic of a table: what was done, the row before, the row after, where."""
    (PLACE / table).mkdir(exist_ok=True)
    lines = [
        json.dumps({"op": op, "before": before, "after": after, "source": {"lsn": lsn}})
        for op, before, after, lsn in events
    ]
    (PLACE / table / f"{number}.txt").write_text("\n".join(lines))


flow = ebb.Dataflow()
customers = flow.input("customers", "id long, name string", key="id")
orders = flow.input("orders", "id long, customer long, amount decimal(10,2)", key="id")
spending = (
    orders.join(customers, on={"customer": "id"}).group_by("name").agg(orders=ebb.count(), spent=ebb.sum("amount"))
)
flow.output("spending", spending)


def catch_up(spark) -> None:
    query = flow.stream(
        spark, checkpoint=str(PLACE / "checkpoint"), trigger={"availableNow": True},
        inputs={name: ebb.debezium(spark.readStream.text(str(PLACE / name))) for name in ("customers", "orders")},
        outputs={"spending": ebb.table(str(PLACE / "spending"))}, dead_letters=str(PLACE / "dead"),
    )  # fmt: skip
    query.awaitTermination()
    spark.read.parquet(str(PLACE / "spending")).orderBy("name").show()


if __name__ == "__main__":
    spark = ebb.spark()
    ann, bob = {"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}
    logged("customers", 0, ("r", None, ann, 1), ("r", None, bob, 1))  # r: read when Debezium began
    one, two = {"id": 7, "customer": 1, "amount": "20.00"}, {"id": 8, "customer": 2, "amount": "5.50"}
    logged("orders", 0, ("r", None, one, 1), ("c", None, two, 3))
    catch_up(spark)
    print("The order of 20.00 was Bob's, it turns out; the other one is cancelled; and Ann is called Anne.")
    logged(
        "orders", 1, ("u", one, {**one, "customer": 2}, 5), ("d", two, None, 6), ("c", None, two, 3)
    )  # 3: came twice
    logged("customers", 1, ("u", ann, {**ann, "name": "Anne"}, 7))
    catch_up(spark)
