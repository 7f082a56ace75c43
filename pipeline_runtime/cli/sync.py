"""`python -m pipeline_runtime sync`: on merge, the domain's CI puts its declarations where the jobs read them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline_runtime.errors import PipelineError, SyncRefused

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Validates, checks that the deployed roles cover it, uploads. 0 synced, 1 S3 failed, 2 refused."""
    options = _parser().parse_args(argv)
    try:
        print(_sync(options))  # noqa: T201
    except PipelineError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 0


def _sync(options: argparse.Namespace) -> str:
    import boto3

    from pipeline_runtime.sync.collect import collect, descriptors_of
    from pipeline_runtime.sync.manifest import Place
    from pipeline_runtime.sync.upload import check_coverage, upload

    try:
        place = Place.of(options.config)
    except ValueError as error:
        raise SyncRefused(f"{options.config!r} {error}") from None
    _validate(descriptors_of(options.domain_root))
    collected = collect(options.domain_root, allow_dirty=options.allow_dirty)
    s3 = boto3.client("s3")
    check_coverage(collected, place, s3)
    pointer = upload(collected, place, s3)
    manifest = collected.manifest
    about = ", ".join(
        (
            "signed" if manifest.signed else "not signed",
            *(("with changes that are in no commit",) if manifest.dirty else ()),
            f"{len(manifest.files)} files",
        )
    )
    at = f"{manifest.domain} at commit {manifest.commit[:12]} ({about})"
    return f"synced {at} to {place.url()}, release {pointer.release[:12]}"


def _validate(descriptors: Sequence[Path]) -> None:
    from pipeline_runtime.cli.validate import problems_of

    problems = [problem for path in descriptors for problem in problems_of(path)]
    if problems:
        raise SyncRefused("\n".join(map(str, problems)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline_runtime sync",
        description="Put a domain's descriptors, SQL, suites, baselines, schemas and transforms into the config prefix "
        "that its jobs read, with the commit they come from. All of it, or nothing.",
        epilog="exit codes: 0 synced, 1 S3 failed and nothing changed for the jobs, 2 refused",
        allow_abbrev=False,
    )
    parser.add_argument("domain_root", type=Path, help="the folder that holds pipelines/, in a git checkout")
    parser.add_argument("config", help="the domain's config prefix, s3://bucket/prefix")
    parser.add_argument("--allow-dirty", action="store_true", help="also a tree that differs from its commit")
    return parser
