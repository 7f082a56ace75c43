"""A replication task of AWS DMS: what it says of itself, and telling it to start or to stop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline_runtime.catalog.answers import refused
from pipeline_runtime.errors import ConfigurationError, IngestionFailed
from pipeline_runtime.ingestion.statistics import Counts, TableCounts

__all__ = ["Endpoint", "Task", "TaskArn", "Tasks", "Unanswered"]

_ARN = re.compile(r"arn:aws[a-z-]*:dms:(?P<region>[a-z0-9-]+):(?P<account>\d{12}):task:(?P<resource>[A-Za-z0-9-]+)")
#: AWS's names for what another try may cure.
_PASSING = frozenset({"ThrottlingException", "Throttling", "RequestLimitExceeded", "InternalFailure"})


class Unanswered(Exception):
    """DMS could not be asked this time; the next look may fare better."""


@dataclass(frozen=True)
class TaskArn:
    """A task's ARN and what it is made of."""

    text: str
    region: str
    account: str
    resource: str

    @classmethod
    def parse(cls, text: str) -> TaskArn:
        """Raises ConfigurationError for anything else."""
        match = _ARN.fullmatch(text)
        if match is None:
            raise ConfigurationError(
                f"--task {text!r} is no replication task; write arn:aws:dms:<region>:<account>:task:<id>"
            )
        return cls(text, **match.groupdict())


@dataclass(frozen=True)
class Task:
    """A task at one look. `started_at` is its last start, `fresh_at` its last start from nothing (or reload).

    `status` and `stop_reason` are DMS's words, the latter without `Stop Reason `; `loaded` says that no full load
    is outstanding.
    """

    name: str
    kind: str
    status: str
    stop_reason: str
    failure: str
    started_at: datetime | None
    fresh_at: datetime | None
    loaded: bool
    source: str
    target: str
    mappings: str

    @property
    def ends(self) -> bool:
        """Whether it ends by itself: a task that follows changes never does."""
        return self.kind == "full-load"


@dataclass(frozen=True)
class Endpoint:
    """An endpoint without its credentials. `settings` are those of its engine; DMS gives no password back."""

    name: str
    engine: str
    server: str
    port: int | None
    database: str
    settings: dict[str, Any]


class Tasks:
    """One task, through a client of DMS.

    Methods raise Unanswered where asking again may help, IngestionFailed where DMS refuses.
    """

    def __init__(self, dms: Any, arn: TaskArn) -> None:
        self._dms = dms
        self._arn = arn

    def look(self) -> Task:
        """The task as it is now. Raises IngestionFailed where there is none."""
        asked = [{"Name": "replication-task-arn", "Values": [self._arn.text]}]
        with _refusals(f"find the replication task {self._arn.text}"):
            found = self._dms.describe_replication_tasks(Filters=asked)["ReplicationTasks"]
        if not found:
            raise IngestionFailed(f"there is no replication task {self._arn.text}")
        said = found[0]
        stats = said.get("ReplicationTaskStats", {})
        kind = said["MigrationType"]
        return Task(
            name=said["ReplicationTaskIdentifier"],
            kind=kind,
            status=said["Status"],
            stop_reason=said.get("StopReason", "").removeprefix("Stop Reason ").strip(),
            failure=said.get("LastFailureMessage", ""),
            started_at=said.get("ReplicationTaskStartDate"),
            fresh_at=stats.get("FreshStartDate"),
            loaded=kind == "cdc" or stats.get("FullLoadProgressPercent", 0) >= 100,
            source=said["SourceEndpointArn"],
            target=said["TargetEndpointArn"],
            mappings=said.get("TableMappings", ""),
        )

    def endpoint(self, arn: str) -> Endpoint:
        """An endpoint of the task's."""
        with _refusals(f"look up the endpoint {arn}"):
            found = self._dms.describe_endpoints(Filters=[{"Name": "endpoint-arn", "Values": [arn]}])["Endpoints"]
        if not found:
            raise IngestionFailed(f"there is no endpoint {arn}, which the replication task names")
        said = found[0]
        settings: dict[str, Any] = {}
        for key, value in said.items():
            if key.endswith("Settings") and isinstance(value, dict):
                settings |= value
        return Endpoint(
            name=said["EndpointIdentifier"],
            engine=said["EngineName"].lower(),
            server=said.get("ServerName") or settings.get("ServerName") or "",
            port=said.get("Port") or settings.get("Port"),
            database=said.get("DatabaseName") or settings.get("DatabaseName") or "",
            settings=settings,
        )

    def start(self, how: str) -> None:
        """`how` is start-replication, resume-processing or reload-target."""
        with _refusals(f"start the replication task {self._arn.text} ({how})"):
            self._dms.start_replication_task(ReplicationTaskArn=self._arn.text, StartReplicationTaskType=how)

    def stop(self) -> None:
        with _refusals(f"stop the replication task {self._arn.text}"):
            self._dms.stop_replication_task(ReplicationTaskArn=self._arn.text)

    def statistics(self) -> tuple[TableCounts, ...]:
        """What each table's counters show, by schema and table."""
        with _refusals(f"read the table statistics of {self._arn.text}"):
            pages = self._dms.get_paginator("describe_table_statistics").paginate(ReplicationTaskArn=self._arn.text)
            told = [each for page in pages for each in page["TableStatistics"]]
        return tuple(
            sorted(
                TableCounts(
                    each["SchemaName"],
                    each["TableName"],
                    each.get("TableState", ""),
                    Counts(
                        full_load_rows=each.get("FullLoadRows", 0),
                        inserts=each.get("Inserts", 0),
                        updates=each.get("Updates", 0),
                        deletes=each.get("Deletes", 0),
                    ),
                )
                for each in told
            )
        )


@contextmanager
def _refusals(doing: str) -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        answer: Any = error.response
        if answer["Error"]["Code"] in _PASSING or answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500:
            raise Unanswered(refused(error, doing)) from error
        raise IngestionFailed(refused(error, doing)) from error
    except BotoCoreError as error:
        raise Unanswered(f"cannot {doing}: {error}") from error
