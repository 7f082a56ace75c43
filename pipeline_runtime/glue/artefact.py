"""The names of what a release of the executor is made of, under its prefix: known to the build and to every job."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.glue.engines import GlueEngine

__all__ = ["FOLDER", "MANIFEST", "SCRIPT", "Artefact", "wheel_name", "wheels_name", "zip_name"]

#: The folder below the destination; each version has one of its own in it.
FOLDER = "pipeline-runtime"
MANIFEST = "manifest.json"
SCRIPT = "run_pipeline.py"

S3_PREFIX = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._=-]+)*")


def zip_name(version: str) -> str:
    """The executor itself, for `--extra-py-files`."""
    return f"pipeline_runtime-{version}.zip"


def wheel_name(version: str) -> str:
    """The executor as CI installs it."""
    return f"pipeline_runtime-{version}-py3-none-any.whl"


def wheels_name(engine: GlueEngine) -> str:
    """What the executor needs on that engine; Glue knows the archive by its ending."""
    return f"glue-{engine.glue}.gluewheels.zip"


@dataclass(frozen=True)
class Artefact:
    """A published release: `destination` is s3://bucket/prefix, with or without the artefacts' folder at its end."""

    destination: str
    version: str

    def __post_init__(self) -> None:
        if S3_PREFIX.fullmatch(self.destination) is None:
            raise ConfigurationError(f"{self.destination!r} is no place for an artefact; write s3://bucket/prefix")
        # What Terraform hands out is the folder itself, what a person types the bucket: both mean one place.
        object.__setattr__(self, "destination", self.destination.removesuffix(f"/{FOLDER}"))

    @property
    def prefix(self) -> str:
        return f"{self.destination}/{FOLDER}/{self.version}"

    @property
    def script(self) -> str:
        return f"{self.prefix}/{SCRIPT}"

    @property
    def zip(self) -> str:
        return f"{self.prefix}/{zip_name(self.version)}"

    def wheels(self, engine: GlueEngine) -> str:
        return f"{self.prefix}/{wheels_name(engine)}"

    def listener(self, engine: GlueEngine) -> str:
        return f"{self.prefix}/{engine.listener.file}"
