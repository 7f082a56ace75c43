"""A unit of the live configuration as the root module that Terragrunt would make of its `terragrunt.hcl`.

Terragrunt itself is not to be had here. What our live files use of it is resolved, and anything else is an error:
`include` of root.hcl with its `remote_state` and `generate` blocks, `terraform.source`, `dependency` outputs, `inputs`,
`locals`, and the functions get_repo_root, find_in_parent_folders, read_terragrunt_config and path_relative_to_include.
Terraform evaluates every expression, so a file that is wrong for it is wrong here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.deploy.terraform import Workspace

__all__ = ["Unit", "UnsupportedTerragrunt", "in_order", "units"]

_KNOWN = {"include", "locals", "terraform", "dependency", "inputs", "remote_state", "generate"}
_READ = re.compile(r'read_terragrunt_config\(find_in_parent_folders\("(?P<file>[\w.-]+)"\)\)\.locals')
_FUNCTIONS = re.compile(
    r"\b(?P<name>get_\w+|find_in_parent_folders|read_terragrunt_config|path_relative_\w+|run_cmd)\("
)


class UnsupportedTerragrunt(ValueError):
    """A live file uses something of Terragrunt's that is not resolved here."""


@dataclass(frozen=True)
class Unit:
    """One folder with a terragrunt.hcl. `name` is its path below the live folder, such as prod/domains/fraud."""

    repository: Path
    folder: Path

    @property
    def live(self) -> Path:
        return self.repository / "terraform" / "live"

    @property
    def name(self) -> str:
        return self.folder.relative_to(self.live).as_posix()

    @property
    def document(self) -> dict[str, Any]:
        return _parsed(self.folder / "terragrunt.hcl")

    @property
    def dependencies(self) -> dict[str, Path]:
        """The folders whose outputs this unit reads, by the name it knows them by."""
        found = {}
        for block in self.document.get("dependency", []):
            for name, body in block.items():
                found[_plain(name)] = (self.folder / _plain(body["config_path"])).resolve()
        return found

    @property
    def module(self) -> Path:
        """The module's folder; raises UnsupportedTerragrunt for a source outside the repository."""
        source = _plain(self.document["terraform"][0]["source"])
        prefix = "${get_repo_root()}/"
        if not source.startswith(prefix):
            raise UnsupportedTerragrunt(f"{self.name}: source {source} is not below the repository's root")
        return self.repository / source.removeprefix(prefix).replace("//", "/")

    def write(self, into: Path, outputs: Mapping[Path, Mapping[str, Any]], data: Path) -> Workspace:
        """Writes the root module: `outputs` are those of the units it depends on, by their folders."""
        into.mkdir(parents=True, exist_ok=True)
        document = self.document
        resolved = _Resolved(self)
        locals_ = resolved.locals(document.get("locals", []))
        for name, folder in self.dependencies.items():
            locals_[f"dependency_{name}"] = {"outputs": outputs[folder]}
        module = {"source": str(self.module), **resolved.values(document.get("inputs", {}))}
        written = {
            "locals": locals_,
            "module": {"this": module},
            "output": {name: {"value": f"${{module.this.{name}}}"} for name in _output_names(self.module)},
        }
        (into / "main.tf.json").write_text(json.dumps(written, indent=1))
        shared = resolved.shared(data)
        (into / "provider.tf").write_text(shared["provider"])
        (into / "backend.tf.json").write_text(json.dumps({"terraform": {"backend": {"s3": shared["backend"]}}}))
        return Workspace(into, data)


@dataclass(frozen=True)
class _Resolved:
    """Terragrunt's functions, answered for one unit."""

    unit: Unit

    def locals(self, blocks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for block in blocks:
            values |= self.values({key: value for key, value in block.items() if not key.startswith("__")})
        read = set(_READ.findall(json.dumps(list(blocks)).replace('\\"', '"')))
        for file in read:
            values[_config(file)] = self.values(_parsed(self._parent(file))["locals"][0])
        return values

    def values(self, value: Any) -> Any:
        """The same structure, as Terraform's JSON syntax writes it."""
        if isinstance(value, dict):
            return {_plain(key): self.values(each) for key, each in value.items() if not key.startswith("__")}
        if isinstance(value, list):
            return [self.values(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def shared(self, data: Path) -> dict[str, Any]:
        """root.hcl's backend configuration and provider file, as they come out for this unit."""
        root = _parsed(self._parent("root.hcl"))
        _refuse_unknown(root, "root.hcl")
        [state] = root["remote_state"]
        [generated] = [block['"provider"'] for block in root["generate"]]
        folder = data / "root"
        folder.mkdir(parents=True, exist_ok=True)
        asked = {"backend": self.values(state["config"]), **self.locals(root["locals"])}
        (folder / "main.tf.json").write_text(json.dumps({"locals": asked}))
        (folder / "contents.tf").write_text(f"locals {{\n  contents = {_plain(generated['contents'])}\n}}\n")
        console = Workspace(folder, data / "console")
        shown = console("console", given="jsonencode({ backend = local.backend, provider = local.contents })\n").stdout
        answer: dict[str, Any] = json.loads(json.loads(shown))
        return answer

    def _text(self, text: str) -> str:
        text = _plain(text)
        text = _READ.sub(lambda found: f"local.{_config(found['file'])}", text)
        text = re.sub(r"\bdependency\.(\w+)\.outputs\b", r"local.dependency_\1.outputs", text)
        text = text.replace("path_relative_to_include()", json.dumps(self.unit.name))
        text = text.replace("${get_repo_root()}", str(self.unit.repository))
        text = text.replace("get_repo_root()", json.dumps(str(self.unit.repository)))
        if "${" in text and (unknown := _FUNCTIONS.search(text)):
            raise UnsupportedTerragrunt(f"{self.unit.name}: {unknown['name']} in {text}")
        return text

    def _parent(self, file: str) -> Path:
        """find_in_parent_folders: the nearest such file above the unit."""
        for folder in self.unit.folder.parents:
            if (folder / file).is_file():
                return folder / file
        raise UnsupportedTerragrunt(f"{self.unit.name}: no {file} in any folder above")


def units(repository: Path) -> list[Unit]:
    """Every unit of the live configuration, checked to use nothing that is not resolved."""
    found = [Unit(repository, path.parent) for path in sorted((repository / "terraform/live").rglob("terragrunt.hcl"))]
    for unit in found:
        _refuse_unknown(unit.document, unit.name)
    return found


def in_order(found: Iterable[Unit]) -> list[Unit]:
    """Each unit after those whose outputs it reads."""
    ordered: dict[Path, Unit] = {}
    left = list(found)
    while left:
        ready = [unit for unit in left if set(unit.dependencies.values()) <= ordered.keys()]
        if not ready:
            raise UnsupportedTerragrunt(f"these wait for one another: {', '.join(unit.name for unit in left)}")
        ordered |= {unit.folder: unit for unit in ready}
        left = [unit for unit in left if unit.folder not in ordered]
    return list(ordered.values())


def _parsed(path: Path) -> dict[str, Any]:
    import hcl2

    with path.open(encoding="utf-8") as file:
        document: dict[str, Any] = hcl2.load(file)
    return document


def _refuse_unknown(document: Mapping[str, Any], name: str) -> None:
    if unknown := {key for key in document if not key.startswith("__")} - _KNOWN:
        raise UnsupportedTerragrunt(f"{name}: {', '.join(sorted(unknown))}")


def _plain(text: str) -> str:
    """A quoted string without its quotes; anything else as it is."""
    if len(text) >= 2 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return text


def _config(file: str) -> str:
    return "config_" + Path(file).stem


def _output_names(module: Path) -> list[str]:
    return re.findall(r'^output "(\w+)"', (module / "outputs.tf").read_text(encoding="utf-8"), re.MULTILINE)
