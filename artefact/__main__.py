"""The platform's commands for the executor's release.

    python -m artefact build [--into dist/artefact] [--engine 5.1]…
    python -m artefact publish s3://bucket/prefix [--from dist/artefact]
    python -m artefact adapter [--into dist]
    python -m artefact lock

`build` makes a release of this checkout, `publish` puts it under <prefix>/pipeline-runtime/<version>/, `lock` resolves
the Python packages of each Glue version again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from artefact.adapter import write_adapter_zip
from artefact.build import build_release
from artefact.errors import ArtefactError
from artefact.publish import publish
from artefact.wheels import REQUIREMENTS, lock
from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.glue.engines import DEFAULT, ENGINES

ROOT = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str]) -> int:
    """Runs one command; 0 where it is done, 1 where it is not."""
    arguments = _parser().parse_args(argv)
    try:
        match arguments.command:
            case "build":
                _build(arguments)
            case "publish":
                _publish(arguments)
            case "adapter":
                print(write_adapter_zip(arguments.root, arguments.into))
            case "lock":
                _lock()
    except (ArtefactError, ConfigurationError) as error:
        print(f"artefact: {error}", file=sys.stderr)
        return 1
    return 0


def _build(arguments: argparse.Namespace) -> None:
    engines = [ENGINES[version] for version in arguments.engine or ENGINES]
    manifest = build_release(arguments.root, arguments.into, arguments.cache, engines)
    for name, file in manifest.files.items():
        print(f"{file.sha256}  {file.bytes:>11,}  {name}")
    build = manifest.build
    print(f"pipeline-runtime {build.version}, commit {build.commit}{' and changes' if build.dirty else ''}")


def _publish(arguments: argparse.Namespace) -> None:
    import boto3

    where = publish(
        arguments.folder, arguments.destination, boto3.client("s3"), allow_dirty=arguments.allow_dirty, say=print
    )
    print(f"published: {where.prefix}/")


def _lock() -> None:
    for engine in ENGINES.values():
        file = REQUIREMENTS / f"glue-{engine.glue}.txt"
        tested = "constraints.txt" if engine.glue == DEFAULT else f"constraints-glue-{engine.glue}.txt"
        file.write_text(lock(engine, ROOT / tested), encoding="utf-8")
        print(f"{file.relative_to(ROOT)}: Glue {engine.glue}, Python {engine.python}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m artefact", description="The executor's release.", allow_abbrev=False
    )
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="make a release of this checkout")
    build.add_argument("--root", type=Path, default=ROOT, help="the checkout [this one]")
    build.add_argument("--into", type=Path, default=ROOT / "dist" / "artefact", help="the folder [dist/artefact]")
    build.add_argument("--cache", type=Path, default=ROOT / ".cache", help="what was fetched [.cache]")
    build.add_argument("--engine", action="append", choices=list(ENGINES), help="a Glue version [all]")
    put = commands.add_parser("publish", help="put the release where jobs read it")
    put.add_argument("destination", help="s3://bucket/prefix")
    put.add_argument(
        "--from", dest="folder", type=Path, default=ROOT / "dist" / "artefact", help="the release's folder"
    )
    put.add_argument("--allow-dirty", action="store_true", help="also a build that is no commit's")
    adapter = commands.add_parser("adapter", help="make the zip of the lineage adapter's Lambda functions")
    adapter.add_argument("--root", type=Path, default=ROOT, help="the checkout [this one]")
    adapter.add_argument("--into", type=Path, default=ROOT / "dist", help="the folder [dist]")
    commands.add_parser("lock", help="resolve the Python packages of each Glue version again")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
