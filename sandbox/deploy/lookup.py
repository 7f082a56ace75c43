"""Where the deployment on this machine is, and whose account has a job."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.errors import SandboxError

__all__ = ["FOLDER", "HEALTH", "account_of", "job_names", "remember", "settings_of"]

#: Answers 200 where the stand-in is up. moto's own page of its data fails once there are functions: it asks Docker.
HEALTH = "/fake/assets"
FOLDER = Path(__file__).resolve().parents[2] / ".sandbox" / "deployed"


def remember(folder: Path, settings: Mapping[str, str], accounts: Mapping[str, str]) -> None:
    """Keeps the variables that lead to the stand-in, and the domains' accounts."""
    (folder / "env").write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
    (folder / "accounts.json").write_text(json.dumps(dict(accounts)) + "\n", encoding="utf-8")


def settings_of(folder: Path) -> dict[str, str]:
    """The variables that lead to the stand-in that was deployed to. Raises SandboxError where there is none."""
    try:
        lines = (folder / "env").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise SandboxError("nothing is deployed here; run `make deploy-local` first.") from None
    settings = dict(line.split("=", 1) for line in lines)
    try:
        urllib.request.urlopen(f"{settings['AWS_ENDPOINT_URL']}{HEALTH}", timeout=10).close()
    except OSError:
        raise SandboxError(
            "the stand-in that was deployed to is not up, and what it held is gone; run `make deploy-local` again."
        ) from None
    return settings


def account_of(job: str, folder: Path) -> str:
    """The one account of the deployment's domains that has a job of this name. Raises SandboxError."""
    import boto3

    accounts = json.loads((folder / "accounts.json").read_text(encoding="utf-8"))
    jobs = {
        f"{account} ({domain})": job_names(boto3.Session(account, "sandbox").client("glue"))
        for domain, account in accounts.items()
    }
    having = [where for where, names in jobs.items() if job in names]
    if len(having) > 1:
        raise SandboxError(f"{len(having)} accounts have a job {job}: {', '.join(having)}. Set ACCOUNT.")
    if not having:
        there = "; ".join(f"{where}: {', '.join(names) or 'none'}" for where, names in jobs.items())
        raise SandboxError(f"no account has a job {job}. There are: {there}")
    return having[0].split()[0]


def job_names(glue: Any) -> list[str]:
    """The jobs that Glue has, sorted."""
    pages = glue.get_paginator("get_jobs").paginate()
    return sorted(job["Name"] for page in pages for job in page["Jobs"])
