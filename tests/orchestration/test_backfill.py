"""A backfill: one run a period, resumed and never repeated, a few at a time, ended properly."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.lengthy

STUB = Path(__file__).parent / "executor_stub.py"
ROOT = Path(__file__).resolve().parents[2]
DAYS = [f"2026-08-0{day}T00:00:00Z" for day in range(1, 5)]


class Ground:
    """A descriptor, an evidence folder and a plan of what each period's run does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.evidence = folder / "evidence"
        self.plan = folder / "plan.json"
        self.descriptor = ROOT / "domains" / "finance" / "pipelines" / "merchant_settlement_daily.yml"
        self.set({})

    def set(self, plan: dict[str, Any]) -> None:
        self.plan.write_text(json.dumps(plan))

    def command(self, *options: str) -> list[str]:
        launch = f"{sys.executable} {STUB} {self.plan}"
        asked = ("--from", "2026-08-01", "--to", "2026-08-05", "--launch", launch, "--logs", str(self.folder / "logs"))
        return [sys.executable, "-m", "pipeline_runtime", "backfill", str(self.descriptor), *asked, *options]

    def environ(self) -> dict[str, str]:
        return {
            **os.environ,
            "CORDATA_EVIDENCE": str(self.evidence),
            "CORDATA_LINEAGE": "off",
            "PYTHONPATH": str(ROOT),
            "AWS_DEFAULT_REGION": "eu-central-1",
        }

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*options), env=self.environ(), capture_output=True, text=True, check=False, timeout=60
        )

    def start(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*options), env=self.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    @property
    def starts(self) -> list[tuple[str, str]]:
        """Nominal time and run id of each start, in order."""
        file = self.plan.with_suffix(".starts")
        lines = file.read_text().splitlines() if file.exists() else []
        return [(line.split()[0], line.split()[1]) for line in lines]

    def wait_for_starts(self, count: int) -> None:
        deadline = time.monotonic() + 20
        while len(self.starts) < count:
            assert time.monotonic() < deadline, f"{self.starts} after 20 s"
            time.sleep(0.05)

    def most_at_once(self) -> int:
        """How many runs were under way at the same time at most."""
        moments = [
            (float(line.split()[2]), change)
            for name, change in ((".starts", 1), (".ends", -1))
            for line in self.plan.with_suffix(name).read_text().splitlines()
        ]
        now = most = 0
        for _, change in sorted(moments):
            now += change
            most = max(most, now)
        return most

    def terminal(self, run_id: str) -> dict[str, Any] | None:
        file = self.evidence / "runs" / run_id / "terminal.json"
        return json.loads(file.read_bytes()) if file.exists() else None


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_every_period_gets_one_run_with_its_nominal_time(ground: Ground) -> None:
    done = ground.run()
    assert done.returncode == 0, done.stderr
    assert [nominal for nominal, _ in ground.starts] == DAYS
    assert len({run_id for _, run_id in ground.starts}) == 4
    assert "4 periods: 4 published" in done.stdout


def test_the_same_command_again_does_nothing(ground: Ground) -> None:
    ground.run()
    again = ground.run()
    assert again.returncode == 0
    assert len(ground.starts) == 4
    assert "4 periods: 4 published (4 of them before)" in again.stdout


def test_another_name_starts_anew(ground: Ground) -> None:
    ground.run()
    ground.run("--name", "after-the-fix")
    assert len({run_id for _, run_id in ground.starts}) == 8


def test_a_failed_period_does_not_stop_the_others_and_is_tried_again_under_another_id(ground: Ground) -> None:
    ground.set({DAYS[2]: "fail"})
    first = ground.run()
    assert first.returncode == 1
    assert len(ground.starts) == 4
    assert "3 published, 1 failed" in first.stdout
    assert "2026-08-03 failed" in first.stdout
    assert "SchemaDrift: payments is at v8" in first.stdout
    ground.set({})
    second = ground.run()
    assert second.returncode == 0, second.stderr
    (_, failed), (_, repeated) = [start for start in ground.starts if start[0] == DAYS[2]]
    assert len(ground.starts) == 5
    assert failed != repeated
    assert "attempt 2" in second.stderr


def test_quarantined_periods_have_an_exit_code_of_their_own(ground: Ground) -> None:
    ground.set({DAYS[1]: "quarantine"})
    done = ground.run()
    assert done.returncode == 3
    assert "3 published, 1 quarantined" in done.stdout
    assert "Quarantined: 3 rows" in done.stdout


def test_fail_fast_starts_nothing_after_a_failure(ground: Ground) -> None:
    ground.set({DAYS[2]: "fail"})
    done = ground.run("--fail-fast")
    assert done.returncode == 1
    assert [nominal for nominal, _ in ground.starts] == DAYS[:3]
    assert "2 published, 1 failed, 1 not started" in done.stdout


def test_a_refused_run_ends_the_backfill_since_the_next_would_be_refused_too(ground: Ground) -> None:
    ground.set({DAYS[0]: "refuse"})
    done = ground.run()
    assert done.returncode == 2
    assert len(ground.starts) == 1
    assert "CORDATA_LINEAGE_URL is not set" in done.stdout


@pytest.mark.parametrize("parallel", [1, 3])
def test_no_more_runs_at_a_time_than_asked_for(ground: Ground, parallel: int) -> None:
    ground.set({"seconds": 0.5})
    assert ground.run("--parallel", str(parallel)).returncode == 0
    assert ground.most_at_once() == parallel


def test_ctrl_c_lets_the_runs_say_how_they_ended_and_the_next_call_resumes(ground: Ground) -> None:
    ground.set({DAYS[1]: "hang", DAYS[2]: "hang"})
    process = ground.start("--parallel", "2")
    ground.wait_for_starts(3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "2 runs told to end" in err
    assert "1 published, 2 failed, 1 not started" in out
    stopped = [run_id for nominal, run_id in ground.starts if nominal in DAYS[1:3]]
    for run_id in stopped:
        terminal = ground.terminal(run_id)
        assert terminal is not None
        assert terminal["eventType"] == "FAIL"
    ground.set({})
    assert ground.run().returncode == 0
    assert [nominal for nominal, _ in ground.starts].count(DAYS[0]) == 1


def test_a_second_ctrl_c_kills_a_run_that_does_not_listen(ground: Ground) -> None:
    ground.set({DAYS[0]: "deaf"})
    process = ground.start()
    ground.wait_for_starts(1)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None, "a run that was told to end is waited for"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "1 failed, 3 not started" in out


def test_a_killed_run_gets_its_terminal_event(aws: Any, ground: Ground) -> None:
    ground.set({DAYS[0]: "die"})
    done = ground.run("--to", "2026-08-02")
    assert done.returncode == 1
    (_, run_id), *_ = ground.starts
    terminal = ground.terminal(run_id)
    assert terminal is not None
    assert terminal["eventType"] == "FAIL"
    assert "killed by SIGKILL" in terminal["run"]["facets"]["errorMessage"]["message"]


def test_a_run_that_outlived_a_killed_backfill_is_followed_and_not_started_again(ground: Ground) -> None:
    ground.set({"seconds": 3})
    process = ground.start("--to", "2026-08-02")
    ground.wait_for_starts(1)
    process.kill()
    process.communicate()
    done = ground.run("--to", "2026-08-02")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(ground.starts) == 1


def test_a_run_that_outlived_its_backfill_before_it_said_that_it_began_is_followed_too(ground: Ground) -> None:
    ground.set({"late": 4})
    process = ground.start("--to", "2026-08-02")
    spawned = ground.plan.with_suffix(".spawned")
    while not spawned.exists():
        time.sleep(0.02)
    process.kill()
    process.communicate()
    done = ground.run("--to", "2026-08-02")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(ground.starts) == 1


def test_a_run_that_died_with_its_backfill_is_closed_and_tried_again(aws: Any, ground: Ground) -> None:
    ground.set({DAYS[0]: "deaf"})
    process = ground.start("--to", "2026-08-02")
    ground.wait_for_starts(1)
    (_, run_id), *_ = ground.starts
    pid = int(next((ground.folder / "logs").rglob("*.pid")).read_text())
    process.kill()
    os.kill(pid, signal.SIGKILL)
    process.communicate()
    ground.set({})
    done = ground.run("--to", "2026-08-02")
    assert done.returncode == 0, done.stdout + done.stderr
    terminal = ground.terminal(run_id)
    assert terminal is not None
    assert terminal["eventType"] == "FAIL"
    assert len(ground.starts) == 2


def test_an_open_run_of_another_machine_is_left_alone_until_it_is_abandoned(aws: Any, ground: Ground) -> None:
    ground.set({DAYS[0]: "die"})
    # A run that was started, and not by a backfill of this machine: its log is not here.
    first = ground.start("--to", "2026-08-02", "--logs", str(ground.folder / "elsewhere"))
    ground.wait_for_starts(1)
    first.communicate(timeout=30)
    (_, run_id), *_ = ground.starts
    (ground.evidence / "runs" / run_id / "terminal.json").unlink()
    ground.set({})
    refused = ground.run("--to", "2026-08-02")
    assert refused.returncode == 1
    assert f"run {run_id} has begun and not ended" in refused.stdout
    assert len(ground.starts) == 1
    assert ground.run("--to", "2026-08-02", "--abandon").returncode == 0
    assert ground.terminal(run_id) is not None


def test_a_terminal_sees_a_bar_and_a_pipe_sees_lines(ground: Ground) -> None:
    piped = ground.run("--to", "2026-08-03")
    assert "2026-08-01 published" in piped.stderr
    assert "(1 of 2)" in piped.stderr
    shown = _on_a_terminal(ground.command("--to", "2026-08-03", "--name", "seen"), ground.environ())
    assert "100%|" in shown
    assert "2/2" in shown
    assert "2 periods: 2 published" in shown


def test_a_pipeline_that_does_not_read_its_period_is_warned_of(ground: Ground) -> None:
    assert "finance/merchant-settlement-daily reads :nominal_time or :nominal_date" in ground.run().stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--from", "yesterday"), "'yesterday' is neither a date nor an instant; write 2026-08-01"),
        (("--to", "2026-08-01"), "holds no period; --to is the first moment that is left out"),
        (("--every", "P1M"), "months and years have no fixed length"),
        (("--every", "P3D"), "cuts a period of P3D off; end at 2026-08-04 or 2026-08-07"),
        (("--every", "PT1S"), "makes 345,600 periods, and at most 10,000"),
        (("--every", "PT0S"), "is no time at all"),
        (("--name", "a/b"), "--name 'a/b': letters, digits"),
    ],
)
def test_what_cannot_be_planned_is_refused(ground: Ground, options: tuple[str, str], said: str) -> None:
    done = ground.run(*options)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert ground.starts == []


def test_hours_are_periods_too(ground: Ground) -> None:
    done = ground.run("--from", "2026-08-01T22:00:00+02:00", "--to", "2026-08-02", "--every", "PT1H")
    assert done.returncode == 0
    assert [nominal for nominal, _ in ground.starts] == [f"2026-08-01T2{hour}:00:00Z" for hour in range(4)]


def test_without_an_evidence_prefix_nothing_is_started(ground: Ground) -> None:
    environ = {key: value for key, value in ground.environ().items() if key != "CORDATA_EVIDENCE"}
    done = subprocess.run(ground.command(), env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "CORDATA_EVIDENCE is not set" in done.stderr
    assert ground.starts == []


def _on_a_terminal(command: list[str], environ: dict[str, str]) -> str:
    """What the command shows on a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = subprocess.Popen(command, env=environ, stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    process.wait(30)
    os.close(ours)
    return shown.decode("utf-8", "replace")
