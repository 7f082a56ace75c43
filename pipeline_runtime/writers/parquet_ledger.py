"""The parquet writer's records in the evidence store: what a run has staged, is switching, has switched.

    journals/<account>/<database>.<table>/<folder>.json           under way: STAGED, then SWITCHING
    superseded/<account>/<database>.<table>/<time>.<folder>.json  settled: PUBLISHED or UNDONE, until the files it
                                                                  names have outlived their readers

`<folder>` is the run's folder inside the table's prefix: the run id, with a number behind it where one run id
staged more than once; `<time>` is when it was settled, so that young records need not be read. A record is
written before what it announces, so a killed run leaves its record, and the next run knows what to finish, to
undo, and to remove.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

from pipeline_runtime.catalog import parameters
from pipeline_runtime.catalog.lookup import find_table
from pipeline_runtime.catalog.partition_switch import PartitionMove, Values
from pipeline_runtime.errors import EvidenceFailed
from pipeline_runtime.evidence.store import EvidenceStore

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

    from pipeline_runtime.catalog.table import TableIdentity

__all__ = ["Ledger", "Record", "State", "Superseded", "record_of_publish"]

_TIME = "%Y%m%dT%H%M%SZ"


class State(str, Enum):
    """How far a run's batch has got."""

    STAGED = "staged"
    SWITCHING = "switching"
    PUBLISHED = "published"
    UNDONE = "undone"

    @property
    def is_settled(self) -> bool:
        return self in (State.PUBLISHED, State.UNDONE)


@dataclass(frozen=True)
class Superseded:
    """Files that no partition points at any more, though a reader may still hold their location."""

    values: Values
    location: str


@dataclass(frozen=True)
class Record:
    """One run's batch. `at` is when it got into its state; `owner` the process that staged it.

    `moves` are the switch; an unpartitioned table's one move has no values. `parameters` are ours on the table
    as they were before the switch. `superseded` is what to remove once its readers are gone.
    """

    folder: str
    run_id: str
    state: State
    at: datetime
    owner: str | None
    rows: int = 0
    partitions: int = 0
    moves: tuple[PartitionMove, ...] = ()
    parameters: Mapping[str, str | None] = field(default_factory=dict)
    superseded: tuple[Superseded, ...] = ()

    @property
    def is_partitioned(self) -> bool:
        return all(move.values for move in self.moves)

    def now(self, state: State, **changes: Any) -> Record:
        """The record in its next state, reached now."""
        return replace(self, state=state, at=datetime.now(UTC), **changes)


@dataclass(frozen=True)
class Ledger:
    """One table's records. Every method raises EvidenceFailed where the store cannot be used."""

    store: EvidenceStore
    identity: TableIdentity

    def under_way(self) -> list[Record]:
        """The records of batches that are neither published nor undone, by folder."""
        settled = {_folder(key) for key in self._settled_keys()}
        found = []
        for key in self.store.keys(self._prefix("journals")):
            record = self._read(key)
            if record is not None and record.folder in settled:
                self.store.delete(key)  # its writer was stopped between its two last steps
            elif record is not None:
                found.append(record)
        return found

    def settled_before(self, moment: datetime) -> list[Record]:
        """The records that were settled before that moment, the oldest first."""
        ripe = [key for key in self._settled_keys() if _settled_at(key) < moment]
        return [record for key in ripe if (record := self._read(key)) is not None]

    def of_run(self, run_id: str) -> list[Record]:
        """All records of one run."""
        keys = [*self._settled_keys(), *self.store.keys(f"{self._prefix('journals')}{run_id}.")]
        found = (self._read(key) for key in keys if run_id in key)
        return [record for record in found if record is not None and record.run_id == run_id]

    def get(self, folder: str) -> Record | None:
        """The record of that folder, settled or under way; None where there is none."""
        settled = [key for key in self._settled_keys() if _folder(key) == folder]
        return self._read(settled[0] if settled else self._journal(folder))

    def put(self, record: Record) -> None:
        """Writes a record in place of its older self."""
        data = json.dumps(asdict(record), default=_as_text, ensure_ascii=False, indent=1).encode() + b"\n"
        if not record.state.is_settled:
            self.store.put(self._journal(record.folder), data)
            return
        at = record.at.astimezone(UTC).strftime(_TIME)
        self.store.put(f"{self._prefix('superseded')}{at}.{record.folder}.json", data)
        self.store.delete(self._journal(record.folder))

    def remove(self, folder: str) -> None:
        """Forgets a record; none is fine."""
        for key in [self._journal(folder), *(key for key in self._settled_keys() if _folder(key) == folder)]:
            self.store.delete(key)

    def _settled_keys(self) -> list[str]:
        return self.store.keys(self._prefix("superseded"))

    def _read(self, key: str) -> Record | None:
        data = self.store.get(key)
        return None if data is None else self._parsed(data, key)

    def _parsed(self, data: bytes, key: str) -> Record:
        try:
            given = json.loads(data)
            moves = (PartitionMove(tuple(m["values"]), m["before"], m["after"]) for m in given.pop("moves"))
            superseded = (Superseded(tuple(s["values"]), s["location"]) for s in given.pop("superseded"))
            return Record(
                **{**given, "state": State(given["state"]), "at": datetime.fromisoformat(given["at"])},
                moves=tuple(moves),
                superseded=tuple(superseded),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EvidenceFailed(
                f"evidence: {self.store.describe(key)} is no record of a parquet publish ({error}). It says what a run "
                f"left half done at {self.identity.fqn}; restore it, or see to the table and remove it."
            ) from error

    def _journal(self, folder: str) -> str:
        return f"{self._prefix('journals')}{folder}.json"

    def _prefix(self, room: str) -> str:
        return f"{room}/{self.identity.account}/{self.identity.fqn}/"


def record_of_publish(store: EvidenceStore, glue: GlueClient, identity: TableIdentity, run_id: str) -> Record | None:
    """What a run published to a parquet table, None where it did not: asked without an engine.

    A switch is complete once the table's Parameters name the run. Raises CatalogError, EvidenceFailed.
    """
    records = Ledger(store, identity).of_run(run_id)
    for record in records:
        if record.state is State.PUBLISHED:
            return record
    for record in records:
        if record.state is State.SWITCHING:
            found = find_table(glue, database=identity.database, table=identity.table, region=identity.region)
            if found is not None and found.get("Parameters", {}).get(parameters.RUN_ID) == run_id:
                return record
    return None


def _folder(settled_key: str) -> str:
    return settled_key.rpartition("/")[2].partition(".")[2].removesuffix(".json")


def _settled_at(settled_key: str) -> datetime:
    """When the record was settled, from its name. Raises EvidenceFailed for a name that is none of ours."""
    name = settled_key.rpartition("/")[2]
    try:
        return datetime.strptime(name.partition(".")[0], _TIME).replace(tzinfo=UTC)
    except ValueError:
        raise EvidenceFailed(
            f"evidence: {settled_key} is no record of a publish (<time>.<folder>.json); move it out of superseded/"
        ) from None


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not kept")
