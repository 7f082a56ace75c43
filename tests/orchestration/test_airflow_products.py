"""Who waits for whom, read from the descriptors, and the deployment's file: all that is needed without Airflow."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.airflow.periods import key_of, nominal_time
from pipeline_runtime.airflow.runs import TaskTry
from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.scheduling.deployment import load_deployment
from pipeline_runtime.scheduling.products import find_products, upstream_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The sample domains, with finance reading what fraud makes."""
    shutil.copytree(ROOT / "domains", tmp_path / "domains")
    change(tmp_path, "finance", "fraud_raw\n  table: transactions\n", "fraud_curated\n  table: transactions_scored\n")
    return tmp_path


def change(repository: Path, domain: str, old: str, new: str) -> None:
    (file,) = (repository / "domains" / domain / "pipelines").glob("*.yml")
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def pairs(repository: Path) -> dict[str, str]:
    return {product.key: maker.key for product, maker in upstream_of(find_products(repository)).items()}


def test_a_source_that_is_anothers_target_is_waited_for_across_domains(repository: Path) -> None:
    assert pairs(repository) == {"finance/merchant-settlement-daily": "fraud/transactions-scored-daily"}


def test_the_sample_domains_wait_for_nobody() -> None:
    assert pairs(ROOT) == {}


def test_two_makers_of_one_table_are_named(repository: Path) -> None:
    change(repository, "policy", "database: policy_raw\n  table: claims_deduped", "database: fraud_curated\n  table: x")
    change(repository, "policy", "table: x", "table: transactions_scored")
    with pytest.raises(ConfigurationError, match=r"which .*claims_ingest\.yml and .*merchant|which .* both make"):
        pairs(repository)


def test_a_circle_is_named_and_refused(repository: Path) -> None:
    change(
        repository,
        "fraud",
        "fraud_raw\n  table: transactions\n",
        "finance_curated\n  table: merchant_settlement_daily\n",
    )
    with pytest.raises(ConfigurationError, match=r"reads fraud/transactions-scored-daily.*none of them can be first"):
        pairs(repository)


def deployment(**changes: Any) -> dict[str, Any]:
    job = {"descriptor": "domains/fraud/pipelines/transactions_scored.yml", "schedule": "0 5 * * *"}
    role = "arn:aws:iam::444455556666:role/cordata-fraud-scheduler"
    return {"region": "eu-central-1", "domains": {"fraud": {"role_arn": role, "jobs": {"scored": {**job, **changes}}}}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (deployment(schedule="daily"), "domains.fraud.jobs.scored.schedule: is no schedule; write five fields of cron"),
        (deployment(schedule="0 5 * *"), "is no schedule"),
        (deployment(retries=1), "domains.fraud.jobs.scored.retries: Extra inputs are not permitted"),
        (deployment(collects="hour"), "Input should be 'day', 'week' or 'month'"),
        ({"domains": {}}, "region: Field required"),
    ],
)
def test_a_deployment_that_is_wrong_is_refused_with_the_place(tmp_path: Path, content: Any, said: str) -> None:
    file = tmp_path / "deployment.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ConfigurationError) as refused:
        load_deployment(file)
    assert said in str(refused.value)
    assert str(file) in str(refused.value)


def test_a_deployment_that_is_not_there_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="put the deployment's file there"):
        load_deployment(tmp_path / "deployment.json")


def test_one_descriptor_has_one_job(tmp_path: Path) -> None:
    content = deployment()
    jobs = content["domains"]["fraud"]["jobs"]
    jobs["again"] = jobs["scored"]
    file = tmp_path / "deployment.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ConfigurationError, match="has two jobs, scored and again"):
        load_deployment(file)


def test_a_partition_is_the_period_that_a_run_is_for() -> None:
    assert nominal_time("2026-08-01T05:00:00", None, None) == "2026-08-01T05:00:00Z"
    assert key_of("2026-08-01T07:00:00+02:00") == "2026-08-01T05:00:00"
    assert nominal_time(None, "2026-08-01T07:00:00+02:00", None) == "2026-08-01T05:00:00Z"
    assert nominal_time(None, None, datetime(2026, 8, 1, tzinfo=UTC)) == "2026-08-01T00:00:00Z"


@pytest.mark.parametrize(
    ("key", "asked", "said"),
    [
        ("customer-7", None, "is no start of a period"),
        (None, "2026-08-01", "is not ISO 8601"),
        (None, None, "Give the"),
    ],
)
def test_a_run_without_a_period_is_refused(key: str | None, asked: str | None, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        nominal_time(key, asked, None)


def test_every_try_is_a_run_of_its_own_that_can_be_found_again() -> None:
    third = TaskTry("fraud.scored", "scheduled__2026-08-01", "run", 3)
    ids = third.pipeline_run_ids()
    assert len(set(ids)) == 3
    assert ids[0] == TaskTry("fraud.scored", "scheduled__2026-08-01", "run", 1).pipeline_run_id()
    assert ids[2] == third.pipeline_run_id()
