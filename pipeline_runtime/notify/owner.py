"""Telling the owner that a run's batch went elsewhere than to the product.

CORDATA_OWNER_TOPIC  the ARN of an SNS topic; subscribers choose by the message attributes owner, domain, pipeline
CORDATA_OWNER_FILE   a file that gets one JSON line a notice

With neither, a notice is kept beside the evidence, at `notices/<run id>.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pipeline_runtime.errors import ConfigurationError, EvidenceFailed
from pipeline_runtime.evidence.store import EvidenceStore
from pipeline_runtime.lineage.redact import redact

if TYPE_CHECKING:
    from pipeline_runtime.errors import Quarantined
    from pipeline_runtime.lineage.facts import RunFacts

__all__ = [
    "EvidenceNotices",
    "NotTold",
    "Notice",
    "NoticeFile",
    "Notifier",
    "OwnerTopic",
    "open_notifier",
    "quarantine_notice",
]

_TOPIC_ARN = re.compile(r"arn:aws[a-z-]*:sns:(?P<region>[a-z0-9-]+):\d{12}:[A-Za-z0-9_-]{1,256}")
#: SNS: fewer than 100 characters of ASCII, and 256 KB for message and attributes together.
_SUBJECT = 99
_MESSAGE_BYTES = 200_000


class NotTold(Exception):
    """A notice did not get through; the text says why. It never fails a run."""


@dataclass(frozen=True)
class Notice:
    """What an owner is told: no rows and no values of rows, no secrets.

    `text` is for people: what happened, as the trace says it, and what can be done. `at` is ISO 8601 with Z.
    """

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


def quarantine_notice(facts: RunFacts, error: Quarantined, at: str) -> Notice:
    """What the owner of a quarantined batch is told: what the trace says, where the rows are, how to publish them."""
    metadata, run_id = facts.descriptor.metadata, facts.context.run_id
    rows = 0 if facts.published is None else facts.published.rows
    return Notice(
        owner=metadata.owner,
        domain=metadata.domain,
        pipeline=metadata.name,
        run_id=run_id,
        at=at,
        subject=f"{metadata.name}: batch quarantined",
        text=f"{error}\n\n"
        f"Pipeline {metadata.name} of domain {metadata.domain}, run {run_id}: {rows:,} rows, nothing was published.\n"
        f"See them in {error.table} where run_id = '{run_id}'; its column broken_rules says what each row broke.\n"
        f"Publish them after review: python -m pipeline_runtime release {run_id} --by <who you are>\n",
    )


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

        attributes = {"owner": notice.owner, "domain": notice.domain, "pipeline": notice.pipeline}
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
    """The evidence prefix: a JSON file a run."""

    store: EvidenceStore

    def tell(self, notice: Notice) -> str:
        key = f"notices/{notice.run_id}.json"
        try:
            self.store.put(key, notice.as_json(indent=2).encode() + b"\n")
        except EvidenceFailed as error:
            raise NotTold(str(error)) from error
        return self.store.describe(key)


def open_notifier(environ: Mapping[str, str], store: EvidenceStore) -> Notifier:
    """The way to the owner that the deployment chose. Raises ConfigurationError for a topic that is no topic."""
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
        return OwnerTopic(_sns(found["region"]), arn)
    return NoticeFile(Path(file).expanduser()) if file else EvidenceNotices(store)


def _sns(region: str) -> Any:
    import boto3
    from botocore.config import Config

    # The run is over by then; a topic that does not answer must not hold it up.
    patience = Config(connect_timeout=3, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})
    return boto3.client("sns", region_name=region, config=patience)


def _ascii(text: str) -> str:
    """One line of printable ASCII, as SNS wants a subject."""
    return " ".join(re.sub(r"[^\x20-\x7e]", " ", text).split()) or "notice"
