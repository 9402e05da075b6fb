"""A step counts or it does not, whatever happens to the disk, the power, or a second session meanwhile."""

import errno
import os
import shutil
from functools import partial
from random import Random

import pytest

from ebbflow.durable import records
from ebbflow.durable.checking import check, rewind
from ebbflow.durable.ledger import Ledger
from ebbflow.durable.records import KEPT
from ebbflow.durable.store import Store
from ebbflow.errors import DamagedFile, DiskRefused, NotACheckpoint, SecondSession, UnknownStep
from ebbflow.frontend.running.session import Session
from ebbflow.runtime.kept_local import DurableRuntime
from tests.runtime.imaged import reach_flow
from tests.trace.faulty import Disk, Refusing

RESERVE = 1 << 30


def session(files=None, place="/state", flow=None):
    return Session(
        flow or reach_flow(), checkpoint=place, runtime=partial(DurableRuntime, files=files, reserve=RESERVE)
    )


def step(live, time: int) -> None:
    """The same edit at the same time, whoever makes it."""
    random = Random(time)
    live.insert("edges", [(random.randrange(6), random.randrange(6)) for _ in range(2)], time=time)
    if time % 5 == 0:
        live.insert("roots", [(time % 4,)], time=time)
    live.advance_to(time + 1)


def answers(steps: int) -> list:
    live = reach_flow().run()
    found = [[]]
    for time in range(steps):
        step(live, time)
        found.append(live.snapshot("reach").rows())
    return found


def head_of(disk, place="/state") -> str | None:
    """The digest of the last step on a disk, all whose files are whole; None: there is none yet."""
    ledger = Ledger.open(Store(place, disk))
    if ledger is None:
        return None
    for directory, entries in ledger.head.files.items():
        for name in entries:
            ledger.get(directory, name)
    return ledger.head.digest


# ---- the power fails -----------------------------------------------------------------------------------


def test_whenever_the_power_fails_a_step_is_there_whole_or_not_at_all():
    disk, points, told = Disk(), [], [None]
    random = Random(11)

    def power_fails(call):
        for _ in range(2):
            after = disk.crashed(random)
            try:
                found = head_of(after)
            except (DamagedFile, NotACheckpoint) as error:
                raise AssertionError(f"after {call} ({len(points)} calls): {error.what}") from None
            points.append(call)
            if found != told[-1] and found is not None:  # the step that is being made, and no other
                assert told[-1] is None or Ledger.open(Store("/state", after)).step == len(told) - 1
            if found is None:
                assert told[-1] is None, f"after {call} ({len(points)} calls) the checkpoint was empty"

    disk.after = power_fails
    live = session(disk)
    ledger = live._runtime.ledger
    told.append(ledger.head.digest)
    for time in range(75):
        step(live, time)
        told.append(ledger.head.digest)
    live._release()
    assert len(points) >= 2000 and {"create", "write", "sync", "link", "remove", "sync_directory"} <= set(points)


def test_after_a_power_failure_the_session_goes_on_and_may_fail_again():
    right, random, failures = answers(12), Random(3), 0
    disk = Disk()
    live, done = session(disk), 0
    while done < 12:
        when = random.randrange(30)

        def power_fails(call, disk=disk):
            nonlocal when, found
            when -= 1
            if when == 0:
                found = disk.crashed(random)

        found, disk.after = None, power_fails
        while found is None and done < 12:
            step(live, done)
            done += 1
        live._release()
        if found is not None:
            failures += 1
            disk = found
        live = session(disk)
        at = live.frontier("reach")[0][0]
        assert done - 1 <= at <= done
        done = at
        assert live.snapshot("reach").rows() == right[done]
    live._release()
    assert failures >= 5


def test_when_the_power_fails_at_the_beginning_it_begins_again():
    for at in range(1, 60):
        disk, found = Disk(), []

        def power_fails(call, disk=disk, found=found, at=at):
            found.append(disk.crashed(Random(at)) if len(found) == at - 1 else None)

        disk.after = power_fails
        session(disk)._release()
        if found[-1] is None and len(found) < at:
            break
        live = session(found[at - 1])
        step(live, 0)
        assert live.snapshot("reach").rows() == answers(1)[1]
        live._release()
    assert at > 15


# ---- the disk refuses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("for_ever", [False, True], ids=["once", "for ever"])
def test_a_disk_that_refuses_leaves_the_session_where_it_was(error, for_ever):
    right = answers(8)
    disk, fired, done = Disk(), set(), 3
    live = session(disk)
    for time in range(3):
        step(live, time)
    for at in range(1, 80):
        files = live._runtime.store.files = Refusing(disk, at, error, for_ever)
        before = live.frontier("reach"), live.snapshot("reach").rows()
        live.insert("edges", [(9, 9)], time=done + 100)  # waits
        try:
            live.advance_to(done)  # a step in which nothing happens
        except DiskRefused as refusal:
            assert len(str(refusal).splitlines()) == 3
            assert (live.frontier("reach"), live.snapshot("reach").rows()) == before
            fired |= set(files.fired)
            files.relieve()
            live.advance_to(done)
        except (SecondSession, DamagedFile):  # nobody knows what is on disk: it is opened again
            fired |= set(files.fired)
            live._release()
            live = session(disk)
        else:
            if not files.fired:
                break
            fired |= set(files.fired)
        live.discard()
    else:
        raise AssertionError("it never came to an end")
    assert {"create", "write", "sync", "link", "sync_directory", "list", "read"} <= fired
    live._runtime.store.files = disk
    for time in range(3, 8):
        step(live, time)
        assert live.snapshot("reach").rows() == right[time + 1]
    live._release()
    assert session(disk).snapshot("reach").rows() == right[8]


def test_a_step_that_the_disk_refused_can_be_repeated_or_dropped():
    right = answers(6)
    for at in range(1, 60):
        disk = Disk()
        live = session(disk)
        for time in range(5):
            step(live, time)
        files = live._runtime.store.files = Refusing(disk, at)
        try:
            step(live, 5)
        except DiskRefused:
            files.relieve()
            assert live.snapshot("reach").rows() == right[5] and live.frontier("reach") == [(5,)]
            if at % 2:
                live.advance_to(6)  # the rows of the step are still there
            else:
                live.discard()
                step(live, 5)
        except (SecondSession, DamagedFile):
            live._release()
            live = session(disk)
            if live.frontier("reach") == [(5,)]:
                step(live, 5)
        assert live.snapshot("reach").rows() == right[6] and live.frontier("reach") == [(6,)]
        live._release()
        again = session(disk)
        assert again.snapshot("reach").rows() == right[6]
        again._release()
        if not files.fired:
            break
    assert at > 10


# ---- files are damaged ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("made") / "state"
    live = session(place=place)
    for time in range(6):
        step(live, time)
    live._release()
    return place


def files_of(place):
    return sorted(path.relative_to(place) for path in place.rglob("*") if path.is_file())


def verdict(place) -> str:
    """What becomes of a checkpoint whose files were tampered with: right, or the file that is named."""
    try:
        return head_of(None, str(place))
    except DamagedFile as error:
        return error.what


def test_a_damaged_file_is_named_and_never_believed(made, tmp_path):
    right, random, cases = verdict(made), Random(5), 0
    needed = Ledger.open(Store(str(made))).head
    place = tmp_path / "state"
    shutil.copytree(made, place)
    for path in files_of(made):
        data = (made / path).read_bytes()
        n = len(data)
        many = 300 if path.parts[0] != "segments" else 60
        damaged = [flipped(data, at, random) for at in sorted(random.sample(range(n), min(n, many)))]
        damaged += [data[:at] for at in {0, 1, n // 2, n - 1, *range(0, n, max(512, n // 20))}]
        damaged += [data + b"\0", data + data, bytes(n), data[:-4096] + bytes(min(n, 4096))]
        for other in damaged:
            if other == data:
                continue
            (place / path).write_bytes(other)
            said, cases = verdict(place), cases + 1
            aged = path.parts[0] == "segments" and path.name not in needed.files["segments"]
            aged &= len(other) == n  # what only an earlier step needs is not read; `check` reads it
            assert said == right if aged else path.name in said, (path, said)
        (place / path).write_bytes(data)
    assert verdict(place) == right and cases > 1000


def flipped(data: bytes, at: int, random: Random) -> bytes:
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def test_missing_and_swapped_files_are_named(made, tmp_path):
    right, needed = verdict(made), Ledger.open(Store(str(made))).head
    for path in files_of(made):
        shutil.rmtree(tmp_path / "state", ignore_errors=True)
        place = shutil.copytree(made, tmp_path / "state")
        (place / path).unlink()
        said = verdict(place)
        if path.parts[0] == "segments" and path.name in needed.files["segments"]:
            assert path.name in said and "missing" in said
        elif path.parts[0] == "manifest":
            assert "manifest" in said
        for other in files_of(made):
            if other != path and other.parts[0] == path.parts[0]:
                shutil.copy(made / other, place / path)
                said = verdict(place)
                assert said == right or path.name in said, (path, other, said)
                if path.name == f"{needed.step:012}" or path.name in needed.files["segments"]:
                    assert said != right


def test_records_of_another_checkpoint_are_refused(made, tmp_path):
    place = tmp_path / "state"
    live = session(place=place)
    for time in range(6):
        step(live, time)
    live._release()
    last = f"{6:012}"
    shutil.copy(made / "ledger" / last, place / "ledger" / last)
    assert "another checkpoint" in verdict(place)


def test_old_records_and_files_go_and_what_is_needed_stays(made):
    kept = os.listdir(made / "ledger")
    assert len(kept) == KEPT
    named = {
        name
        for number in kept
        for name in records.record_of(Store(str(made)), records.manifest_of(Store(str(made))), int(number)).files[
            "segments"
        ]
    }
    assert set(os.listdir(made / "segments")) == named


# ---- looking, and going back on purpose --------------------------------------------------------------------


def test_check_finds_every_damaged_file(made, tmp_path):
    place = shutil.copytree(made, tmp_path / "state")
    store = Store(str(place))
    assert [found.wrong for found in check(store)] == [None] * KEPT
    assert [found.step for found in check(store)] == [6, 5, 4]
    newest = store.path("ledger", f"{6:012}")
    os.unlink(newest)
    with open(newest, "wb") as file:
        file.write(b"nonsense")
    found = list(check(store))
    assert newest in found[0].wrong and found[1].wrong is None


def test_rewind_goes_on_from_an_earlier_step_and_only_when_told(made, tmp_path):
    right = answers(8)
    place = shutil.copytree(made, tmp_path / "state")
    newest = place / "ledger" / f"{6:012}"
    newest.write_bytes(newest.read_bytes()[:-9])
    with pytest.raises(DamagedFile, match="000000000006"):
        session(place=place)
    assert rewind(Store(str(place)), 5) == 7
    live = session(place=place)
    assert live.frontier("reach") == [(5,)] and live.snapshot("reach").rows() == right[5]
    for time in range(5, 8):
        step(live, time)
        assert live.snapshot("reach").rows() == right[time + 1]
    live._release()
    with pytest.raises(UnknownStep, match="not kept; these are: 8, 9, 10"):
        rewind(Store(str(place)), 5)


def test_a_session_loses_when_the_ledger_was_rewound_under_it(tmp_path):
    live = session(place=tmp_path / "state")
    for time in range(3):
        step(live, time)
    rewind(Store(str(tmp_path / "state")), 2)
    with pytest.raises(SecondSession, match="it is at step 4, and this one at 3"):
        step(live, 3)
    with pytest.raises(SecondSession):
        step(live, 4)
    assert live.snapshot("reach").rows() == answers(3)[3]
    live._release()


def test_a_second_session_loses_and_each_step_is_won_once():
    """Two sessions in turns on one disk, each opened where the other left off; one that is behind is told."""
    disk = Disk()
    first = DurableRuntime(reach_flow().graph, checkpoint="/state", files=disk, reserve=RESERVE)
    first.advance({"edges": ((1,),), "roots": ((1,),)})
    first.commit({})
    behind = Ledger.open(Store("/state", disk))
    first.advance({"edges": ((2,),), "roots": ((2,),)})
    first.commit({})
    with pytest.raises(SecondSession, match="it is at step 2, and this one at 1"):
        behind.commit({}, {})
    with pytest.raises(SecondSession):
        behind.commit({}, {})
    first.advance({"edges": ((3,),), "roots": ((3,),)})
    first.commit({})
    assert first.ledger.step == 3
    first.close()


def test_what_is_not_a_checkpoint_is_told(tmp_path):
    with pytest.raises(NotACheckpoint):
        list(check(Store(str(tmp_path / "nowhere"))))
    with pytest.raises(NotACheckpoint):
        rewind(Store(str(tmp_path)), 3)


def test_every_step_that_is_kept_can_be_gone_back_to():
    """Links are gathered into larger ones as steps go by; those of the steps before stay as long as these do."""
    disk, gathered = Disk(), 0
    live, store = session(disk), Store("/state", disk)
    for time in range(25):
        step(live, time)
        found = list(check(store))
        assert [one.wrong for one in found] == [None] * min(KEPT, time + 2)
        gathered += len(found) > 1 and found[0].files < found[1].files
    assert gathered > 1
    live._release()
