"""Fetching an engine's JARs: once, and with one clear message where it cannot be done."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pipeline_runtime.glue.engines import ENGINES, GlueEngine
from sandbox.engine import jars_list
from sandbox.errors import SandboxError
from sandbox.jars.fetch import ATTEMPTS, fetch, is_complete, jar_names, java_command

LIST = """\
<ivy-module version="2.0"><info organisation="o" module="m"/><dependencies>
  <dependency org="a" name="alpha_2.12" rev="1.0" transitive="false"/>
  <dependency org="b" name="beta" rev="2.5.1" transitive="false"/>
</dependencies></ivy-module>
"""

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def listing(tmp_path: Path) -> Path:
    file = tmp_path / "ivy-small.xml"
    file.write_text(LIST)
    return file


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `java` that exists; what it says is the test's own."""
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\n")
    (home / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))
    return home


def answer(code: int = 0, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], code, stdout="", stderr=said)


def ivy(into: Path, *attempts: Sequence[str], said: str = "", version: str = "17.0.15") -> tuple[Run, list[str]]:
    """An Ivy that brings these JARs at its first, second, … attempt; the second value counts the attempts."""
    made: list[str] = []

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        if "-version" in command:
            return answer(said=f'openjdk version "{version}" 2026-04-15')
        brought = attempts[len(made)] if len(made) < len(attempts) else ()
        made.append("attempt")
        for name in brought:
            (into / name).write_text("jar")
        return answer(0 if brought else 1, said)

    return run, made


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_each_engines_list_names_exact_versions_of_its_own_iceberg_and_listener(engine: GlueEngine) -> None:
    names = jar_names(jars_list(engine))
    spark = ".".join(engine.spark.split(".")[:2])
    assert engine.listener.file in names
    assert f"iceberg-spark-runtime-{spark}_{engine.scala}-{engine.iceberg}.jar" in names
    assert not [name for name in names if "latest" in name or "+" in name]


@pytest.mark.usefixtures("java")
def test_a_folder_that_was_filled_from_the_list_is_complete(tmp_path: Path, listing: Path) -> None:
    into = tmp_path / "jars"
    run, made = ivy(into, ["alpha_2.12-1.0.jar", "beta-2.5.1.jar"])
    assert not is_complete(into, listing)
    fetch(into, listing, tmp_path / "ivy", run, pause=0)
    assert is_complete(into, listing)
    assert len(made) == 1


@pytest.mark.usefixtures("java")
def test_a_changed_list_or_a_lost_jar_makes_it_incomplete_again(tmp_path: Path, listing: Path) -> None:
    into = tmp_path / "jars"
    run, _ = ivy(into, ["alpha_2.12-1.0.jar", "beta-2.5.1.jar"])
    fetch(into, listing, tmp_path / "ivy", run, pause=0)
    (into / "beta-2.5.1.jar").write_text("")
    assert not is_complete(into, listing)
    (into / "beta-2.5.1.jar").write_text("jar")
    listing.write_text(LIST.replace("2.5.1", "2.6.0"))
    assert not is_complete(into, listing)


@pytest.mark.usefixtures("java")
def test_a_failed_download_is_tried_again(tmp_path: Path, listing: Path) -> None:
    into = tmp_path / "jars"
    run, made = ivy(into, [], ["alpha_2.12-1.0.jar"], ["beta-2.5.1.jar"])
    fetch(into, listing, tmp_path / "ivy", run, pause=0)
    assert is_complete(into, listing)
    assert len(made) == 3


@pytest.mark.usefixtures("java")
def test_no_network_names_the_reason_and_what_is_missing(tmp_path: Path, listing: Path) -> None:
    into = tmp_path / "jars"
    reason = "Server access error at url x (java.net.ConnectException: Connection refused)"
    run, made = ivy(into, ["alpha_2.12-1.0.jar"], said=reason)
    with pytest.raises(SandboxError) as error:
        fetch(into, listing, tmp_path / "ivy", run, pause=0)
    assert "1 of 2 JARs could not be fetched" in str(error.value)
    assert "ConnectException: Connection refused" in str(error.value)
    assert "Missing: beta-2.5.1.jar." in str(error.value)
    assert len(made) == ATTEMPTS


@pytest.mark.parametrize("version", ["11.0.2", "21.0.1", "1.8.0_392", "170.1"])
def test_another_java_is_refused_by_its_version(java: Path, version: str) -> None:
    with pytest.raises(SandboxError, match=rf"is Java {version}; Glue's Spark runs on Java 17"):
        java_command(lambda _: answer(said=f'openjdk version "{version}"'))


@pytest.mark.usefixtures("java")
def test_java_17_is_accepted() -> None:
    assert java_command(lambda _: answer(said='openjdk version "17" 2021-09-14')).endswith("/bin/java")


def test_a_missing_java_is_said_to_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="no java in PATH; install Java 17"):
        java_command()
