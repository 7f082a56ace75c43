"""The edge of a run: the clients, the places and the engine it was given, made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.account import job_account, job_region
from pipeline_runtime.engine.session import build_session
from pipeline_runtime.evidence.store import EvidenceStore, open_store
from pipeline_runtime.lineage.settings import LineageSettings
from pipeline_runtime.writers.owner import owner_of

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_lakeformation import LakeFormationClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from pyspark.sql import SparkSession

    #: An application name and Spark's settings in, a session out.
    SparkStarter = Callable[[str, Mapping[str, str]], SparkSession]

__all__ = ["Deployment", "connect"]


@dataclass(frozen=True)
class Deployment:
    """What the deployment decides and no descriptor may.

    `account` and `region` are the job's own; `endpoint` is set where AWS is a stand-in; `governance_catalog` is
    the catalog that owns the LF-tags, None where it is the job's own. `secrets` makes a client of Secrets Manager,
    which few runs need.
    """

    account: str
    region: str
    endpoint: str | None
    governance_catalog: str | None
    glue: GlueClient
    s3: S3Client
    lakeformation: LakeFormationClient
    secrets: Callable[[], SecretsManagerClient]
    evidence: EvidenceStore
    lineage: LineageSettings
    environ: Mapping[str, str]
    start_spark: SparkStarter

    @property
    def owner(self) -> str | None:
        """Who does the work, as `writers.owner` names it: what a later run asks to know whether this one is gone."""
        return owner_of(self.environ)


def connect(environ: Mapping[str, str], start_spark: SparkStarter = build_session) -> Deployment:
    """The deployment that the environment describes. Raises ConfigurationError for what is missing or wrong."""
    import boto3

    lineage = LineageSettings.from_environ(environ)
    session = boto3.Session()
    region = job_region(session, environ)

    def s3() -> S3Client:
        return session.client("s3", region_name=region)

    return Deployment(
        account=job_account(session.client("sts", region_name=region)),
        region=region,
        endpoint=environ.get("AWS_ENDPOINT_URL"),
        governance_catalog=environ.get("CORDATA_GOVERNANCE_CATALOG") or None,
        glue=session.client("glue", region_name=region),
        s3=s3(),
        lakeformation=session.client("lakeformation", region_name=region),
        secrets=lambda: session.client("secretsmanager", region_name=region),
        evidence=open_store(lineage.evidence, s3),
        lineage=lineage,
        environ=environ,
        start_spark=start_spark,
    )
