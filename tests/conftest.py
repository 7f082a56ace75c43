"""What every test shares: one stand-in for AWS, one Spark session."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.engine import engine_here, jars_folder
from tests.servers import free_port, wait_until_up

ROOT = Path(__file__).resolve().parents[1]
JARS = jars_folder(engine_here())
REGION = "eu-central-1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where processes share the tests (`make check`), those of a folder stay together, as what they set up does."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(item.path.parent.name))


@dataclass(frozen=True)
class Aws:
    """The stand-in for AWS: moto's server with AWS's own rules where moto lacks them."""

    endpoint: str
    region: str = REGION

    def client(self, service: str, account: str = "testing") -> Any:
        """A boto3 client; `account` is an access key id, 12 digits of which choose the account."""
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=self.region,
            aws_access_key_id=account,
            aws_secret_access_key="testing",
        )

    def reset(self) -> None:
        """Forget everything, as in a new account."""
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/moto-api/reset", method="POST")).close()


@pytest.fixture(scope="session")
def aws() -> Iterator[Aws]:
    """AWS for the whole session; tests keep apart by their own buckets and databases."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "sandbox.fakes.aws", "--port", str(port)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    endpoint = f"http://127.0.0.1:{port}"
    environment = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    before = {key: os.environ.get(key) for key in environment}
    try:
        wait_until_up(f"{endpoint}/moto-api/data.json", process)
        os.environ.update(environment)
        yield Aws(endpoint)
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="session")
def jars() -> list[Path]:
    """The JARs of the engine: Iceberg, its AWS bundle, the listener, S3A."""
    found = sorted(JARS.glob("*.jar"))
    assert found, f"no JARs in {JARS}: run `make setup`"
    return found


@pytest.fixture(scope="session")
def spark_conf(aws: Aws, jars: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Spark configuration folder, as a deployment has it, for runs in a process of their own."""
    folder = tmp_path_factory.mktemp("spark-conf")
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.jars": ",".join(map(str, jars)),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": aws.endpoint,
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }
    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    return folder


@pytest.fixture(scope="session")
def spark(aws: Aws, jars: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The one Spark session: Iceberg's GlueCatalog on the stand-in for AWS, as on Glue."""
    from pipeline_runtime.engine.session import build_session, session_settings

    aws.client("s3").create_bucket(Bucket="test-lake", CreateBucketConfiguration={"LocationConstraint": REGION})
    session = build_session(
        "tests",
        {
            **session_settings(warehouse="s3://test-lake/warehouse", endpoint=aws.endpoint),
            "spark.master": "local[2]",
            "spark.driver.memory": "2g",
            "spark.jars": ",".join(map(str, jars)),
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark-warehouse")),
            # s3:// paths work as on Glue.
            "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
            "spark.hadoop.fs.s3a.endpoint": aws.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": REGION,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
            "spark.hadoop.fs.s3a.access.key": "testing",
            "spark.hadoop.fs.s3a.secret.key": "testing",
        },
    )
    yield session
    session.stop()
