"""The steps of a session to later times.

A step takes from each input the rows that its frontier passes, has the runtime do the work, and takes note of what the
outputs became. Most steps are rows of one input at one time, past which all inputs go alike: where the runtime takes
these at once, nothing is gathered in between.

Rule: a step happens or raises and changes nothing; rows that a refused step was to take are still there, until they are
discarded.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

from ebbflow import interrupts
from ebbflow.errors import STEP_FAILED, ClusterFailed, FrontierMovedBack, WrongTime
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running import on_spark, results, subscribers
from ebbflow.frontend.running.input_buffer import SEVERAL, Due, InputBuffer
from ebbflow.frontend.running.notation import told
from ebbflow.frontend.running.output_log import END, Antichain, Array, Changes, OutputLog
from ebbflow.frontend.running.persistence import Persistence
from ebbflow.frontend.running.standing import Standing
from ebbflow.frontend.running.table import Table
from ebbflow.runtime.contract import RESTLESS
from ebbflow.times.frontier import Frontier, antichain, before


def advance_to(here: Standing, time: Any, inputs: dict[str, Any]) -> None:
    """Go on to a time, or with some inputs by name."""
    if here.is_closed:
        here.refuse_closed("advance_to", "")
    targets: dict[str, Antichain] = {}
    if time is not None:
        target = here.as_frontier(time)
        targets = {name: target for name, given in here.inputs.items() if given.frontier and name not in here.constants}
        if not targets:
            here.refuse_closed("advance_to", "every input")
    elif not inputs:
        raise WrongTime("advance_to is not told where to.", hint="Write advance_to(8), or advance_to(edges=8).")
    for name, value in inputs.items():
        here.input_named("advance_to", name)
        targets[name] = here.as_frontier(value)
    for name, target in targets.items():
        at = here.inputs[name].frontier
        if _goes_back(at, target):
            raise FrontierMovedBack(
                f'advance_to would move the frontier of the input "{plain(name)}" back from {told(at)} to '
                f"{told(target)}; what is complete stays complete.",
                hint="Give a later time"
                + ("." if len(here.inputs) == 1 else ", or name the inputs that go on: advance_to(name=time)."),
            )
    work(here, targets)


def take_moment(here: Standing, time: int) -> bool:
    """The shortest step: rows of one input at one time, and all inputs go on alike.  Whether it was that."""
    only: InputBuffer | None = None
    moment, at = SEVERAL, None
    if here.is_closed:
        return False  # which will be refused
    for given in here.inputs.values():
        if at is None:
            at = given.frontier
        elif given.frontier is not at and given.frontier != at:
            return False
        if given.moment is not None:
            if only is not None:
                return False
            only, moment = given, given.moment
    if only is None or not at or not moment < time <= END or not (rows := only.rows_now()):
        return False
    frontier, history = ((time,),), here.history
    found: dict[str, Array] = {}
    is_held = interrupts.hold()
    try:
        here.turns.stepping = get_ident()
        try:
            assert here.advance_moment is not None
            taken = here.advance_moment(only.name, moment, rows, frontier, found)
        finally:
            here.turns.stepping = 0
        if not taken:
            return False
        for given in here.inputs.values():
            if given is only:
                given.settle_at(frontier)
            else:
                given.frontier = frontier
        for shown in here.outputs.values():
            if history is None:
                shown.go_on(frontier)
            else:
                shown.since, shown.frontier = _moved(here, shown)
            if not here.is_pulled:
                results.pull(here, shown)
            if (words := found.get(shown.name)) is not None:
                new = Changes.of_words(words)
                shown.add(new)
                if shown.subscribers:
                    subscribers.tell(here, shown, new)
        here.is_pulled = True
    finally:
        if is_held:
            interrupts.let_go()
    if taken == RESTLESS:
        here.is_restless = True
        if not here.notices:
            subscribers.rest(here)
    return True


def commit(here: Standing) -> dict[str, Table] | None:
    """Close the current time; what changed, or None where subscribers hear of it first."""
    open_ = [given for given in here.inputs.values() if given.frontier]
    if here.is_closed or not open_:
        here.refuse_closed("commit", "every input")
    times = [given.open_time("commit") for given in open_]
    now = tuple(map(max, *times)) if len(times) > 1 else times[0]
    if now[-1] == END:
        raise WrongTime(
            f"commit would open the time after {told(now)}, and there is none: a time fits 64 bits.",
            hint="close() says that no more input comes, and does what is left to do.",
        )
    work(here, {given.name: ((*now[:-1], now[-1] + 1),) for given in open_})
    return None if here.notices else results.read_all(here)


def work(here: Standing, targets: dict[str, Antichain], is_last: bool = False) -> None:
    """A step, in this thread's turn; after it `subscribers.tell_all` calls those who hear of it."""
    with interrupts.held():
        _advance(here, targets)
        if is_last:
            release(here)
    here.is_restless = True
    if not here.notices:
        subscribers.rest(here)


def _advance(here: Standing, targets: dict[str, Antichain]) -> None:
    """Do the work that these frontiers allow, and take note of it."""
    frontiers = {name: targets.get(name, given.frontier) for name, given in here.inputs.items()}
    if here.constants:
        furthest = _furthest(here, frontiers)
        frontiers |= dict.fromkeys(here.constants, furthest)
    dues: dict[str, Due] = {}
    new: dict[str, Changes] = {}
    here.begin_to_show()
    here.turns.stepping = get_ident()
    try:
        for name, given in here.inputs.items():
            interrupts.look()
            due = dues[name] = given.due(frontiers[name])
            for block in due.now:
                if len(block.diffs):
                    here.runtime.feed(name, *block)
        here.runtime.advance(frontiers)
        if here.persistence is not None:
            new = _keep_step(here, here.persistence, dues)
    except BaseException:
        here.runtime.discard()  # the session still has the rows
        here.refused = frontiers
        raise
    finally:
        here.turns.stepping = 0
    here.refused = {}
    for name, given in here.inputs.items():
        given.settle(dues[name])
    for shown in here.outputs.values():
        _move_on(here, shown, new.get(shown.name))
    if here.persistence is not None:
        here.persistence.settled()


def _furthest(here: Standing, frontiers: dict[str, Antichain]) -> Antichain:
    """How far rows that never change are known: as far as anybody asks."""
    others = [times for name, times in frontiers.items() if times and name not in here.constants]
    furthest = Frontier(frontiers[next(iter(here.constants))])
    if not others:
        return ()
    for times in others:
        furthest = furthest.join(Frontier(times))
    return furthest.times


def _keep_step(here: Standing, keeping: Persistence, dues: dict[str, Due]) -> dict[str, Changes]:
    """Make a step that succeeded last, or take it back: what it shows."""
    try:
        taken = {name: Changes(*here.runtime.take(name)) for name in here.outputs}
        new = {name: changes for name, changes in taken.items() if len(changes.diffs)}
        keeping.commit(dues, new, {name: _moved(here, shown) for name, shown in here.outputs.items()})
    except BaseException:
        keeping.keeper.undo()
        raise
    return new


def _moved(here: Standing, shown: OutputLog) -> tuple[Antichain, Antichain]:
    """From where an output's times can be told apart, and its frontier, after a step."""
    was, frontier, since = shown.frontier, here.runtime.frontier(shown.name), shown.since
    if was != frontier and frontier and here.history != "all":  # a close takes nothing away that could be seen
        since = was
        if here.history is not None:
            back = [tuple(max(c - int(here.history), 0) for c in time) for time in frontier or was]
            since = antichain([*was, *back])
        if not all(map(shown.is_kept, since)):  # what was summed up when a late output began stays so
            since = Frontier(since).join(Frontier(shown.since)).times
    return since, frontier


def _move_on(here: Standing, shown: OutputLog, new: Changes | None) -> None:
    """Take note of an output's frontier, and of what is new, if it was taken already."""
    shown.since, shown.frontier = _moved(here, shown)
    _note(here, shown, new)


def _note(here: Standing, shown: OutputLog, new: Changes | None) -> None:
    """Take note of what somebody waits for."""
    if new is not None:
        shown.add(new)
    elif shown.subscribers or not shown.keeps_changes:
        new = results.pull(here, shown)
    if shown.subscribers and new is not None:
        subscribers.tell(here, shown, new)


def close(here: Standing) -> None:
    """No more input comes."""
    if not here.is_closed:
        work(here, dict.fromkeys(here.inputs, ()), is_last=True)


def leave(here: Standing, keeping: Persistence) -> None:
    """It goes on another day: what was given and read is kept."""
    if not here.is_closed:
        staging = here.runtime.staging
        if keeping.has_news or (staging is not None and staging.since_step):  # rows in files
            work(here, {})
        release(here)


def release(here: Standing) -> None:
    """Give everything back that the runtime holds; what was shown stays."""
    if not here.is_closed:
        for shown in here.outputs.values():
            results.pull(here, shown)
        here.is_closed = True
        here.runtime.close()


def discard(here: Standing) -> None:
    """Drop what was given since the last step, and what a refused one was to take."""
    for name, frontier in here.refused.items():
        here.inputs[name].drop_waiting(frontier)
    if here.runtime.staging is not None:
        here.runtime.staging.drop_staged(here.refused)
    here.refused = {}
    drop_given(here)


def drop_given(here: Standing) -> None:
    """Drop the rows given since the last step that succeeded; those that already waited go on waiting."""
    for given in here.inputs.values():
        given.clear()
    if here.runtime.staging is not None:
        here.runtime.staging.discard_staged()
    feed_first(here)


def feed_first(here: Standing) -> None:
    """Feed what is there from the first time on, unless it was fed already, by another process perhaps."""
    origin = (0,) * len(here.coordinates)
    for name in (*here.constants, *here.tables):
        given = here.inputs[name]
        if given.frontier != (origin,) or not given.is_empty or given.waiting_rows():
            continue
        if name in here.constants:
            given.edit("run", list(here.constants[name]), origin, 1)
            continue
        try:
            if here.stages:
                on_spark.give(here, given, "run", here.tables[name].frame(), origin, 1)
            else:
                given.edit("run", here.tables[name].rows(), origin, 1)
        except ClusterFailed as problem:
            raise ClusterFailed(
                f'the table "{name}" cannot be read: {problem.what.removeprefix(STEP_FAILED)}',
                hint="It is read when a session begins. Put it back, or make the DataFrame anew and begin again.",
            ) from problem


def _goes_back(at: Antichain, target: Antichain) -> bool:
    """Whether a frontier would open what another has closed."""
    if len(at) == len(target) == 1 and len(at[0]) == 1:
        return target < at
    return target != at and not all(any(before(old, new) for old in at) for new in target)
