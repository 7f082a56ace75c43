"""The transcripts in docs/evidence are what the commands say today, and each names the commit it was made from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sandbox.transcripts import EVIDENCE, SCENES, record, without_commit

pytestmark = pytest.mark.lengthy

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def made_again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evidence")
    record(ROOT, "0" * 40, folder)
    return folder


@pytest.mark.parametrize("scene", [scene.name for scene in SCENES])
def test_a_transcript_is_what_its_commands_say_today(made_again, scene):
    kept = (EVIDENCE / f"{scene}.txt").read_text("utf-8")
    assert without_commit(kept) == without_commit((made_again / f"{scene}.txt").read_text("utf-8")), (
        "make them again with `python -m sandbox.transcripts`"
    )


def test_every_transcript_names_the_commit_it_was_made_from():
    for file in EVIDENCE.glob("*.txt"):
        assert re.search(r"(?m)^# commit [0-9a-f]{40}$", file.read_text("utf-8")), file


def test_there_is_no_transcript_that_nothing_makes():
    assert {file.stem for file in EVIDENCE.glob("*.txt")} == {scene.name for scene in SCENES}
