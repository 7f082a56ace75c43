"""Everything one run's events are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.context import RunContext
from pipeline_runtime.descriptor.model import Descriptor
from pipeline_runtime.lineage.column_origins import Origin
from pipeline_runtime.lineage.engine import Engine
from pipeline_runtime.lineage.listener import Witness
from pipeline_runtime.lineage.provenance import Provenance
from pipeline_runtime.quality.result import ValidationResult
from pipeline_runtime.schema.columns import Schema
from pipeline_runtime.writers.plan import Published, TargetPlan

__all__ = ["Release", "RunFacts"]


@dataclass(frozen=True)
class Release:
    """That a run publishes what an earlier one had put in quarantine: which, who decided it, and why."""

    original_run_id: str
    released_by: str
    reason: str | None = None


@dataclass(frozen=True)
class RunFacts:
    """What a run knows about itself so far; it fills up as the run goes on (`dataclasses.replace`).

    What is None or empty is not known yet, and the events leave it out. `target` is the declared target, also in
    a quarantined run. `written_schema` and `published` describe the table that the batch went to: the target or
    its quarantine. `tags` are the LF-tags as set on the target. With `release`, `source` is the quarantine, and
    `result` what the original run's suite found. `witness` is what the Spark listener left, None where nobody has
    looked; `origins` what Spark's plan says the output's columns are made of, by name in lower case; `rows_read`
    what Spark's scans delivered.
    """

    context: RunContext
    descriptor: Descriptor
    engine: Engine
    provenance: Provenance | None = None
    source: PinnedSource | None = None
    target: TargetPlan | None = None
    written_schema: Schema | None = None
    published: Published | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    result: ValidationResult | None = None
    release: Release | None = None
    witness: Witness | None = None
    origins: Mapping[str, Origin] | None = None
    rows_read: int | None = None
