"""How main comes to show a staged batch, also when main has moved since."""

from __future__ import annotations

import logging

from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import WriteFailed
from pipeline_runtime.writers.iceberg_branch import AGAIN, branch_name, create_branch, read_batch, write_batch
from pipeline_runtime.writers.iceberg_table import MAIN, IcebergTable, Snapshot

__all__ = ["advance_main"]

_log = logging.getLogger(__name__)


def advance_main(table: IcebergTable, run_id: str, base: Snapshot, batch: Snapshot) -> Snapshot:
    """Publish the staged commit and return the snapshot at which main now shows it.

    Main where the run found it: it moves forward to the batch. Main moved: the batch is picked onto it,
    which Iceberg refuses where the same partitions changed (and always for an unpartitioned table); then
    the audited rows are written once more on top of what main has become, as a run started now would do.
    Raises WriteFailed where main moved yet again, and engine errors as they are.
    """
    if _forward(table, branch_name(run_id), base, batch) or _picked(table, base, batch):
        return _main(table)
    _log.warning("%s: what the batch replaces changed meanwhile; the audited rows are written again", table.fqn)
    again = branch_name(run_id) + AGAIN
    new_base = create_branch(table, again)
    rewritten = write_batch(table, read_batch(table, batch), again, new_base, run_id)
    if rewritten is None or rewritten.count("added-records") != batch.count("added-records"):
        raise WriteFailed(
            f"{table.fqn}: writing the audited rows again gave {rewritten.count('added-records') if rewritten else 0} "
            f"rows instead of {batch.count('added-records')}; nothing was published"
        )
    if _forward(table, again, new_base, rewritten) or _picked(table, new_base, rewritten):
        return _main(table)
    raise WriteFailed(
        f"{table.fqn}: others kept changing what the batch replaces while it was being published; nothing was "
        "published. Run again when the other writer has finished."
    )


def _forward(table: IcebergTable, branch: str, base: Snapshot, batch: Snapshot) -> bool:
    """True when main stands at the batch, False when main had moved. Other failures are raised."""
    try:
        table.call("fast_forward", branch=MAIN, to=branch)
    except failures() as error:
        # The answer may be lost though the commit went through, so main is asked, not the error believed.
        if _is_published(table, base, batch):
            return True
        if not _has_moved(table, base):
            raise
        _log.info("main has moved since the batch was staged: %s", short_message(error))
        return False
    table.refresh()
    return True


def _picked(table: IcebergTable, base: Snapshot, batch: Snapshot) -> bool:
    """True when the batch was applied on top of main, False when Iceberg refused. Other failures are raised."""
    try:
        table.call("cherrypick_snapshot", snapshot_id=batch.id)
    except failures() as error:
        if _is_published(table, base, batch):
            return True
        if not _is_refusal(error):
            raise
        return False
    table.refresh()
    return True


def _is_refusal(error: Exception) -> bool:
    """Whether Iceberg judged that the snapshot does not apply, rather than failed while trying."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    refusals = ("ValidationException", "CommitFailedException", "IllegalArgumentException")
    while java is not None:
        if java.getClass().getSimpleName() in refusals:
            return True
        java = java.getCause()
    return False


def _is_published(table: IcebergTable, base: Snapshot, batch: Snapshot) -> bool:
    try:
        table.refresh()
    except failures() as error:
        raise WriteFailed(
            f"{table.fqn}: the publishing commit was not answered and the catalog cannot be asked whether it went "
            f"through ({short_message(error)}). It did if main's history has snapshot {batch.id}."
        ) from error
    return any(
        batch.id == snapshot.id or snapshot.count("source-snapshot-id") == batch.id for snapshot in table.since(base.id)
    )


def _has_moved(table: IcebergTable, base: Snapshot) -> bool:
    head = table.head()
    return head is not None and head.id != base.id


def _main(table: IcebergTable) -> Snapshot:
    table.refresh()
    head = table.head()
    if head is None:
        raise RuntimeError(f"{table.name}: main has no snapshot after a commit to it")
    return head
