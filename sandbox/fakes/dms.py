"""DMS's answers on top of moto's, so that Terraform can keep a replication.

    python -m sandbox.fakes.dms --port 5600

starts the stand-in of `sandbox.fakes.aws` with them. moto 5.2.5 writes times as text where DMS writes numbers, knows no
ModifyEndpoint and no ModifyReplicationTask, forgets a group's subnets, and leaves a task being created for ever. One
answer of Lake Formation belongs to them: moto forgets how a location was registered.

Replications
    models starting: start-replication is for a task that never ran, the two other kinds for one that did; a task under
    way is an InvalidResourceStateFault. start-replication and reload-target count anew (FreshStartDate), and
    resume-processing goes on counting;
    models stopping: a task under way stops, with `Stop Reason NORMAL`;
    models DescribeTableStatistics, in pages (100 where MaxRecords says nothing).
    No row is replicated: the action FakeReplication (test-only), signed for `dms`, gives a task what it plays, as
    {"ReplicationTaskArn", "Looks": [{"Status", "StopReason", "LastFailureMessage", "Loaded", "Statistics"}]}. Each
    DescribeReplicationTasks of a task under way shows the next look, and the last one stays; what a look leaves
    out is as before. Not modelled: latencies, and limits on how fast DMS may be asked.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from moto.core.utils import utcnow
from moto.dms import urls
from moto.dms.exceptions import (
    InvalidParameterCombinationException,
    InvalidResourceStateFault,
    ResourceNotFoundFault,
)
from moto.dms.models import Endpoint, FakeReplicationSubnetGroup, FakeReplicationTask
from moto.dms.responses import DatabaseMigrationServiceResponse
from moto.lakeformation.models import Resource

__all__ = ["DmsFake", "install", "main"]

_TIMES = frozenset(
    {
        "InstanceCreateTime",
        "ReplicationTaskCreationDate",
        "ReplicationTaskStartDate",
        "FreshStartDate",
        "StartDate",
        "StopDate",
        "FullLoadStartDate",
        "FullLoadFinishDate",
    }
)
_UNDER_WAY = frozenset({"starting", "running", "stopping"})
#: Attributes of an endpoint and of a task that may be modified; an endpoint's settings are merged.
_PLAIN = {
    "DatabaseName": "database_name",
    "ExtraConnectionAttributes": "extra_connection_attributes",
    "ServiceAccessRoleArn": "service_access_role_arn",
    "SslMode": "ssl_mode",
}

_TASK = {
    "MigrationType": "migration_type",
    "ReplicationTaskSettings": "replication_task_settings",
    "TableMappings": "table_mappings",
}
#: What a look at a replication shows, and where the task keeps it.
_LOOK = {"StopReason": "stop_reason", "LastFailureMessage": "failure", "Loaded": "loaded", "Statistics": "statistics"}
_MOTOS_SUBNET_GROUP = FakeReplicationSubnetGroup.to_dict
_MOTOS_TASK = FakeReplicationTask.to_dict
_MOTOS_LOCATION = Resource.to_dict


class DmsFake(DatabaseMigrationServiceResponse):
    """moto's DMS with the service's own times, and with what it lacks for keeping a replication."""

    def call_action(self) -> Any:
        status, headers, body = super().call_action()
        return status, headers, json.dumps(_told(json.loads(body))) if body else body

    def create_replication_subnet_group(self) -> str:
        super().create_replication_subnet_group()
        asked = json.loads(self.body)
        group = self.dms_backend.replication_subnet_groups[asked["ReplicationSubnetGroupIdentifier"]]
        group.subnetIds = asked["SubnetIds"]
        return json.dumps({"ReplicationSubnetGroup": group.to_dict()})

    def modify_replication_task(self) -> str:
        asked = json.loads(self.body)
        task = self._task(asked["ReplicationTaskArn"])
        for key, attribute in _TASK.items():
            if key in asked:
                setattr(task, attribute, asked[key])
        return json.dumps({"ReplicationTask": task.to_dict()})

    def start_replication_task(self) -> str:
        asked = json.loads(self.body)
        task = self._task(asked["ReplicationTaskArn"])
        how = asked["StartReplicationTaskType"]
        if task.status in _UNDER_WAY:
            raise InvalidResourceStateFault(f"Replication task is in status {task.status} and cannot be started.")
        if (how == "start-replication") != (task.start_date is None):
            raise InvalidParameterCombinationException(f"Start type {how} does not fit a task's first or later start.")
        task.status, task.start_date = "starting", utcnow()
        if how != "resume-processing":
            task.__dict__.update(fresh_date=task.start_date, statistics=[])
        task.__dict__.update(stop_reason=None, failure=None)
        return json.dumps({"ReplicationTask": _task(task)})

    def stop_replication_task(self) -> str:
        task = self._task(json.loads(self.body)["ReplicationTaskArn"])
        if task.status not in _UNDER_WAY:
            raise InvalidResourceStateFault("Replication task is not running.")
        task.status, task.stop_date = "stopped", utcnow()
        task.__dict__.update(stop_reason="Stop Reason NORMAL", looks=[])
        return json.dumps({"ReplicationTask": _task(task)})

    def describe_replication_tasks(self) -> str:
        found = self.dms_backend.describe_replication_tasks(self._get_param("Filters", []), 0)
        for task in found:
            _look(task)
        return json.dumps({"ReplicationTasks": [task.to_dict() for task in found]})

    def describe_table_statistics(self) -> str:
        asked = json.loads(self.body)
        told = self._task(asked["ReplicationTaskArn"]).__dict__.get("statistics", [])
        start = int(asked.get("Marker") or 0)
        end = start + asked.get("MaxRecords", 100)
        answer = {"ReplicationTaskArn": asked["ReplicationTaskArn"], "TableStatistics": told[start:end]}
        return json.dumps({**answer, "Marker": str(end)} if end < len(told) else answer)

    def fake_replication(self) -> str:
        asked = json.loads(self.body)
        self._task(asked["ReplicationTaskArn"]).__dict__["looks"] = asked["Looks"]
        return "{}"

    def _task(self, arn: str) -> FakeReplicationTask:
        task = self.dms_backend.replication_tasks.get(arn)
        if task is None:
            raise ResourceNotFoundFault("Replication task could not be found.")
        return task

    def modify_endpoint(self) -> str:
        asked = json.loads(self.body)
        for endpoint in self.dms_backend.endpoints.values():
            if endpoint.endpoint_arn == asked["EndpointArn"]:
                _modify(endpoint, asked)
                return json.dumps({"Endpoint": endpoint.to_dict()})
        raise ResourceNotFoundFault("Endpoint could not be found.")


def _told(answer: Any) -> Any:
    """An answer as DMS gives it: seconds since 1970 for times, and nothing for what is not set."""
    if isinstance(answer, list):
        return [_told(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    return {
        key: datetime.fromisoformat(value).timestamp() if key in _TIMES else _told(value)
        for key, value in answer.items()
        if value is not None
    }


def _modify(endpoint: Endpoint, asked: dict[str, Any]) -> None:
    for key, attribute in _PLAIN.items():
        if key in asked:
            setattr(endpoint, attribute, asked[key])
    endpoint.s3_settings = {**(endpoint.s3_settings or {}), **asked.get("S3Settings", {})} or None


def _subnet_group(group: FakeReplicationSubnetGroup) -> dict[str, Any]:
    subnets = [
        {"SubnetIdentifier": subnet, "SubnetStatus": "Active", "SubnetAvailabilityZone": {"Name": "eu-central-1a"}}
        for subnet in group.subnetIds or []
    ]
    return {**_MOTOS_SUBNET_GROUP(group), "Subnets": subnets}


def _task(task: FakeReplicationTask) -> dict[str, Any]:
    # The first look at a new task finds it being created, the second one ready.
    said = _MOTOS_TASK(task)
    if task.status == "creating":
        task.ready()
    told = task.__dict__
    loaded = 100 if told.get("loaded", True) else 50
    fresh = told["fresh_date"].isoformat() if "fresh_date" in told else None
    stats = {**said["ReplicationTaskStats"], "FullLoadProgressPercent": loaded, "FreshStartDate": fresh}
    more = {"StopReason": told.get("stop_reason"), "LastFailureMessage": told.get("failure")}
    return {**said, **more, "ReplicationTaskStats": stats}


def _look(task: FakeReplicationTask) -> None:
    """Takes the next of the looks that the task was given to play, where it is under way."""
    told = task.__dict__
    if task.status not in _UNDER_WAY or not told.get("looks"):
        return
    look = told["looks"].pop(0)
    task.status = look.get("Status", task.status)
    for key, attribute in _LOOK.items():
        if key in look:
            told[attribute] = look[key]


def _location(location: Resource) -> dict[str, Any]:
    return {**_MOTOS_LOCATION(location), "HybridAccessEnabled": location.__dict__.get("hybrid", False)}


def install() -> None:
    """Puts these answers in the place of moto's, in this process."""
    from sandbox.fakes.lakeformation import LakeFormationFake

    def register_resource(self: LakeFormationFake) -> str:
        answer = super(LakeFormationFake, self).register_resource()
        location = self.lakeformation_backend.resources[self._get_param("ResourceArn")]
        location.__dict__["hybrid"] = bool(self._get_param("HybridAccessEnabled"))
        return answer

    for owner, name, answer in (
        (FakeReplicationSubnetGroup, "to_dict", _subnet_group),
        (FakeReplicationTask, "to_dict", _task),
        (Resource, "to_dict", _location),
        (LakeFormationFake, "register_resource", register_resource),
    ):
        setattr(owner, name, answer)
    urls.url_paths.update(dict.fromkeys(urls.url_paths, DmsFake.dispatch))


def main(argv: list[str] | None = None) -> None:
    from sandbox.fakes import aws

    install()
    aws.main(argv)


if __name__ == "__main__":
    main()
