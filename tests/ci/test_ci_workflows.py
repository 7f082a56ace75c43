"""The workflow files of docs/ci: they parse, their commands exist, and their shell does what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline_runtime.cli import COMMANDS
from pipeline_runtime.scheduling.products import find_products

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / "docs" / "ci").glob("*.yml"))

#: What a runner image has beside a shell and this project.
RUNNER = {"aws"}


def workflow(path: Path) -> dict[str, Any]:
    text = path.read_text("utf-8")
    assert not re.search(r"^[^#]*\s[&*][a-z]+\b", re.sub(r"'[^']*'", "", text), re.MULTILINE), (
        "no anchors: not every runner knows them"
    )
    # YAML 1.1 reads the key `on` as true.
    return {("on" if key is True else key): value for key, value in yaml.safe_load(text).items()}


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in workflow(path)["jobs"].values():
        yield from job["steps"]


def script(path: Path, name: str) -> str:
    return next(step["run"] for step in steps(path) if step.get("name") == name)


def commands(shell: str) -> Iterator[list[str]]:
    """The commands of a script, a list of words each; what is quoted counts as one word."""
    text = re.sub(r"\\\n\s*", " ", shell)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"'[^']*'|\"(?:[^\"$]|\$(?!\())*\"", "TEXT", text)
    for part in re.split(r"\n|;|\||&&|\$\(|\b(?:then|do|else|if|while)\b", text):
        words = part.strip().strip(')"').split()
        if words and "=" not in words[0]:
            yield words


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_can_be_called_and_asks_for_nothing_more_than_it_needs(path: Path) -> None:
    found = workflow(path)
    assert all("description" in each for each in found["on"]["workflow_call"]["inputs"].values())
    assert found["permissions"] == {"contents": "read", "id-token": "write"}
    for name in re.findall(r"\$\{\{ inputs\.(\w+) \}\}", path.read_text("utf-8")):
        assert name in found["on"]["workflow_call"]["inputs"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_input_is_pasted_into_a_script(path: Path) -> None:
    for step in steps(path):
        assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_script_is_shell_and_every_command_in_it_exists(path: Path) -> None:
    scripts = [step["run"] for step in steps(path) if "run" in step]
    assert scripts
    for shell in scripts:
        assert shell.startswith("set -euo pipefail\n")
        subprocess.run(["bash", "-n"], input=shell, text=True, check=True)
        for words in commands(shell):
            builtin = subprocess.run(["bash", "-c", f"type -t {words[0]}"], capture_output=True, text=True, check=False)
            assert builtin.stdout or words[0] in RUNNER or shutil.which(words[0]), words
            if words[:2] == ["python", "-m"] and words[2].startswith("pipeline_runtime"):
                assert find_spec(words[2]) is not None
                assert words[2] != "pipeline_runtime" or words[3] in COMMANDS, words


def bash(shell: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", shell],
        cwd=folder,
        env={**os.environ, "PATH": path, **environ},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def hub(tmp_path: Path) -> dict[str, str]:
    """Two domains' repositories, and git told to find them instead of the real host's."""
    for domain in ("fraud", "finance"):
        bare = tmp_path / "hub" / "cordata" / f"domains-{domain}.git"
        shutil.copytree(ROOT / "domains" / domain, bare, ignore=shutil.ignore_patterns("__pycache__"))
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
            subprocess.run([*git, *command], cwd=bare, check=True)
    config = tmp_path / "gitconfig"
    config.write_text(f'[url "file://{tmp_path}/hub/"]\n\tinsteadOf = https://github.com/\n')
    return {"GIT_CONFIG_GLOBAL": str(config), "READ_TOKEN": "t0ken"}


def test_the_producers_check_asks_every_domain_of_the_list(tmp_path: Path, hub: dict[str, str]) -> None:
    producer = ROOT / "docs" / "ci" / "producer.yml"
    (tmp_path / "repositories.txt").write_text("cordata/domains-fraud\ncordata/domains-finance\n")
    cloned = bash(script(producer, "Clone every domain, read-only"), tmp_path, **hub)
    assert cloned.returncode == 0, cloned.stderr

    ask = script(producer, "Ask every pipeline that pins the table").replace(
        "--format github", "--format github --no-catalog"
    )
    asked = bash(ask, tmp_path, PROPOSAL=str(ROOT / "domains" / "proposals" / "card-ledger-v5.0.0.yml"))
    assert asked.returncode == 1, asked.stdout + asked.stderr
    assert "transactions-scored-daily" in asked.stdout
    assert "merchant-settlement-daily" in asked.stdout
    for file in tmp_path.joinpath("consumers").rglob("config"):
        assert "t0ken" not in file.read_text()


@pytest.mark.parametrize(
    ("listed", "code"), [("cordata/domains-gone\n", 128), ("not a repository\n", 2), ("../../etc\n", 2), ("a/b/c\n", 2)]
)
def test_a_domain_that_cannot_be_read_fails_the_producers_check(
    tmp_path: Path, hub: dict[str, str], listed: str, code: int
) -> None:
    (tmp_path / "repositories.txt").write_text(f"cordata/domains-fraud\n{listed}")
    shell = script(ROOT / "docs" / "ci" / "producer.yml", "Clone every domain, read-only")
    assert bash(shell, tmp_path, **hub).returncode == code


def test_the_domains_check_is_validate(tmp_path: Path) -> None:
    shell = script(ROOT / "docs" / "ci" / "domain.yml", "Check descriptors, SQL, suites")
    assert bash(shell, ROOT, DOMAIN_ROOT="domains/fraud").returncode == 0
    assert bash(shell, ROOT, DOMAIN_ROOT=str(tmp_path)).returncode == 2


def test_the_domains_sync_puts_the_commit_where_the_jobs_read_it() -> None:
    found = script(ROOT / "docs" / "ci" / "domain.yml", "Put the commit where the jobs read it")
    assert 'python -m pipeline_runtime sync "${DOMAIN_ROOT}" "${CONFIG}"' in found
    jobs = workflow(ROOT / "docs" / "ci" / "domain.yml")["jobs"]
    assert jobs["sync"]["needs"] == "check"
    assert jobs["sync"]["concurrency"]["cancel-in-progress"] is False


def test_the_orchestrator_gets_the_descriptors_of_a_merge_after_the_jobs_have_them() -> None:
    names = [step.get("name") for step in workflow(ROOT / "docs" / "ci" / "domain.yml")["jobs"]["sync"]["steps"]]
    assert names[-2:] == [
        "Put the commit where the jobs read it",
        "Put the descriptors where the orchestrator reads them",
    ]


def test_the_orchestrator_gets_descriptors_and_nothing_else(tmp_path: Path) -> None:
    """`aws` is a stand-in that keeps the order of the CLI's filters: of those that fit a file, the last one counts."""
    root, bucket, bin_ = (
        tmp_path / "repository",
        tmp_path / "bucket" / "domains" / "fraud" / "pipelines",
        tmp_path / "bin",
    )
    shutil.copytree(ROOT / "domains" / "fraud", root)
    for folder in (bin_, bucket):
        folder.mkdir(parents=True)
    (root / "pipelines" / "helper.py").write_text("raise SystemExit('code of a domain in Airflow')\n")
    (bucket / "retired.yml").write_text("gone from the repository")
    (bin_ / "aws").write_text(f"#!{sys.executable}\n{AWS_S3_SYNC}")
    (bin_ / "aws").chmod(0o755)
    shell = script(ROOT / "docs" / "ci" / "domain.yml", "Put the descriptors where the orchestrator reads them")

    done = bash(f"PATH={bin_}:$PATH\n{shell}", root, DOMAIN_ROOT=".", DAGS=str(bucket))

    assert done.returncode == 0, done.stderr
    copied = {file.name: file.read_bytes() for file in bucket.iterdir()}
    assert copied == {file.name: file.read_bytes() for file in (root / "pipelines").glob("*.yml")}
    [product] = find_products(tmp_path / "bucket")
    assert (product.domain, product.path) == ("fraud", "domains/fraud/pipelines/transactions_scored.yml")


AWS_S3_SYNC = """
import fnmatch, pathlib, shutil, sys

service, command, *words = sys.argv[1:]
assert (service, command) == ("s3", "sync")
filters, delete = [], False
while words[0].startswith("--"):
    option = words.pop(0)
    if option in ("--exclude", "--include"):
        filters.append((option == "--include", words.pop(0)))
    delete = delete or option == "--delete"
source, target = map(pathlib.Path, words)
fits = lambda file: [wanted for wanted, pattern in filters if fnmatch.fnmatch(file.name, pattern)][-1]
there = {file.name for file in source.iterdir() if fits(file)}
for file in target.iterdir():
    if delete and fits(file) and file.name not in there:
        file.unlink()
for name in there:
    shutil.copy(source / name, target / name)
"""


@pytest.mark.parametrize("damage", [False, True])
def test_an_executor_that_is_not_its_manifests_is_not_installed(tmp_path: Path, damage: bool) -> None:
    """`aws` and `pip` are stand-ins here: one copies from a folder, the other notes what it was asked for."""
    import hashlib
    import json

    bin_, release = tmp_path / "bin", tmp_path / "release"
    bin_.mkdir()
    release.mkdir()
    wheel = "pipeline_runtime-0.1.0-py3-none-any.whl"
    (release / wheel).write_bytes(b"wheel")
    digest = hashlib.sha256(b"other" if damage else b"wheel").hexdigest()
    (release / "manifest.json").write_text(json.dumps({"files": {wheel: {"sha256": digest}}}))
    (bin_ / "aws").write_text('#!/bin/sh\ncp "$4" "$5"\n')
    real = shutil.which("python3")
    (bin_ / "python").write_text(
        f'#!/bin/sh\nif [ "$1" = -m ]; then echo "$@" > installed; else exec {real} "$@"; fi\n'
    )
    for tool in bin_.iterdir():
        tool.chmod(0o755)
    shell = script(ROOT / "docs" / "ci" / "domain.yml", "Install the executor that the jobs run")
    done = subprocess.run(
        ["bash", "-c", shell],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
            "EXECUTOR": str(release),
            "VERSION": "0.1.0",
        },
        check=False,
    )
    assert (done.returncode != 0) is damage
    assert (tmp_path / "installed").exists() is not damage


def test_every_domain_has_owners_for_everything_and_for_what_is_decided_elsewhere() -> None:
    for domain in ("fraud", "finance", "policy"):
        lines = [line.split() for line in (ROOT / "domains" / domain / "CODEOWNERS").read_text("utf-8").splitlines()]
        rules = {line[0]: line[1:] for line in lines if line and not line[0].startswith("#")}
        assert next(iter(rules)) == "*", "the last rule that fits counts, so the general one comes first"
        assert all(owner.startswith("@cordata/") for owners in rules.values() for owner in owners)
        for folder in rules.keys() - {"*"}:
            assert (ROOT / "domains" / domain / folder.strip("/")).is_dir(), f"{domain}: {folder}"
        assert len(rules["/schemas/"]) == 2, "a pin is agreed with the table's producer"
