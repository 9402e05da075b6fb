"""Rings of accounts that share a phone or a card, kept right by a table's change feed: Delta in, Delta out."""

import tempfile

import ebbflow as ebb
from ebbflow.tools import jars

PLACE = tempfile.mkdtemp()

flow = ebb.Dataflow()
uses = flow.input("uses", "account long, thing string")  # an account uses a phone, a card, an address
links = uses.join(uses, on="thing", suffix="_too").select(src="account", dst="account_too")
rings = ebb.algorithms.connected_components(links)  # id, component: the least account of the ring
sizes = rings.group_by("component").count()
flow.output("rings", rings.join(sizes.filter(ebb.col("count") > 1), on="component").select("id", "component"))


def session():
    return ebb.spark(**jars.settings("delta"))  # fetched once, through Maven


def catch_up(spark) -> None:
    feed = spark.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", 0)
    query = flow.stream(
        spark, checkpoint=f"{PLACE}/checkpoint", trigger={"availableNow": True},
        inputs={"uses": ebb.change_feed(feed.load(f"{PLACE}/uses"))},
        outputs={"rings": ebb.table(f"{PLACE}/rings", format="delta", key="id")},
    )  # fmt: skip
    query.awaitTermination()
    spark.read.format("delta").load(f"{PLACE}/rings").orderBy("id").show()


def main() -> None:
    spark = session()
    table = f"delta.`{PLACE}/uses`"
    spark.sql(
        f"create table {table} (account long, thing string) using delta "
        "tblproperties (delta.enableChangeDataFeed = true)"
    )
    spark.sql(f"insert into {table} values (1, 'phone a'), (2, 'phone a'), (2, 'card x'), (3, 'card x'), (9, 'card y')")
    catch_up(spark)
    print("Account 2 gives up the card; account 9 is seen with phone a.")
    spark.sql(f"delete from {table} where account = 2 and thing = 'card x'")
    spark.sql(f"insert into {table} values (9, 'phone a')")
    catch_up(spark)


if __name__ == "__main__":
    main()
