"""What a run would change, told without running it: from the descriptor, its files and the catalog. Changes nothing.

What only the rows tell (which partitions, which values) is said to be so, and not guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.glue import archived_schema
from pipeline_runtime.catalog.lakeformation import held_tags
from pipeline_runtime.catalog.parameters import COLUMNS, FRESHNESS_SLA, OWNER, PUBLISHED_BY, PUBLISHED_RELEASE
from pipeline_runtime.catalog.partitions import registered_partitions
from pipeline_runtime.contracts.check import breaks_contract
from pipeline_runtime.contracts.references import CatalogFacts, CatalogView, UnknownPin, reference_of
from pipeline_runtime.contracts.scan import scan
from pipeline_runtime.publish import contract_parameters
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.diff import diff
from pipeline_runtime.schema.meaning import MeaningChange, load_columns, meaning_changes
from pipeline_runtime.schema.types import fits

if TYPE_CHECKING:
    from pipeline_runtime.catalog.access import CatalogAccess
    from pipeline_runtime.contracts.declared import Declared
    from pipeline_runtime.descriptor.model import Descriptor
    from pipeline_runtime.schema.meaning import DeclaredColumn
    from pipeline_runtime.steps.outcome import Outcome
    from pipeline_runtime.writers.plan import TargetPlan

__all__ = ["ColumnForecast", "Forecast", "columns_after", "forecast"]

_TOLD = {FRESHNESS_SLA: "freshness_sla", OWNER: "owner", PUBLISHED_BY: "producer", PUBLISHED_RELEASE: "release"}


@dataclass(frozen=True)
class ColumnForecast:
    """The target's columns after the run. `schema` is None where they cannot be told; `obstacles` would end the run."""

    lines: tuple[str, ...]
    schema: Schema | None
    obstacles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Forecast:
    """Topic → lines, in the order of a run; what would keep the run from publishing."""

    topics: Mapping[str, tuple[str, ...]]
    obstacles: tuple[str, ...]


def forecast(
    pipeline: Descriptor,
    target: TargetPlan,
    outcome: Outcome,
    tags: Mapping[str, str],
    release: str | None,
    consumers: Sequence[Path],
    catalog: CatalogAccess,
) -> Forecast:
    """What publishing would change at the target, and for whom. Raises CatalogError, PolicyError, UsageError."""
    columns = columns_after(target, outcome, pipeline.contract.columns)
    held = {} if target.existing is None else target.existing.parameters
    meaning = _meaning(held, pipeline.contract.columns)
    topics = {
        "target": (_target(target),),
        "columns": columns.lines,
        "partitions": (_partitions(target, catalog),),
        "tags": tuple(_tags(target, tags, catalog)),
        "contract": (*_contract(contract_parameters(pipeline, release, held), held), *map(str, meaning)),
    }
    if consumers:
        topics["consumers"] = tuple(_consumers(target, columns.schema, meaning, consumers, catalog))
    return Forecast(topics, columns.obstacles)


def columns_after(target: TargetPlan, outcome: Outcome, declared: Sequence[DeclaredColumn]) -> ColumnForecast:
    """What the target's columns become: a run adds declared ones and changes no other."""
    if target.existing is None:
        return _first_columns(outcome, declared)
    held = target.existing.schema
    if not declared and outcome.columns is None:
        return ColumnForecast((f"cannot be told: {outcome.reason}; the run adds none that is not declared",), held)
    wanted = _wanted(outcome, declared)
    added = [column for column in wanted if held.find(column.name) is None]
    missing = [column for column in held if wanted.find(column.name) is None]
    retyped = [
        (was, now)
        for now in wanted
        if now.type and (was := held.find(now.name)) is not None and not fits(now.type, was.type)
    ]
    obstacles = [f"- {column.name} ({column.type}): the table has it, the output does not" for column in missing]
    obstacles += [f"~ {was.name}: {was.type} in the table, declared as {now.type}" for was, now in retyped]
    if not declared:
        obstacles += [f"+ {column.name}: not in the table, and no contract declares it" for column in added]
        added = []
    lines = [f"+ {column.name} ({column.type}), declared, is added" for column in added]
    after = Schema((*held, *(Column(column.name, column.type, True) for column in added)))
    return ColumnForecast(tuple(lines) or ("stay as they are",), after, tuple(obstacles))


def _first_columns(outcome: Outcome, declared: Sequence[DeclaredColumn]) -> ColumnForecast:
    if declared:
        return ColumnForecast(
            tuple(f"+ {column.column}" for column in declared), Schema(tuple(column.column for column in declared))
        )
    if outcome.columns is None:
        return ColumnForecast((f"cannot be told: {outcome.reason}",), None)
    return ColumnForecast(tuple(f"+ {name}" for name in outcome.columns), None)


def _wanted(outcome: Outcome, declared: Sequence[DeclaredColumn]) -> Schema:
    """The output as declared, else by its names alone."""
    if declared:
        return Schema(tuple(column.column for column in declared))
    return Schema(tuple(Column(name, "") for name in outcome.columns or ()))


def _target(target: TargetPlan) -> str:
    name, place = target.identity.fqn, f"at {target.location}/"
    if target.existing is None:
        return f"{name} is created as {target.kind}, {place}"
    return f"{name} is there as {target.kind} (v{target.existing.version}), {place}"


def _partitions(target: TargetPlan, catalog: CatalogAccess) -> str:
    if not target.partition_by:
        return "none: the whole table is replaced" if target.existing else "none"
    by = ", ".join(target.partition_by)
    told = f"by {by}: those that the output touches are replaced, which only its rows tell"
    if target.existing is None or target.existing.is_iceberg:
        return told
    return f"{told}; there are {len(registered_partitions(catalog.glue, target.existing)):,} now"


def _tags(target: TargetPlan, tags: Mapping[str, str], catalog: CatalogAccess) -> Iterator[str]:
    held: Mapping[str, str] = {}
    if target.existing is not None:
        held = held_tags(catalog.lakeformation, target.identity, catalog.governance_catalog)
    for key, value in tags.items():
        if held.get(key) == value:
            yield f"{key}={value} stays"
        else:
            yield f"{key}={value} is set" + (f", {held[key]} until now" if key in held else "")
    yield from (
        f"{key}={value} stays, which is none of this contract's" for key, value in held.items() if key not in tags
    )


def _contract(wanted: Mapping[str, str | None], held: Mapping[str, str]) -> Iterator[str]:
    changed = [key for key in _TOLD if wanted.get(key) != held.get(key)]
    for key in changed:
        before = held.get(key)
        yield f"{_TOLD[key]} {wanted.get(key) or '(none)'}" + (f", {before} until now" if before else "")
    if wanted.get(COLUMNS) != held.get(COLUMNS):
        yield "the declaration of the columns is " + ("registered" if wanted.get(COLUMNS) else "taken back")
    elif not changed:
        yield "stays as it is"


def _meaning(held: Mapping[str, str], declared: Sequence[DeclaredColumn]) -> tuple[MeaningChange, ...]:
    try:
        before = load_columns(held.get(COLUMNS, "[]"))
    except ValueError:
        before = ()  # another hand wrote it; the run registers it anew
    return meaning_changes(before, declared)


def _consumers(
    target: TargetPlan,
    after: Schema | None,
    meaning: Sequence[MeaningChange],
    paths: Sequence[Path],
    catalog: CatalogAccess,
) -> Iterator[str]:
    fqn = target.identity.fqn
    scanned = scan(paths, {fqn})
    consumers = {each.path: each for found in scanned for each in found.consumers}
    count, where = sum(found.count for found in scanned), " and ".join(found.path for found in scanned)
    yield f"{len(consumers)} of {count} descriptors under {where} {'reads' if len(consumers) == 1 else 'read'} {fqn}"
    facts = _facts(target, catalog, consumers.values())
    for consumer in consumers.values():
        yield f"{consumer.name} ({consumer.domain})  pins v{consumer.pin}  owner {consumer.owner}  {consumer.path}"
        yield from (f"  {line}" for line in _effects(consumer, after, meaning, facts))
    for unreadable in (each for found in scanned for each in found.unreadable):
        yield f"{unreadable.path} cannot be read, so nobody knows whether it reads {fqn}"


def _facts(target: TargetPlan, catalog: CatalogAccess, consumers: Iterable[Declared]) -> CatalogFacts:
    view = CatalogView(
        target.existing,
        lambda version: archived_schema(catalog.glue, catalog.s3, target.identity, version),
    )
    return view.facts(each.pin for each in consumers)


def _effects(
    consumer: Declared, after: Schema | None, meaning: Sequence[MeaningChange], facts: CatalogFacts
) -> Iterator[str]:
    if after is None:
        yield "what changes for it cannot be told"
        return
    reference = reference_of(consumer, facts)
    if isinstance(reference, UnknownPin):
        yield f"its pin cannot be judged: {reference.reason}"
        return
    changes = tuple(diff(reference.schema, after))
    for change in changes:
        yield f"{change}" + ("   <- breaks" if breaks_contract(change) else "   (its pin has to move)")
    for told in meaning:
        yield f"{told}   (to be told)"
    if not changes and not meaning:
        yield "nothing changes for it"
