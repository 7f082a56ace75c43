"""A public scanner judges the modules by the rules that auditors ask for: nothing is open that is not explained."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sandbox.deploy.terraform import ROOT

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

CHECKOV = ROOT / ".cache" / "checkov" / "bin" / "checkov"
SKIP = re.compile(r"#\s*checkov:skip=(?P<check>[A-Z0-9_]+)(:(?P<reason>.*))?$")


@pytest.fixture(scope="session")
def checkov() -> Path:
    """The scanner's command; a clear line where it is not set up, which in CI is a failure."""
    if not CHECKOV.is_file():
        line = "checkov is not set up; `make checkov` does it"
        if os.environ.get("CI"):
            pytest.fail(line)
        pytest.skip(line)
    return CHECKOV


def judged(checkov: Path, folder: Path) -> dict[str, Any]:
    """What the scanner says of the Terraform files below a folder."""
    command = [checkov, "--directory", folder, "--framework", "terraform", "--skip-download", "--output", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def unexplained(folder: Path) -> list[str]:
    """Skips in the files themselves whose reason is missing or no sentence."""
    return [
        f"{file.relative_to(folder)}:{number}: {found['check']}"
        for file in sorted(folder.rglob("*.tf"))
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if (found := SKIP.search(line)) and len((found["reason"] or "").split()) < 5
    ]


def test_nothing_is_open_that_is_not_explained(checkov: Path, terraform_tree: Path) -> None:
    said = judged(checkov, terraform_tree)
    open_ones = [
        f"{each['check_id']} {each['resource']} ({each['check_name']})" for each in said["results"]["failed_checks"]
    ]
    assert open_ones == []
    assert said["summary"]["parsing_errors"] == 0
    assert said["summary"]["passed"] > 400
    assert unexplained(terraform_tree) == []


def test_what_is_open_is_found(checkov: Path, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(
        'resource "aws_sns_topic" "open" {\n  name = "open"\n}\n\n'
        'resource "aws_sqs_queue" "skipped" {\n  #checkov:skip=CKV_AWS_27:later\n  name = "skipped"\n}\n'
    )
    said = judged(checkov, tmp_path)
    assert [each["check_id"] for each in said["results"]["failed_checks"]] == ["CKV_AWS_26"]
    assert unexplained(tmp_path) == ["main.tf:6: CKV_AWS_27"]
