"""The producer's check: which consumers a proposal would break, judged pin by pin. Compatibility has one right answer.

Three changes break: a column removed, a column with another type (a widening too: it is said, and it still
breaks), a column that may now be NULL where the pinned version promised otherwise. Everything else is a pin to
bump. What cannot be judged fails: the check is worth what it catches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from pipeline_runtime.catalog.parameters import COLUMNS
from pipeline_runtime.contracts.batches import in_batches
from pipeline_runtime.contracts.declared import Declared
from pipeline_runtime.contracts.proposal import Proposal
from pipeline_runtime.contracts.reads import ColumnUse, ConsumerReads, reads_of
from pipeline_runtime.contracts.references import (
    CatalogFacts,
    CatalogView,
    UnknownPin,
    is_recorded,
    reference_of,
)
from pipeline_runtime.contracts.scan import Scanned, Unreadable
from pipeline_runtime.errors import CatalogError, Problem
from pipeline_runtime.schema.diff import Change, NullabilityChanged, Removed, Retyped, diff
from pipeline_runtime.schema.meaning import MeaningChange, load_columns, meaning_changes

__all__ = ["Finding", "Judged", "MeaningFinding", "Report", "Verdict", "breaks_contract", "judge"]


class Verdict(str, Enum):
    """What the proposal means for one consumer, worst first."""

    BREAKS = "BREAKS"
    UNKNOWN_PIN = "UNKNOWN PIN"
    UNREADABLE = "UNREADABLE"
    COMPATIBLE = "compatible"


@dataclass(frozen=True)
class Finding:
    """One change between a consumer's pin and the proposal. `use` is None where the change breaks no contract."""

    change: Change
    breaks: bool
    use: ColumnUse | None = None


@dataclass(frozen=True)
class MeaningFinding:
    """A column that keeps its shape and means something else: told to its readers, and no failure."""

    change: MeaningChange
    use: ColumnUse


@dataclass(frozen=True)
class Judged:
    """A consumer, or a descriptor that may be one, and what becomes of it.

    `meanings` are the changes of meaning among its columns; `bump` says that its pin has to move before it runs on
    the proposed version.
    """

    verdict: Verdict
    path: str
    consumer: Declared | None = None
    findings: tuple[Finding, ...] = ()
    meanings: tuple[MeaningFinding, ...] = ()
    reason: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def bump(self) -> bool:
        return self.verdict is Verdict.COMPATIBLE and bool(self.findings)


@dataclass(frozen=True)
class Report:
    """A check's outcome. `catalog` is None where the catalog was not asked; `judged` has the failing ones first."""

    proposal: Proposal
    catalog: CatalogView | None
    scanned: tuple[Scanned, ...]
    judged: tuple[Judged, ...]

    @property
    def consumers(self) -> tuple[Judged, ...]:
        return tuple(each for each in self.judged if each.consumer is not None)

    @property
    def failing(self) -> tuple[Judged, ...]:
        return tuple(each for each in self.judged if each.verdict is not Verdict.COMPATIBLE)

    @property
    def exit_code(self) -> int:
        """0 compatible, 1 not (design decision D9)."""
        return 1 if self.failing else 0


def judge(
    proposal: Proposal, scanned: Sequence[Scanned], catalog: CatalogView | None, *, only_used: bool = False
) -> Report:
    """Compares the proposal with what each consumer's own pin names. With `only_used` a change breaks only where the
    consumer really reads the column. Raises CatalogError where the catalog does not answer."""
    consumers = {each.path: each for found in scanned for each in found.consumers}
    unreadable = {each.path: each for found in scanned for each in found.unreadable}
    asked = [each.pin for each in consumers.values() if not is_recorded(each)] if catalog is not None else []
    facts = catalog.facts(asked) if catalog is not None else None
    meanings = _meanings(proposal, facts)
    batches = in_batches(partial(_judge_batch, proposal, facts, meanings, only_used), consumers.values())
    judged = [each for batch in batches for each in batch]
    judged += [_unreadable(each) for each in unreadable.values()]
    order = list(Verdict)
    return Report(proposal, catalog, tuple(scanned), tuple(sorted(judged, key=lambda each: order.index(each.verdict))))


def breaks_contract(change: Change) -> bool:
    """Whether a query written against the old columns stops meaning what it meant."""
    if isinstance(change, NullabilityChanged):
        return change.after.nullable is True
    return isinstance(change, Removed | Retyped)


def _unreadable(found: Unreadable) -> Judged:
    return Judged(Verdict.UNREADABLE, found.path, problems=found.problems)


def _meanings(proposal: Proposal, catalog: CatalogFacts | None) -> tuple[MeaningChange, ...]:
    """What the proposal declares otherwise than the catalog has it. Raises CatalogError for a broken declaration."""
    declared = catalog.parameters.get(COLUMNS) if catalog is not None else None
    if declared is None:
        return ()
    try:
        return meaning_changes(load_columns(declared), proposal.columns)
    except ValueError as error:
        raise CatalogError(f"{proposal.fqn}: the table Parameter {COLUMNS} {error}") from error


def _judge_batch(
    proposal: Proposal,
    catalog: CatalogFacts | None,
    meanings: tuple[MeaningChange, ...],
    only_used: bool,
    consumers: list[Declared],
) -> list[Judged]:
    return [_judged(proposal, consumer, catalog, meanings, only_used) for consumer in consumers]


def _judged(
    proposal: Proposal,
    consumer: Declared,
    catalog: CatalogFacts | None,
    meanings: tuple[MeaningChange, ...],
    only_used: bool,
) -> Judged:
    reference = reference_of(consumer, catalog)
    if isinstance(reference, UnknownPin):
        return Judged(
            Verdict.UNKNOWN_PIN, consumer.path, consumer, reason=reference.reason, problems=reference.problems
        )
    changes = tuple(diff(reference.schema, proposal.schema))
    told = [meaning for meaning in meanings if reference.schema.find(meaning.column) is not None]
    reads: ConsumerReads | None = None
    if told or any(map(breaks_contract, changes)):
        reads = reads_of(consumer, reference.schema, None if catalog is None else catalog.parameters)
    findings = tuple(_finding(change, reads, only_used) for change in changes)
    breaking = any(finding.breaks for finding in findings)
    return Judged(
        Verdict.BREAKS if breaking else Verdict.COMPATIBLE,
        consumer.path,
        consumer,
        findings,
        tuple(MeaningFinding(meaning, reads.of(meaning.column)) for meaning in told) if reads is not None else (),
    )


def _finding(change: Change, reads: ConsumerReads | None, only_used: bool) -> Finding:
    if reads is None or not breaks_contract(change):
        return Finding(change, breaks=False)
    use = reads.of(change.name)
    return Finding(change, breaks=use.read or not only_used, use=use)
