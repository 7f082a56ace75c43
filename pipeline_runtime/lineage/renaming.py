"""The Spark listener's names of datasets as our own (design decision D3).

The listener names a table by where its files are, a file by its path, and in a symlink a Glue table with the job's
account and with the branch that was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline_runtime.catalog.locations import normal_location
from pipeline_runtime.catalog.table import TableIdentity

__all__ = ["Dataset", "KnownDataset", "Renaming", "pair_of"]

#: Namespace and name.
Dataset = tuple[str, str]

_TABLE = "table/"


@dataclass(frozen=True)
class KnownDataset:
    """A dataset of the run: our name for it, where its files are (`s3://…` prefixes), and its table in the catalog."""

    name: Dataset
    locations: tuple[str, ...]
    table: TableIdentity


class Renaming:
    """Our names for the datasets of one run. `job` is any table of the job's own account and region."""

    def __init__(self, known: Iterable[KnownDataset], job: TableIdentity) -> None:
        self._known = tuple(known)
        self._job = job

    def of(self, dataset: Dataset, table: str | None = None) -> Dataset:
        """Our name of a dataset of the listener's; `table` is what its symlink says, as `tables` finds it.

        A dataset that the run has not declared keeps the name that OpenLineage's rules give it: a Glue table the
        ARN pair, in the job's account, since the listener knows no other; anything else its own.
        """
        namespace, name = dataset
        # A database's table is spelled as the query spells it, quotes included.
        plain = (namespace, name.replace('"', ""))
        if any(known.name == plain for known in self._known):
            return plain
        place = normal_location(f"{namespace.rstrip('/')}/{name.lstrip('/')}")
        fitting = [
            (len(location), known.name)
            for known in self._known
            for location in known.locations
            if place == location or place.startswith(location + "/")
        ]
        if fitting:
            return max(fitting)[1]
        if table is None:
            return (normal_location(namespace), name) if "://" in namespace else dataset
        named = {known.name for known in self._known if known.table.fqn == table}
        if len(named) == 1:
            return named.pop()
        return self._job.namespace, _TABLE + table.replace(".", "/", 1)

    def tables(self, event: Mapping[str, Any]) -> dict[Dataset, str]:
        """Which of the event's datasets are Glue tables: `<database>.<table>`, without the branch, by their name."""
        return {
            pair_of(dataset): table
            for dataset in (*(event.get("inputs") or ()), *(event.get("outputs") or ()))
            if (table := next(_glue_tables(dataset), None)) is not None
        }


def pair_of(dataset: Mapping[str, Any]) -> Dataset:
    """Namespace and name of a dataset, or of a column of one."""
    return str(dataset["namespace"]), str(dataset["name"])


def _glue_tables(dataset: Mapping[str, Any]) -> Iterator[str]:
    links = ((dataset.get("facets") or {}).get("symlinks") or {}).get("identifiers") or ()
    for link in links:
        name = str(link.get("name", ""))
        if str(link.get("namespace", "")).startswith("arn:") and name.startswith(_TABLE):
            database, _, rest = name.removeprefix(_TABLE).partition("/")
            yield f"{database}.{rest.partition('/')[0]}"
