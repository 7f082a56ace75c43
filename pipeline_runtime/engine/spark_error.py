"""What Spark has to say when it fails, without the plan and without the JVM's stack."""

from __future__ import annotations

import re

from pipeline_runtime.engine.spark_4 import SQLSTATE, STOPPED

__all__ = ["GONE", "failures", "is_gone", "short_message"]

GONE = "Spark's JVM is gone: it was stopped from outside (SIGTERM), ran out of memory, or crashed"

#: Characters; enough for Spark's longest suggestion list, too short for a plan.
_LIMIT = 600
_PLAN = re.compile(r";\n\s*[!']*\w.*", re.DOTALL)
_ECHO = re.compile(r"\n+== SQL[ (].*", re.DOTALL)
_STACK = re.compile(r"\n+(?:\s+at |JVM stacktrace:).*", re.DOTALL)
#: What a JVM that was told to end says of the work it drops: Spark to its jobs, a call that came too late, Java itself.
_ENDING = (
    "SparkContext was shut down",
    "Cannot call methods on a stopped SparkContext",
    "Shutdown in progress",
    STOPPED,
)
_PYTHON_STACK = "Traceback (most recent call last)"
#: In a Python worker's stack, the lines that are a domain's own.
_DOMAIN_LINE = re.compile(r'File "(?P<file>[^"]*/transforms/[^"]+\.py)", line (?P<line>\d+)')


def failures() -> tuple[type[Exception], ...]:
    """The classes of everything that a call into Spark raises by itself."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError)


def is_gone(error: BaseException) -> bool:
    """Whether a call into Spark never got an answer."""
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

    # PySpark 4 lets the refused connection through that 3.5 wraps.
    if isinstance(error, Py4JNetworkError | ConnectionError):
        return True
    # Py4J reports such a call as an error "while calling", without an exception of Java's.
    return isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)


def short_message(error: BaseException) -> str:
    """The message of an error that Spark raised: its own words with its suggestions, at most 600 characters.

    Of a chain of causes in the JVM the innermost one counts: the outer ones say `Job aborted`. Where the JVM was on its
    way out, that is said first: nothing is wrong with the job. Of a JVM that is gone nothing else is known.
    """
    if is_gone(error):
        return GONE
    text = _jvm_message(getattr(error, "java_exception", None)) or str(error)
    for noise in (_STACK, _PLAN, _ECHO, SQLSTATE):
        text = noise.sub("", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(line.startswith(_PYTHON_STACK) for line in lines):
        # A Python function's own error; above it are the worker's file names, the domain's among them.
        lines = [*_domain_places(lines), *lines[-1:]]
    if any(said in text for said in _ENDING):
        lines = ["Spark was shut down: it was stopped from outside (SIGTERM):", *lines]
    short = " ".join(lines)
    return short if len(short) <= _LIMIT else short[: _LIMIT - 1] + "…"


def _domain_places(lines: list[str]) -> list[str]:
    """`<file>:<line>:` of the innermost line that is a domain's own; nothing where there is none."""
    found = [match for line in lines if (match := _DOMAIN_LINE.search(line))]
    return [f"{found[-1]['file']}:{found[-1]['line']}:"] if found else []


def _jvm_message(cause: object) -> str | None:
    """`<class>: <message>` of the innermost cause of a Java exception."""
    if cause is None:
        return None
    java = cause
    while (inner := java.getCause()) is not None:  # type: ignore[attr-defined]
        java = inner
    name = java.getClass().getSimpleName()  # type: ignore[attr-defined]
    return f"{name}: {java.getMessage()}"  # type: ignore[attr-defined]
