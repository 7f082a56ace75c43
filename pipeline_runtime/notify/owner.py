"""The ways to a product's owner.

CORDATA_OWNER_TOPIC  the ARN of an SNS topic; subscribers choose by the message attributes owner, domain, pipeline, kind
CORDATA_OWNER_FILE   a file that gets one JSON line a notice

With neither, a notice is kept beside the evidence, at `notices/<id>.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pipeline_runtime.errors import ConfigurationError, EvidenceFailed
from pipeline_runtime.evidence.store import EvidenceStore
from pipeline_runtime.lineage.redact import redact

if TYPE_CHECKING:
    from boto3 import Session

__all__ = [
    "EvidenceNotices",
    "Kind",
    "NotTold",
    "Notice",
    "NoticeFile",
    "Notifier",
    "OwnerTopic",
    "open_notifier",
]

_TOPIC_ARN = re.compile(r"arn:aws[a-z-]*:sns:(?P<region>[a-z0-9-]+):\d{12}:[A-Za-z0-9_-]{1,256}")
#: SNS: fewer than 100 characters of ASCII, and 256 KB for message and attributes together.
_SUBJECT = 99
_MESSAGE_BYTES = 200_000


class NotTold(Exception):
    """A notice did not get through; the text says why. It never fails a run."""


class Kind(str, Enum):
    """What a notice is about; subscribers can choose by it."""

    QUARANTINE = "quarantine"
    FAILURE = "failure"
    LATE = "late"
    FRESH_AGAIN = "fresh-again"
    DEPRECATION = "deprecation"


@dataclass(frozen=True)
class Notice:
    """What an owner is told: no rows and no values of rows, no secrets.

    `text` is for people: what happened, as the trace says it, and what can be done. `at` is ISO 8601 with Z. `id` is
    the run's, or what else the notice is about, as slash-separated parts; `run_id` is empty where it is no run.
    """

    kind: Kind
    id: str
    owner: str
    domain: str
    pipeline: str
    run_id: str
    at: str
    subject: str
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", redact(self.text))

    def as_json(self, indent: int | None = None) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, indent=indent)


class Notifier(Protocol):
    """A way to the owner."""

    def tell(self, notice: Notice) -> str:
        """Delivers the notice and returns where it went, for the trace. Raises NotTold."""


@dataclass(frozen=True)
class OwnerTopic:
    """An SNS topic: a message each, its attributes for subscribers' filter policies."""

    client: Any
    arn: str

    def tell(self, notice: Notice) -> str:
        from botocore.exceptions import BotoCoreError, ClientError

        given = {"owner": notice.owner, "domain": notice.domain, "pipeline": notice.pipeline, "kind": notice.kind.value}
        # SNS refuses an attribute without a value.
        attributes = {key: value for key, value in given.items() if value}
        try:
            self.client.publish(
                TopicArn=self.arn,
                Subject=_ascii(notice.subject)[:_SUBJECT],
                Message=notice.text.encode()[:_MESSAGE_BYTES].decode("utf-8", "ignore"),
                MessageAttributes={
                    key: {"DataType": "String", "StringValue": value} for key, value in attributes.items()
                },
            )
        except (BotoCoreError, ClientError) as error:
            raise NotTold(f"{self.arn}: {error}") from error
        return self.arn


@dataclass(frozen=True)
class NoticeFile:
    """A file: one JSON line a notice, added at the end."""

    path: Path

    def tell(self, notice: Notice) -> str:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(notice.as_json() + "\n")
        except OSError as error:
            raise NotTold(f"{self.path}: {error.strerror or error}") from error
        return str(self.path)


@dataclass(frozen=True)
class EvidenceNotices:
    """The evidence prefix: a JSON file a notice."""

    store: EvidenceStore

    def tell(self, notice: Notice) -> str:
        key = f"notices/{notice.id}.json"
        try:
            self.store.put(key, notice.as_json(indent=2).encode() + b"\n")
        except EvidenceFailed as error:
            raise NotTold(str(error)) from error
        return self.store.describe(key)


def open_notifier(environ: Mapping[str, str], store: EvidenceStore, session: Session | None = None) -> Notifier:
    """The way to the owner that the deployment chose; `session` has the credentials, where they are not the process's.

    Raises ConfigurationError for a topic that is no topic.
    """
    arn = environ.get("CORDATA_OWNER_TOPIC", "").strip()
    file = environ.get("CORDATA_OWNER_FILE", "").strip()
    if arn and file:
        raise ConfigurationError("CORDATA_OWNER_TOPIC and CORDATA_OWNER_FILE are both set; set one of them")
    if arn:
        found = _TOPIC_ARN.fullmatch(arn)
        if found is None:
            raise ConfigurationError(
                f"CORDATA_OWNER_TOPIC is {arn!r}, which is no topic's ARN, such as arn:aws:sns:eu-central-1:…:owners"
            )
        return OwnerTopic(_sns(session, found["region"]), arn)
    return NoticeFile(Path(file).expanduser()) if file else EvidenceNotices(store)


def _sns(session: Session | None, region: str) -> Any:
    import boto3
    from botocore.config import Config

    # The run is over by then; a topic that does not answer must not hold it up.
    patience = Config(connect_timeout=3, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})
    return (session or boto3).client("sns", region_name=region, config=patience)


def _ascii(text: str) -> str:
    """One line of printable ASCII, as SNS wants a subject."""
    return " ".join(re.sub(r"[^\x20-\x7e]", " ", text).split()) or "notice"
