"""Claims about what the doctor finds."""

import sys

import pytest

from ebbflow.native import processor, shipping
from ebbflow.tools import doctor


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_402"', 8),
        ("Error: could not find libjava.so", None),
    ],
)
def test_the_release_of_java_is_read_from_what_it_prints(printed, version):
    assert doctor.java_version(printed) == version


@pytest.fixture
def java_that_prints(tmp_path, monkeypatch):
    def make(text):
        program = tmp_path / "bin" / "java"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
        program.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    return make


def test_a_java_that_is_new_enough_needs_no_hint(java_that_prints):
    java_that_prints('openjdk version "17.0.1"')
    assert doctor.java().hint is None
    assert doctor.java().found.startswith("17,")


def test_an_old_java_is_told_with_what_to_do(java_that_prints):
    java_that_prints('java version "1.8.0_402"')
    assert "need Java 17" in doctor.java().hint


def test_a_missing_java_is_one_sentence_on_what_it_is_for(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = doctor.java()
    assert finding.found == "missing"
    assert "Everything else runs without it." in finding.hint


def test_a_java_home_without_java_is_not_overlooked(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert doctor.java().found == "missing"


def test_a_missing_package_is_a_finding(monkeypatch):
    monkeypatch.setattr(doctor, "NEEDED", ("numpy", "no-such-package-here"))
    findings = {finding.topic: finding for finding in doctor.packages()}
    assert findings["numpy"].hint is None
    assert "no-such-package-here" in findings["no-such-package-here"].hint


def test_what_is_of_use_alone_is_told_without_the_rest(monkeypatch):
    monkeypatch.setattr(doctor, "version_of", lambda name: None)
    findings = {finding.topic: finding for finding in doctor.packages()}
    assert "(pip install pandas brings it)" in findings["pandas"].found
    assert '(pip install "ebbflow[sql]" brings it)' in findings["sqlglot"].found


def test_another_python_for_sparks_workers_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "python3"))
    assert sys.executable in doctor.workers_python().hint
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert doctor.workers_python().hint is None


def test_kept_kernels_are_counted_where_they_lie(monkeypatch, tmp_path):
    monkeypatch.setenv("EBBFLOW_CACHE_DIR", str(tmp_path))
    finding = doctor.kernels()
    assert "none kept yet" in finding.found and str(tmp_path) in finding.found
    assert list(tmp_path.iterdir()) == [], "looking changes nothing"


def test_kernels_that_came_with_the_installation_are_told(monkeypatch, tmp_path):
    levels = processor.levels()
    if not levels:
        pytest.skip("wheels hold kernels for x86-64 only")
    monkeypatch.setattr(shipping, "SHIPPED", tmp_path)
    monkeypatch.setenv("EBBFLOW_CACHE_DIR", str(tmp_path / "empty"))
    (tmp_path / shipping.file_name(levels[0])).touch()
    assert f"installed with ebbflow, for {levels[0]}: nothing is compiled" in doctor.kernels().found
    monkeypatch.setenv("NUMBA_OPT", "1")
    assert "none kept yet" in doctor.kernels().found, "other code is asked for"


@pytest.mark.parametrize(
    ("name", "machine", "hint"),
    [
        ("Linux", "x86_64", None),
        ("Linux", "aarch64", "on aarch64 it is not"),
        ("Darwin", "arm64", "tested on Linux"),
        ("Windows", "AMD64", "WSL 2"),
    ],
)
def test_it_says_plainly_where_ebbflow_runs(monkeypatch, name, machine, hint):
    monkeypatch.setattr(doctor.platform, "system", lambda: name)
    monkeypatch.setattr(doctor.platform, "machine", lambda: machine)
    finding = doctor.system()
    assert finding.found.startswith(name) and machine in finding.found
    assert (finding.hint is None) if hint is None else hint in finding.hint
