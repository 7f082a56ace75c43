"""Whether a suite's regular expression means the same to its author and to Java, which runs it.

Spark matches with `java.util.regex`. Authors know Python's dialect. What Java refuses, and what both read but
read differently, is a problem; what only Java knows (`\\p{Lu}`, `\\z`) is fine. This check needs no JVM; with
one, `pipeline_runtime.quality.runner.check_regexes` asks Java itself.
"""

from __future__ import annotations

import re
import warnings

__all__ = ["regex_problem"]

#: What Java knows and Python does not, with a stand-in that Python compiles in its place.
_JAVA_ONLY = [
    (re.compile(r"\\[pP](?:\{[^{}]*\}|[A-Z])"), r"\\w"),
    (re.compile(r"\\[hHVRXeG]|\\c[@-_a-z]"), r"\\s"),
    (re.compile(r"\\z"), r"\\Z"),
    (re.compile(r"\\k<([A-Za-z][A-Za-z0-9]*)>"), r"(?P=\1)"),
    (re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>"), r"(?P<\1>"),
    (re.compile(r"\(\?(?=[a-zA-Z-])[idmsuxU]*(?:-[idmsuxU]+)?\)"), ""),
    (re.compile(r"\(\?(?=[a-zA-Z-])[idmsuxU]*(?:-[idmsuxU]+)?:"), "(?:"),
]

_GROUPS = [
    ("(?P<", "Java names a group (?<name>…)"),
    ("(?P=", "Java refers back to a named group with \\k<name>"),
    ("(?(", "Java has no conditionals"),
    ("(?#", "Java has no comments of that form"),
]

_ESCAPES = {
    "Z": "\\Z is the very end to Python and before a final line break to Java; write \\z",
    "v": "\\v is one character to Python and a class of them to Java; write \\x0b",
    "U": "Java does not know \\U; write \\x{…}",
    "Q": "quoting with \\Q…\\E cannot be checked here; escape the characters themselves",
    "0": "octal escapes differ between Python and Java; write \\x…",
}

_QUANTIFIER = re.compile(r"\{\d+(?:,\d*)?\}")
_BRACED = re.compile(r"[pPxN]\{[^{}]*\}")
_OCTAL = re.compile(r"[0-3][0-7]{2}")


def regex_problem(regex: str) -> str | None:
    """Why the regex cannot be used; None where nothing is known against it."""
    return _difference(regex) or _python_problem(regex)


def _difference(regex: str) -> str | None:
    """The first thing in it that Java refuses or reads differently from Python."""
    position, in_class = 0, False
    while position < len(regex):
        rest = regex[position:]
        if rest.startswith("\\"):
            if problem := _escape_problem(rest[1:], in_class):
                return problem
            braced = _BRACED.match(rest, 1)
            position += braced.end() if braced else 2
            continue
        if in_class:
            if problem := _class_problem(rest):
                return problem
            in_class = not rest.startswith("]")
        elif rest.startswith("["):
            in_class = True
            # A bracket right after the opening one is an ordinary character to both.
            position += len(re.match(r"\[\^?\]?", rest).group()) - 1  # type: ignore[union-attr]
        elif rest.startswith("{"):
            quantifier = _QUANTIFIER.match(rest)
            if quantifier is None:
                return "Java takes every { for a repetition such as {2} or {2,5}; escape it as \\{"
            position += quantifier.end() - 1
        elif problem := next((why for start, why in _GROUPS if rest.startswith(start)), None):
            return problem
        position += 1
    return None


def _escape_problem(after: str, in_class: bool) -> str | None:
    if _OCTAL.match(after):
        return _ESCAPES["0"]
    if in_class and after.startswith("b"):
        return "\\b inside […] is a backspace to Python and an error to Java; write \\x08"
    return _ESCAPES.get(after[:1])


def _class_problem(rest: str) -> str | None:
    if rest.startswith("["):
        return "[ inside […] starts a class within the class to Java; escape it as \\["
    if rest.startswith("&&"):
        return "&& inside […] intersects classes to Java; escape it as \\&&"
    return None


def _python_problem(regex: str) -> str | None:
    for java, stand_in in _JAVA_ONLY:
        regex = java.sub(stand_in, regex)
    try:
        with warnings.catch_warnings():
            # Python warns of what a later version may read differently; Java reads it as this one does.
            warnings.simplefilter("ignore")
            re.compile(regex)
    except (re.error, OverflowError) as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    return None
