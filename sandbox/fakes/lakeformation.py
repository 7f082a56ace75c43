"""Lake Formation's rules for LF-tags, on top of moto's. What is modelled is listed in `sandbox.fakes.aws`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from moto.glue.exceptions import EntityNotFoundException as GlueEntityNotFound
from moto.glue.models import glue_backends
from moto.lakeformation.exceptions import AlreadyExists, EntityNotFound, InvalidInput
from moto.lakeformation.models import LakeFormationBackend, lakeformation_backends

from sandbox.fakes.lakeformation_grants import Grants
from sandbox.fakes.paging import page

__all__ = ["LakeFormationFake"]

_ONTOLOGY_PAGE = 50

#: key -> value, as one resource holds them.
Tags = dict[tuple[str, str], str]


class LakeFormationFake(Grants):
    """moto's Lake Formation with the service's own LF-tags.

    The ontology and the tags of a resource live in the backend of the account that owns the catalog,
    so that an account sees the ontology of the governance account when it asks with that CatalogId.
    """

    @property
    def lakeformation_backend(self) -> LakeFormationBackend:
        return self._catalog(self._get_param("CatalogId"))

    def _catalog(self, catalog_id: str | None) -> LakeFormationBackend:
        account = catalog_id or self.current_account
        if re.fullmatch(r"\d{12}", account) is None:
            raise EntityNotFound
        return lakeformation_backends[account][self.region]

    # -- the ontology --------------------------------------------------------------------------

    def create_lf_tag(self) -> str:
        ontology = _ontology(self.lakeformation_backend)
        key = self._get_param("TagKey").lower()
        if key in ontology:
            raise AlreadyExists(f"Tag key already exists: {key}")
        ontology[key] = _folded(self._get_param("TagValues"))
        return "{}"

    def get_lf_tag(self) -> str:
        catalog = self.lakeformation_backend
        key = self._get_param("TagKey").lower()
        return json.dumps({"CatalogId": catalog.account_id, "TagKey": key, "TagValues": _values(catalog, key)})

    def list_lf_tags(self) -> str:
        catalog = self.lakeformation_backend
        tags = [
            {"CatalogId": catalog.account_id, "TagKey": key, "TagValues": values}
            for key, values in _ontology(catalog).items()
        ]
        size = min(self._get_int_param("MaxResults", _ONTOLOGY_PAGE), _ONTOLOGY_PAGE)
        shown, token = page(tags, self._get_param("NextToken"), size)
        return json.dumps({"LFTags": shown, **({"NextToken": token} if token else {})})

    def update_lf_tag(self) -> str:
        values = _values(self.lakeformation_backend, self._get_param("TagKey").lower())
        gone = _folded(self._get_param("TagValuesToDelete") or [])
        if missing := [value for value in gone if value not in values]:
            raise InvalidInput(f"Tag values do not exist: {', '.join(missing)}")
        added = _folded(self._get_param("TagValuesToAdd") or [])
        values[:] = [value for value in values if value not in gone]
        values += [value for value in added if value not in values]
        return "{}"

    def delete_lf_tag(self) -> str:
        catalog = self.lakeformation_backend
        key = self._get_param("TagKey").lower()
        _values(catalog, key)
        del _ontology(catalog)[key]
        for backends in lakeformation_backends.values():
            for backend in backends.values():
                for tags in _assigned(backend).values():
                    tags.pop((catalog.account_id, key), None)
        return "{}"

    # -- the tags of a resource ----------------------------------------------------------------

    def add_lf_tags_to_resource(self) -> str:
        resources = self._resources()
        failures = []
        for tag in self._get_param("LFTags"):
            owner, key, values = self._tag(tag)
            if len(values) > 1:
                raise InvalidInput(f"A resource holds one value of a tag key; {key} has {len(values)}.")
            known = _ontology(self._catalog(owner)).get(key, [])
            if values[0] not in known:
                failures.append(_failure(tag, "EntityNotFoundException", "Tag or tag value does not exist."))
                continue
            for held in resources:
                held[(owner, key)] = values[0]
        return json.dumps({"Failures": failures})

    def remove_lf_tags_from_resource(self) -> str:
        resources = self._resources()
        failures = []
        for tag in self._get_param("LFTags"):
            owner, key, values = self._tag(tag)
            for held in resources:
                if held.get((owner, key)) in values:
                    del held[(owner, key)]
                else:
                    failures.append(_failure(tag, "EntityNotFoundException", "Tag is not on the resource."))
        return json.dumps({"Failures": failures})

    def get_resource_lf_tags(self) -> str:
        resource = self._get_param("Resource")
        assigned_only = bool(self._get_param("ShowAssignedLFTags"))
        if "Database" in resource:
            return json.dumps(_shown("LFTagOnDatabase", self._resources()[0]))
        kind = "Table" if "Table" in resource else "TableWithColumns"
        where = resource[kind]
        catalog_id = where.get("CatalogId")
        on_database = self._held(catalog_id, where["DatabaseName"])
        on_table = self._held(catalog_id, where["DatabaseName"], where["Name"])
        inherited = on_table if assigned_only else {**on_database, **on_table}
        answer = {**_shown("LFTagOnDatabase", on_database), **_shown("LFTagsOnTable", inherited)}
        columns = [
            {"Name": column, "LFTags": _listed(held)}
            for column in where.get("ColumnNames", [])
            if (held := self._held(catalog_id, where["DatabaseName"], where["Name"], column))
        ]
        return json.dumps({**answer, **({"LFTagsOnColumns": columns} if columns else {})})

    def _tag(self, tag: dict[str, Any]) -> tuple[str, str, list[str]]:
        """The owner, key and values of a tag as Lake Formation keeps them."""
        owner = tag.get("CatalogId") or self._get_param("CatalogId") or self.current_account
        return owner, tag["TagKey"].lower(), _folded(tag["TagValues"])

    def _resources(self) -> list[Tags]:
        """What the request's resource holds: one entry for a database or table, one for each named column."""
        resource = self._get_param("Resource")
        if "Database" in resource:
            return [self._held(resource["Database"].get("CatalogId"), resource["Database"]["Name"])]
        if "Table" in resource:
            where = resource["Table"]
            return [self._held(where.get("CatalogId"), where["DatabaseName"], where["Name"])]
        if "TableWithColumns" in resource:
            where = resource["TableWithColumns"]
            address = (where.get("CatalogId"), where["DatabaseName"], where["Name"])
            return [self._held(*address, column) for column in where["ColumnNames"]]
        raise InvalidInput("Resource must name a database, a table or columns of a table.")

    def _held(self, catalog_id: str | None, database: str, *rest: str) -> Tags:
        """The tags of one existing database, table or column; empty at first."""
        catalog = self._catalog(catalog_id or self._get_param("CatalogId"))
        address = tuple(part.lower() for part in (database, *rest))
        glue = glue_backends[catalog.account_id][self.region]
        try:
            glue.get_database(address[0])
            if rest:
                glue.get_table(address[0], address[1])
        except GlueEntityNotFound as error:
            raise EntityNotFound from error
        return _assigned(catalog).setdefault(address, {})


def _ontology(catalog: LakeFormationBackend) -> dict[str, list[str]]:
    ontology: dict[str, list[str]] = catalog.__dict__.setdefault("ontology", {})
    return ontology


def _assigned(catalog: LakeFormationBackend) -> dict[tuple[str, ...], Tags]:
    assigned: dict[tuple[str, ...], Tags] = catalog.__dict__.setdefault("assigned", {})
    return assigned


def _values(catalog: LakeFormationBackend, key: str) -> list[str]:
    try:
        return _ontology(catalog)[key]
    except KeyError:
        raise EntityNotFound from None


def _folded(values: Iterable[str]) -> list[str]:
    return [value.lower() for value in values]


def _listed(held: Tags) -> list[dict[str, Any]]:
    return [{"CatalogId": owner, "TagKey": key, "TagValues": [value]} for (owner, key), value in held.items()]


def _shown(field: str, held: Tags) -> dict[str, Any]:
    return {field: _listed(held)} if held else {}


def _failure(tag: dict[str, Any], code: str, message: str) -> dict[str, Any]:
    return {"LFTag": tag, "Error": {"ErrorCode": code, "ErrorMessage": message}}
