"""Reader: the outputs of a checkpoint, read beside the session or stream that writes it.

A checkpoint holds the log of each output and the text it speaks of as files of their own content, so they can be read
without the program, its memory or Spark. Each call reads the last committed step; files that were read before are not
read again.

Rule: what is read is what the writer would have answered after that step. A time is refused where changes that the
question tells apart have been summed up already.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import RLock
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ebbflow.columns.schema import Schema
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.plan_json import schema_from
from ebbflow.durable.journal import Journal
from ebbflow.durable.reading import checked_file, read_newest
from ebbflow.durable.records import LEDGER, MANIFEST, SEGMENTS, STATE, TEXTS, Record
from ebbflow.durable.segments import Delta, sections
from ebbflow.durable.store import Files, Store, local_path
from ebbflow.errors import CheckpointDiffers, DamagedFile, HistoryGone, NotComplete, UnknownOutput, did_you_mean
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.notation import as_time, listed, told, whole
from ebbflow.frontend.running.output_log import Antichain, OutputLog, consolidated, nothing
from ebbflow.frontend.running.persistence import LOG_PREFIX, changes_of
from ebbflow.frontend.running.table import Table
from ebbflow.native.kernel import compile_all
from ebbflow.runtime.spark import blobs
from ebbflow.runtime.spark.texts import add_texts
from ebbflow.times import lattice
from ebbflow.times.frontier import Time, antichain, before

TEXT = "text"


class Output(NamedTuple):
    """An output as of one step."""

    step: int
    log: OutputLog
    chain: tuple[str, ...]  # the files that hold it


def open(directory: str | os.PathLike[str]) -> Reader:  # as the built-in does: it opens what is there
    """Open a checkpoint to read its outputs, beside the session or the stream that writes it.

    It takes the directory of `run(checkpoint=...)`, on Spark or not, of `flow.stream` or of `ebb.keep`.

    >>> import tempfile, ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("copy", flow.input("edges", "src long, dst long"))
    >>> place = tempfile.mkdtemp()
    >>> live = flow.run(checkpoint=place)
    >>> live.insert("edges", [(1, 2)])
    >>> _ = live.commit()
    >>> ebb.open(place).snapshot("copy").rows()
    [(1, 2, 1)]
    """
    return Reader(directory)


class Reader:
    """The outputs of a checkpoint; `ebb.open(dir)` makes it.  It never writes, and the writer never waits for it."""

    def __init__(self, directory: object, files: Files | None = None):
        root = local_path(directory)
        within = os.path.join(root, STATE)
        is_streams = os.path.isdir(within) and not {MANIFEST, LEDGER} & set(os.listdir(root))
        self._store = Store(within if is_streams else root, files)
        self._manifest = read_newest(self._store, lambda manifest, record: manifest)
        if "outputs" not in self._manifest:
            raise CheckpointDiffers(
                f"{self._store.root} was made by a version of ebbflow that did not write what its outputs are.",
                hint="Read it by its program, or give another directory and feed it the input again.",
            )
        self._coordinates: tuple[str, ...] = tuple(self._manifest["coordinates"])
        self._outputs = {name: schema_from(fields) for name, fields in self._manifest["outputs"]}
        self._lock = RLock()  # of the thread that reads
        self._step = -1
        self._sections: dict[str, dict[str, Delta]] = {}  # of each file: those of outputs, and text
        self._known: dict[str, Output] = {}
        self._pool: Pool | None = None
        self._texts: set[str] = set()  # files whose text the pool has

    def __repr__(self) -> str:
        return f"Reader({plain(self._store.root)}, outputs: {listed(list(self._outputs))})"

    @property
    def directory(self) -> str:
        """Where the state is.

        >>> import tempfile, ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("xs", "x long"))
        >>> live = flow.run(checkpoint=(place := tempfile.mkdtemp()))
        >>> ebb.open(place).directory == place
        True
        """
        return self._store.root

    @property
    def outputs(self) -> Mapping[str, Schema]:
        """The outputs by name, with their columns.

        >>> import tempfile, ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run(checkpoint=(place := tempfile.mkdtemp()))
        >>> {name: str(schema) for name, schema in ebb.open(place).outputs.items()}
        {'copy': 'src long, dst long'}
        """
        return MappingProxyType(self._outputs)

    @property
    def id(self) -> str:
        """What tells this checkpoint from any other, also from one that is made in its place later.

        >>> import tempfile, ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run(checkpoint=(place := tempfile.mkdtemp()))
        >>> live.advance_to(3)
        >>> ebb.open(place).id == ebb.open(place).id
        True
        """
        return str(self._manifest["id"])

    @property
    def step(self) -> int:
        """The number of the last committed step.

        >>> import tempfile, ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run(checkpoint=(place := tempfile.mkdtemp()))
        >>> live.advance_to(3)
        >>> ebb.open(place).step
        1
        """
        return read_newest(self._store, lambda manifest, record: record.step, self._step)

    def frontier(self, name: str) -> list[Time]:
        """The times that may still appear in an output; none when it is closed.

        >>> import tempfile, ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run(checkpoint=(place := tempfile.mkdtemp()))
        >>> live.advance_to(8)
        >>> ebb.open(place).frontier("copy")
        [(8,)]
        """
        self._schema("frontier", name)
        return list(self._look(lambda record: self._times(record, name)[1]))

    def snapshot(self, name: str, at: Any = None) -> Table:
        """An output at a time: its columns and `_count`.  Without `at`, at the last complete time.

        Times before the last step are there as far back as the writer's `history=` reaches, and often further.

        >>> import tempfile, ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run(checkpoint=(place := tempfile.mkdtemp()), history=10)
        >>> live.insert("edges", [(1, 2)], time=0)
        >>> live.delete("edges", [(1, 2)], time=5)
        >>> live.advance_to(8)
        >>> state = ebb.open(place)
        >>> state.snapshot("copy", at=4).rows(), state.snapshot("copy").rows()
        ([(1, 2, 1)], [])
        """
        schema, width = self._schema("snapshot", name), len(self._coordinates)
        with self._lock:
            log = self._output(name).log
            time = log.last_time(width) if at is None else self._readable(log, at)
            lanes, counts = log.at((-1,) * width if time is None else time)
        return Table(schema, lanes, None, counts, self._coordinates, self._texts_of())

    def changes(self, name: str, since: Any = None, until: Any = None) -> Table:
        """What changed in an output at or after `since`, a time or a frontier: its columns, `_time` and `_diff`.

        `since=` the frontier that was read last gives each change once.  Without it: all changes, those that are
        summed up at the first time that can still be told apart.  until: only what is complete before this frontier.

        >>> import tempfile, ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("copy", flow.input("edges", "src long, dst long"))
        >>> live = flow.run(checkpoint=(place := tempfile.mkdtemp()))
        >>> live.insert("edges", [(1, 2)])
        >>> _ = live.commit()
        >>> state = ebb.open(place)
        >>> seen = state.frontier("copy")
        >>> live.insert("edges", [(3, 4)])
        >>> _ = live.commit()
        >>> state.changes("copy", since=seen).rows()
        [(3, 4, 1, 1)]
        """
        schema = self._schema("changes", name)
        from_, to = (None if cut is None else self._cut("changes", cut) for cut in (since, until))
        with self._lock:
            log = self._output(name).log
            found = log.all() or nothing(schema.width, len(self._coordinates))
        kept = np.ones(len(found.diffs), bool)
        if from_ is not None:
            self._refuse_summed(log, from_, "since")
            kept &= lattice.reached(found.times, np.array(from_, np.int64))
        if to is not None and to != log.frontier:
            self._refuse_summed(log, to, "until")
            kept &= ~lattice.reached(found.times, np.array(to, np.int64))
        rows, diffs = consolidated(np.concatenate([found.lanes[:, kept], found.times[kept].T]), found.diffs[kept])
        times = np.ascontiguousarray(rows[len(found.lanes) :].T)
        return Table(schema, rows[: len(found.lanes)], times, diffs, self._coordinates, self._texts_of())

    # ---- what is asked -----------------------------------------------------------------------------

    def _schema(self, verb: str, name: str) -> Schema:
        if not isinstance(name, str) or name not in self._outputs:
            raise UnknownOutput(
                f'{verb} looks for the output "{plain(name)}"; {self._store.root} has: {listed(list(self._outputs))}.',
                hint=did_you_mean(name, list(self._outputs)) or "Outputs are those that the program declared.",
            )
        return self._outputs[name]

    def _cut(self, verb: str, value: Any) -> Antichain:
        """A time, or a frontier as `frontier` gives it: a list of times."""
        several = isinstance(value, (list, set, frozenset)) and not (value and all(whole(x) is not None for x in value))
        return antichain(as_time(verb, part, self._coordinates) for part in (value if several else [value]))

    def _last_time(self, name: str) -> Time | None:
        with self._lock:
            return self._output(name).log.last_time(len(self._coordinates))

    def _as_time(self, at: Any) -> Time:
        return as_time("snapshot", at, self._coordinates)

    def _readable(self, log: OutputLog, at: Any) -> Time:
        time = as_time("snapshot", at, self._coordinates)
        if any(before(element, time) for element in log.frontier):
            raise NotComplete(
                f'snapshot asks for "{plain(log.name)}" at {told(time)}, which is not complete: its frontier is '
                f"{told(log.frontier)}.",
                hint="Leave at= out for the last complete time, or wait until the writer has gone on.",
            )
        if not log.is_kept(time):
            raise HistoryGone(
                f'snapshot asks for "{plain(log.name)}" at {told(time)}, which is no longer kept: {self._store.root} '
                f"reaches back to {told(log.since)}.",
                hint='The writer keeps more with history=1000, so many time units, or history="all".',
            )
        return time

    def _refuse_summed(self, log: OutputLog, cut: Antichain, which: str) -> None:
        """Refuse a cut between changes that have been summed up: a change keeps its side only beyond `since`."""
        for time in cut:
            if not any(all(c > s or c == 0 for c, s in zip(time, since)) for since in log.since):
                raise HistoryGone(
                    f'changes asks for "{plain(log.name)}" with {which} {told(time)}, and changes up to '
                    f"{told(log.since)} are summed up in {self._store.root}.",
                    hint="Read a snapshot and go on from its frontier; the writer keeps more with history=1000.",
                )

    # ---- what is read ------------------------------------------------------------------------------

    def _look(self, read: Any) -> Any:
        """What `read` makes of the last record."""

        def looked(manifest: dict[str, Any], record: Record) -> Any:
            if manifest["id"] != self.id:
                raise CheckpointDiffers(f"another checkpoint was made in {self._store.root} since it was opened.",
                    hint="ebb.open it again.")  # fmt: skip
            found = read(record)
            self._step = max(self._step, record.step)
            return found

        return read_newest(self._store, looked, self._step)

    def _times(self, record: Record, name: str) -> tuple[Antichain, Antichain]:
        """From where the times of an output can be told apart, as was promised, and its frontier."""
        first = ((0,) * len(self._coordinates),)
        session = record.state.get("session") or {}
        since, frontier = session["outputs"][name] if session else (first, first)
        return _antichain(since), _antichain(frontier)

    def _output(self, name: str) -> Output:
        found: Output = self._look(lambda record: self._read(record, name))
        self._known[name] = found
        return found

    def _read(self, record: Record, name: str) -> Output:
        state, schema, width = record.state, self._outputs[name], len(self._coordinates)
        since, frontier = self._times(record, name)
        chain = self._chain(state, f"{LOG_PREFIX}{name}")
        known = self._known.get(name)
        if known is not None and known.chain == chain and known.log.frontier == frontier:
            return known
        deltas = [(file, self._section(record, file, f"{LOG_PREFIX}{name}")) for file in chain]
        log = OutputLog(name, schema, False, since, frontier)
        if deltas:
            if len(beside := deltas[0][1].beside):
                log.since = _antichain(beside[1:].reshape(-1, width).tolist())
            words = Journal(lambda: np.empty(0, np.int64)).read(deltas)
            log.take_up(changes_of(words, schema.width, width))
        self._learn(record)
        used = {*chain, *self._chain(state, TEXT), *(f for o in self._known.values() for f in o.chain)}
        self._sections = {file: found for file, found in self._sections.items() if file in used}
        return Output(record.step, log, chain)

    def _chain(self, state: dict[str, Any], section: str) -> tuple[str, ...]:
        """The files that hold a journal."""
        if "journals" in state:  # on Spark
            return tuple(state["journals"].get(section, ()))
        return tuple(state["segments"][i] for i in state["chains"].get(section, ()))

    def _section(self, record: Record, file: str, section: str) -> Delta:
        if file not in self._sections:
            data = checked_file(self._store, record, SEGMENTS, file)
            found = sections(data, self._store.path(SEGMENTS, file))
            is_wanted = lambda name: name == TEXT or name.startswith(LOG_PREFIX)
            self._sections[file] = {name: _copied(delta) for name, delta in found.items() if is_wanted(name)}
        if section not in self._sections[file]:
            path = self._store.path(SEGMENTS, file)
            raise DamagedFile(f"the file {path} lacks what the ledger says it has.")
        return self._sections[file][section]

    def _texts_of(self) -> Pool:
        assert self._pool is not None, "an output was read"
        return self._pool

    def _learn(self, record: Record) -> None:
        """Have the text that the record speaks of; text never changes, so what is known stays."""
        compile_all()
        if self._pool is None:
            key0, key1, bits = self._manifest["pool"]
            self._pool = Pool((key0, key1), bits)
        on_spark: list[list[Any]] | None = record.state.get("texts")
        files = self._chain(record.state, TEXT) if on_spark is None else tuple(file for file, _ in on_spark)
        for file in files:
            if file in self._texts:
                continue
            if on_spark is not None:
                ids, offsets, words = blobs.read(checked_file(self._store, record, TEXTS, file))[1]
                add_texts(self._pool, (ids, offsets, words))
            elif not self._pool.add_entries(self._section(record, file, TEXT).words):
                raise DamagedFile(f"the text in {self._store.path(SEGMENTS, file)} contradicts what came before it.")
        self._texts = set(files)


def _copied(delta: Delta) -> Delta:
    """A section without the file that it was part of."""
    return Delta(delta.whole, delta.size, *(np.array(part) for part in delta[2:]))


def _antichain(times: Any) -> Antichain:
    return tuple(tuple(int(number) for number in time) for time in times)
