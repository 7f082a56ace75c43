"""What the scheduler tries again: what a retry can fix, never the data or its declaration."""

from __future__ import annotations

import pytest

from pipeline_runtime.scheduling.retries import job_run_can_be_retried, request_can_be_retried


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("FAILED", "Resource unavailable"),
        ("FAILED", "The specified subnet does not have enough free addresses to satisfy the request."),
        ("FAILED", "Exceeded maximum concurrent compute capacity for your account: 100 DPU"),
        ("FAILED", "Job run failed because of an internal service error"),
        ("FAILED", "Throttling: Rate exceeded"),
        ("EXPIRED", None),
    ],
)
def test_a_lack_of_capacity_passes(state: str, message: str | None) -> None:
    assert job_run_can_be_retried(state, message)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("FAILED", "SystemExit: 3"),  # quarantined
        ("FAILED", "SystemExit: 1"),  # drift, a failed suite
        ("FAILED", "the script ended with exit code 3"),
        ("FAILED", "SystemExit: 1 after ThrottlingException: Rate exceeded"),
        ("FAILED", None),
        ("FAILED", "Error Category: OUT_OF_MEMORY_ERROR"),
        ("STOPPED", None),
        ("TIMEOUT", "Job run timed out"),
        ("ERROR", None),
    ],
)
def test_what_someone_has_to_act_on_does_not(state: str, message: str | None) -> None:
    assert not job_run_can_be_retried(state, message)


@pytest.mark.parametrize("code", ["ConcurrentRunsExceededException", "ThrottlingException", "InternalServiceException"])
def test_a_busy_service_is_asked_again(code: str) -> None:
    assert request_can_be_retried(code, 400)


@pytest.mark.parametrize("code", ["AccessDeniedException", "EntityNotFoundException", "InvalidInputException"])
def test_a_wrong_request_stays_wrong(code: str) -> None:
    assert not request_can_be_retried(code, 400)
