"""A unit of the live configuration as the root module that Terragrunt would make of its `terragrunt.hcl`.

Terragrunt itself is not to be had here. What our live files use of it is resolved, and anything else is an error:
`include` of root.hcl with its `remote_state` and `generate` blocks, `include` of further files whose `terraform`,
`dependency` and `inputs` a unit adds to or replaces one by one, `terraform.source`, `dependency` outputs, `inputs`,
`locals`, and the functions get_repo_root, get_terragrunt_dir (the unit's own folder, in an included file too),
find_in_parent_folders, read_terragrunt_config and path_relative_to_include (in root.hcl).
Terraform evaluates every expression, so a file that is wrong for it is wrong here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.deploy.terraform import Workspace

__all__ = ["Unit", "UnsupportedTerragrunt", "in_order", "literals", "units"]

_KNOWN = {"include", "locals", "terraform", "dependency", "inputs", "remote_state", "generate"}
_INCLUDED = {"locals", "terraform", "dependency", "inputs"}
_ROOT = "root.hcl"
_PARENT = re.compile(r'\$\{find_in_parent_folders\("(?P<file>[\w.-]+)"\)\}')
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
        """What the unit says, with what it includes besides root.hcl; raises UnsupportedTerragrunt."""
        own = _parsed(self.folder / "terragrunt.hcl")
        _refuse_unknown(own, self.name, _KNOWN)
        included = []
        for file in (self._included(each) for block in own.get("include", []) for each in block.values()):
            if file.name != _ROOT:
                included.append(_parsed(file))
                _refuse_unknown(included[-1], file.name, _INCLUDED)
        return _merged(self.name, [*included, own])

    def above(self, file: str) -> Path:
        """find_in_parent_folders: the nearest such file above the unit."""
        for folder in self.folder.parents:
            if (folder / file).is_file():
                return folder / file
        raise UnsupportedTerragrunt(f"{self.name}: no {file} in any folder above")

    def _included(self, block: Mapping[str, Any]) -> Path:
        match = _PARENT.fullmatch(block["path"])
        if match is None or set(block) - {"path", "__is_block__", "__comments__"}:
            raise UnsupportedTerragrunt(f"{self.name}: an include other than of find_in_parent_folders(…), by its path")
        return self.above(match["file"])

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
            values[_config(file)] = self.values(_parsed(self.unit.above(file))["locals"][0])
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
        root = _parsed(self.unit.above(_ROOT))
        _refuse_unknown(root, _ROOT, _KNOWN - _INCLUDED | {"locals"})
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
        text = text.replace("get_terragrunt_dir()", json.dumps(str(self.unit.folder)))
        if "${" in text and (unknown := _FUNCTIONS.search(text)):
            raise UnsupportedTerragrunt(f"{self.unit.name}: {unknown['name']} in {text}")
        return text


def units(repository: Path) -> list[Unit]:
    """Every unit of the live configuration, checked to use nothing that is not resolved."""
    found = [Unit(repository, path.parent) for path in sorted((repository / "terraform/live").rglob("terragrunt.hcl"))]
    for unit in found:
        _ = unit.document
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


def literals(path: Path) -> dict[str, Any]:
    """The locals of a file that has no expressions in them, such as env.hcl."""

    def literal(value: Any) -> Any:
        if isinstance(value, dict):
            return {_plain(key): literal(each) for key, each in value.items() if not key.startswith("__")}
        if isinstance(value, list):
            return [literal(each) for each in value]
        return _plain(value) if isinstance(value, str) else value

    found: dict[str, Any] = literal(_parsed(path)["locals"][0])
    return found


def _parsed(path: Path) -> dict[str, Any]:
    import hcl2

    with path.open(encoding="utf-8") as file:
        document: dict[str, Any] = hcl2.load(file)
    return document


def _refuse_unknown(document: Mapping[str, Any], name: str, known: Collection[str]) -> None:
    if unknown := {key for key in document if not key.startswith("__")} - set(known):
        raise UnsupportedTerragrunt(f"{name}: {', '.join(sorted(unknown))}")


def _merged(name: str, documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Terragrunt's shallow merge: of two that define one thing, the later counts; but locals are each file's own."""
    merged: dict[str, Any] = {"locals": [], "dependency": [], "inputs": {}}
    for document in documents:
        ours = {key for block in merged["locals"] for key in block if not key.startswith("__")}
        theirs = document.get("locals", [])
        if twice := ours & {key for block in theirs for key in block}:
            raise UnsupportedTerragrunt(f"{name}: local {', '.join(sorted(twice))} is also an included file's")
        merged |= {key: value for key, value in document.items() if key not in merged}
        merged |= {key: document[key] for key in ("terraform",) if key in document}
        merged["locals"] += theirs
        merged["dependency"] += document.get("dependency", [])
        merged["inputs"] |= document.get("inputs", {})
    return merged


def _plain(text: str) -> str:
    """A quoted string without its quotes; anything else as it is."""
    if len(text) >= 2 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return text


def _config(file: str) -> str:
    return "config_" + Path(file).stem


def _output_names(module: Path) -> list[str]:
    return re.findall(r'^output "(\w+)"', (module / "outputs.tf").read_text(encoding="utf-8"), re.MULTILINE)
