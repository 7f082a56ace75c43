"""What AWS answers when it refuses, told in our words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict

from pipeline_runtime.errors import PipelineError

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

__all__ = ["CatalogArgument", "closest", "code_of", "in_catalog", "is_denied", "named", "refusals_as", "refused"]

#: S3 says AccessDenied, or a bare 403; Glue, Lake Formation and STS say AccessDeniedException.
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "403"})


class CatalogArgument(TypedDict, total=False):
    """The `CatalogId` argument of a Glue or Lake Formation call; empty for the caller's own catalog."""

    CatalogId: str


def in_catalog(catalog_id: str | None) -> CatalogArgument:
    """The argument that addresses one catalog."""
    return {"CatalogId": catalog_id} if catalog_id is not None else {}


def named(catalog_id: str | None) -> str:
    """A catalog in a message."""
    return f"catalog {catalog_id}" if catalog_id is not None else "the job's own catalog"


def closest(name: str, candidates: Iterable[str]) -> str:
    """` Did you mean …?` with the nearest candidate, empty where none is near."""
    near = difflib.get_close_matches(name, list(candidates), n=1)
    return f" Did you mean {near[0]}?" if near else ""


def code_of(error: ClientError) -> str:
    """AWS's own name of the error."""
    return error.response["Error"]["Code"]


def refused(error: ClientError, doing: str) -> str:
    """`error` as one line: what was being done, and AWS's reason. Access denied is said as such."""
    code, reason = code_of(error), error.response["Error"].get("Message", "").strip()
    if code in _DENIED:
        return f"access denied: cannot {doing}. AWS says: {reason or code}. Grant the job's role that permission."
    return f"cannot {doing}: {code}: {reason}"


@contextmanager
def refusals_as(kind: type[PipelineError], doing: str) -> Iterator[None]:
    """Raises AWS's refusals inside the block as `kind`. Throttling has been retried by botocore before."""
    from botocore.exceptions import ClientError

    try:
        yield
    except ClientError as error:
        raise kind(refused(error, doing)) from error


def is_denied(error: ClientError) -> bool:
    """Whether AWS refused for lack of a permission."""
    return code_of(error) in _DENIED
