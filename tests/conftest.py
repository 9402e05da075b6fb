"""One Spark session for all the tests of a process, with the connectors where their jars can be had."""

import pytest

from tests import parts


@pytest.fixture(scope="session")
def spark():
    return parts.session()
