"""The benchmark of what is started often: it measures, and it judges."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.startup import __main__ as startup

pytestmark = pytest.mark.lengthy

ROOT = Path(__file__).resolve().parents[2]


def test_the_command_measures_validate_and_every_handler():
    command = [sys.executable, "-m", "benchmarks.startup", "--pairs", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr  # A busy machine's figures are no reason to fail here.
    names = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert names == ["validate domains", *(f"lineage_adapter.{name}" for name in ("handler", "kinesis", "authorizer"))]


def test_each_figure_is_a_ratio_to_a_reference_measured_beside_it(capsys, monkeypatch):
    quick = startup.FIGURES[1]
    monkeypatch.setattr(startup, "FIGURES", (startup.Figure(quick.name, quick.taken, quick.reference, bound=1000.0),))
    assert startup.main(["--pairs", "1"]) == 0
    line = capsys.readouterr().out
    assert re.fullmatch(
        r"lineage_adapter\.handler +\d+\.\d\d of 1000\.00 allowed \([\d. to]+\); \d+ ms of processor time\n", line
    )


@pytest.mark.parametrize(("bound", "code"), [(2.0, 0), (1.9, 1)])
def test_it_ends_with_1_where_a_median_is_above_its_bound(capsys, monkeypatch, bound, code):
    taken = iter((99.0, 9.0, 2.0, 1.0))  # The first is thrown away: it writes byte code.
    figure = startup.Figure("it", lambda: next(taken), lambda: 1.0, bound)
    monkeypatch.setattr(startup, "FIGURES", (figure,))
    assert startup.main(["--pairs", "3"]) == code
    assert "2.00 of" in capsys.readouterr().out
