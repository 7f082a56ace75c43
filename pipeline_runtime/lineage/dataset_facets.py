"""The facets of datasets: what they are called, what they hold, what was found out about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from openlineage.client.facet_v2 import (
    DatasetFacet,
    catalog_dataset,
    column_lineage_dataset,
    data_quality_assertions_dataset,
    dataset_version_dataset,
    datasource_dataset,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    storage_dataset,
    symlinks_dataset,
    tags_dataset,
)

from pipeline_runtime.catalog.locations import bucket_root
from pipeline_runtime.catalog.table import TableIdentity
from pipeline_runtime.descriptor.blocks import OnFailure
from pipeline_runtime.lineage.column_lineage import ColumnLineage, InputColumn
from pipeline_runtime.lineage.folding import Observed, Size
from pipeline_runtime.lineage.identity import DatasetIdentity
from pipeline_runtime.lineage.own_facets import (
    PRODUCER,
    ColumnOriginsDatasetFacet,
    ColumnsDatasetFacet,
    PublishOutputDatasetFacet,
)
from pipeline_runtime.quality.result import AssertionResult, ValidationResult
from pipeline_runtime.schema.columns import Schema
from pipeline_runtime.schema.meaning import DeclaredColumn
from pipeline_runtime.writers.plan import Published

__all__ = [
    "assertions_facet",
    "catalog_facet",
    "column_lineage_facet",
    "column_origins_facet",
    "columns_facet",
    "input_statistics_facet",
    "place_facets",
    "publish_facet",
    "schema_facet",
    "statistics_facet",
    "symlinks_facet",
    "tags_facet",
    "version_facet",
]


def symlinks_facet(identity: DatasetIdentity) -> symlinks_dataset.SymlinksDatasetFacet:
    return symlinks_dataset.SymlinksDatasetFacet(
        identifiers=[
            symlinks_dataset.Identifier(namespace=link.namespace, name=link.name, type=link.type)
            for link in identity.symlinks
        ],
        producer=PRODUCER,
    )


def schema_facet(schema: Schema, declared: Iterable[DeclaredColumn] = ()) -> schema_dataset.SchemaDatasetFacet:
    """The columns in order, their types in canonical spelling, with the descriptions that a contract declares."""
    described = {column.name.casefold(): column.description for column in declared}
    return schema_dataset.SchemaDatasetFacet(
        fields=[
            schema_dataset.SchemaDatasetFacetFields(
                name=column.name,
                type=column.type,
                description=described.get(column.name.casefold()),
                ordinal_position=position,
                fields=None,
            )
            for position, column in enumerate(schema, start=1)
        ],
        producer=PRODUCER,
    )


def columns_facet(declared: Iterable[DeclaredColumn]) -> ColumnsDatasetFacet:
    """What a contract declares about the columns; their types and descriptions are in `schema`."""
    texts = ("unit", "definition", "classification")
    return ColumnsDatasetFacet(
        columns=[
            {
                "name": column.name,
                "nullable": column.nullable,
                **{key: getattr(column, key) for key in texts if getattr(column, key) is not None},
            }
            for column in declared
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


def place_facets(location: str, *, is_iceberg: bool, file_format: str | None) -> dict[str, DatasetFacet]:
    """Where and how a table's files are stored; `location` is an s3:// prefix, the format None where nobody asked."""
    return {
        "dataSource": datasource_dataset.DatasourceDatasetFacet(
            name=bucket_root(location), uri=location, producer=PRODUCER
        ),
        "storage": storage_dataset.StorageDatasetFacet(
            storageLayer="iceberg" if is_iceberg else "hive", fileFormat=file_format, producer=PRODUCER
        ),
    }


def version_facet(snapshot_id: int) -> dataset_version_dataset.DatasetVersionDatasetFacet:
    """The Iceberg snapshot that was read, or that is current since the publish."""
    return dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=str(snapshot_id), producer=PRODUCER)


def column_lineage_facet(lineage: ColumnLineage) -> column_lineage_dataset.ColumnLineageDatasetFacet:
    """The edges, in a fixed order."""
    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            column: column_lineage_dataset.Fields(inputFields=[_edge(each) for each in inputs])
            for column, inputs in lineage.columns.items()
        },
        dataset=[_edge(each) for each in lineage.rows],
        producer=PRODUCER,
    )


def column_origins_facet(observed: Observed) -> ColumnOriginsDatasetFacet:
    """What the column lineage leaves open."""
    absence = observed.absence
    return ColumnOriginsDatasetFacet(
        complete=absence.is_complete,
        constants=list(absence.constants),
        unknown=[{"columns": list(group.columns), "reason": group.reason} for group in absence.unknown],
        limits=list(absence.limits),
        undeclared_inputs=[{"namespace": namespace, "name": name} for namespace, name in observed.undeclared],
        producer=PRODUCER,
    )


def input_statistics_facet(size: Size) -> input_statistics_input_dataset.InputStatisticsInputDatasetFacet:
    return input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
        rowCount=size.rows, size=size.bytes, fileCount=size.files, producer=PRODUCER
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


def statistics_facet(
    published: Published, written: Size
) -> output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet:
    """Rows as the commit or the files' footers count them, bytes as the listener saw them written.

    Not the listener's number of files: it says one where a file was written for each of several partitions.
    """
    return output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=published.rows, size=written.bytes if published.replaced else None, producer=PRODUCER
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


def _edge(column: InputColumn) -> column_lineage_dataset.InputField:
    namespace, name = column.dataset
    return column_lineage_dataset.InputField(
        namespace=namespace,
        name=name,
        field=column.column,
        transformations=[
            column_lineage_dataset.Transformation(
                type=each.type, subtype=each.subtype or None, masking=True if each.masking else None
            )
            for each in column.transformations
        ],
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
