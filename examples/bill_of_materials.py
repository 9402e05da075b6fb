"""How much of every part a product needs, parts of parts of parts included: a loop, fed by files of changes."""

import json
import tempfile
from pathlib import Path

import ebbflow as ebb

PLACE = Path(tempfile.mkdtemp())

flow = ebb.Dataflow()
contains = flow.input("contains", "whole string, part string, amount long")
direct = contains.select("whole", "part", "amount")


def deeper(needs: ebb.Collection) -> ebb.Collection:
    """What is needed, and what that is made of: amounts multiply along the way, and add up over all ways."""
    inner = needs.join(contains, on={"part": "whole"}, suffix="_of")
    ways = inner.select("whole", part="part_of", amount=ebb.col("amount") * ebb.col("amount_of")).union(direct)
    return ways.group_by("whole", "part").agg(amount=ebb.sum("amount"))


flow.output("needs", direct.iterate(deeper))


def changed(day: int, *rows: tuple) -> None:
    """A file with the changes of a day."""
    (PLACE / "contains").mkdir(exist_ok=True)
    lines = [json.dumps({"whole": w, "part": p, "amount": n, "day": day, "d": d}) for w, p, n, d in rows]
    (PLACE / "contains" / f"{day}.json").write_text("\n".join(lines))


def catch_up(spark) -> None:
    files = spark.readStream.schema("whole string, part string, amount long, day long, d long")
    query = flow.stream(
        spark, checkpoint=str(PLACE / "checkpoint"), trigger={"availableNow": True},
        inputs={"contains": ebb.changes(files.json(str(PLACE / "contains")), time="day", diff="d")},
        outputs={"needs": ebb.change_log(str(PLACE / "log"))},
    )  # fmt: skip
    query.awaitTermination()


if __name__ == "__main__":
    spark = ebb.spark()
    changed(1, ("bike", "wheel", 2, 1), ("wheel", "spoke", 36, 1), ("wheel", "rim", 1, 1), ("spoke", "nipple", 1, 1))
    catch_up(spark)
    changed(2, ("wheel", "spoke", 36, -1), ("wheel", "spoke", 32, 1))  # from now on fewer spokes
    catch_up(spark)
    log = spark.read.parquet(str(PLACE / "log"))
    log.filter("whole = 'bike'").orderBy("_time", "part", "_diff").drop("step").show()
