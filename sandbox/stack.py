"""The whole sandbox: a stand-in for AWS with a sample lake, and the lineage adapter in front of it.

    python -m sandbox.stack up [--rows N]      start what is not up, seed what is not there
    python -m sandbox.stack status             what runs where; ends with 1 where something is down
    python -m sandbox.stack drift [--scores | --bad-claims]
                                               the source's next release adds a column; or its amounts go wrong;
                                               or claims land that break the rules of claims
    python -m sandbox.stack undrift            as it was before
    python -m sandbox.stack down               stop everything, forget all data

Everything it keeps lies in `.sandbox/`: processes and logs, `env` (the variables of a run), `spark-conf/`,
`events/` (what the adapter received) and `evidence/`. The lake itself lives in the stand-in's memory. Both engines
share it: `up` from another engine's environment adds that engine's `env` and `spark-conf/`, in a folder of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.engine import engine_here, jars_folder, jars_list, settings_folder
from sandbox.errors import SandboxError
from sandbox.jars.fetch import fetch, is_complete
from sandbox.lake.places import ACCOUNT, CLAIMS_TABLE, POLICY, PRODUCTS, RAW, REGION, TABLE
from sandbox.lake.transactions import ROWS
from sandbox.lineage_access import INVOKER_ROLE, adapter_environment
from sandbox.processes import Server
from sandbox.spark_conf import spark_defaults, write_conf

__all__ = ["Stack", "main"]

ROOT = Path(__file__).resolve().parents[1]
ENGINE = engine_here()
JARS = jars_folder(ENGINE)
LISTING = jars_list(ENGINE)
DOMAIN_ID = "dzd_sandbox"

#: Registered in DataZone, so that lineage of these tables is shown with the asset.
ASSETS = tuple(f"arn:aws:glue:{REGION}:{ACCOUNT}:table/{product}" for product in PRODUCTS)


@dataclass(frozen=True)
class Lake:
    """What the sample lake holds: its source's rows, and how it differs from the one a sandbox comes with."""

    rows: int
    scores_drifted: bool
    schema_drifted: bool
    bad_claims: bool

    @property
    def note(self) -> str:
        drifted = self.scores_drifted or self.schema_drifted or self.bad_claims
        return " (drifted: `python -m sandbox.stack undrift` takes it back)" if drifted else ""


@dataclass(frozen=True)
class Stack:
    """One sandbox, in one folder."""

    folder: Path

    @property
    def aws(self) -> Server:
        return Server("aws", self.folder, "/moto-api/data.json")

    @property
    def adapter(self) -> Server:
        return Server("adapter", self.folder, "/health")

    @property
    def settings_folder(self) -> Path:
        """Where this engine's `env` and `spark-conf` lie."""
        return settings_folder(self.folder, ENGINE)

    # -- commands ------------------------------------------------------------------------------

    def up(self, rows: int = ROWS) -> None:
        """Starts and seeds what is missing; the source table gets `rows` transactions. Raises SandboxError."""
        lake = self._lake()
        seeded = lake is not None and lake.rows == rows and self._has_claims
        if lake is not None and seeded and self.aws.is_up() and self.adapter.is_up():
            self._ensure_jars()
            self._write_settings()  # of this engine: it may have been another that started the sandbox
            _say("sandbox", f"up: AWS on {self.aws.url}, adapter on {self.adapter.url}{lake.note}")
            return
        self._ensure_jars()
        self.folder.mkdir(parents=True, exist_ok=True)
        python = [sys.executable, "-m"]
        if not self.aws.is_up():
            self.adapter.stop()  # it would go on posting to where AWS was
        self.aws.start([*python, "sandbox.fakes.aws"], dict(os.environ), ROOT)
        _say("aws", f"S3, Glue, Lake Formation and DataZone stand in on {self.aws.url}")
        events = ["--events", str(self.folder / "events")]
        self.adapter.start([*python, "sandbox.adapter_front", *events], self._environment(), ROOT)
        _say("adapter", f"takes lineage on {self.adapter.url}/lineage")
        self._post("/fake/assets", {"arns": ASSETS})
        self._write_settings()
        lake = self._lake()
        if lake is None or lake.rows != rows:
            self._seed(rows)
        if not self._has_claims:
            self._seed_claims()

    def down(self) -> None:
        """Stops the servers and removes the folder, with what is deployed below it."""
        from sandbox.deploy.local import Deployment

        Deployment(ROOT, self.folder / "deployed").down()
        stopped = [server.name for server in (self.adapter, self.aws) if server.stop()]
        shutil.rmtree(self.folder, ignore_errors=True)
        _say("sandbox", f"down ({' and '.join(stopped)} stopped)" if stopped else "was not up")

    def status(self) -> int:
        """Prints what runs; 1 where something is missing, else 0."""
        servers = (self.aws, self.adapter)
        for server in servers:
            _say(server.name, f"up on {server.url} (pid {server.pid})" if server.is_up() else "down")
        lake = self._lake()
        _say("lake", "not seeded" if lake is None else f"{_described(lake.rows, lake.scores_drifted)}{lake.note}")
        claims = f"{POLICY}.{CLAIMS_TABLE} landed" if self._has_claims else "not seeded"
        _say("claims", claims)
        return 0 if lake is not None and self._has_claims and all(server.is_up() for server in servers) else 1

    def drift(self, *, scores: bool, bad_claims: bool = False) -> None:
        """The producer's next release; with `scores`, the same columns with amounts that are wrong.

        With `bad_claims` the card transactions stay, and DMS lands claims that break their rules.
        """
        lake = self._require_up()
        if bad_claims:
            from sandbox.lake.policy import land_bad_claims

            location = land_bad_claims(self._client("glue"), self._client("s3"))
            self._bad_claims.touch()
            _say("claims", f"landed in {location}: wrong signs, currencies and policies")
            return
        if scores:
            self._seed(lake.rows, drift_scores=True)
            return
        from sandbox.lake.catalog import PRODUCER
        from sandbox.lake.drift import DRIFT_COLUMN, DRIFT_RELEASE, publish_drift

        version = publish_drift(self._client("glue"), self._client("s3"))
        self._drifted.touch()
        _say("lake", f"{PRODUCER} {DRIFT_RELEASE} adds {DRIFT_COLUMN}: {RAW}.{TABLE} is at v{version}")

    def undrift(self) -> None:
        """The columns and the amounts that the sandbox came with."""
        lake = self._require_up()
        if lake.bad_claims:
            from sandbox.lake.policy import remove_bad_claims

            remove_bad_claims(self._client("s3"))
            self._bad_claims.unlink()
            _say("claims", "the bad ones are gone")
            if not (lake.scores_drifted or lake.schema_drifted):
                return
        if lake.scores_drifted:
            self._seed(lake.rows)
            return
        from sandbox.lake.drift import revert_drift

        version = revert_drift(self._client("glue"), self._client("s3"))
        self._drifted.unlink(missing_ok=True)
        _say("lake", f"the release is rolled back: {RAW}.{TABLE} is at v{version}, columns as in v7")

    # -- parts ---------------------------------------------------------------------------------

    def _ensure_jars(self) -> None:
        if not is_complete(JARS, LISTING):
            _say("jars", "fetching Spark's companions, about 160 MB, once")
            fetch(JARS, LISTING, ivy_home=JARS.parent.parent / "ivy")

    def _seed(self, rows: int, *, drift_scores: bool = False) -> None:
        _say("lake", f"seeding {_described(rows, drift_scores)} with Spark; takes half a minute")
        began = time.monotonic()
        command = [sys.executable, "-m", "sandbox.lake.seed", "--rows", str(rows), "--jars", str(JARS)]
        command += ["--drift-scores"] if drift_scores else []
        for known in (self._marker, self._drifted):
            known.unlink(missing_ok=True)
        answer = subprocess.run(command, cwd=ROOT, env=self._environment(), check=False)
        if answer.returncode != 0:
            raise SandboxError("the sample lake could not be seeded; the reason is above.")
        marker = {"pid": self.aws.pid, "rows": rows, "scores_drifted": drift_scores}
        self._marker.write_text(json.dumps(marker) + "\n", encoding="utf-8")
        _say("lake", f"{RAW}.{TABLE} is at v7, seeded in {time.monotonic() - began:.0f} s")

    def _seed_claims(self) -> None:
        """The policy domain's landing zone; no engine is needed."""
        from sandbox.lake.catalog import create_buckets, create_databases
        from sandbox.lake.policy import seed_claims

        began = time.monotonic()
        glue, s3 = self._client("glue"), self._client("s3")
        create_buckets(s3)
        create_databases(glue)
        if seed_claims(glue, s3):
            self._bad_claims.unlink(missing_ok=True)
            _say("claims", f"{POLICY}.{CLAIMS_TABLE} is at v3, landed in {time.monotonic() - began:.0f} s")
        self._claims.write_text(f"{self.aws.pid}\n", encoding="utf-8")

    @property
    def _has_claims(self) -> bool:
        """Whether the running stand-in has the claims; they are gone with the process."""
        try:
            return self._claims.read_text(encoding="utf-8").strip() == str(self.aws.pid)
        except OSError:
            return False

    def _lake(self) -> Lake | None:
        """What the running stand-in holds; None where it holds nothing, as after a restart."""
        try:
            marker = json.loads(self._marker.read_text(encoding="utf-8"))
            pid, rows, scores_drifted = marker["pid"], marker["rows"], marker["scores_drifted"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if pid != self.aws.pid:
            return None
        return Lake(rows, scores_drifted, self._drifted.exists(), self._bad_claims.exists())

    def _require_up(self) -> Lake:
        lake = self._lake()
        if lake is None or not self.aws.is_up():
            raise SandboxError("the sandbox is not up: run `python -m sandbox.stack up` first.")
        return lake

    @property
    def _marker(self) -> Path:
        return self.folder / "lake.json"

    @property
    def _drifted(self) -> Path:
        return self.folder / "drifted"

    @property
    def _claims(self) -> Path:
        return self.folder / "claims"

    @property
    def _bad_claims(self) -> Path:
        return self.folder / "bad-claims"

    def _settings(self) -> dict[str, str]:
        """The variables that lead a run to this sandbox, and nowhere else."""
        return {
            "AWS_ENDPOINT_URL": self.aws.url,
            "AWS_ACCESS_KEY_ID": ACCOUNT,
            "AWS_SECRET_ACCESS_KEY": "sandbox",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "DATAZONE_DOMAIN_ID": DOMAIN_ID,
        }

    def _environment(self) -> dict[str, str]:
        """This process's environment, cut off from any real account."""
        foreign = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN", "SPARK_CONF_DIR", "SPARK_HOME")
        return {key: value for key, value in os.environ.items() if key not in foreign} | self._settings()

    def _write_settings(self) -> None:
        conf = self.settings_folder / "spark-conf"
        settings = self._settings() | {
            "CORDATA_LINEAGE_URL": f"{self.adapter.url}/lineage",
            "CORDATA_LINEAGE_AUTH": "iam",
            "CORDATA_LINEAGE_ROLE_ARN": INVOKER_ROLE,
            "LINEAGE_DEAD_LETTER_QUEUE": adapter_environment(self._settings())["LINEAGE_DEAD_LETTER_QUEUE"],
            "CORDATA_EVIDENCE": str(self.folder / "evidence"),
            "SPARK_CONF_DIR": str(conf),
        }
        lines = "".join(f"{key}={value}\n" for key, value in settings.items())
        conf.mkdir(parents=True, exist_ok=True)
        (self.settings_folder / "env").write_text(lines, encoding="utf-8")
        defaults = spark_defaults(
            jars=JARS.glob("*.jar"),
            endpoint=self.aws.url,
            adapter=self.adapter.url,
            warehouse=self.folder / "spark-warehouse",
        )
        write_conf(conf, defaults, self.settings_folder / "spark.log")

    def _client(self, service: Any) -> Any:
        import boto3

        settings = self._settings()
        return boto3.Session(
            aws_access_key_id=settings["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=settings["AWS_SECRET_ACCESS_KEY"],
            region_name=REGION,
        ).client(service, endpoint_url=settings["AWS_ENDPOINT_URL"])

    def _post(self, path: str, body: Any) -> None:
        request = urllib.request.Request(
            f"{self.aws.url}{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=10).close()


def _described(rows: int, scores_drifted: bool) -> str:
    return f"{rows:,} card transactions{' with wrong amounts' if scores_drifted else ''}"


def _say(subject: str, message: str) -> None:
    print(f"{subject:<9} {message}", flush=True)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sandbox.stack", description="The sandbox on this machine.")
    parser.add_argument("--folder", type=Path, default=ROOT / ".sandbox", help="where it keeps its things")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start what is not up, seed what is not there")
    up.add_argument("--rows", type=int, default=ROWS, help=f"transactions in the sample lake [{ROWS}]")
    commands.add_parser("down", help="stop everything, forget all data")
    commands.add_parser("status", help="what runs where")
    drift = commands.add_parser("drift", help="the source's next release adds a column")
    instead = drift.add_mutually_exclusive_group()
    instead.add_argument(
        "--scores", action="store_true", help="instead, its amounts go wrong, and the scores with them"
    )
    instead.add_argument(
        "--bad-claims", action="store_true", help="instead, claims land that break the rules of claims"
    )
    commands.add_parser("undrift", help="as it was before")
    arguments = parser.parse_args(argv)

    stack = Stack(arguments.folder.absolute())
    try:
        match arguments.command:
            case "up":
                stack.up(arguments.rows)
            case "down":
                stack.down()
            case "status":
                return stack.status()
            case "drift":
                stack.drift(scores=arguments.scores, bad_claims=arguments.bad_claims)
            case "undrift":
                stack.undrift()
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("sandbox: interrupted; the same command goes on where this one stopped", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
