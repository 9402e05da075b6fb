"""Sessions told at random: whatever is called, refused or undone, a plain model knows what must show."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ebbflow import errors as e
from ebbflow.columns.schema import LONG, STRING, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.frontend.running import intake as intake_module
from ebbflow.frontend.running import output_log as shown_module
from ebbflow.frontend.running import upserts as upsert_module
from ebbflow.frontend.running.session import Session
from ebbflow.runtime.oracle.runtime import OracleRuntime
from tests.frontend.flows import Flow

ROW = Schema((Field("id", LONG), Field("name", STRING)))
ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["ebb", "flow", None])), min_size=1, max_size=4)
AHEAD = st.integers(0, 4)
INPUT = st.sampled_from(["plain", "keyed"])


class Interrupted(Exception):
    pass


class Refusing(OracleRuntime):
    refuses = False

    def advance(self, frontiers):
        if self.refuses:
            raise Interrupted
        super().advance(frontiers)


class Story(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        flow = Flow()
        plain, keyed = flow.input("plain", ROW), flow.input("keyed", ROW, ("id",))
        flow.output("both", flow.graph.add(n.Concat((plain, keyed))))
        flow.output("silent", plain, changes=False)
        self.live = Session(flow, runtime=Refusing, history=2)
        self.taken = {"plain": [], "keyed": []}  # (row, time, diff) of steps that succeeded, in the order given
        self.open = {"plain": [], "keyed": []}  # and those since
        self.at = {"plain": 0, "keyed": 0}
        self.read, self.heard, self.heard_silent = [], [], []
        self.live.subscribe("both", lambda changes, frontier: self.heard.extend(changes.rows()))
        self.live.subscribe("silent", lambda changes, frontier: self.heard_silent.extend(changes.rows()))
        self.closed = self.refused = False

    # ---- the model

    def collection(self, name, time):
        """What an input holds at a time, of the steps that succeeded."""
        if name == "plain":
            sums = Counter()
            for row, t, diff in self.taken["plain"]:
                if t <= time:
                    sums[row] += diff
            return {row: count for row, count in sums.items() if count}
        rows = {}
        for row, t, diff in sorted(self.taken["keyed"], key=lambda edit: edit[1]):
            if t <= time:
                rows[row[0]] = row if diff > 0 else None
        return {row: 1 for row in rows.values() if row is not None}

    def expected(self, time, names=("plain", "keyed")):
        sums = Counter()
        for name in names:
            sums.update(self.collection(name, time))
        return {row: count for row, count in sums.items() if count}

    @property
    def complete(self):
        """The last complete time of `both`."""
        return 10**6 if self.closed else min(self.at.values()) - 1

    def settle(self):
        for name in self.taken:
            self.taken[name] += self.open[name]
            self.open[name] = []
        self.refused = False

    # ---- what may happen

    @precondition(lambda self: not self.closed)
    @rule(name=INPUT, rows=ROWS, ahead=AHEAD, kind=st.sampled_from(["insert", "delete", "upsert"]), many=st.booleans())
    def edit(self, name, rows, ahead, kind, many):
        if kind == "upsert":
            name = "keyed"
        time = self.at[name] + ahead
        given = pa.table({"id": [row[0] for row in rows], "name": [row[1] for row in rows]}) if many else rows
        getattr(self.live, kind)(name, given, **({"time": time} if ahead else {}))
        self.open[name] += [(row, time, -1 if kind == "delete" else 1) for row in rows]

    @precondition(lambda self: not self.closed)
    @rule(name=INPUT, data=st.data(), rows=ROWS)
    def apply(self, name, data, rows):
        times = [self.at[name] + data.draw(AHEAD) for _ in rows]
        diffs = [data.draw(st.sampled_from([1, -1, 0] if name == "keyed" else [3, 1, -1, 0])) for _ in rows]
        table = {"id": [r[0] for r in rows], "name": [r[1] for r in rows], "t": times, "d": diffs}
        self.live.apply(name, table, time="t", diff="d")
        self.open[name] += [change for change in zip(rows, times, diffs) if change[2]]

    @precondition(lambda self: not self.closed)
    @rule(ids=st.lists(st.integers(0, 3), min_size=1), bare=st.booleans())
    def delete_by_key(self, ids, bare):
        self.live.delete("keyed", ids if bare else [(i,) for i in ids])
        self.open["keyed"] += [((i, None), self.at["keyed"], -1) for i in ids]

    @precondition(lambda self: not self.closed)
    @rule(name=INPUT, rows=ROWS)
    def refused(self, name, rows):
        for call in (
            lambda: self.live.insert(name, rows, time=self.at[name] - 1),
            lambda: self.live.apply(name, rows, time=[self.at[name]] * (len(rows) - 1) + [self.at[name] - 1]),
            lambda: self.live.insert(name, [*rows, ("one", "ebb")]),
            lambda: self.live.insert(name, [*rows, (1,)]),
            lambda: self.live.apply(name, rows, diff=0.5),
            lambda: self.live.advance_to(**{name: self.at[name] - 1}),
            lambda: self.live.upsert("keyed", [*rows, (None, "ebb")]),
        ):
            with pytest.raises(e.EbbflowError):
                call()

    @precondition(lambda self: not self.closed)
    @rule(plain=AHEAD, keyed=AHEAD)
    def advance(self, plain, keyed):
        self.live.advance_to(plain=self.at["plain"] + plain, keyed=self.at["keyed"] + keyed)
        self.at["plain"] += plain
        self.at["keyed"] += keyed
        self.settle()

    @precondition(lambda self: not self.closed)
    @rule(ahead=AHEAD)
    def advance_all(self, ahead):
        to = max(self.at.values()) + ahead
        self.live.advance_to(to)
        self.at = dict.fromkeys(self.at, to)
        self.settle()

    @precondition(lambda self: not self.closed)
    @rule()
    def commit(self):
        self.read += self.live.commit()["both"]
        self.at = dict.fromkeys(self.at, max(self.at.values()) + 1)
        self.settle()

    @precondition(lambda self: not self.closed)
    @rule(ahead=AHEAD, discard=st.booleans())
    def step_that_fails(self, ahead, discard):
        Refusing.refuses = True
        try:
            for act in (lambda: self.live.advance_to(max(self.at.values()) + ahead), self.live.commit, self.live.close):
                with pytest.raises(Interrupted):
                    act()
        finally:
            Refusing.refuses = False
        self.refused = True
        if discard:
            self.discard()

    @precondition(lambda self: not self.closed)
    @rule()
    def discard(self):
        self.live.discard()
        self.open = {"plain": [], "keyed": []}
        if self.refused:  # the last step was a close, which would have taken in all that waits
            for name, edits in self.taken.items():
                self.taken[name] = [edit for edit in edits if edit[1] < self.at[name]]
        self.refused = False

    @rule()
    def read_changes(self):
        new = self.live.changes("both").rows()
        assert all(row[2] <= self.complete for row in new)
        self.read += new

    @rule(back=st.integers(0, 3))
    def look_back(self, back):
        if self.complete < 0 or self.closed:
            return
        time = self.complete - back
        if time < 0 or back >= 2:
            return
        rows = {row[:2]: row[2] for row in self.live.snapshot("both", at=time)}
        assert rows == self.expected(time)

    @precondition(lambda self: not self.closed)
    @rule()
    def close(self):
        self.live.close()
        self.settle()
        self.closed = True

    # ---- what always holds

    @invariant()
    def the_snapshot_is_what_the_model_says(self):
        assert {row[:2]: row[2] for row in self.live.snapshot("both")} == self.expected(self.complete)
        last = 10**6 if self.closed else self.at["plain"] - 1
        assert {row[:2]: row[2] for row in self.live.snapshot("silent")} == self.expected(last, ("plain",))

    @invariant()
    def frontiers_are_where_they_were_moved(self):
        assert self.live.frontier("both") == ([] if self.closed else [(min(self.at.values()),)])

    def teardown(self):
        """Every change was given once, at its time, to whoever reads and to whoever listens."""
        self.read_changes()
        for name, found, names in (
            ("both", self.read, ("plain", "keyed")),
            ("both, heard", self.heard, ("plain", "keyed")),
            ("silent, heard", self.heard_silent, ("plain",)),
        ):
            end = min(self.complete if len(names) == 2 else (10**6 if self.closed else self.at["plain"] - 1), 60)
            assert len({row[:3] for row in found}) == len(found), name
            for time in range(end + 1):
                sums = Counter()
                for *row, t, diff in found:
                    if t <= time:
                        sums[tuple(row)] += diff
                assert {row: count for row, count in sums.items() if count} == self.expected(time, names), (name, time)


Story.TestCase.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
test_any_story = Story.TestCase


class Tight(Story):
    """The same with every threshold so low that the paths for much data are taken."""

    def __init__(self):
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(intake_module, "FEW", 1)
        self.patch.setattr(shown_module, "LOG", 0)
        self.patch.setattr(upsert_module, "SMALL", 0)
        self.patch.setattr(upsert_module, "SPREAD", 10**9)
        super().__init__()

    def teardown(self):
        super().teardown()
        self.patch.undo()


Tight.TestCase.settings = Story.TestCase.settings
test_any_story_with_much_data = Tight.TestCase
