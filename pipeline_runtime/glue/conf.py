"""All Spark settings of a Glue job in its one `--conf` argument, and back.

Job arguments are a map, so `--conf` can be there once. Its value chains the settings,

    spark.a=1 --conf spark.b=2 --conf spark.c=3

without a `--conf` in front, without quotes, with single spaces, ordered by key. Glue splits it at the spaces, so a
value that holds one cannot be sent, and one that could end a setting early is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pipeline_runtime.errors import ConfigurationError

__all__ = ["LIST_SETTINGS", "merged", "parse_conf", "render_conf"]

_SEPARATOR = " --conf "
_KEY = re.compile(r"spark\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
#: Printable ASCII but space, quotes, backslash, backtick and dollar, which some shell on the way could read.
_VALUE = re.compile(r"[!#%&()*+,./0-9:;<=>?@A-Z\[\]^_a-z{|}~-]+")

#: Settings that are lists: the deployment's and the user's are joined, each entry once.
LIST_SETTINGS = frozenset({"spark.extraListeners", "spark.sql.extensions"})


def render_conf(settings: Mapping[str, str]) -> str:
    """The argument's value; empty for no settings. Raises ConfigurationError with every setting that is unsafe."""
    problems = [problem for key in sorted(settings) if (problem := _problem(key, settings[key]))]
    if problems:
        raise ConfigurationError("--conf: " + "; ".join(problems))
    return _SEPARATOR.join(f"{key}={settings[key]}" for key in sorted(settings))


def parse_conf(value: str) -> dict[str, str]:
    """The settings of an argument's value, as Glue hands them to Spark.

    Raises ConfigurationError where the value is not one that `render_conf` could have made.
    """
    if not value:
        return {}
    settings: dict[str, str] = {}
    for part in value.split(_SEPARATOR):
        key, equals, setting = part.partition("=")
        if not equals:
            raise ConfigurationError(f"--conf: {part!r} is no key=value; chain settings as k1=v1 --conf k2=v2")
        if problem := _problem(key, setting):
            raise ConfigurationError(f"--conf: {problem}")
        if key in settings:
            raise ConfigurationError(f"--conf: {key} is given twice; Spark would take the last one")
        settings[key] = setting
    return settings


def merged(ours: Mapping[str, str], theirs: Mapping[str, str], *, reserved: Iterable[str] = ()) -> dict[str, str]:
    """The deployment's settings and those that a user adds to them.

    Lists are joined, ours first. Of any other key the user's value counts. `reserved` are keys, or prefixes that end
    in a dot or an underscore, that the user cannot set. Raises ConfigurationError with all that were set.
    """
    kept = tuple(reserved)
    taken = sorted(key for key in theirs if key not in LIST_SETTINGS and _is_reserved(key, kept))
    if taken:
        raise ConfigurationError(f"--conf: {', '.join(taken)}: set by the executor; remove it from the extra settings")
    result = {**ours, **theirs}
    for key in LIST_SETTINGS & ours.keys() & theirs.keys():
        result[key] = ",".join(dict.fromkeys((*_entries(ours[key]), *_entries(theirs[key]))))
    return result


def _entries(value: str) -> list[str]:
    return [entry for entry in (part.strip() for part in value.split(",")) if entry]


def _is_reserved(key: str, reserved: tuple[str, ...]) -> bool:
    return any(key == name or (name.endswith((".", "_")) and key.startswith(name)) for name in reserved)


def _problem(key: str, value: object) -> str | None:
    if _KEY.fullmatch(key) is None:
        return f"{key!r} is no Spark setting; Spark ignores keys that do not begin with spark."
    if not isinstance(value, str):
        return f"{key} is {value!r}, which is no text; put it in quotes"
    if _VALUE.fullmatch(value) is None:
        odd = sorted(set(_VALUE.sub("", value)))
        what = f"holds {' '.join(map(ascii, odd))}" if odd else "is empty"
        return f"{key} {what}; a value is printable ASCII without spaces, quotes, backslash, backtick and $"
    return None
