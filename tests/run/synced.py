"""A lab's domain as its CI leaves it: committed, deployed, synced."""

from __future__ import annotations

import json
import subprocess

from lab import Lab

from pipeline_runtime.cli import main

DESCRIPTOR = "domains/fraud/pipelines/payments_scored.yml"


def sync(lab: Lab) -> str:
    """Commits the lab's domain to a repository of its own and syncs it; returns the config prefix."""
    top = lab.root.parents[1]
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "domains"], ["commit", "-q", "-m", "declared"]):
        subprocess.run([*git, *command], cwd=top, check=True)
    target = {"database": lab.curated, "table": "payments_scored", "location": f"s3://{lab.bucket}/payments_scored/"}
    job = {"descriptor": DESCRIPTOR, "source": f"{lab.raw}.payments", "target": target}
    deployed = json.dumps({"domain": "fraud", "jobs": {"payments_scored": job}})
    lab.client("s3").put_object(Bucket=lab.bucket, Key="config/deployed.json", Body=deployed)
    url = f"s3://{lab.bucket}/config"
    assert main(["sync", str(lab.root), url]) == 0
    return url
