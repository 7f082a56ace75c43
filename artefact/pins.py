"""Which Python packages go to Glue: read from a file, every entry exact, and none that Glue would not survive.

A Glue version has two files. `glue-<version>.in` is written by people: what the executor imports. `glue-<version>.txt`
is written by `python -m artefact lock`: all that pip resolves it to, with the hash of each wheel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from artefact.errors import ArtefactError
from pipeline_runtime.glue.engines import GlueEngine

__all__ = ["Pin", "check_pins", "read_pins", "wheel_pin"]

#: What the image itself runs on. A second one beside it would be found first.
_GLUES_OWN = frozenset({"boto3", "botocore", "py4j", "pyspark", "awsglue"})
_HASH = re.compile(r"\s--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Pin:
    """One package in one version. `name` is in pip's canonical form; `sha256` are the hashes of allowed wheels."""

    name: str
    version: str
    sha256: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


def read_pins(path: Path, engine: GlueEngine) -> list[Pin]:
    """The pins of a requirements file. Raises ArtefactError with every entry that cannot go to Glue."""
    pins, problems = [], []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        entry = re.sub(r"(^|\s)#.*", "", line).strip()
        if not entry:
            continue
        try:
            pins.append(_pin(entry))
        except ValueError as error:
            problems.append(f"{path.name}:{number}: {entry.split()[0]} {error}")
    problems += check_pins(pins, engine)
    if problems:
        raise ArtefactError("\n".join(problems))
    return pins


def check_pins(pins: Iterable[Pin], engine: GlueEngine) -> list[str]:
    """What is wrong with this set of packages on that engine, in words."""
    problems, seen = [], set()
    for pin in pins:
        if pin.name in seen:
            problems.append(f"{pin.name} is pinned twice")
        seen.add(pin.name)
        provided = engine.provided.get(pin.name)
        if pin.name in _GLUES_OWN:
            problems.append(f"{pin}: Glue {engine.glue} has its own; leave it out")
        elif provided is not None and Version(pin.version).major != Version(provided).major:
            problems.append(
                f"{pin}: Glue {engine.glue} brings {provided}, and its Spark {engine.spark} was built beside that; "
                f"pin {pin.name}=={provided}"
            )
    return problems


def wheel_pin(file: str) -> Pin:
    """The package and version that a wheel's name tells. Raises ArtefactError where it is no wheel's name."""
    try:
        name, version, _, _ = parse_wheel_filename(file)
    except InvalidWheelFilename:
        raise ArtefactError(
            f"{file} is not the name of a wheel, and Glue's pip refuses it; "
            "keep the name it came with, <name>-<version>-<python>-<abi>-<platform>.whl"
        ) from None
    return Pin(str(name), str(version))


def _pin(entry: str) -> Pin:
    """Raises ValueError, whose text continues a sentence that begins with the entry."""
    hashes = frozenset(_HASH.findall(entry))
    text = _HASH.sub("", entry).strip()
    if text.endswith(".whl"):
        try:
            wheel_pin(text.rpartition("/")[2])
        except ArtefactError as error:
            raise ValueError(str(error).partition(" ")[2]) from None
        raise ValueError("is a file; pin it as name==version, wheels are fetched and checked by their hash")
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise ValueError("is no requirement; write name==version") from None
    exact = [each for each in requirement.specifier if each.operator == "==" and not each.version.endswith(".*")]
    if requirement.url or len(requirement.specifier) != 1 or len(exact) != 1:
        raise ValueError("is not pinned; write name==version: what pip finds at run time is not what was tested")
    if requirement.marker or requirement.extras:
        raise ValueError("has an extra or a condition; name the package itself, a file is for one engine")
    return Pin(canonicalize_name(requirement.name), exact[0].version, hashes)
