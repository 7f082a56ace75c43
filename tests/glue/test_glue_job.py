"""A job's arguments, and the definition that Glue keeps."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.glue.engines import DEFAULT, ENGINES, engine_for
from pipeline_runtime.glue.job import RESERVED_SETTINGS, GlueJob, default_arguments, definition
from pipeline_runtime.glue.received import effective_arguments, received

ROOT = Path(__file__).resolve().parents[2]
LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"


def test_the_listener_is_attached_by_the_two_keys_that_the_platform_documents(scored: Any) -> None:
    arguments = default_arguments(scored())
    assert arguments["--extra-jars"] == (
        "s3://cordata-artifacts/pipeline-runtime/0.1.0/openlineage-spark_2.12-1.53.0.jar"
    )
    assert arguments["--conf"] == (
        f"spark.extraListeners={LISTENER}"
        " --conf spark.openlineage.namespace=cordata.fraud"
        " --conf spark.openlineage.transport.type=http"
        " --conf spark.openlineage.transport.url=https://lineage-adapter.cordata.internal"
    )


@pytest.mark.parametrize("version", list(ENGINES))
def test_reported_our_listener_wins_over_the_one_that_glue_brings(scored: Any, version: str) -> None:
    job = received(definition(scored(version)))
    assert [jar.rpartition("/")[2] for jar in job.jars] == [ENGINES[version].listener.file]
    assert f"_{ENGINES[version].scala}-" in job.jars[0]
    assert job.script_arguments["--user-jars-first"] == "true"
    assert job.conf["spark.extraListeners"] == LISTENER


@pytest.mark.parametrize("enabled", [True, False])
def test_reported_every_argument_is_text_and_ordered(scored: Any, enabled: bool) -> None:
    arguments = default_arguments(scored(openlineage_enabled=enabled))
    assert all(isinstance(value, str) and value for value in arguments.values())
    assert list(arguments) == sorted(arguments)


def test_a_detached_listener_leaves_no_jar_and_no_setting_and_our_events_their_address(scored: Any) -> None:
    arguments = default_arguments(scored(openlineage_enabled=False))
    assert not {"--extra-jars", "--conf", "--user-jars-first"} & arguments.keys()
    assert "openlineage" not in json.dumps(arguments).replace("pipeline-runtime", "")
    assert arguments["--lineage-url"] == "https://lineage-adapter.cordata.internal/lineage"
    assert not received(definition(scored(openlineage_enabled=False))).listens


def test_child_runs_are_sent_where_the_deployment_asks_and_need_the_listener(scored: Any) -> None:
    assert "--lineage-children" not in default_arguments(scored())
    assert default_arguments(scored(lineage_children=True))["--lineage-children"] == "on"
    with pytest.raises(ConfigurationError, match="lineage_children sends what the listener saw; it needs"):
        scored(lineage_children=True, openlineage_enabled=False)


def test_lineage_turned_off_is_said_and_the_listener_gets_no_address(scored: Any) -> None:
    arguments = default_arguments(scored(lineage_url=None))
    assert arguments["--lineage"] == "off"
    assert "--lineage-url" not in arguments
    assert "transport" not in arguments["--conf"]


def test_glue_uses_its_own_iceberg_and_never_a_second_one(scored: Any) -> None:
    arguments = default_arguments(scored())
    assert arguments["--datalake-formats"] == "iceberg"
    assert "iceberg" not in arguments["--extra-jars"]


def test_reported_modules_come_as_one_archive_without_an_index(scored: Any) -> None:
    arguments = default_arguments(scored())
    assert arguments["--additional-python-modules"] == (
        "s3://cordata-artifacts/pipeline-runtime/0.1.0/glue-5.1.gluewheels.zip"
    )
    assert arguments["--python-modules-installer-option"] == "--no-index"
    assert arguments["--extra-py-files"].endswith("/pipeline_runtime-0.1.0.zip")


def test_a_job_makes_no_retries_and_names_its_execution_class(scored: Any) -> None:
    made = definition(scored())
    assert (made["MaxRetries"], made["ExecutionClass"], made["GlueVersion"]) == (0, "STANDARD", "5.1")


def test_what_is_made_is_what_is_read_back(scored: Any) -> None:
    job = received(definition(scored(extra_conf={"spark.sql.shuffle.partitions": "64"})))
    assert job.conf["spark.sql.shuffle.partitions"] == "64"
    assert job.engine is ENGINES["5.1"]
    assert job.script == "s3://cordata-artifacts/pipeline-runtime/0.1.0/run_pipeline.py"
    assert job.script_arguments["--descriptor"] == "domains/fraud/pipelines/transactions_scored.yml"


def test_a_runs_arguments_win_over_the_jobs_and_fixed_ones_over_both(scored: Any) -> None:
    job = definition(scored()) | {"NonOverridableArguments": {"--log-format": "json"}}
    arguments = effective_arguments(job, {"--run-id": "x", "--lineage": "off", "--log-format": "text"})
    assert (arguments["--run-id"], arguments["--lineage"], arguments["--log-format"]) == ("x", "off", "json")


def test_a_setting_that_the_executor_would_overrule_is_refused(scored: Any) -> None:
    conf = {"spark.sql.session.timeZone": "Europe/Madrid", "spark.sql.catalog.glue_catalog.warehouse": "s3://x/"}
    with pytest.raises(ConfigurationError, match=r"glue_catalog\.warehouse, spark\.sql\.session\.timeZone: set by"):
        default_arguments(scored(extra_conf=conf))


@pytest.mark.parametrize("version", [5.0, 5, "5", "5.0", "banana", True, None])
def test_reported_a_glue_version_is_text_and_one_of_ours(version: object) -> None:
    with pytest.raises(ConfigurationError, match=r'^glue_version: .*"5\.1", "6\.0"'):
        engine_for(version)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"number_of_workers": "10"}, "number_of_workers '10' is no whole number"),
        ({"timeout": 1e3}, "timeout 1000.0 is no whole number"),
        ({"number_of_workers": 1}, "number_of_workers is 1, and at least 2"),
        ({"worker_type": "G.3X"}, "worker_type 'G.3X' is not one of G.025X, G.1X"),
        ({"execution_class": "flex"}, "execution_class 'flex' is not one of STANDARD, FLEX"),
        ({"name": "a job"}, "the name is letters"),
        ({"config": "config"}, "config 'config' is no s3://"),
        ({"evidence": "s3://bucket/a b"}, "evidence .* is no s3://"),
    ],
)
def test_reported_numbers_and_names_are_checked_before_anything_is_made(
    scored: Any, change: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        scored(**change)


def test_arguments_that_glue_would_not_take_are_refused_by_their_size(scored: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"its arguments are 2\d\d,\d\d\d bytes; Glue takes 266,240"):
        default_arguments(scored(extra_conf={f"spark.k{n}": "v" * 250 for n in range(1060)}))


def broken(job: GlueJob, **arguments: Any) -> dict[str, Any]:
    made = definition(job)
    changed = {**made["DefaultArguments"], **{f"--{key.replace('_', '-')}": value for key, value in arguments.items()}}
    return made | {"DefaultArguments": {key: value for key, value in changed.items() if value is not None}}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"user_jars_first": None}, "the listener that Glue brings along would win"),
        ({"user_jars_first": "True"}, "--user-jars-first is not"),
        ({"extra_jars": None}, "it holds no listener"),
        ({"extra_jars": "s3://x/openlineage-spark_2.13-1.53.0.jar"}, r"Glue 5\.1 is Scala 2\.12"),
        ({"extra_jars": "s3://x/openlineage-spark_2.12-1.34.0.jar"}, r"must hold openlineage-spark_2\.12-1\.53\.0"),
        ({"conf": None}, "spark.extraListeners does not name it"),
        ({"conf": f"spark.extraListeners={LISTENER},{LISTENER}"}, "twice"),
        ({"additional_python_modules": "great_expectations,pydantic==2.14.4"}, "great_expectations is not pinned"),
        ({"enable_metrics": True}, "every argument is text; --enable-metrics is True"),
    ],
)
def test_reported_a_definition_that_would_not_do_what_it_seems_to_is_refused(
    scored: Any, arguments: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        received(broken(scored(), **arguments))


def test_a_job_with_retries_is_refused(scored: Any) -> None:
    with pytest.raises(ConfigurationError, match="MaxRetries is not 0"):
        received(definition(scored()) | {"MaxRetries": 1})


def test_the_sandbox_runs_the_listener_and_the_iceberg_of_the_engine_table() -> None:
    listings = {file.stem.removeprefix("ivy-glue-"): file for file in ROOT.glob("sandbox/jars/ivy-glue-*.xml")}
    assert DEFAULT in listings
    for version, file in listings.items():
        engine = ENGINES[version]
        revisions = {each.attrib["name"]: each.attrib["rev"] for each in ElementTree.parse(file).iter("dependency")}
        assert revisions[engine.listener.name] == engine.listener.version
        iceberg = next(name for name in revisions if name.startswith("iceberg-spark-runtime"))
        assert iceberg.endswith(f"_{engine.scala}")
        assert revisions[iceberg] == engine.iceberg


@pytest.mark.parametrize(("extra", "version"), [("run", DEFAULT), ("run-glue-6-0", "6.0")])
def test_the_executors_own_pins_are_those_of_the_engine(extra: str, version: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pins = dict(pin.split("==") for pin in project["optional-dependencies"][extra])
    assert pins["pyspark"] == ENGINES[version].spark
    assert pins["openlineage-python"] == ENGINES[version].listener.version


def test_an_engine_is_chosen_by_its_version(scored: Any) -> None:
    assert default_arguments(replace(scored(), engine=engine_for("6.0")))["--extra-jars"].endswith(
        "openlineage-spark_2.13-1.53.0.jar"
    )


def test_terraform_refuses_the_settings_that_the_executor_sets_itself() -> None:
    variables = (ROOT / "terraform" / "modules" / "transform_jobs" / "variables.tf").read_text("utf-8")
    [message] = re.findall(r"!anytrue\(\[\n(.*?)\n +\]\)", variables, re.DOTALL)
    assert set(re.findall(r'"(spark\.[^"]+)"', message)) == set(RESERVED_SETTINGS)
