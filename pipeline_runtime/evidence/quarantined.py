"""What a quarantined run's own events say about its batch: enough to publish it later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline_runtime.catalog.table import QUARANTINE_SUFFIX
from pipeline_runtime.errors import ReleaseRefused
from pipeline_runtime.evidence.runs import EventKind, RunEvidence
from pipeline_runtime.quality.broken_rules import BROKEN_RULES
from pipeline_runtime.quality.result import AssertionResult, ValidationResult
from pipeline_runtime.writers.quarantine import RUN_ID

__all__ = ["QuarantinedBatch", "quarantined_batch"]

#: What a quarantine has beside the columns of its product.
_QUARANTINES_OWN = frozenset({BROKEN_RULES, RUN_ID})


@dataclass(frozen=True)
class QuarantinedBatch:
    """A batch in quarantine, as the run that left it there reported.

    `table` is the quarantine's `<database>.<table>`; `columns` are those of the product, in its order; `rows` is
    None where the event does not say. `descriptor_path` starts at the top of the repository, without one at the
    domain root. `result` is None where the suite's verdict was not kept.
    """

    run_id: str
    job: tuple[str, str]
    table: str
    columns: tuple[str, ...]
    rows: int | None
    descriptor_path: str
    descriptor_sha256: str
    result: ValidationResult | None


def quarantined_batch(run: RunEvidence) -> QuarantinedBatch:
    """The batch that the run left in quarantine. Raises ReleaseRefused where it left none, EvidenceFailed."""
    terminal = _event(run, EventKind.TERMINAL)
    if terminal is None:
        raise ReleaseRefused(f"run {run.run_id}: {run.where(EventKind.TERMINAL)} does not exist; nothing to release")
    outputs = terminal.get("outputs") or [{}]
    table = "/".join(outputs[0].get("name", "").split("/")[1:]).replace("/", ".")
    if terminal["eventType"] != "FAIL" or not table.endswith(QUARANTINE_SUFFIX):
        how = "published" if terminal["eventType"] == "COMPLETE" else "failed, it kept no batch"
        raise ReleaseRefused(f"run {run.run_id} {how}; nothing to release. Only a quarantined batch can be released.")
    rows = outputs[0].get("outputFacets", {}).get("outputStatistics", {}).get("rowCount")
    if rows == 0:
        raise ReleaseRefused(f"run {run.run_id}: its batch had no rows; nothing to release")
    provenance = terminal["run"]["facets"]["cordata_provenance"]
    names = [field["name"] for field in outputs[0]["facets"]["schema"]["fields"]]
    return QuarantinedBatch(
        run_id=run.run_id,
        job=(terminal["job"]["namespace"], terminal["job"]["name"]),
        table=table,
        columns=tuple(name for name in names if name not in _QUARANTINES_OWN),
        rows=rows,
        descriptor_path=provenance["descriptor_path"],
        descriptor_sha256=provenance["descriptor_sha256"],
        result=_result(_event(run, EventKind.OTHER)),
    )


def _event(run: RunEvidence, kind: EventKind) -> dict[str, Any] | None:
    body = run.whole(kind)
    return None if body is None else json.loads(body)


def _result(validation: Mapping[str, Any] | None) -> ValidationResult | None:
    if validation is None:
        return None
    found = validation["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    return ValidationResult(validation["job"]["name"], tuple(_assertion(each) for each in found))


def _assertion(said: Mapping[str, Any]) -> AssertionResult:
    return AssertionResult(
        assertion=said["assertion"],
        column=said.get("column"),
        success=said["success"],
        expected=said.get("expected"),
        actual=said.get("actual"),
        evaluated_rows=(said.get("params") or {}).get("evaluated_rows"),
    )
