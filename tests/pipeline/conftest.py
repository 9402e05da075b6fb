"""One Spark session for all tests of the pipeline in a process, with the connectors where their jars can be had."""

import pytest

import ebbflow as ebb
from tests.pipeline import parts


@pytest.fixture(scope="session")
def spark():
    parts.require_java()
    from ebbflow.runtime.spark.session import spark as make

    session = make("local[2]", **parts.settings())
    yield session


@pytest.fixture
def flow():
    return ebb.Dataflow()
