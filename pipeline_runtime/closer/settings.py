"""The closer's settings: those of the jobs it watches over, and its own.

CORDATA_EVIDENCE, CORDATA_LINEAGE_…   as the jobs have them
CORDATA_OWNER_TOPIC                   the topic that owners are told by, of runs that could not tell of their end
CORDATA_CLOSER_ROLE_ARN               a role in the jobs' account, to ask Glue and reach the evidence with; without
                                      it, the process's own credentials do
CORDATA_CLOSER_JOBS                   the Glue jobs that the sweep asks for, separated by commas
CORDATA_CLOSER_LOOKBACK_HOURS         how far back the sweep looks, by when a job run started; 72
CORDATA_CLOSER_GRACE_SECONDS          how long after its end a job run's last words may be on their way; 45
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.lineage.settings import LineageSettings

__all__ = ["CloserSettings"]

#: Glue ends a job run after at most seven days; a domain with runs of more than a day sets a longer lookback.
_LOOKBACK_HOURS = 72.0
#: Less than the minute after which Lambda tries an asynchronous event again. The executor's last words take seconds.
_GRACE_SECONDS = 45.0


@dataclass(frozen=True)
class CloserSettings:
    """Where the evidence is and lineage goes, which jobs the sweep asks for, how patient it is, and as whom it asks.

    `owner` are the variables that say how owners are told.
    """

    lineage: LineageSettings
    jobs: tuple[str, ...]
    lookback: timedelta
    grace: timedelta
    role_arn: str | None = None
    owner: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> CloserSettings:
        """Reads the variables. Raises ConfigurationError for a missing or wrong one."""
        return cls(
            lineage=LineageSettings.from_environ(environ),
            jobs=tuple(name.strip() for name in environ.get("CORDATA_CLOSER_JOBS", "").split(",") if name.strip()),
            lookback=timedelta(hours=_number(environ, "CORDATA_CLOSER_LOOKBACK_HOURS", _LOOKBACK_HOURS)),
            grace=timedelta(seconds=_number(environ, "CORDATA_CLOSER_GRACE_SECONDS", _GRACE_SECONDS)),
            role_arn=environ.get("CORDATA_CLOSER_ROLE_ARN", "").strip() or None,
            owner={key: environ[key] for key in ("CORDATA_OWNER_TOPIC", "CORDATA_OWNER_FILE") if key in environ},
        )


def _number(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, "").strip()
    try:
        number = float(text) if text else default
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise ConfigurationError(f"{name} is {text!r}; write a number that is not negative, such as {default:g}")
    return number
