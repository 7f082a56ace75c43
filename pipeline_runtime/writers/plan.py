"""Where a batch goes and how: what a writer needs to know, decided before Spark starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from pipeline_runtime.catalog.locations import bucket_root
from pipeline_runtime.catalog.table import QUARANTINE_SUFFIX, CatalogTable, TableIdentity

__all__ = ["QUARANTINE_SUFFIX", "Later", "Published", "TargetPlan", "quarantined"]


@dataclass(frozen=True)
class TargetPlan:
    """A target, resolved against the catalog.

    `spark_catalog` is the name of the Spark catalog that holds it; `location` an s3:// prefix without a
    trailing slash; `existing` is None where the first run creates the table. `declared` are the columns that the
    contract declares, in lower case: those of them that the table lacks, a run may add.
    """

    identity: TableIdentity
    spark_catalog: str
    kind: str
    location: str
    partition_by: tuple[str, ...]
    existing: CatalogTable | None
    declared: tuple[str, ...] = ()

    @property
    def warehouse(self) -> str:
        """`s3://<bucket>`: Iceberg's catalog asks for one, though every table has a location of its own."""
        return bucket_root(self.location)


@dataclass(frozen=True)
class Later:
    """What was published after some moment to what a batch would replace.

    `run_id` is None where no run of ours did; `at` is aware and UTC; `partitions` are values as text, in the order of
    the partition columns, none for an unpartitioned target.
    """

    run_id: str | None
    at: datetime
    partitions: tuple[tuple[str | None, ...], ...]

    def __str__(self) -> str:
        who = f"run {self.run_id}" if self.run_id else "another writer"
        shown = [f"[{', '.join('NULL' if value is None else value for value in each)}]" for each in self.partitions[:5]]
        more = f" and {len(self.partitions) - 5} more" if len(self.partitions) > 5 else ""
        what = f"partition{'s' if len(self.partitions) > 1 else ''} {', '.join(shown)}{more}" if shown else "the table"
        return f"{who} published {what} at {self.at:%Y-%m-%dT%H:%M:%SZ}"


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
        declared=(),
    )
