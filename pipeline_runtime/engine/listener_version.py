"""Which lineage listener the driver really loaded: Glue brings an old one along, and the first on the path wins."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pipeline_runtime.engine.spark_error import failures
from pipeline_runtime.glue.engines import DEFAULT, ENGINES, GlueEngine
from pipeline_runtime.lineage.listener import listener_attached

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["listener_problem", "listener_version"]

#: Where the listener's JAR says what it is.
_PROPERTIES = "io/openlineage/spark/agent/version.properties"


def listener_version(spark: SparkSession) -> str | None:
    """The version of the listener's classes on the driver; None where there are none, or they do not tell."""
    jvm = spark.sparkContext._jvm
    with contextlib.suppress(*failures()):
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]
        stream = loader.getResourceAsStream(_PROPERTIES)
        if stream is not None:
            properties = jvm.java.util.Properties()  # type: ignore[union-attr]
            properties.load(stream)
            version = properties.getProperty("version")
            return None if version is None else str(version)
    return None


def listener_problem(spark: SparkSession) -> str | None:
    """What is wrong with an attached listener, in words; None where it is the expected one, or none is attached."""
    if not listener_attached(dict(spark.sparkContext.getConf().getAll())):
        return None
    found, expected = listener_version(spark), _engine(spark.version).listener
    if found == expected.version:
        return None
    return (
        f"the lineage listener on the path is {found or 'of an unknown version'}, not {expected.version}: another JAR "
        f"was found first; pass {expected.file} in --extra-jars and --user-jars-first true"
    )


def _engine(spark_version: str) -> GlueEngine:
    same = (engine for engine in ENGINES.values() if engine.spark.split(".")[:2] == spark_version.split(".")[:2])
    return next(same, ENGINES[DEFAULT])
