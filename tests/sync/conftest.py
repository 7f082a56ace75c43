"""The fraud domain in a repository of its own, and a place to sync it to."""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCORED = "domains/fraud/pipelines/transactions_scored.yml"


@dataclass
class Repository:
    """A git checkout with `domains/fraud` in it."""

    top: Path
    root: Path = field(init=False)

    def __post_init__(self) -> None:
        self.root = self.top / "domains" / "fraud"

    def git(self, *command: str) -> str:
        settings = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *settings, *command],
            cwd=self.top,
            check=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        return done.stdout.strip()

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change", "--allow-empty")
        return self.git("rev-parse", "HEAD")

    def change(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    shutil.copytree(ROOT / "domains" / "fraud", made.root, ignore=shutil.ignore_patterns("__pycache__"))
    made.git("init", "--quiet")
    made.git("remote", "add", "origin", "https://robot:s3cret@git.example/cordata/domains.git")
    made.commit()
    return made


@dataclass(frozen=True)
class Config:
    """The config prefix of the domain's account."""

    aws: Any
    bucket: str
    url: str

    @property
    def s3(self) -> Any:
        return self.aws.client("s3")

    def put(self, key: str, data: bytes | str) -> None:
        self.s3.put_object(Bucket=self.bucket, Key=f"config/{key}", Body=data)

    def get(self, key: str) -> bytes:
        return bytes(self.s3.get_object(Bucket=self.bucket, Key=f"config/{key}")["Body"].read())

    def json(self, key: str) -> Any:
        return json.loads(self.get(key))

    def names(self) -> list[str]:
        listed = self.s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        return sorted(each["Key"].removeprefix("config/") for each in listed)

    def deploy(self, **changes: Any) -> None:
        """What Terraform writes when it has applied the domain's jobs."""
        job = {
            "descriptor": SCORED,
            "source": "fraud_raw.transactions",
            "target": {
                "database": "fraud_curated",
                "table": "transactions_scored",
                "location": "s3://cordata-fraud-curated-eu-central-1/transactions_scored/",
            },
            **changes,
        }
        self.put("deployed.json", json.dumps({"domain": "fraud", "jobs": {"transactions_scored_daily": job}}))


@pytest.fixture
def config(aws: Any) -> Config:
    bucket = f"config-{uuid.uuid4().hex[:8]}"
    aws.client("s3").create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": aws.region})
    made = Config(aws, bucket, f"s3://{bucket}/config")
    made.deploy()
    return made
