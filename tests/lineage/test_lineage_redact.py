"""Secrets, and stack traces, that must not leave the process."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline_runtime.errors import EngineFailed, StepFailed
from pipeline_runtime.lineage.redact import error_text, redact, redact_json

SECRET = "s3cr3t+/="  # the passwords of these tests


@pytest.mark.parametrize(
    "text",
    [
        f"jdbc:postgresql://app:{SECRET}@h:5432/d?password={SECRET}&sslmode=require",
        f"postgres://app:p@{SECRET}@h/d",
        f"options {{user=app, password={SECRET}}}",
        f"Password : '{SECRET} with spaces'",
        f'{{"password": "{SECRET}\\"quoted"}}',
        f'{{\\"dbPassword\\":\\"{SECRET} and more\\"}}',
        f"aws_secret_access_key = {SECRET}",
        f"spark.hadoop.fs.s3a.secret.key={SECRET}",
        f"spark.hadoop.fs.s3a.session.token: {SECRET}",
        f"?X-Amz-Signature={SECRET}&x=1",
        f"Authorization: Bearer {SECRET}, more\nHost: h",
        f"{{'authorization': 'Basic {SECRET}', 'host': 'h'}}",
        f"sent Bearer abcdefghijklmnopqrst{SECRET}",
        f"jdbc:sqlserver://h;user=app;pwd={SECRET};encrypt=true",
        f"token={SECRET}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_reported_ol_10_no_secret_survives(text: str) -> None:
    assert SECRET not in redact(text)
    assert redact(redact(text)) == redact(text)


def test_reported_ol_10_what_is_not_secret_of_an_address_stays() -> None:
    text = "cannot reach jdbc:postgresql://app:s3cret@h:5432/d?password=s3cret&sslmode=require (schema raw)"
    assert redact(text) == "cannot reach jdbc:postgresql://h:5432/d?password=***&sslmode=require (schema raw)"


@pytest.mark.parametrize(
    "text",
    [
        "fraud_raw.transactions is at v8, descriptor pins v7. Diff: + merchant_category_code (string, nullable)",
        'FATAL: password authentication failed for user "app"',
        "extraneous token: 'SELECT'",
        "expect_column_values_to_be_unique(password): expected 0, actual 3",
        "commit 4af3958a4af3958a4af3958a4af3958a4af3958a differs",
        "s3://bucket/path/key.parquet, owner@example.org",
        "basic authentication is not supported",
    ],
)
def test_ordinary_messages_stay_as_they_are(text: str) -> None:
    assert redact(text) == text


def test_an_access_key_id_is_hidden() -> None:
    assert redact("The AWS Access Key Id AKIAIOSFODNN7EXAMPLE does not exist") == (
        "The AWS Access Key Id *** does not exist"
    )


def test_json_data_keeps_its_shape_and_loses_its_secrets() -> None:
    data = {
        "url": f"jdbc:x://a:{SECRET}@h/d",
        "conf": [{"fs.s3a.secret.key": SECRET, "n": 1}],
        "password": {"type": "str"},
    }
    assert redact_json(data) == {
        "url": "jdbc:x://h/d",
        "conf": [{"fs.s3a.secret.key": "***", "n": 1}],
        "password": {"type": "str"},
    }


@settings(deadline=None)
@given(st.text(alphabet="ab.:/@=\"'\\{} \npwdtoken", max_size=60))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


def test_a_text_of_megabytes_is_redacted_in_moments() -> None:
    text = json.dumps({"plan": "Project.column_name-" * 200_000, "password": SECRET})
    started = time.perf_counter()
    assert SECRET not in redact(text)
    assert time.perf_counter() - started < 15


JVM = (
    "An error occurred while calling o61.load.\n: java.sql.SQLException: no pg_hba entry\n"
    "\tat org.postgresql.Driver.connect(Driver.java:1)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
    "Caused by: java.io.IOException: reset\n\t... 12 more\n"
)
PYTHON = (
    "Job aborted: Traceback follows\nTraceback (most recent call last):\n"
    '  File "/home/app/step.py", line 4, in score\n    return secret_algorithm(x)\n           ^^^^^^^^^\n'
    "ZeroDivisionError: division by zero"
)


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        (JVM, ["java.sql.SQLException: no pg_hba entry", "Caused by: java.io.IOException: reset"]),
        (PYTHON, ["Job aborted: Traceback follows", "ZeroDivisionError: division by zero"]),
    ],
)
def test_stack_frames_are_left_out_and_messages_kept(message: str, kept: list[str]) -> None:
    text = error_text(EngineFailed(message))
    assert all(line in text for line in kept)
    for frame in ("\tat ", "more", "File ", "/home/app", "secret_algorithm", "^^^"):
        assert frame not in text


def test_an_error_of_another_kind_is_named() -> None:
    assert error_text(StepFailed("step score: no column x")) == "step score: no column x"
    assert error_text(KeyError("x")) == "KeyError: 'x'"
    assert error_text(KeyboardInterrupt()) == "KeyboardInterrupt"
    assert error_text(EngineFailed("")) == "EngineFailed"


def test_an_error_is_bounded_and_always_valid_text() -> None:
    text = error_text(EngineFailed("x" * 10_000 + "\udcff"))
    assert len(text) < 8_100
    assert text.endswith("more characters)")
    assert error_text(EngineFailed("file \udcff")).encode() == b"file ?"


def test_json_values_that_are_no_text_are_untouched() -> None:
    value: Any = {"a": [1, 2.5, None, True]}
    assert redact_json(value) == value
