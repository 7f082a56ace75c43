"""`sync`: a commit goes up whole, or nothing does."""

from __future__ import annotations

import hashlib
import subprocess
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from pipeline_runtime.cli import main
from pipeline_runtime.errors import SyncFailed
from pipeline_runtime.sync.collect import collect
from pipeline_runtime.sync.manifest import Place
from pipeline_runtime.sync.upload import upload

SCORED = "domains/fraud/pipelines/transactions_scored.yml"


def sync(repository: Any, config: Any, *options: str) -> int:
    return main(["sync", str(repository.root), config.url, *options])


def test_a_release_holds_what_a_run_reads_with_the_commit_and_every_hash(repository: Any, config: Any) -> None:
    commit = repository.git("rev-parse", "HEAD")
    assert sync(repository, config) == 0

    pointer = config.json("current.json")
    manifest = config.json(f"releases/{pointer['release']}/manifest.json")
    assert (pointer["commit"], manifest["commit"]) == (commit, commit)
    assert (manifest["domain"], manifest["domain_path"]) == ("fraud", "domains/fraud")
    assert (manifest["signed"], manifest["dirty"]) == (False, False)
    assert manifest["remote_url"] == "https://git.example/cordata/domains.git"
    assert sorted(manifest["files"]) == [
        "domains/fraud/baselines/baseline_fraud_score.yml",
        "domains/fraud/expectations/transactions_scored.yml",
        SCORED,
        "domains/fraud/schemas/fraud_raw.transactions.v7.yml",
        "domains/fraud/sql/filter_settled.sql",
        "domains/fraud/sql/score.sql",
        "domains/fraud/transforms/__init__.py",
    ]
    for path, file in manifest["files"].items():
        stored = config.get(f"releases/{pointer['release']}/files/{path}")
        assert hashlib.sha256(stored).hexdigest() == file["sha256"]
        assert (
            stored
            == subprocess.run(
                ["git", "show", f"{commit}:{path}"], cwd=repository.top, capture_output=True, check=True
            ).stdout
        )


def test_the_release_is_named_by_its_manifest(repository: Any, config: Any) -> None:
    sync(repository, config)
    release = config.json("current.json")["release"]
    assert hashlib.sha256(config.get(f"releases/{release}/manifest.json")).hexdigest() == release


def test_one_commit_is_one_release_however_often_it_is_synced(repository: Any, config: Any) -> None:
    assert sync(repository, config) == 0
    before = config.names()
    assert sync(repository, config) == 0
    assert config.names() == before


def test_the_line_says_what_was_synced(repository: Any, config: Any, capsys: pytest.CaptureFixture[str]) -> None:
    commit = repository.git("rev-parse", "HEAD")
    sync(repository, config)
    said = capsys.readouterr().out
    assert said.startswith(f"synced fraud at commit {commit[:12]} (not signed, 7 files) to {config.url}, release ")


@pytest.mark.parametrize("change", ["edited", "added", "lost"])
def test_a_tree_that_is_not_its_commit_is_refused(
    repository: Any, config: Any, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    file = repository.root / "sql" / ("new.sql" if change == "added" else "score.sql")
    if change == "lost":
        (repository.root / "baselines" / "old.yml").write_text("x: 1\n")
        repository.commit()
        file = repository.root / "baselines" / "old.yml"
        file.unlink()
    else:
        file.write_text(f"{file.read_text() if file.exists() else 'SELECT 1 FROM frame'}\n-- edited\n")

    assert sync(repository, config) == 2
    said = capsys.readouterr().err
    path = f"domains/fraud/{file.relative_to(repository.root)}"
    assert said.startswith(f"SyncRefused: the tree is not commit {repository.git('rev-parse', 'HEAD')[:12]}: {path} ")
    assert ("is missing" if change == "lost" else "differs from it") in said
    assert config.names() == ["deployed.json"]


def test_a_dirty_tree_is_synced_when_asked_for_and_says_so(repository: Any, config: Any) -> None:
    repository.change("sql/score.sql", "SELECT", "SELECT  ")
    assert sync(repository, config, "--allow-dirty") == 0
    manifest = config.json(f"releases/{config.json('current.json')['release']}/manifest.json")
    assert manifest["dirty"] is True
    assert [path for path, file in manifest["files"].items() if not file["in_commit"]] == [
        "domains/fraud/sql/score.sql"
    ]


def test_an_invalid_descriptor_is_refused_as_validate_refuses_it(
    repository: Any, config: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.change("sql/score.sql", "FROM", "FROM other_table, ")
    repository.commit()
    assert main(["validate", str(repository.root)]) == 2
    problem = capsys.readouterr().out.splitlines()[0]
    assert sync(repository, config) == 2
    assert problem in capsys.readouterr().err
    assert config.names() == ["deployed.json"]


def test_a_symlink_is_refused(repository: Any, config: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (repository.root / "sql" / "linked.sql").symlink_to("/etc/hostname")
    repository.commit()
    assert sync(repository, config, "--allow-dirty") == 2
    assert "sql/linked.sql is a symlink; a synced copy holds files only" in capsys.readouterr().err


def test_a_folder_without_git_is_refused(repository: Any, config: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (repository.top / ".git").rename(repository.top / "git")
    assert sync(repository, config, "--allow-dirty") == 2
    assert "lies in no git repository; what is synced is a commit, so that a run can name it" in capsys.readouterr().err


def test_a_folder_that_is_no_domain_root_is_refused(
    repository: Any, config: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sync", str(repository.top), config.url]) == 2
    assert "is no domain root: it holds no pipelines/*.yml" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["config", "https://bucket/config", "s3://"])
def test_a_place_that_is_no_prefix_is_refused(repository: Any, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sync", str(repository.root), place]) == 2
    assert "is no s3:// address; write s3://bucket/prefix" in capsys.readouterr().err


def test_a_sync_that_is_cut_off_leaves_the_release_before_it_in_force(repository: Any, config: Any) -> None:
    sync(repository, config)
    before = config.json("current.json")
    repository.change("sql/score.sql", "SELECT", "SELECT  ")
    repository.commit()
    s3 = config.aws.client("s3")

    def cut_off(request: Any, **_: Any) -> None:
        if request.method == "PUT" and "manifest.json" in request.url:
            raise EndpointConnectionError(endpoint_url=request.url)

    s3.meta.events.register("before-send.s3", cut_off)
    with pytest.raises(SyncFailed, match="nothing has changed for the jobs"):
        upload(collect(repository.root), Place.of(config.url), s3)
    assert config.json("current.json") == before


def test_the_pointer_is_the_last_thing_that_is_written(repository: Any, config: Any) -> None:
    s3, written = config.aws.client("s3"), []
    s3.meta.events.register("before-send.s3", lambda request, **_: written.append(request.url.rpartition("/")[2]))
    upload(collect(repository.root), Place.of(config.url), s3)
    assert written[-2:] == ["manifest.json", "current.json"]


def test_a_domain_that_is_its_own_repository_has_paths_from_its_top(repository: Any, config: Any) -> None:
    (repository.top / ".git").rename(repository.root / ".git")
    repository.top = repository.root
    repository.commit()
    config.deploy(descriptor="pipelines/transactions_scored.yml")
    assert sync(repository, config) == 0
    manifest = config.json(f"releases/{config.json('current.json')['release']}/manifest.json")
    assert manifest["domain_path"] == ""
    assert "sql/score.sql" in manifest["files"]
