"""Replications of the stand-in for DMS: what a task will show of itself."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

__all__ = ["play"]


def play(endpoint: str, task: str, *looks: Mapping[str, Any]) -> None:
    """What the next looks at the running task (its ARN) show; the last of them stays. See `sandbox.fakes.dms`."""
    _, _, _, region, account, *_ = task.split(":")
    headers = {
        "X-Amz-Target": "AmazonDMSv20160101.FakeReplication",
        "Content-Type": "application/x-amz-json-1.1",
        "Authorization": f"AWS4-HMAC-SHA256 Credential={account}/20260801/{region}/dms/aws4_request, Signature=none",
    }
    body = json.dumps({"ReplicationTaskArn": task, "Looks": looks}).encode()
    urllib.request.urlopen(urllib.request.Request(endpoint, body, headers, method="POST")).close()
