"""How IAM evaluates a statement: conditions decide whether it applies, and never deny by themselves.

moto 5.2.5 takes a condition that does not hold for a denial, and knows no condition but those of role trust. What is
modelled is listed in `sandbox.fakes.aws`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from moto.iam.access_control import IAMPolicyStatement, PermissionResult

__all__ = ["ConditionalStatement"]


class ConditionalStatement(IAMPolicyStatement):
    """A statement that applies to a request where its action, principal, conditions and resource do."""

    def is_action_permitted(
        self,
        action: str,
        resource: str = "*",
        principal: str | None = None,
        incoming_condition_values: dict[str, str] | None = None,
    ) -> PermissionResult:
        statement: dict[str, Any] = self._statement
        concerned = (
            not self._check_element_matches("NotAction", action)
            if "NotAction" in statement
            else self._check_element_matches("Action", action)
        )
        if not concerned or not self._is_for(principal):
            return PermissionResult.NEUTRAL
        if not all(
            _holds(operator, key, expected, incoming_condition_values or {})
            for operator, entries in statement.get("Condition", {}).items()
            for key, expected in entries.items()
        ):
            return PermissionResult.NEUTRAL
        if statement.get("Resource") and not self._check_element_matches("Resource", resource):
            return PermissionResult.NEUTRAL
        return PermissionResult.PERMITTED if statement["Effect"] == "Allow" else PermissionResult.DENIED

    def _is_for(self, principal: str | None) -> bool:
        """Whether the statement names the caller. A caller that moto does not tell is everyone, and no one named."""
        named = self._statement.get("Principal")
        if named is None or named == "*":
            return True
        accounts = named.get("AWS", [])
        accounts = [accounts] if isinstance(accounts, str) else accounts
        return "*" in accounts or (principal is not None and principal in accounts)

    @staticmethod
    def _match(pattern: str, string: str) -> re.Match[str] | None:
        return _like(pattern, string)


def _like(pattern: str, string: str) -> re.Match[str] | None:
    """IAM's wildcards: * for any text, ? for one character, everything else itself; actions in any case."""
    expression = "".join({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in pattern)
    return re.fullmatch(expression, string, re.IGNORECASE if ":" in pattern and "/" not in pattern else 0)


def _holds(operator: str, key: str, expected: str | list[str], given: Mapping[str, str]) -> bool:
    values = [expected] if isinstance(expected, str) else expected
    actual = given.get(key) if key in given else _from_request(key)
    if operator == "Null":
        return (actual is None) == (str(values[0]).lower() == "true")
    if actual is None:
        return False
    return any(_OPERATORS[operator](str(value), actual) for value in values)


_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "ArnEquals": lambda expected, actual: _like(expected, actual) is not None,
    "ArnLike": lambda expected, actual: _like(expected, actual) is not None,
    "Bool": lambda expected, actual: expected.lower() == actual.lower(),
    "StringEquals": lambda expected, actual: expected == actual,
    "StringLike": lambda expected, actual: _like(expected, actual) is not None,
    "StringNotEquals": lambda expected, actual: expected != actual,
}


def _from_request(key: str) -> str | None:
    """A condition key's value in the request that is being answered; None where it has none."""
    from flask import has_request_context, request

    if not has_request_context():
        return None
    if key == "aws:SecureTransport":
        return "true"  # The stand-in speaks plain HTTP; what it stands for does not.
    if key == "s3:prefix":
        return request.args.get("prefix", "")
    if key == "s3:if-none-match":
        return request.headers.get("If-None-Match")
    if key == "s3:ObjectCreationOperation":
        is_part = "partNumber" in request.args or "uploads" in request.args
        return str(not is_part).lower()
    return None
