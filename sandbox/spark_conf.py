"""The Spark settings of a deployment, for this machine: what a Glue job gets through `--conf` and its runtime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["LOCAL", "log_settings", "spark_defaults", "write_conf"]

#: A driver that does all the work itself and talks to nobody but this machine.
LOCAL: Mapping[str, str] = {
    "spark.master": "local[*]",
    "spark.driver.memory": "3g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
}


def spark_defaults(*, jars: Iterable[Path], endpoint: str, adapter: str, warehouse: Path) -> dict[str, str]:
    """The settings of a run in the sandbox; `endpoint` and `adapter` are http:// addresses without a path."""
    return {
        **LOCAL,
        "spark.jars": ",".join(str(jar) for jar in sorted(jars)),
        "spark.sql.warehouse.dir": str(warehouse),
        # The four that a domain's Glue job has in its one --conf argument.
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": adapter,
        "spark.openlineage.namespace": "cordata.fraud",
        # s3:// paths work as on Glue, and end at the stand-in.
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    }


def log_settings(file: Path | None = None) -> str:
    """log4j2 properties: warnings go to `file`, anew with each run, so that a run's trace stays readable.

    Without a file, errors go to stderr.
    """
    kind = "File" if file is not None else "Console"
    target = (
        f"appender.out.fileName = {file}\nappender.out.append = false" if file else "appender.out.target = SYSTEM_ERR"
    )
    level = "warn" if file is not None else "error"
    return f"""\
status = error
rootLogger.level = {level}
rootLogger.appenderRef.out.ref = out
appender.out.type = {kind}
appender.out.name = out
{target}
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n
# The gateway that Python talks to would announce its own level otherwise.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = {level}
"""


def write_conf(folder: Path, settings: Mapping[str, str], log_file: Path) -> None:
    """Makes `folder` a SPARK_CONF_DIR."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{key} {value}\n" for key, value in settings.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    (folder / "log4j2.properties").write_text(log_settings(log_file), encoding="utf-8")
