"""What is deployed: a zip of the adapter's own modules, the same bytes for the same code, quick to start."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from adapter_samples import STREAM, as_bytes, http_api, run_event

from artefact.__main__ import main
from artefact.adapter import write_adapter_zip

ROOT = Path(__file__).resolve().parents[2]
HANDLERS = ("lineage_adapter.handler", "lineage_adapter.kinesis", "lineage_adapter.authorizer")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    return write_adapter_zip(ROOT, tmp_path_factory.mktemp("built"))


def test_it_holds_the_adapters_own_modules_and_nothing_else(built):
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()

    assert names == sorted(f"lineage_adapter/{file.name}" for file in (ROOT / "lineage_adapter").glob("*.py"))
    assert built.stat().st_size < 200_000


def test_the_same_code_is_the_same_bytes_wherever_and_whenever_it_is_built(built, tmp_path):
    shutil.copytree(ROOT / "lineage_adapter", tmp_path / "copy" / "lineage_adapter")
    for file in (tmp_path / "copy").glob("**/*"):
        os.utime(file, (0, 0))
        file.chmod(0o700)

    again = write_adapter_zip(tmp_path / "copy", tmp_path / "built")

    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(built.read_bytes()).digest()


def test_the_command_says_where_it_lies_and_refuses_another_folder(tmp_path, capsys):
    assert main(["adapter", "--into", str(tmp_path / "dist")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'dist' / 'lineage-adapter.zip'}\n"

    assert main(["adapter", "--root", str(tmp_path), "--into", str(tmp_path)]) == 1
    assert "holds no lineage_adapter" in capsys.readouterr().err


def test_every_handler_works_from_the_zip_alone(built, adapter_environment, datazone):
    """As Lambda does it: the zip and boto3 on the path, nothing of the project."""
    site = next(path for path in sys.path if path.endswith("site-packages"))
    program = (
        "import json, sys; sys.path.append(sys.argv[2]);"
        "from lineage_adapter import handler, kinesis, authorizer;"
        "given = json.loads(sys.argv[1]);"
        "print(json.dumps([handler.__file__, handler.handler(given[0], None)['statusCode'],"
        " kinesis.handler(given[1], None)]))"
    )
    record = {"sequenceNumber": "1", "data": "ew==", "approximateArrivalTimestamp": 1.0}
    given = [http_api(as_bytes(run_event()).decode()), {"Records": [{"eventSourceARN": STREAM, "kinesis": record}]}]
    done = subprocess.run(
        [sys.executable, "-S", "-c", program, json.dumps(given), site],
        env={**os.environ, "PYTHONPATH": str(built)},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )

    file, code, answer = json.loads(done.stdout.splitlines()[-1])
    assert file.startswith(str(built))
    assert (code, answer) == (200, {"batchItemFailures": []})


@pytest.mark.parametrize("module", HANDLERS)
def test_a_handler_brings_nothing_but_itself_and_what_lambda_has(built, module):
    """So that its cold start is boto3's; how long it takes beside that is `benchmarks.startup`'s to say."""
    program = (
        "import boto3, sys; before = set(sys.modules);"
        f"import {module}; print(*sorted({{name.split('.')[0] for name in set(sys.modules) - before}}))"
    )
    environ = {**os.environ, "PYTHONPATH": str(built)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, cwd="/", capture_output=True, text=True, check=True
    )
    brought = set(done.stdout.split()) - sys.stdlib_module_names
    assert brought == {"lineage_adapter"}
