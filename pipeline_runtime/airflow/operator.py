"""The one task of every DAG: starts the descriptor's Glue job as the domain's scheduler, and follows it.

While the job runs the task is deferred and takes no worker; each look at the job run is a short one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.openlineage.plugins.macros import lineage_parent_id
from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger
from airflow.sdk import Asset, BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from pipeline_runtime.airflow.periods import key_of, nominal_time
from pipeline_runtime.airflow.runs import TaskTry, arguments_of
from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.scheduling.job_runs import GlueJob, NotNow
from pipeline_runtime.scheduling.retries import job_run_can_be_retried

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

__all__ = ["RunDescriptor"]


class RunDescriptor(BaseOperator):  # type: ignore[misc]  # Airflow is installed in an environment of its own
    """Makes one run of a deployed job.

    Fails for good where only a person can help, and so that Airflow tries again where a retry can: each try is a run
    of its own. A job run that an earlier try left under way is followed, not started a second time.
    """

    def __init__(
        self,
        *,
        job: str,
        role_arn: str,
        external_id: str | None,
        region: str,
        poll_seconds: float,
        product: Asset,
        **kwargs: Any,
    ) -> None:
        super().__init__(outlets=[product], **kwargs)
        self.job, self.role_arn, self.external_id, self.region = job, role_arn, external_id, region
        self.poll_seconds, self.product = poll_seconds, product

    def execute(self, context: Mapping[str, Any]) -> None:
        """Starts the run, and leaves it to `follow`."""
        with _told_to_airflow():
            self._start(context, _nominal_time(context))
        self._look_again()

    def follow(self, context: Mapping[str, Any], event: object = None) -> None:  # noqa: ARG002 - Airflow passes it
        """Looks at the job run, and leaves it to the next look where it has not ended."""
        this = _this_try(context)
        try:
            with _told_to_airflow():
                nominal = _nominal_time(context)
                # Asked for by the ids that the tries make: nothing has to be carried from one look to the next.
                run = self._glue_job(context).newest(this.pipeline_run_ids())
        except AirflowFailException:
            raise
        except AirflowException as refusal:
            self.log.info("%s; asking again later", refusal)
            self._look_again()
            return
        if run is None:
            raise AirflowFailException(f"{self.job} has no job run of run {this.pipeline_run_id()} any more")
        if not run.has_ended:
            self._look_again()
            return
        said = f"{self.job}, run {run.run_id} for {nominal}: job run {run.id} is {run.state}"
        if run.message:
            said += f": {run.message}"
        if run.state != "SUCCEEDED":
            raise (AirflowException if job_run_can_be_retried(run.state, run.message) else AirflowFailException)(said)
        self.log.info("%s", said)
        context["outlet_events"][self.product].add_partitions(key_of(nominal))

    def _start(self, context: Mapping[str, Any], nominal: str) -> None:
        this, job = _this_try(context), self._glue_job(context)
        left = job.under_way(this.pipeline_run_ids())
        if left is not None:
            self.log.info("%s: following job run %s of run %s", self.job, left.id, left.run_id)
            return
        run_id = this.pipeline_run_id()
        started = job.start(arguments_of(run_id, nominal, lineage_parent_id(context["ti"])))
        self.log.info("%s: started job run %s, run %s for %s", self.job, started, run_id, nominal)

    def _look_again(self) -> None:
        self.defer(trigger=TimeDeltaTrigger(timedelta(seconds=self.poll_seconds)), method_name="follow")

    def _glue_job(self, context: Mapping[str, Any]) -> GlueJob:
        # A session of an hour, which is all that a role assumed by a role gets, outlasts each look by far.
        return GlueJob(self._as_scheduler(context["ti"]), self.job)

    def _as_scheduler(self, ti: Any) -> GlueClient:
        import boto3
        from botocore.exceptions import BotoCoreError, ClientError

        who = f"airflow-{ti.dag_id}"[:64]
        asked = {"ExternalId": self.external_id} if self.external_id else {}
        sts: Any = boto3.client("sts", region_name=self.region)
        try:
            role = sts.assume_role(RoleArn=self.role_arn, RoleSessionName=who, **asked)["Credentials"]
        except ClientError as error:
            if error.response["Error"]["Code"] in ("AccessDenied", "ValidationError"):
                raise ConfigurationError(f"{self.role_arn}: {error}") from error
            raise NotNow(f"{self.role_arn}: {error}") from error
        except BotoCoreError as error:
            raise NotNow(f"{self.role_arn}: {error}") from error
        return boto3.client(
            "glue",
            region_name=self.region,
            aws_access_key_id=role["AccessKeyId"],
            aws_secret_access_key=role["SecretAccessKey"],
            aws_session_token=role["SessionToken"],
        )


def _this_try(context: Mapping[str, Any]) -> TaskTry:
    ti = context["ti"]
    return TaskTry(ti.dag_id, ti.run_id, ti.task_id, ti.try_number)


def _nominal_time(context: Mapping[str, Any]) -> str:
    dag_run = context["dag_run"]
    return nominal_time(dag_run.partition_key, context["params"].get("nominal_time"), dag_run.logical_date)


@contextmanager
def _told_to_airflow() -> Iterator[None]:
    """What passes by itself fails the try, what does not fails the task."""
    try:
        yield
    except NotNow as refusal:
        raise AirflowException(str(refusal)) from refusal
    except ConfigurationError as error:
        raise AirflowFailException(str(error)) from error
