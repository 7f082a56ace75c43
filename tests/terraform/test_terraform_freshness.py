"""The watch over products' freshness is applied for real, and gains a product without touching anything else."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from sandbox.deploy.terraform import ACCOUNTS, Workspace
from tests.conftest import Aws

pytestmark = [pytest.mark.terraform, pytest.mark.slow]


def test_a_watch_gains_a_product(aws: Aws, terraform_tree: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "executor.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("handler.py", "")
    watch = Workspace(terraform_tree / "modules" / "freshness" / "examples" / "basic", tmp_path / "data")
    watch.use(aws.endpoint, ACCOUNTS["fraud"])
    watch.init()

    watch.apply(executor_zip=str(zipped))
    assert watch.changes(executor_zip=str(zipped)) == []
    found = aws.client("lambda", ACCOUNTS["fraud"]).get_function(FunctionName="cordata-fraud-freshness")
    variables = found["Configuration"]["Environment"]["Variables"]
    assert variables["CORDATA_OWNER_TOPIC"] == "arn:aws:sns:eu-central-1:444455556666:cordata-fraud-owners"
    assert [each["table"] for each in json.loads(variables["CORDATA_FRESHNESS_PRODUCTS"])] == ["transactions_scored"]

    second = terraform_tree.parent / "domains" / "fraud" / "pipelines" / "another.yml"
    sample = second.with_name("transactions_scored.yml").read_text("utf-8")
    second.write_text(sample.replace("table: transactions_scored", "table: another"), "utf-8")
    try:
        descriptors = [f"domains/fraud/pipelines/{name}.yml" for name in ("transactions_scored", "another")]
        changes = watch.changes(executor_zip=str(zipped), descriptors=descriptors)
    finally:
        second.unlink()
    assert {change.address for change in changes} == {"module.freshness.aws_lambda_function.this"}
    watch.destroy(executor_zip=str(zipped))
    assert watch("state", "list").stdout == ""
