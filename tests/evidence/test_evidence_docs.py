"""docs/audit.md: its commands print what it shows, and it explains every finding."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline_runtime.evidence.verification.finding import FindingKind
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "audit.md").read_text("utf-8")
SHOWN = re.findall(r"```console\n([^\n]+)\n```\n\n```text\n(.+?)\n```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands are given, in their order; the sample is made anew by the first."""
    return tmp_path_factory.mktemp("auditor")


def stable(text: str) -> str:
    """The text without what differs each time: the key is new, so commits have other names."""
    text = re.sub(r"SHA256:[\w+/]{43}", "SHA256:<key>", text)
    return re.sub(r"\b[0-9a-f]{40}\b", "<commit>", text)


def test_the_commands_print_what_the_page_shows(folder: Path) -> None:
    assert len(SHOWN) == 7
    codes = []
    for command, shown in SHOWN:
        done = subprocess.run(
            [sys.executable, *command.split()[1:]],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        codes.append(done.returncode)
        assert stable(shown) in stable(done.stdout + done.stderr), command
    assert codes == [0, 0, 1, 0, 0, 0, 1]


def test_every_finding_is_explained() -> None:
    explained = re.findall(r"^\| `([^`]+)` \|", TEXT, re.MULTILINE)
    assert sorted(explained) == sorted(kind.value for kind in FindingKind)


def test_an_auditor_s_machine_needs_neither_an_engine_nor_aws() -> None:
    heavy = ("pyspark", "great_expectations", "openlineage", "boto3", "botocore", "sqlglot")
    script = (
        "import sys\n"
        "from pipeline_runtime.cli import quality, ropa, verify\n"
        f"print([name for name in {heavy!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
