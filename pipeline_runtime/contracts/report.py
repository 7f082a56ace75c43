"""A check's outcome for people, for programs, and for the pull request that caused it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from pipeline_runtime.contracts.check import Finding, Judged, Report, Verdict
from pipeline_runtime.contracts.proposal import LoadedProposal
from pipeline_runtime.schema.diff import Retyped

__all__ = ["FORMATS", "as_github", "as_json", "as_text", "way_out"]

#: The verdicts' column: the widest is UNKNOWN PIN.
_WIDTH = 12
_INDENT = " " * _WIDTH


def as_text(report: Report) -> str:
    """The report that a producer reads in the log of a build."""
    blocks = ["\n".join(_head(report)), *("\n".join(_block(report, each)) for each in report.judged)]
    return "\n\n".join([*blocks, _summary(report)]) + "\n"


def as_json(report: Report) -> str:
    """The same, for a program: one object."""
    proposal = report.proposal
    document = {
        "proposal": {
            "producer": proposal.producer,
            "release": proposal.release,
            "database": proposal.database,
            "table": proposal.table,
            "schema_version": proposal.schema_version,
        },
        "catalog_version": None if report.catalog is None else report.catalog.version,
        "catalog_asked": report.catalog is not None,
        "scanned": [
            {"path": each.path, "descriptors": each.count, "consumers": len(each.consumers)} for each in report.scanned
        ],
        "consumers": [_consumer_object(report, each) for each in report.judged],
        "failing": len(report.failing),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_github(report: Report, loaded: LoadedProposal) -> str:
    """Annotations at the proposal's own lines, which are the ones a pull request shows, and the report for the log."""
    return "".join(line + "\n" for line in _annotations(report, loaded)) + as_text(report)


def way_out(report: Report) -> str:
    """How a breaking version can be published all the same; empty where nothing breaks."""
    proposal = report.proposal
    if not any(each.verdict is Verdict.BREAKS for each in report.judged):
        return ""
    current = report.catalog.version if report.catalog is not None else None
    beside = f"{proposal.fqn}_v{proposal.schema_version}"
    version = "<current>" if current is None else current
    return (
        f"A breaking change is a new version beside the old one: publish these columns as {beside},\n"
        f"keep {proposal.fqn} as it is, feed both until a day that consumers know, and name that day:\n"
        f"  python -m pipeline_runtime deprecate {proposal.fqn} --version {version} --after <day> "
        f"--successor {beside}\n"
        "Where the application's own database is the source, that is a further outbox table. See docs/contracts.md.\n"
    )


def _head(report: Report) -> Iterator[str]:
    proposal = report.proposal
    yield (
        f"{proposal.producer} release {proposal.release} proposes {proposal.fqn} v{proposal.schema_version}; "
        f"{_catalog_words(report)}"
    )
    for each in report.scanned:
        yield f"{_descriptors(len(each.consumers))} under {each.path} {_read(len(each.consumers))} {proposal.fqn}"
    for each in report.scanned:
        yield f"{_descriptors(each.count)} scanned under {each.path}"


def _catalog_words(report: Report) -> str:
    if report.catalog is None:
        return "the catalog was not asked"
    version = report.catalog.version
    return "the catalog has no such table" if version is None else f"the catalog is at v{version}"


def _block(report: Report, judged: Judged) -> Iterator[str]:
    consumer = judged.consumer
    label = f"{judged.verdict.value:<{_WIDTH}}"
    if consumer is None:
        yield f"{label}{judged.path}"
    else:
        yield f"{label}{consumer.name} ({consumer.domain})  pins v{consumer.pin}  owner {consumer.owner}"
        yield _INDENT + judged.path
    if judged.reason:
        yield _INDENT + judged.reason
    for problem in judged.problems:
        yield _INDENT + str(problem)
    for finding in judged.findings:
        yield _INDENT + str(finding.change) + ("   <- breaks" if finding.breaks else "")
        if finding.use is not None:
            yield f"{_INDENT}  {finding.use.words}"
    for meaning in judged.meanings:
        yield f"{_INDENT}{meaning.change}   <- means something else"
        yield f"{_INDENT}  {meaning.use.words}"
    if judged.bump:
        yield f"{_INDENT}bump the pin to v{report.proposal.schema_version} once it is published"
    elif judged.verdict is Verdict.COMPATIBLE:
        yield _INDENT + "the same columns: nothing to bump"


def _summary(report: Report) -> str:
    failing = [each for each in report.failing if each.consumer is not None]
    unreadable = [each for each in report.failing if each.consumer is None]
    lines = []
    if bumps := [each for each in report.judged if each.bump]:
        lines.append(f"{len(bumps)} pin{_s(len(bumps))} to bump to v{report.proposal.schema_version}:")
        lines += [f"  {each.consumer.name}  {each.consumer.owner}" for each in bumps if each.consumer is not None]
    if report.consumers:
        lines.append(
            f"{len(failing)} of {len(report.consumers)} consumer{_s(len(report.consumers))} "
            f"{'fails' if len(failing) == 1 else 'fail'} this check"
        )
    else:
        lines.append(f"no descriptor that was read pins {report.proposal.fqn}")
    if unreadable:
        lines.append(f"{_descriptors(len(unreadable))} cannot be read, so the check fails: any may be a consumer")
    return "\n".join(lines)


def _descriptors(count: int) -> str:
    return f"{count} descriptor{_s(count)}"


def _read(count: int) -> str:
    return "reads" if count == 1 else "read"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _consumer_object(report: Report, judged: Judged) -> dict[str, object]:
    consumer = judged.consumer
    known = (
        {}
        if consumer is None
        else {
            "name": consumer.name,
            "domain": consumer.domain,
            "owner": consumer.owner,
            "pinned_version": consumer.pin,
        }
    )
    return {
        "verdict": judged.verdict.value,
        "path": judged.path,
        **known,
        "changes": [_finding_object(finding) for finding in judged.findings],
        "meanings": [
            {"column": each.change.column, "text": str(each.change), "read": each.use.read} for each in judged.meanings
        ],
        "bump_to": report.proposal.schema_version if judged.bump else None,
        "reason": judged.reason or None,
        "problems": [str(problem) for problem in judged.problems],
    }


def _finding_object(finding: Finding) -> dict[str, object]:
    use = finding.use
    return {
        "kind": type(finding.change).__name__,
        "column": finding.change.name,
        "text": str(finding.change),
        "breaks": finding.breaks,
        "widening": isinstance(finding.change, Retyped) and finding.change.widening,
        "use": None if use is None else {"read": use.read, "words": use.words, "file": use.file, "lines": use.lines},
    }


def _annotations(report: Report, loaded: LoadedProposal) -> Iterator[str]:
    for judged in report.judged:
        who = judged.path
        if judged.consumer is not None:
            who = f"{judged.consumer.name} ({judged.consumer.domain}), owner {judged.consumer.owner}"
        for finding in judged.findings:
            if finding.breaks:
                text = str(finding.change) + (f"; {finding.use.words}" if finding.use else "")
                yield _annotation("error", loaded, loaded.line_of(finding.change.name), f"breaks {who}", text)
        for meaning in judged.meanings:
            line = loaded.line_of(meaning.change.column)
            text = f"{meaning.change}; {meaning.use.words}"
            yield _annotation("warning", loaded, line, f"means something else: {who}", text)
        if judged.verdict in (Verdict.UNKNOWN_PIN, Verdict.UNREADABLE):
            reasons = [judged.reason, *map(str, judged.problems)]
            text = "\n".join(reason for reason in reasons if reason)
            yield _annotation("error", loaded, 1, f"{judged.verdict.value}: {who}", text)
        if judged.bump:
            text = "; ".join(str(finding.change) for finding in judged.findings)
            line = loaded.document.line(("schema_version",))
            yield _annotation("notice", loaded, line, f"pin to bump: {who}", text)


def _annotation(level: str, loaded: LoadedProposal, line: int, title: str, text: str) -> str:
    """A workflow command. Its values are escaped as GitHub's runner reads them back (actions/toolkit, command.ts)."""
    file = _escaped(loaded.document.shown_as, _PROPERTY)
    return f"::{level} file={file},line={line},title={_escaped(title, _PROPERTY)}::{_escaped(text, _DATA)}"


_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def _escaped(text: str, codes: dict[str, str]) -> str:
    return "".join(codes.get(character, character) for character in text)


#: `--format` → what writes it.
FORMATS: dict[str, Callable[[Report, LoadedProposal], str]] = {
    "text": lambda report, _loaded: as_text(report),
    "json": lambda report, _loaded: as_json(report),
    "github": as_github,
}
