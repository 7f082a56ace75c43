"""The deployment's settings as a command has them: the process environment, its own options on top."""

from __future__ import annotations

import argparse
import os

__all__ = ["environ_of"]

_SETTINGS = {
    "lineage_url": "CORDATA_LINEAGE_URL",
    "lineage": "CORDATA_LINEAGE",
    "lineage_children": "CORDATA_LINEAGE_CHILDREN",
    "lineage_role_arn": "CORDATA_LINEAGE_ROLE_ARN",
    "evidence": "CORDATA_EVIDENCE",
    "owner_topic": "CORDATA_OWNER_TOPIC",
    "governance_catalog": "CORDATA_GOVERNANCE_CATALOG",
}


def environ_of(options: argparse.Namespace) -> dict[str, str]:
    """By the settings' names. An option that the command lacks, or that was not given, leaves the environment's."""
    given = {name: getattr(options, option, None) for option, name in _SETTINGS.items()}
    return {**os.environ, **{name: value for name, value in given.items() if value is not None}}
