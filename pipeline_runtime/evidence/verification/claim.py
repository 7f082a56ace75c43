"""What an event claims about the declaration that its run executed: read strictly, believed not at all."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline_runtime.errors import UsageError
from pipeline_runtime.lineage.values import instant_of

__all__ = ["ClaimedRun", "claimed_run"]

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class ClaimedRun:
    """A run as its event tells it.

    `time` is the event's own; `commit` is None where the event names none, and `reason` may say why. `files` maps
    paths from the top of the repository to SHA-256 digests, the descriptor's among them. `signed` and `dirty` are
    None where the event does not say. `code_version` is the commit that the standard facet `sourceCodeLocation`
    names. `published` says that the event has an output; `is_release` that it publishes an earlier run's batch.
    `full_sha256` is the hash of the whole event where this one was slimmed to be sent.
    """

    where: str
    run_id: str
    job: str
    namespace: str
    event_type: str
    time: datetime
    commit: str | None
    signed: bool | None
    dirty: bool | None
    reason: str | None
    descriptor_path: str
    files: Mapping[str, str]
    code_version: str | None
    purpose: str | None
    legal_basis: str | None
    source_table: str | None
    step_params: Mapping[str, str]
    published: bool
    is_release: bool
    full_sha256: str | None


def claimed_run(body: bytes, where: str) -> ClaimedRun:
    """The claim in an event's bytes. Raises UsageError, which says where and what, for what cannot be verified."""
    event = _event(body, where)
    run, job = _mapping(event, "run"), _mapping(event, "job")
    facets, about = _mapping(run, "facets"), _mapping(job, "facets")
    said = _mapping(facets, "cordata_provenance")
    if not said:
        raise UsageError(
            f"{where}: this {event['eventType']} event of job {job.get('name')} carries no cordata_provenance; "
            "verify the terminal event of its run, START and the terminal event carry it"
        )
    descriptor = _text(said, "descriptor_path", where)
    _checked_name(descriptor, where)
    files = {descriptor: _digest(said.get("descriptor_sha256"), f"{where}: descriptor_sha256")}
    for path, digest in _mapping(said, "file_sha256").items():
        _checked_name(path, where)
        files[path] = _digest(digest, f"{where}: file_sha256 of {path!r}")
    processing = _mapping(about, "processing")
    return ClaimedRun(
        where=where,
        run_id=_text(run, "runId", where),
        job=_text(job, "name", where),
        namespace=_text(job, "namespace", where),
        event_type=event["eventType"],
        time=_time(event.get("eventTime"), where),
        commit=_commit(said.get("descriptor_git_commit"), where),
        signed=_flag(said, "descriptor_git_commit_signed"),
        dirty=_flag(said, "git_dirty"),
        reason=_optional(said, "git_reason"),
        descriptor_path=descriptor,
        files=files,
        code_version=_optional(_mapping(about, "sourceCodeLocation"), "version"),
        purpose=_optional(processing, "purpose"),
        legal_basis=_optional(processing, "legal_basis"),
        source_table=_optional(said, "source_table"),
        step_params={name: str(value) for name, value in _mapping(said, "step_params").items()},
        published=bool(event.get("outputs")),
        is_release=bool(_mapping(facets, "cordata_release")),
        full_sha256=_full(_mapping(facets, "cordata_slimmed"), where),
    )


def _event(body: bytes, where: str) -> dict[str, Any]:
    try:
        event = json.loads(body)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(f"{where}: is not one JSON document ({error}); pass a file that holds one event") from None
    except RecursionError:
        raise UsageError(f"{where}: is nested too deeply to be an event") from None
    if isinstance(event, list):
        raise UsageError(f"{where}: holds a list of {len(event)} items; pass a file that holds one event")
    if not isinstance(event, dict) or not isinstance(event.get("eventType"), str):
        raise UsageError(f"{where}: is no OpenLineage run event (it has no eventType)")
    return event


def _mapping(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def _optional(holder: Mapping[str, Any], key: str) -> str | None:
    value = holder.get(key)
    return value if isinstance(value, str) and value else None


def _flag(holder: Mapping[str, Any], key: str) -> bool | None:
    value = holder.get(key)
    return value if isinstance(value, bool) else None


def _text(holder: Mapping[str, Any], key: str, where: str) -> str:
    value = _optional(holder, key)
    if value is None:
        raise UsageError(f"{where}: {key} is missing or no text; this is no event of a run that can be verified")
    return value


def _checked_name(path: str, where: str) -> None:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise UsageError(f"{where}: {path!r} cannot be the name of a file") from None


def _full(slimmed: Mapping[str, Any], where: str) -> str | None:
    return _digest(slimmed.get("full_sha256"), f"{where}: full_sha256") if slimmed else None


def _digest(value: object, what: str) -> str:
    if isinstance(value, str) and _SHA256.fullmatch(value):
        return value
    raise UsageError(f"{what} is {value!r}; expected are 64 hexadecimal digits in lower case")


def _commit(value: object, where: str) -> str | None:
    if value is None or (isinstance(value, str) and _COMMIT.fullmatch(value)):
        return value
    raise UsageError(f"{where}: descriptor_git_commit is {value!r}; expected is a commit's full id")


def _time(value: object, where: str) -> datetime:
    time = instant_of(value)
    if time is None:
        raise UsageError(f"{where}: eventTime is {value!r}; expected is ISO 8601 with Z or an offset")
    return time
