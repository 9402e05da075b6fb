"""The real parts beside which the pipeline is tested: Java, and the connectors' jars.

Where one cannot be had a test is left out with a sentence that says so, and in CI it fails instead.
"""

import os

import pytest

from ebbflow.errors import EbbflowError


def left_out(why: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"CI leaves nothing out: {why}")
    pytest.skip(why)


def require_java() -> None:
    from ebbflow.runtime.spark.session import require

    try:
        require()
    except EbbflowError as error:
        left_out(error.what)


def settings() -> dict[str, str]:
    return {}
