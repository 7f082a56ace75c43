"""Where the job runs: its account and its region."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.answers import refused
from pipeline_runtime.errors import ConfigurationError

if TYPE_CHECKING:
    from boto3 import Session
    from mypy_boto3_sts import STSClient

__all__ = ["job_account", "job_region"]


def job_account(sts: STSClient) -> str:
    """The 12 digits of the account whose credentials the job holds.

    Raises ConfigurationError where there are no credentials, or AWS does not accept them.
    """
    from botocore.exceptions import ClientError, NoCredentialsError, PartialCredentialsError

    try:
        return sts.get_caller_identity()["Account"]
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise ConfigurationError(
            f"no AWS account: {error}. Run as a Glue job with a role, or set AWS_PROFILE or AWS_ACCESS_KEY_ID "
            "and AWS_SECRET_ACCESS_KEY."
        ) from error
    except ClientError as error:
        raise ConfigurationError(f"no AWS account: {refused(error, 'ask STS who we are')}") from error


def job_region(session: Session, environ: Mapping[str, str] = os.environ) -> str:
    """The region of the job's catalog.

    AWS_REGION comes first: it is the one that Iceberg's Java client reads, and Spark and boto3 must not look
    at two catalogs. Then what boto3 finds: AWS_DEFAULT_REGION, or the profile's. Raises ConfigurationError.
    """
    region = environ.get("AWS_REGION") or session.region_name
    if not region:
        raise ConfigurationError("no AWS region: set AWS_REGION, or a region in the AWS profile, e.g. eu-central-1.")
    return region
