"""The live configuration, deployed to a stand-in for AWS on this machine, from accounts with a lake to runnable jobs.

    python -m sandbox.deploy.local up [--allow-dirty] [--rows N]    deploy; again: what changed
    python -m sandbox.deploy.local down                             stop everything, forget all of it

The stand-in is one of its own, beside the sandbox's: there one account holds all domains, here each domain has its own
and Terraform makes what a deployment makes. The lineage adapter runs as Terraform configured its function: with those
variables, in that role. Everything lies in `.sandbox/deployed/`.
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
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from artefact.adapter import write_adapter_zip
from artefact.build import build_release
from artefact.errors import ArtefactError
from artefact.executor import build_of
from artefact.publish import publish
from pipeline_runtime.errors import PipelineError
from pipeline_runtime.glue.artefact import zip_name
from pipeline_runtime.glue.engines import DEFAULT, ENGINES
from pipeline_runtime.sync.collect import collect
from sandbox.deploy.environment import Environment
from sandbox.deploy.lake import asset_arns, govern, seed_policy, seed_transactions
from sandbox.deploy.live import Live
from sandbox.deploy.lookup import FOLDER, HEALTH, remember
from sandbox.deploy.terraform import TerraformFailed, provider_mirror
from sandbox.deploy.terragrunt import Unit, UnsupportedTerragrunt
from sandbox.errors import SandboxError
from sandbox.jars.fetch import fetch, is_complete
from sandbox.lake.transactions import ROWS
from sandbox.processes import Server

__all__ = ["Deployment", "main"]

ROOT = Path(__file__).resolve().parents[2]

#: Units that the domains' jobs cannot do without; an artefact is published, and the adapter runs, once they are there.
_SHARED = ("prod/platform", "prod/governance")


@dataclass(frozen=True)
class Deployment:
    """A repository, deployed; `folder` keeps the stand-in's processes, Terraform's folders and the settings of runs."""

    repository: Path
    folder: Path

    @property
    def aws(self) -> Server:
        return Server("aws", self.folder, HEALTH)

    @property
    def adapter(self) -> Server:
        return Server("adapter", self.folder, "/health")

    @property
    def environment(self) -> Environment:
        return Environment.of(self.repository)

    def up(self, *, rows: int = ROWS, allow_dirty: bool = False) -> None:
        """Deploys everything; what is there already stays. Raises SandboxError, ArtefactError, TerraformFailed."""
        self._require(allow_dirty=allow_dirty)
        self._start_aws()
        self._lay_out_accounts(rows)
        self._build()
        live = self._live()
        live.apply(self._units(live, shared=True))
        self._publish(live, allow_dirty=allow_dirty)
        self._start_adapter()
        live = replace(live, standin={**live.standin, "transform_jobs": {"lineage_url": f"{self.adapter.url}/lineage"}})
        live.apply(self._units(live, shared=False))
        for domain in self.environment.domains:
            self._sync(domain, allow_dirty=allow_dirty)
        accounts = {name: domain.account for name, domain in self.environment.domains.items()}
        remember(self.folder, self._settings(None), accounts)
        for name in (job for domain in self.environment.domains.values() for job in domain.job_names):
            _say("next", f"make glue-run JOB={name}")

    def down(self) -> bool:
        """Stops the servers and removes the folder; False where nothing ran."""
        stopped = [server.stop() for server in (self.adapter, self.aws)]
        shutil.rmtree(self.folder, ignore_errors=True)
        return any(stopped)

    # -- parts ---------------------------------------------------------------------------------

    def _require(self, *, allow_dirty: bool) -> None:
        """What would stop a deployment half-way stops it here."""
        if shutil.which("terraform") is None:
            raise SandboxError("terraform is not on the PATH; version 1.10 or newer is needed.")
        build, wanted = build_of(self.repository), self.environment.executor_version
        if build.version != wanted:
            raise SandboxError(f"env.hcl has the jobs run executor {wanted}, and this checkout is {build.version}.")
        remedy = "commit first, or `make deploy-local ALLOW_DIRTY=1`, and every run says so"
        if (build.commit is None or build.dirty) and not allow_dirty:
            raise SandboxError(f"the executor is not one commit's; {remedy}.")
        for domain in self.environment.domains:
            try:
                collect(self.repository / "domains" / domain, allow_dirty=allow_dirty)
            except PipelineError as error:
                raise SandboxError(f"domain {domain} cannot be synced: {error}") from error

    def _start_aws(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.aws.is_up():
            # The state of what Terraform made, and whom the adapter posts to, are gone with the stand-in.
            self.adapter.stop()
            shutil.rmtree(self._terraform, ignore_errors=True)
        self.aws.start([sys.executable, "-m", "sandbox.fakes.aws"], dict(os.environ), self.repository)
        _say("aws", f"stands in on {self.aws.url}")

    def _lay_out_accounts(self, rows: int) -> None:
        engine = ENGINES[DEFAULT]
        jars = self.repository / ".cache" / "jars" / f"glue-{engine.glue}"
        listing = self.repository / "sandbox" / "jars" / f"ivy-glue-{engine.glue}.xml"
        if not is_complete(jars, listing):
            _say("jars", "fetching Spark's companions, about 160 MB, once")
            fetch(jars, listing, ivy_home=self.repository / ".cache" / "ivy")
        for domain, its in self.environment.domains.items():
            glue, s3 = self._client("glue", its.account), self._client("s3", its.account)
            govern(domain, glue, s3, self._client("lakeformation", its.account))
            match domain:
                case "fraud":
                    done = seed_transactions(glue, self._settings(its.account), jars, rows, self.repository)
                case "policy":
                    done = seed_policy(glue, s3)
                case _:
                    done = "an empty database"
            _say("lake", f"{domain} in {its.account}: {done}")
        accounts = {name: each.account for name, each in self.environment.domains.items()}
        self._post("/fake/domains", {"ids": [self.environment.datazone_domain_id]})
        self._post("/fake/assets", {"arns": asset_arns(self.environment.region, accounts)})

    def _build(self) -> None:
        began = time.monotonic()
        cache, engine = self.repository / ".cache", ENGINES[DEFAULT]
        build = build_release(self.repository, self._artefact, cache, [engine]).build
        write_adapter_zip(self.repository, self.folder)
        at = f"commit {str(build.commit)[:12]}{' and changes' if build.dirty else ''}"
        _say("artefact", f"{build.version} of {at}, built for Glue {engine.glue} in {time.monotonic() - began:.0f} s")

    def _live(self) -> Live:
        if provider_mirror() is None:
            # One download for all units; our folders keep no lock files that Terraform could miss a hash in.
            cache = self.repository / ".cache" / "terraform"
            cache.mkdir(parents=True, exist_ok=True)
            os.environ.setdefault("TF_PLUGIN_CACHE_DIR", str(cache))
            os.environ.setdefault("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE", "1")
        executor = {
            "executor_zip": str(self._artefact / zip_name(self.environment.executor_version)),
            "endpoint_url": self.aws.url,
        }
        adapter = {"adapter_zip": str(self.folder / "lineage-adapter.zip"), **executor}
        standin = {"lineage_adapter": adapter, "freshness": executor}
        return Live(self.repository, self.aws.url, self._terraform, standin, say=_line)

    @staticmethod
    def _units(live: Live, *, shared: bool) -> list[Unit]:
        return [unit for unit in live.units() if unit.name.startswith(_SHARED) == shared]

    def _publish(self, live: Live, *, allow_dirty: bool) -> None:
        location = live.output("prod/platform/executor_artefact", "location")
        s3 = self._client("s3", self.environment.accounts["platform"])
        bucket = location.removesuffix("/pipeline-runtime")
        try:
            where = publish(self._artefact, bucket, s3, allow_dirty=allow_dirty)
        except ArtefactError as error:
            raise SandboxError(f"{error}; or `make down`, and deploy to an empty stand-in") from error
        _say("publish", f"{where.prefix}/")

    def _start_adapter(self) -> None:
        account = self.environment.accounts["governance"]
        functions = self._client("lambda", account)
        http = functions.get_function_configuration(FunctionName="cordata-lineage-http")
        authorizer = functions.get_function_configuration(FunctionName="cordata-lineage-authorizer")
        variables = {**authorizer["Environment"]["Variables"], **http["Environment"]["Variables"]}
        remembered = self.folder / "adapter-variables.json"
        told = json.dumps(variables, sort_keys=True)
        if not remembered.exists() or remembered.read_text(encoding="utf-8") != told:
            self.adapter.stop()
        assumed = self._client("sts", account).assume_role(RoleArn=http["Role"], RoleSessionName="lambda")[
            "Credentials"
        ]
        role = {
            "AWS_ACCESS_KEY_ID": assumed["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": assumed["SecretAccessKey"],
            "AWS_SESSION_TOKEN": assumed["SessionToken"],
        }
        command = [sys.executable, "-m", "sandbox.adapter_front", "--events", str(self.folder / "events")]
        self.adapter.start(command, {**_cut_off(), **self._settings(account), **role, **variables}, self.repository)
        remembered.write_text(told, encoding="utf-8")
        _say("adapter", f"takes lineage on {self.adapter.url}/lineage, in role {http['Role'].rpartition('/')[2]}")

    def _sync(self, domain: str, *, allow_dirty: bool) -> None:
        """As the domain's CI does on merge, in the domain's account."""
        its = self.environment.domains[domain]
        command = [sys.executable, "-m", "pipeline_runtime", "sync", f"domains/{domain}", its.config]
        done = subprocess.run(
            [*command, *(["--allow-dirty"] if allow_dirty else [])],
            cwd=self.repository,
            env={**_cut_off(), **self._settings(its.account)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SandboxError(f"domain {domain} was not synced: {done.stderr.strip()}")
        _say("sync", done.stdout.strip().removeprefix("synced "))

    @property
    def _artefact(self) -> Path:
        return self.folder / "artefact"

    @property
    def _terraform(self) -> Path:
        return self.folder / "terraform"

    def _settings(self, account: str | None) -> dict[str, str]:
        """The variables that lead a process to this stand-in, as somebody of that account, or of none yet."""
        return {
            "AWS_ENDPOINT_URL": self.aws.url,
            **({"AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": "sandbox"} if account else {}),
            "AWS_REGION": self.environment.region,
            "AWS_DEFAULT_REGION": self.environment.region,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def _client(self, service: Any, account: str) -> Any:
        import boto3

        return boto3.Session(account, "sandbox", region_name=self.environment.region).client(
            service, endpoint_url=self.aws.url
        )

    def _post(self, path: str, body: Mapping[str, Any]) -> None:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.aws.url}{path}", json.dumps(body).encode(), headers)
        urllib.request.urlopen(request, timeout=10).close()


def _cut_off() -> dict[str, str]:
    """This process's environment without what would lead to a real account, or to another sandbox."""
    foreign = ("AWS_", "CORDATA_", "DATAZONE_", "LINEAGE_", "SPARK_")
    return {key: value for key, value in os.environ.items() if not key.startswith(foreign)}


def _say(subject: str, message: str) -> None:
    _line(f"{subject:<9} {message}")


def _line(text: str) -> None:
    print(text, flush=True)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.deploy.local", description="The live configuration on a stand-in for AWS."
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where it keeps its things [.sandbox/deployed]")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="deploy everything, or what changed")
    up.add_argument("--rows", type=int, default=ROWS, help=f"card transactions in fraud's account [{ROWS}]")
    up.add_argument("--allow-dirty", action="store_true", help="also what is no commit's")
    commands.add_parser("down", help="stop everything, forget all of it")
    arguments = parser.parse_args(argv)
    deployment = Deployment(ROOT, arguments.folder.absolute())
    try:
        if arguments.command == "up":
            deployment.up(rows=arguments.rows, allow_dirty=arguments.allow_dirty)
        else:
            _say("deployed", "down" if deployment.down() else "was not up")
    except (SandboxError, ArtefactError, TerraformFailed, UnsupportedTerragrunt) as error:
        print(f"deploy: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("deploy: interrupted; the same command goes on where this one stopped", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
