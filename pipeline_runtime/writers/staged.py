"""What the writers have in common: what they are given, and the batch that they hand back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pipeline_runtime.interrupts import Interrupt
from pipeline_runtime.writers.owner import this_process

if TYPE_CHECKING:
    from datetime import datetime

    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client
    from pyspark.sql import DataFrame, SparkSession

    from pipeline_runtime.evidence.store import EvidenceStore
    from pipeline_runtime.writers.plan import Later, Published, TargetPlan

__all__ = ["StagedBatch", "WriterTools", "discarded_on_failure"]


@dataclass(frozen=True)
class WriterTools:
    """What a writer works with: the engine, the catalog, the store of the files, and where records are kept.

    `owner` names the process, so that a later run can tell whether it is gone.
    """

    spark: SparkSession
    glue: GlueClient
    s3: S3Client
    evidence: EvidenceStore
    owner: str | None = field(default_factory=this_process)


class StagedBatch(Protocol):
    """A batch that is written and that no consumer sees yet. End it by `publish` or by `discard`."""

    @property
    def plan(self) -> TargetPlan: ...

    @property
    def rows(self) -> int:
        """Rows written, exact even where Spark ran a task twice."""

    @property
    def partitions(self) -> int:
        """Partitions that publishing replaces; 0 for an unpartitioned target."""

    @property
    def is_empty(self) -> bool:
        """Whether the output held no row, so that publishing replaces nothing."""

    @property
    def snapshot_id(self) -> int | None:
        """Iceberg: the staged snapshot; None where the output held no row."""

    @property
    def branch(self) -> str | None:
        """Iceberg: the branch that holds the batch."""

    @property
    def locations(self) -> tuple[str, ...]:
        """Parquet: the s3:// prefixes that the table will be switched to."""

    @property
    def created(self) -> bool:
        """Whether the table is a first run's own: nothing was ever published to it."""

    def record(self) -> Mapping[str, Any]:
        """What to keep before publishing, so that someone else can tell afterwards whether it happened."""

    def audit_frame(self) -> DataFrame:
        """The batch's rows as they are stored, and no others: what is validated is what publishing shows."""

    def published_since(self, moment: datetime) -> tuple[Later, ...]:
        """What others have published since to the partitions, or the table, that publishing replaces, oldest first."""

    def publish(self) -> Published:
        """Makes the table show the batch; an empty one replaces nothing. Raises WriteFailed; `discard` cleans up."""

    def discard(self) -> None:
        """Leaves the target as it was before the run. Safe to call twice, and after an error: it only warns."""


@contextmanager
def discarded_on_failure(batch: StagedBatch) -> Iterator[None]:
    """Within, a failure leaves no trace of the batch. An interrupt does: the JVM takes no further call then, and
    what is staged goes with a later run, or with Iceberg's own retention.
    """
    try:
        yield
    except Interrupt:
        raise
    except BaseException:
        batch.discard()
        raise
