"""The connectors' jars: Delta and Kafka for Spark, and a Kafka broker, fetched by name through Maven.

They are named one by one because no one release of any of them brings all the others that fit.  Maven is asked as this
machine has it set up; what it brings is kept, so that it is asked once.

Rule: a set of jars is in the cache whole or not at all.

    python -m ebbflow.tools.jars
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ebbflow.errors import MissingPackage

DELTA = (
    "io.delta:delta-spark_4.2_2.13:4.4.0",
    "io.delta:delta-storage:4.4.0",
    "io.delta:delta-kernel-api:4.4.0",
    "io.delta:delta-kernel-defaults:4.4.0",
    "io.delta:delta-kernel-unitycatalog:4.4.0",
)
KAFKA = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",  # later ones of this one are not to be had
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
BROKER = ("org.apache.kafka:kafka_2.13:4.3.1",)  # with all that it depends on
SETS = {"delta": (DELTA, True), "kafka": (KAFKA, True), "broker": (BROKER, False)}

SESSION = {  # what a session needs beside the jars
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": 2,  # of 50, which cost seconds a commit on one machine
}


def cache() -> Path:
    given = os.environ.get("EBBFLOW_CACHE_DIR")
    if given:
        return Path(given) / "jars"
    users = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(users) / "ebbflow" / "jars"


def jars(name: str) -> list[Path]:
    """The jars of a set, from the cache or from Maven."""
    wanted, alone = SETS[name]
    place = cache() / f"{name}-{hashlib.sha256(' '.join(wanted).encode()).hexdigest()[:12]}"
    if not place.exists():
        _fetch(wanted, alone, place)
    return sorted(place.glob("*.jar"))


def settings(*names: str) -> dict[str, object]:
    """What a session needs for these connectors: `ebb.spark(**jars.settings("delta", "kafka"))`."""
    found = ",".join(str(jar) for name in names for jar in jars(name))
    return {"spark.jars": found, **(SESSION if "delta" in names else {})}


def _fetch(wanted: tuple[str, ...], alone: bool, place: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingPackage(
            "Maven fetches the connectors' jars, and no mvn was found on the PATH.",
            hint="Debian/Ubuntu: apt-get install maven. Or give Spark the jars yourself: spark.jars.packages.",
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as work:
        Path(work, "pom.xml").write_text(project(wanted, alone))
        to = Path(work, "jars")
        command = [maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={to}"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=600)
        if done.returncode or not to.exists():
            said = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr.strip())
            raise MissingPackage(
                f"Maven did not bring {', '.join(wanted)}: {said[:300]}", hint="See what mvn says of it."
            )
        try:
            os.rename(to, place)
        except OSError:
            if not place.exists():  # else somebody else was faster, with the same jars
                raise


def project(wanted: tuple[str, ...], alone: bool) -> str:
    """A project that depends on these and, if they are wanted alone, on nothing that they bring along."""
    without = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    parts = [artefact.split(":") for artefact in wanted]
    needs = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"{without if alone else ''}</dependency>"
        for group, name, version in parts
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>ebbflow</groupId><artifactId>jars</artifactId>"
        f"<version>1</version><packaging>pom</packaging><dependencies>{needs}</dependencies></project>"
    )


def main() -> int:
    for name in sys.argv[1:] or SETS:
        try:
            found = jars(name)
        except MissingPackage as error:
            print(f"{error.what} {error.hint}")
            return 1
        print(f"{name}: {len(found)} jars, {sum(jar.stat().st_size for jar in found) / 1e6:.0f} MB, {found[0].parent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
