"""Runs a deployed Glue job on this machine, as Glue would: from its definition, with what lies in S3, in its role.

    python -m sandbox.glue_run transactions_scored_daily [--account 111122223333] [--argument=--run-id=…]…

Where AWS is not in the environment, it is the stand-in that `make deploy-local` deployed to, and the account is the one
of its domains that has the job. The definition is what Glue's API returns, as Terraform left it. Script, executor,
wheels, JARs and the synced copy come from S3; nothing of this checkout is run. Of Glue's image, Python, Spark and
Spark's own JARs are this environment's. The job run is recorded with its state, and the closer gets the event that
EventBridge would send. Ends with the job's own exit code.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.glue.received import ReceivedJob, received
from pipeline_runtime.job_run_ids import run_id_in
from sandbox.deploy.lookup import FOLDER, account_of, job_names, settings_of
from sandbox.errors import SandboxError
from sandbox.glue_image import check_engine, image_jars, install_modules
from sandbox.spark_conf import LOCAL, write_conf

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
JARS = ROOT / ".cache" / "jars"
SITES = ROOT / ".cache" / "glue-run"

#: Variables that a job on Glue does not have: all that it knows is in its arguments.
_NOT_ON_GLUE = ("CORDATA_", "SPARK_", "PYTHON", "AWS_PROFILE", "DATAZONE_")


@dataclass(frozen=True)
class JobRun:
    """One job run: Glue's id of it, and who runs it."""

    job: ReceivedJob
    id: str
    account: str
    role: Mapping[str, str]

    @property
    def run_id(self) -> str:
        """The pipeline run's id, as the job's script will have it."""
        return run_id_in(self.job.script_arguments, self.id)


def run_job(name: str, arguments: Mapping[str, str]) -> int:
    """Starts a run of the job and sees it to its end. Raises SandboxError, ConfigurationError where it cannot start."""
    import boto3

    glue = boto3.client("glue")
    try:
        definition = glue.get_job(JobName=name)["Job"]
    except glue.exceptions.EntityNotFoundException:
        raise SandboxError(f"Glue has no job {name}; it has: {', '.join(job_names(glue)) or 'none'}") from None
    job = received(definition, arguments)
    check_engine(job.engine)
    role = boto3.client("sts").assume_role(RoleArn=definition["Role"], RoleSessionName="glue")["Credentials"]
    account = definition["Role"].split(":")[4]
    started = glue.start_job_run(JobName=name, Arguments=dict(arguments))["JobRunId"]
    run = JobRun(job, started, account, _as_variables(role))
    _say("job run", f"{name} {started[:12]}…, Glue {job.engine.glue}, run {run.run_id}")
    code, state = 1, "FAILED"
    try:
        with tempfile.TemporaryDirectory(prefix="glue-run-") as scratch:
            code = _submit(run, Path(scratch))
        state = "FAILED" if code else "SUCCEEDED"
    except KeyboardInterrupt:
        code, state = 130, "STOPPED"
    finally:
        message = f"the script ended with exit code {code}" if state == "FAILED" else None
        _record(run, state, message)
        _say("job run", f"{state}{f': {message}' if message else ''}")
        _tell_closer(run, state, message)
        _say("DataZone", ", ".join(_accepted(run)) or "has no event of this run")
    return code


def _submit(run: JobRun, scratch: Path) -> int:
    """Fetches what the job is made of and runs its script; returns the exit code."""
    job = run.job
    s3 = _role_client("s3", run.role)
    fetched = {url: _fetch(s3, url, scratch) for url in (job.script, *job.jars, *job.py_files, *job.modules)}
    sites = install_modules([fetched[url] for url in job.modules], job.installer_option, SITES)
    image = image_jars(JARS / f"glue-{job.engine.glue}", formats=job.script_arguments.get("--datalake-formats", ""))
    jars = [*(fetched[url] for url in job.jars), *image]
    write_conf(scratch / "conf", _image_settings(), scratch / "spark.log")
    command = [
        str(Path(sys.executable).parent / "spark-submit"),
        *("--properties-file", str(scratch / "conf" / "spark-defaults.conf")),
        *("--jars", ",".join(map(str, jars))),
        *(("--py-files", ",".join(str(fetched[url]) for url in job.py_files)) if job.py_files else ()),
        *(part for key, value in job.conf.items() for part in ("--conf", f"{key}={value}")),
        str(fetched[job.script]),
        *_script_arguments(run),
    ]
    return subprocess.run(command, env=_environment(run, scratch, sites), cwd=scratch, check=False).returncode


def _script_arguments(run: JobRun) -> Iterator[str]:
    """The job's arguments and those that Glue adds of its own; what Glue consumed itself is passed on as well."""
    added = {"--JOB_ID": f"j_{'0' * 64}", "--JOB_NAME": run.job.name, "--JOB_RUN_ID": run.id}
    given = {key: value for key, value in run.job.script_arguments.items() if key != "--conf"}
    for key, value in {**added, **given}.items():
        yield from (key, value)


def _environment(run: JobRun, scratch: Path, sites: Sequence[Path]) -> dict[str, str]:
    engine = run.job.engine
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith(_NOT_ON_GLUE)},
        **run.role,
        "GLUE_VERSION": engine.glue,
        "GLUE_COMMAND_CRITERIA": "glueetl",
        "GLUE_PYTHON_VERSION": "3",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(map(str, sites)),
        "SPARK_CONF_DIR": str(scratch / "conf"),
    }


def _image_settings() -> dict[str, str]:
    """What Glue's image sets, here aimed at the stand-in."""
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    return {
        **LOCAL,
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    }


def _fetch(s3: Any, url: str, into: Path) -> Path:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    target = into / key.rpartition("/")[2]
    try:
        s3.download_file(bucket, key, str(target))
    except s3.exceptions.ClientError as error:
        raise SandboxError(f"the job's role cannot read {url}: {error}") from None
    return target


def _record(run: JobRun, state: str, message: str | None) -> None:
    said = {"account": run.account, "region": os.environ["AWS_REGION"], "job": run.job.name, "run": run.id}
    request = urllib.request.Request(
        f"{os.environ['AWS_ENDPOINT_URL']}/fake/job-runs",
        data=json.dumps({**said, "state": state, "message": message}).encode(),
        method="POST",
    )
    urllib.request.urlopen(request, timeout=10).close()


def _accepted(run: JobRun) -> list[str]:
    """The kinds of the run's own events that DataZone's stand-in has accepted, in order."""
    with urllib.request.urlopen(f"{os.environ['AWS_ENDPOINT_URL']}/fake/events", timeout=10) as answer:
        bodies = [json.loads(event["body"]) for event in json.load(answer)]
    return [body["eventType"] for body in bodies if body["run"]["runId"] == run.run_id]


def _tell_closer(run: JobRun, state: str, message: str | None) -> None:
    """Sends what EventBridge would send, to the closer's handler in a process of its own."""
    event = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Glue Job State Change",
        "source": "aws.glue",
        "account": run.account,
        "time": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "region": os.environ["AWS_REGION"],
        "resources": [],
        "detail": {
            "jobName": run.job.name,
            "severity": "INFO" if state == "SUCCEEDED" else "ERROR",
            "state": state,
            "jobRunId": run.id,
            "message": message or "Job run succeeded",
        },
    }
    given = run.job.script_arguments
    settings = {
        "CORDATA_EVIDENCE": given.get("--evidence"),
        "CORDATA_LINEAGE_URL": given.get("--lineage-url"),
        "CORDATA_LINEAGE": given.get("--lineage"),
        "CORDATA_LINEAGE_ROLE_ARN": given.get("--lineage-role-arn"),
        # The run's process is gone: no last words are on their way.
        "CORDATA_CLOSER_GRACE_SECONDS": "0",
    }
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("CORDATA_", "PYTHON"))}
    script = (
        "import json, sys; from pipeline_runtime.closer.handler import handler; handler(json.load(sys.stdin), None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(event),
        env={**kept, **run.role, **{key: value for key, value in settings.items() if value is not None}},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    words = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    _say("closer", words[-1] if words else "said nothing")


def _role_client(service: str, role: Mapping[str, str]) -> Any:
    import boto3

    return boto3.client(  # type: ignore[call-overload]
        service,
        aws_access_key_id=role["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=role["AWS_SECRET_ACCESS_KEY"],
        aws_session_token=role["AWS_SESSION_TOKEN"],
    )


def _as_variables(credentials: Mapping[str, Any]) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": credentials["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": credentials["SecretAccessKey"],
        "AWS_SESSION_TOKEN": credentials["SessionToken"],
    }


def _say(subject: str, message: str) -> None:
    print(f"{subject:<9} {message}", flush=True)


def _argument(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.startswith("--") and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not --key=value")
    return key, value


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m sandbox.glue_run", description="A deployed Glue job, here.")
    parser.add_argument("job", help="the job's name")
    parser.add_argument("--account", help="the account that the job is in; 12 digits [the one that has it]")
    parser.add_argument("--argument", action="append", type=_argument, default=[], help="the run's own: --key=value")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the deployment [.sandbox/deployed]")
    options = parser.parse_args(argv)
    try:
        if "AWS_ENDPOINT_URL" not in os.environ:
            os.environ.update(settings_of(options.folder))
            options.account = options.account or account_of(options.job, options.folder)
        if options.account:
            os.environ.update(AWS_ACCESS_KEY_ID=options.account, AWS_SECRET_ACCESS_KEY="sandbox")
            os.environ.pop("AWS_SESSION_TOKEN", None)
        os.environ.setdefault("AWS_REGION", os.environ.get("AWS_DEFAULT_REGION", "eu-central-1"))
        os.environ.setdefault("AWS_DEFAULT_REGION", os.environ["AWS_REGION"])
        return run_job(options.job, dict(options.argument))
    except (SandboxError, ConfigurationError) as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
