"""Publishing a staged parquet batch: the table is switched to its files, forth or back, under a written record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from pipeline_runtime.catalog import parameters
from pipeline_runtime.catalog.partition_switch import (
    Definition,
    PartitionMove,
    Values,
    location_of,
    partition_definitions,
    switch,
    switch_back,
)
from pipeline_runtime.catalog.update import change_table
from pipeline_runtime.errors import CatalogConflict, WriteFailed
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.writers.parquet_files import WrittenFiles, lies_in_run_folder
from pipeline_runtime.writers.parquet_ledger import Ledger, Record, State, Superseded
from pipeline_runtime.writers.parquet_table import ParquetTable, open_table
from pipeline_runtime.writers.plan import Later, TargetPlan
from pipeline_runtime.writers.staged import WriterTools

if TYPE_CHECKING:
    from mypy_boto3_glue.type_defs import TableInputTypeDef

__all__ = ["TakenOver", "advance", "announce", "later_publishes", "retreat"]


class TakenOver(WriteFailed):
    """Another run took this one for dead and settled its switch."""


def announce(
    tools: WriterTools, plan: TargetPlan, staged: Record, table: ParquetTable, files: tuple[WrittenFiles, ...]
) -> Record:
    """Writes down every partition's definition before and after, so that whoever comes next can drive it to either.

    Raises CatalogError, EvidenceFailed; nothing is switched yet.
    """
    moves = (
        _moves(tools, plan, staged.run_id, table, files)
        if plan.partition_by
        else (PartitionMove((), {"StorageDescriptor": {"Location": _location(table)}}, _whole(files)),)
    )
    record = staged.now(
        State.SWITCHING,
        rows=sum(each.rows for each in files),
        partitions=len(files) if plan.partition_by else 0,
        moves=moves,
        parameters={key: table.parameters.get(key) for key in _parameters_of(staged.run_id, moves)},
    )
    Ledger(tools.evidence, plan.identity).put(record)
    return record


def advance(tools: WriterTools, plan: TargetPlan, record: Record, *, leaving_others: bool = False) -> Record:
    """Makes the table show the batch, and its Parameters name the run once all of it is shown.

    Returns the settled record, which the caller keeps. What another writer changed since the record was written is
    a CatalogConflict, or left alone with `leaving_others`. Raises CatalogError, EvidenceFailed, TakenOver as well;
    some partitions may be switched then.
    """
    check = _still_ours(tools, plan, record)
    changes = _parameters_of(record.run_id, record.moves)
    if record.is_partitioned:
        foreign = switch(tools.glue, plan.identity, record.moves, check)
        if foreign and not leaving_others:
            raise _conflict(plan, foreign)
        check()
        _change(tools, plan, "name the run", parameters_to=changes)
    else:
        check()
        move = record.moves[0]
        foreign = _change(tools, plan, "switch its location", move.before, move.after, parameters_to=changes)
        if foreign and not leaving_others:
            raise _conflict(plan, foreign)
    left = _left_behind(plan, (move for move in record.moves if move.values not in foreign), lambda move: move.before)
    return record.now(State.PUBLISHED, moves=(), parameters={}, superseded=left)


def retreat(tools: WriterTools, plan: TargetPlan, record: Record) -> Record:
    """Makes the table show what it did before the switch; what another writer changed since is left alone.

    Returns the settled record, which the caller keeps: it names the batch's files, which stay for those who saw
    them meanwhile. Raises CatalogError, EvidenceFailed, TakenOver.
    """
    check = _still_ours(tools, plan, record)
    if record.is_partitioned:
        switch_back(tools.glue, plan.identity, record.moves, check)
        check()
        _change(tools, plan, "name the run before", parameters_to=record.parameters, if_run=record.run_id)
    else:
        check()
        move = record.moves[0]
        _change(tools, plan, "switch its location back", move.after, move.before, parameters_to=record.parameters)
    left = _left_behind(plan, record.moves, lambda move: move.after)
    return record.now(State.UNDONE, moves=(), parameters={}, superseded=left)


def later_publishes(
    tools: WriterTools, plan: TargetPlan, values: Sequence[Values], moment: datetime
) -> tuple[Later, ...]:
    """The runs that have published to those partitions, or to the table, after that moment, oldest first.

    A partition says which run it is of; when that was, the run's record or its terminal event says. Raises
    CatalogError, EvidenceFailed.
    """
    by_run: dict[str, list[Values]] = {}
    if plan.partition_by:
        for each, definition in partition_definitions(tools.glue, plan.identity, values).items():
            by_run.setdefault(definition.get("Parameters", {}).get(parameters.RUN_ID, ""), []).append(each)
    else:
        table = open_table(tools.glue, tools.s3, plan)
        by_run[table.parameters.get(parameters.RUN_ID, "") if table is not None else ""] = []
    found = []
    for run_id, partitions in by_run.items():
        at = _published_at(tools, plan, run_id) if run_id else None
        if at is not None and at > moment:
            found.append(Later(run_id, at, tuple(sorted(partitions))))
    return tuple(sorted(found, key=lambda later: later.at))


def _published_at(tools: WriterTools, plan: TargetPlan, run_id: str) -> datetime | None:
    for record in Ledger(tools.evidence, plan.identity).of_run(run_id):
        if record.state is State.PUBLISHED:
            return record.at
    event = RunEvidence(tools.evidence, run_id).event(EventKind.TERMINAL)
    return None if event is None else datetime.fromisoformat(json.loads(event)["eventTime"])


def _moves(
    tools: WriterTools, plan: TargetPlan, run_id: str, table: ParquetTable, files: tuple[WrittenFiles, ...]
) -> tuple[PartitionMove, ...]:
    before = partition_definitions(tools.glue, plan.identity, (each.values for each in files))
    return tuple(
        PartitionMove(each.values, before.get(each.values), _definition(table, each, run_id)) for each in files
    )


def _definition(table: ParquetTable, files: WrittenFiles, run_id: str) -> Definition:
    return {
        "Values": list(files.values),
        "StorageDescriptor": {**table.storage, "Location": files.location},
        "Parameters": {**_statistics((files,)), parameters.RUN_ID: run_id},
    }


def _whole(files: tuple[WrittenFiles, ...]) -> Definition:
    return {"StorageDescriptor": {"Location": files[0].location}, "Parameters": _statistics(files)}


def _statistics(files: tuple[WrittenFiles, ...]) -> dict[str, str]:
    """Under Hive's own names, which Spark, EMR and Redshift look for; the columns' are in the files' footers."""
    return {
        "numFiles": str(sum(each.files for each in files)),
        "totalSize": str(sum(each.size for each in files)),
        "numRows": str(sum(each.rows for each in files)),
    }


def _parameters_of(run_id: str, moves: tuple[PartitionMove, ...]) -> dict[str, str | None]:
    """What a finished switch sets on the table; statistics only where they are the whole table's."""
    whole = [move for move in moves if not move.values]
    statistics = dict(whole[0].after["Parameters"]) if whole else {}
    return {parameters.RUN_ID: run_id, parameters.FIRST_RUN: None, **statistics}


def _change(
    tools: WriterTools,
    plan: TargetPlan,
    doing: str,
    start: Definition | None = None,
    end: Definition | None = None,
    *,
    parameters_to: Mapping[str, str | None],
    if_run: str | None = None,
) -> tuple[Values, ...]:
    """One update of the table: its location from `start` to `end`, where they are given, and its Parameters.

    Changes nothing, and returns the table as changed by another writer, where its location is at neither end;
    changes nothing where the table does not name the run `if_run`.
    """
    foreign: list[Values] = []

    def changed(table: TableInputTypeDef) -> TableInputTypeDef:
        foreign.clear()
        held = table.get("Parameters", {})
        if if_run is not None and held.get(parameters.RUN_ID) != if_run:
            return table
        result: dict[str, Any] = dict(table)
        if end is not None:
            if location_of(cast(Definition, table)) not in (location_of(start), location_of(end)):
                foreign.append(())
                return table
            result["StorageDescriptor"] = {**result.get("StorageDescriptor", {}), "Location": location_of(end)}
        wanted = {**held, **parameters_to}
        result["Parameters"] = {key: value for key, value in wanted.items() if value is not None}
        return cast("TableInputTypeDef", result)

    change_table(tools.glue, plan.identity, changed, doing)
    return tuple(foreign)


def _left_behind(
    plan: TargetPlan, moves: Iterable[PartitionMove], end: Callable[[PartitionMove], Definition | None]
) -> tuple[Superseded, ...]:
    """The files at that end of the moves, as far as a run of ours wrote them."""
    places = ((move.values, location_of(end(move))) for move in moves)
    return tuple(
        Superseded(values, place)
        for values, place in places
        if place is not None and lies_in_run_folder(plan.location, place)
    )


def _still_ours(tools: WriterTools, plan: TargetPlan, record: Record) -> Callable[[], None]:
    ledger = Ledger(tools.evidence, plan.identity)

    def check() -> None:
        held = ledger.get(record.folder)
        if held is None or held.state is not State.SWITCHING:
            outcome = "removed" if held is None else f"settled it as {held.state.value}"
            raise TakenOver(
                f"{plan.identity.fqn}: another run started meanwhile, took run {record.run_id} for dead and {outcome}. "
                "Two runs of one pipeline must not overlap: let the scheduler run one at a time."
            )

    return check


def _location(table: ParquetTable) -> str:
    return str(table.storage.get("Location", ""))


def _conflict(plan: TargetPlan, foreign: tuple[Values, ...]) -> CatalogConflict:
    """The error for partitions that another writer changed during the switch."""
    what = f"partition [{', '.join(foreign[0])}]" if foreign[0] else "the table's location"
    more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
    return CatalogConflict(f"another writer changed {what}{more} of {plan.identity.fqn} meanwhile")
