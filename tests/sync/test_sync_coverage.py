"""What no deployed role covers is refused on merge, and the message names what to apply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline_runtime.cli import main

SCORED = "domains/fraud/pipelines/transactions_scored.yml"


def sync(repository: Any, config: Any) -> int:
    return main(["sync", str(repository.root), config.url])


@pytest.mark.parametrize(
    ("deployed", "problem"),
    [
        (
            {"source": "fraud_raw.other"},
            "source fraud_raw.transactions is not covered; the role covers fraud_raw.other",
        ),
        (
            {"target": {"database": "fraud_curated", "table": "scored", "location": "s3://x/scored/"}},
            "target fraud_curated.transactions_scored is not covered; the role covers fraud_curated.scored",
        ),
        ({"descriptor": "domains/fraud/pipelines/other.yml"}, "no job is deployed for it"),
    ],
)
def test_a_descriptor_that_the_role_does_not_cover_is_refused(
    repository: Any, config: Any, capsys: pytest.CaptureFixture[str], deployed: dict[str, Any], problem: str
) -> None:
    config.deploy(**deployed)
    assert sync(repository, config) == 2
    said = capsys.readouterr().err
    assert f"{SCORED}: {problem}" in said
    assert "apply the domain's transform_jobs with this commit first, then sync again" in said
    assert config.names() == ["deployed.json"]


def test_a_moved_target_is_refused_and_a_slash_at_its_end_is_no_move(
    repository: Any, config: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    target = {
        "database": "Fraud_Curated",
        "table": "transactions_scored",
        "location": "s3://cordata-fraud-curated-eu-central-1/transactions_scored",
    }
    config.deploy(target=target)
    assert sync(repository, config) == 0
    config.deploy(target=target | {"location": "s3://elsewhere/transactions_scored/"})
    assert sync(repository, config) == 2
    assert (
        "target location s3://cordata-fraud-curated-eu-central-1/transactions_scored is not covered"
        in capsys.readouterr().err
    )


def test_all_gaps_come_at_once_with_what_to_apply(
    repository: Any, config: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    second = repository.root / "pipelines" / "second.yml"
    text = (repository.root / "pipelines" / "transactions_scored.yml").read_text("utf-8")
    second.write_text(text.replace("transactions-scored-daily", "second"), "utf-8")
    repository.commit()
    config.put(
        "deployed.json", json.dumps({"domain": "fraud", "apply": "terraform/live/prod/domains/fraud", "jobs": {}})
    )
    assert sync(repository, config) == 2
    assert capsys.readouterr().err.splitlines() == [
        "SyncRefused: domains/fraud/pipelines/second.yml: no job is deployed for it",
        f"{SCORED}: no job is deployed for it",
        "apply terraform/live/prod/domains/fraud with this commit first, then sync again",
    ]


def test_another_domains_prefix_is_refused(repository: Any, config: Any, capsys: pytest.CaptureFixture[str]) -> None:
    config.put("deployed.json", json.dumps({"domain": "policy", "jobs": {}}))
    assert sync(repository, config) == 2
    assert "is of domain fraud; deployed here is policy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "does not exist: nothing is deployed there yet; apply the domain's transform_jobs first"),
        ("{}", "domain: Field required; apply the domain's transform_jobs again, it writes this file"),
        ("not json", "Invalid JSON"),
    ],
)
def test_where_nothing_usable_is_deployed_nothing_is_synced(
    repository: Any, config: Any, capsys: pytest.CaptureFixture[str], content: str | None, problem: str
) -> None:
    if content is None:
        config.s3.delete_object(Bucket=config.bucket, Key="config/deployed.json")
    else:
        config.put("deployed.json", content)
    assert sync(repository, config) == 2
    assert problem in capsys.readouterr().err
    assert "current.json" not in config.names()


def test_a_bucket_that_cannot_be_read_is_no_refusal_but_a_failure(
    repository: Any, aws: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sync", str(repository.root), "s3://no-such-bucket-anywhere/config"]) == 1
    assert capsys.readouterr().err.startswith("SyncFailed: s3://no-such-bucket-anywhere/config/deployed.json: ")
