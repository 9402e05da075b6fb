"""A forked child is told that its parent's sessions are not its own."""

import os
import subprocess
import sys
import textwrap

import pytest

OPENING = """
    import os, sys, faulthandler
    faulthandler.dump_traceback_later(240, exit=True)
    import ebbflow as ebb
    flow = ebb.Dataflow()
    flow.output("once", flow.input("xs", "x long").distinct())

    def told(call):
        try:
            call()
        except ebb.errors.UsedAfterFork as error:
            return str(error)
        return "nothing"
"""


def run(body, *arguments, **more):
    script = textwrap.dedent(OPENING) + textwrap.dedent(body)
    command = [sys.executable, "-W", "always", "-c", script, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, check=False, **more
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_a_session_in_a_forked_child_raises_and_the_parents_goes_on(workers):
    said = run(
        """
        live = flow.run(workers=int(sys.argv[1]))
        live.insert("xs", [(1,), (1,)])
        live.commit()
        child = os.fork()
        if child == 0:
            calls = {
                "insert": lambda: live.insert("xs", [(2,)]),
                "apply": lambda: live.apply("xs", {"x": [2]}),
                "commit": live.commit,
                "advance_to": lambda: live.advance_to(9),
                "changes": lambda: live.changes("once"),
                "snapshot": lambda: live.snapshot("once"),
                "discard": live.discard,
                "close": live.close,
            }
            for name, call in calls.items():
                print(name, "is a fork" in told(call), flush=True)
            own = flow.run(workers=int(sys.argv[1]))
            own.insert("xs", [(5,)])
            print("own", own.commit()["once"].rows(), flush=True)
            own.close()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        live.insert("xs", [(3,)])
        print("parent", status, live.commit()["once"].rows())
        live.close()
        """,
        workers,
    )
    lines = said.stdout.splitlines()
    assert said.returncode == 0, said.stderr
    calls = ("insert", "apply", "commit", "advance_to", "changes", "snapshot", "discard", "close")
    assert lines[:8] == [f"{name} True" for name in calls]
    assert lines[8:] == ["own [(5, 0, 1)]", "parent 0 [(3, 1, 1)]"]


@pytest.mark.parametrize("kept", [False, True])
def test_a_forked_child_that_leaves_the_block_ends_as_it_asked_to(kept, tmp_path):
    said = run(
        """
        faulthandler.cancel_dump_traceback_later()  # its own thread is missed by a child that ends
        kept = {"checkpoint": sys.argv[1]} if len(sys.argv) > 1 else {}
        ends = []
        with flow.run(workers=2, **kept) as live:
            live.insert("xs", [(1,)])
            live.commit()
            for leave in (lambda: sys.exit(3), lambda: None):
                child = os.fork()
                if child == 0:
                    leave()
                    break
                ends.append(os.waitpid(child, 0)[1] >> 8)
            else:
                live.insert("xs", [(3,)])
                print(ends, live.commit()["once"].rows())
        """,
        *([tmp_path] if kept else []),
    )
    assert (said.returncode, said.stdout, said.stderr) == (0, "[3, 0] [(3, 1, 1)]\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without ulimit")
def test_address_space_that_is_short_is_said():
    said = run(
        """
        import resource
        from ebbflow import events
        compiled = flow.run()  # what it needs besides
        compiled.close()
        used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 31), used + (1 << 31)))
        heard = []
        with events.listening(heard.append):
            live = flow.run()
        live.insert("xs", [(1,), (2,)])
        print(live.commit()["once"].rows())
        short = [event for event in heard if isinstance(event, events.MemoryShort)]
        print(len(short), short[0].reserved < short[0].wanted, 64 << 20 <= short[0].reserved <= 2 << 30)
        """
    )
    assert said.stdout.splitlines() == ["[(1, 0, 1), (2, 0, 1)]", "1 True True"], said.stderr
    assert "bytes of address space" in said.stderr and "ulimit -v" in said.stderr
