"""Whether what Terraform deployed covers what a repository declares.

`deployed.json` in the config prefix is written by the Terraform module that makes the jobs and their roles:

    {"domain": "fraud",
     "apply": "terraform/live/prod/domains/fraud",
     "jobs": {"transactions_scored_daily": {
       "descriptor": "domains/fraud/pipelines/transactions_scored.yml",
       "source": "fraud_raw.transactions",
       "target": {"database": "fraud_curated", "table": "transactions_scored", "location": "s3://…/"}}}}

`apply` may be left out. A job's role may touch these tables and this prefix, and nothing else, so a descriptor that
names others would fail at run time, at night; `sync` refuses it on merge, by day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline_runtime.descriptor.model import Descriptor
from pipeline_runtime.sync.manifest import first_problem

__all__ = ["DEPLOYED", "Deployed", "gaps", "read_deployed"]

DEPLOYED = "deployed.json"


class _Record(BaseModel):
    # A newer module may say more.
    model_config = ConfigDict(extra="ignore", frozen=True)


class DeployedTarget(_Record):
    database: str
    table: str
    location: str


class DeployedJob(_Record):
    """One job: its descriptor's path in the repository, and the tables that its role covers."""

    descriptor: str
    source: str
    target: DeployedTarget


class Deployed(_Record):
    """What is deployed for a domain; `apply` is what to apply when something is not covered."""

    domain: str
    apply: str = "the domain's transform_jobs"
    jobs: Mapping[str, DeployedJob]


def read_deployed(data: bytes) -> Deployed:
    """Raises ValueError with what is wrong, in one line."""
    try:
        return Deployed.model_validate_json(data)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None


def gaps(deployed: Deployed, descriptors: Sequence[tuple[str, Descriptor]]) -> list[str]:
    """What the deployed roles do not cover of these descriptors (path in the repository, model), in words."""
    found = []
    by_descriptor = {job.descriptor: (name, job) for name, job in sorted(deployed.jobs.items())}
    for path, descriptor in descriptors:
        if descriptor.metadata.domain != deployed.domain:
            found.append(f"{path}: is of domain {descriptor.metadata.domain}; deployed here is {deployed.domain}")
        elif path not in by_descriptor:
            found.append(f"{path}: no job is deployed for it")
        else:
            name, job = by_descriptor[path]
            found += [f"{path}: {difference} (job {name})" for difference in _differences(job, descriptor)]
    return found


def _differences(job: DeployedJob, descriptor: Descriptor) -> list[str]:
    target = job.target
    compared = (
        ("source", job.source.lower(), descriptor.source.fqn),
        ("target", f"{target.database}.{target.table}".lower(), descriptor.target.fqn),
        ("target location", target.location.rstrip("/"), descriptor.target.location.rstrip("/")),
    )
    return [f"{what} {now} is not covered; the role covers {then}" for what, then, now in compared if then != now]
