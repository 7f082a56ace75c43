"""Applies the live configuration to the stand-in: every unit, each after those that it depends on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.deploy.terraform import Change, Workspace
from sandbox.deploy.terragrunt import Unit, in_order, units

__all__ = ["Live"]

#: An account of nobody's, from which the deployer's roles are assumed.
_HOME = "999988887777"


@dataclass
class Live:
    """The live configuration of a repository on a stand-in; `work` holds root modules and plug-ins.

    `standin` are inputs that a deployment to AWS leaves out, by unit: where functions find the stand-in, say.
    """

    repository: Path
    endpoint: str
    work: Path
    standin: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    say: Callable[[str], None] = print
    outputs: dict[Path, dict[str, Any]] = field(default_factory=dict)

    def units(self) -> list[Unit]:
        return in_order(units(self.repository))

    def apply(self, chosen: Iterable[Unit] | None = None) -> None:
        """Applies the chosen units, all by default, in this order. Raises TerraformFailed."""
        for unit in self.units() if chosen is None else chosen:
            workspace = self._workspace(unit)
            began = time.monotonic()
            workspace.apply()
            self.say(f"apply     {unit.name}, {time.monotonic() - began:.0f} s")
            self.outputs[unit.folder] = workspace.outputs()

    def changes(self) -> dict[str, list[Change]]:
        """What applying again would change, by unit; those that would not change are left out."""
        planned = {unit.name: self._workspace(unit).changes() for unit in self.units()}
        return {name: changes for name, changes in planned.items() if changes}

    def destroy(self) -> None:
        for unit in reversed(self.units()):
            self.say(f"destroy   {unit.name}")
            self._workspace(unit).destroy()

    def output(self, unit: str, name: str) -> Any:
        return self.outputs[self.repository / "terraform" / "live" / unit][name]

    def _workspace(self, unit: Unit) -> Workspace:
        folder = self.work / unit.name.replace("/", "-")
        workspace = unit.write(folder / "root", self.outputs, folder / "data")
        workspace.use(self.endpoint, _HOME)
        self._point_at_standin(unit, workspace)
        backend = json.loads((workspace.folder / "backend.tf.json").read_text())["terraform"]["backend"]["s3"]
        self._state_bucket(backend["bucket"], backend["region"])
        if not (folder / "data" / "providers").exists():
            workspace.init(*self._backend())
        return workspace

    def _point_at_standin(self, unit: Unit, workspace: Workspace) -> None:
        given = self.standin.get(unit.module.name, {})
        override = {"module": {"this": given}} if given else {}
        (workspace.folder / "module_override.tf.json").write_text(json.dumps(override))

    def _backend(self) -> list[str]:
        """What S3's backend needs to keep the state on the stand-in."""
        settings = {
            "access_key": _HOME,
            "secret_key": "testing",
            "use_path_style": "true",
            "skip_credentials_validation": "true",
            "skip_metadata_api_check": "true",
            "skip_requesting_account_id": "true",
            "skip_region_validation": "true",
            "endpoints": f'{{s3="{self.endpoint}"}}',
        }
        return [f"-backend-config={key}={value}" for key, value in settings.items()]

    def _state_bucket(self, name: str, region: Any) -> None:
        import boto3

        s3 = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=region,
            aws_access_key_id=_HOME,
            aws_secret_access_key="testing",
        )
        if name not in {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}:
            s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": region})
