"""The committed descriptor, compared with what the event repeats of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from pipeline_runtime.descriptor.modules import module_files
from pipeline_runtime.descriptor.yaml_source import YamlDocument, YamlPath, read_yaml
from pipeline_runtime.errors import DescriptorError
from pipeline_runtime.evidence.verification.claim import ClaimedRun
from pipeline_runtime.evidence.verification.finding import Finding, FindingKind

__all__ = ["declaration_findings"]


def declaration_findings(claim: ClaimedRun, descriptor: bytes) -> Iterator[Finding]:
    """Where the event says something else than the descriptor that the commit holds, or hides a file it names."""
    try:
        document = _read(descriptor, claim.descriptor_path)
    except DescriptorError as error:
        yield Finding(FindingKind.DISAGREEMENT, f"the committed descriptor cannot be read: {error}")
        return
    domain = _text(document, ("metadata", "domain"))
    said = [
        ("job", claim.job, _text(document, ("metadata", "name"))),
        ("job namespace", claim.namespace, None if domain is None else f"cordata.{domain}"),
        ("purpose", claim.purpose, _text(document, ("processing", "purpose"))),
        ("legal basis", claim.legal_basis, _text(document, ("processing", "legal_basis"))),
        ("source", claim.source_table, _table(document)),
    ]
    for what, event, committed in said:
        if committed is not None and event != committed:
            shown = "no such thing" if event is None else event
            text = f"{what}: the event says {shown}, the committed descriptor {committed}"
            yield Finding(FindingKind.DISAGREEMENT, text)
    yield from _params(claim, document)
    # A run that wrote nothing may have ended before it could read the files; a release executes none of them.
    if claim.published and not claim.is_release:
        yield from _unlisted(claim, document, domain or "")


def _params(claim: ClaimedRun, document: YamlDocument) -> Iterator[Finding]:
    for position, step in enumerate(_steps(document)):
        params = step.get("params")
        for name in params if isinstance(params, dict) else {}:
            committed = _text(document, ("steps", position, "params", name))
            event = claim.step_params.get(name, claim.step_params.get(f"{step.get('id')}.{name}"))
            if committed is not None and event != committed:
                text = f"param {name}: the event says {event}, the committed descriptor {committed}"
                yield Finding(FindingKind.DISAGREEMENT, text)


def _unlisted(claim: ClaimedRun, document: YamlDocument, domain: str) -> Iterator[Finding]:
    """Files that the descriptor names and the event holds no hash of: nobody could see a change in them."""
    root = claim.descriptor_path.rpartition("/")[0].rpartition("/")[0]
    prefix = f"{root}/" if root else ""
    for names in _named(document, domain):
        if not any(prefix + name in claim.files for name in names):
            text = f"the descriptor names {names[0]}, and the event holds no hash of it"
            yield Finding(FindingKind.UNLISTED_FILE, text)


def _named(document: YamlDocument, domain: str) -> Iterator[tuple[str, ...]]:
    for step in _steps(document):
        if isinstance(query := step.get("query_file"), str):
            yield (query.strip(),)
        if isinstance(module := step.get("module"), str):
            try:
                yield module_files(module.strip(), domain)
            except ValueError:
                yield (module.strip(),)
    if (suite := _text(document, ("expectations", "suite"))) is not None:
        yield (suite,)


def _read(descriptor: bytes, shown_as: str) -> YamlDocument:
    with tempfile.TemporaryDirectory(prefix="verify-") as scratch:
        path = Path(scratch) / "descriptor.yml"
        path.write_bytes(descriptor)
        return read_yaml(path, shown_as)[0]


def _table(document: YamlDocument) -> str | None:
    database, table = (_text(document, ("source", key)) for key in ("database", "table"))
    return None if database is None or table is None else f"{database}.{table}"


def _text(document: YamlDocument, path: YamlPath) -> str | None:
    scalar = document.text_of(path)
    return None if scalar is None else scalar.text.strip()


def _steps(document: YamlDocument) -> list[dict[str, object]]:
    steps = document.data.get("steps")
    return [step if isinstance(step, dict) else {} for step in (steps if isinstance(steps, list) else [])]
