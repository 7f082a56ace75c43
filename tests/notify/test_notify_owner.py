"""The owner hears of a quarantined batch, in the words of the trace, wherever the deployment says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline_runtime.errors import ConfigurationError, Quarantined
from pipeline_runtime.evidence.local import LocalStore
from pipeline_runtime.notify.notices import quarantine_notice
from pipeline_runtime.notify.owner import Kind, Notice, NotTold, OwnerTopic, open_notifier
from pipeline_runtime.quality.result import AssertionResult, ValidationResult

RUN = "0b8c7a40-0000-4000-8000-000000000001"
AT = "2026-08-04T09:00:00.000Z"


def notice(text: str = "claims-ingest: batch quarantined in policy_raw.claims__quarantine", **changes: Any) -> Notice:
    given: dict[str, Any] = {"kind": Kind.QUARANTINE, "id": RUN, "run_id": RUN, "at": AT, "text": text}
    given |= {"owner": "policy@example.com", "domain": "policy", "pipeline": "claims-ingest"}
    return Notice(**{**given, "subject": "claims-ingest: batch quarantined", **changes})


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "evidence")


@pytest.fixture
def inbox(aws: Any) -> Any:
    """A topic with a subscriber, and what the subscriber received."""
    sns, sqs = aws.client("sns"), aws.client("sqs")
    arn = sns.create_topic(Name=f"owners-{datetime.now(UTC):%H%M%S%f}")["TopicArn"]
    queue = sqs.create_queue(QueueName=arn.rpartition(":")[2])["QueueUrl"]
    queue_arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue_arn)

    def received() -> list[dict[str, Any]]:
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        return [json.loads(message["Body"]) for message in answer.get("Messages", [])]

    return SimpleNamespace(arn=arn, received=received)


def test_a_topics_subscribers_get_the_text_and_can_choose_by_owner(inbox, store):
    notifier = open_notifier({"CORDATA_OWNER_TOPIC": inbox.arn}, store)

    assert notifier.tell(notice(subject="Zahlungen — ü\n" * 30)) == inbox.arn

    (message,) = inbox.received()
    assert message["Message"] == notice().text
    assert message["Subject"].startswith("Zahlungen Zahlungen")
    assert len(message["Subject"]) < 100
    values = {key: attribute["Value"] for key, attribute in message["MessageAttributes"].items()}
    assert values == {
        "owner": "policy@example.com",
        "domain": "policy",
        "pipeline": "claims-ingest",
        "kind": "quarantine",
    }


def test_what_nobody_knows_is_no_attribute(inbox, store):
    open_notifier({"CORDATA_OWNER_TOPIC": inbox.arn}, store).tell(notice(owner="", domain=""))
    (message,) = inbox.received()
    assert message["MessageAttributes"].keys() == {"pipeline", "kind"}


def test_a_topic_that_is_not_there_is_a_reason_and_no_crash(aws, store):
    arn = f"arn:aws:sns:{aws.region}:111122223333:nowhere"
    with pytest.raises(NotTold, match=f"{arn}: .*NotFound"):
        open_notifier({"CORDATA_OWNER_TOPIC": arn}, store).tell(notice())


def test_a_message_that_is_too_long_for_a_topic_is_cut_between_characters():
    sent: list[dict[str, Any]] = []
    client = SimpleNamespace(publish=lambda **request: sent.append(request))
    OwnerTopic(client, "arn").tell(notice("€" * 100_000))
    assert 199_000 < len(sent[0]["Message"].encode()) <= 200_000


def test_a_file_gets_a_line_for_each_notice(tmp_path, store):
    file = tmp_path / "new" / "owners.jsonl"
    notifier = open_notifier({"CORDATA_OWNER_FILE": str(file)}, store)

    assert notifier.tell(notice()) == str(file)
    notifier.tell(notice("another\nin two lines"))

    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [line["text"] for line in lines] == [notice().text, "another\nin two lines"]
    assert lines[0]["owner"] == "policy@example.com"


def test_without_a_setting_the_notice_lies_beside_the_evidence(store):
    where = open_notifier({}, store).tell(notice())

    kept = json.loads(Path(where).read_bytes())
    assert Path(where) == store.root / "notices" / f"{RUN}.json"
    assert (kept["run_id"], kept["at"], kept["text"]) == (RUN, AT, notice().text)


def test_a_place_that_cannot_be_written_is_a_reason_and_no_crash(tmp_path):
    (tmp_path / "evidence").write_text("a file, no folder")
    with pytest.raises(NotTold):
        open_notifier({}, LocalStore(tmp_path / "evidence")).tell(notice())
    with pytest.raises(NotTold):
        open_notifier({"CORDATA_OWNER_FILE": str(tmp_path / "evidence" / "x")}, LocalStore(tmp_path)).tell(notice())


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"CORDATA_OWNER_TOPIC": "owners"}, "CORDATA_OWNER_TOPIC is 'owners', which is no topic's ARN"),
        ({"CORDATA_OWNER_TOPIC": "arn:aws:sqs:eu-central-1:111122223333:x"}, "no topic's ARN"),
        ({"CORDATA_OWNER_TOPIC": "a", "CORDATA_OWNER_FILE": "b"}, "are both set"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_before_the_run(environ, message, store):
    with pytest.raises(ConfigurationError, match=message):
        open_notifier(environ, store)


def test_a_notice_says_what_happened_and_what_to_do_and_shows_neither_rows_nor_secrets():
    samples = ({"id": "DE89370400440532013000"},)
    broken = AssertionResult(
        "expect_column_values_to_not_be_null", "iban", False, "not NULL", "3 of 9", samples=samples
    )
    error = Quarantined("claims-ingest", "policy_raw.claims__quarantine", ValidationResult("claims", (broken,)))
    metadata = SimpleNamespace(name="claims-ingest", domain="policy", owner="policy@example.com")
    facts = SimpleNamespace(
        descriptor=SimpleNamespace(metadata=metadata),
        context=SimpleNamespace(run_id=RUN),
        published=SimpleNamespace(rows=1234),
    )

    told = quarantine_notice(facts, error, AT)

    assert told.text.startswith(
        "claims-ingest: expectations failed, batch quarantined in policy_raw.claims__quarantine: "
        "expect_column_values_to_not_be_null(iban): expected not NULL, actual 3 of 9\n"
    )
    assert "1,234 rows, nothing was published" in told.text
    assert f"policy_raw.claims__quarantine where run_id = '{RUN}'" in told.text
    assert f"python -m pipeline_runtime release {RUN} --by" in told.text
    assert "DE8937" not in told.as_json()
    assert "hunter2" not in notice("postgres://user:hunter2@db/x password=hunter2").as_json()
