"""What Lake Formation lets an account do with another account's tables. What is modelled is listed in
`sandbox.fakes.aws`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from moto.lakeformation.models import lakeformation_backends
from moto.sts.models import sts_backends
from moto.utilities.utils import get_partition

from sandbox.fakes.lakeformation_grants import Grant, grants_of

__all__ = ["Caller", "Table"]

_IAM_ALLOWED_PRINCIPALS = "IAM_ALLOWED_PRINCIPALS"
_TABLE_KINDS = frozenset({"Table", "TableWithColumns"})


@dataclass(frozen=True)
class Table:
    """A table in its owner's catalog; without a name, all of its database's tables."""

    owner: str
    database: str
    name: str | None = None


@dataclass(frozen=True)
class Caller:
    """Who asks: an account, and the role whose credentials the request carries, None where they are no role's."""

    account: str
    region: str
    role: str | None

    @classmethod
    def of(cls, account: str, region: str, access_key: str) -> Caller:
        assumed = sts_backends[account][get_partition(region)].get_assumed_role_from_access_key(access_key)
        return cls(account, region, None if assumed is None else assumed.role_arn)

    def may(self, permission: str, table: Table) -> bool:
        """Whether the permission is held on the table, or on one of its database's; any permission shows a table."""
        if table.owner == self.account or not self._is_governed(table.owner):
            return True
        if self.role is not None and self._granted(table.owner, self.role, permission, table):
            return True
        if not self._granted(table.owner, self.account, permission, table):
            return False
        return self._is_admin() or self._granted(self.account, str(self.role), permission, table)

    def _is_governed(self, account: str) -> bool:
        settings = lakeformation_backends[account][self.region].get_data_lake_settings(account)
        defaults = settings.get("CreateTableDefaultPermissions", [])
        return all(each["Principal"]["DataLakePrincipalIdentifier"] != _IAM_ALLOWED_PRINCIPALS for each in defaults)

    def _is_admin(self) -> bool:
        settings = lakeformation_backends[self.account][self.region].get_data_lake_settings(self.account)
        admins = {each["DataLakePrincipalIdentifier"] for each in settings.get("DataLakeAdmins", [])}
        return self.role is None or self.role in admins

    def _granted(self, catalog: str, principal: str, permission: str, table: Table) -> bool:
        wanted = {permission, "ALL"}
        return any(
            permission == "DESCRIBE" or wanted & grant.permissions
            for grant in _on(table, grants_of(lakeformation_backends[catalog][self.region]))
            if grant.principal == principal
        )


def _on(table: Table, grants: list[Grant]) -> Iterator[Grant]:
    """The grants that cover the table; for a whole database, those that cover any table of it."""
    for grant in grants:
        resource = grant.resource
        if (
            grant.kind in _TABLE_KINDS
            and (resource["CatalogId"], resource["DatabaseName"]) == (table.owner, table.database)
            and (table.name is None or "TableWildcard" in resource or resource.get("Name") == table.name)
        ):
            yield grant
