"""Publishing a batch that passed: tags before anyone can see it, the commit, then its contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline_runtime.catalog import parameters
from pipeline_runtime.catalog.lakeformation import PreviousTags, assign_tags, restore_tags
from pipeline_runtime.catalog.lookup import find_table
from pipeline_runtime.catalog.update import set_parameters
from pipeline_runtime.errors import CatalogError, PolicyError, RegistrationFailed, WriteFailed
from pipeline_runtime.evidence.runs import EventKind, RunEvidence, Staged
from pipeline_runtime.interrupts import uninterrupted
from pipeline_runtime.lineage.events import RunStatus, terminal_event, to_bytes, validation_event
from pipeline_runtime.lineage.slimming import fitted
from pipeline_runtime.lineage.values import utc_text
from pipeline_runtime.schema.meaning import dump_columns
from pipeline_runtime.writers.plan import Published

if TYPE_CHECKING:
    from pipeline_runtime.catalog.table import TableIdentity
    from pipeline_runtime.deployment import Deployment
    from pipeline_runtime.descriptor.model import Descriptor
    from pipeline_runtime.lineage.provenance import Provenance
    from pipeline_runtime.progress import Progress
    from pipeline_runtime.writers.staged import StagedBatch

__all__ = ["contract_parameters", "publish", "register", "release_of"]


def publish(
    batch: StagedBatch,
    pipeline: Descriptor,
    tags: Mapping[str, str],
    deployment: Deployment,
    evidence: RunEvidence,
    progress: Progress,
) -> None:
    """Makes the target show the batch, tagged and with its contract registered.

    Tags come first: no row is ever visible under fewer tags than its contract names. Refused tags raise
    TagsRefused with nothing published. An empty batch replaces nothing, so it is neither tagged nor registered.
    Raises WriteFailed where the commit fails, RegistrationFailed where only what follows it does. An interrupt
    waits until all of it is done.
    """
    with uninterrupted():
        _foresee(batch, tags, evidence, progress)
        if batch.is_empty:
            progress.learn(published=batch.publish())
            return
        identity = batch.plan.identity
        evidence.stage(_staged(batch))
        _check_open(evidence, identity)
        previous = assign_tags(deployment.lakeformation, identity, tags, deployment.governance_catalog)
        try:
            published = batch.publish()
        except BaseException:
            if not batch.created:
                _restored(deployment, batch, previous)
            raise
        progress.learn(published=published, tags=tags)
        register(pipeline, identity, deployment, progress.facts.provenance)


def register(
    pipeline: Descriptor, identity: TableIdentity, deployment: Deployment, declaration: Provenance | None
) -> None:
    """Writes the published contract to the table's Parameters, with the pipeline as producer of its schema.

    The release is the commit that carried `declaration` when the columns were first published as they are declared
    now; without git there is none. Raises RegistrationFailed.
    """
    try:
        found = find_table(deployment.glue, database=identity.database, table=identity.table, region=identity.region)
        held = {} if found is None else found.get("Parameters", {})
        set_parameters(deployment.glue, identity, contract_parameters(pipeline, release_of(declaration), held))
    except CatalogError as error:
        raise RegistrationFailed(
            f"{identity.fqn} is published, but its contract is not registered: {error} Run again to register it."
        ) from error


def _foresee(batch: StagedBatch, tags: Mapping[str, str], evidence: RunEvidence, progress: Progress) -> None:
    """Keeps the events that are due once the batch is published: a run that is killed then cannot say them."""
    published = Published(
        batch.plan.identity, batch.rows, batch.partitions, batch.snapshot_id, replaced=not batch.is_empty
    )
    facts = replace(progress.facts, published=published, tags={} if batch.is_empty else tags)
    now = datetime.now(UTC)
    complete = to_bytes(terminal_event(facts, RunStatus.COMPLETE, at=now))
    evidence.foresee(EventKind.TERMINAL, fitted(complete, evidence.keep_full))
    if facts.result is not None:
        verdict = to_bytes(validation_event(facts, RunStatus.COMPLETE, at=now))
        evidence.foresee(EventKind.OTHER, fitted(verdict, evidence.keep_full))


def _check_open(evidence: RunEvidence, identity: TableIdentity) -> None:
    """Raises WriteFailed where someone took this run for dead and has said so."""
    if evidence.event(EventKind.TERMINAL) is not None:
        raise WriteFailed(
            f"{identity.fqn}: the run was closed from outside ({evidence.where(EventKind.TERMINAL)}), so nothing was "
            "published. Was its Glue job run stopped?"
        )


def _staged(batch: StagedBatch) -> Staged:
    return Staged(
        target=batch.plan.identity.arn,
        format=batch.plan.kind,
        staged_at=utc_text(datetime.now(UTC)),
        snapshot_id=batch.snapshot_id,
        branch=batch.branch,
        locations=batch.locations,
    )


def _restored(deployment: Deployment, batch: StagedBatch, previous: PreviousTags) -> None:
    try:
        restore_tags(deployment.lakeformation, batch.plan.identity, previous)
    except PolicyError:
        # The commit's own failure is the one to report.
        return


def release_of(declaration: Provenance | None) -> str | None:
    """What a pipeline's release is called: the commit of its files, marked where they differ from it."""
    if declaration is None or declaration.git.commit is None:
        return None
    return declaration.git.commit + ("-dirty" if declaration.git.dirty else "")


def contract_parameters(pipeline: Descriptor, release: str | None, held: Mapping[str, str]) -> dict[str, str | None]:
    """The Parameters that tell a product's contract; `held` are those that its table has now.

    A release that changed no column is not the one that published them.
    """
    name = pipeline.metadata.name
    columns = dump_columns(pipeline.contract.columns) if pipeline.contract.columns else None
    as_before = held.get(parameters.PUBLISHED_BY) == name and held.get(parameters.COLUMNS) == columns
    return {
        parameters.FRESHNESS_SLA: pipeline.contract.freshness_sla,
        parameters.DOMAIN: pipeline.metadata.domain,
        parameters.PIPELINE: name,
        parameters.OWNER: pipeline.metadata.owner,
        parameters.COLUMNS: columns,
        parameters.PUBLISHED_BY: name,
        parameters.PUBLISHED_RELEASE: (as_before and held.get(parameters.PUBLISHED_RELEASE)) or release,
    }
