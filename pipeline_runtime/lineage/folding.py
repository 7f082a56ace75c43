"""Folds what the Spark listener saw into what our terminal event says (design decision D13). Pure.

Only the COMPLETE of the write that put the batch where it went is believed. Everything it says is renamed to our
identities, and what it does not say is stated, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipeline_runtime.catalog.locations import table_root
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.lineage.absence import Absence, explained
from pipeline_runtime.lineage.column_lineage import ColumnLineage, column_lineage_of, composed
from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.lineage.renaming import Dataset, KnownDataset, Renaming, pair_of
from pipeline_runtime.writers.plan import TargetPlan, quarantined

__all__ = ["Observed", "Size", "data_write", "lineage_of", "observe", "renaming_of"]

#: OpenLineage's word for a table that was made and holds nothing yet.
_CREATED = "CREATE"


@dataclass(frozen=True)
class Size:
    """Rows, bytes and files; None where the listener does not say."""

    rows: int | None = None
    bytes: int | None = None
    files: int | None = None


@dataclass(frozen=True)
class Observed:
    """What is known of an output's columns and of the amounts read and written.

    `lineage` is None where there is no column lineage at all; `absence` says of every output column without
    inputs why. `undeclared` are datasets that the columns come from and the descriptor does not name.
    """

    lineage: ColumnLineage | None
    absence: Absence
    read: Size = Size()
    written: Size = Size()
    undeclared: tuple[Dataset, ...] = ()


def observe(facts: RunFacts, *, is_quarantined: bool, columns: Iterable[str]) -> Observed:
    """What the listener's events say about `columns` of the table that the batch went to.

    Never raises: an event is worth more than what it would have said in addition.
    """
    columns = tuple(columns)
    try:
        return _observe(facts, is_quarantined, columns)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"the listener's events could not be understood ({type(error).__name__}: {error})"
        return Observed(None, explained(facts, columns, None, reason))


def lineage_of(event: Mapping[str, Any], output: Mapping[str, Any], naming: Renaming) -> ColumnLineage | None:
    """The column lineage of one output of an event, in our names; None where the listener says nothing about it."""
    facet = (output.get("facets") or {}).get("columnLineage")
    if facet is None:
        return None
    tables = naming.tables(event)
    return column_lineage_of(facet, lambda dataset: naming.of(dataset, tables.get(dataset)))


def data_write(facts: RunFacts, plan: TargetPlan, naming: Renaming) -> tuple[Any, Any] | None:
    """The COMPLETE of the write of the batch to `plan`'s table, and its output; None where there is none.

    For Iceberg the write to the run's own branch: the creation of the table, the commits of the publish and a
    second write of the audited rows concern the same table and are none.
    """
    identity = _name(plan.identity)
    branch = "branch_audit_" + facts.context.run_id.replace("-", "_")
    found = []
    for event in facts.witness.events if facts.witness is not None else ():
        if event.get("eventType") != "COMPLETE":
            continue
        tables = naming.tables(event)
        for output in event.get("outputs") or ():
            pair = pair_of(output)
            if naming.of(pair, tables.get(pair)) == identity and not _is_creation(output):
                found.append((event, output))
    exact = [each for each in found if _names_branch(each[1], branch)]
    return next(iter(exact or found), None)


def renaming_of(facts: RunFacts) -> Renaming:
    """Our names for the run's source, target and quarantine. Raises ValueError where they are not known."""
    source, target = facts.source, facts.target
    if source is None or target is None:
        raise ValueError("the source or the target is not known")
    table = source.table
    name = (
        (table.identity.namespace, table.identity.name)
        if source.jdbc is None
        else (source.jdbc.namespace, source.jdbc.name)
    )
    places = (
        () if source.jdbc is not None else (table_root(table.location), *(each.location for each in source.partitions))
    )
    plans = (target, quarantined(target, None))
    return Renaming(
        [
            KnownDataset(name, places, table.identity),
            *(KnownDataset(_name(plan.identity), (plan.location,), plan.identity) for plan in plans),
        ],
        job=target.identity,
    )


def _observe(facts: RunFacts, is_quarantined: bool, columns: tuple[str, ...]) -> Observed:
    if facts.witness is None or facts.target is None:
        return Observed(None, explained(facts, columns, None, "nobody listened to the run where this event was made"))
    naming = renaming_of(facts)
    first = _written(facts, facts.target, naming)
    if first is None:
        reason = facts.witness.missing or "the listener left no event about the write of the batch"
        return Observed(None, explained(facts, columns, None, reason))
    if is_quarantined:
        second = _written(facts, quarantined(facts.target, None), naming)
        if second is None:
            reason = facts.witness.missing or "the listener left no event about the write of the quarantine"
            return Observed(None, explained(facts, columns, None, reason), read=first.read)
        through = _name(facts.target.identity)
        lineage = composed(second.lineage or ColumnLineage(), first.lineage or ColumnLineage(), through)
        first = replace(first, lineage=lineage, written=second.written)
    named = frozenset() if first.lineage is None else first.lineage.datasets
    return replace(
        first,
        absence=explained(facts, columns, first.lineage, None),
        undeclared=tuple(sorted(named - set(_declared(facts)))),
    )


def _written(facts: RunFacts, plan: TargetPlan, naming: Renaming) -> Observed | None:
    """What the write to one table says, about no column in particular yet."""
    found = data_write(facts, plan, naming)
    if found is None:
        return None
    event, output = found
    tables, declared = naming.tables(event), set(_declared(facts))
    parts = {
        pair: _size((each.get("inputFacets") or {}).get("inputStatistics"))
        for each in event.get("inputs") or ()
        if naming.of(pair := pair_of(each), tables.get(pair)) in declared
    }
    written = _size((output.get("outputFacets") or {}).get("outputStatistics"))
    return Observed(lineage_of(event, output, naming), Absence(), read=_sum(parts.values()), written=written)


def _declared(facts: RunFacts) -> tuple[Dataset, ...]:
    source = facts.source
    if source is None:
        return ()
    if source.jdbc is not None:
        return ((source.jdbc.namespace, source.jdbc.name),)
    return (_name(source.table.identity),)


def _name(identity: TableIdentity) -> Dataset:
    return identity.namespace, identity.name


def _is_creation(output: Mapping[str, Any]) -> bool:
    change = ((output.get("facets") or {}).get("lifecycleStateChange") or {}).get("lifecycleStateChange")
    return change == _CREATED


def _names_branch(output: Mapping[str, Any], branch: str) -> bool:
    links = ((output.get("facets") or {}).get("symlinks") or {}).get("identifiers") or ()
    return any(str(link.get("name", "")).endswith(f"/{branch}") for link in links)


def _size(statistics: Mapping[str, Any] | None) -> Size:
    said = statistics or {}
    return Size(_whole(said.get("rowCount")), _whole(said.get("size")), _whole(said.get("fileCount")))


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _sum(parts: Iterable[Size]) -> Size:
    """The parts of one dataset together; a number that one of them lacks is not known of the whole."""
    sizes = tuple(parts)

    def total(values: list[int | None]) -> int | None:
        return None if not values or None in values else sum(value for value in values if value is not None)

    return Size(
        total([each.rows for each in sizes]),
        total([each.bytes for each in sizes]),
        total([each.files for each in sizes]),
    )
