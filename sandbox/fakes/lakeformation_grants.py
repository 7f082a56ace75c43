"""Lake Formation's grants, with the catalog of the resource. What is modelled is listed in `sandbox.fakes.aws`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from moto.lakeformation.exceptions import InvalidInput
from moto.lakeformation.models import LakeFormationBackend
from moto.lakeformation.responses import LakeFormationResponse

from sandbox.fakes.paging import page

__all__ = ["Grant", "Grants", "grants_of"]

_PAGE = 100


@dataclass
class Grant:
    """What one principal may do with one resource."""

    principal: str
    kind: str
    resource: dict[str, Any]
    permissions: set[str] = field(default_factory=set)
    grantable: set[str] = field(default_factory=set)

    def shown(self) -> dict[str, Any]:
        return {
            "Principal": {"DataLakePrincipalIdentifier": self.principal},
            "Resource": {self.kind: self.resource},
            "Permissions": sorted(self.permissions),
            "PermissionsWithGrantOption": sorted(self.grantable),
        }


class Grants(LakeFormationResponse):
    """GrantPermissions, RevokePermissions and ListPermissions of every kind of resource."""

    def grant_permissions(self) -> str:
        kind, resource = self._resource()
        principal = self._get_param("Principal")["DataLakePrincipalIdentifier"]
        held = next(self._matching(kind, resource, principal), None)
        if held is None:
            held = Grant(principal, kind, resource)
            grants_of(self.lakeformation_backend).append(held)
        held.permissions |= set(self._get_param("Permissions"))
        held.grantable |= set(self._get_param("PermissionsWithGrantOption") or [])
        return "{}"

    def revoke_permissions(self) -> str:
        kind, resource = self._resource()
        principal = self._get_param("Principal")["DataLakePrincipalIdentifier"]
        revoked = set(self._get_param("Permissions"))
        held = next(self._matching(kind, resource, principal), None)
        if held is None or not revoked <= held.permissions:
            raise InvalidInput(f"No permissions revoked. Grantee does not have: {sorted(revoked)}")
        held.permissions -= revoked
        held.grantable -= set(self._get_param("PermissionsWithGrantOption") or []) | revoked
        if not held.permissions:
            grants_of(self.lakeformation_backend).remove(held)
        return "{}"

    def list_permissions(self) -> str:
        principal = (self._get_param("Principal") or {}).get("DataLakePrincipalIdentifier")
        kind, resource = self._resource() if self._get_param("Resource") else (None, None)
        found = [grant.shown() for grant in self._matching(kind, resource, principal)]
        shown, token = page(found, self._get_param("NextToken"), _PAGE)
        return json.dumps({"PrincipalResourcePermissions": shown, **({"NextToken": token} if token else {})})

    def _resource(self) -> tuple[str, dict[str, Any]]:
        """The request's resource, its catalog said and its names in the spelling that Lake Formation keeps."""
        resource = self._get_param("Resource")
        if len(resource) != 1:
            raise InvalidInput("Resource must name exactly one catalog, database, table, location, tag or expression.")
        kind, given = next(iter(resource.items()))
        kept = {key: value.lower() if key in {"DatabaseName", "TagKey"} else value for key, value in given.items()}
        if kind in {"Database", "Table", "TableWithColumns"} and "Name" in kept:
            kept["Name"] = kept["Name"].lower()
        if "TagValues" in kept:
            kept["TagValues"] = sorted(value.lower() for value in kept["TagValues"])
        return kind, {"CatalogId": self.lakeformation_backend.account_id, **kept}

    def _matching(self, kind: str | None, resource: dict[str, Any] | None, principal: str | None) -> Iterator[Grant]:
        for grant in grants_of(self.lakeformation_backend):
            if (
                kind in {None, grant.kind}
                and resource in (None, grant.resource)
                and principal in {None, grant.principal}
            ):
                yield grant


def grants_of(catalog: LakeFormationBackend) -> list[Grant]:
    """What a catalog's owner has granted, in the order of the first grant."""
    grants: list[Grant] = catalog.__dict__.setdefault("kept_grants", [])
    return grants
