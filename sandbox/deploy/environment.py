"""What the live configuration's env.hcl says of accounts, domains and versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.deploy.terragrunt import literals

__all__ = ["Domain", "Environment"]


@dataclass(frozen=True)
class Domain:
    """A domain's account, its bucket for configuration and evidence, and the names of its jobs."""

    account: str
    bucket: str
    job_names: tuple[str, ...]

    @property
    def config(self) -> str:
        return f"s3://{self.bucket}/config"


@dataclass(frozen=True)
class Environment:
    """`accounts` are the platform's own, by purpose; `domains` by name."""

    name: str
    region: str
    executor_version: str
    datazone_domain_id: str
    dag_bucket: str
    accounts: Mapping[str, str]
    domains: Mapping[str, Domain]

    @classmethod
    def of(cls, repository: Path, name: str = "prod") -> Environment:
        said: dict[str, Any] = literals(repository / "terraform" / "live" / name / "env.hcl")
        domains = {
            domain: Domain(each["account"], each["bucket"], tuple(each["job_names"]))
            for domain, each in said.pop("domains").items()
        }
        return cls(domains=domains, **said)
