"""The job's lineage, wired by hand with OpenLineage's Python client: what governance asks of every job.

Facts that the listener cannot know (legal basis, tags, the declaration's hashes, the pin) are written out here,
which is the part of such a job that grows with every product.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    RunFacet,
    error_message_run,
    ownership_job,
    processing_engine_run,
    source_code_location_job,
)
from openlineage.client.serde import Serde

from benchmarks.handwritten.datasets import PRODUCER, Read, Written, input_dataset, output_dataset, own_facet

if TYPE_CHECKING:
    from benchmarks.handwritten.settings import Settings

__all__ = ["emit_complete", "emit_fail", "emit_start"]

DESCRIPTOR = "pipelines/transactions_scored.yml"
#: What the product depends on besides: reviewed files of the domain.
FILES = (
    "baselines/baseline_fraud_score.yml",
    "expectations/transactions_scored.yml",
    "schemas/fraud_raw.transactions.v7.yml",
    "sql/filter_settled.sql",
    "sql/score.sql",
)


def emit_start(settings: Settings) -> None:
    _emit(_event(RunState.START, settings), settings)


def emit_fail(settings: Settings, message: str) -> None:
    facet = error_message_run.ErrorMessageRunFacet(message=message, programmingLanguage="python", producer=PRODUCER)
    _emit(_event(RunState.FAIL, settings, {"errorMessage": facet}), settings)


def emit_complete(settings: Settings, read: Read, written: Written) -> None:
    event = _event(
        RunState.COMPLETE,
        settings,
        inputs=[input_dataset(settings, read)],
        outputs=[output_dataset(settings, written)],
    )
    _emit(event, settings)


def _event(
    state: RunState,
    settings: Settings,
    run_facets: dict[str, RunFacet] | None = None,
    inputs: list[InputDataset] | None = None,
    outputs: list[OutputDataset] | None = None,
) -> RunEvent:
    facets: dict[str, Any] = {
        "environment-properties": {
            "_producer": PRODUCER,
            "_schemaURL": RunFacet._get_schema(),
            "environment-properties": {
                "GLUE_VERSION": "5.1",
                "GLUE_COMMAND_CRITERIA": "glueetl",
                "GLUE_PYTHON_VERSION": "3",
            },
        },
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            name="spark",
            version=version("pyspark"),
            openlineageAdapterVersion=version("openlineage-python"),
            producer=PRODUCER,
        ),
        "cordata_provenance": _provenance(settings),
        **(run_facets or {}),
    }
    return RunEvent(
        eventType=state,
        eventTime=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        run=Run(runId=settings.run_id, facets=facets),
        job=Job(namespace="cordata.fraud", name="transactions-scored-daily", facets=_job_facets(settings)),
        inputs=inputs or [],
        outputs=outputs or [],
        producer=PRODUCER,
    )


def _job_facets(settings: Settings) -> dict[str, Any]:
    facets: dict[str, Any] = {
        "ownership": ownership_job.OwnershipJobFacet(
            owners=[ownership_job.Owner(name="fraud-data@cordata.example", type="OWNER")], producer=PRODUCER
        ),
        "processing": own_facet("ProcessingJobFacet", purpose="fraud-detection", legal_basis="legitimate-interest"),
    }
    remote = _git(settings, "remote", "get-url", "origin")
    if remote is not None:
        facets["sourceCodeLocation"] = source_code_location_job.SourceCodeLocationJobFacet(
            type="git",
            url=remote.removesuffix(".git"),
            repoUrl=remote,
            path=f"{_inside(settings)}sql/score.sql",
            version=_git(settings, "rev-parse", "HEAD"),
            producer=PRODUCER,
        )
    return facets


def _provenance(settings: Settings) -> dict[str, Any]:
    import boto3

    session: Any = boto3.Session()
    table = session.client("glue", region_name=settings.region).get_table(
        DatabaseName=settings.source_database, Name=settings.source_table
    )["Table"]
    commit = _git(settings, "rev-parse", "HEAD")
    return own_facet(
        "ProvenanceRunFacet",
        descriptor_path=f"{_inside(settings)}{DESCRIPTOR}",
        descriptor_sha256=_hash(settings, DESCRIPTOR),
        descriptor_git_commit=commit,
        descriptor_git_commit_signed=None
        if commit is None
        else "\ngpgsig " in (_git(settings, "cat-file", "-p", commit) or ""),
        git_dirty=None if commit is None else bool(_git(settings, "status", "--porcelain", "--", DESCRIPTOR, *FILES)),
        executor_version="transactions_scored.py",
        file_sha256={f"{_inside(settings)}{name}": _hash(settings, name) for name in FILES},
        source_table=f"{settings.source_database}.{settings.source_table}",
        source_schema_version=7,
        source_catalog_version=int(table["VersionId"]),
        source_published_by=table["Parameters"].get("cordata.published_by"),
        source_published_release=table["Parameters"].get("cordata.published_release"),
        step_params={"model_version": settings.model_version},
    )


def _hash(settings: Settings, name: str) -> str:
    return hashlib.sha256((settings.domain / name).read_bytes()).hexdigest()


def _inside(settings: Settings) -> str:
    """Where the domain lies in its repository, with a trailing slash; empty where it is the repository."""
    return _git(settings, "rev-parse", "--show-prefix") or ""


def _git(settings: Settings, *arguments: str) -> str | None:
    done = subprocess.run(
        ["git", *arguments],
        cwd=settings.domain,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else None


def _emit(event: RunEvent, settings: Settings) -> None:
    if settings.event_file is not None and event.eventType is not RunState.START:
        settings.event_file.write_text(Serde.to_json(event), "utf-8")
    if "OPENLINEAGE_URL" not in os.environ:
        return
    from openlineage.client import OpenLineageClient

    # Address and key are the client's own variables; it knows no other way to be let in.
    OpenLineageClient().emit(event)
