"""The Glue versions that the executor is built for, and what each of them is: the one place that says so.

Sources: AWS Glue's release notes and its migration guides to 5.1 and 6.0 (Spark, Scala, Python, Java, Iceberg,
boto3, numpy, pandas), and its list of the Python modules that version 5.1 brings along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline_runtime.errors import ConfigurationError

__all__ = ["DEFAULT", "ENGINES", "GlueEngine", "Jar", "engine_for"]


@dataclass(frozen=True)
class Jar:
    """One JAR on Maven Central, and the SHA-256 of the file."""

    group: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.jar"


@dataclass(frozen=True)
class GlueEngine:
    """One Glue version.

    `listener` is the lineage listener for its Scala. `provided` are the Python packages whose versions the image
    decides, by name: a job that brought another major would no longer run what Glue tested. `glibc` bounds the
    manylinux wheels that load there.
    """

    glue: str
    spark: str
    scala: str
    python: str
    java: str
    iceberg: str
    glibc: tuple[int, int]
    listener: Jar
    provided: Mapping[str, str]


ENGINES: Mapping[str, GlueEngine] = MappingProxyType(
    {
        engine.glue: engine
        for engine in (
            GlueEngine(
                glue="5.1",
                spark="3.5.6",
                scala="2.12",
                python="3.11",
                java="17",
                iceberg="1.10.0",
                glibc=(2, 34),
                listener=Jar(
                    "io.openlineage",
                    "openlineage-spark_2.12",
                    "1.53.0",
                    "9fe28ee2e5b2cb535cd51b6572394bddeb684bf0c58650a698cf7724ce62d94d",
                ),
                provided={"boto3": "1.40.61", "numpy": "2.3.4", "pandas": "2.3.3", "pyarrow": "22.0.0"},
            ),
            GlueEngine(
                glue="6.0",
                spark="4.1.1",
                scala="2.13",
                python="3.13",
                java="17",
                iceberg="1.11.0",
                glibc=(2, 34),
                listener=Jar(
                    "io.openlineage",
                    "openlineage-spark_2.13",
                    "1.53.0",
                    "5d84b0ae7e72909b5aae7ed87df878bf06b28d9ac3005765c3529d0a66dbae6f",
                ),
                provided={"boto3": "1.42.84", "numpy": "2.4.4", "pandas": "2.3.3"},
            ),
        )
    }
)

#: What a job gets that names no version.
DEFAULT = "5.1"


def engine_for(glue_version: object) -> GlueEngine:
    """The engine of a Glue version, given as text. Raises ConfigurationError for anything else."""
    allowed = ", ".join(f'"{version}"' for version in ENGINES)
    if not isinstance(glue_version, str):
        raise ConfigurationError(
            f"glue_version: {glue_version!r} is no text; put it in quotes, one of {allowed} "
            "(a number would lose its last digit)"
        )
    engine = ENGINES.get(glue_version)
    if engine is None:
        raise ConfigurationError(f'glue_version: "{glue_version}" is not one of {allowed}')
    return engine
