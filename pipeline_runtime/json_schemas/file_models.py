"""Suites and recorded columns as models: the shape of files whose readers judge them by hand, for better words."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from pipeline_runtime.descriptor.blocks import CatalogName, Strict, Text, Version
from pipeline_runtime.quality.expectation_types import type_table

__all__ = ["PinFile", "SuiteFile"]

_ExpectationName = Annotated[str, WithJsonSchema({"type": "string", "enum": sorted(type_table().types)})]


class ExpectationItem(Strict):
    """One rule."""

    type: _ExpectationName = Field(description="What is expected, by Great Expectations' name for it.")
    kwargs: dict[str, Any] = Field(
        default_factory=dict,
        description="What the rule is about: column, bounds, mostly and the like, as the type takes them.",
    )


class SuiteFile(Strict):
    """The rules that every batch of a product is held against before it is published."""

    suite_name: Text = Field(description="The suite's name, as the trace and the events show it.")
    expectations: list[ExpectationItem] = Field(
        min_length=1, description="The rules; an empty suite would pass anything."
    )


class RecordedColumn(Strict):
    """One column as the catalog had it."""

    name: Text = Field(description="The column's name.")
    type: Text = Field(description="Its type as the catalog spells it, such as bigint or decimal(12,2).")
    nullable: bool | None = Field(
        default=None, description="Whether it may hold NULL; left out where the catalog does not say."
    )
    field_id: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Iceberg's id of the field: a column dropped and added again is another one."
    )


class PinFile(Strict):
    """What `schema_version: N` of a source means: its columns at that version of the catalog."""

    database: CatalogName = Field(description="The Glue database, as in the file's name.")
    table: CatalogName = Field(description="The table, as in the file's name.")
    schema_version: Version = Field(description="The version that a pin names, as in the file's name.")
    producer: Text | None = Field(default=None, description="Who published that version.")
    release: Text | None = Field(default=None, description="The producer's release that published it.")
    columns: list[RecordedColumn] = Field(min_length=1, description="All columns, partition columns included.")
