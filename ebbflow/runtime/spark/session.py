"""A Spark session that works: the workers' Python is this one, Arrow is on, nothing listens beyond this machine.

Most first errors with PySpark are about its surroundings: another Python in the workers, a missing Java, pages of
warnings.  Whoever has a session of their own uses that; what ebbflow needs of it is checked where a program is run.

Rule: what is missing is told in a sentence before Spark is started, and a session that was given is never changed.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from ebbflow.errors import MissingJava, MissingPackage, OtherPython, TypeMismatch

QUIET = "ERROR"
BATCH_ROWS = 100_000  # rows in one Arrow batch: packing is twice as fast as with Spark's 10,000
NEEDS_JAVA = (
    "ebbflow's Spark parts need Java 17 or newer.",
    "Debian/Ubuntu: apt-get install openjdk-17-jre-headless. Everything else runs without it.",
)


def spark(master: str | None = None, name: str = "ebbflow", **settings: Any) -> Any:
    """A local Spark session; a setting is given with its dots as underscores, or in a dict: `**{"spark.x.y": 1}`.

    One that already runs in this process is returned as it is.  For a new one this process gets PYSPARK_PYTHON and
    PYSPARK_DRIVER_PYTHON, and SPARK_LOCAL_IP if it has none, in its environment.

    >>> import ebbflow as ebb
    >>> spark = ebb.spark("local[4]", spark_sql_shuffle_partitions=8)  # doctest: +SKIP
    """
    require()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession() or _running()
    if active is not None:
        return active
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master or "local[*]").appName(name)
    given = {key if "." in key else key.replace("_", "."): value for key, value in settings.items()}
    for key, value in {**defaults(), **given}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(QUIET)
    _quiet_exceptions()
    return session


def _running() -> Any:
    """The session that runs in this process; one that another thread made is not active in this thread."""
    from pyspark.sql import SparkSession

    found = SparkSession._instantiatedSession
    return found if found is not None and found._sc._jsc is not None else None


def _quiet_exceptions() -> None:
    """An exception of Spark's is raised; PySpark would also print it, as a page of JSON."""
    from pyspark.logger import PySparkLogger

    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)


def defaults() -> dict[str, Any]:
    """What differs from Spark's own settings, and why."""
    return {
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.enabled": "false",  # nothing listens but Spark's own processes, on the loopback
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.python.unix.domain.socket.enabled": "true",  # a small step is 47 ms faster
        "spark.python.daemon.module": "ebbflow.runtime.spark.daemon",  # PySpark's, without its last words
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": BATCH_ROWS,
        "spark.sql.adaptive.enabled": "false",  # our jobs have one exchange, planned by us
        "spark.sql.shuffle.partitions": 2 * (os.cpu_count() or 1),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",  # a task that is not a function is found out
        "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
        "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=4 -Xss4m {_logging()}".strip(),
    }


def _logging() -> str:
    """Java's option for quiet logs from the first line on; who has a configuration of their own keeps it."""
    if "SPARK_CONF_DIR" in os.environ:
        return ""
    return f"-Dlog4j2.configurationFile={Path(__file__).with_name('quiet.properties').as_uri()}"


def require() -> None:
    """Refuse where PySpark, pandas or Java is missing."""
    for package in ("pyspark", "pandas"):
        try:
            __import__(package)
        except ImportError:
            raise MissingPackage(
                f"programs run on Spark through {package}, which is not installed.", hint='pip install "ebbflow[spark]"'
            ) from None
    home = os.environ.get("JAVA_HOME")
    if not (os.path.exists(os.path.join(home, "bin", "java")) if home else shutil.which("java")):
        what, hint = NEEDS_JAVA
        raise MissingJava(f"{what} No java was found{f' in JAVA_HOME, {home}' if home else ' on the PATH'}.", hint=hint)


def check_session(session: Any) -> Any:
    """Refuse what is not a session whose DataFrames we can work with."""
    if not hasattr(session, "createDataFrame") or not hasattr(session, "range"):
        raise TypeMismatch(
            f"run takes a Spark session first, not {type(session).__name__}.",
            hint="spark = ebb.spark(), or your own SparkSession; without one, flow.run() runs in this process.",
        )
    require()
    version = tuple(int(part) for part in session.version.split(".")[:2])
    if version < (4, 1):
        raise MissingPackage(
            f"this session is Spark {session.version}; ebbflow needs 4.1 or newer.", hint='pip install "ebbflow[spark]"'
        )
    return session


def frame_of(session: Any, table: Any) -> Any:
    """A table of Arrow as a DataFrame: what names a zone is an instant, what names none is a timestamp_ntz.

    Left to itself Spark takes the second for a local time of its session's zone.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    return session.createDataFrame(table, schema=from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


def workers_differ(error: BaseException) -> OtherPython | None:
    """What to tell when the workers' Python was not this one, or lacks what this one has."""
    text = str(error)
    if "PYTHON_VERSION_MISMATCH" in text or ("different version" in text and "driver" in text):
        what = "Spark's workers run another version of Python than this process."
    elif "ModuleNotFoundError" in text or "No module named" in text or "PySparkImportError" in text:
        missing = text.partition("No module named ")[2].split("\n")[0].strip(" '\"") or "a package"
        what = f"Spark's workers run a Python that has no {missing}."
    else:
        return None
    return OtherPython(
        what, hint=f"Use ebb.spark(), or set PYSPARK_PYTHON to {sys.executable} before the session is made."
    )
