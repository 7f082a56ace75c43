"""The policies of a session's role, as the stand-in's IAM keeps them, and what they say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.iam.exceptions import NotFoundException
from moto.iam.models import iam_backends
from moto.sts.models import sts_backends

from sandbox.fakes.authorisation.request import Asked

__all__ = ["Session", "session_of", "trusts"]


@dataclass(frozen=True)
class Session:
    """Somebody with a role's temporary credentials."""

    account: str
    role_arn: str
    name: str

    @property
    def role(self) -> str:
        return self.role_arn.rpartition("/")[2]

    @property
    def arn(self) -> str:
        return f"arn:aws:sts::{self.account}:assumed-role/{self.role}/{self.name}"

    def may(self, asked: Asked) -> bool:
        """Whether a policy of the role allows it and none denies it."""
        said = [_say(document, asked) for document in self._documents()]
        return PermissionResult.PERMITTED in said and PermissionResult.DENIED not in said

    @property
    def is_of_a_known_role(self) -> bool:
        """False for a role that IAM does not have: the stand-in lends those to whoever administers an account."""
        return _role(self.role_arn) is not None

    def _documents(self) -> Iterator[str]:
        iam = iam_backends[self.account]["aws"]
        for name in iam.list_role_policies(self.role):
            _, document = iam.get_role_policy(self.role, name)
            yield document if isinstance(document, str) else json.dumps(document)
        attached, _ = iam.list_attached_role_policies(self.role)
        for policy in attached:
            yield next(version.document for version in policy.versions if version.is_default)


def session_of(access_key: str) -> Session | None:
    """Whose temporary credentials an access key is; None for a key of another kind."""
    for account, partitions in list(sts_backends.items()):
        for backend in list(partitions.values()):
            found = backend.get_assumed_role_from_access_key(access_key)
            if found is not None:
                return Session(account, found.role_arn, found.session_name)
    return None


def trusts(role_arn: str, caller: Session) -> bool:
    """Whether a role's own trust policy lets the caller assume it, by its role's name or by its account."""
    role = _role(role_arn)
    if role is None:
        return True
    document = role.assume_role_policy_document
    asked = Asked("sts:AssumeRole", role_arn, {"aws:PrincipalArn": caller.role_arn})
    principals = (caller.role_arn, f"arn:aws:iam::{caller.account}:root")
    return any(_say(document, asked, principal) is PermissionResult.PERMITTED for principal in principals)


def _role(arn: str) -> Any:
    try:
        return iam_backends[arn.split(":")[4]]["aws"].get_role(arn.rpartition("/")[2])
    except NotFoundException:
        return None


def _say(document: str, asked: Asked, principal: str | None = None) -> PermissionResult:
    context = {"aws:SecureTransport": "true", **asked.context}
    return IAMPolicy(document).is_action_permitted(asked.action, asked.resource, principal, context)
