"""The one identity of a dataset (design decision D3), and the other names it goes by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pipeline_runtime.catalog.table import TableIdentity

if TYPE_CHECKING:
    from pipeline_runtime.catalog.connections import JdbcEndpoint

__all__ = ["DatasetIdentity", "Symlink", "glue_dataset", "identity_problem", "jdbc_dataset", "job_namespace"]

_GLUE_NAMESPACE = re.compile(r"arn:aws[a-z-]*:glue:[a-z]{2}(-[a-z]+)+-\d:\d{12}")
_GLUE_NAME = re.compile(r"table/[^/]+/[^/]+")


@dataclass(frozen=True)
class Symlink:
    """Another name of a dataset. `type` TABLE is given once at most: DataZone builds its identifier from that one."""

    namespace: str
    name: str
    type: Literal["TABLE", "CATALOG", "LOGICAL", "LOCATION"]


@dataclass(frozen=True)
class DatasetIdentity:
    """Namespace and name, by OpenLineage's rules of naming, and the symlinks in their order."""

    namespace: str
    name: str
    symlinks: tuple[Symlink, ...] = ()


def job_namespace(domain: str) -> str:
    """The namespace of a domain's jobs, and of its datasets' logical names."""
    return f"cordata.{domain}"


def glue_dataset(identity: TableIdentity, *, domain: str, location: str | None) -> DatasetIdentity:
    """A Glue table's dataset, the same from whichever account and domain it is seen.

    `domain` is the domain that speaks of it, `location` an s3:// prefix. The first symlink repeats the ARN pair,
    since DataZone takes a Glue run's dataset from its TABLE symlink.
    """
    symlinks = [
        Symlink(identity.namespace, identity.name, "TABLE"),
        Symlink(job_namespace(domain), identity.fqn, "LOGICAL"),
    ]
    if location:
        bucket = urlsplit(location)
        symlinks.append(Symlink(f"{bucket.scheme}://{bucket.netloc}", bucket.path.strip("/"), "LOCATION"))
    return DatasetIdentity(identity.namespace, identity.name, tuple(symlinks))


def jdbc_dataset(endpoint: JdbcEndpoint, identity: TableIdentity, *, domain: str) -> DatasetIdentity:
    """A database's table, under the name that every other tool gives it; its entry in the Glue catalog is a symlink.

    That one is not of type TABLE: DataZone would name the node after it, and dbt's, or the ingestion's, runs that touch
    the same table would be at another node.
    """
    symlinks = (
        Symlink(identity.namespace, identity.name, "CATALOG"),
        Symlink(job_namespace(domain), identity.fqn, "LOGICAL"),
    )
    return DatasetIdentity(endpoint.namespace, endpoint.name, symlinks)


def identity_problem(datasets: Iterable[tuple[str, str]]) -> str | None:
    """Why events about these (namespace, name) pairs must not be sent; None where they may.

    A table whose region or account is not known would be sent under a name that is nobody's.
    """
    for namespace, name in datasets:
        if not namespace.startswith("arn:"):
            continue
        if _GLUE_NAMESPACE.fullmatch(namespace) is None or _GLUE_NAME.fullmatch(name) is None:
            return (
                f"dataset {namespace}:{name} has no complete identity; region, account, database and table of a "
                "Glue table must be known (is AWS_REGION set, and does GetTable answer with a CatalogId?)"
            )
    return None
