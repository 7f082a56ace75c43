"""Where the job runs: its account and region, or a clear word on what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import NoCredentialsError
from botocore.stub import Stubber

from pipeline_runtime.catalog.account import job_account, job_region
from pipeline_runtime.errors import ConfigurationError

REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE")


@pytest.fixture
def no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in REGION_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


def test_the_account_is_that_of_the_credentials(aws: Any) -> None:
    assert job_account(aws.client("sts", "111122223333")) == "111122223333"


def test_missing_credentials_are_a_configuration_error_with_the_remedy(aws: Any) -> None:
    sts = aws.client("sts")

    def no_credentials(**_: Any) -> None:
        raise NoCredentialsError

    sts.meta.events.register("before-call.sts", no_credentials)
    with pytest.raises(ConfigurationError, match=r"no AWS account: Unable to locate credentials\. .*AWS_PROFILE"):
        job_account(sts)


def test_credentials_that_have_expired_are_a_configuration_error(aws: Any) -> None:
    sts = aws.client("sts")
    with Stubber(sts) as stub:
        stub.add_client_error("get_caller_identity", "ExpiredToken", "The security token has expired")
        with pytest.raises(ConfigurationError, match=r"ExpiredToken: The security token has expired"):
            job_account(sts)


@pytest.mark.usefixtures("no_configuration")
def test_the_region_is_the_one_that_spark_reads_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    assert job_region(boto3.Session()) == "us-east-1"
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert job_region(boto3.Session()) == "eu-central-1"


@pytest.mark.usefixtures("no_configuration")
def test_a_region_of_the_profile_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[default]\nregion = eu-west-1\n", encoding="utf-8")
    assert job_region(boto3.Session()) == "eu-west-1"


@pytest.mark.usefixtures("no_configuration")
def test_a_missing_region_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="no AWS region: set AWS_REGION"):
        job_region(boto3.Session())


def test_the_catalog_room_is_imported_without_boto3_or_spark() -> None:
    rooms = (
        "account",
        "glue",
        "iceberg",
        "lakeformation",
        "locations",
        "lookup",
        "parameters",
        "pins",
        "targets",
        "update",
    )
    code = (
        f"import sys; [__import__('pipeline_runtime.catalog.' + room) for room in {rooms}];"
        "print([name for name in ('boto3', 'botocore', 'pyspark', 'great_expectations') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
