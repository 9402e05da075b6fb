"""One Spark session for all the tests of a process, with the connectors where their jars can be had; and a last word.

What a test measured and noted by `record_property`, in milliseconds, is printed at the end, whether it passed or not.
Where a test of the engine fails, the heaps that it had at hand are shown as named fields.
"""

import pytest

from tests import parts


@pytest.fixture(scope="session")
def spark():
    return parts.session()


def pytest_terminal_summary(terminalreporter):
    ran = [*terminalreporter.stats.get("passed", []), *terminalreporter.stats.get("failed", [])]
    noted = {(name, value) for report in ran for name, value in getattr(report, "user_properties", ())}
    for name, value in sorted(noted):
        if "milliseconds" in name:
            terminalreporter.write_line(f"{name}: {value}")


SHOWN_LINES = 200  # of a heap


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and call.excinfo is not None:
        heaps = {}
        for entry in call.excinfo.traceback:
            for name, value in entry.frame.f_locals.items():
                try:
                    heap = getattr(value, "heap", value)
                except Exception:  # an object of Java's, which has no such attribute and says so in its own way
                    continue
                if type(heap).__name__ == "Heap" and getattr(heap, "H", None) is not None:
                    heaps[int(heap.W)] = name, heap
        for name, heap in heaps.values():
            from ebbflow.engine.show import show_heap  # only where a test has a heap, which has loaded it

            lines = show_heap(heap.header).splitlines()
            report.sections.append((f"memory of `{name}`", "\n".join(lines[:SHOWN_LINES])))
    return report
