"""Fetches the JARs of one engine into a folder, with the Ivy that ships inside pyspark.

    python -m sandbox.jars.fetch --into .cache/jars/glue-5.1

The folder's name chooses the list beside this module (`ivy-<name>.xml`). A folder that holds the whole list
already is left alone, without starting Java or touching the network.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from sandbox.errors import SandboxError

__all__ = ["fetch", "is_complete", "jar_names", "java_command", "main"]

ATTEMPTS = 4
JAVA_MAJOR = 17
STAMP = ".complete"

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def jar_names(listing: Path) -> tuple[str, ...]:
    """The file names that a list asks for."""
    dependencies = ElementTree.parse(listing).getroot().iter("dependency")
    return tuple(f"{dependency.attrib['name']}-{dependency.attrib['rev']}.jar" for dependency in dependencies)


def java_command(run: Run = _run) -> str:
    """The `java` that Spark starts too: JAVA_HOME's, else the one on PATH.

    Raises SandboxError where there is none, or where it is not Java 17.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if found is None:
        where = f"JAVA_HOME ({home})" if home else "PATH"
        raise SandboxError(f"no java in {where}; install Java {JAVA_MAJOR}, which Glue's Spark runs on.")
    answer = run([found, "-version"])
    version = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    if version is None or re.match(rf"{JAVA_MAJOR}\b", version[1]) is None:
        said = version[1] if version else "no version"
        raise SandboxError(
            f"{found} is Java {said}; Glue's Spark runs on Java {JAVA_MAJOR}. "
            f"Install it and point JAVA_HOME or PATH at it."
        )
    return found


def is_complete(into: Path, listing: Path) -> bool:
    """Whether the folder was filled from exactly this list, and still holds all of it."""
    stamp = into / STAMP
    same_list = stamp.exists() and stamp.read_text(encoding="utf-8") == listing.read_text(encoding="utf-8")
    return same_list and not _missing(into, jar_names(listing))


def fetch(into: Path, listing: Path, ivy_home: Path, run: Run = _run, pause: float = 2.0) -> None:
    """Brings the listed JARs, and no others, into the folder.

    Tries ATTEMPTS times, `pause` seconds apart at first. Raises SandboxError.
    """
    wanted = jar_names(listing)
    command = [
        java_command(run),
        f"-Divy.default.ivy.user.dir={ivy_home}",
        *("-jar", str(_ivy_jar())),
        "-error",
        *("-ivy", str(listing)),
        *("-cache", str(ivy_home / "cache")),
        *("-types", "jar"),
        *("-retrieve", f"{into}/[artifact]-[revision].[ext]"),
        "-sync",
    ]
    into.mkdir(parents=True, exist_ok=True)
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        answer = run(command)
        missing = _missing(into, wanted)
        if answer.returncode == 0 and not missing:
            (into / STAMP).write_text(listing.read_text(encoding="utf-8"), encoding="utf-8")
            return
    raise SandboxError(
        f"{len(missing) or 'some'} of {len(wanted)} JARs could not be fetched in {ATTEMPTS} attempts "
        f"({_reason(answer)}). Missing: {', '.join(missing) or 'none'}. Check the network and try again; "
        f"what has arrived is kept."
    )


def _missing(into: Path, wanted: Sequence[str]) -> list[str]:
    return [name for name in wanted if not (into / name).is_file() or (into / name).stat().st_size == 0]


def _ivy_jar() -> Path:
    """Spark resolves `--packages` with Ivy, so pyspark brings it along."""
    spec = find_spec("pyspark")
    roots = spec.submodule_search_locations if spec is not None else None
    for root in roots or ():
        for jar in sorted(Path(root, "jars").glob("ivy-*.jar")):
            return jar
    raise SandboxError('no Ivy: pyspark is not installed here. Run: pip install -e ".[run,sandbox]"')


def _reason(answer: subprocess.CompletedProcess[str]) -> str:
    """Java's own words for why, out of pages of Ivy's."""
    said = re.search(r"\((java[\w.]*Exception[^)\n]*)\)", answer.stdout + answer.stderr)
    return said[1] if said else "Ivy gives no reason"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sandbox.jars.fetch", description="Fetches an engine's JARs.")
    parser.add_argument("--into", type=Path, required=True, help="the folder; its name chooses the list")
    into = parser.parse_args(argv).into.absolute()
    listing = Path(__file__).with_name(f"ivy-{into.name}.xml")
    try:
        if not listing.exists():
            known = ", ".join(sorted(path.stem.removeprefix("ivy-") for path in listing.parent.glob("ivy-*.xml")))
            raise SandboxError(f"no list of JARs for {into.name!r}; there is: {known}.")
        if not is_complete(into, listing):
            print(f"jars      {into.name}: fetching {len(jar_names(listing))} JARs, about 160 MB, once", flush=True)
            fetch(into, listing, ivy_home=into.parent.parent / "ivy")
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
