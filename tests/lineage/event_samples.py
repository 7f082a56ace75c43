"""The events of a run in each way that it may end, and the datasets that they name."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import Any

from listener_samples import batch_write, quarantine_write, witnessed
from openlineage.client.event_v2 import RunEvent

from pipeline_runtime.context import ParentRun
from pipeline_runtime.errors import PublishBlocked
from pipeline_runtime.lineage.events import (
    RunStatus,
    start_event,
    terminal_event,
    to_bytes,
    validation_event,
)
from pipeline_runtime.lineage.facts import Release, RunFacts

AT = datetime(2026, 8, 4, 9, 14, 22, 123_456, tzinfo=UTC)
SOURCE = {"namespace": "arn:aws:glue:eu-central-1:444455556666", "name": "table/fraud_raw/transactions"}
TARGET = {"namespace": "arn:aws:glue:eu-central-1:111122223333", "name": "table/fraud_curated/transactions_scored"}
QUARANTINE = {**TARGET, "name": "table/fraud_curated/transactions_scored__quarantine"}


def wire(event: RunEvent) -> dict[str, Any]:
    return json.loads(to_bytes(event))


def names(datasets: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{key: each[key] for key in ("namespace", "name")} for each in datasets]


def filled(value: Any) -> Any:
    """Without the empty maps and lists that the classes put where an event has nothing."""
    if isinstance(value, dict):
        return {key: inner for key, each in value.items() if (inner := filled(each)) not in ({}, [])}
    return [filled(each) for each in value] if isinstance(value, list) else value


def released(facts: RunFacts) -> RunFacts:
    """The facts of a run that publishes what another had put in quarantine."""
    return dataclasses.replace(facts, release=Release("0b8c7a40-0000-4000-8000-000000000001", "ann", "checked"))


def every_event(facts: RunFacts) -> dict[str, RunEvent]:
    blocked = PublishBlocked("transactions-scored-daily", facts.result) if facts.result else None
    with_parent = dataclasses.replace(
        facts, context=dataclasses.replace(facts.context, parent=ParentRun("airflow", "dag.task", "0" * 31 + "1"))
    )
    bare = RunFacts(facts.context, facts.descriptor, facts.engine)
    return {
        "start": start_event(with_parent, at=AT),
        "bare start": start_event(bare, at=AT),
        "complete": terminal_event(facts, RunStatus.COMPLETE, at=AT),
        "fail": terminal_event(facts, RunStatus.FAIL, at=AT, error=blocked),
        "bare fail": terminal_event(bare, RunStatus.FAIL, at=AT, error=KeyError("x")),
        "quarantined": terminal_event(facts, RunStatus.QUARANTINED, at=AT, error=blocked),
        "witnessed": terminal_event(witnessed(facts, batch_write()), RunStatus.COMPLETE, at=AT),
        "witnessed quarantine": terminal_event(
            witnessed(facts, batch_write(), quarantine_write()), RunStatus.QUARANTINED, at=AT, error=blocked
        ),
        "released": terminal_event(released(facts), RunStatus.COMPLETE, at=AT),
        "validation": validation_event(facts, RunStatus.COMPLETE, at=AT),
        "quarantined validation": validation_event(facts, RunStatus.QUARANTINED, at=AT),
    }
