"""The Glue Data Catalog's own rules, on top of moto's Glue. What is modelled is listed in `sandbox.fakes.aws`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from threading import RLock
from typing import Any, TypeVar, cast

from moto.core.exceptions import JsonRESTError
from moto.core.responses import ActionResult, EmptyResult
from moto.glue import models
from moto.glue.exceptions import EntityNotFoundException, VersionNotFoundException
from moto.glue.responses import GlueResponse

from sandbox.fakes.job_runs import ChosenJobRun
from sandbox.fakes.lakeformation_access import Caller, Table
from sandbox.fakes.paging import page

__all__ = ["GlueFake", "VersionedTable"]

T = TypeVar("T")

#: Where a request spells the name of a database or a table; Glue keeps both in lower case.
_NAME_KEYS = ("DatabaseName", "TableName", "TablesToDelete")
_NAMED_ACTIONS = re.compile(r"(Get|Delete|Update)(Table|Database)$")
#: What GetTable answers of a link itself; the rest is its target's.
_OF_A_LINK = ("CatalogId", "DatabaseName", "Name", "TargetTable", "CreateTime")
_TABLE_PAGE = 100
_PARTITION_PAGE = 1000
_JOB_RUN_PAGE = 200


class VersionedTable(models.FakeTable):
    """A table whose versions count from 0 and of which only the current and the archived ones can be fetched."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._current_version = 0
        self.versions = {"0": self.versions["1"]}

    @property
    def current_version(self) -> str:
        return str(self._current_version)

    @property
    def definition(self) -> dict[str, Any]:
        return self.versions[self.current_version]

    def replace(self, table_input: dict[str, Any], *, archive: bool) -> None:
        """The next version; the one before stays fetchable where it is archived."""
        if not archive:
            del self.versions[self.current_version]
        self.update(table_input)


class GlueFake(GlueResponse):
    """moto's Glue, answering as the service does where a caller could tell the difference."""

    _writing = RLock()

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The request, its database and table names folded to lower case."""
        parameters: dict[str, Any] = dict(super().parameters)
        for key in _NAME_KEYS:
            if key in parameters:
                parameters[key] = _folded(parameters[key])
        if "Name" in parameters and _NAMED_ACTIONS.match(self._get_action()):
            parameters["Name"] = _folded(parameters["Name"])
        for key in ("TableInput", "DatabaseInput"):
            if key in parameters:
                parameters[key] = {**parameters[key], "Name": _folded(parameters[key]["Name"])}
        return parameters

    @property
    def glue_backend(self) -> models.GlueBackend:
        """The catalog that the request names with CatalogId, the caller's own where it names none."""
        return self._catalog(self.parameters.get("CatalogId"))

    def _catalog(self, catalog_id: str | None, region: str | None = None) -> models.GlueBackend:
        account = catalog_id or self.current_account
        if re.fullmatch(r"\d{12}", account) is None:
            raise EntityNotFoundException(f"Catalog {account} not found.")
        return models.glue_backends[account][region or self.region]

    # -- other accounts' tables ----------------------------------------------------------------

    @cached_property
    def _caller(self) -> Caller:
        return Caller.of(self.current_account, self.region, self.access_key)

    def _may(self, permission: str, catalog: models.GlueBackend, database: str, table: str | None = None) -> bool:
        return self._caller.may(permission, Table(catalog.account_id, database, table))

    def _demand(self, permission: str, catalog: models.GlueBackend, database: str, table: str | None = None) -> None:
        if not self._may(permission, catalog, database, table):
            raise JsonRESTError(
                "AccessDeniedException",
                f"Insufficient Lake Formation permission(s): Required {permission.capitalize()} on {table or database}",
            )

    # -- resource links ------------------------------------------------------------------------

    def _database(self, name: str) -> tuple[models.GlueBackend, models.FakeDatabase]:
        """A database and its catalog, through one link."""
        catalog = self.glue_backend
        database = catalog.get_database(name)
        if (link := database.input.get("TargetDatabase")) is not None:
            catalog = self._catalog(link["CatalogId"], link.get("Region"))
            database = catalog.get_database(link["DatabaseName"].lower())
        return catalog, database

    def _table(self, database: str, name: str, permission: str = "DESCRIBE") -> VersionedTable:
        """A table, through one link of the database or of the table; the caller holds the permission on it."""
        catalog, table = self._named(database, name)
        if "TargetTable" in table.definition:
            catalog, table = self._target(table)
        self._demand(permission, catalog, table.database_name, table.name)
        return table

    def _named(self, database: str, name: str) -> tuple[models.GlueBackend, VersionedTable]:
        """What has that name, be it a link to a table, and its catalog; through one link of the database."""
        catalog, holder = self._database(database)
        return catalog, cast(VersionedTable, catalog.get_table(holder.name, name))

    def _target(self, link: VersionedTable) -> tuple[models.GlueBackend, VersionedTable]:
        """The table that a link leads to, and its catalog."""
        target = link.definition["TargetTable"]
        catalog = self._catalog(target["CatalogId"], target.get("Region"))
        return catalog, cast(VersionedTable, catalog.get_table(target["DatabaseName"].lower(), target["Name"].lower()))

    def _behind(self, link: VersionedTable) -> dict[str, Any]:
        """GetTable's answer to a link: its own names, beside what the caller may see of its target."""
        catalog, target = self._target(link)
        seen = target.as_dict() if self._may("DESCRIBE", catalog, target.database_name, target.name) else {}
        own = link.as_dict()
        return {**own, **seen, **{key: own[key] for key in _OF_A_LINK}}

    # -- databases -----------------------------------------------------------------------------

    def get_database(self) -> ActionResult:
        catalog, database = self._database(self.parameters["Name"])
        self._demand("DESCRIBE", catalog, database.name)
        return ActionResult({"Database": database.as_dict()})

    def get_databases(self) -> ActionResult:
        catalog = self.glue_backend
        seen = [database for database in catalog.get_databases() if self._may("DESCRIBE", catalog, database.name)]
        shown, token = self._page(seen, _TABLE_PAGE)
        return ActionResult({"DatabaseList": [database.as_dict() for database in shown], "NextToken": token})

    # -- tables --------------------------------------------------------------------------------

    def create_table(self) -> ActionResult:
        catalog, database = self._database(self.parameters["DatabaseName"])
        table_input = self.parameters["TableInput"]
        catalog.create_table(
            database.name, table_input["Name"], table_input, self.parameters.get("OpenTableFormatInput")
        )
        return EmptyResult()

    def get_table(self) -> ActionResult:
        catalog, named = self._named(self.parameters["DatabaseName"], self.parameters["Name"])
        if "TargetTable" in named.definition:
            return ActionResult({"Table": self._behind(named)})
        self._demand("DESCRIBE", catalog, named.database_name, named.name)
        return ActionResult({"Table": named.as_dict()})

    def get_tables(self) -> ActionResult:
        catalog, database = self._database(self.parameters["DatabaseName"])
        tables = catalog.get_tables(database.name, self.parameters.get("Expression"))
        seen = [table for table in tables if self._may("DESCRIBE", catalog, database.name, table.name)]
        shown, token = self._page(seen, _TABLE_PAGE)
        return ActionResult({"TableList": [table.as_dict() for table in shown], "NextToken": token})

    def update_table(self) -> ActionResult:
        table_input = self.parameters["TableInput"]
        expected = self.parameters.get("VersionId")
        with self._writing:
            table = self._table(self.parameters["DatabaseName"], table_input["Name"], "ALTER")
            if expected is not None and expected != table.current_version:
                raise JsonRESTError(
                    "ConcurrentModificationException",
                    "Update table failed due to concurrent modifications.",
                )
            table.replace(table_input, archive=not self.parameters.get("SkipArchive", False))
        return EmptyResult()

    def delete_table(self) -> ActionResult:
        catalog, database = self._database(self.parameters["DatabaseName"])
        catalog.delete_table(database.name, self.parameters["Name"])
        return EmptyResult()

    # -- versions ------------------------------------------------------------------------------

    def get_table_version(self) -> ActionResult:
        table = self._table(self.parameters["DatabaseName"], self.parameters["TableName"])
        version = self.parameters.get("VersionId") or table.current_version
        return ActionResult({"TableVersion": {"Table": table.as_dict(version), "VersionId": version}})

    def get_table_versions(self) -> ActionResult:
        table = self._table(self.parameters["DatabaseName"], self.parameters["TableName"])
        shown, token = self._page(sorted(table.versions, key=int, reverse=True), _TABLE_PAGE)
        versions = [{"Table": table.as_dict(version), "VersionId": version} for version in shown]
        return ActionResult({"TableVersions": versions, "NextToken": token})

    def delete_table_version(self) -> ActionResult:
        table = self._table(self.parameters["DatabaseName"], self.parameters["TableName"])
        version = self.parameters["VersionId"]
        if version not in table.versions:
            raise VersionNotFoundException
        if version == table.current_version:
            raise JsonRESTError("InvalidInputException", "The current version of a table cannot be deleted.")
        table.delete_version(version)
        return EmptyResult()

    # -- partitions ----------------------------------------------------------------------------

    def get_partitions(self) -> ActionResult:
        table = self._table(self.parameters["DatabaseName"], self.parameters["TableName"])
        shown, token = self._page(table.get_partitions(cast(str, self.parameters.get("Expression"))), _PARTITION_PAGE)
        return ActionResult({"Partitions": [partition.as_dict() for partition in shown], "NextToken": token})

    # -- job runs ------------------------------------------------------------------------------

    def get_job_runs(self) -> ActionResult:
        runs = self.glue_backend.get_job(self.parameters["JobName"]).get_job_runs()
        shown, token = self._page(runs[::-1], _JOB_RUN_PAGE)
        return ActionResult({"JobRuns": [run.as_dict() for run in shown], "NextToken": token})

    def batch_stop_job_run(self) -> ActionResult:
        name = self.parameters["JobName"]
        runs = {run.job_run_id: cast(ChosenJobRun, run) for run in self.glue_backend.get_job(name).job_runs}
        stopped, refused = [], []
        for id_ in self.parameters["JobRunIds"]:
            named = {"JobName": name, "JobRunId": id_}
            if id_ not in runs:
                problem = {"ErrorCode": "EntityNotFoundException", "ErrorMessage": f"Job run {id_} not found."}
                refused.append({**named, "ErrorDetail": problem})
            elif runs[id_].stop():
                stopped.append(named)
            else:
                problem = {"ErrorCode": "InvalidInputException", "ErrorMessage": f"Job run {id_} is not running."}
                refused.append({**named, "ErrorDetail": problem})
        return ActionResult({"SuccessfulSubmissions": stopped, "Errors": refused})

    def _page(self, items: Sequence[T], most: int) -> tuple[Sequence[T], str | None]:
        size = min(int(self.parameters.get("MaxResults") or most), most)
        return page(items, self.parameters.get("NextToken"), size)


def _folded(names: Any) -> Any:
    return [name.lower() for name in names] if isinstance(names, list) else names.lower()
