"""OpenLineage run events out of files, whoever emitted them: the few fields that every one has, and its facets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pipeline_runtime.lineage.values import instant_of

__all__ = ["DatasetRef", "NoRunEvent", "RunEvent", "Unusable", "events_in", "facet"]


@dataclass(frozen=True)
class DatasetRef:
    """A dataset as one event names it; `facets` hold the input's or output's own facets as well."""

    namespace: str
    name: str
    facets: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name


@dataclass(frozen=True)
class RunEvent:
    """One run event. `type` is upper case, `time` has a zone; facets are as they came."""

    where: str
    type: str
    time: datetime
    run_id: str
    namespace: str
    job: str
    run_facets: Mapping[str, Any]
    job_facets: Mapping[str, Any]
    inputs: Sequence[DatasetRef]
    outputs: Sequence[DatasetRef]

    @property
    def commit(self) -> str | None:
        """The commit of the code that ran, from our provenance or from the standard facet."""
        commit = facet(self.run_facets, "cordata_provenance").get("descriptor_git_commit")
        if commit is None:
            commit = facet(self.job_facets, "sourceCodeLocation").get("version")
        return commit if isinstance(commit, str) and commit else None


@dataclass(frozen=True)
class Unusable:
    """Something that should have been an event and cannot be read as one."""

    where: str
    reason: str


@dataclass(frozen=True)
class NoRunEvent:
    """JSON that is no run event: a dataset event, a job event, or something else that is kept beside them."""

    where: str


def facet(facets: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The facet of that name; empty where there is none."""
    found = facets.get(name)
    return found if isinstance(found, dict) else {}


def events_in(name: str, body: bytes) -> Iterator[RunEvent | Unusable | NoRunEvent]:
    """What one file holds: an event, a list of events, or one event a line."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        yield Unusable(name, "is not UTF-8")
        return
    if not text.strip():
        yield Unusable(name, "is empty")
        return
    try:
        whole = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2 and not name.endswith((".jsonl", ".ndjson")):
            yield Unusable(name, f"is no JSON: {error}")
            return
        for number, line in lines:
            yield from _line(f"{name}:{number}", line)
        return
    if isinstance(whole, list):
        for number, item in enumerate(whole, 1):
            yield _event(f"{name}[{number}]", item)
    else:
        yield _event(name, whole)


def _line(where: str, line: str) -> Iterator[RunEvent | Unusable | NoRunEvent]:
    try:
        yield _event(where, json.loads(line))
    except (json.JSONDecodeError, RecursionError) as error:
        yield Unusable(where, f"is no JSON: {error}")


def _event(where: str, raw: Any) -> RunEvent | Unusable | NoRunEvent:
    if not isinstance(raw, dict) or "eventType" not in raw:
        return NoRunEvent(where)
    run, job = facet(raw, "run"), facet(raw, "job")
    texts = (raw["eventType"], run.get("runId"), job.get("namespace"), job.get("name"))
    if not all(isinstance(text, str) and text for text in texts):
        return Unusable(where, "lacks eventType, run.runId, job.namespace or job.name")
    time = _time(raw.get("eventTime"))
    if time is None:
        return Unusable(where, f"its eventTime is {raw.get('eventTime')!r}, not ISO 8601 with Z or an offset")
    return RunEvent(
        where=where,
        type=raw["eventType"].upper(),
        time=time,
        run_id=run["runId"],
        namespace=job["namespace"],
        job=job["name"],
        run_facets=facet(run, "facets"),
        job_facets=facet(job, "facets"),
        inputs=_datasets(raw.get("inputs"), "inputFacets"),
        outputs=_datasets(raw.get("outputs"), "outputFacets"),
    )


def _datasets(raw: Any, own_facets: str) -> list[DatasetRef]:
    return [
        DatasetRef(item["namespace"], item["name"], {**facet(item, "facets"), **facet(item, own_facets)})
        for item in (raw if isinstance(raw, list) else ())
        if isinstance(item, dict) and isinstance(item.get("namespace"), str) and isinstance(item.get("name"), str)
    ]


def _time(raw: Any) -> datetime | None:
    time = instant_of(raw)
    return None if time is None else time.astimezone(UTC)
