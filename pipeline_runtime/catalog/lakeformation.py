"""LF-tags: the ontology that governance keeps, and the tags of a table.

A tag belongs to the catalog that defines it; a table may carry tags of several catalogs. Only the tags we are
asked for are ever set or taken back; those of others stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.answers import closest, in_catalog, named, refusals_as
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.errors import PolicyError, TagsRefused, UnknownTagKey, UnknownTagValue

if TYPE_CHECKING:
    from mypy_boto3_lakeformation import LakeFormationClient
    from mypy_boto3_lakeformation.type_defs import LFTagErrorTypeDef, LFTagPairTypeDef, ResourceTypeDef

__all__ = ["PreviousTags", "assign_tags", "held_tags", "read_ontology", "resolve_tags", "restore_tags"]


@dataclass(frozen=True)
class PreviousTags:
    """What a table carried before `assign_tags`: for each of our keys its value, None where it had none.

    `catalog` is the one that defines the tags.
    """

    catalog: str
    values: Mapping[str, str | None]


def read_ontology(lf: LakeFormationClient, catalog_id: str | None = None) -> Mapping[str, tuple[str, ...]]:
    """Every tag key that the caller may see in one catalog, with its allowed values, as Lake Formation spells them.

    `catalog_id` is the governance account's where it keeps the ontology, else the caller's own. Raises PolicyError.
    """
    pages = lf.get_paginator("list_lf_tags").paginate(**in_catalog(catalog_id))
    with refusals_as(PolicyError, f"list the LF-tags of {named(catalog_id)}"):
        return {tag["TagKey"]: tuple(tag["TagValues"]) for page in pages for tag in page.get("LFTags", [])}


def resolve_tags(
    declared: Mapping[str, str], ontology: Mapping[str, tuple[str, ...]], catalog_id: str | None = None
) -> dict[str, str]:
    """The declared tags in the ontology's own spelling. Lake Formation ignores case and keeps lower case.

    Raises UnknownTagKey or UnknownTagValue with what is allowed; `catalog_id` says where the ontology came from.
    """
    keys = {key.casefold(): key for key in ontology}
    resolved = {}
    for declared_key, declared_value in declared.items():
        tag = f"LF-tag {declared_key}={declared_value}: the ontology of {named(catalog_id)}"
        key = keys.get(declared_key.casefold())
        if key is None:
            known = ", ".join(sorted(ontology)) or "none that this role may see"
            near = closest(declared_key.casefold(), keys)
            raise UnknownTagKey(f"{tag} has no key {declared_key}.{near} Known keys: {known}.")
        values = {value.casefold(): value for value in ontology[key]}
        value = values.get(declared_value.casefold())
        if value is None:
            near = closest(declared_value.casefold(), values)
            raise UnknownTagValue(
                f"{tag} does not allow {declared_value} for {key}.{near} Allowed: {', '.join(sorted(ontology[key]))}."
            )
        resolved[key] = value
    return resolved


def assign_tags(
    lf: LakeFormationClient, identity: TableIdentity, tags: Mapping[str, str], tag_catalog_id: str | None = None
) -> PreviousTags:
    """Sets these tags on the table, and returns what its values were, for `restore_tags`.

    `tag_catalog_id` is the catalog that defines the tags, the table's own account where it is None. No call is
    made for tags that are set already. Raises TagsRefused where Lake Formation reports failures, after taking
    back what it did apply; PolicyError where it refuses altogether.
    """
    catalog = tag_catalog_id or _account(identity)
    held = _held(lf, identity, catalog)
    previous = PreviousTags(catalog, {key: held.get(key) for key in tags})
    missing = {key: value for key, value in tags.items() if held.get(key) != value}
    failures = _add(lf, identity, catalog, missing)
    if failures:
        problem = f"Lake Formation refused LF-tags of {named(catalog)} on {identity.fqn}: {_told(failures)}"
        try:
            restore_tags(lf, identity, previous)
        except PolicyError as error:
            raise TagsRefused(f"{problem}. The others could not be taken back: {error}") from error
        raise TagsRefused(f"{problem}. The table's tags are as they were.")
    return previous


def restore_tags(lf: LakeFormationClient, identity: TableIdentity, previous: PreviousTags) -> None:
    """Puts our keys back to what they were before `assign_tags`. Raises PolicyError or TagsRefused."""
    held = _held(lf, identity, previous.catalog)
    added = {key: held[key] for key, value in previous.values.items() if value is None and key in held}
    changed = {key: value for key, value in previous.values.items() if value is not None and held.get(key) != value}
    failures = _add(lf, identity, previous.catalog, changed) + _remove(lf, identity, previous.catalog, added)
    if failures:
        raise TagsRefused(f"Lake Formation refused to restore LF-tags on {identity.fqn}: {_told(failures)}")


def held_tags(lf: LakeFormationClient, identity: TableIdentity, tag_catalog_id: str | None = None) -> dict[str, str]:
    """The table's own tags out of one catalog, the table's where it is None. Raises PolicyError."""
    return _held(lf, identity, tag_catalog_id or _account(identity))


def _held(lf: LakeFormationClient, identity: TableIdentity, catalog: str) -> dict[str, str]:
    """The tags of one catalog that are set on the table itself, not those it inherits from its database."""
    with refusals_as(PolicyError, f"read the LF-tags of {identity.fqn} in {named(identity.account)}"):
        answer = lf.get_resource_lf_tags(
            CatalogId=_account(identity), Resource=_resource(identity), ShowAssignedLFTags=True
        )
    return {
        tag["TagKey"]: tag["TagValues"][0]
        for tag in answer.get("LFTagsOnTable", [])
        if tag.get("CatalogId", catalog) == catalog
    }


def _add(
    lf: LakeFormationClient, identity: TableIdentity, catalog: str, tags: Mapping[str, str]
) -> list[LFTagErrorTypeDef]:
    if not tags:
        return []
    with refusals_as(PolicyError, f"set LF-tags of {named(catalog)} on {identity.fqn} in {named(identity.account)}"):
        answer = lf.add_lf_tags_to_resource(
            CatalogId=_account(identity), Resource=_resource(identity), LFTags=_pairs(catalog, tags)
        )
    return list(answer.get("Failures", []))


def _remove(
    lf: LakeFormationClient, identity: TableIdentity, catalog: str, tags: Mapping[str, str]
) -> list[LFTagErrorTypeDef]:
    if not tags:
        return []
    with refusals_as(PolicyError, f"take LF-tags of {named(catalog)} from {identity.fqn} in {named(identity.account)}"):
        answer = lf.remove_lf_tags_from_resource(
            CatalogId=_account(identity), Resource=_resource(identity), LFTags=_pairs(catalog, tags)
        )
    return list(answer.get("Failures", []))


def _account(identity: TableIdentity) -> str:
    """The account of the table's catalog: `<account>:s3tablescatalog/<bucket>` is accepted inside a resource only."""
    return identity.account.partition(":")[0]


def _resource(identity: TableIdentity) -> ResourceTypeDef:
    return {"Table": {"CatalogId": identity.account, "DatabaseName": identity.database, "Name": identity.table}}


def _pairs(catalog: str, tags: Mapping[str, str]) -> list[LFTagPairTypeDef]:
    return [{"CatalogId": catalog, "TagKey": key, "TagValues": [value]} for key, value in tags.items()]


def _told(failures: list[LFTagErrorTypeDef]) -> str:
    """`key=value (code: message)` for each failure."""
    told = []
    for failure in failures:
        tag, error = failure.get("LFTag"), failure.get("Error", {})
        name = f"{tag['TagKey']}={','.join(tag['TagValues'])}" if tag else "a tag it does not name"
        told.append(f"{name} ({error.get('ErrorCode', 'no code')}: {error.get('ErrorMessage', 'no reason given')})")
    return "; ".join(told)
