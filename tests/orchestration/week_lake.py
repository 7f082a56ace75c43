"""What Terraform and the producers have made for the twenty products: the lake, replications, jobs and mailboxes."""

from __future__ import annotations

import io
import json
import os
import urllib.request
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from estate import DAYS, OWNERS, PRODUCTS, SUNDAY, SYSTEMS, System

from sandbox.lineage_access import INVOKER_ROLE
from sandbox.spark_conf import LOCAL, write_conf
from tests.servers import Adapter

__all__ = [
    "ACCOUNT",
    "EVIDENCE",
    "REGION",
    "ROWS",
    "Cloud",
    "arn",
    "config_of",
    "deployment",
    "landed",
    "make_jobs",
    "make_lake",
    "make_mailboxes",
    "spark_conf",
]

REGION = "eu-central-1"
ACCOUNT = "111122223333"
EVIDENCE = "s3://week-evidence/evidence"
#: Rows that each table of a source system gets a day.
ROWS = 3
_COLUMNS = {"id": "bigint", "subject": "string", "amount": "decimal(10,2)", "day": "date"}


@dataclass(frozen=True)
class Cloud:
    """The stand-in for AWS, with DMS."""

    endpoint: str
    region: str = REGION

    def client(self, service: str) -> Any:
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=ACCOUNT,
            aws_secret_access_key="testing",
        )

    def fake(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.endpoint}/fake/{path}") as answer:
            return json.load(answer)


def arn(table: str) -> str:
    """A table as the graph names it, from `<database>.<table>`."""
    return f"arn:aws:glue:{REGION}:{ACCOUNT}:table/{table.replace('.', '/')}"


def spark_conf(cloud: Cloud, jars: list[Path], folder: Path) -> Path:
    settings = {
        **LOCAL,
        "spark.master": "local[1]",
        "spark.driver.memory": "2g",
        # For a few rows, compiling anything well costs more than it gains.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.shuffle.partitions": "1",
        # On the path, as on Glue's image, and not copied anew for every run.
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": cloud.endpoint,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    }
    write_conf(folder / "spark-conf", settings, folder / "spark.log")
    return folder / "spark-conf"


def make_lake(cloud: Cloud) -> dict[str, str]:
    """Buckets, databases, landing tables, replication tasks; the tasks' ARNs by the source system's database."""
    s3, glue, lf = cloud.client("s3"), cloud.client("glue"), cloud.client("lakeformation")
    lf.create_lf_tag(TagKey="sensitivity", TagValues=["low", "high"])
    landing = [f"{system.domain}-landing" for system in SYSTEMS]
    for bucket in ("week-evidence", "week-config", *landing, *(f"{domain}-curated" for domain in OWNERS)):
        s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
    for domain in OWNERS:
        location = f"s3://{domain}-curated/"
        glue.create_database(DatabaseInput={"Name": f"{domain}_curated", "LocationUri": location})
    for system in SYSTEMS:
        glue.create_database(DatabaseInput={"Name": system.landing})
        for table in system.tables:
            glue.create_table(DatabaseName=system.landing, TableInput=_landing_table(system, table))
    return {system.database: _task(cloud, system) for system in SYSTEMS}


def _landing_table(system: System, table: str) -> dict[str, Any]:
    return {
        "Name": table,
        "StorageDescriptor": {
            "Columns": [{"Name": name, "Type": type_} for name, type_ in _COLUMNS.items()],
            "Location": f"s3://{system.domain}-landing/raw/public/{table}/",
        },
        "Parameters": {"cordata.primary_keys": "id", "cordata.cdc_timestamp": "commit_ts"},
    }


def _task(cloud: Cloud, system: System) -> str:
    dms = cloud.client("dms")
    source = dms.create_endpoint(
        EndpointIdentifier=f"{system.database}-source",
        EndpointType="source",
        EngineName="postgres",
        ServerName=system.host,
        Port=5432,
        DatabaseName=system.database,
        Username="dms",
        Password="s3cret-word",
    )
    target = dms.create_endpoint(
        EndpointIdentifier=f"{system.database}-landing",
        EndpointType="target",
        EngineName="s3",
        S3Settings={"BucketName": f"{system.domain}-landing", "BucketFolder": "raw"},
    )
    made = dms.create_replication_task(
        ReplicationTaskIdentifier=f"{system.database}-replication",
        SourceEndpointArn=source["Endpoint"]["EndpointArn"],
        TargetEndpointArn=target["Endpoint"]["EndpointArn"],
        ReplicationInstanceArn=f"arn:aws:dms:{REGION}:{ACCOUNT}:rep:INSTANCE",
        MigrationType="full-load-and-cdc",
        TableMappings="{}",
    )
    return str(made["ReplicationTask"]["ReplicationTaskArn"])


def landed(system: System, table: str, batch: int) -> tuple[str, bytes]:
    """A day's file of one table: the full load on the first day, a file of changes on each day after it."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    day, ids = [SUNDAY, *DAYS][batch], range(batch * ROWS, batch * ROWS + ROWS)
    columns: dict[str, Any] = {} if batch == 0 else {"Op": ["I"] * ROWS}
    columns |= {
        "commit_ts": [f"{day} 12:00:0{n}" for n in range(ROWS)],
        "id": pa.array(ids, pa.int64()),
        "subject": [f"{table}-{n}" for n in range(ROWS)],
        "amount": pa.array([Decimal(10 * (n + 1)) for n in ids], pa.decimal128(10, 2)),
        "day": pa.array([date.fromisoformat(day)] * ROWS, pa.date32()),
    }
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    changes = f"{day.replace('-', '/')}/{day.replace('-', '')}-130000000.parquet"
    name = changes if batch else "LOAD00000001.parquet"
    return f"raw/public/{table}/{name}", out.getvalue()


def config_of(domain: str) -> str:
    return f"s3://week-config/{domain}"


def make_jobs(cloud: Cloud, adapter: Adapter, topic: str) -> None:
    """A job for every descriptor, and what each domain's deployment says of its jobs."""
    glue, s3 = cloud.client("glue"), cloud.client("s3")
    for made in PRODUCTS:
        glue.create_job(
            Name=made.name,
            Role=f"arn:aws:iam::{ACCOUNT}:role/{made.domain}-transforms",
            Command={"Name": "glueetl", "ScriptLocation": "s3://week-config/run_pipeline.py"},
            DefaultArguments={
                "--descriptor": made.path,
                "--config": config_of(made.domain),
                "--evidence": EVIDENCE,
                "--lineage-url": adapter.url,
                "--lineage-role-arn": INVOKER_ROLE,
                "--owner-topic": topic,
                "--log-format": "text",
            },
            GlueVersion="5.1",
            ExecutionProperty={"MaxConcurrentRuns": 1},
        )
    for domain in OWNERS:
        jobs = {
            made.name: {
                "descriptor": made.path,
                "source": made.source,
                "target": {
                    "database": f"{domain}_curated",
                    "table": made.name,
                    "location": f"s3://{domain}-curated/{made.name}/",
                },
            }
            for made in PRODUCTS
            if made.domain == domain
        }
        body = json.dumps({"domain": domain, "jobs": jobs})
        s3.put_object(Bucket="week-config", Key=f"{domain}/deployed.json", Body=body.encode())


def deployment() -> dict[str, Any]:
    """What the orchestrator's deployment says of the jobs."""
    domains = {
        domain: {
            "role_arn": f"arn:aws:iam::{ACCOUNT}:role/cordata-{domain}-scheduler",
            "jobs": {made.name: {"descriptor": made.path} for made in PRODUCTS if made.domain == domain},
        }
        for domain in OWNERS
    }
    return {"region": REGION, "domains": domains}


def make_mailboxes(cloud: Cloud) -> tuple[str, dict[str, str]]:
    """The owners' topic, a mailbox for each owner by their own address, and one that gets everything."""
    sns, sqs = cloud.client("sns"), cloud.client("sqs")
    topic = sns.create_topic(Name="owners")["TopicArn"]
    mailboxes = {}
    for name, owner in (*OWNERS.items(), ("everyone", None)):
        url = mailboxes[name] = sqs.create_queue(QueueName=f"mail-{name}")["QueueUrl"]
        queue = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = {} if owner is None else {"FilterPolicy": json.dumps({"owner": [owner]})}
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue, Attributes=policy)
    return topic, mailboxes
