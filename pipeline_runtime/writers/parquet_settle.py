"""What earlier runs left of a parquet table: finished, undone or removed before a new batch is staged."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from pipeline_runtime.catalog import parameters
from pipeline_runtime.catalog.locations import normal_location, table_root
from pipeline_runtime.catalog.lookup import find_table
from pipeline_runtime.catalog.partition_switch import location_of, partition_definitions
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.errors import CatalogError, EvidenceFailed, WriteFailed
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.writers.abandoned import is_abandoned
from pipeline_runtime.writers.parquet_files import lies_in_run_folder, remove_files, run_location
from pipeline_runtime.writers.parquet_ledger import Ledger, Record, State, Superseded, record_of_publish
from pipeline_runtime.writers.parquet_switch import advance, retreat
from pipeline_runtime.writers.parquet_table import open_table
from pipeline_runtime.writers.plan import TargetPlan
from pipeline_runtime.writers.staged import WriterTools

__all__ = ["GRACE", "finish_switch", "only_warning_of_catalog", "settle"]

_log = logging.getLogger(__name__)

#: How long files stay that a query may have looked up before they were superseded. No query runs for as long;
#: it is also how long a wrong publish can be taken back by hand.
GRACE = timedelta(days=7)


def settle(tools: WriterTools, plan: TargetPlan, run_id: str) -> None:
    """Brings every earlier run's batch to its end; `run_id` is the run that is about to stage.

    A switch that stopped halfway is finished: its batch had passed. It is undone only where the run has been
    reported as failed, so that the table and the lineage say the same. Raises CatalogError and EvidenceFailed
    where that cannot be done; what cannot be removed is only a warning, and tried again by the next run.
    """
    ledger = Ledger(tools.evidence, plan.identity)
    for record in ledger.under_way():
        if record.state is State.SWITCHING:
            _end_switch(tools, plan, record)
        elif record.run_id == run_id or is_abandoned(tools, record.run_id, record.owner, record.at):
            with only_warning_of_catalog(f"{plan.identity.fqn}: files of run {record.run_id} were not removed"):
                remove_files(tools.s3, plan.location, run_location(plan.location, record.folder))
                ledger.remove(record.folder)
    for record in ledger.settled_before(datetime.now(UTC) - GRACE):
        with only_warning_of_catalog(f"{plan.identity.fqn}: superseded files were not removed"):
            _remove_superseded(tools, plan, record.superseded)
            ledger.remove(record.folder)


def finish_switch(tools: WriterTools, identity: TableIdentity, run_id: str) -> Record | None:
    """What a run published: its switch, where it stopped halfway, is finished first. None where nothing is switched.

    Needs no engine. A switch of which no partition has been made is left to the next run. Raises CatalogError,
    EvidenceFailed.
    """
    ledger = Ledger(tools.evidence, identity)
    published = record_of_publish(tools.evidence, tools.glue, identity, run_id)
    if published is not None:
        return published
    for record in ledger.of_run(run_id):
        if record.state is not State.SWITCHING:
            continue
        table = find_table(tools.glue, database=identity.database, table=identity.table, region=identity.region)
        held = partition_definitions(tools.glue, identity, (move.values for move in record.moves if move.values))
        if table is None or not any(location_of(held.get(m.values)) == location_of(m.after) for m in record.moves):
            continue
        keys = tuple(key["Name"] for key in table.get("PartitionKeys", []))
        location = table_root(str(table.get("StorageDescriptor", {}).get("Location", "")))
        plan = TargetPlan(identity, "", "parquet", location, keys, None)
        _log.warning("%s: run %s was stopped while it published; its batch is published now", identity.fqn, run_id)
        settled = advance(tools, plan, record, leaving_others=True)
        ledger.put(settled)
        return settled
    return None


@contextmanager
def only_warning_of_catalog(subject: str) -> Iterator[None]:
    """Logs what AWS refuses in the block, for cleaning up behind an outcome that it must not change."""
    from botocore.exceptions import BotoCoreError

    try:
        yield
    except (CatalogError, EvidenceFailed, WriteFailed, BotoCoreError) as error:
        _log.warning("%s: %s", subject, error)


def _end_switch(tools: WriterTools, plan: TargetPlan, record: Record) -> None:
    fqn, ledger = plan.identity.fqn, Ledger(tools.evidence, plan.identity)
    table = open_table(tools.glue, tools.s3, plan)
    if table is not None:
        # Decided by whoever claims first, this run or the closer, which may be saying at this moment that it failed.
        RunEvidence(tools.evidence, record.run_id).complete_as_foreseen()
    if table is None:  # Someone removed the table, and its partitions with it.
        ledger.put(record.now(State.UNDONE, moves=()))
    elif table.parameters.get(parameters.RUN_ID) == record.run_id or not _was_reported_failed(tools, record):
        _log.warning("%s: run %s was stopped while it published; its batch is published now", fqn, record.run_id)
        ledger.put(advance(tools, plan, record, leaving_others=True))
    else:
        _log.warning("%s: run %s failed while it published; what it did is undone now", fqn, record.run_id)
        ledger.put(retreat(tools, plan, record))


def _was_reported_failed(tools: WriterTools, record: Record) -> bool:
    event = RunEvidence(tools.evidence, record.run_id).event(EventKind.TERMINAL)
    return event is not None and json.loads(event).get("eventType") != "COMPLETE"


def _remove_superseded(tools: WriterTools, plan: TargetPlan, superseded: tuple[Superseded, ...]) -> None:
    """Removes the files unless the catalog points at them again: someone may have taken a publish back by hand."""
    table = open_table(tools.glue, tools.s3, plan)
    shown: set[str | None] = set()
    if table is not None:
        shown = {normal_location(str(table.storage.get("Location", "")))}
        values = [each.values for each in superseded if each.values]
        if table.keys and values:
            shown |= {location_of(held) for held in partition_definitions(tools.glue, plan.identity, values).values()}
    for each in superseded:
        if lies_in_run_folder(plan.location, each.location) and each.location not in shown:
            remove_files(tools.s3, plan.location, each.location)
