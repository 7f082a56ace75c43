"""What an owner is told of a run: what happened, in the words of the trace, and what can be done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline_runtime.notify.owner import Kind, Notice
from pipeline_runtime.notify.values import without_values

if TYPE_CHECKING:
    from pipeline_runtime.errors import PipelineError, Quarantined
    from pipeline_runtime.lineage.facts import RunFacts

__all__ = ["deprecation_notice", "failure_notice", "lost_run_notice", "quarantine_notice"]

_MANUAL = "docs/operations.md"


def quarantine_notice(facts: RunFacts, error: Quarantined, at: str) -> Notice:
    """What the owner of a quarantined batch is told: what the trace says, where the rows are, how to publish them."""
    run_id = facts.context.run_id
    rows = 0 if facts.published is None else facts.published.rows
    return _of_run(
        facts,
        Kind.QUARANTINE,
        at,
        "batch quarantined",
        f"{error}\n\n"
        f"{_subject(facts)}: {rows:,} rows, nothing was published.\n"
        f"See them in {error.table} where run_id = '{run_id}'; its column broken_rules says what each row broke.\n"
        f"Publish them after review: python -m pipeline_runtime release {run_id} --by <who you are>\n",
    )


def failure_notice(facts: RunFacts, error: PipelineError, lines: Sequence[str], at: str) -> Notice:
    """What the owner of a failed run is told. `lines` are those that the trace shows after FAILED."""
    from pipeline_runtime.operations.guide import advice_of

    advice = advice_of(type(error))
    outcome = "nothing was published" if facts.published is None else "the batch is published, what follows it failed"
    name, said = type(error).__name__, "\n".join(lines)
    return _of_run(
        facts,
        Kind.FAILURE,
        at,
        f"run failed, {name}",
        # A suite's result counts and names; every other message may quote what an engine stumbled over.
        f"{said if error.result is not None else without_values(said)}\n\n"
        f"{_subject(facts)}: {outcome}.\n"
        f"Who acts: {advice.actor.value}. {advice.remedy}\n"
        f"{_MANUAL}#{name.lower()}\n",
    )


def lost_run_notice(*, owner: str, domain: str, pipeline: str, run_id: str, reason: str, at: str) -> Notice:
    """What is told of a run that could not say itself how it ended. Owner and domain are empty where nobody knows."""
    named = f"Pipeline {pipeline} of domain {domain}, run" if domain else f"Job {pipeline}, run"
    return Notice(
        kind=Kind.FAILURE,
        id=run_id,
        owner=owner,
        domain=domain,
        pipeline=pipeline,
        run_id=run_id,
        at=at,
        subject=f"{pipeline}: run failed",
        text=f"{without_values(reason)}\n\n{named} {run_id}.\n{_MANUAL}#a-killed-run\n",
    )


def deprecation_notice(facts: RunFacts, text: str, id_: str, at: str) -> Notice:
    """What the owner of a pipeline is told whose pinned version is readable until a day only."""
    return _of_run(
        facts,
        Kind.DEPRECATION,
        at,
        "its source's version is deprecated",
        f"{text}\n\n{_subject(facts)}, reads it.\n{_MANUAL}#versiondeprecated\n",
        id_,
    )


def _of_run(facts: RunFacts, kind: Kind, at: str, what: str, text: str, id_: str | None = None) -> Notice:
    metadata, run_id = facts.descriptor.metadata, facts.context.run_id
    return Notice(
        kind=kind,
        id=id_ or run_id,
        owner=metadata.owner,
        domain=metadata.domain,
        pipeline=metadata.name,
        run_id=run_id,
        at=at,
        subject=f"{metadata.name}: {what}",
        text=text,
    )


def _subject(facts: RunFacts) -> str:
    metadata = facts.descriptor.metadata
    return f"Pipeline {metadata.name} of domain {metadata.domain}, run {facts.context.run_id}"
