"""Which process staged a batch, told so exactly that a later run knows whether it is gone.

<boot>/<namespace>/<pid>/<start>   a process of this machine: seen from the same machine and container
glue:<job name>/<job run id>       a Glue job run: Glue says of it whether it has ended
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

__all__ = ["JOB_RUN", "is_gone", "owner_of", "this_process"]

#: Setting of the run's environment: `<job name>/<job run id>`, which Glue passes to the script as arguments.
JOB_RUN = "CORDATA_GLUE_JOB_RUN"

_GLUE = "glue:"
#: Of Glue's JobRunState, those after which no process of the job run is left.
_ENDED = frozenset({"STOPPED", "SUCCEEDED", "FAILED", "TIMEOUT", "ERROR", "EXPIRED"})

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")
#: In /proc/<pid>/stat, counted behind the bracketed name: when the process started, in ticks since boot.
_STARTED = 19


def owner_of(environ: Mapping[str, str]) -> str | None:
    """The Glue job run that this process belongs to, else the process itself."""
    job_run = environ.get(JOB_RUN)
    return f"{_GLUE}{job_run}" if job_run else this_process()


def this_process() -> str | None:
    """`<boot>/<namespace>/<pid>/<start>`; None where the system has no such names (anything but Linux)."""
    return _named(os.getpid())


def is_gone(owner: str | None, glue: GlueClient) -> bool:
    """Whether that process or job run has certainly ended.

    False for a process of another machine, container or boot, and for a job run that Glue does not tell of:
    nothing is known of them here.
    """
    if owner is None:
        return False
    if owner.startswith(_GLUE):
        return _job_run_has_ended(owner.removeprefix(_GLUE), glue)
    here = this_process()
    if here is None or owner.split("/")[:2] != here.split("/")[:2]:
        return False
    return _named(int(owner.split("/")[2])) != owner


def _job_run_has_ended(job_run: str, glue: GlueClient) -> bool:
    from botocore.exceptions import BotoCoreError, ClientError

    job, _, run_id = job_run.rpartition("/")
    try:
        return glue.get_job_run(JobName=job, RunId=run_id)["JobRun"]["JobRunState"] in _ENDED
    except (BotoCoreError, ClientError):
        return False  # forgotten after 90 days, of another account, or not for this role to see


def _named(pid: int) -> str | None:
    try:
        boot = _BOOT.read_text("ascii").strip()
        namespace = str(_NAMESPACE.readlink()).removeprefix("pid:").strip("[]")
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    ended = status[0] in "ZX"  # a killed child whose parent has not asked for it yet
    return None if ended else f"{boot}/{namespace}/{pid}/{status[_STARTED]}"
