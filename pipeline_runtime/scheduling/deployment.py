"""Which jobs the orchestrator starts, as whom and when: one JSON file that Terraform's outputs make.

A schedule is the deployment's and no descriptor's: what a product is does not depend on when it is made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from pipeline_runtime.errors import ConfigurationError

__all__ = ["Deployment", "DomainJobs", "Job", "load_deployment"]

_ROLE = r"^arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+$"
_CRON_FIELD = r"[\d*,/LW#A-Za-z-]+"
_CRON = rf"^{_CRON_FIELD}( {_CRON_FIELD}){{4}}$"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Job(_Strict):
    """One deployed Glue job."""

    descriptor: str = Field(description="The descriptor's path, as the job has it: from the repository's top.")
    schedule: Annotated[str, StringConstraints(pattern=_CRON)] | None = Field(
        default=None,
        description="When a source that no other job makes is ready: five fields of cron, UTC. A run is for the period "
        "that ends then.",
    )
    collects: Literal["day", "week", "month"] | None = Field(
        default=None,
        description="For a source that is made more often: one run a day when its hours, a week or a month when its "
        "days are all there.",
    )


class DomainJobs(_Strict):
    """A domain's jobs, and the narrow role that starts them."""

    role_arn: Annotated[str, StringConstraints(pattern=_ROLE)] = Field(description="`scheduler_role`'s role_arn.")
    external_id: str | None = Field(default=None, description="What the role asks for when it is assumed, if it does.")
    jobs: dict[str, Job] = Field(description="By the jobs' names in Glue.")

    @property
    def account(self) -> str:
        """The domain's account: the role's own."""
        return self.role_arn.split(":")[4]


class Deployment(_Strict):
    """All that the orchestrator knows of an environment."""

    region: str = Field(description="The region of the jobs.")
    retries: int = Field(default=3, ge=0, description="How often a run is tried again where that can help.")
    retry_seconds: float = Field(default=120, gt=0, description="Before the first of them; twice as long each time.")
    poll_seconds: float = Field(default=60, gt=0, description="Seconds between two looks at a job run.")
    domains: dict[str, DomainJobs] = Field(description="By the domains' names.")

    @model_validator(mode="after")
    def each_descriptor_once(self) -> Deployment:
        seen: dict[str, str] = {}
        for domain in self.domains.values():
            for name, job in domain.jobs.items():
                if (other := seen.setdefault(job.descriptor, name)) != name:
                    raise ValueError(f"{job.descriptor} has two jobs, {other} and {name}")
        return self

    def by_descriptor(self) -> Mapping[str, tuple[str, str]]:
        """Domain and job name by the descriptor's path."""
        return {
            job.descriptor: (domain, name) for domain, jobs in self.domains.items() for name, job in jobs.jobs.items()
        }


def load_deployment(file: Path) -> Deployment:
    """The deployment in that file. Raises ConfigurationError with everything that is wrong in it."""
    try:
        return Deployment.model_validate(json.loads(file.read_text("utf-8")))
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}; put the deployment's file there") from None
    except ValueError as error:
        if not isinstance(error, ValidationError):
            raise ConfigurationError(f"{file}: is no JSON: {error}") from None
        problems = [f"{'.'.join(map(str, each['loc'])) or 'the file'}: {_said(each['msg'])}" for each in error.errors()]
        raise ConfigurationError(f"{file}: " + "; ".join(problems)) from None


def _said(message: str) -> str:
    if _CRON in message:
        return "is no schedule; write five fields of cron, as 0 5 * * *"
    if _ROLE in message:
        return "is no role's ARN"
    return re.sub("^Value error, ", "", message)
