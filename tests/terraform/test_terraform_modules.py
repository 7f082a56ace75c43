"""Each module is formatted, valid, described, and does what its own tests say (with the provider mocked)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sandbox.deploy.terraform import ROOT, Workspace

pytestmark = pytest.mark.terraform

MODULES = sorted(folder.name for folder in (ROOT / "terraform" / "modules").iterdir() if folder.is_dir())
FILES = ("main.tf", "iam.tf", "variables.tf", "outputs.tf", "versions.tf")
BLOCK = re.compile(r'^(variable|output) "(?P<name>[^"]+)" \{\n(?P<body>.*?)^\}', re.MULTILINE | re.DOTALL)


def test_everything_is_formatted(terraform_tree: Path, tmp_path: Path) -> None:
    Workspace(terraform_tree, tmp_path)("fmt", "-check", "-recursive", "-diff")


@pytest.mark.parametrize("module", MODULES, indirect=True)
def test_a_module_is_valid_and_passes_its_own_tests(module: Workspace) -> None:
    module("validate", "-no-color")
    ran = module("test", "-no-color").stdout
    assert re.search(r"Success! [1-9]\d* passed, 0 failed", ran), ran


@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_the_usual_files_and_describes_what_goes_in_and_out(name: str) -> None:
    folder = ROOT / "terraform" / "modules" / name
    assert [file for file in FILES if not (folder / file).is_file()] == []
    for file in ("variables.tf", "outputs.tf"):
        for block in BLOCK.finditer((folder / file).read_text()):
            assert re.search(r"^  description = ", block["body"], re.MULTILINE), f"{file}: {block['name']}"
            if block[1] == "variable":
                assert re.search(r"^  type +=", block["body"], re.MULTILINE), f"{file}: {block['name']}"


@pytest.mark.parametrize("name", MODULES)
def test_a_module_refuses_bad_input_in_its_own_tests(name: str) -> None:
    tests = "".join(file.read_text() for file in (ROOT / "terraform" / "modules" / name / "tests").glob("*.tftest.hcl"))
    assert "expect_failures" in tests
