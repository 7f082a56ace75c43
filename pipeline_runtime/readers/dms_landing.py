"""The files that AWS DMS lands for one source table, read as the rows that the table holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pipeline_runtime.catalog.parameters import CDC_BEFORE_PREFIX, CDC_SEQUENCE, CDC_STRICT, CDC_TIMESTAMP
from pipeline_runtime.catalog.table import PinnedSource
from pipeline_runtime.engine.metrics import observed
from pipeline_runtime.errors import SchemaMismatch
from pipeline_runtime.readers.cdc import ORPHAN_UPDATES, collapse_cdc
from pipeline_runtime.readers.dms_parameters import OP, DmsLanding, check_dms
from pipeline_runtime.readers.parquet_files import read_parquet
from pipeline_runtime.readers.parquet_fit import check_files, keeps
from pipeline_runtime.readers.parquet_footers import FileGroup, read_footers
from pipeline_runtime.readers.parquet_listing import list_files
from pipeline_runtime.readers.reading import Reading
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.enforce import enforce

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["read_dms_landing"]

_FILE, _ROW = "__file_path", "__row_index"


def read_dms_landing(spark: SparkSession, source: PinnedSource, _spark_catalog: str) -> Reading:
    """One row per primary key, as the files below the table's location leave it: the pinned business columns.

    A full load (`LOAD00000001.parquet`) and changes (`20240102-030405006.parquet`) lie in any folders below the
    location. Keys and technical columns are named by the table's Parameters (see `check_dms`); technical columns
    may be columns of the catalog's table or not, and never leave this reader. How rows follow one another is
    told by `collapse_cdc`. Updates of rows that never came become a warning, or with `cordata.cdc_strict` an error.

    Only footers are read here; the frame is lazy. Raises CatalogError where the Parameters or the location cannot
    be used, SchemaMismatch where a file fits neither the pin nor the Parameters, ChangeLogRefused where nothing
    orders the changes.
    """
    from pyspark.sql import Observation

    fqn = source.table.identity.fqn
    landing = check_dms(source.table)
    business = landing.business(source.pinned)
    files = list_files(spark, source.table.location, fqn)
    groups = read_footers(spark, files, fqn)
    wanted = Schema((*business, *_technical(groups, landing, source.pinned)))
    _check(groups, wanted, landing, source.pinned, fqn)
    log = read_parquet(
        spark,
        files,
        wanted,
        fqn,
        extra_columns={_FILE: "file_path", _ROW: "row_index"},
        on_unpinned="ignore",
        groups=groups,
    )
    seen = Observation("dms_landing")
    rows = collapse_cdc(
        log,
        keys=landing.keys,
        op=OP,
        timestamp=landing.timestamp,
        sequence=landing.sequence,
        before_prefix=landing.before_prefix,
        position=(_FILE, _ROW),
        strict=landing.strict,
        observation=seen,
        table=fqn,
    )
    return Reading(
        enforce(rows, Schema(business), fqn), lambda: _warnings(fqn, landing, observed(spark, seen, ORPHAN_UPDATES))
    )


def _technical(groups: Sequence[FileGroup], landing: DmsLanding, pinned: Schema) -> list[Column]:
    """The technical columns that the collapse needs and some file has, each in a type that holds all files' values."""
    columns = [Column(OP, "string")] if _types(groups, OP) else []
    for name in (landing.timestamp, landing.sequence):
        if name is not None and (types := _types(groups, name)):
            columns.append(Column(name, _widest(types)))
    if landing.before_prefix is not None:
        for key in landing.keys:
            image, held = landing.before_prefix + key, pinned.find(key)
            if held is not None and _types(groups, image):
                columns.append(Column(image, held.type))
    return columns


def _types(groups: Iterable[FileGroup], name: str) -> list[str]:
    """The types in which the files have a column, whatever its case; the file's own word where Spark reads none."""
    folded = name.casefold()
    return [
        column.type or column.parquet
        for group in groups
        for column in group.columns
        if column.name.casefold() == folded
    ]


def _widest(types: Sequence[str]) -> str:
    """A type that holds the values of all; where there is none the last, for which `check_files` names the others."""
    return next((wide for wide in types if all(keeps(type_, wide) for type_ in types)), types[-1])


def _check(groups: Sequence[FileGroup], wanted: Schema, landing: DmsLanding, pinned: Schema, fqn: str) -> None:
    """Refuses files that fit neither the pin nor the Parameters, before a change log is made of them."""
    there = {column.name for group in groups for column in group.columns}
    known = {name for name in there if landing.is_technical(name, pinned.names) or wanted.find(name)}
    try:
        check_files(groups, tuple(wanted), fqn, allowed=frozenset(name.casefold() for name in known))
    except SchemaMismatch as error:
        if there == known:
            raise
        raise SchemaMismatch(
            f"{error}\n{fqn}: a column that AWS DMS adds belongs to no pin: the table's Parameters name it "
            f"({CDC_TIMESTAMP}, {CDC_SEQUENCE}, {CDC_BEFORE_PREFIX})."
        ) from error


def _warnings(fqn: str, landing: DmsLanding, orphans: int | None) -> tuple[str, ...]:
    if orphans == 0:
        return ()
    count = "it is not known how many updates are" if orphans is None else f"{orphans:,} updates are"
    remedy = (
        "Older files are gone; load the table anew"
        if landing.before_prefix
        else "Primary keys were changed, and then the old rows are still there, or older files are gone. Have DMS "
        f"write before-images and name their prefix ({CDC_BEFORE_PREFIX}), or load the table anew"
    )
    return (f"{fqn}: {count} of keys that no earlier row has left. {remedy}; {CDC_STRICT}=true makes this an error.",)
