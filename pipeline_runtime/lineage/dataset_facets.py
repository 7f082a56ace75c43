"""The facets of datasets: what they are called, what they hold, what was found out about them."""

from __future__ import annotations

from collections.abc import Mapping

from openlineage.client.facet_v2 import (
    catalog_dataset,
    data_quality_assertions_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    symlinks_dataset,
    tags_dataset,
)

from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.descriptor.blocks import OnFailure
from pipeline_runtime.lineage.identity import DatasetIdentity
from pipeline_runtime.lineage.own_facets import PRODUCER, PublishOutputDatasetFacet
from pipeline_runtime.quality.result import AssertionResult, ValidationResult
from pipeline_runtime.schema.columns import Schema
from pipeline_runtime.writers.plan import Published

__all__ = [
    "assertions_facet",
    "catalog_facet",
    "publish_facet",
    "schema_facet",
    "statistics_facet",
    "symlinks_facet",
    "tags_facet",
]


def symlinks_facet(identity: DatasetIdentity) -> symlinks_dataset.SymlinksDatasetFacet:
    return symlinks_dataset.SymlinksDatasetFacet(
        identifiers=[
            symlinks_dataset.Identifier(namespace=link.namespace, name=link.name, type=link.type)
            for link in identity.symlinks
        ],
        producer=PRODUCER,
    )


def schema_facet(schema: Schema) -> schema_dataset.SchemaDatasetFacet:
    """The columns in order, their types in canonical spelling."""
    return schema_dataset.SchemaDatasetFacet(
        fields=[
            schema_dataset.SchemaDatasetFacetFields(
                name=column.name, type=column.type, ordinal_position=position, fields=None
            )
            for position, column in enumerate(schema, start=1)
        ],
        producer=PRODUCER,
    )


def catalog_facet(
    identity: TableIdentity, *, is_iceberg: bool, location: str | None
) -> catalog_dataset.CatalogDatasetFacet:
    """Where the table is registered: the Glue Data Catalog, by its id, so that every account names it alike."""
    return catalog_dataset.CatalogDatasetFacet(
        framework="iceberg" if is_iceberg else "hive",
        type="glue",
        name=identity.account,
        metadataUri=f"{identity.namespace}:catalog",
        warehouseUri=location,
        source="spark",
        catalogProperties=None,
        producer=PRODUCER,
    )


def tags_facet(tags: Mapping[str, str]) -> tags_dataset.TagsDatasetFacet:
    """The LF-tags of a dataset, by key."""
    return tags_dataset.TagsDatasetFacet(
        tags=[
            tags_dataset.TagsDatasetFacetFields(key=key, value=tags[key], source="LAKE_FORMATION")
            for key in sorted(tags)
        ],
        producer=PRODUCER,
    )


def statistics_facet(published: Published) -> output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet:
    return output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=published.rows, producer=PRODUCER
    )


def publish_facet(published: Published) -> PublishOutputDatasetFacet:
    return PublishOutputDatasetFacet(
        rows=published.rows,
        partitions=published.partitions,
        replaced=published.replaced,
        snapshot_id=published.snapshot_id,
        producer=PRODUCER,
    )


def assertions_facet(
    result: ValidationResult, on_failure: OnFailure
) -> data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet:
    """The suite's verdict, an assertion each, passing ones too."""
    severity = "warn" if on_failure is OnFailure.WARN else "error"
    return data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
        assertions=[_assertion(assertion, severity) for assertion in result.assertions], producer=PRODUCER
    )


def _assertion(result: AssertionResult, severity: str) -> data_quality_assertions_dataset.Assertion:
    rows = None if result.evaluated_rows is None else {"evaluated_rows": result.evaluated_rows}
    return data_quality_assertions_dataset.Assertion(
        assertion=result.assertion,
        success=result.success,
        column=result.column,
        severity=severity,
        expected=result.expected,
        actual=result.actual if result.actual is not None else result.detail,
        params=rows,
    )
