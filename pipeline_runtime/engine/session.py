"""The Spark session of a run: built here or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pipeline_runtime.engine.catalogs import OWN_CATALOG, catalog_settings
from pipeline_runtime.engine.spark_4 import AS_ON_3_5, silence_query_loggers
from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.glue.conf import LIST_SETTINGS, merged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["EXTENSIONS", "build_session", "session_settings"]

EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def session_settings(*, warehouse: str, foreign_accounts: Iterable[str] = (), endpoint: str | None) -> dict[str, str]:
    """What the executor itself asks of Spark; everything else is the deployment's `--conf`."""
    settings = {
        "spark.sql.extensions": EXTENSIONS,
        "spark.sql.session.timeZone": "UTC",
        **AS_ON_3_5,
        # What Athena, Redshift and Iceberg read and write: not INT96, and no second calendar for old dates.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        # Or a step's text could read the driver's environment through ${env:…}, even inside quotes.
        "spark.sql.variable.substitute": "false",
        **catalog_settings(OWN_CATALOG, account=None, warehouse=warehouse, endpoint=endpoint),
    }
    for account in foreign_accounts:
        settings |= catalog_settings(f"glue_{account}", account=account, warehouse=warehouse, endpoint=endpoint)
    return settings


def build_session(app_name: str, settings: Mapping[str, str]) -> SparkSession:
    """A new session with these settings on top of spark-submit's; lists such as the SQL extensions are joined to them.

    Raises ConfigurationError where a SparkContext exists already: it would ignore the settings silently,
    and the listener would report elsewhere.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        raise ConfigurationError(
            "a SparkContext is running already; the executor must build its own, or the lineage listener's "
            "settings are ignored. Start the job script without creating a session or a GlueContext first."
        )
    silence_query_loggers()
    builder = SparkSession.builder.appName(app_name)
    for key, value in _joined(app_name, settings).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _joined(app_name: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings, with what the deployment has in its own lists behind ours.

    What spark-submit was told, by `--conf` and by its defaults, is known once the JVM runs; so it is started here,
    with all but the lists, for some settings count at its start only.
    """
    from pyspark import SparkConf, SparkContext

    launch = SparkConf().setAppName(app_name)
    launch.setAll([(key, value) for key, value in settings.items() if key not in LIST_SETTINGS])
    SparkContext._ensure_initialized(conf=launch)
    given = {key: value for key, value in SparkConf().getAll() if key in LIST_SETTINGS & settings.keys()}
    return merged(settings, given)
