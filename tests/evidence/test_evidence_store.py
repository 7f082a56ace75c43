"""Evidence stores: a folder and an S3 prefix behave alike."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.stub import Stubber

from pipeline_runtime.errors import ConfigurationError, EvidenceFailed
from pipeline_runtime.evidence.store import EvidenceStore, open_store


def no_s3() -> Any:
    raise AssertionError("a local store asks for no S3 client")


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> EvidenceStore:
    if request.param == "folder":
        return open_store(str(tmp_path / "evidence"), no_s3)
    client = request.getfixturevalue("aws").client("s3")
    bucket = f"evidence-{uuid.uuid4().hex}"
    client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    return open_store(f"s3://{bucket}/deep/prefix/", lambda: client)


def test_what_is_put_is_read_back_and_a_second_put_replaces_it(store: EvidenceStore) -> None:
    assert store.get("runs/a/start.json") is None

    store.put("runs/a/start.json", b"first")
    store.put("runs/a/start.json", "zweite Fassung ü".encode())

    assert store.get("runs/a/start.json") == "zweite Fassung ü".encode()


def test_keys_are_listed_by_prefix_in_order_and_without_leftovers(store: EvidenceStore) -> None:
    for key in ("runs/b/start.json", "runs/a/terminal.json", "runs/a/start.json", "runs/ab/start.json", "other"):
        store.put(key, b"x")
    store.put_if_absent("runs/a/start.json", b"y")

    assert store.keys("runs/a/") == ["runs/a/start.json", "runs/a/terminal.json"]
    assert store.keys("runs/a") == ["runs/a/start.json", "runs/a/terminal.json", "runs/ab/start.json"]
    assert store.keys("nothing/") == []


def test_what_is_deleted_is_gone_and_deleting_nothing_is_fine(store: EvidenceStore) -> None:
    store.put("journals/a.json", b"x")
    store.put("journals/b.json", b"x")

    store.delete("journals/a.json")
    store.delete("journals/a.json")

    assert store.get("journals/a.json") is None
    assert store.keys("journals/") == ["journals/b.json"]


def test_of_many_writers_at_once_exactly_one_claims_the_key(store: EvidenceStore) -> None:
    bodies = [f"writer {number} ".encode() * 2_000 for number in range(6)]
    barrier = threading.Barrier(len(bodies))
    claimed: list[bytes] = []

    def write(body: bytes) -> None:
        barrier.wait()
        if store.put_if_absent("runs/a/terminal.json", body):
            claimed.append(body)

    threads = [threading.Thread(target=write, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(claimed) == 1
    assert store.get("runs/a/terminal.json") == claimed[0]
    assert store.keys("") == ["runs/a/terminal.json"]


@pytest.mark.parametrize("key", ["", "/etc/passwd", "runs/../../x", "..", "a//b", "a/.", "runs/a b"])
def test_a_key_cannot_leave_the_prefix(store: EvidenceStore, key: str) -> None:
    for use in (lambda: store.put(key, b"x"), lambda: store.put_if_absent(key, b"x"), lambda: store.get(key)):
        with pytest.raises(ValueError, match="is not a key"):
            use()


def test_people_are_shown_a_path_or_an_s3_address(tmp_path: Path, aws: Any) -> None:
    assert open_store(str(tmp_path), no_s3).describe("runs/a") == f"{tmp_path}/runs/a"
    assert open_store(f"file://{tmp_path}", no_s3).describe("runs/a") == f"{tmp_path}/runs/a"
    s3 = aws.client("s3")
    assert open_store("s3://bucket/pre/fix/", lambda: s3).describe("runs/a") == "s3://bucket/pre/fix/runs/a"
    assert open_store("s3://bucket", lambda: s3).describe("runs/a") == "s3://bucket/runs/a"


@pytest.mark.parametrize(
    "url", ["", "  ", "https://host/x", "gs://bucket/x", "s3://", "s3:///prefix", "s3://Bucket!/x"]
)
def test_a_place_that_cannot_hold_evidence_is_refused_with_what_can(url: str) -> None:
    with pytest.raises(ConfigurationError, match="s3://bucket/prefix"):
        open_store(url, no_s3)


@pytest.mark.parametrize("use", ["put", "put_if_absent", "get"])
def test_an_unusable_folder_is_said_by_name(tmp_path: Path, use: str) -> None:
    (tmp_path / "file").write_text("no folder")
    store = open_store(str(tmp_path / "file"), no_s3)
    attempts: dict[str, Callable[[], Any]] = {
        "put": lambda: store.put("runs/a", b"x"),
        "put_if_absent": lambda: store.put_if_absent("runs/a", b"x"),
        "get": lambda: store.get("runs/a"),
    }

    with pytest.raises(EvidenceFailed, match=f"{tmp_path}/file"):
        attempts[use]()


def test_a_bucket_that_is_not_there_is_said_by_name(aws: Any) -> None:
    s3 = aws.client("s3")
    store = open_store("s3://no-such-bucket-anywhere/prefix", lambda: s3)
    for use in (
        lambda: store.put("runs/a", b"x"),
        lambda: store.put_if_absent("runs/a", b"x"),
        lambda: store.keys("runs/"),
    ):
        with pytest.raises(EvidenceFailed, match="s3://no-such-bucket-anywhere/prefix/runs/"):
            use()


@pytest.mark.parametrize(("conflicts", "outcome"), [(2, True), (9, None)])
def test_a_conflicting_conditional_write_is_tried_again_a_few_times(
    monkeypatch: pytest.MonkeyPatch, aws: Any, conflicts: int, outcome: bool | None
) -> None:
    monkeypatch.setattr("pipeline_runtime.evidence.s3.time", SimpleNamespace(sleep=lambda _seconds: None))
    s3 = aws.client("s3")
    with Stubber(s3) as stubber:
        for _ in range(conflicts):
            stubber.add_client_error("put_object", "ConditionalRequestConflict", http_status_code=409)
        stubber.add_response("put_object", {})
        store = open_store("s3://bucket/prefix", lambda: s3)

        if outcome is None:
            with pytest.raises(EvidenceFailed, match="ConditionalRequestConflict"):
                store.put_if_absent("runs/a", b"x")
        else:
            assert store.put_if_absent("runs/a", b"x") is outcome
