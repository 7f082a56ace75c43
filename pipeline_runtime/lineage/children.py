"""The listener's events as child runs of ours, corrected for forwarding (design decision D13). Pure.

They are sent after the terminal event, where the deployment asks for it. What the listener says about parents, jobs,
datasets and versions is put right first; what a run did not publish is no output of its children.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from openlineage.client.facet_v2 import parent_run

from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.context import ParentRun
from pipeline_runtime.lineage import dataset_facets, facets
from pipeline_runtime.lineage.column_lineage import ColumnLineage, composed
from pipeline_runtime.lineage.events import RunStatus, as_json
from pipeline_runtime.lineage.facts import RunFacts
from pipeline_runtime.lineage.folding import data_write, lineage_of, renaming_of
from pipeline_runtime.lineage.identity import glue_dataset, identity_problem, jdbc_dataset, job_namespace
from pipeline_runtime.lineage.own_facets import PRODUCER
from pipeline_runtime.lineage.redact import redact_json
from pipeline_runtime.lineage.renaming import Dataset, pair_of
from pipeline_runtime.writers.plan import quarantined

__all__ = ["child_events"]

_STATES = frozenset({"START", "COMPLETE", "FAIL", "ABORT"})
#: Of main as it was before the publish, and with snapshot ids that are rounded.
_NOT_TO_BE_BELIEVED = ("version", "icebergCommitReport", "icebergScanReport")
_Event = dict[str, Any]


def child_events(facts: RunFacts, status: RunStatus) -> list[_Event]:
    """What may be forwarded of the listener's events, in their order, without secrets.

    Runs that touch no dataset are left out, and with them the application's, which may say COMPLETE of a run that
    failed; RUNNING is left out too. Outputs: the target of a run that published, the quarantine of one that was
    quarantined, none of any other. Nothing where source or target are not known: nothing was read then.
    Raises ValueError where the events cannot be understood.
    """
    try:
        return _child_events(facts, status)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the listener's events cannot be understood ({type(error).__name__}: {error})") from error


def _child_events(facts: RunFacts, status: RunStatus) -> list[_Event]:
    if facts.witness is None or facts.source is None or facts.target is None:
        return []
    corrected = _Corrected(facts, status)
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for event in facts.witness.events:
        runs.setdefault(str(event["run"]["runId"]), []).append(event)
    touching = {run_id for run_id, events in runs.items() if any(map(_touches, events))}
    names = {run_id: corrected.job_name(runs[run_id]) for run_id in touching}
    found = (
        corrected.event(event, names[str(event["run"]["runId"])])
        for event in facts.witness.events
        if event["run"]["runId"] in touching and event.get("eventType") in _STATES
    )
    return [event for event in found if _is_sound(event)]


class _Corrected:
    """The listener's events with our run as their parent and our names for everything."""

    def __init__(self, facts: RunFacts, status: RunStatus) -> None:
        if facts.source is None or facts.target is None:
            raise ValueError("the source or the target is not known")
        self._facts = facts
        self._naming = renaming_of(facts)
        self._target, self._quarantine = facts.target, quarantined(facts.target, None)
        domain = facts.descriptor.metadata.domain
        source = facts.source
        identities = [
            glue_dataset(source.table.identity, domain=domain, location=source.table.location)
            if source.jdbc is None
            else jdbc_dataset(source.jdbc, source.table.identity, domain=domain),
            *(
                glue_dataset(plan.identity, domain=domain, location=plan.location)
                for plan in (self._target, self._quarantine)
            ),
        ]
        self._identities = {(each.namespace, each.name): each for each in identities}
        target, quarantine = _name(self._target.identity), _name(self._quarantine.identity)
        self._shown = {RunStatus.COMPLETE: {target}, RunStatus.QUARANTINED: {quarantine}}.get(status, set())
        self._hidden = {target, quarantine} - self._shown
        self._version = facts.published.snapshot_id if facts.published is not None else None
        self._inner = self._lineage_of_batch()

    def job_name(self, events: Iterable[Mapping[str, Any]]) -> str:
        """Our job's name with the listener's suffix, the same for each run of the pipeline."""
        name = self._facts.descriptor.metadata.name
        for event in events:
            suffix = str(event["job"]["name"]).partition(".")[2]
            if re.search(self._facts.context.run_id.replace("-", "[-_]"), suffix) is None:
                return f"{name}.{suffix}" if suffix else name
            for output in event.get("outputs") or ():
                kind = suffix.partition(".")[0]
                return f"{name}.{kind}.{self._renamed(event, output)[1].removeprefix('table/').replace('/', '_')}"
        return name

    def event(self, event: Mapping[str, Any], job_name: str) -> _Event:
        corrected: _Event = redact_json(dict(event))
        metadata = self._facts.descriptor.metadata
        run_facets = dict(corrected["run"].get("facets") or {})
        ours = facets.run_facets(self._facts)
        run_facets["environment-properties"] = ours["environment-properties"]
        run_facets["parent"] = self._parent()
        corrected["run"] = {**corrected["run"], "facets": run_facets}
        corrected["job"] = {**corrected["job"], "namespace": job_namespace(metadata.domain), "name": job_name}
        corrected["inputs"] = list(self._inputs(event, corrected.get("inputs") or ()))
        corrected["outputs"] = list(self._outputs(event, corrected.get("outputs") or ()))
        return corrected

    def _parent(self) -> _Event:
        context, metadata = self._facts.context, self._facts.descriptor.metadata
        namespace = job_namespace(metadata.domain)
        root = context.parent or ParentRun(namespace, metadata.name, context.run_id)
        return as_json(
            parent_run.ParentRunFacet(
                run=parent_run.Run(runId=context.run_id, facets=None),
                job=parent_run.Job(namespace=namespace, name=metadata.name, facets=None),
                root=parent_run.Root(
                    run=parent_run.RootRun(runId=root.run_id, facets=None),
                    job=parent_run.RootJob(namespace=root.namespace, name=root.name, facets=None),
                ),
                producer=PRODUCER,
            )
        )

    def _inputs(self, event: Mapping[str, Any], datasets: Iterable[_Event]) -> Iterator[_Event]:
        """Each dataset once; the unpublished batch, read back for the quarantine, is the source that it was made of."""
        seen: set[Dataset] = set()
        source = next(iter(self._identities))
        for dataset in datasets:
            name = self._renamed(event, dataset)
            name = source if name in self._hidden else name
            if name not in seen:
                seen.add(name)
                yield self._dataset(dataset, name)

    def _outputs(self, event: Mapping[str, Any], datasets: Iterable[_Event]) -> Iterator[_Event]:
        for dataset in datasets:
            name = self._renamed(event, dataset)
            if name not in self._shown:
                continue
            corrected = self._dataset(dataset, name)
            lineage = self._lineage(event, dataset)
            if lineage is not None:
                corrected["facets"]["columnLineage"] = as_json(dataset_facets.column_lineage_facet(lineage))
            if self._version is not None and event.get("eventType") == "COMPLETE":
                corrected["facets"]["version"] = as_json(dataset_facets.version_facet(self._version))
            yield corrected

    def _dataset(self, dataset: _Event, name: Dataset) -> _Event:
        about = {key: value for key, value in dataset.items() if key not in {"namespace", "name"}}
        for holder in ("facets", "inputFacets", "outputFacets"):
            if holder in about:
                about[holder] = {k: v for k, v in about[holder].items() if k not in _NOT_TO_BE_BELIEVED}
        about.setdefault("facets", {})
        about["facets"].pop("columnLineage", None)
        if name in self._identities:
            about["facets"]["symlinks"] = as_json(dataset_facets.symlinks_facet(self._identities[name]))
        return {"namespace": name[0], "name": name[1], **about}

    def _renamed(self, event: Mapping[str, Any], dataset: Mapping[str, Any]) -> Dataset:
        pair = pair_of(dataset)
        return self._naming.of(pair, self._naming.tables(event).get(pair))

    def _lineage(self, event: Mapping[str, Any], output: Mapping[str, Any]) -> ColumnLineage | None:
        """In our names; where the target is no output of the run, through it to what it was made of."""
        lineage, target = lineage_of(event, output, self._naming), _name(self._target.identity)
        return composed(lineage, self._inner, target) if lineage is not None and target in self._hidden else lineage

    def _lineage_of_batch(self) -> ColumnLineage:
        found = data_write(self._facts, self._target, self._naming)
        return (None if found is None else lineage_of(*found, self._naming)) or ColumnLineage()


def _name(identity: TableIdentity) -> Dataset:
    return identity.namespace, identity.name


def _touches(event: Mapping[str, Any]) -> bool:
    return bool(event.get("inputs") or event.get("outputs"))


def _is_sound(event: _Event) -> bool:
    datasets = [*event["inputs"], *event["outputs"]]
    return identity_problem(map(pair_of, datasets)) is None
