"""DMS's answers on top of moto's, so that Terraform can keep a replication.

    python -m sandbox.fakes.dms --port 5600

starts the stand-in of `sandbox.fakes.aws` with them. moto 5.2.5 writes times as text where DMS writes numbers, knows no
ModifyEndpoint and no ModifyReplicationTask, forgets a group's subnets, and leaves a task being created for ever. One
answer of Lake Formation belongs to them: moto forgets how a location was registered.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from moto.dms import urls
from moto.dms.exceptions import ResourceNotFoundFault
from moto.dms.models import Endpoint, FakeReplicationSubnetGroup, FakeReplicationTask
from moto.dms.responses import DatabaseMigrationServiceResponse
from moto.lakeformation.models import Resource

__all__ = ["DmsFake", "install", "main"]

_TIMES = frozenset({"InstanceCreateTime", "ReplicationTaskCreationDate", "ReplicationTaskStartDate"})
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
        task = self.dms_backend.replication_tasks.get(asked["ReplicationTaskArn"])
        if task is None:
            raise ResourceNotFoundFault("Replication task could not be found.")
        for key, attribute in _TASK.items():
            if key in asked:
                setattr(task, attribute, asked[key])
        return json.dumps({"ReplicationTask": task.to_dict()})

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
    return said


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
