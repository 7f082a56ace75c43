"""`quality`: the assertion history of a dataset, and the rule of three failing batches as an exit code."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from pipeline_runtime.cli.instants import instant
from pipeline_runtime.errors import EvidenceFailed, UsageError
from pipeline_runtime.evidence.event_files import open_event_folder
from pipeline_runtime.evidence.history import ALLOWED_FAILURES, Assertion, Batch, ExpectationHistory, History, Outcome
from pipeline_runtime.evidence.history_reading import DatasetHistory, dataset_history
from pipeline_runtime.evidence.one_line import one_line
from pipeline_runtime.lineage.settings import LineageSettings
from pipeline_runtime.lineage.values import utc_text

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """0 where the rule holds, 1 where it is broken, 2 where that cannot be told."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    until = datetime.now(UTC) if options.at is None else options.at
    try:
        folder = open_event_folder(LineageSettings.evidence_only(os.environ, options.evidence))
        found = dataset_history(folder, options.dataset, until)
    except (UsageError, EvidenceFailed) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(
        _as_json(found) if options.format == "json" else "".join(f"{one_line(line)}\n" for line in _lines(found))
    )
    return 1 if found.history.rule_broken else 0


def _lines(found: DatasetHistory) -> Iterator[str]:
    history = found.history
    yield f"dataset       {'/'.join(found.dataset)}"
    yield f"last batch    {_last(history.last)}"
    yield from (f"              {_failure(failed)}" for failed in (history.last.failed if history.last else ()))
    yield f"rolling week  after {utc_text(history.since)} up to {utc_text(history.until)}"
    yield f"batches       {_counts(history)}"
    for expectation in history.expectations:
        yield f"expectation   {_expectation(expectation)}"
    yield f"rule          {_rule(history)}"


def _last(batch: Batch | None) -> str:
    if batch is None:
        return "none up to this time"
    return f"{batch.outcome.value}, run {batch.run_id} of {batch.job}, {utc_text(batch.time)}"


def _failure(failed: Assertion) -> str:
    return f"{_subject(failed.expectation, failed.column)}: expected {failed.expected}, actual {failed.actual}"


def _subject(expectation: str, column: str | None) -> str:
    return f"{expectation}({column})" if column else expectation


def _counts(history: History) -> str:
    if not history.batches:
        return "none was checked in this week"
    parts = [f"{count} {outcome.value}" for outcome in Outcome if (count := history.count(outcome))]
    return f"{len(history.batches)}: {', '.join(parts)}"


def _expectation(expectation: ExpectationHistory) -> str:
    name = _subject(expectation.expectation, expectation.column)
    if expectation.last_failure is None:
        return f"{name}: held {_times(expectation.batches)}"
    last = utc_text(expectation.last_failure)
    return f"{name}: failed {expectation.failures} of {_times(expectation.batches)}, last {last}"


def _times(count: int) -> str:
    return "1 time" if count == 1 else f"{count} times"


def _rule(history: History) -> str:
    count = len(history.failing)
    batches = "1 batch" if count == 1 else f"{count} batches"
    verdict = "broken" if history.rule_broken else "holds"
    return f"{verdict}: {batches} failed in the rolling week, {ALLOWED_FAILURES + 1} break it"


def _as_json(found: DatasetHistory) -> str:
    history = found.history
    shown = {
        "dataset": {"namespace": found.dataset[0], "name": found.dataset[1]},
        "since": utc_text(history.since),
        "until": utc_text(history.until),
        "last_batch": None if history.last is None else _batch(history.last),
        "batches": [_batch(batch) for batch in history.batches],
        "expectations": [
            {
                "expectation": each.expectation,
                "column": each.column,
                "batches": each.batches,
                "failures": each.failures,
                "last_failure": None if each.last_failure is None else utc_text(each.last_failure),
            }
            for each in history.expectations
        ],
        "rule": {"broken": history.rule_broken, "failing": len(history.failing), "allowed": ALLOWED_FAILURES},
        "verdicts": {"read": found.read, "stored": found.stored},
    }
    return json.dumps(shown, ensure_ascii=False, indent=2) + "\n"


def _batch(batch: Batch) -> dict[str, object]:
    failed = [
        {"expectation": each.expectation, "column": each.column, "expected": each.expected, "actual": each.actual}
        for each in batch.failed
    ]
    return {
        "run_id": batch.run_id,
        "job": batch.job,
        "time": utc_text(batch.time),
        "outcome": batch.outcome.value,
        "failed": failed,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime quality",
        description="Says whether the last batch of a dataset passed its suite, and how often each expectation failed "
        "in the week that ends now. Blocked, quarantined and warned batches all failed; a run counts once.",
        epilog="exit codes: 0 the rule holds; 1 it is broken: three batches or more failed in the rolling week; "
        "2 that cannot be told",
        allow_abbrev=False,
    )
    parser.add_argument("dataset", help="<database>.<table>, or namespace and name joined by a slash")
    parser.add_argument("--at", type=instant, metavar="TIME", help="when the week ends; default: now")
    parser.add_argument("--evidence", metavar="URL", help="s3://bucket/prefix or a folder [CORDATA_EVIDENCE]")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    return parser
