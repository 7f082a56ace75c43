"""The JARs that a job attaches, fetched once and checked against the engine table's hashes."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from artefact.errors import ArtefactError
from pipeline_runtime.glue.engines import GlueEngine, Jar
from sandbox.errors import SandboxError
from sandbox.jars.fetch import fetch

__all__ = ["JARS_FILE", "fetch_jar", "jar_list"]

JARS_FILE = "jars.json"

_LISTING = """\
<ivy-module version="2.0"><info organisation="cordata" module="artefact"/>
<configurations><conf name="default"/></configurations>
<dependencies defaultconf="default->master">
<dependency org="{group}" name="{name}" rev="{version}" transitive="false"/>
</dependencies></ivy-module>
"""


def fetch_jar(jar: Jar, cache: Path) -> Path:
    """The JAR's file, from anywhere in `cache` or from Maven Central. Raises ArtefactError where it is another file."""
    for file in sorted(cache.glob(f"**/{jar.file}")):
        if _sha256(file) == jar.sha256:
            return file
    into = cache / "attached" / jar.name
    with tempfile.TemporaryDirectory() as scratch:
        listing = Path(scratch, "ivy.xml")
        listing.write_text(_LISTING.format(group=jar.group, name=jar.name, version=jar.version), "utf-8")
        try:
            fetch(into, listing, ivy_home=cache.parent / "ivy")
        except SandboxError as error:
            raise ArtefactError(str(error)) from None
    found = _sha256(into / jar.file)
    if found != jar.sha256:
        raise ArtefactError(f"{jar.file}: Maven Central gave SHA-256 {found}, the engine table says {jar.sha256}")
    return into / jar.file


def jar_list(engines: Iterable[GlueEngine]) -> bytes:
    """`jars.json`: for each Glue version the JARs that its jobs attach, where they come from, and their hashes."""
    listed = {
        engine.glue: {
            "spark": engine.spark,
            "scala": engine.scala,
            "java": engine.java,
            "jars": [
                {
                    "file": engine.listener.file,
                    "maven": f"{engine.listener.group}:{engine.listener.name}:{engine.listener.version}",
                    "sha256": engine.listener.sha256,
                    "attached_by": "openlineage_enabled",
                }
            ],
        }
        for engine in engines
    }
    return json.dumps(listed, indent=2, sort_keys=True).encode() + b"\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
