"""Switching partitions of a Hive-style table in the Glue Data Catalog from one definition to another.

Glue switches one partition at once, not many: a call takes 100, and each may fail alone inside a 200 answer. So a
switch is a list of moves, each with both of its ends, and can be driven to either end, again and again, from
wherever it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pipeline_runtime.catalog.answers import is_denied, named, refusals_as, refused
from pipeline_runtime.catalog.locations import normal_location
from pipeline_runtime.errors import CatalogError

if TYPE_CHECKING:
    from botocore.model import StructureShape
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import PartitionInputTypeDef

    from pipeline_runtime.catalog.table import TableIdentity

__all__ = ["Definition", "PartitionMove", "Values", "location_of", "partition_definitions", "switch", "switch_back"]

T = TypeVar("T")

#: A partition's values in the order of the table's partition keys, as Glue keeps them: text.
Values = tuple[str, ...]
#: Glue's PartitionInput, its times as ISO 8601 text, so that it can be kept as JSON.
Definition = Mapping[str, Any]

#: Entries a call takes: https://docs.aws.amazon.com/glue/latest/webapi/API_Operations.html
_GET, _CREATE, _UPDATE, _DELETE = 1000, 100, 100, 25
_ATTEMPTS = 5
#: Seconds before the second attempt; doubled for each further one.
_PAUSE = 0.2


@dataclass(frozen=True)
class PartitionMove:
    """A partition's definition before and after; None before where the move creates it."""

    values: Values
    before: Definition | None
    after: Definition


def location_of(definition: Definition | None) -> str | None:
    """Where a partition's files are, as an s3:// prefix without a trailing slash; None for no partition."""
    if definition is None:
        return None
    return normal_location(definition.get("StorageDescriptor", {}).get("Location", ""))


def partition_definitions(
    glue: GlueClient, identity: TableIdentity, values: Iterable[Values]
) -> dict[Values, Definition]:
    """What the catalog holds now of these partitions; those that it does not have are left out.

    Raises CatalogError.
    """
    pending = [list(each) for each in values]
    found: dict[Values, Definition] = {}
    with refusals_as(CatalogError, f"read partitions of {identity.fqn} in {named(identity.account)}"):
        while pending:
            asked, pending = pending[:_GET], pending[_GET:]
            answer = glue.batch_get_partition(
                **_address(identity), PartitionsToGet=[{"Values": each} for each in asked]
            )
            for partition in answer.get("Partitions", []):
                found[tuple(partition["Values"])] = _as_input(glue, partition)
            pending += [list(each["Values"]) for each in answer.get("UnprocessedKeys", [])]
    return found


def switch(
    glue: GlueClient, identity: TableIdentity, moves: Sequence[PartitionMove], before_call: Callable[[], None]
) -> tuple[Values, ...]:
    """Drives each partition from `before` to `after`. Those that are there already count as done.

    A partition that now is at neither end was changed by another writer: it is left alone and returned.
    `before_call` runs before every call that changes something, and stops the switch by raising.
    Raises CatalogError where a partition cannot be switched; others then are switched already.
    """
    return _drive(glue, identity, {move.values: (move.before, move.after) for move in moves}, before_call)


def switch_back(
    glue: GlueClient, identity: TableIdentity, moves: Sequence[PartitionMove], before_call: Callable[[], None]
) -> tuple[Values, ...]:
    """As `switch`, from `after` to `before`: a partition that the switch created is removed again."""
    return _drive(glue, identity, {move.values: (move.after, move.before) for move in moves}, before_call)


def _drive(
    glue: GlueClient,
    identity: TableIdentity,
    ends: Mapping[Values, tuple[Definition | None, Definition | None]],
    before_call: Callable[[], None],
) -> tuple[Values, ...]:
    pending, foreign = set(ends), []
    failures: dict[Values, str] = {}
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * 2 ** (attempt - 1))
        # Read each time: a call whose answer was lost may have changed some of its partitions.
        now = partition_definitions(glue, identity, sorted(pending))
        creates: list[Values] = []
        updates: list[Values] = []
        deletes: list[Values] = []
        for values in sorted(pending):
            start, end = ends[values]
            held = location_of(now.get(values))
            if held == location_of(end):
                continue
            if held != location_of(start):
                foreign.append(values)
            elif end is None:
                deletes.append(values)
            else:
                (updates if values in now else creates).append(values)
        failures = {}
        for chosen, size, call in (
            (creates, _CREATE, _create),
            (updates, _UPDATE, _update),
            (deletes, _DELETE, _delete),
        ):
            for chunk in _chunks(chosen, size):
                before_call()
                failures |= _attempted(glue, identity, {values: ends[values][1] for values in chunk}, call)
        pending = set(failures)
        if not pending:
            return tuple(foreign)
    values, reason = min(failures.items())
    raise CatalogError(
        f"{identity.fqn}: {len(failures)} of {len(ends)} partitions could not be switched in "
        f"{named(identity.account)}, in {_ATTEMPTS} attempts; [{', '.join(values)}]: {reason}"
    )


_Wanted = Mapping[Values, Definition | None]
_Call = Callable[["GlueClient", "TableIdentity", _Wanted], list[Mapping[str, Any]]]


def _attempted(glue: GlueClient, identity: TableIdentity, wanted: _Wanted, call: _Call) -> dict[Values, str]:
    """Makes one call; the partitions that it did not change, each with the reason."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        errors = call(glue, identity, wanted)
    except ClientError as error:
        doing = f"switch partitions of {identity.fqn} in {named(identity.account)}"
        if is_denied(error):
            raise CatalogError(refused(error, doing)) from error
        return dict.fromkeys(wanted, refused(error, doing))
    except BotoCoreError as error:
        return dict.fromkeys(wanted, str(error))
    failed = {}
    for each in errors:
        values = each.get("PartitionValues") or each.get("PartitionValueList") or ()
        detail = each.get("ErrorDetail", {})
        failed[tuple(values)] = f"{detail.get('ErrorCode', 'unknown error')}: {detail.get('ErrorMessage', '')}"
    if not failed.keys() <= wanted.keys():
        return dict.fromkeys(wanted, next(iter(failed.values())))  # which of ours it means, reading will tell
    return failed


def _create(glue: GlueClient, identity: TableIdentity, wanted: _Wanted) -> list[Mapping[str, Any]]:
    answer = glue.batch_create_partition(
        **_address(identity), PartitionInputList=[_given(definition) for definition in wanted.values()]
    )
    return list(cast("list[Mapping[str, Any]]", answer.get("Errors", [])))


def _update(glue: GlueClient, identity: TableIdentity, wanted: _Wanted) -> list[Mapping[str, Any]]:
    answer = glue.batch_update_partition(
        **_address(identity),
        Entries=[
            {"PartitionValueList": list(values), "PartitionInput": _given(definition)}
            for values, definition in wanted.items()
        ],
    )
    return list(cast("list[Mapping[str, Any]]", answer.get("Errors", [])))


def _delete(glue: GlueClient, identity: TableIdentity, wanted: _Wanted) -> list[Mapping[str, Any]]:
    answer = glue.batch_delete_partition(
        **_address(identity), PartitionsToDelete=[{"Values": list(values)} for values in wanted]
    )
    return list(cast("list[Mapping[str, Any]]", answer.get("Errors", [])))


def _given(definition: Definition | None) -> PartitionInputTypeDef:
    return cast("PartitionInputTypeDef", dict(definition or {}))


def _address(identity: TableIdentity) -> Any:
    return {"CatalogId": identity.account, "DatabaseName": identity.database, "TableName": identity.table}


def _as_input(glue: GlueClient, partition: Mapping[str, Any]) -> Definition:
    """What Glue accepts of a definition: asked of the service's model, so that a new key is not lost."""
    shape = cast("StructureShape", glue.meta.service_model.shape_for("PartitionInput"))
    kept = {key: value for key, value in partition.items() if key in shape.members}
    return {key: value.isoformat() if hasattr(value, "isoformat") else value for key, value in kept.items()}


def _chunks(items: Sequence[T], size: int) -> Iterable[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
