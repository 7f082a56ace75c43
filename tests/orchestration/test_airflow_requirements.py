"""What MWAA is given fits together: the provider's version, Airflow's constraints, and what we test with."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "airflow"


def requirements() -> list[str]:
    lines = (FOLDER / "requirements.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def pins() -> dict[str, str]:
    lines = (FOLDER / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_mwaa_is_asked_for_the_provider_and_not_for_the_package_of_old() -> None:
    constraint, *packages = requirements()
    assert constraint.startswith("--constraint ")
    assert packages == ["apache-airflow-providers-openlineage==2.20.0"]
    assert "openlineage-airflow" not in pins()


def test_the_constraints_are_those_of_the_airflow_that_is_tested() -> None:
    found = re.search(r"constraints-(\d+\.\d+\.\d+)/constraints-3\.12\.txt", requirements()[0])
    assert found is not None
    assert pins()["apache-airflow"] == found.group(1)
    assert all(pins()[name] == version for name, version in (line.split("==") for line in requirements()[1:]))


def test_the_extra_asks_for_what_mwaa_is_asked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["optional-dependencies"]["airflow"] == requirements()[1:]


def test_the_configuration_options_hold_no_key() -> None:
    options = json.loads((FOLDER / "configuration.json").read_text())
    assert set(options) == {"openlineage.transport", "openlineage.namespace"}
    transport = json.loads(options["openlineage.transport"])
    assert transport["auth"] == {"type": "airflow_connection_api_key", "conn_id": "openlineage"}
    assert options["openlineage.namespace"] == "cordata.orchestration"


def test_the_example_of_a_deployment_is_one(tmp_path: Path) -> None:
    from pipeline_runtime.scheduling.deployment import load_deployment

    text = (ROOT / "docs" / "orchestration.md").read_text("utf-8")
    [example] = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    file = tmp_path / "deployment.json"
    file.write_text(example)
    assert list(load_deployment(file).by_descriptor()) == ["domains/fraud/pipelines/transactions_scored.yml"]
