"""What IAM asks about a request to Glue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sandbox.fakes.authorisation.request import Asked, Call

__all__ = ["asked_of_glue"]

#: Operations on a job and its runs, with the parameter that names it.
_OF_JOBS = {"GetJob": "JobName", "GetJobRun": "JobName", "GetJobRuns": "JobName", "StartJobRun": "JobName"}


def asked_of_glue(call: Call) -> Iterator[Asked]:
    """Restores: an operation on a catalog object needs the permission on the object and on everything above it.

    So GetTable asks for the catalog, the database and the table; what lists, for all that may be listed. CatalogId
    chooses whose they are. moto asks for `*` alone, which a policy that names its tables never allows.
    """
    given = call.json
    owner = f"arn:aws:glue:{call.region}:{given.get('CatalogId') or call.account}"
    for resource in _resources(call.operation, given):
        yield Asked(f"glue:{call.operation}", f"{owner}:{resource}" if resource != "*" else "*")


def _resources(operation: str, given: Mapping[str, object]) -> list[str]:
    if operation in _OF_JOBS:
        return [f"job/{given[_OF_JOBS[operation]]}"]
    if operation in ("GetConnection", "GetConnections"):
        return ["catalog", f"connection/{given.get('Name', '*')}"]
    if operation == "GetDatabases":
        return ["catalog", "database/*"]
    if operation in ("GetDatabase", "UpdateDatabase", "CreateDatabase"):
        return ["catalog", f"database/{given.get('Name') or _named(given, 'DatabaseInput')}".lower()]
    if "DatabaseName" not in given:
        return ["*"]
    database = str(given["DatabaseName"]).lower()
    table = given.get("TableName") or given.get("Name") or _named(given, "TableInput")
    return ["catalog", f"database/{database}", f"table/{database}/{table or '*'}".lower()]


def _named(given: Mapping[str, object], parameter: str) -> str | None:
    """The name inside a definition, such as TableInput's."""
    inside = given.get(parameter)
    return str(inside["Name"]) if isinstance(inside, Mapping) else None
