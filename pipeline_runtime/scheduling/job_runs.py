"""One Glue job's runs, as a scheduler sees them: start, find, follow, stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from pipeline_runtime.closer.job_runs import JobRun, job_runs_since
from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.scheduling.retries import request_can_be_retried

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

__all__ = ["GlueJob", "NotNow"]

T = TypeVar("T")

#: Glue ends a job run after at most seven days, so an older one is not under way.
_LONGEST_RUN = timedelta(days=7)


class NotNow(Exception):
    """AWS refused for a reason that passes by itself: no capacity, too many requests, another run of the job."""


@dataclass(frozen=True)
class GlueJob:
    """A deployed job. Methods raise NotNow, or ConfigurationError for what stays wrong until someone acts."""

    glue: GlueClient
    name: str

    def default_arguments(self) -> dict[str, str]:
        """The job's own arguments, as it was deployed."""
        return dict(_asked(lambda: self.glue.get_job(JobName=self.name), self.name)["Job"].get("DefaultArguments", {}))

    def start(self, arguments: Mapping[str, str]) -> str:
        """Starts a run with these arguments on top of the job's own; returns Glue's id of it."""
        return _asked(lambda: self.glue.start_job_run(JobName=self.name, Arguments=dict(arguments)), self.name)[
            "JobRunId"
        ]

    def run(self, id_: str) -> JobRun:
        """What Glue says of the job run now."""
        found = _asked(lambda: self.glue.get_job_run(JobName=self.name, RunId=id_), self.name)["JobRun"]
        return JobRun(
            self.name,
            id_,
            found["JobRunState"],
            found.get("CompletedOn") or datetime.now(UTC),
            found.get("ErrorMessage") or None,
            found.get("Arguments") or {},
        )

    def newest(self, run_ids: Iterable[str]) -> JobRun | None:
        """The newest of the job runs that have one of these pipeline run ids."""
        wanted = set(run_ids)
        since = datetime.now(UTC) - _LONGEST_RUN
        return _asked(
            lambda: next((run for run in job_runs_since(self.glue, self.name, since) if run.run_id in wanted), None),
            self.name,
        )

    def under_way(self, run_ids: Iterable[str]) -> JobRun | None:
        """The newest of them, where it has not ended."""
        found = self.newest(run_ids)
        return None if found is None or found.has_ended else found

    def stop(self, id_: str) -> None:
        """Asks Glue to stop the job run; one that has ended stays as it is."""
        _asked(lambda: self.glue.batch_stop_job_run(JobName=self.name, JobRunIds=[id_]), self.name)


def _asked(request: Callable[[], T], job: str) -> T:
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, ParamValidationError

    try:
        return request()
    except ClientError as error:
        code = error.response["Error"]["Code"]
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if request_can_be_retried(code, status):
            raise NotNow(f"Glue job {job}: {error}") from error
        raise ConfigurationError(f"Glue job {job}: {error}") from error
    except (NoCredentialsError, ParamValidationError) as error:
        raise ConfigurationError(f"Glue job {job}: {error}") from error
    except BotoCoreError as error:
        raise NotNow(f"Glue job {job}: {error}") from error
