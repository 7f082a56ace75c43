"""`freshness`: is every product as fresh as its contract promises? Its owner is told where it is not."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline_runtime.errors import PipelineError
from pipeline_runtime.evidence.one_line import one_line
from pipeline_runtime.freshness.metrics import metric_line
from pipeline_runtime.freshness.settings import open_watch
from pipeline_runtime.lineage.redact import redact

if TYPE_CHECKING:
    from pipeline_runtime.freshness.check import Looked, Report

__all__ = ["main"]

_UNKNOWN = 2


def main(argv: Sequence[str]) -> int:
    """0 where all are fresh, 1 where one is late or was never published, 2 where something could not be told."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    environ = {**os.environ, **({"CORDATA_OWNER_TOPIC": options.owner_topic} if options.owner_topic else {})}
    try:
        watch = open_watch(
            environ,
            evidence=options.evidence,
            domain=options.domain,
            declared=[_declared(options.paths)],
            tells=not options.only_look,
        )
        report = watch.look(datetime.now(UTC))
    except (PipelineError, BotoCoreError, ClientError) as error:
        sys.stderr.write(redact(f"{type(error).__name__}: {error}") + "\n")
        return _UNKNOWN
    _show(report, options.format)
    if report.problems:
        return _UNKNOWN
    return 1 if report.is_breached else 0


def _show(report: Report, form: str) -> None:
    for each in report.products:
        if form == "json":
            sys.stdout.write(json.dumps(metric_line(each.found, each.told), ensure_ascii=False) + "\n")
        else:
            sys.stdout.write("".join(f"{one_line(line)}\n" for line in _lines(each)))
    if not report.products and form == "text":
        sys.stdout.write("no product promises a freshness\n")
    for problem in report.problems:
        sys.stderr.write(f"{one_line(problem)}\n")


def _lines(each: Looked) -> list[str]:
    found, indent = each.found, " " * 6
    lines = [f"{found.standing.value:<5} {found.product.identity.fqn}: {found.fact}"]
    if found.standing.is_breach:
        lines.append(indent + found.cause)
    if each.told is not None:
        lines.append(f"{indent}{found.product.owner or 'its owner'} → {each.told}")
    return lines


def _declared(paths: Sequence[Path]) -> str:
    """The products of the descriptors below the paths, as a deployment lists them."""
    if not paths:
        return "[]"
    from pipeline_runtime.cli.descriptors import find_descriptors
    from pipeline_runtime.descriptor.load import load
    from pipeline_runtime.errors import DescriptorError

    found, missing = find_descriptors(paths)
    if missing:
        raise DescriptorError(missing)
    descriptors = [load(path).descriptor for path in found]
    return json.dumps(
        [
            {
                "database": each.target.database,
                "table": each.target.table,
                "domain": each.metadata.domain,
                "pipeline": each.metadata.name,
                "owner": each.metadata.owner,
                "freshness_sla": each.contract.freshness_sla,
            }
            for each in descriptors
        ]
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime freshness",
        description="Compares every product's last publish with the freshness that its contract promises. The owner is "
        "told once when a product becomes late, and once when it is fresh again, however often and by whomever this is "
        "called.",
        epilog="exit codes: 0 every product is fresh; 1 one is late, or was never published and is due; 2 a product "
        "could not be judged or an owner not told (which the lines on stderr say), or the command cannot be used",
        allow_abbrev=False,
    )
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="path", help="folders with domains: their products are due too"
    )
    parser.add_argument("--domain", help="look at this domain's products only [CORDATA_FRESHNESS_DOMAIN]")
    parser.add_argument("--evidence", metavar="URL", help="s3://bucket/prefix or a folder [CORDATA_EVIDENCE]")
    parser.add_argument("--owner-topic", metavar="ARN", help="SNS topic that tells owners [CORDATA_OWNER_TOPIC]")
    parser.add_argument("--only-look", action="store_true", help="tell nobody, and keep no state")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="json: CloudWatch's embedded metric format"
    )
    return parser
