"""A folder of domains, a table in the stand-in for AWS, and the check as a build runs it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from contract_samples import Consumers, Table

from pipeline_runtime.cli import main

_numbers = itertools.count(1)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def consumers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Consumers:
    """`domains` in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "domains").mkdir()
    return Consumers(tmp_path / "domains")


@pytest.fixture
def table(aws: Any) -> Table:
    """A database of the test's own; `sales` in messages stands for it."""
    glue, s3 = aws.client("glue"), aws.client("s3")
    database = f"sales_{next(_numbers)}"
    glue.create_database(DatabaseInput={"Name": database})
    with suppress(s3.exceptions.BucketAlreadyOwnedByYou, s3.exceptions.BucketAlreadyExists):
        s3.create_bucket(Bucket="contracts-lake", CreateBucketConfiguration={"LocationConstraint": aws.region})
    return Table(glue, s3, database)


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """`check(proposal_text, *arguments)` → exit code, standard output, standard error."""

    def run(proposal: str, *arguments: str, paths: tuple[str, ...] = ("domains",)) -> tuple[int, str, str]:
        (tmp_path / "proposal.yml").write_text(proposal, encoding="utf-8")
        code = main(["consumers", "proposal.yml", *paths, *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run
