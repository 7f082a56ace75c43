"""A dbt project on a real PostgreSQL, run by dbt-ol as the documentation says."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.readers.postgres import Postgres

__all__ = ["DBT_OL", "DbtProject", "documented"]

ROOT = Path(__file__).resolve().parents[2]
DBT_OL = ROOT / ".cache" / "dbt" / "bin" / "dbt-ol"
SOURCES = Path(__file__).parent / "merchants"

#: What is paid by card, before dbt: the source that the project reads. The seed is there as a seed run leaves it.
CARD_PAYMENTS = """\
CREATE SCHEMA analytics;
CREATE TABLE analytics.terminals (terminal text, merchant text);
INSERT INTO analytics.terminals VALUES ('T1', 'Bäckerei Nord'), ('T2', 'Café Süd');
CREATE TABLE card_payments (id bigint, amount numeric(10,2), status text, day date, terminal text);
INSERT INTO card_payments SELECT g, 10 * g, 'settled', '2026-08-01', 'T1' FROM generate_series(1, 5) g;
"""


#: How many sessions of the database sleep.
ASLEEP = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"


def documented(heading: str) -> str:
    """The commands that docs/adapter.md prints under the heading."""
    text = (ROOT / "docs" / "adapter.md").read_text("utf-8")
    [section] = re.findall(rf"^### {re.escape(heading)}\n(.*?)(?=^##)", text, re.DOTALL | re.MULTILINE)
    [block] = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return str(block)


@dataclass(frozen=True)
class DbtProject:
    """A copy of the project of its own, and the database it works on."""

    folder: Path
    postgres: Postgres

    @classmethod
    def copied(cls, folder: Path, postgres: Postgres) -> DbtProject:
        shutil.copytree(SOURCES, folder)
        return cls(folder, postgres)

    @property
    def namespace(self) -> str:
        """The namespace of the database's tables."""
        return f"postgres://{self.postgres.host}:{self.postgres.port}"

    def run_documented(
        self, url: str, key: str, *changes: tuple[str, str], only: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Runs the documentation's commands, with this address and key; `changes` replace passages of theirs.

        Of its calls of dbt-ol, those that begin with `dbt-ol <only>`.
        """
        with self._started(url, key, changes, only) as process:
            out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def kill_documented(self, url: str, key: str, *changes: tuple[str, str]) -> None:
        """The same with `dbt-ol run`, which is killed (-9), and dbt with it, while the model is being made."""
        (self.folder / "models" / "payments.sql").write_text(
            "{{ config(tags=['curated']) }} select pg_sleep(120)::text as slept"
        )
        with self._started(url, key, changes, "run") as process:
            deadline = time.monotonic() + 120
            while self.postgres.sql(ASLEEP) == "0":
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline, "dbt does not come to the model"
                time.sleep(0.2)
            # Whoever tells while dbt runs has had the time to.
            time.sleep(2)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=30)
        self.postgres.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")

    def _started(self, url: str, key: str, changes: Iterable[tuple[str, str]], only: str) -> subprocess.Popen[str]:
        lines = documented("dbt").splitlines(keepends=True)
        script = "".join(line for line in lines if line.startswith(("export", f"dbt-ol {only}")))
        for old, new in (("https://<api>", url), ("<key>", key), *changes):
            assert old in script, f"the documentation does not say {old!r}"
            script = script.replace(old, new)
        kept = {
            key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "OPENLINEAGE", "PYTHON"))
        }
        return subprocess.Popen(
            ["sh", "-ec", script],
            cwd=self.folder,
            env={
                **kept,
                "PATH": f"{DBT_OL.parent}{os.pathsep}{kept['PATH']}",
                "LEDGER_HOST": self.postgres.host,
                "LEDGER_PORT": str(self.postgres.port),
                "LEDGER_USER": self.postgres.user,
                "LEDGER_PASSWORD": self.postgres.password,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
