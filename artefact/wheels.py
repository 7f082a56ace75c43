"""The wheel archive of a Glue version: what pip resolves for that Python and that Linux, from a lock of hashes.

The archive is what Glue calls a zip of wheels: a folder `wheels/` with the wheels and a `requirements.txt`, installed
with `--no-index`.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import canonicalize_name

from artefact.archive import write_archive
from artefact.errors import ArtefactError
from artefact.pins import Pin, check_pins, read_pins, wheel_pin
from pipeline_runtime.glue.artefact import wheels_name
from pipeline_runtime.glue.engines import GlueEngine

__all__ = ["REQUIREMENTS", "fetch_wheels", "lock", "lock_text", "write_wheels"]

REQUIREMENTS = Path(__file__).parent / "requirements"

#: Tags of the oldest manylinux wheels, which have names instead of a glibc version.
_LEGACY = ("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64")
_OLDEST_GLIBC = 5


def write_wheels(engine: GlueEngine, cache: Path, folder: Path, requirements: Path = REQUIREMENTS) -> Path:
    """Writes the engine's archive and returns where it is; wheels that `cache` lacks are fetched into it.

    Raises ArtefactError where the lock is unusable, out of date, or cannot be satisfied.
    """
    locked = requirements / f"glue-{engine.glue}.txt"
    wanted = read_pins(requirements / f"glue-{engine.glue}.in", engine)
    pins = read_pins(locked, engine)
    if lacking := sorted({str(pin) for pin in wanted} - {str(pin) for pin in pins}):
        raise ArtefactError(f"{locked.name} lacks {', '.join(lacking)}; run `python -m artefact lock`")
    if unhashed := sorted(str(pin) for pin in pins if not pin.sha256):
        raise ArtefactError(f"{locked.name}: no hash for {', '.join(unhashed)}; run `python -m artefact lock`")
    wheels = fetch_wheels(engine, locked, pins, cache)
    entries = {f"wheels/{wheel.name}": wheel.read_bytes() for wheel in wheels}
    entries["wheels/requirements.txt"] = "".join(f"{pin}\n" for pin in pins).encode()
    path = folder / wheels_name(engine)
    write_archive(path, entries)
    return path


def fetch_wheels(engine: GlueEngine, locked: Path, pins: Sequence[Pin], cache: Path) -> list[Path]:
    """The lock's wheels, sorted by name. The network is asked only for what is not in `cache` yet."""
    cache.mkdir(parents=True, exist_ok=True)
    found = _cached(pins, cache)
    if len(found) < len(pins):
        _download(engine, ["--require-hashes", "--requirement", str(locked)], cache)
        found = _cached(pins, cache)
    if lacking := sorted(str(pin) for pin in set(pins) - found.keys()):
        raise ArtefactError(f"{locked.name}: pip fetched no wheel with a known hash for {', '.join(lacking)}")
    return sorted(found.values(), key=lambda wheel: wheel.name)


def lock(engine: GlueEngine, constraints: Path, requirements: Path = REQUIREMENTS) -> str:
    """The lock's text: everything that the engine's `.in` file resolves to, together.

    `constraints` are the versions that the project was tested with; where the image decides one, the image wins.
    Raises ArtefactError where pip cannot resolve them together, or resolves to what cannot go to Glue.
    """
    source = requirements / f"glue-{engine.glue}.in"
    given = read_pins(source, engine)
    with tempfile.TemporaryDirectory() as scratch:
        limits = Path(scratch, "constraints.txt")
        limits.write_text("".join(f"{line}\n" for line in _limits(engine, constraints, given)), "utf-8")
        into = Path(scratch, "wheels")
        into.mkdir()
        _download(engine, ["--constraint", str(limits), *map(str, given)], into)
        pins = []
        for wheel in into.iterdir():
            pin = wheel_pin(wheel.name)
            pins.append(Pin(pin.name, pin.version, frozenset({_sha256(wheel)})))
    if problems := check_pins(pins, engine):
        raise ArtefactError(f"{source.name} resolves to what Glue {engine.glue} cannot run:\n" + "\n".join(problems))
    return lock_text(engine, pins)


def lock_text(engine: GlueEngine, pins: Sequence[Pin]) -> str:
    """The lock of these pins, as it is written to its file."""
    lines = [
        f"# Glue {engine.glue}, Python {engine.python}: made by `python -m artefact lock` from the file beside it."
    ]
    for pin in sorted(pins, key=lambda pin: pin.name):
        lines.append(" ".join((str(pin), *(f"--hash=sha256:{digest}" for digest in sorted(pin.sha256)))))
    return "\n".join(lines) + "\n"


def _limits(engine: GlueEngine, constraints: Path, given: Sequence[Pin]) -> list[str]:
    decided = engine.provided.keys() | {pin.name for pin in given}
    tested = [line for line in constraints.read_text("utf-8").splitlines() if "==" in line]
    kept = [line for line in tested if _package(line) not in decided]
    return [*kept, *(f"{name}=={version}" for name, version in engine.provided.items())]


def _package(line: str) -> str:
    """The package that a line of constraints is about, in pip's canonical form."""
    return str(canonicalize_name(line.partition("==")[0].strip()))


def _cached(pins: Sequence[Pin], cache: Path) -> dict[Pin, Path]:
    found = {}
    for wheel in sorted(cache.glob("*.whl")):
        named = wheel_pin(wheel.name)
        for pin in pins:
            if (pin.name, pin.version) == (named.name, named.version) and _sha256(wheel) in pin.sha256:
                found[pin] = wheel
    return found


def _download(engine: GlueEngine, what: Sequence[str], into: Path) -> None:
    version = engine.python.replace(".", "")
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--only-binary", ":all:", "--implementation", "cp", "--python-version", version, "--abi", f"cp{version}"),
        *(part for platform in _platforms(engine) for part in ("--platform", platform)),
        *("--dest", str(into)),
        *what,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        reason = (
            " ".join(line.removeprefix("ERROR: ") for line in said if "pip.pypa.io" not in line) or "no reason given"
        )
        raise ArtefactError(
            f"Glue {engine.glue} (Python {engine.python}): pip cannot resolve these packages together: {reason}"
        )


def _platforms(engine: GlueEngine) -> list[str]:
    """The wheels' platforms that load on the engine, newest first. pip knows no order between the newer names."""
    major, minor = engine.glibc
    return [*(f"manylinux_{major}_{each}_x86_64" for each in range(minor, _OLDEST_GLIBC - 1, -1)), *_LEGACY]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
