"""What a run leaves for those who ask later: provenance, quality, identity."""

from __future__ import annotations

import hashlib
import json
import subprocess
import urllib.request
import uuid
from typing import Any

import pytest
from lab import Lab

pytestmark = pytest.mark.spark


def fake(lab: Lab, path: str, body: dict[str, Any] | None = None) -> Any:
    """A test-only path of the DataZone fake."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{lab.aws.endpoint}{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_git_show_gives_the_descriptor_that_the_event_names(lab):
    repository = lab.root.parents[1]

    def git(*arguments: str) -> bytes:
        identity = ("-c", "user.name=A", "-c", "user.email=a@cordata.example", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *identity, *arguments], cwd=repository, check=True, capture_output=True).stdout

    git("init", "-q")
    git("add", "domains")
    git("commit", "-q", "-m", "Add the payments product")

    facet = lab.run().terminal["run"]["facets"]["cordata_provenance"]

    shown = git("show", f"{facet['descriptor_git_commit']}:{facet['descriptor_path']}")
    assert hashlib.sha256(shown).hexdigest() == facet["descriptor_sha256"]
    assert facet["descriptor_git_commit_signed"] is False
    assert facet["git_dirty"] is False
    assert facet["source_schema_version"] == 1
    assert facet["step_params"] == {"model_version": "v3"}
    for path, digest in facet["file_sha256"].items():
        assert hashlib.sha256(git("show", f"{facet['descriptor_git_commit']}:{path}")).hexdigest() == digest
    assert any(path.endswith("sql/score.sql") for path in facet["file_sha256"])

    lab.change("sql/settled.sql", "settled'", "settled' AND id > 0")
    assert lab.run().terminal["run"]["facets"]["cordata_provenance"]["git_dirty"] is True


def test_drifted_scores_are_told_with_the_bound_and_the_measured_value(lab):
    lab.write("baselines/baseline_score.yml", "bins: [0.0, 0.25, 0.5, 0.75, 1.0]\nweights: [0.25, 0.25, 0.25, 0.25]\n")
    lab.write(
        "expectations/payments_scored.yml",
        "suite_name: payments_scored\n"
        "expectations:\n"
        "  - type: expect_column_kl_divergence_to_be_less_than\n"
        "    kwargs: {column: score, partition_object: baseline_score, threshold: 0.15}\n",
    )
    lab.load([(i, str(i % 100), "settled", "2026-08-01") for i in range(400)])
    assert lab.run().code == 0
    lab.load([(i, str(i % 30), "settled", "2026-08-01") for i in range(400)])

    outcome = lab.run()

    assert outcome.code == 1
    drift = outcome.failing[0]
    assert drift["assertion"] == "expect_column_kl_divergence_to_be_less_than"
    assert (drift["column"], drift["expected"]) == ("score", "0.15")
    assert 0.5 < float(drift["actual"]) < 2


def test_a_change_of_the_ontology_changes_the_next_runs_outcome(lab):
    lf = lab.client("lakeformation")
    key = f"subject_{uuid.uuid4().hex[:6]}"
    lf.create_lf_tag(TagKey=key, TagValues=["customer", "staff"])
    lab.change_descriptor("residency: eu", f"residency: eu\n    {key}: customer")
    assert lab.run().code == 0

    lf.update_lf_tag(TagKey=key, TagValuesToDelete=["customer"], TagValuesToAdd=["person"])
    outcome = lab.run()

    assert outcome.code == 1
    assert f"does not allow customer for {key}" in outcome.trace
    assert "person, staff" in outcome.trace


def test_two_accounts_events_about_one_table_meet_in_one_node_linked_to_the_asset(
    aws, spark, tmp_path, adapter, spark_conf
):
    fraud = Lab(aws, spark, tmp_path / "one", adapter, account="111122223333")
    finance = Lab(aws, spark, tmp_path / "two", adapter, account="222233334444")
    arn = f"arn:aws:glue:eu-central-1:111122223333:table/{fraud.curated}/payments_scored"
    fake(fraud, "/fake/assets", {"arns": [arn]})
    written = fraud.submit(spark_conf)
    assert written.code == 0, written.trace
    finance.client("glue").create_table(
        DatabaseName=finance.raw,
        TableInput={
            "Name": "shared_payments",
            "TargetTable": {
                "CatalogId": "111122223333",
                "DatabaseName": fraud.curated,
                "Name": "payments_scored",
            },
        },
    )
    version = int(fraud.definition()["VersionId"])
    finance.change_descriptor("table: payments\n", "table: shared_payments\n")
    finance.pin(version)
    finance.write("sql/settled.sql", "SELECT id, amount, day FROM frame\n")

    read = finance.submit(spark_conf)

    assert read.code == 0, read.trace
    assert finance.rows() == fraud.rows()
    source = read.terminal["inputs"][0]
    target = written.terminal["outputs"][0]
    assert (source["namespace"], source["name"]) == (target["namespace"], target["name"])
    nodes = [node for node in fake(fraud, "/fake/nodes") if node["sourceIdentifier"] == arn]
    assert len(nodes) == 1
    assert nodes[0]["asset"] is not None


def test_the_listener_is_attached_and_what_it_saw_is_kept(lab, spark_conf):
    outcome = lab.submit(spark_conf)

    assert outcome.code == 0, outcome.trace
    kept = (lab.evidence / "runs" / outcome.run_id / "listener" / "events.jsonl").read_text("utf-8").splitlines()
    events = [json.loads(line) for line in kept]
    roots = {
        event["run"]["facets"]["parent"]["root"]["run"]["runId"]
        for event in events
        if "parent" in event["run"]["facets"]
    }
    assert roots == {outcome.run_id}
    assert any(event["outputs"] for event in events)
