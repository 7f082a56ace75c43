"""Who makes the runs of a backfill: processes of this machine, or a deployed Glue job."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Protocol

from pipeline_runtime.backfill.attempts import Attempt
from pipeline_runtime.closer.job_runs import JobRun
from pipeline_runtime.scheduling.job_runs import GlueJob, NotNow

__all__ = ["RUN_HERE", "GlueStarter", "LocalStarter", "Running", "Starter"]

#: The entry that a person uses.
RUN_HERE = (sys.executable, "-m", "pipeline_runtime", "run")


class Running(Protocol):
    """A run that was started. `place` is where a person looks for what it says."""

    place: str

    def ended(self) -> str | None:
        """How its process or job run ended, in words; None while it has not."""

    def stop(self) -> None:
        """Asks it to end, so that it can still say how it ended."""

    def kill(self) -> None:
        """Ends it at once."""


class Starter(Protocol):
    """`pause` is the seconds between two looks at what is running."""

    pause: float

    def start(self, attempt: Attempt) -> Running:
        """Starts the run, or follows it where it is alive. Raises NotNow where it may be started later."""

    def found(self, attempt: Attempt) -> Running | None:
        """A run that an earlier backfill has left open and that can be followed; None where it is certainly gone.

        Raises LookupError where nobody here can tell.
        """

    def close(self, attempt: Attempt, ended: str) -> None:
        """Sees to the terminal event of a run that has ended without one."""


@dataclass
class _Process:
    """A run in a process of its own, in a session of its own: the terminal's Ctrl-C is not sent to it."""

    process: subprocess.Popen[bytes]
    place: str

    def ended(self) -> str | None:
        code = self.process.poll()
        if code is None:
            return None
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def stop(self) -> None:
        # Only the driver: its JVM, told as well, would be gone before the run has said how it ended.
        if self.process.poll() is None:
            self.process.terminate()

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)


@dataclass
class _Orphan:
    """A process that an earlier backfill started and left behind."""

    place: str

    def ended(self) -> str | None:
        return None if _is_held(Path(self.place)) else "its process is gone"

    def stop(self) -> None:
        if (pid := self._pid()) is not None:
            os.kill(pid, signal.SIGTERM)

    def kill(self) -> None:
        if (pid := self._pid()) is not None:
            os.killpg(pid, signal.SIGKILL)

    def _pid(self) -> int | None:
        """None where it is gone, or where its backfill was killed before it could write that down."""
        with contextlib.suppress(OSError, ValueError):
            pid = int(Path(self.place).with_suffix(".pid").read_text("ascii"))
            return pid if _is_held(Path(self.place)) else None
        return None


@dataclass
class LocalStarter:
    """Runs that `command` starts, with what each says in a file of its own below `logs`.

    `environ` is that of the runs, and tells the closer where evidence and adapter are. A run holds a lock on its file
    until the last of its processes is gone: so a later backfill knows whether one that was left open is alive.
    """

    descriptor: Path
    environ: Mapping[str, str]
    logs: Path
    command: Sequence[str] = RUN_HERE
    pause: float = 0.2

    def start(self, attempt: Attempt) -> Running:
        log = self._log(attempt)
        if _is_held(log):
            # Started before, and killed backfills leave their runs alive: this one has not even said that it began.
            return _Orphan(str(log))
        log.parent.mkdir(parents=True, exist_ok=True)
        arguments = ("--run-id", attempt.run_id, "--nominal-time", attempt.period.nominal_time)
        with log.open("wb") as out:
            _hold(out)
            process = subprocess.Popen(  # noqa: S603 - our own command line, no shell
                [*self.command, str(self.descriptor), *arguments],
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        log.with_suffix(".pid").write_text(f"{process.pid}\n", "ascii")
        return _Process(process, str(log))

    def found(self, attempt: Attempt) -> Running | None:
        log = self._log(attempt)
        if not log.exists():
            raise LookupError(f"it was not started from here: there is no {log}")
        return _Orphan(str(log)) if _is_held(log) else None

    def close(self, attempt: Attempt, ended: str) -> None:
        from pipeline_runtime.closer.handler import closer_of
        from pipeline_runtime.closer.settings import CloserSettings

        closer = closer_of(CloserSettings.from_environ({**self.environ, "CORDATA_CLOSER_GRACE_SECONDS": "0"}))
        arguments = {"--run-id": attempt.run_id}
        closer.close(JobRun("backfill", attempt.run_id, "FAILED", datetime.now(UTC), ended, arguments))

    def _log(self, attempt: Attempt) -> Path:
        name = attempt.period.nominal_time.replace(":", "-")
        return self.logs / f"{name}.{attempt.number}.log"


@dataclass
class _JobRun:
    """A job run of a deployed job. `place` is Glue's id of it."""

    job: GlueJob
    place: str

    def ended(self) -> str | None:
        try:
            run = self.job.run(self.place)
        except NotNow:
            return None  # Glue does not answer this time; the next look will tell.
        if not run.has_ended:
            return None
        return run.state if run.message is None else f"{run.state}: {run.message}"

    def stop(self) -> None:
        self.job.stop(self.place)

    def kill(self) -> None:
        self.stop()


@dataclass
class GlueStarter:
    """Runs of a deployed Glue job; `pause` in seconds."""

    job: GlueJob
    pause: float = 15.0

    def start(self, attempt: Attempt) -> Running:
        arguments = {"--run-id": attempt.run_id, "--nominal-time": attempt.period.nominal_time}
        try:
            id_ = self.job.start(arguments)
        except NotNow:
            # The answer to an earlier request may have been lost: then it is our own run that is in the way.
            running = self.job.under_way([attempt.run_id])
            if running is None:
                raise
            id_ = running.id
        return _JobRun(self.job, id_)

    def found(self, attempt: Attempt) -> Running | None:
        running = self.job.under_way([attempt.run_id])
        return None if running is None else _JobRun(self.job, running.id)

    def close(self, attempt: Attempt, ended: str) -> None:
        """Nothing: the deployed closer hears of the job run from Glue."""


def _hold(file: IO[bytes]) -> None:
    """Locks the file for whoever inherits it as well."""
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_held(path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
