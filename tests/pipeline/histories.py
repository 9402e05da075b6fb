"""`python -m tests.pipeline.histories`: random histories of streams that share places, against a model.

Streams with queries and checkpoints of their own start, step, crash around every mark, are stopped, skip steps, are
set back; their checkpoints and tables are removed by hand; places are used again, by other spellings too.  The sinks
are the real ones, driven without Structured Streaming, their rows small files, so that a step takes milliseconds.

Rule: whatever happened, after a step was published a table is the stream's collection and a log holds every change
once, but for steps that were skipped; or the stream was refused with a sentence, as the model says, and the place is
as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from unittest import mock

from ebbflow.errors import PlaceTaken
from ebbflow.pipeline import marks
from ebbflow.pipeline.claims import owner_of
from ebbflow.pipeline.sinks.change_log import change_log
from ebbflow.pipeline.sinks.parquet_table import ParquetTable
from ebbflow.pipeline.sinks.sink import Progress
from ebbflow.pipeline.sinks.tables import table

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # files that are gone in milliseconds need no disk
CRASHES = ("write", "create", "point", "settle", "sync")


class Crash(BaseException):
    """The process dies here."""


class Rows:
    """As much of a DataFrame as sinks ask of one: (row, diff) pairs."""

    sparkSession = None

    def __init__(self, rows):
        self.rows = list(rows)

    def drop(self, _name):
        return self

    coalesce = drop

    def isEmpty(self):
        return not self.rows

    @property
    def write(self):
        return self

    def parquet(self, path):
        os.makedirs(path)
        Path(path, "rows.json").write_text(json.dumps(self.rows))


def summed(*parts):
    found = Counter()
    for rows in parts:
        for row, diff in rows:
            found[row] += diff
    return Counter({row: diff for row, diff in found.items() if diff})


def read(path):
    file = Path(path, "rows.json")
    return [(row, diff) for row, diff in json.loads(file.read_text())] if file.exists() else []


def write(self, rows, old, to):
    """What ParquetTable has Spark do."""
    Rows(sorted(summed(rows.rows, [] if old is None else read(old)).items())).parquet(to)


def stands(kind, path):
    """What a reader finds at a place."""
    path = Path(path)
    if kind == "table":
        return summed(read(path)) if path.exists() else None
    steps = sorted(path.glob("step=*"))
    return summed(*map(read, steps)) if steps else None


class Stream:
    """A query with its checkpoint: what `Feed` would hand over."""

    def __init__(self, root, name):
        self.name, self.home, self.generation = name, root / name / "outputs" / "0", ""
        self.forget()

    def forget(self):
        self.step, self.batch, self.attempts = 0, -1, 0
        self.changes, self.record, self.pending, self.skipped, self.gone = [], "", False, set(), False

    def commit(self, rng):
        """A step that is in the ledger, and that nobody was told of."""
        have = summed(self.changes)
        rows = [(rng.randrange(6), 1) for _ in range(rng.randrange(3))]
        rows += [(row, -1) for row in rng.sample(sorted(have), min(len(have), rng.randrange(2)))]
        self.step, self.batch, self.pending = self.step + 1, self.batch + 1, True
        self.attempts += 1
        self.record = f"{self.name}-{self.attempts}"
        self.last, self.changes = rows, self.changes + rows

    def saved(self):
        return (
            self.step,
            self.batch,
            self.record,
            list(self.changes),
            list(self.last) if self.step else [],
            self.pending,
        )

    def set_back(self, saved):
        self.step, self.batch, self.record, self.changes, self.last, self.pending = saved

    def progress(self):
        return Progress(
            "out", self.step, [(self.step,)], self.name, self.batch, "plan", self.record,
            tuple(sorted(self.skipped)), lambda: Rows(summed(self.changes).items()),
        )  # fmt: skip


class Place:
    """What the model knows of a place: whose it is, where it stands, and what is to be read there."""

    def __init__(self, kind, path):
        self.kind, self.path = kind, path
        self.clear()

    def clear(self):
        self.owner, self.at, self.begun, self.content = None, None, False, None


def spellings(path, rng):
    relative = os.path.relpath(path)
    return rng.choice(
        [str(path), f"{path}/", f"file://{path}", f"file:{path}", relative, f"{path.parent}/./x/../{path.name}"]
    )


class History:
    def __init__(self, root, seed):
        self.rng, self.root, self.counted, self.log = random.Random(seed), root, Counter(), []
        self.streams = [Stream(root / "checkpoints", f"query{i}") for i in range(3)]
        (root / "out" / "x").mkdir(parents=True)
        self.places = [
            Place("table", root / "out" / "t0"),
            Place("table", root / "out" / "t1"),
            Place("log", root / "out" / "l0"),
        ]
        self.running = {}  # of each stream that runs: its place and sink
        self.saved = {}

    def run(self, length):
        for _ in range(length):
            ops = [
                self.start,
                self.start,
                self.step,
                self.step,
                self.step,
                self.crash,
                self.stop,
                self.remove_checkpoint,
            ]
            ops += [self.remove_table, self.skip, self.save, self.set_back]
            op = self.rng.choice(ops)
            self.log.append(op.__name__)
            op()

    # ---- what the model expects ------------------------------------------------------------------

    def is_refused(self, stream, place, replace):
        """Whether a stream may not open a place."""
        if place.owner is None or place.owner == (stream.name, stream.generation) or replace:
            return False
        other = next(one for one in self.streams if one.name == place.owner[0])
        lives = other.generation == place.owner[1] and not other.gone
        return place.begun or lives

    def is_further(self, stream, place):
        """Whether a place has what the stream does not know of."""
        if place.owner != (stream.name, stream.generation) or place.at is None or not stream.step:
            return False
        step, batch, record = place.at
        return (step, record) != (stream.step, stream.record) and (step >= stream.step or batch > stream.batch)

    def has_gap(self, stream, place):
        if place.kind != "log" or place.owner != (stream.name, stream.generation) or place.at is None:
            return False
        return not set(range(place.at[0] + 1, stream.step)) <= stream.skipped

    # ---- what happens ----------------------------------------------------------------------------

    def stopped(self):
        return [stream for stream in self.streams if stream.name not in self.running]

    def start(self):
        if not self.stopped():
            return
        stream, place = self.rng.choice(self.stopped()), self.rng.choice(self.places)
        own = [one for one in self.places if one.owner == (stream.name, stream.generation)]
        if own and self.rng.random() < 0.5:
            place = self.rng.choice(own)
        replace = self.rng.random() < 0.3
        sink = self.made(place, replace)
        stream.home.mkdir(parents=True, exist_ok=True)
        stream.gone, stream.generation = False, owner_of(stream.home, "out", "plan").id
        before = stands(place.kind, place.path)
        try:
            sink.open(None, stream.home, ["n"], "`n` bigint")
        except PlaceTaken as refusal:
            assert self.is_refused(stream, place, replace), self.told(f"refused: {refusal}")
            assert "replace=True" in refusal.hint and stands(place.kind, place.path) == before
            self.counted["refused"] += 1
            return
        assert not self.is_refused(stream, place, replace), self.told("not refused")
        if place.owner != (stream.name, stream.generation):
            self.counted["taken over" if place.owner else "begun"] += 1
            place.owner, place.at = (stream.name, stream.generation), None
        else:
            self.counted["continued"] += 1
        for other, (where, _) in list(self.running.items()):
            if where is place and other != stream.name:
                self.counted["ousted"] += 1
        self.running[stream.name] = place, sink
        if stream.step:
            self.publish(stream, place, sink)

    def made(self, place, replace):
        text = spellings(place.path, self.rng)
        return table(text, replace=replace) if place.kind == "table" else change_log(text, replace=replace)

    def publish(self, stream, place, sink):
        """Hand over the last step; what the place then holds is what the model says."""
        if place.owner is None:  # it was removed under the stream, which makes it again
            place.owner = stream.name, stream.generation
        mine = place.owner == (stream.name, stream.generation)
        before = stands(place.kind, place.path)
        if stream.step in stream.skipped:
            stream.pending = False
            return
        further, gap = self.is_further(stream, place), self.has_gap(stream, place)
        try:
            sink.publish(Rows(stream.last), stream.progress(), stream.home)
        except PlaceTaken as refusal:
            assert not mine or ((further or gap) and not sink.replace), self.told(f"refused to publish: {refusal}")
            assert stands(place.kind, place.path) == before
            self.counted["refused to publish"] += 1
            del self.running[stream.name]
            return
        assert mine and (sink.replace or not (further or gap)), self.told("published")
        stream.pending = False
        self.settle(stream, place, anew=place.at is None or further or gap)
        self.counted["published"] += 1

    def settle(self, stream, place, anew):
        if place.kind == "table" or anew:
            place.content = summed(stream.changes)
        elif place.at[2] != stream.record:
            place.content = summed(place.content.items(), stream.last)
        place.at, place.begun = (stream.step, stream.batch, stream.record), True
        found = stands(place.kind, place.path)
        assert (found or Counter()) == place.content, self.told(f"{place.path.name}: {found} and not {place.content}")

    def step(self, crash=None):
        if not self.running:
            return
        name = self.rng.choice(sorted(self.running))
        stream = next(one for one in self.streams if one.name == name)
        place, sink = self.running[name]
        if stream.gone:  # its checkpoint was removed under it: the ledger would say so
            del self.running[name]
            return
        stream.commit(self.rng)
        self.publish(stream, place, sink)

    def crash(self):
        """Die at one of the marks, and start again in the same place."""
        if not self.running:
            return
        name = self.rng.choice(sorted(self.running))
        stream = next(one for one in self.streams if one.name == name)
        place, sink = self.running.pop(name)
        if stream.gone or place.owner != (stream.name, stream.generation):
            return
        stream.commit(self.rng)
        if self.is_further(stream, place) or self.has_gap(stream, place):
            return
        left, where = self.rng.randrange(4), self.rng.choice(CRASHES)
        real = getattr(marks, where)

        def dies(*given):
            nonlocal left
            left -= 1
            if left < 0:
                if where != "sync" and self.rng.random() < 0.5:
                    real(*given)
                raise Crash
            return real(*given)

        at = place.at
        with mock.patch.object(marks, where, dies):
            try:
                sink.publish(Rows(stream.last), stream.progress(), stream.home)
            except Crash:
                self.counted["crashed"] += 1
        again = self.made(place, False)
        again.open(None, stream.home, ["n"], "`n` bigint")
        again.publish(Rows(stream.last), stream.progress(), stream.home)
        stream.pending = False
        self.settle(stream, place, anew=at is None)
        self.running[name] = place, again

    def stop(self):
        if self.running:
            del self.running[self.rng.choice(sorted(self.running))]

    def remove_checkpoint(self):
        if self.stopped():
            stream = self.rng.choice(self.stopped())
            shutil.rmtree(stream.home, ignore_errors=True)
            stream.forget()
            stream.gone = True
            self.saved.pop(stream.name, None)

    def remove_table(self):
        place = self.rng.choice(self.places)
        if any(where is place for where, _ in self.running.values()) and self.rng.random() < 0.7:
            return
        if place.kind == "log":
            shutil.rmtree(place.path, ignore_errors=True)
            place.clear()
        elif self.rng.random() < 0.5:  # the link alone, or all of it
            place.path.unlink(missing_ok=True)
            place.at, place.begun, place.content = None, False, None
        else:
            place.path.unlink(missing_ok=True)
            shutil.rmtree(place.path.with_name(f".{place.path.name}.versions"), ignore_errors=True)
            place.clear()

    def skip(self):
        """A step that the sink never takes, and that somebody says to go on without."""
        if not self.running:
            return
        name = self.rng.choice(sorted(self.running))
        stream = next(one for one in self.streams if one.name == name)
        if not stream.gone and self.running[name][0].owner == (stream.name, stream.generation):
            stream.commit(self.rng)
            stream.skipped.add(stream.step)
            stream.pending = False
            self.counted["skipped"] += 1

    def save(self):
        """A copy of a checkpoint; the first one of a stream is kept for longest."""
        found = [stream for stream in self.streams if stream.step and not stream.gone]
        if found:
            stream = self.rng.choice(found)
            self.saved.setdefault(stream.name, stream.saved())

    def set_back(self):
        """A stream's checkpoint is restored from a copy."""
        found = [stream for stream in self.streams if stream.name in self.saved]
        if found:
            stream = self.rng.choice(found)
            self.running.pop(stream.name, None)
            was = stream.step
            stream.set_back(self.saved.pop(stream.name))
            for _ in range(self.rng.choice([0, 1, was - stream.step])):  # it goes on, elsewhere and otherwise
                stream.commit(self.rng)
            stream.skipped = {step for step in stream.skipped if step <= stream.step}
            self.counted["set back"] += 1

    def told(self, what):
        return f"{what}\nafter {' '.join(self.log)}"


def histories(count, seed, length=40):
    """Run so many; what happened in them, counted."""
    counted = Counter()
    was = os.getcwd()
    with mock.patch.object(ParquetTable, "_write", write), mock.patch.object(os, "fsync", lambda handle: None):
        for i in range(count):
            with tempfile.TemporaryDirectory(prefix="ebbflow-histories-", dir=MEMORY) as root:
                history = History(Path(os.path.realpath(root)), seed + i)
                try:
                    history.run(length)
                except Exception as error:
                    error.add_note(f"history {seed + i} of {length} events")
                    raise
                counted += history.counted
    assert os.getcwd() == was
    return counted


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.pipeline.histories", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, default=40)
    asked = parser.parse_args()
    found = histories(asked.count, asked.seed, asked.length)
    print(f"{asked.count} histories: " + ", ".join(f"{number:,} {what}" for what, number in sorted(found.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
