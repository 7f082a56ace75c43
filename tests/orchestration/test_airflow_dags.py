"""The DAGs in a real Airflow: what they are, whom they start as, what they wait for and when they try again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from glue_front import Front, Start, glue_front

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
AIRFLOW = ROOT / ".cache" / "airflow" / "bin" / "python"
HELPER = Path(__file__).parent / "airflow_run.py"
ACCOUNTS = {"fraud": "444455556666", "policy": "555566667777", "finance": "666677778888"}
SCORED = "fraud.transactions-scored-daily"
SETTLED = "finance.merchant-settlement-daily"
NOMINAL = "2026-08-01T05:00:00Z"


@dataclass
class Environment:
    """An Airflow with a folder of DAGs, before Glue."""

    folder: Path
    aws: Any
    front: Front
    jobs: dict[str, str]

    def deploy(self, **changes: Any) -> None:
        """Writes the deployment's file; `jobs` are merged into the domains' jobs."""
        jobs = changes.pop("jobs", {})
        descriptors = {
            "fraud": {"descriptor": "domains/fraud/pipelines/transactions_scored.yml", "schedule": "0 5 * * *"},
            "policy": {"descriptor": "domains/policy/pipelines/claims_ingest.yml", "schedule": "0 * * * *"},
            "finance": {"descriptor": "domains/finance/pipelines/merchant_settlement_daily.yml"},
        }
        deployment = {
            "region": self.aws.region,
            "poll_seconds": 0.2,
            "retries": 2,
            "retry_seconds": 0.5,
            "domains": {
                domain: {
                    "role_arn": f"arn:aws:iam::{ACCOUNTS[domain]}:role/cordata-{domain}-scheduler",
                    "jobs": {self.jobs[domain]: {**described, **jobs.get(domain, {})}},
                }
                for domain, described in descriptors.items()
            },
            **changes,
        }
        (self.folder / "dags" / "deployment.json").write_text(json.dumps(deployment))

    def change(self, domain: str, old: str, new: str) -> None:
        (file,) = (self.folder / "dags" / "domains" / domain / "pipelines").glob("*.yml")
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new), "utf-8")

    def airflow(self, *arguments: str) -> Any:
        done = subprocess.run(
            [str(AIRFLOW), str(HELPER), *arguments],
            env=self.environ(),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        self.said = done.stdout + done.stderr
        [answer] = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
        return json.loads(answer.removeprefix("ANSWER "))

    def environ(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("CORDATA_", "PYTHON"))}
        options = json.loads((ROOT / "docs" / "airflow" / "configuration.json").read_text())
        options["openlineage.transport"] = json.dumps(
            {"type": "file", "log_file_path": str(self.folder / "lineage.jsonl"), "append": True}
        )
        return {
            **kept,
            **{f"AIRFLOW__{key.replace('.', '__').upper()}": value for key, value in options.items()},
            "AIRFLOW_HOME": str(self.folder / "home"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.folder / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AWS_ENDPOINT_URL_GLUE": self.front.url,
        }

    def lineage(self) -> list[dict[str, Any]]:
        """What Airflow's own provider emitted."""
        return [json.loads(line) for line in (self.folder / "lineage.jsonl").read_text().splitlines()]

    def ends(self, *endings: tuple[str, str | None]) -> None:
        """The states and messages with which the next job runs end, as soon as they have begun; SUCCEEDED after."""
        left = list(endings)

        def end(start: Start) -> None:
            state, message = left.pop(0) if left else ("SUCCEEDED", None)
            domain = next(domain for domain, job in self.jobs.items() if job == start.job)
            self.front.end(ACCOUNTS[domain], start.job, start.id, state, message)

        self.front.on_start = end


@pytest.fixture(scope="session")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An Airflow home with an empty database."""
    if not AIRFLOW.exists():
        pytest.skip("Airflow is not set up; run `make airflow` (it needs Python 3.12)")
    home = tmp_path_factory.mktemp("airflow")
    environ = {**os.environ, "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    command = [str(AIRFLOW.parent / "airflow"), "db", "migrate"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return home


@pytest.fixture
def environment(aws: Any, airflow_home: Path, tmp_path: Path) -> Iterator[Environment]:
    shutil.copytree(airflow_home, tmp_path / "home")
    # The copied configuration names the home that it was made for.
    configuration = tmp_path / "home" / "airflow.cfg"
    configuration.write_text(configuration.read_text().replace(str(airflow_home), str(tmp_path / "home")))
    shutil.copytree(ROOT / "docs" / "airflow" / "dags", tmp_path / "dags")
    shutil.copytree(ROOT / "domains", tmp_path / "dags" / "domains")
    # As on MWAA: beside the DAG file, not installed.
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "pipeline_runtime", tmp_path / "dags" / "pipeline_runtime", ignore=skipped)
    name = uuid.uuid4().hex[:6]
    jobs = {domain: f"{domain}_{name}" for domain in ACCOUNTS}
    for domain, account in ACCOUNTS.items():
        aws.client("glue", account).create_job(
            Name=jobs[domain],
            Role="arn:aws:iam::123456789012:role/r",
            Command={"Name": "glueetl"},
            ExecutionProperty={"MaxConcurrentRuns": 1},
        )
    with glue_front(aws) as front:
        made = Environment(tmp_path, aws, front, jobs)
        made.deploy()
        yield made


def finance_reads_what_fraud_makes(environment: Environment) -> None:
    environment.change("finance", "fraud_raw\n  table: transactions\n", "fraud_curated\n  table: transactions_scored\n")


def test_there_is_a_dag_for_every_descriptor_and_importing_them_warns_of_nothing(environment: Environment) -> None:
    found = environment.airflow("import")
    assert found["errors"] == {}
    assert found["warnings"] == []
    assert {dag: each["owner"] for dag, each in found["dags"].items()} == {
        SCORED: "fraud-data@cordata.example",
        SETTLED: "finance-data@cordata.example",
        "policy.claims-ingest": "policy-data@cordata.example",
    }
    for each in found["dags"].values():
        assert each["tasks"] == {"run": "RunDescriptor"}
        assert not each["catchup"]
        assert each["max_active_runs"] == 1
    assert "expression='0 5 * * *'" in found["dags"][SCORED]["schedule"]
    assert "run_offset=-1" in found["dags"][SCORED]["schedule"]
    assert "NullTimetable" in found["dags"][SETTLED]["schedule"]
    assert found["dags"][SCORED]["outlets"] == [
        "arn:aws:glue:eu-central-1:444455556666:table/fraud_curated/transactions_scored"
    ]


def test_a_run_starts_the_job_as_the_domains_scheduler_and_says_for_what_and_for_whom(environment: Environment) -> None:
    environment.ends()
    [run] = environment.airflow("test", SCORED, NOMINAL)
    assert run["state"] == "success", environment.said
    [start] = environment.front.starts
    assert start.job == environment.jobs["fraud"]
    # An assumed role's key, and the job run is in the domain's own account.
    assert start.caller.startswith("ASIA")
    [job_run] = environment.aws.client("glue", ACCOUNTS["fraud"]).get_job_runs(JobName=start.job)["JobRuns"]
    assert job_run["Id"] == start.id
    assert set(start.arguments) == {"--run-id", "--nominal-time", "--parent-run"}
    assert str(uuid.UUID(start.arguments["--run-id"])) == start.arguments["--run-id"]
    assert start.arguments["--nominal-time"] == NOMINAL
    namespace, job, parent = start.arguments["--parent-run"].split("/")
    assert (namespace, job) == ("cordata.orchestration", f"{SCORED}.run")
    # The parent is the run that Airflow's own provider tells of.
    told = [event for event in environment.lineage() if event["run"]["runId"] == parent]
    assert {event["eventType"] for event in told} >= {"START"}
    assert {(event["job"]["namespace"], event["job"]["name"]) for event in told} == {(namespace, job)}


def test_a_product_that_was_made_for_a_period_asks_its_readers_for_that_period_and_no_other(
    environment: Environment,
) -> None:
    finance_reads_what_fraud_makes(environment)
    environment.ends(("FAILED", "SystemExit: 3"))
    quarantined, made = environment.airflow("test", SCORED, "2026-07-31T05:00:00Z", NOMINAL)
    assert (quarantined["state"], quarantined["asked_for"]) == ("failed", [])
    assert (made["state"], made["asked_for"]) == ("success", [f"{SETTLED}@2026-08-01T05:00:00"]), environment.said


def test_a_lack_of_capacity_is_tried_again_as_a_run_of_its_own_and_a_drift_or_quarantine_is_not(
    environment: Environment,
) -> None:
    environment.ends(
        ("FAILED", "SystemExit: 3"),
        ("FAILED", "the script ended with exit code 1"),
        ("STOPPED", None),
        ("FAILED", "Resource unavailable"),
    )
    days = [f"2026-08-0{day}T05:00:00Z" for day in range(1, 5)]
    runs = environment.airflow("test", SCORED, *days)
    assert [(run["state"], run["tries"]) for run in runs] == [("failed", 1)] * 3 + [("success", 2)], environment.said
    starts = [(start.arguments["--nominal-time"], start.arguments["--run-id"]) for start in environment.front.starts]
    assert [nominal for nominal, _ in starts] == [*days, days[3]]
    assert len({run_id for _, run_id in starts}) == 5


def test_a_start_that_is_refused_for_now_is_tried_again_and_a_wrong_one_is_not(environment: Environment) -> None:
    environment.ends()
    environment.front.refusals = ["ConcurrentRunsExceededException"]
    [busy] = environment.airflow("test", SCORED, NOMINAL)
    assert (busy["state"], busy["tries"]) == ("success", 2), environment.said
    environment.front.refusals = ["AccessDeniedException"]
    [refused] = environment.airflow("test", SCORED, "2026-08-02T05:00:00Z")
    assert (refused["state"], refused["tries"]) == ("failed", 1)


def test_a_job_run_that_an_earlier_try_has_started_is_followed_and_not_started_twice(environment: Environment) -> None:
    environment.front.lost = 1
    account, front = ACCOUNTS["fraud"], environment.front

    def end_later(start: Start) -> None:
        threading.Timer(6, front.end, (account, start.job, start.id, "SUCCEEDED")).start()

    front.on_start = end_later
    [run] = environment.airflow("test", SCORED, NOMINAL)
    assert (run["state"], run["tries"]) == ("success", 2), environment.said
    assert len(front.starts) == 1


def test_a_reader_of_hourly_products_is_made_once_a_day_when_all_hours_are_there(environment: Environment) -> None:
    environment.change("finance", "fraud_raw\n  table: transactions\n", "policy_raw\n  table: claims_deduped\n")
    environment.deploy(jobs={"finance": {"collects": "day"}})
    environment.ends()
    runs = environment.airflow("test", "policy.claims-ingest", *(f"2026-08-01T{hour:02}:00:00Z" for hour in range(24)))
    assert [run["asked_for"] for run in runs] == [[]] * 23 + [[f"{SETTLED}@2026-08-01T00:00:00"]], environment.said


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda e: e.deploy(jobs={"finance": {"schedule": "0 6 * * *"}}), "take its schedule '0 6 * * *' out"),
        (lambda e: e.deploy(jobs={"fraud": {"collects": "day"}}), "collects a day of fraud_raw.transactions, which no"),
        (lambda e: e.deploy(jobs={"fraud": {"descriptor": "domains/x.yml"}}), "has jobs for domains/x.yml, which are"),
        (lambda e: (e.folder / "dags" / "deployment.json").unlink(), "put the deployment's file there"),
    ],
)
def test_a_deployment_that_does_not_fit_is_an_import_error_that_says_why(
    environment: Environment, spoil: Callable[[Environment], None], said: str
) -> None:
    finance_reads_what_fraud_makes(environment)
    spoil(environment)
    [error] = environment.airflow("import")["errors"].values()
    assert said in error


def test_a_descriptor_that_is_not_deployed_yet_has_no_dag(environment: Environment) -> None:
    (environment.folder / "dags" / "deployment.json").write_text(json.dumps({"region": "eu-central-1", "domains": {}}))
    found = environment.airflow("import")
    assert found == {"errors": {}, "warnings": [], "dags": {}}


def test_mwaas_configuration_options_are_what_the_provider_reads(environment: Environment) -> None:
    options = json.loads((ROOT / "docs" / "airflow" / "configuration.json").read_text())
    found = environment.airflow("configuration")
    assert not found["disabled"]
    assert found["namespace"] == options["openlineage.namespace"] == "cordata.orchestration"
    transport = json.loads(options["openlineage.transport"])
    assert transport["type"] == "http"
    # The key is not among the options: they can be read in the console.
    assert transport["auth"] == {"type": "airflow_connection_api_key", "conn_id": "openlineage"}
