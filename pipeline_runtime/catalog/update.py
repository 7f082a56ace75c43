"""Adding facts to a table in the Glue Data Catalog without taking any away (design decision D5)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from pipeline_runtime.catalog.answers import code_of, named, refused
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.errors import CatalogConflict, CatalogError, TableNotFound

if TYPE_CHECKING:
    from botocore.model import StructureShape
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import TableInputTypeDef, TableTypeDef

__all__ = ["change_table", "set_parameters"]

#: Seconds before the second attempt; doubled for each further one.
_PAUSE = 0.1


def set_parameters(
    glue: GlueClient, identity: TableIdentity, changes: Mapping[str, str | None], *, attempts: int = 5
) -> dict[str, str | None]:
    """Sets table Parameters, removing those whose value is None; everything else of the table stays as it is.

    Returns what the changed keys held before, None for those that were not there: passing it back undoes the
    change. Makes no update where nothing changes. Raises CatalogConflict after `attempts`, TableNotFound,
    CatalogError.
    """
    previous: dict[str, str | None] = {}

    def with_parameters(table: TableInputTypeDef) -> TableInputTypeDef:
        parameters = table.get("Parameters", {})
        previous.clear()
        previous.update({key: parameters.get(key) for key, value in changes.items() if parameters.get(key) != value})
        wanted = {**parameters, **changes}
        return {**table, "Parameters": {key: value for key, value in wanted.items() if value is not None}}

    change_table(glue, identity, with_parameters, f"set {', '.join(sorted(changes))}", attempts=attempts)
    return previous


def change_table(
    glue: GlueClient,
    identity: TableIdentity,
    change: Callable[[TableInputTypeDef], TableInputTypeDef],
    doing: str,
    *,
    attempts: int = 5,
    archive: bool = False,
) -> int | None:
    """Replaces a table's definition by what `change` makes of it; no update where that is the same.

    Returns the version that it made, None where nothing changed. `archive` keeps the replaced version fetchable.

    UpdateTable replaces the whole definition, so `change` gets it as just read and it is sent under the version
    just read: where another writer was faster, it is read and changed again, so `change` may be called several
    times. `doing` says in messages what was attempted. Raises CatalogConflict after `attempts`, TableNotFound,
    CatalogError.
    """
    from botocore.exceptions import ClientError

    for attempt in range(attempts):
        if attempt:
            # Random, so that two jobs that collided do not collide again.
            time.sleep(_PAUSE * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))  # noqa: S311
        try:
            return _try_to_change(glue, identity, change, archive)
        except ClientError as error:
            code = code_of(error)
            if code == "EntityNotFoundException":
                raise TableNotFound(f"{identity.fqn} is not in {named(identity.account)}") from error
            if code != "ConcurrentModificationException":
                raise CatalogError(refused(error, f"update {identity.fqn} in {named(identity.account)}")) from error
    raise CatalogConflict(
        f"{identity.fqn} in {named(identity.account)}: another writer changed the table in each of {attempts} "
        f"attempts to {doing}. Nothing of ours was set; run again when it is quieter."
    )


def _try_to_change(
    glue: GlueClient,
    identity: TableIdentity,
    change: Callable[[TableInputTypeDef], TableInputTypeDef],
    archive: bool,
) -> int | None:
    table = glue.get_table(CatalogId=identity.account, DatabaseName=identity.database, Name=identity.table)["Table"]
    held = _as_input(glue, table)
    wanted = change(held)
    if wanted == held:
        return None
    glue.update_table(
        CatalogId=identity.account,
        DatabaseName=identity.database,
        TableInput=wanted,
        VersionId=table["VersionId"],
        SkipArchive=not archive,  # archiving each registration would fill the account's quota of table versions
    )
    return int(table["VersionId"]) + 1


def _as_input(glue: GlueClient, table: TableTypeDef) -> TableInputTypeDef:
    """What UpdateTable accepts of a definition: asked of the service's model, so that a new key is not lost."""
    shape = cast("StructureShape", glue.meta.service_model.shape_for("TableInput"))
    return cast("TableInputTypeDef", {key: value for key, value in table.items() if key in shape.members})
