"""The catalog for whoever only looks: a pull request's checks, a pin, a plan. No evidence, no lineage, no engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pipeline_runtime.catalog.account import job_account, job_region
from pipeline_runtime.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_lakeformation import LakeFormationClient
    from mypy_boto3_s3 import S3Client

__all__ = ["CatalogAccess", "CatalogClients", "open_catalog_access"]


class CatalogClients(Protocol):
    """What resolving a source, a target and its tags takes: a run's deployment has it, and CatalogAccess is it."""

    @property
    def account(self) -> str: ...
    @property
    def region(self) -> str: ...
    @property
    def governance_catalog(self) -> str | None: ...
    @property
    def glue(self) -> GlueClient: ...
    @property
    def s3(self) -> S3Client: ...
    @property
    def lakeformation(self) -> LakeFormationClient: ...


@dataclass(frozen=True)
class CatalogAccess:
    """`account` and `region` are those of the credentials; `governance_catalog` owns the LF-tags where it is set."""

    account: str
    region: str
    governance_catalog: str | None
    glue: GlueClient
    s3: S3Client
    lakeformation: LakeFormationClient


@contextmanager
def open_catalog_access(environ: Mapping[str, str]) -> Iterator[CatalogAccess]:
    """The catalog that the environment's credentials and region lead to.

    Raises ConfigurationError where there are none, and within where AWS cannot be reached.
    """
    import boto3
    from botocore.exceptions import BotoCoreError

    try:
        session = boto3.Session()
        region = job_region(session, environ)
        yield CatalogAccess(
            account=job_account(session.client("sts", region_name=region)),
            region=region,
            governance_catalog=environ.get("CORDATA_GOVERNANCE_CATALOG") or None,
            glue=session.client("glue", region_name=region),
            s3=session.client("s3", region_name=region),
            lakeformation=session.client("lakeformation", region_name=region),
        )
    except BotoCoreError as error:
        raise ConfigurationError(f"the catalog cannot be asked: {error}") from error
