"""Where a deployed job runs: the stand-in that was deployed to, and the account that has the job."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sandbox.deploy.environment import Environment
from sandbox.deploy.local import Deployment
from sandbox.deploy.lookup import HEALTH, account_of, remember, settings_of
from sandbox.errors import SandboxError
from sandbox.stack import Stack
from tests.conftest import Aws
from tests.servers import free_port

pytestmark = pytest.mark.lengthy

ROOT = Path(__file__).resolve().parents[2]

#: Each test has accounts of its own: the stand-in is shared by the whole session.
_accounts = (f"3000{number:08}" for number in count())


@pytest.fixture
def accounts() -> Mapping[str, str]:
    return {domain: next(_accounts) for domain in ("fraud", "finance")}


@pytest.fixture
def folder(aws: Aws, accounts: Mapping[str, str], tmp_path: Path) -> Path:
    """A deployment to the session's stand-in, with one job in fraud's account."""
    remember(tmp_path, {"AWS_ENDPOINT_URL": aws.endpoint, "AWS_REGION": aws.region}, accounts)
    create_job(aws, accounts["fraud"], "scored")
    return tmp_path


def create_job(aws: Aws, account: str, name: str) -> None:
    command = {"Name": "glueetl", "ScriptLocation": "s3://b/run.py"}
    aws.client("glue", account).create_job(Name=name, Role=f"arn:aws:iam::{account}:role/r", Command=command)


def test_a_jobs_account_is_the_one_that_has_it(folder: Path, accounts: Mapping[str, str]) -> None:
    assert account_of("scored", folder) == accounts["fraud"]


def test_a_job_that_nobody_has_is_told_with_those_that_there_are(folder: Path, accounts: Mapping[str, str]) -> None:
    with pytest.raises(SandboxError) as error:
        account_of("score", folder)
    assert str(error.value) == (
        f"no account has a job score. There are: {accounts['fraud']} (fraud): scored; "
        f"{accounts['finance']} (finance): none"
    )


def test_a_job_that_two_accounts_have_needs_the_account(aws: Aws, folder: Path, accounts: Mapping[str, str]) -> None:
    create_job(aws, accounts["finance"], "scored")
    with pytest.raises(
        SandboxError, match=r"2 accounts have a job scored: \d+ \(fraud\), \d+ \(finance\)\. Set ACCOUNT"
    ):
        account_of("scored", folder)


def test_a_stand_in_that_is_gone_is_told(tmp_path: Path) -> None:
    remember(tmp_path, {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"}, {})
    with pytest.raises(SandboxError, match="is not up, and what it held is gone; run `make deploy-local` again"):
        settings_of(tmp_path)


def test_without_a_deployment_a_job_is_not_run(tmp_path: Path) -> None:
    kept: dict[str, Any] = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    done = subprocess.run(
        [sys.executable, "-m", "sandbox.glue_run", "--folder", str(tmp_path), "scored"],
        cwd=ROOT,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "sandbox: nothing is deployed here; run `make deploy-local` first.\n")


def test_taking_the_sandbox_down_takes_down_what_is_deployed(tmp_path: Path) -> None:
    deployment = Deployment(ROOT, tmp_path / "deployed")
    deployment.folder.mkdir()
    deployment.aws.start([sys.executable, "-m", "sandbox.fakes.aws"], dict(os.environ), ROOT)
    url = f"{deployment.aws.url}{HEALTH}"
    urllib.request.urlopen(url, timeout=10).close()
    Stack(tmp_path).down()
    assert not tmp_path.exists()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=10)


def test_the_environment_is_what_the_live_configuration_says() -> None:
    environment = Environment.of(ROOT)
    assert (environment.name, environment.region) == ("prod", "eu-central-1")
    assert set(environment.accounts) == {"platform", "governance", "automation"}
    fraud = environment.domains["fraud"]
    assert (fraud.account, fraud.job_names) == ("444455556666", ("transactions_scored_daily",))
    assert fraud.config == "s3://cordata-fraud-pipelines-prod/config"
