"""Readers that declare nothing: whoever the access logs show, minus the job roles of the table's declared consumers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pipeline_runtime.contracts.access_logs import Access, Kind, Record
from pipeline_runtime.contracts.declared import Declared
from pipeline_runtime.contracts.principals import Principals

__all__ = ["Reader", "Readers", "Span", "find_readers"]


@dataclass(frozen=True)
class Span:
    """What logs of one kind cover: how many records of any table, and from when to when."""

    records: int
    first: datetime
    last: datetime


@dataclass(frozen=True)
class Reader:
    """A principal that read the table. `team` is None where nobody wrote down whose it is; `note` says what else is
    known about it."""

    principal: str
    team: str | None
    reads: int
    last: datetime
    kinds: tuple[Kind, ...]
    note: str = ""


@dataclass(frozen=True)
class Readers:
    """Undeclared readers, the latest first; the declared consumers and the producer that were seen; what logs cover."""

    undeclared: tuple[Reader, ...]
    declared: tuple[Reader, ...]
    spans: Mapping[Kind, Span]


_BEFORE = datetime.min.replace(tzinfo=UTC)


@dataclass
class _Seen:
    """The reads of one principal so far."""

    reads: int = 0
    last: datetime = _BEFORE
    kinds: set[Kind] = field(default_factory=set)

    def add(self, reads: int, last: datetime, kinds: Iterable[Kind]) -> None:
        self.reads += reads
        self.last = max(self.last, last)
        self.kinds.update(kinds)


def find_readers(
    records: Iterable[Record], consumers: Sequence[Declared], principals: Principals, job_role: str
) -> Readers:
    """Sorts the readers. `job_role` is the name of a consumer's role, with {domain} and {name} in it."""
    spans: dict[Kind, Span] = {}
    by_session: dict[str, str] = {}
    by_role_id: dict[str, str] = {}
    seen: dict[Access, _Seen] = {}
    for record in records:
        before = spans.get(record.kind)
        first, last = (record.time, record.time) if before is None else (before.first, before.last)
        spans[record.kind] = Span(
            (before.records if before else 0) + 1, min(first, record.time), max(last, record.time)
        )
        if (access := record.access) is None:
            continue
        if record.kind is Kind.LAKE_FORMATION:
            if access.session:
                by_session[access.session] = access.principal
            if access.role_id:
                by_role_id[access.role_id] = access.principal
            access = Access(access.principal)
        seen.setdefault(access, _Seen()).add(1, record.time, [record.kind])
    merged: dict[str, _Seen] = {}
    for access, one in seen.items():
        merged.setdefault(_behind(access, by_session, by_role_id), _Seen()).add(one.reads, one.last, one.kinds)
    readers = [_reader(who, one, consumers, principals, job_role) for who, one in merged.items()]
    readers.sort(key=lambda each: (-each[0].last.timestamp(), each[0].principal))
    return Readers(
        tuple(reader for reader, known in readers if not known),
        tuple(reader for reader, known in readers if known),
        spans,
    )


def _behind(access: Access, by_session: Mapping[str, str], by_role_id: Mapping[str, str]) -> str:
    """Who used credentials that Lake Formation lent: S3 sees only the role that the location is registered with."""
    if access.session is None:
        return access.principal
    if found := by_session.get(access.session) or by_role_id.get(access.role_id or ""):
        return found
    return f"somebody behind Lake Formation ({access.role_id or access.session})"


def _reader(
    principal: str, seen: _Seen, consumers: Sequence[Declared], principals: Principals, job_role: str
) -> tuple[Reader, bool]:
    """The reader, and whether it is a declared one."""
    entry = principals.of(principal)
    role = principal.rpartition(":role/")[2]
    running = [each for each in consumers if role == job_role.format(domain=each.domain, name=each.name)]
    note = ""
    if entry is not None:
        running += [each for each in consumers if each.name in entry.pipelines and each not in running]
        if entry.producer:
            note = "the producer itself"
        elif entry.pipelines and not running:
            note = f"{', '.join(entry.pipelines)} read it and do not pin it"
    if running:
        note = "declared by " + ", ".join(f"{each.name} ({each.domain})" for each in running)
    team = entry.team if entry is not None else running[0].owner if running else None
    kinds = tuple(sorted(seen.kinds, key=list(Kind).index))
    known = bool(running) or (entry is not None and entry.producer)
    return Reader(principal, team, seen.reads, seen.last, kinds, note), known
