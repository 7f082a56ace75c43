"""`replay`: sends events that are stored and were not delivered: the same bytes, in the order of the run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pipeline_runtime.errors import ConfigurationError, EvidenceFailed, UsageError
from pipeline_runtime.evidence.runs import RunEvents, RunEvidence, events_by_run
from pipeline_runtime.evidence.s3 import evidence_client
from pipeline_runtime.evidence.store import EvidenceStore, open_store
from pipeline_runtime.lineage.delivery import Delivered, Delivery, open_delivery
from pipeline_runtime.lineage.limits import size_problem
from pipeline_runtime.lineage.outbox import deliver, deliver_children
from pipeline_runtime.lineage.settings import Destination, LineageSettings

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """0 when everything asked for is delivered, 1 when something is not, 2 when the command cannot be used."""
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        settings = _settings(arguments)
        store = open_store(settings.evidence, evidence_client)
        if settings.destination is None:
            raise ConfigurationError("CORDATA_LINEAGE is off; replay needs a destination, unset it")
        return _replay(store, [RunEvidence(store, run_id) for run_id in arguments.run_ids], settings.destination)
    except (UsageError, EvidenceFailed) as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _replay(store: EvidenceStore, asked: list[RunEvidence], destination: Destination) -> int:
    found = events_by_run(store, [run.run_id for run in asked])
    unknown = [run.run_id for run in asked if run.run_id not in found]
    for run_id in unknown:
        _say(f"{run_id}: no event is stored")
    complete = not unknown
    for run_id, events in found.items():
        complete &= _replay_run(RunEvidence(store, run_id), events, destination, named=bool(asked))
    if not found and not unknown:
        _say("no event is stored")
    return 0 if complete else 1


def _replay_run(run: RunEvidence, events: RunEvents, destination: Destination, *, named: bool) -> bool:
    """Sends what is missing of one run, within a budget of its own; returns whether nothing is missing now."""
    delivery = open_delivery(destination)
    complete = True
    for kind in events.stored:
        if kind in events.delivered:
            if named:
                _say(f"{run.run_id} {kind.name}: was delivered before")
            continue
        body = run.event(kind)
        parked = run.parked(kind) if kind in events.parked else None
        if body is None or delivery is None:
            continue
        problem = parked or size_problem(body)
        if problem is not None:
            complete = False
            _say(f"{run.run_id} {kind.name}: not sent: {problem}")
            continue
        outcome = deliver(run, kind, body, delivery)
        if isinstance(outcome, Delivered):
            _say(f"{run.run_id} {kind.name}: delivered, {outcome.status}" + (f" as {outcome.id}" if outcome.id else ""))
        else:
            complete = False
            _say(f"{run.run_id} {kind.name}: not delivered: {outcome.reason}")
    if events.has_children_due and delivery is not None:
        complete &= _replay_children(run, delivery)
    return complete


def _replay_children(run: RunEvidence, delivery: Delivery) -> bool:
    count, delivered, reason = deliver_children(run, delivery)
    _say(f"{run.run_id} child runs: {delivered} of {count} events delivered" + (f": {reason}" if reason else ""))
    return reason is None


def _settings(arguments: argparse.Namespace) -> LineageSettings:
    environ = dict(os.environ)
    if arguments.evidence is not None:
        environ["CORDATA_EVIDENCE"] = arguments.evidence
    if arguments.lineage_url is not None:
        environ |= {"CORDATA_LINEAGE_URL": arguments.lineage_url, "CORDATA_LINEAGE": "on"}
    return LineageSettings.from_environ(environ)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime replay",
        description="Delivers lineage events that are stored in the evidence prefix and were not delivered.",
        epilog="Sent are the stored bytes, START first, then the terminal event, then OTHER. Exit: 0 all delivered, "
        "1 some not, 2 the command cannot be used.",
    )
    parser.add_argument("run_ids", nargs="*", metavar="run id", help="which runs; all of the prefix without any")
    parser.add_argument("--evidence", metavar="URL", help="s3://bucket/prefix or a folder; default $CORDATA_EVIDENCE")
    parser.add_argument("--lineage-url", metavar="URL", help="where to send; default $CORDATA_LINEAGE_URL")
    return parser


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
