"""`python -m tests.mutants.durable`: bugs planted around the engine, above all in durable state, for its tests.

Rule: these are bugs of plain Python, so the tests run compiled, in a copy of the whole house.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.mutants import Mutant

ROOT = Path(__file__).resolve().parents[2]
LEDGER, DURABLE, IMAGE = (
    "tests/durable/test_ledger.py",
    "tests/runtime/test_kept_local.py",
    "tests/durable/test_image.py",
)
TOUCHED = "tests/durable/test_dirty_pages.py"
GONE, TURNS, THREADS = "tests/runtime/test_files_gone.py", "tests/test_turns.py", "tests/frontend/test_threads.py"
READER = "tests/frontend/running/test_reader.py"
STORE, RESTARTS = "tests/durable/test_store.py", "tests/meaning/test_reductions.py"

PLANTED: list[tuple[Mutant, str]] = [
    (
        Mutant(
            "a reader cuts at the time to which changes are summed up",
            "frontend/running/reader.py",
            "all(c > s or c == 0 for c, s in zip(time, since))",
            "all(c >= s or c == 0 for c, s in zip(time, since))",
        ),
        READER,
    ),
    (
        Mutant(
            "links that are merged as they are forget from when on their times can be told apart",
            "durable/journal.py",
            "return delta_of(True, 0, words)._replace(beside=self._told)",
            "return delta_of(True, 0, words)",
        ),
        READER,
    ),
    (
        Mutant(
            "a reader takes a file that is gone for damage, though the writer has gone on",
            "durable/reading.py",
            "            if store.names(LEDGER) == entries or",
            "            if store.names(LEDGER) or",
        ),
        READER,
    ),
    (
        Mutant(
            "nothing tells that the newest record is gone",
            "durable/records.py",
            '    if len(newest) >= manifest.get("kept", 0):\n',
            "    if len(newest) >= 1:\n",
        ),
        GONE,
    ),
    (
        Mutant(
            "the oldest entry of the ledger goes before the newest is durable",
            "durable/ledger.py",
            "            name = name_of_step(number)\n            try:\n",
            "            name = name_of_step(number)\n            if len(store.names(LEDGER)) >= KEPT:\n"
            "                store.discard(store.path(LEDGER, newest_of(store.names(LEDGER))[-1]))\n            try:\n",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "a directory with parts of a checkpoint and no manifest is empty",
            "durable/records.py",
            "    if any(name in DIRECTORIES for name in found) and not is_begun:\n",
            "    if any(steps_of(store)) and not is_begun:\n",
        ),
        GONE,
    ),
    (
        Mutant(
            "no mark is left where a checkpoint is begun",
            "durable/ledger.py",
            '        store.put("", [b"A checkpoint is being begun here.\\n"], BEGINNING)\n',
            "        pass\n",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "files of earlier steps are not looked for",
            "durable/records.py",
            "    for record in kept:\n",
            "    for record in kept[:0]:\n",
        ),
        GONE,
    ),
    (
        Mutant(
            "a rewind takes the number of a record that is gone",
            "durable/checking.py",
            "        number += KEPT - len(newest_of(store.names(LEDGER)))\n",
            "",
        ),
        GONE,
    ),
    (
        Mutant(
            "insert does not wait for its turn",
            "frontend/running/session.py",
            "        if turns.is_taken or turns.line:\n"
            "            turns.serve(verb, self._take_in, verb, name, rows, time, diff)\n            return\n"
            "        with turns.lock:\n",
            "        import contextlib\n        with contextlib.nullcontext():\n",
        ),
        THREADS,
    ),
    (
        Mutant(
            "close does not wait for its turn",
            "frontend/running/session.py",
            '        self._at.turns.take("close", stepping.close, self._at)\n',
            "        stepping.close(self._at)\n",
        ),
        THREADS,
    ),
    (
        Mutant(
            "the end of a with block does not wait for its turn",
            "frontend/running/session.py",
            '        self._at.turns.take("close", stepping.release, self._at)\n',
            "        stepping.release(self._at)\n",
        ),
        THREADS,
    ),
    (
        Mutant(
            "changes are gone before they are handed out",
            "frontend/running/results.py",
            "    if as_spark:\n        table = on_spark.as_frame(here, table)\n    shown.unread = []",
            "    shown.unread = []\n    if as_spark:\n        table = on_spark.as_frame(here, table)\n"
            "    shown.unread = []",
        ),
        THREADS,
    ),
    (
        Mutant(
            "who comes does not look whether others wait",
            "turns.py",
            "        if self.is_taken or self.line:\n",
            "        if self.is_taken and self.is_within():\n",
        ),
        TURNS,
    ),
    (
        Mutant(
            "a call from within a call waits for itself",
            "turns.py",
            "            or any(place.whose == me for place in self.line)\n",
            "",
        ),
        TURNS,
    ),
    (
        Mutant(
            "who gives up keeps its place in the line",
            "turns.py",
            "            finally:\n                self.leave(mine)\n",
            "            finally:\n                pass\n",
        ),
        TURNS,
    ),
    (Mutant("a file is not synced", "durable/store.py", "                self.files.sync(handle)\n", ""), LEDGER),
    (
        Mutant(
            "a directory is not synced",
            "durable/store.py",
            "        self.files.sync_directory(self.path(directory))\n",
            "",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "a new directory is not synced",
            "durable/store.py",
            "        self.files.sync_directory(above)\n",
            "",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "a record replaces another",
            "durable/store.py",
            "        os.link(path, name, follow_symlinks=False)\n",
            "        os.replace(path, name)\n        open(path, 'w').close()\n",
        ),
        STORE,
    ),
    (
        Mutant(
            "checksums are not compared",
            "durable/store.py",
            "        if name_of([data]) != name:\n",
            "        if name_of([data]) == '':\n",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "lengths are not compared", "durable/store.py", "        if len(data) != length:\n", "        if False:\n"
        ),
        STORE,
    ),
    (
        Mutant(
            "links are followed",
            "durable/store.py",
            "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK",
            "os.O_RDONLY | os.O_NONBLOCK",
        ),
        STORE,
    ),
    (
        Mutant(
            "a record is believed without its hash",
            "durable/records.py",
            "        if rest or digest_of(text).encode() != digest:\n",
            "        if rest:\n",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "a record of another checkpoint counts",
            "durable/records.py",
            'content.get("step") != number or content.get("of") != manifest["id"]',
            'content.get("step") != number',
        ),
        LEDGER,
    ),
    (
        Mutant(
            "the manifest comes before the first record",
            "durable/ledger.py",
            "                store.put(LEDGER, [data], name_of_step(0), also=stand_ins(0))\n"
            '                store.put("", [sealed(manifest)], MANIFEST)\n',
            '                store.put("", [sealed(manifest)], MANIFEST)\n'
            "                store.put(LEDGER, [data], name_of_step(0), also=stand_ins(0))\n",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "a gone ledger opens empty",
            "durable/ledger.py",
            "            head = verified(store, manifest)\n",
            "            if not steps_of(store):\n                return None\n"
            "            head = verified(store, manifest)\n",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "a damaged last record is passed over",
            "durable/ledger.py",
            "            head = verified(store, manifest)\n",
            "            try:\n                head = verified(store, manifest)\n"
            "            except DamagedFile:\n                head = record_of(store, manifest, steps_of(store)[-2])\n",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "a record whose sync failed stays",
            "durable/ledger.py",
            "                with contextlib.suppress(OSError):\n                    self.take_back(name)\n",
            "",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "the sweep forgets the records before the last",
            "durable/ledger.py",
            "        for directory in {directory for record in kept for directory in record.files}:\n",
            "        kept = kept[-1:]\n"
            "        for directory in {directory for record in kept for directory in record.files}:\n",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "nothing is swept",
            "durable/ledger.py",
            "                self.sweep()\n",
            "                pass\n",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "the loser goes on",
            "durable/ledger.py",
            "            if newest != [self.step]:\n                self.lose(newest[0] if newest else None)\n",
            "            if newest and newest[0] > self.step:\n                number = newest[0] + 1\n",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "the record counts before its segment is written",
            "runtime/kept_local.py",
            "                name = self.store.put(SEGMENTS, blocks)\n"
            '                length = sum(len(memoryview(block).cast("B")) for block in blocks)\n'
            "                state, files = self._state(name, length, words)\n"
            "                self.ledger.commit(state, files)\n",
            "                from ebbflow.durable.store import name_of\n"
            '                length = sum(len(memoryview(block).cast("B")) for block in blocks)\n'
            "                state, files = self._state(name_of(blocks), length, words)\n"
            "                self.ledger.commit(state, files)\n"
            "                name = self.store.put(SEGMENTS, blocks)\n",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "a step the disk refused stays in memory",
            "runtime/kept_local.py",
            "            part.host.undo()\n",
            "            pass\n",
        ),
        LEDGER,
    ),
    (
        Mutant(
            "rows that a stage waits for are forgotten",
            "runtime/kept_local.py",
            "self._journal_of(section).add(words_of(lanes[:, still:], times[still:], diffs[still:]))",
            "pass",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "rows that a stage waits for are written twice",
            "runtime/kept_local.py",
            "lanes[:, still:], times[still:], diffs[still:]",
            "lanes, times, diffs",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "new text is forgotten",
            "runtime/kept_local.py",
            "        text.add(self.pool.entries(text.length))\n",
            "",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "frontiers of stages are forgotten",
            "runtime/kept_local.py",
            "            part.frontier = as_antichain(frontier)\n",
            "",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "the program is not compared",
            "runtime/made_by.py",
            "    if before != after:\n",
            "    if len(before) > 10**6:\n",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "only the first lines are looked at",
            "durable/changed_lines.py",
            "        if i >= known or rows[i, 0] != one or rows[i, 1] != other:\n",
            "        if i >= known or (i < 128 and (rows[i, 0] != one or rows[i, 1] != other)):\n",
        ),
        IMAGE,
    ),
    (
        Mutant(
            "a page that was touched is not told",
            "durable/dirty_pages.py",
            "        return numbers(found, self.address, PAGE_BYTES)\n",
            "        return numbers(found, self.address, PAGE_BYTES)[1:]\n",
        ),
        TOUCHED,
    ),
    (
        Mutant(
            "a page that the system told is dropped, and nobody but the comparison would know",
            "durable/image.py",
            "        return self._dirty.look(8 * PAGE * pages)\n",
            "        told = self._dirty.look(8 * PAGE * pages)\n        return told if told is None else told[:-1]\n",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "what was told for a step that was not kept is forgotten",
            "durable/image.py",
            "        self._suspects = union([self._suspects, told])\n",
            "        self._suspects = told\n",
        ),
        IMAGE,
    ),
    (
        Mutant(
            "pages that became zeros stay as they were",
            "durable/image.py",
            "            heap.clear(a, b - a)\n",
            "            pass\n",
        ),
        IMAGE,
    ),
    (
        Mutant(
            "lines that became zeros on part of a page stay as they were",
            "durable/image.py",
            "            heap.H[first + at : first + until] = 0\n",
            "            pass\n",
        ),
        IMAGE,
    ),
    (
        Mutant(
            "what was noted for a step that was not kept is believed",
            "durable/image.py",
            "            self._known[lines] = hashes\n",
            "            pass\n",
        ),
        IMAGE,
    ),
    (
        Mutant(
            "after reading, only the first line that was read is known anew",
            "durable/image.py",
            "        return self._looked_at(count, lines[lines < count])\n",
            "        return self._looked_at(count, lines[lines < count][:1])\n",
        ),
        IMAGE,
    ),
    (
        Mutant(
            "lines of links that are replaced are left out",
            "durable/image.py",
            "            lines = since(kept) if kept else np.flatnonzero(filled_rows(hashes))\n",
            "            lines = changed if kept else np.flatnonzero(filled_rows(hashes))\n",
        ),
        IMAGE,
    ),
    (
        Mutant(
            "memory that ran ahead is believed",
            "durable/image.py",
            "            if not is_within(ours, union(lines)):\n",
            "            if len(ours) > 10**9:\n",
        ),
        IMAGE,
    ),
    (
        Mutant(
            "the slice's times are forgotten in the middle of a walk",
            "durable/image.py",
            "        worker.slice_times = words[4:at].astype(np.int64)\n",
            "",
        ),
        IMAGE,
    ),
    (
        Mutant(
            "the number of the step is forgotten",
            "durable/image.py",
            "    worker.step, worker.forget_at, how = words[:3].tolist()\n",
            "    _, worker.forget_at, how = words[:3].tolist()\n",
        ),
        IMAGE,
    ),
    (
        Mutant(
            "expressions keep another process's pool",
            "engine/plan_layout.py",
            "        self.pool_words += [at + int(i) for i in np.flatnonzero(steps == self.pool.address)]\n",
            "",
        ),
        IMAGE,
    ),
    (
        Mutant(
            "of the words at hand the first are left out",
            "durable/journal.py",
            "for at, words in self._recent if at >= start]",
            "for at, words in self._recent if at > start]",
        ),
        "tests/durable/test_journal.py",
    ),
    (
        Mutant(
            "what was read is unread again",
            "frontend/running/persistence.py",
            '                journals[f"unread/{name}"].renew()\n',
            "                pass\n",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "rows that came early are forgotten",
            "frontend/running/persistence.py",
            '            journals[f"given/{name}"].add(_words(one.early))\n',
            "",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "rows by key are forgotten",
            "frontend/running/persistence.py",
            '                journals[f"keyed/{name}"].add(one.outcome.last.T.reshape(-1))\n',
            "                pass\n",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "deleted keys come back",
            "frontend/running/upserts.py",
            "        final = [(*row, 1) if row is not None else (*gone(key), 0) for key, row in now.items()]\n",
            "        final = [(*row, 1) for key, row in now.items() if row is not None]\n",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "what was shown before is forgotten",
            "frontend/running/persistence.py",
            '                journals[f"{LOG_PREFIX}{name}"].add(_words([new[name]]))\n',
            "                pass\n",
        ),
        DURABLE,
    ),
    (
        Mutant(
            "a missing value is taken in",
            "frontend/running/intake.py",
            "        if self.schema.never_null:\n",
            "        if False:\n",
        ),
        "tests/frontend/test_not_null.py",
    ),
    (
        Mutant(
            "Arrow's nulls are not looked for",
            "frontend/running/intake.py",
            "        return any((lanes[self.schema.starts[i]] == NULL).any() for i in self._never_null)\n",
            "        return False\n",
        ),
        "tests/frontend/test_not_null.py",
    ),
    (
        Mutant(
            "a name of PySpark's is guessed at",
            "functions.py",
            "name, __all__, aliases.FOREIGN_FUNCTION)\n",
            "name, __all__)\n",
        ),
        "tests/frontend/test_pyspark_names.py",
    ),
]


def verdict(mutant: Mutant, tests: str, settings: dict[str, str] | None = None) -> tuple[bool, str]:
    """Whether the tests noticed the bug, and their last line."""
    with tempfile.TemporaryDirectory(prefix="ebbflow-mutant-") as place:
        leave_out = shutil.ignore_patterns("__pycache__")
        for part in ("ebbflow", "tests", "benchmarks"):
            shutil.copytree(ROOT / part, Path(place) / part, ignore=leave_out)
        shutil.copy(ROOT / "conftest.py", place)
        mutant.apply(Path(place) / "ebbflow")
        environment = {**os.environ, "PYTHONPATH": place, "PYTHONDONTWRITEBYTECODE": "1", **(settings or {})}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout=120", tests]
        said = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    last = (said.stdout.strip().splitlines() or [said.stderr])[-1]
    if said.returncode < 0:
        return True, f"the tests' process died of signal {-said.returncode}"
    if said.returncode not in (0, 1):
        raise RuntimeError(f"the tests did not run:\n{said.stdout}\n{said.stderr}")
    failed = [line for line in said.stdout.splitlines() if line.startswith("FAILED")]
    return said.returncode == 1, (failed or [last])[0]


def main(
    arguments: list[str] | None = None,
    planted: list[tuple[Mutant, str]] = PLANTED,
    prog: str = "python -m tests.mutants.durable",
    about: str | None = __doc__,
) -> int:
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    asked = parser.parse_args(arguments)
    survivors = 0
    chosen = [(mutant, tests) for mutant, tests in planted if asked.only in mutant.name]
    for mutant, tests in chosen:
        noticed, line = verdict(mutant, tests)
        survivors += not noticed
        print(f"{'caught  ' if noticed else 'SURVIVES'}  {mutant.name}\n            {line[:110]}", flush=True)
    print(f"{survivors} of {len(chosen)} survive" if survivors else f"all {len(chosen)} planted bugs were caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
