"""Adding facts to a table in the Glue Data Catalog without taking any away (design decision D5)."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from pipeline_runtime.catalog.answers import code_of, named, refused
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.errors import CatalogConflict, CatalogError, TableNotFound

if TYPE_CHECKING:
    from botocore.model import StructureShape
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import TableInputTypeDef, TableTypeDef

__all__ = ["set_parameters"]

#: Seconds before the second attempt; doubled for each further one.
_PAUSE = 0.1


def set_parameters(
    glue: GlueClient, identity: TableIdentity, changes: Mapping[str, str | None], *, attempts: int = 5
) -> dict[str, str | None]:
    """Sets table Parameters, removing those whose value is None; everything else of the table stays as it is.

    Returns what the changed keys held before, None for those that were not there: passing it back undoes the
    change. Makes no update where nothing changes. UpdateTable replaces the whole definition, so it is sent back
    as just read, under the version just read: where another writer was faster, the definition is read again.
    Raises CatalogConflict after `attempts`, TableNotFound, CatalogError.
    """
    from botocore.exceptions import ClientError

    for attempt in range(attempts):
        if attempt:
            # Random, so that two jobs that collided do not collide again.
            time.sleep(_PAUSE * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))  # noqa: S311
        try:
            return _try_to_set(glue, identity, changes)
        except ClientError as error:
            code = code_of(error)
            if code == "EntityNotFoundException":
                raise TableNotFound(f"{identity.fqn} is not in {named(identity.account)}") from error
            if code != "ConcurrentModificationException":
                raise CatalogError(refused(error, f"update {identity.fqn} in {named(identity.account)}")) from error
    raise CatalogConflict(
        f"{identity.fqn} in {named(identity.account)}: another writer changed the table in each of {attempts} "
        f"attempts to set {', '.join(sorted(changes))}. Nothing of ours was set; run again when it is quieter."
    )


def _try_to_set(glue: GlueClient, identity: TableIdentity, changes: Mapping[str, str | None]) -> dict[str, str | None]:
    table = glue.get_table(CatalogId=identity.account, DatabaseName=identity.database, Name=identity.table)["Table"]
    parameters = table.get("Parameters", {})
    previous = {key: parameters.get(key) for key, value in changes.items() if parameters.get(key) != value}
    if previous:
        wanted = {**parameters, **changes}
        table_input = _as_input(glue, table)
        table_input["Parameters"] = {key: value for key, value in wanted.items() if value is not None}
        glue.update_table(
            CatalogId=identity.account,
            DatabaseName=identity.database,
            TableInput=table_input,
            VersionId=table["VersionId"],
            SkipArchive=True,  # archiving each registration would fill the account's quota of table versions
        )
    return previous


def _as_input(glue: GlueClient, table: TableTypeDef) -> TableInputTypeDef:
    """What UpdateTable accepts of a definition: asked of the service's model, so that a new key is not lost."""
    shape = cast("StructureShape", glue.meta.service_model.shape_for("TableInput"))
    return cast("TableInputTypeDef", {key: value for key, value in table.items() if key in shape.members})
