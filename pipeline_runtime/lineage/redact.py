"""Takes secrets, and stack traces, out of text that leaves the process: events, logs, evidence."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["REDACTED", "error_text", "redact", "redact_json"]

REDACTED = "***"

#: Longest error text that an event carries, in characters; an engine's message may hold a whole query plan.
_LONGEST = 8_000

_NAMED = (
    r"(?:password|passwd|passphrase|pwd|secret|api[_.-]?key|access[_.-]?key|private[_.-]?key"
    r"|(?:session|security|access|auth|refresh|bearer|id)[_.-]?token|x-amz-(?:signature|credential))"
)
_HIDDEN_KEY = re.compile(rf"{_NAMED}|^token$", re.IGNORECASE)

# A URL's user part, which ends at the last @ before the host. A password may hold an unencoded slash, a port
# may not be taken for one.
_USER_PART = re.compile(r"""://(?:[^\s/?#"'@:]{1,256}:(?!\d+[/?#])[^\s?#"']{0,512}|[^\s/?#"']{0,512})@""")

# Each pattern keeps what its first group holds and loses the rest; whole headers come first. Repetitions are
# bounded: the listener's events hold texts of megabytes.
_PATTERNS = (
    re.compile(r"()-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"""(authorization\\*["']?\s*[:=]\s*\\*["']?)[^"'\\\r\n]+""", re.IGNORECASE),
    re.compile(r"\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE),
    re.compile(
        # The lookahead is the same condition once more; without it, megabytes take seconds.
        rf"""(?=[paswixrbt])({_NAMED}[\w.-]{{0,40}}\\*["']?\s*[:=]\s*|\btoken\s*=\s*|\btoken\\*["']\s*:\s*)(?!\*\*\*)"""
        r"""(?:\\+(?P<quote>["']).*?\\+(?P=quote)|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s"'&;]+)""",
        re.IGNORECASE,
    ),
    re.compile(r"()\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b"),
)

_STACK_FRAMES = re.compile(
    r"""^(?:\s+at\s\S+\(.*\)\s*(?:\n|\Z)"""  # the JVM's
    r"""|\s*\.\.\.\s\d+\smore\s*(?:\n|\Z)"""
    r"""|Traceback\s\(most\srecent\scall\slast\):\s*(?:\n|\Z)"""  # Python's, with its lines of source
    r"""|\s+File\s".*",\sline\s\d+.*(?:\n|\Z)(?:\s{4,}(?!File\s").*(?:\n|\Z))*)""",
    re.MULTILINE,
)


def redact(text: str) -> str:
    """The text with `***` for passwords, keys, tokens, Authorization headers and the user part of URLs."""
    text = _USER_PART.sub("://", text)
    for pattern in _PATTERNS:
        text = pattern.sub(lambda match: match.group(1) + REDACTED, text)
    return text


def redact_json(value: Any) -> Any:
    """JSON data with every text redacted, and with every text under a secret's name replaced whole."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [redact_json(item) for item in value]
    if isinstance(value, dict):
        return {key: _redacted_entry(str(key), item) for key, item in value.items()}
    return value


def _redacted_entry(key: str, value: Any) -> Any:
    if isinstance(value, str) and _HIDDEN_KEY.search(key):
        return REDACTED
    return redact_json(value)


def error_text(error: BaseException) -> str:
    """An error for people: its message without secrets and without stack frames, of bounded length."""
    from pipeline_runtime.errors import PipelineError

    message = str(error).strip()
    if not isinstance(error, PipelineError):
        message = f"{type(error).__name__}: {message}" if message else type(error).__name__
    text = redact(_STACK_FRAMES.sub("", message).strip()) or type(error).__name__
    # Text may come from file names and drivers; what UTF-8 cannot hold must not cost us the event.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text) - _LONGEST} more characters)"
