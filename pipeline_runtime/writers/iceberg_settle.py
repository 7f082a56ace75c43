"""What a run leaves of its unpublished batch on an Iceberg table, its own or a killed one's: removed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.answers import refusals_as
from pipeline_runtime.catalog.locations import bucket_and_key
from pipeline_runtime.engine.catalogs import RUN_TAG
from pipeline_runtime.errors import WriteFailed
from pipeline_runtime.writers.abandoned import ABANDONED_AFTER, is_abandoned
from pipeline_runtime.writers.failing import only_warning
from pipeline_runtime.writers.iceberg_audits import Audit, Audits
from pipeline_runtime.writers.iceberg_branch import RUN_ID, drop_branch, drop_branches, other_audits, run_id_of
from pipeline_runtime.writers.iceberg_table import IcebergTable

if TYPE_CHECKING:
    from pipeline_runtime.writers.plan import TargetPlan
    from pipeline_runtime.writers.staged import WriterTools

__all__ = ["is_shared", "remove_batch", "settle"]

_log = logging.getLogger(__name__)

#: How far the clocks of S3 and of a run may differ.
_SKEW = timedelta(minutes=5)
_LOOKUPS = 16


def settle(tools: WriterTools, plan: TargetPlan, table: IcebergTable, earlier: Iterable[Audit], run_id: str) -> None:
    """Removes what killed runs left: branches, snapshots and files. `run_id` is the run that is about to stage.

    `earlier` are the records that were there before the run wrote its own. A run counts as killed where its process
    is gone, where it has said how it ended, or after a day; an earlier start under the run's own id always does. A
    branch without a record goes a day after its batch was written. One that nothing was written to stands at a
    snapshot of main, whose age says nothing about the run: it is left to Iceberg's own expiry (seven days).
    """
    audits = Audits(tools.evidence, plan.identity)
    known = {audit.run_id: audit for audit in earlier}
    for audit in known.values():
        if audit.run_id == run_id or is_abandoned(tools, audit.run_id, audit.owner, audit.at):
            with only_warning(f"{table.fqn}: what run {audit.run_id} left was not removed"):
                remove_batch(table, audit.run_id)
                table.expire(table.unshown(RUN_ID, audit.run_id))  # where it was killed right after it dropped a branch
                _remove_unnamed_files(tools, table, audit)
                if audit.run_id != run_id:
                    audits.end(audit.run_id)
    before = datetime.now(UTC) - ABANDONED_AFTER
    for branch in other_audits(table, run_id):
        head = table.head(branch)
        if (
            run_id_of(branch) not in known
            and head is not None
            and RUN_ID in head.summary
            and head.committed_at < before
        ):
            drop_branch(table, branch)


def remove_batch(table: IcebergTable, run_id: str) -> None:
    """Drops the run's branches and the snapshots that only they showed, with their files. None is fine."""
    only_theirs = drop_branches(table, run_id)
    table.refresh()
    table.expire(only_theirs)


def is_shared(tools: WriterTools, plan: TargetPlan, table: IcebergTable, run_id: str) -> bool:
    """Whether another run is staging in the same table. Raises EvidenceFailed."""
    others = (audit.run_id for audit in Audits(tools.evidence, plan.identity).all() if audit.run_id != run_id)
    return bool(other_audits(table, run_id)) or any(others)


def _remove_unnamed_files(tools: WriterTools, table: IcebergTable, audit: Audit) -> None:
    """Removes the files that a killed run wrote and no commit names.

    Iceberg tags each object with the run that wrote it, so that no file of another writer is ever in question;
    Iceberg then says which of them the table does not name.
    """
    written = _written_by(tools, table.location, audit)
    removed = table.remove_unnamed(written) if written else 0
    if removed:
        _log.warning("%s: removed %d files of run %s, which was stopped", table.fqn, removed, audit.run_id)


def _written_by(tools: WriterTools, location: str, audit: Audit) -> list[tuple[str, datetime]]:
    """Location and age of the objects below the table's location that carry the run's tag."""
    bucket, prefix = bucket_and_key(location)

    def is_of_run(key: str) -> bool:
        with refusals_as(WriteFailed, f"read the tags of s3://{bucket}/{key}"):
            tags = tools.s3.get_object_tagging(Bucket=bucket, Key=key)["TagSet"]
        return any(tag["Key"] == RUN_TAG and tag["Value"] == audit.run_id for tag in tags)

    young = list(_younger(tools, bucket, prefix.rstrip("/") + "/", audit.at - _SKEW))
    with ThreadPoolExecutor(_LOOKUPS) as pool:
        verdicts = pool.map(is_of_run, [key for key, _ in young])
        return [(f"s3://{bucket}/{key}", at) for (key, at), of_run in zip(young, verdicts, strict=True) if of_run]


def _younger(tools: WriterTools, bucket: str, prefix: str, moment: datetime) -> Iterator[tuple[str, datetime]]:
    with refusals_as(WriteFailed, f"list the files below s3://{bucket}/{prefix}"):
        for page in tools.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for found in page.get("Contents", ()):
                if found["LastModified"] >= moment:
                    yield found["Key"], found["LastModified"]
