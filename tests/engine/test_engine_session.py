"""The session is the executor's own, on top of what the deployment set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pipeline_runtime.engine.session import EXTENSIONS

PROBE = """\
import json, sys
from pipeline_runtime.engine.session import EXTENSIONS, build_session
session = build_session("probe", {"spark.sql.extensions": EXTENSIONS, "spark.sql.session.timeZone": "UTC"})
conf = session.sparkContext.getConf()
keys = ("spark.sql.extensions", "spark.sql.session.timeZone", "spark.sql.shuffle.partitions", "spark.app.name")
print(json.dumps({key: conf.get(key) for key in keys}))
session.stop()
"""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("submitted", [True, False])
def test_reported_the_deployments_extensions_are_kept_behind_ours(
    tmp_path: Path, jars: list[Path], submitted: bool
) -> None:
    defaults = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.jars": ",".join(map(str, jars)),
        "spark.sql.extensions": f"com.example.Theirs,{EXTENSIONS}",
        "spark.sql.session.timeZone": "Europe/Madrid",
        "spark.sql.shuffle.partitions": "3",
    }
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in defaults.items()))
    script = tmp_path / "probe.py"
    script.write_text(PROBE)
    command = [str(Path(sys.executable).parent / "spark-submit")] if submitted else [sys.executable]
    done = subprocess.run(
        [*command, str(script)],
        env={**os.environ, "SPARK_CONF_DIR": str(tmp_path), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.strip().splitlines()[-1]) == {
        "spark.sql.extensions": f"{EXTENSIONS},com.example.Theirs",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "3",
        "spark.app.name": "probe",
    }


OLD_LISTENER = """\
import sys
from pipeline_runtime.engine.listener_version import listener_problem
from pipeline_runtime.engine.session import build_session
session = build_session("probe", {"spark.sql.session.timeZone": "UTC"})
print(listener_problem(session))
session.stop()
"""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("first", ["ours", "glues"])
def test_reported_a_listener_that_is_not_ours_is_named_with_the_remedy(
    tmp_path: Path, jars: list[Path], first: str
) -> None:
    """Glue's own, older listener is stood in for by a JAR that says it is one: the first on the path answers."""
    glues = tmp_path / "glue-openlineage.jar"
    with zipfile.ZipFile(glues, "w") as archive:
        archive.writestr("io/openlineage/spark/agent/version.properties", "name=openlineage-spark\nversion=1.34.0\n")
    path = [*jars, glues] if first == "ours" else [glues, *jars]
    defaults = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.jars": ",".join(map(str, path)),
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "console",
    }
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in defaults.items()))
    script = tmp_path / "probe.py"
    script.write_text(OLD_LISTENER)
    done = subprocess.run(
        [str(Path(sys.executable).parent / "spark-submit"), str(script)],
        env={**os.environ, "SPARK_CONF_DIR": str(tmp_path), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = "the lineage listener on the path is 1.34.0, not 1.53.0: another JAR was found first; pass"
    assert (expected in done.stdout) is (first == "glues"), done.stdout
