"""Claims about the connectors' jars: named one by one, asked for once, refused with a sentence."""

import pytest

from ebbflow.errors import MissingPackage
from ebbflow.tools import jars


def test_a_project_names_its_artefacts_and_leaves_out_what_they_bring():
    page = jars.project(("g:a:1", "g:b:2"), alone=True)
    assert page.count("<dependency>") == page.count("<exclusion>") == 2
    assert "<exclusion>" not in jars.project(("g:a:1",), alone=False)
    assert "://" not in page  # which registry is asked is the machine's affair


def test_what_was_fetched_is_not_fetched_again(tmp_path, monkeypatch):
    monkeypatch.setenv("EBBFLOW_CACHE_DIR", str(tmp_path))
    asked = []

    def fetch(wanted, alone, place):
        asked.append(wanted)
        place.mkdir(parents=True)
        (place / "one.jar").write_bytes(b"")

    monkeypatch.setattr(jars, "_fetch", fetch)
    assert jars.jars("delta") == jars.jars("delta") == list(tmp_path.rglob("*.jar"))
    assert asked == [jars.DELTA]
    assert jars.settings("delta") == {"spark.jars": str(jars.jars("delta")[0]), **jars.SESSION}
    assert list(jars.settings("kafka")) == ["spark.jars"]


def test_without_maven_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("EBBFLOW_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingPackage, match="no mvn was found"):
        jars.jars("delta")
    assert list(tmp_path.iterdir()) == []


def test_what_maven_does_not_bring_is_told(tmp_path, monkeypatch):
    (tmp_path / "mvn").write_text("#!/bin/sh\necho '[ERROR] no such artefact'; exit 1\n")
    (tmp_path / "mvn").chmod(0o755)
    monkeypatch.setenv("EBBFLOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(MissingPackage, match="no such artefact"):
        jars.jars("kafka")
    assert list((tmp_path / "cache" / "jars").iterdir()) == []
