"""Which failures a retry can fix: those of capacity and of the network, never those of the data or its declaration.

A job run tells the scheduler its state and a message, no more: the scheduler's role cannot read evidence. A message
that names our exit code says that the executor itself has ended the run, for a reason that stays until someone acts.
"""

from __future__ import annotations

import re

__all__ = ["job_run_can_be_retried", "request_can_be_retried"]

#: Error codes of AWS requests that pass by themselves, by Glue's and the SDK's documentation.
_PASSING_ERRORS = frozenset(
    {
        "ConcurrentRunsExceededException",
        "InternalFailure",
        "InternalServiceException",
        "OperationTimeoutException",
        "RequestLimitExceeded",
        "ResourceNotReadyException",
        "ResourceNumberLimitExceededException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)

#: How Glue, and the runner of deployed jobs on one machine, say that the script called `sys.exit`.
_OUR_EXIT = re.compile(r"SystemExit: *-?\d+|exit code -?\d+", re.IGNORECASE)

#: What Glue says where it could not give the job what it needs.
_NO_CAPACITY = re.compile(
    r"resource unavailable|not have enough free addresses|insufficient capacity|rate exceeded|throttl"
    r"|maximum concurrent compute capacity|maximum allowed concurrent runs|concurrent runs exceeded"
    r"|internal service (error|exception)|service unavailable",
    re.IGNORECASE,
)


def request_can_be_retried(code: str, http_status: int = 0) -> bool:
    """Whether a refused AWS request may go through later."""
    return code in _PASSING_ERRORS or http_status >= 500


def job_run_can_be_retried(state: str, message: str | None) -> bool:
    """Whether a new run of the job may go through where this one did not.

    `state` is Glue's JobRunState. EXPIRED never got its workers. STOPPED was someone's decision; after TIMEOUT a new
    run would take as long; ERROR is a job that was deleted. FAILED may be retried only where Glue's message speaks of
    capacity and not of the script's own end.
    """
    if state == "EXPIRED":
        return True
    if state != "FAILED" or not message or _OUR_EXIT.search(message):
        return False
    return _NO_CAPACITY.search(message) is not None
