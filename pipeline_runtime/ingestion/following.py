"""Who follows a task at the moment, so that a follower that was killed is noticed: nothing outside it knows of it.

following/<run id>.json   written when a run begins, again as it looks at its task, and removed when it has ended
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pipeline_runtime.errors import EvidenceFailed
from pipeline_runtime.evidence.store import EvidenceStore
from pipeline_runtime.lineage.values import instant_of, utc_text

__all__ = ["SILENCE", "Follower", "Following", "silent_followers"]

#: A follower that has said nothing for so long is gone: it waits for DMS for less, before and after a stop.
SILENCE = timedelta(minutes=20)
#: How often it says that it is there.
_PERIOD = timedelta(seconds=60)

_ROOT = "following/"


@dataclass(frozen=True)
class Follower:
    """A run that follows a task (its ARN), and when it was last seen."""

    run_id: str
    task: str
    seen_at: datetime


@dataclass
class Following:
    """One run's word that it is there. Methods raise EvidenceFailed; `now` is aware and UTC."""

    store: EvidenceStore
    run_id: str
    task: str
    _said_at: datetime | None = None

    def begin(self) -> None:
        """That the run is there."""
        self._say(datetime.now(UTC))

    def go_on(self) -> None:
        """That it is still there; written once a minute, however often it is called. A store that fails is passed
        over: the batch goes on, and whoever closes it meanwhile is noticed at its end.
        """
        now = datetime.now(UTC)
        if self._said_at is None or now - self._said_at >= _PERIOD:
            with suppress(EvidenceFailed):
                self._say(now)

    def _say(self, now: datetime) -> None:
        self._said_at = now
        record = {"run_id": self.run_id, "task": self.task, "seen_at": utc_text(now)}
        self.store.put(_key(self.run_id), json.dumps(record, ensure_ascii=False, indent=2).encode() + b"\n")

    def end(self) -> None:
        """That the run has its terminal event."""
        self.store.delete(_key(self.run_id))


def silent_followers(store: EvidenceStore, now: datetime, task: str | None = None) -> list[Follower]:
    """The runs that began to follow a task and have said nothing for SILENCE; of one task where it is named.

    Raises EvidenceFailed.
    """
    found = (_read(store, key) for key in store.keys(_ROOT))
    known = [each for each in found if each is not None and (task is None or each.task == task)]
    return [each for each in known if now - each.seen_at > SILENCE]


def _read(store: EvidenceStore, key: str) -> Follower | None:
    data = store.get(key)
    if data is None:
        return None  # It has just ended.
    record = json.loads(data)
    return Follower(record["run_id"], record["task"], instant_of(record["seen_at"]) or datetime.min.replace(tzinfo=UTC))


def _key(run_id: str) -> str:
    return f"{_ROOT}{run_id}.json"
