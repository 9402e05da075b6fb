"""The recipe of docs/reading-state.md runs: a kept view as a dataset of a declarative pipeline of Spark's."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

import ebbflow as ebb
from tests.house.layers import ROOT

CATALOG = ("--conf", "spark.sql.catalogImplementation=hive")  # one that outlives a run, as the page says
NEEDED = ("grpc", "grpc_status", "google.rpc", "zstandard", "yaml")  # Spark Connect's, which PySpark does not install


def is_there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def block(language, page):
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def written(place):
    """The project as the page shows it."""
    page = (ROOT / "docs" / "reading-state.md").read_text().partition("## In a declarative pipeline")[2]
    (place / "transformations").mkdir()
    (place / "storage").mkdir()
    (place / "spark-pipeline.yml").write_text(block("yaml", page)[0].replace("{place}", str(place)))
    (place / "transformations" / "revenue.py").write_text(block("py", page)[0].replace("{place}", str(place)))


def rows_of(place, table):
    found = parquet.read_table(place / "spark-warehouse" / table)
    return sorted(tuple(row.values()) for row in found.to_pylist())


@pytest.mark.slow
@pytest.mark.skipif(not all(map(is_there, NEEDED)), reason="pip install grpcio grpcio-status googleapis-common-protos "
                    "zstandard pyyaml: pipelines speak through Spark Connect")  # fmt: skip
def test_a_kept_view_is_a_dataset_of_a_pipeline_and_its_changes_come_once(tmp_path):
    written(tmp_path)
    flow = ebb.Dataflow()
    orders = flow.input("orders", "city string, price double")
    flow.output("revenue", orders.group_by("city").agg(total=ebb.sum("price")))
    command = [str(Path(sys.executable).with_name("spark-pipelines")), *CATALOG, "run"]
    around = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    around["PYSPARK_UDS_MODE"] = "true"  # a port is given ten seconds to be answered, which a busy machine may need
    with flow.run(checkpoint=tmp_path / "kept", history=100) as live:
        for price in (2.5, 4.0):
            live.insert("orders", [("Bern", price), ("Basel", 1.0)])
            live.commit()
            done = subprocess.run(
                command, cwd=tmp_path, env={**os.environ, **around}, capture_output=True, text=True, timeout=540
            )
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert rows_of(tmp_path, "revenue") == [("Basel", 2.0, 1), ("Bern", 6.5, 1)]
    assert rows_of(tmp_path, "large") == [("Bern", 6.5)]
    assert rows_of(tmp_path, "revenue_changes") == [
        ("Basel", 1.0, 0, 1),
        ("Basel", 1.0, 1, -1),
        ("Basel", 2.0, 1, 1),
        ("Bern", 2.5, 0, 1),
        ("Bern", 2.5, 1, -1),
        ("Bern", 6.5, 1, 1),
    ]
