"""A job's side: the copy is what was synced, and says about itself what the checkout would have said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli import main
from pipeline_runtime.errors import ConfigurationError, SyncedFileChanged
from pipeline_runtime.lineage.provenance import Provenance, provenance
from pipeline_runtime.sync.fetch import fetched

SCORED = "domains/fraud/pipelines/transactions_scored.yml"
NAMED = ("sql/filter_settled.sql", "sql/score.sql", "expectations/transactions_scored.yml")


def sync(repository: Any, config: Any, *options: str) -> None:
    assert main(["sync", str(repository.root), config.url, *options]) == 0


def of_checkout(repository: Any) -> Provenance:
    return provenance(
        repository.root / "pipelines" / "transactions_scored.yml",
        [repository.root / name for name in NAMED],
        domain_root=repository.root,
    )


def of_copy(config: Any) -> Provenance:
    with fetched(config.url, SCORED, config.s3) as (descriptor, synced):
        root = descriptor.parents[1]
        return provenance(descriptor, [root / name for name in NAMED], domain_root=root, synced=synced)


def file_key(config: Any, path: str) -> str:
    return f"releases/{config.json('current.json')['release']}/files/{path}"


def test_the_copy_is_the_repository_byte_for_byte(repository: Any, config: Any) -> None:
    sync(repository, config)
    with fetched(config.url, SCORED, config.s3) as (descriptor, synced):
        assert descriptor == synced.top / SCORED
        for name in synced.manifest.files:
            assert (synced.top / name).read_bytes() == (repository.top / name).read_bytes()
        synced.check()
        top = synced.top
    assert not top.exists()


@pytest.mark.parametrize("tree", ["clean", "sql edited", "sql added", "descriptor edited", "another file edited"])
def test_provenance_of_the_copy_is_that_of_the_checkout(repository: Any, config: Any, tree: str) -> None:
    if tree == "sql edited":
        repository.change("sql/score.sql", "SELECT", "SELECT  ")
    elif tree == "descriptor edited":
        repository.change("pipelines/transactions_scored.yml", "fraud-data@", "fraud-team@")
    elif tree == "another file edited":
        (repository.root / "schemas" / "unused.yml").write_text("x: 1\n")
    elif tree == "sql added":
        repository.git("rm", "--quiet", "--cached", "domains/fraud/sql/score.sql")
        repository.git("commit", "--quiet", "--message", "forgotten")
    sync(repository, config, *(() if tree == "clean" else ("--allow-dirty",)))

    assert of_copy(config) == of_checkout(repository)
    assert of_copy(config).git.dirty is (tree not in {"clean", "another file edited"})


def test_a_descriptor_in_no_commit_has_no_commit_in_either(repository: Any, config: Any) -> None:
    repository.git("rm", "--quiet", "--cached", SCORED)
    repository.git("commit", "--quiet", "--message", "forgotten")
    sync(repository, config, "--allow-dirty")
    assert of_copy(config) == of_checkout(repository)
    assert of_copy(config).git.commit is None


def test_a_file_that_was_changed_in_the_copy_fails_the_run_and_is_not_there(repository: Any, config: Any) -> None:
    sync(repository, config)
    config.put(file_key(config, "domains/fraud/sql/score.sql"), "SELECT 1 AS score FROM frame")
    with fetched(config.url, SCORED, config.s3) as (_, synced):
        assert not (synced.top / "domains/fraud/sql/score.sql").exists()
        with pytest.raises(SyncedFileChanged, match=r"sql/score\.sql is not what was synced: its SHA-256 is \w{12}…"):
            synced.check()


def test_a_file_that_is_gone_from_the_copy_fails_the_run(repository: Any, config: Any) -> None:
    sync(repository, config)
    config.s3.delete_object(Bucket=config.bucket, Key=f"config/{file_key(config, 'domains/fraud/sql/score.sql')}")
    with (
        fetched(config.url, SCORED, config.s3) as (_, synced),
        pytest.raises(SyncedFileChanged, match=r"sql/score\.sql: .*NoSuchKey.*\nnobody edits a synced copy"),
    ):
        synced.check()


def refusal(config: Any, descriptor: str = SCORED) -> str:
    with pytest.raises(ConfigurationError) as refused, fetched(config.url, descriptor, config.s3):
        pass
    return str(refused.value)


def test_a_descriptor_that_was_changed_in_the_copy_is_not_read(repository: Any, config: Any) -> None:
    sync(repository, config)
    config.put(file_key(config, SCORED), "apiVersion: cordata.tech/v1\n")
    assert "transactions_scored.yml is not what was synced" in refusal(config)


def test_a_manifest_that_was_changed_is_not_believed(repository: Any, config: Any) -> None:
    sync(repository, config)
    key = f"releases/{config.json('current.json')['release']}/manifest.json"
    config.put(key, config.get(key).replace(b'"dirty": false', b'"dirty": true'))
    assert refusal(config).endswith("manifest.json is not the manifest that current.json names; sync again")


def test_a_descriptor_that_is_not_in_the_copy_is_refused_with_the_nearest(repository: Any, config: Any) -> None:
    sync(repository, config)
    said = refusal(config, "domains/fraud/pipelines/transaction_scored.yml")
    assert "is not in the synced copy of commit" in said
    assert said.endswith(f"did you mean {SCORED}?")


def test_before_the_first_sync_a_job_says_what_is_missing(config: Any) -> None:
    assert refusal(config) == f"{config.url}/current.json does not exist; the domain's CI writes it: run `sync`"


@pytest.mark.parametrize("pointer", [b"{", b"{}", b'{"release": "../../x"}'])
def test_an_unreadable_pointer_is_refused(config: Any, pointer: bytes) -> None:
    config.put("current.json", pointer)
    assert refusal(config).startswith(f"{config.url}/current.json: ")


def test_a_path_that_leaves_the_copy_is_refused(repository: Any, config: Any) -> None:
    from hashlib import sha256

    sync(repository, config)
    pointer = config.json("current.json")
    manifest = config.json(f"releases/{pointer['release']}/manifest.json")
    manifest["files"]["../outside.sql"] = manifest["files"]["domains/fraud/sql/score.sql"]
    data = json.dumps(manifest).encode()
    release = sha256(data).hexdigest()
    config.put(f"releases/{release}/manifest.json", data)
    config.put("current.json", json.dumps(pointer | {"release": release}))
    assert "is no path inside a repository" in refusal(config)


def test_a_sync_during_a_fetch_changes_nothing_for_it(repository: Any, config: Any) -> None:
    sync(repository, config)
    before = (repository.root / "sql/score.sql").read_bytes()
    s3, seen = config.aws.client("s3"), []

    def sync_meanwhile(request: Any, **_: Any) -> None:
        if "manifest.json" in request.url and not seen:
            seen.append(request.url)
            repository.change("sql/score.sql", "SELECT", "SELECT  ")
            repository.commit()
            sync(repository, config)

    s3.meta.events.register("before-send.s3", sync_meanwhile)
    with fetched(config.url, SCORED, s3) as (_, synced):
        synced.check()
        assert (synced.top / "domains/fraud/sql/score.sql").read_bytes() == before
    assert seen


def test_an_address_that_is_no_prefix_is_refused() -> None:
    with (
        pytest.raises(ConfigurationError, match=r"--config 'config' is no s3:// address"),
        fetched("config", SCORED, None),
    ):  # type: ignore[arg-type]
        pass


def test_no_password_of_a_remote_reaches_the_copy(repository: Any, config: Any) -> None:
    sync(repository, config)
    for key in config.names():
        assert b"s3cret" not in config.get(key)


def test_the_same_tree_gives_the_same_release_anywhere(repository: Any, config: Any, tmp_path: Path) -> None:
    from pipeline_runtime.sync.collect import collect

    repository.git("clone", "--quiet", str(repository.top), str(tmp_path / "clone"))
    repository.git(
        "-C", str(tmp_path / "clone"), "remote", "set-url", "origin", "https://git.example/cordata/domains.git"
    )
    first = collect(repository.root).manifest
    second = collect(tmp_path / "clone" / "domains" / "fraud").manifest
    assert first.release == second.release
