"""The JDBC URL of a PostgreSQL database, taken apart so that no credential stays in it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from pydantic import SecretStr

__all__ = ["DEFAULT_PORT", "PostgresUrl", "parse_url", "to_url"]

DEFAULT_PORT: Final = 5432

_PREFIX = "jdbc:postgresql:"
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_SECRET = re.compile(r"pass|secret|token", re.IGNORECASE)
_EXPECTED = "jdbc:postgresql://<host>:<port>/<database>"


@dataclass(frozen=True)
class PostgresUrl:
    """What a URL says. `options` are the driver's parameters that are no secret, `hidden` those that are."""

    host: str
    port: int
    database: str | None
    options: tuple[tuple[str, str], ...] = ()
    user: str | None = None
    password: SecretStr | None = None
    hidden: tuple[tuple[str, SecretStr], ...] = ()


def parse_url(text: str) -> PostgresUrl:
    """The URL's parts. Raises ValueError in words that repeat nothing of the URL in which a password may stand."""
    text = text.strip()
    if not text.casefold().startswith(_PREFIX):
        scheme = re.match(r"(?:jdbc:)?[a-z0-9]+(?=:)", text, re.IGNORECASE)
        raise ValueError(
            f"its URL is {f'one of {scheme[0]}' if scheme else 'no JDBC URL'}; the jdbc reader reads PostgreSQL, "
            f"as {_EXPECTED}"
        )
    rest, _, query = text[len(_PREFIX) :].partition("?")
    if not rest.startswith("//"):
        raise ValueError(f"its URL names no host; it must be {_EXPECTED}")
    # The user part ends at the last @: a password may hold an unencoded one, or a slash.
    user_part, at, place = rest[2:].rpartition("@")
    authority, _, database = place.partition("/")
    user, _, password = user_part.partition(":") if at else ("", "", "")
    host, port = _authority(authority)
    parameters = parse_qsl(query, keep_blank_values=True)
    named = {key.casefold(): value for key, value in parameters}
    given_user = named.get("user") or unquote(user)
    given_password = named.get("password") or unquote(password)
    return PostgresUrl(
        host=host,
        port=port,
        database=unquote(database) or None,
        options=tuple(
            (key, value) for key, value in parameters if key.casefold() != "user" and not _SECRET.search(key)
        ),
        user=given_user or None,
        password=SecretStr(given_password) if given_password else None,
        hidden=tuple(
            (key, SecretStr(value)) for key, value in parameters if _SECRET.search(key) and key.casefold() != "password"
        ),
    )


def to_url(host: str, port: int, database: str, options: tuple[tuple[str, str], ...] = ()) -> str:
    """A URL without credentials, as the driver takes it."""
    query = f"?{urlencode(options)}" if options else ""
    return f"{_PREFIX}//{host}:{port}/{quote(database, safe='')}{query}"


def _authority(text: str) -> tuple[str, int]:
    if "," in text:
        raise ValueError(
            "its URL names several hosts; name one: the parts of a read share a snapshot, which one server has"
        )
    found = re.fullmatch(rf"({_HOST.pattern})(?::(\d{{1,5}}))?", text)
    if found is None:
        raise ValueError(f"its URL has no valid host and port; it must be {_EXPECTED}")
    port = int(found[2]) if found[2] else DEFAULT_PORT
    if not 1 <= port <= 65535:
        raise ValueError("its URL's port is not one of 1 to 65535")
    return found[1].lower(), port
