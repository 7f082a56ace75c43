"""A deployment of the twenty products on a stand-in for AWS, with a week of landed data, and its users' commands."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import estate
from estate import DAYS, PRODUCTS, SUNDAY, Made, System
from glue_front import glue_front
from glue_service import JobRunner
from week_lake import (
    ACCOUNT,
    EVIDENCE,
    REGION,
    ROWS,
    Cloud,
    config_of,
    deployment,
    landed,
    make_jobs,
    make_lake,
    make_mailboxes,
    spark_conf,
)

from pipeline_runtime.cli import main
from pipeline_runtime.closer import handler as closer
from sandbox.fakes.datazone_store import DOMAIN_ID
from sandbox.lineage_access import INVOKER_ROLE
from tests.replications import play
from tests.servers import Adapter, free_port, running_adapter, wait_until_up

__all__ = ["Week", "deployed_week"]

ROOT = Path(__file__).resolve().parents[2]
#: The first moment after the week.
END = str(date.fromisoformat(DAYS[-1]) + timedelta(days=1))


@dataclass(frozen=True)
class Done:
    """A command's exit code and what it said."""

    code: int
    said: str


@dataclass
class Week:
    """Everything that is deployed. `top` is the repository of the three domains."""

    cloud: Cloud
    top: Path
    adapter: Adapter
    runner: JobRunner
    tasks: dict[str, str]
    topic: str
    mailboxes: dict[str, str]

    def command(self, *arguments: str) -> Done:
        """`python -m pipeline_runtime …` in the repository, as its users call it, without a new interpreter."""
        said = io.StringIO()
        with contextlib.chdir(self.top), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = main(arguments)
        return Done(code, said.getvalue())

    def ingest(self, system: System, day: str) -> None:
        """A day's rows of a source system arrive in the landing zone, and the batch is told of."""
        batch = [SUNDAY, *DAYS].index(day)
        for table in system.tables:
            key, body = landed(system, table, batch)
            self.cloud.client("s3").put_object(Bucket=f"{system.domain}-landing", Key=key, Body=body)
        counted = [
            {
                "SchemaName": "public",
                "TableName": table,
                "TableState": "Table completed",
                "FullLoadRows": ROWS,
                "Inserts": ROWS * batch,
            }
            for table in system.tables
        ]
        play(
            self.cloud.endpoint,
            self.tasks[system.database],
            {"Status": "running", "Loaded": True, "Statistics": counted},
        )
        done = self.command(
            *("ingest", "--task", self.tasks[system.database], "--domain", system.domain),
            *("--database", system.landing, "--until-caught-up", "PT1S", "--pause", "0.1"),
        )
        assert done.code == 0, done.said
        assert f"{ROWS * len(system.tables)} rows of {len(system.tables)} tables" in done.said

    def pin(self, made: Made) -> str:
        """Pins the source as it is now; commits and syncs that."""
        done = self.command("pin", made.path)
        assert done.code == 0, done.said
        estate.commit(self.top, f"Pin {made.source} for {made.name}")
        synced = self.command("sync", f"domains/{made.domain}", config_of(made.domain))
        assert synced.code == 0, synced.said
        return done.said

    def backfill(self, *paths: str, start: str = DAYS[0], end: str = END) -> Done:
        """Of the descriptors at these paths, for the week where nothing else is said."""
        asked = ("--from", start, "--to", end, "--deployment", "deployment.json", "--pause", "0.3")
        done = self.command("backfill", *paths, *asked)
        assert self.runner.problems == []
        assert "Traceback" not in done.said, done.said
        return done

    def letters(self) -> dict[str, list[dict[str, Any]]]:
        """What lies in each owner's mailbox, and in `everyone`."""
        sqs = self.cloud.client("sqs")
        found: dict[str, list[dict[str, Any]]] = {}
        for name, url in self.mailboxes.items():
            found[name] = []
            while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
                found[name] += [json.loads(message["Body"]) for message in messages]
        return found

    def kept(self, kind: str) -> dict[str, dict[str, Any]]:
        """The events of that kind in the evidence, by run id."""
        s3 = self.cloud.client("s3")
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket="week-evidence", Prefix="evidence/runs/")
        keys = [item["Key"] for page in pages for item in page.get("Contents", ())]
        return {
            key.split("/")[2]: json.loads(s3.get_object(Bucket="week-evidence", Key=key)["Body"].read())
            for key in keys
            if key.split("/")[3:] == [f"{kind}.json"]
        }

    def accepted(self) -> list[dict[str, Any]]:
        """The events that DataZone took, in order."""
        return [json.loads(each["body"]) for each in self.cloud.fake("events")]

    def evidence_holds(self, prefix: str) -> bool:
        found = self.cloud.client("s3").list_objects_v2(Bucket="week-evidence", Prefix=f"evidence/{prefix}")
        return bool(found.get("KeyCount"))

    def upstream(self, identifier: str) -> set[str]:
        """All that a node of the graph comes from, by source identifier, walked through DataZone's own API."""
        self.cloud.fake("nodes")  # DataZone has had the time to process what it took
        datazone = self.cloud.client("datazone")
        seen: dict[str, str] = {}
        ahead = [identifier]
        while ahead:
            node = datazone.get_lineage_node(domainIdentifier=DOMAIN_ID, identifier=ahead.pop())
            if node["id"] not in seen:
                seen[node["id"]] = node["sourceIdentifier"]
                ahead += [each["id"] for each in node["upstreamNodes"]]
        return set(seen.values())


@contextmanager
def deployed_week(folder: Path, jars: list[Path]) -> Iterator[Week]:
    """The stand-in, the adapter, Glue's part, and all that Terraform and the producers have made."""
    with ExitStack() as stack:
        cloud = stack.enter_context(_cloud())
        (folder / "received").mkdir()
        adapter = stack.enter_context(running_adapter(folder / "received"))
        topic, mailboxes = make_mailboxes(cloud)
        stack.enter_context(_environment(_closer_settings(adapter, topic)))
        top = folder / "repository"
        estate.write_domains(top)
        (top / "deployment.json").write_text(json.dumps(deployment()))
        tasks = make_lake(cloud)
        make_jobs(cloud, adapter, topic)
        front = stack.enter_context(glue_front(cloud))
        environ = {key: value for key, value in os.environ.items() if not key.startswith("CORDATA_")}
        conf = spark_conf(cloud, jars, folder)
        environ |= {"PYTHONPATH": str(ROOT), "SPARK_CONF_DIR": str(conf), "GLUE_VERSION": "5.1"}
        (folder / "logs").mkdir()
        runner = JobRunner(front, cloud.client("glue"), ACCOUNT, environ, folder / "logs", _hears)
        stack.callback(runner.close)
        front.on_start = runner.started
        stack.enter_context(_environment({"AWS_ENDPOINT_URL_GLUE": front.url}))
        yield Week(cloud, top, adapter, runner, tasks, topic, mailboxes)


def _hears(event: dict[str, Any]) -> object:
    return closer.handler(event, None)


@contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in settings}
    os.environ.update(settings)
    closer._connected.cache_clear()
    try:
        yield
    finally:
        closer._connected.cache_clear()
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


@contextmanager
def _cloud() -> Iterator[Cloud]:
    port = free_port()
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-m", "sandbox.fakes.dms", "--port", str(port)], cwd=ROOT, **quiet)
    cloud = Cloud(f"http://127.0.0.1:{port}")
    settings = {
        "AWS_ENDPOINT_URL": cloud.endpoint,
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    try:
        wait_until_up(f"{cloud.endpoint}/moto-api/data.json", process)
        with _environment(settings):
            yield cloud
    finally:
        process.terminate()
        process.wait(10)


def _closer_settings(adapter: Adapter, topic: str) -> dict[str, str]:
    """Those of the deployed closer, and of whoever calls `ingest`."""
    return {
        "CORDATA_EVIDENCE": EVIDENCE,
        "CORDATA_LINEAGE_URL": adapter.url,
        "CORDATA_LINEAGE_ROLE_ARN": INVOKER_ROLE,
        "CORDATA_OWNER_TOPIC": topic,
        "CORDATA_CLOSER_JOBS": ",".join(made.name for made in PRODUCTS),
        # The driver is waited for: no last words are on their way.
        "CORDATA_CLOSER_GRACE_SECONDS": "0",
    }
