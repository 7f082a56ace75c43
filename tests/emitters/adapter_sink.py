"""The adapter with its authorisation on, the DataZone behind it, and what both have to say of the emitters' events."""

from __future__ import annotations

import hashlib
import json
import shutil
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.lineage_access import QUEUE, provide
from tests.servers import Adapter, running_adapter

__all__ = ["Sink", "parent_node", "run_node", "running_sink"]


@dataclass(frozen=True)
class Sink:
    """Where events go. `url` is what an emitter with a key is given: the adapter's address without a path."""

    aws: Any
    adapter: Adapter
    log: Path

    @property
    def url(self) -> str:
        return self.adapter.url.removesuffix("/lineage")

    def forget(self) -> None:
        """As on the first day: no events, no nodes, no dead letters, an empty log."""
        urllib.request.urlopen(
            urllib.request.Request(f"{self.aws.endpoint}/fake/reset", b"{}", {"content-type": "application/json"})
        ).close()
        sqs, url = self._queue()
        for message in self._messages():
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        shutil.rmtree(self.adapter.folder)
        self.adapter.folder.mkdir()
        self._skipped.write_text(str(self.log.stat().st_size))

    @property
    def _skipped(self) -> Path:
        return self.log.with_suffix(".forgotten")

    def received(self) -> list[bytes]:
        """The bodies that passed the authorisation, byte for byte, in order of arrival."""
        return [file.read_bytes() for file in sorted(self.adapter.folder.iterdir())]

    def accepted(self) -> list[dict[str, Any]]:
        """What DataZone has: id, clientToken, body as text; in order of arrival."""
        return list(self._get("/fake/events"))

    def events(self, namespace: str = "") -> list[dict[str, Any]]:
        """The accepted events whose job is in the namespace, or all, parsed."""
        found = [json.loads(each["body"]) for each in self.accepted()]
        return [event for event in found if event["job"]["namespace"].startswith(namespace)]

    def nodes(self) -> dict[str, dict[str, Any]]:
        """DataZone's nodes by their source identifiers."""
        return {node["sourceIdentifier"]: node for node in self._get("/fake/nodes")}

    def letters(self) -> list[dict[str, Any]]:
        """The dead letters; they stay in the queue."""
        sqs, url = self._queue()
        messages = list(self._messages())
        for message in messages:
            sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
        return [json.loads(message["Body"]) for message in messages]

    def lines(self) -> list[dict[str, Any]]:
        """What the adapter logged of each event: status, entry, caller."""
        text = self.log.read_bytes()[int(self._skipped.read_text()) :].decode()
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return [line for line in lines if line["message"] == "lineage event"]

    def answers(self) -> set[tuple[str, str, str]]:
        """Route, caller and answer, each combination once; a role without its account."""
        return {(line["entry"], line["caller"].rpartition("/")[2], line["status"]) for line in self.lines()}

    def took_everything_unchanged(self) -> None:
        """Every event that came is at DataZone, byte for byte, once, under its own hash; none is a dead letter."""
        accepted = self.accepted()
        assert accepted
        assert [letter["reason"] for letter in self.letters()] == []
        assert [each["body"].encode() for each in accepted] == self.received()
        for each in accepted:
            canonical = json.dumps(json.loads(each["body"]), sort_keys=True)
            assert each["clientToken"] == hashlib.sha256(canonical.encode()).hexdigest()

    def _queue(self) -> tuple[Any, str]:
        sqs = self.aws.client("sqs")
        return sqs, sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]

    def _messages(self) -> Iterator[dict[str, Any]]:
        sqs, url = self._queue()
        while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            yield from messages

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self.aws.endpoint + path) as answer:
            return json.load(answer)


def run_node(event: Mapping[str, Any]) -> str:
    """The source identifier of an event's run at DataZone."""
    return f"{event['job']['namespace']}.{event['job']['name']}/{event['run']['runId']}"


def parent_node(event: Mapping[str, Any]) -> str | None:
    """The source identifier of the run that the event names as its parent."""
    parent = event["run"].get("facets", {}).get("parent")
    return None if parent is None else f"{parent['job']['namespace']}.{parent['job']['name']}/{parent['run']['runId']}"


@contextmanager
def running_sink(aws: Any, folder: Path) -> Iterator[Sink]:
    """Starts the adapter, in front of a DataZone that has forgotten everything."""
    provide()
    log = folder / "adapter.log"
    with running_adapter(folder / "received", log) as adapter:
        sink = Sink(aws, adapter, log)
        sink.forget()
        yield sink
