"""One Spark session for all the tests of a process, with the connectors where their jars can be had; and a last word.

What a test measured and noted by `record_property`, in milliseconds, is printed at the end, whether it passed or not.
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
