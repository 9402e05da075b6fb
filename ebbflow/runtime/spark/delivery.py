"""Deliveries: what a stream hands over, known by its query, its number and its content.

Spark repeats a micro-batch after a failure, with the same number and, if its source can be read again, with the same
rows.  A step that was committed remembers which delivery it took in: the count of its rows and a hash that does not
depend on their order.

Rule: the delivery that was committed last is answered from the ledger; the next one is taken in; any other is refused.

How a pipeline uses it.  `live = flow.run(spark, checkpoint=..., shards=...)` is a Session; then, for each micro-batch,

    taken = live.deliver({"edges": frame, ...}, query_id="6f1c...", batch_id=7, frontiers=None)

frames: one DataFrame for each input that has rows: the input's columns by name in any order, `_time` (a bigint, or with
several coordinates one bigint column for each: `_time0`, `_time1`, ...; null: the input's first open time) and `_diff`
(a bigint; left out: 1).  For an input with a key a diff of 1 gives the row of its key and -1 takes it away; of several
edits of a key at one time the last of a column `_order` (a bigint; left out: unordered rows of one key at one time are
refused) counts.  Each frame is evaluated once, all of them in one action.
frontiers: {input: a time or antichain} to which the inputs advance with this batch.  Without it all inputs advance
beyond the last time of the batch, at least by one (in the last coordinate).
Rows at times that are complete already are refused, all of the batch with them, as LateTime: whoever wants dead letters
filters by `live.frontier(input)` before.

What comes back is a Delivery; the step is durable by then.  `live.changes(output)` gives what is to be published, and
gives it again after a restart: whoever publishes marks, beside what was published, the step it belongs to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ebbflow.errors import DeliveryRefused


class Delivery(NamedTuple):
    """A micro-batch that is part of the state."""

    query_id: str
    batch_id: int
    rows: int
    hash: str  # of the multiset of its rows
    step: int  # the number of the ledger's record
    repeated: bool  # it had been taken in before, and nothing was done now

    def as_json(self) -> dict[str, Any]:
        return {"query": self.query_id, "batch": self.batch_id, "rows": self.rows, "hash": self.hash}


def judge(last: dict[str, Any] | None, query_id: str, batch_id: int, rows: int, hash: str) -> bool:
    """Whether a delivery was taken in before (True) or is the next one (False); any other is refused."""
    if last is None:
        return False
    if query_id != last["query"]:
        raise DeliveryRefused(
            f"batch {batch_id} comes from the query {query_id}; this checkpoint was fed by {last['query']}.",
            hint="A stream whose own checkpoint was deleted or swapped numbers its batches anew: give it back its "
            "checkpoint, or begin both anew.",
        )
    if batch_id == last["batch"]:
        if (rows, hash) != (last["rows"], last["hash"]):
            raise DeliveryRefused(
                f"batch {batch_id} was taken in with {last['rows']:,} rows (hash {last['hash']}), and now comes with "
                f"{rows:,} rows (hash {hash}).",
                hint="Its source did not give the same rows twice. Use one that can be read again, or begin anew.",
            )
        return True
    if batch_id < last["batch"]:
        raise DeliveryRefused(
            f"batch {batch_id} comes after batch {last['batch']} was taken in.",
            hint="The stream's own checkpoint was set back. `ebbflow rewind` sets this one back as far.",
        )
    if batch_id > last["batch"] + 1:
        raise DeliveryRefused(
            f"batch {batch_id} comes after batch {last['batch']}: what lies between is missing.",
            hint="This checkpoint was set back, or another one took those batches. Set the stream back as far.",
        )
    return False
