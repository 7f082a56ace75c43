"""Where a batch goes and how: what a writer needs to know, decided before Spark starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipeline_runtime.catalog.table import QUARANTINE_SUFFIX, CatalogTable, TableIdentity

__all__ = ["QUARANTINE_SUFFIX", "Published", "TargetPlan", "quarantined"]


@dataclass(frozen=True)
class TargetPlan:
    """A target, resolved against the catalog.

    `spark_catalog` is the name of the Spark catalog that holds it; `location` an s3:// prefix without a
    trailing slash; `existing` is None where the first run creates the table.
    """

    identity: TableIdentity
    spark_catalog: str
    kind: str
    location: str
    partition_by: tuple[str, ...]
    existing: CatalogTable | None

    @property
    def warehouse(self) -> str:
        """`s3://<bucket>`: Iceberg's catalog asks for one, though every table has a location of its own."""
        return "/".join(self.location.split("/")[:3])


@dataclass(frozen=True)
class Published:
    """What a publish made true. `replaced` is False where an empty output replaced nothing."""

    identity: TableIdentity
    rows: int
    partitions: int
    snapshot_id: int | None
    replaced: bool


def quarantined(plan: TargetPlan, existing: CatalogTable | None) -> TargetPlan:
    """The quarantine beside a target: same database, its own table and prefix, a partition per run id."""
    return replace(
        plan,
        identity=replace(plan.identity, table=plan.identity.table + QUARANTINE_SUFFIX),
        location=plan.location + QUARANTINE_SUFFIX,
        partition_by=("run_id",),
        existing=existing,
    )
