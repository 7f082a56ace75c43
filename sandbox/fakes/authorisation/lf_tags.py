"""Lake Formation's own door for LF-tags, behind IAM's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from moto.lakeformation.models import lakeformation_backends

from sandbox.fakes.authorisation.policies import Session
from sandbox.fakes.authorisation.request import Call

__all__ = ["seen_tags", "ungranted_tag"]

_ATTACHING = frozenset({"AddLFTagsToResource", "RemoveLFTagsFromResource"})


def ungranted_tag(call: Call, session: Session) -> str | None:
    """Restores: a tag is attached, and taken back, by whoever is granted ASSOCIATE on that value. Tells what is not.

    Permissions on tables and databases are not evaluated: an account may leave those to IAM, tags it may not.
    """
    if call.operation not in _ATTACHING:
        return None
    for tag in call.json.get("LFTags", []):
        owner = tag.get("CatalogId") or call.json.get("CatalogId") or session.account
        held = _values(session.role_arn, owner, tag["TagKey"].lower(), {"ASSOCIATE"})
        if not {value.lower() for value in tag["TagValues"]} <= held:
            return f"ASSOCIATE on {owner}:{tag['TagKey']}={','.join(tag['TagValues'])}"
    return None


def seen_tags(answer: bytes, session: Session) -> bytes:
    """Restores: ListLFTags tells of the values on which the caller is granted something, and of no others."""
    told = json.loads(answer)
    for tag in told["LFTags"]:
        seen = _values(session.role_arn, tag["CatalogId"], tag["TagKey"], {"ASSOCIATE", "DESCRIBE"})
        tag["TagValues"] = [value for value in tag["TagValues"] if value in seen]
    told["LFTags"] = [tag for tag in told["LFTags"] if tag["TagValues"]]
    return json.dumps(told).encode()


def _values(role_arn: str, owner: str, key: str, permissions: set[str]) -> set[str]:
    """The values of a key that a principal holds one of these permissions on."""
    return {
        value
        for grant in _grants()
        if grant.principal == role_arn and grant.kind == "LFTag" and grant.permissions & permissions
        if _owned(grant.resource, owner, key)
        for value in grant.resource["TagValues"]
    }


def _owned(resource: Mapping[str, Any], owner: str, key: str) -> bool:
    return bool(resource["CatalogId"] == owner and resource["TagKey"] == key)


def _grants() -> Iterator[Any]:
    """Every account's, as `sandbox.fakes.lakeformation_grants` keeps them."""
    for regions in list(lakeformation_backends.values()):
        for backend in list(regions.values()):
            yield from list(backend.__dict__.get("kept_grants", []))
