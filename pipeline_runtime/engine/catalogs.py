"""Spark catalogs over Glue catalogs: one for the job's own account, one for each foreign one (decision D3)."""

from __future__ import annotations

from pipeline_runtime.catalog.table import TableIdentity

__all__ = ["OWN_CATALOG", "RUN_TAG", "catalog_name", "catalog_settings", "quoted", "tagging"]

OWN_CATALOG = "glue_catalog"
#: S3 tag of every object that a run writes through Iceberg: the run's id. With it a later run can tell a killed run's
#: files from those of writers that are still at work. The job's role needs s3:PutObjectTagging and
#: s3:GetObjectTagging on the target's prefix.
RUN_TAG = "cordata.run_id"


def catalog_name(identity: TableIdentity, job_account: str) -> str:
    """The Spark catalog in which a table is found."""
    return OWN_CATALOG if identity.account == job_account else f"glue_{identity.account}"


def tagging(run_id: str) -> dict[str, str]:
    """The setting that tags what a run writes to its own account's tables."""
    return {f"spark.sql.catalog.{OWN_CATALOG}.s3.write.tags.{RUN_TAG}": run_id}


def quoted(*parts: str) -> str:
    """A Spark identifier, each part in backticks."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def catalog_settings(name: str, *, account: str | None, warehouse: str, endpoint: str | None) -> dict[str, str]:
    """Settings of one Iceberg catalog on Glue.

    `catalog-impl` rather than `type=glue`, with which the openlineage-spark listener loses Iceberg inputs.
    `account` names a foreign Glue catalog; `endpoint` is set only where AWS is a stand-in.
    """
    prefix = f"spark.sql.catalog.{name}"
    settings = {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
        f"{prefix}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        f"{prefix}.warehouse": warehouse,
        # A remembered table hides what was committed meanwhile: a run that looked at its target, wrote to a branch
        # for longer than the memory lasts, and looked again, did not find its own snapshot.
        f"{prefix}.cache-enabled": "false",
        # Iceberg would refuse database names with a hyphen, which Glue has.
        f"{prefix}.glue.skip-name-validation": "true",
    }
    if account is not None:
        settings[f"{prefix}.glue.id"] = account
    if endpoint is not None:
        settings |= {
            f"{prefix}.glue.endpoint": endpoint,
            f"{prefix}.s3.endpoint": endpoint,
            f"{prefix}.s3.path-style-access": "true",
        }
    return settings
