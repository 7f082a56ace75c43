"""`python -m pipeline_runtime backfill`: a run for every nominal period of a stretch of the past."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline_runtime.backfill.attempts import run_id_of
from pipeline_runtime.backfill.conduct import Limits, Stop, due_for, make_runs, stoppable
from pipeline_runtime.backfill.periods import Period, moment, periods_between
from pipeline_runtime.backfill.report import exit_code, listener_for, summary
from pipeline_runtime.backfill.starters import RUN_HERE, GlueStarter, LocalStarter, Starter
from pipeline_runtime.cli.settings import environ_of
from pipeline_runtime.descriptor.files import find_files
from pipeline_runtime.descriptor.load import ANY_KINDS, LoadedDescriptor, load
from pipeline_runtime.errors import ConfigurationError, PipelineError
from pipeline_runtime.evidence.s3 import evidence_client
from pipeline_runtime.evidence.store import open_store
from pipeline_runtime.lineage.settings import LineageSettings
from pipeline_runtime.scheduling.deployment import load_deployment
from pipeline_runtime.scheduling.job_runs import GlueJob, NotNow
from pipeline_runtime.scheduling.products import Product, makers_first, product_of, upstream_of

__all__ = ["main"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def main(argv: Sequence[str]) -> int:
    """0 all published, 1 some failed, 2 the command or a run was refused, 3 some quarantined, 130 stopped.

    Of several descriptors the worst: what was left out below a failure is not worse than the failure.
    """
    options = _parser().parse_args(argv)
    try:
        return _backfill(options)
    except PipelineError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except NotNow as refusal:
        print(f"no run could be started for too long: {refusal}", file=sys.stderr)  # noqa: T201
        return 1


def _backfill(options: argparse.Namespace) -> int:
    periods = periods_between(moment(options.start), moment(options.end), options.every)
    if _NAME.fullmatch(options.name) is None:
        raise ConfigurationError(f"--name {options.name!r}: letters, digits, '.', '_' and '-', at most 64")
    ordered = _makers_first(options.descriptors)
    if options.job and (len(ordered) > 1 or options.deployment):
        raise ConfigurationError("--job is one descriptor's job; with --deployment alone each descriptor has its own")
    # All are understood before any is run.
    backfills = [(each, maker, _Backfill.of(options, each, loaded)) for each, maker, loaded in ordered]
    codes: dict[str, int] = {}
    with stoppable() as stop:
        for each, maker, backfill in backfills:
            if maker is not None and codes.get(maker.key, 0):
                print(f"{each.key} not started: periods of {each.source} are missing")  # noqa: T201
                codes[each.key] = codes[maker.key]
                continue
            codes[each.key] = backfill.run(periods, stop)
            if codes[each.key] in (2, 130) or (options.fail_fast and codes[each.key]):
                break
    for each, _, _ in backfills:
        if each.key not in codes:
            print(f"{each.key} not started")  # noqa: T201
    return next((code for code in (130, 2, 1, 3) if code in codes.values()), 0)


@dataclass(frozen=True)
class _Backfill:
    """One descriptor's share. `pipeline` is `<domain>/<name>`, `evidence` where its runs keep theirs."""

    options: argparse.Namespace
    pipeline: str
    evidence: str
    starter: Starter

    @classmethod
    def of(cls, options: argparse.Namespace, product: Product, loaded: LoadedDescriptor) -> _Backfill:
        job = options.job or (_job_of(product, options.deployment) if options.deployment else None)
        if not _reads_nominal_time(loaded):
            print(  # noqa: T201
                f"WARNING: no step of {product.key} reads :nominal_time or :nominal_date, so every run does the same",
                file=sys.stderr,
            )
        found = _as_job(options, job, product) if job else _here(options, product, loaded)
        return cls(options, product.key, *found)

    def run(self, periods: Sequence[Period], stop: Stop) -> int:
        """Makes the runs that are missing and says what became of all; an exit code as of the command."""
        options, pipeline = self.options, self.pipeline
        store = open_store(self.evidence, evidence_client)
        if len(options.descriptors) > 1:
            print(pipeline, file=sys.stderr)  # noqa: T201

        def id_of(period: Period, number: int) -> str:
            return run_id_of(pipeline, options.name, period, number)

        due = []
        for period in periods:
            if stop.asked:
                break
            due.append(due_for(period, store, self.starter, id_of, abandon=options.abandon))
        listener = listener_for(len(due), sum(each.published for each in due))
        try:
            results = make_runs(
                [each for each in due if not each.published and each.unclear is None],
                self.starter,
                store,
                Limits(options.parallel, options.fail_fast),
                listener,
                stop,
            )
        finally:
            listener.close()
        print(f"{pipeline} from {periods[0]}, every {options.every}: {summary(due, results)}")  # noqa: T201
        return exit_code(due, results, stopped=bool(stop.asked))


def _makers_first(paths: Sequence[Path]) -> list[tuple[Product, Product | None, LoadedDescriptor]]:
    """Each descriptor behind the one that makes its source, where that is among them, and beside it."""
    loaded = {str(path): load(path, ANY_KINDS) for path in dict.fromkeys(paths)}
    products = [product_of(each, path) for path, each in loaded.items()]
    makers = upstream_of(products)
    return [(product, makers.get(product), loaded[product.path]) for product in makers_first(products)]


def _job_of(product: Product, file: Path) -> str:
    """The job that the orchestrator's deployment has for the descriptor. Raises ConfigurationError."""
    for path, (domain, job) in load_deployment(file).by_descriptor().items():
        if domain == product.domain and _is_of(path, product):
            return job
    raise ConfigurationError(f"{file} has no job of domain {product.domain} for {product.path}")


def _is_of(path: str, product: Product) -> bool:
    """Whether a job's descriptor is the product's: the same file of `pipelines/`, wherever the domain lies."""
    return Path(path).parts[-2:] == Path(product.path).absolute().parts[-2:]


def _here(options: argparse.Namespace, product: Product, loaded: LoadedDescriptor) -> tuple[str, Starter]:
    """Where the evidence is, and runs on this machine."""
    environ = environ_of(options)
    # What a run would refuse is refused once, and not for every period.
    evidence = LineageSettings.from_environ(environ).evidence
    folder = options.logs or Path(tempfile.gettempdir()) / "pipeline-runtime-backfill"
    logs = folder / product.key / options.name
    launch = tuple(shlex.split(options.launch)) if options.launch else RUN_HERE
    return evidence, LocalStarter(loaded.path, environ, logs, launch)


def _as_job(options: argparse.Namespace, name: str, product: Product) -> tuple[str, Starter]:
    """Where the job keeps its evidence, and runs of the job. Raises ConfigurationError where it is another's job."""
    import boto3

    job = GlueJob(boto3.client("glue"), name)
    try:
        arguments = job.default_arguments()
    except NotNow as refusal:
        raise ConfigurationError(str(refusal)) from refusal
    runs = arguments.get("--descriptor", "")
    if not _is_of(runs, product):
        raise ConfigurationError(f"job {name} runs {runs or 'no descriptor'}, not {product.path}")
    evidence = options.evidence or arguments.get("--evidence") or ""
    if not evidence:
        raise ConfigurationError(f"job {name} says nothing of its evidence; give its prefix with --evidence")
    return evidence, GlueStarter(job, options.pause)


def _reads_nominal_time(loaded: LoadedDescriptor) -> bool:
    """Whether the runs of two periods can differ at all; a Python step is not looked into."""
    found = find_files(loaded)
    texts = [path.read_text("utf-8") for path in found.sql.values()]
    return bool(found.modules or found.problems) or any(re.search(r":nominal_(time|date)\b", text) for text in texts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime backfill",
        description="Make a run for every nominal period. Periods that a run of this backfill has published are left "
        "alone, so the same command again resumes what was stopped and tries again what failed.",
        epilog="exit codes: 0 all published, 1 some failed, 2 the command or a run was refused, 3 some quarantined and "
        "none failed, 130 stopped",
        allow_abbrev=False,
    )
    parser.add_argument(
        "descriptors",
        nargs="+",
        metavar="descriptor",
        type=Path,
        help="the descriptor's path, in <domain root>/pipelines/; of several, makers are run before those who read",
    )
    parser.add_argument("--from", dest="start", required=True, help="the first period's start: a date, or ISO 8601")
    parser.add_argument("--to", dest="end", required=True, help="the first moment that is left out")
    parser.add_argument("--every", default="P1D", help="the length of a period, ISO 8601; P1D")
    parser.add_argument("--name", default="default", help="what this backfill is called; another name starts anew")
    parser.add_argument("--parallel", type=_count, default=1, help="runs at a time; 1")
    parser.add_argument("--fail-fast", action="store_true", help="start no run after one that did not publish")
    parser.add_argument("--abandon", action="store_true", help="count open runs that nobody here can tell of as gone")
    parser.add_argument(
        "--launch",
        help="the command that a descriptor and a run's options are appended to; another way to start the engine, such "
        "as `spark-submit … run_pipeline.py --descriptor` [python -m pipeline_runtime run]",
    )
    parser.add_argument("--job", help="start runs of this Glue job instead of processes here")
    parser.add_argument(
        "--deployment", type=Path, help="start runs of the Glue jobs that the orchestrator's deployment.json names"
    )
    parser.add_argument("--pause", type=float, default=15.0, help="seconds between two looks at Glue; 15")
    parser.add_argument("--evidence", help="folder or s3:// prefix of the evidence [the job's, or CORDATA_EVIDENCE]")
    parser.add_argument("--logs", type=Path, help="folder for what the runs here say [in the system's for scratch]")
    return parser


def _count(text: str) -> int:
    count = int(text) if text.isdecimal() else 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return count
