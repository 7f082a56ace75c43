"""One release, in one folder: zip, script, wheel, wheel archives, JARs and their list, and the manifest of them all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from artefact.errors import ArtefactError
from artefact.executor import build_of, write_wheel, write_zip
from artefact.jars import JARS_FILE, fetch_jar, jar_list
from artefact.manifest import Manifest
from artefact.wheels import REQUIREMENTS, write_wheels
from pipeline_runtime.glue.artefact import MANIFEST, SCRIPT
from pipeline_runtime.glue.engines import ENGINES, GlueEngine

__all__ = ["build_release"]


def build_release(
    root: Path,
    into: Path,
    cache: Path,
    engines: Iterable[GlueEngine] = tuple(ENGINES.values()),
    requirements: Path = REQUIREMENTS,
) -> Manifest:
    """Builds the project at `root` into the folder `into`, which then holds this release and nothing else.

    The same commit gives the same bytes in every folder, at every time, under every umask. `cache` keeps what was
    fetched. Raises ArtefactError; a release that was there before is then still there.
    """
    engines = tuple(engines)
    build = build_of(root)
    if into.exists() and not (into / MANIFEST).is_file() and any(into.iterdir()):
        raise ArtefactError(f"{into} holds files that are no release of ours; name an empty folder")
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent, prefix=".release-") as scratch:
        folder = Path(scratch, "release")
        folder.mkdir()
        files = [write_zip(root, build, folder), write_wheel(root, build, folder)]
        files.append(folder / SCRIPT)
        files[-1].write_bytes((root / "glue_jobs" / SCRIPT).read_bytes())
        for engine in engines:
            files.append(write_wheels(engine, cache / "wheels" / f"glue-{engine.glue}", folder, requirements))
            files.append(
                Path(shutil.copyfile(fetch_jar(engine.listener, cache / "jars"), folder / engine.listener.file))
            )
        files.append(folder / JARS_FILE)
        files[-1].write_bytes(jar_list(engines))
        manifest = Manifest.of(build, (engine.glue for engine in engines), files)
        (folder / MANIFEST).write_bytes(manifest.to_bytes())
        if into.exists():
            shutil.rmtree(into)
        folder.replace(into)
    return manifest
