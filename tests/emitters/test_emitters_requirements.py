"""What the emitters' environments are made of fits together, and the documented settings fit the adapter."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from dbt_project import documented

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).parent / "dbt-requirements.txt"


def lines() -> list[str]:
    return [line for line in REQUIREMENTS.read_text("utf-8").splitlines() if not line.startswith("#")]


def pins() -> dict[str, str]:
    return dict(line.partition("#")[0].strip().split("==") for line in lines())


def test_everything_that_dbt_stands_on_is_pinned() -> None:
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+( +# .+)?", line) for line in lines())


def test_dbt_ol_is_of_the_release_of_our_own_openlineage() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    [ours] = [each for each in project["optional-dependencies"]["run"] if each.startswith("openlineage-python==")]
    listener = (ROOT / "sandbox" / "jars" / "ivy-glue-5.1.xml").read_text("utf-8")
    for name in ("openlineage-dbt", "openlineage-python", "openlineage-integration-common", "openlineage_sql"):
        assert pins()[name] == ours.partition("==")[2]
    assert f'name="openlineage-spark_2.12" rev="{pins()["openlineage-dbt"]}"' in listener


def test_the_documented_namespaces_belong_to_a_domain_and_the_keys_are_left_to_fill_in() -> None:
    for heading, namespace in (("dbt", "cordata.transform"), ("The Spark listener", "cordata.fraud")):
        block = documented(heading)
        assert f"={namespace}" in block
        assert "https://<api>" in block
        assert "<key>" in block
