"""The stand-in as one process: accounts, S3 between them, Spark's Iceberg on top."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

FRAUD = "111122223333"
FINANCE = "444455556666"


@pytest.mark.parametrize("account", [FRAUD, FINANCE])
def test_a_twelve_digit_access_key_names_its_account(aws: Any, account: str) -> None:
    assert aws.client("sts", account).get_caller_identity()["Account"] == account


def test_an_assumed_role_belongs_to_its_own_account(aws: Any) -> None:
    role = f"arn:aws:iam::{FINANCE}:role/reader"
    session = aws.client("sts", FRAUD).assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
    assert aws.client("sts", session["AccessKeyId"]).get_caller_identity()["Account"] == FINANCE


def test_a_conditional_write_happens_once(aws: Any) -> None:
    s3 = aws.client("s3", FRAUD)
    s3.create_bucket(Bucket="claims-once", CreateBucketConfiguration={"LocationConstraint": aws.region})
    s3.put_object(Bucket="claims-once", Key="terminal.json", Body=b"first", IfNoneMatch="*")
    with pytest.raises(s3.exceptions.ClientError, match="PreconditionFailed"):
        s3.put_object(Bucket="claims-once", Key="terminal.json", Body=b"second", IfNoneMatch="*")
    other_account = aws.client("s3", FINANCE)
    assert other_account.get_object(Bucket="claims-once", Key="terminal.json")["Body"].read() == b"first"


def test_the_state_file_says_where_the_server_listens(tmp_path: Path) -> None:
    state_file = tmp_path / "aws.json"
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "sandbox.fakes.aws", "--port", "0", "--state-file", str(state_file)]
    process = subprocess.Popen(command, cwd=root)
    try:
        deadline = time.monotonic() + 30
        while not (state_file.exists() and state_file.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        state = json.loads(state_file.read_text())
        assert state["pid"] == process.pid
        assert state["endpoint"] == f"http://127.0.0.1:{state['port']}"
    finally:
        process.terminate()
        assert process.wait(10) == 0


def test_a_job_run_that_is_told_to_stop_is_stopping_until_it_has_ended(aws: Any) -> None:
    glue = aws.client("glue", FRAUD)
    glue.create_job(Name="stopped", Role="r", Command={"Name": "glueetl"}, ExecutionProperty={"MaxConcurrentRuns": 9})
    at_work = glue.start_job_run(JobName="stopped")["JobRunId"]
    ended = glue.start_job_run(JobName="stopped", Arguments={"--fake-state": "SUCCEEDED"})["JobRunId"]

    answer = glue.batch_stop_job_run(JobName="stopped", JobRunIds=[at_work, ended, "jr_unknown"])

    assert [each["JobRunId"] for each in answer["SuccessfulSubmissions"]] == [at_work]
    assert [each["JobRunId"] for each in answer["Errors"]] == [ended, "jr_unknown"]
    states = [glue.get_job_run(JobName="stopped", RunId=id_)["JobRun"]["JobRunState"] for id_ in (at_work, ended)]
    assert states == ["STOPPING", "SUCCEEDED"]


@pytest.mark.spark
def test_iceberg_commits_move_the_version_without_filling_the_archive(aws: Any, spark: Any) -> None:
    glue = aws.client("glue")
    glue.create_database(DatabaseInput={"Name": "sandbox_commits", "LocationUri": "s3://test-lake/commits"})
    name = "glue_catalog.sandbox_commits.t"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, day DATE) USING iceberg PARTITIONED BY (day)")
    for number in range(3):
        spark.sql(f"INSERT INTO {name} VALUES ({number}, DATE'2026-07-01')")

    assert spark.table(name).count() == 3
    versions = glue.get_table_versions(DatabaseName="sandbox_commits", TableName="t")["TableVersions"]
    assert [version["VersionId"] for version in versions] == ["3"]
