"""A real Airflow with the DAGs, its provider configured as docs/airflow/configuration.json says, before a Glue."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.orchestration.glue_front import Front, glue_front

__all__ = ["AIRFLOW", "AirflowHere", "running_airflow"]

ROOT = Path(__file__).resolve().parents[2]
AIRFLOW = ROOT / ".cache" / "airflow" / "bin" / "python"
HELPER = ROOT / "tests" / "orchestration" / "airflow_run.py"
ACCOUNT = "123456789012"
#: The adapter's address in the documented configuration.
DOCUMENTED = "https://lineage-adapter.cordata.internal"


@dataclass
class AirflowHere:
    """An Airflow whose only job is one of fraud's; `front` hears of the job runs that it starts."""

    folder: Path
    front: Front
    job: str
    said: str = ""

    def test(self, dag: str, nominal_time: str, *, url: str, key: str) -> dict[str, Any]:
        """One run of the DAG by dag.test(), with the provider's events going to that adapter: state and tries."""
        self.said = self._airflow("test", dag, nominal_time, environ=self._provider(url, key))
        [answer] = [line for line in self.said.splitlines() if line.startswith("ANSWER ")]
        [run] = json.loads(answer.removeprefix("ANSWER "))
        return dict(run)

    def ends(self, state: str) -> None:
        """From now on job runs end in that state as soon as they have begun."""
        self.front.on_start = lambda start: self.front.end(ACCOUNT, start.job, start.id, state)

    def migrate(self) -> None:
        """Makes Airflow's own database."""
        command = [AIRFLOW.parent / "airflow", "db", "migrate"]
        subprocess.run(command, env=self._environ({}), capture_output=True, check=True, timeout=600)

    def _provider(self, url: str, key: str) -> dict[str, str]:
        """The documented options, for this address, and the documented connection with this key."""
        options = json.loads((ROOT / "docs" / "airflow" / "configuration.json").read_text())
        assert DOCUMENTED in options["openlineage.transport"]
        options["openlineage.transport"] = options["openlineage.transport"].replace(DOCUMENTED, url)
        named = {f"AIRFLOW__{name.replace('.', '__').upper()}": value for name, value in options.items()}
        return {**named, "AIRFLOW_CONN_OPENLINEAGE": json.dumps({"password": key})}

    def _airflow(self, *arguments: str, environ: Mapping[str, str]) -> str:
        done = subprocess.run(
            [AIRFLOW, HELPER, *arguments],
            env=self._environ(environ),
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        return said

    def _environ(self, more: Mapping[str, str]) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("CORDATA_", "PYTHON", "SPARK_"))}
        return {
            **kept,
            "AIRFLOW_HOME": str(self.folder / "home"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.folder / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AWS_ENDPOINT_URL_GLUE": self.front.url,
            "PYTHONPATH": str(ROOT),
            **more,
        }


@contextmanager
def running_airflow(aws: Any, folder: Path, domains: Path, descriptor: str, job: str) -> Iterator[AirflowHere]:
    """An Airflow of its own for the descriptors in `domains`, one of which, fraud's, has the deployed job."""
    dags = folder / "dags"
    shutil.copytree(ROOT / "docs" / "airflow" / "dags", dags)
    shutil.copytree(domains, dags / "domains")
    role = f"arn:aws:iam::{ACCOUNT}:role/cordata-fraud-scheduler"
    jobs = {job: {"descriptor": descriptor, "schedule": "0 5 * * *"}}
    (dags / "deployment.json").write_text(
        json.dumps(
            {
                "region": aws.region,
                "poll_seconds": 1,
                "retries": 0,
                "domains": {"fraud": {"role_arn": role, "jobs": jobs}},
            }
        )
    )
    aws.client("glue").create_job(Name=job, Role=f"arn:aws:iam::{ACCOUNT}:role/r", Command={"Name": "glueetl"})
    with glue_front(aws) as front:
        airflow = AirflowHere(folder, front, job)
        airflow.migrate()
        yield airflow
