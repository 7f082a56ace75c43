"""The two datasets of the job as its events name them, with every edge between their columns written out by hand."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    catalog_dataset,
    column_lineage_dataset,
    dataset_version_dataset,
    datasource_dataset,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    storage_dataset,
    symlinks_dataset,
    tags_dataset,
)

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from benchmarks.handwritten.settings import Settings

__all__ = ["PRODUCER", "TAGS", "Read", "Written", "input_dataset", "output_dataset", "own_facet"]

PRODUCER = "https://github.com/cordata-tech/fraud-jobs"
#: The company's own facets; their schemas come with the platform's release.
_FACETS = (
    f"https://github.com/cordata-tech/pipeline-runtime/tree/{version('pipeline-runtime')}"
    "/pipeline_runtime/lineage/schemas"
)
TAGS = {"residency": "eu", "sensitivity": "high", "subject_type": "customer"}

_SAME = (("DIRECT", "IDENTITY", None),)
_MADE = (("DIRECT", "TRANSFORMATION", None),)
_HASHED = (("DIRECT", "TRANSFORMATION", True),)
_CHOSEN = (("INDIRECT", "CONDITIONAL", None),)
_KEPT = (("INDIRECT", "FILTER", None),)
#: What each column of the scores is made from.
_EDGES: dict[str, dict[str, tuple[tuple[str, str, bool | None], ...]]] = {
    **{
        name: {name: _SAME}
        for name in (
            *("tx_id", "account_id", "iban", "merchant_id"),
            *("country", "channel", "amount", "currency", "settled_at"),
        )
    },
    "fraud_score": {
        "amount": _MADE,
        "booked_at": _CHOSEN,
        "channel": _CHOSEN,
        "country": _CHOSEN,
        "merchant_id": _HASHED,
        "tx_id": _HASHED,
    },
    "scored_date": {"settled_at": _MADE},
}
_CONSTANTS = ["model_version"]


@dataclass(frozen=True)
class Read:
    """What there was to read: the source's snapshot, and what its files hold."""

    columns: StructType
    snapshot_id: int
    rows: int
    files: int
    bytes: int


@dataclass(frozen=True)
class Written:
    """What a write made true; `snapshot_id` is None for parquet files."""

    columns: StructType
    rows: int
    partitions: int
    bytes: int
    snapshot_id: int | None


def input_dataset(settings: Settings, read: Read) -> InputDataset:
    return InputDataset(
        namespace=_glue(settings),
        name=f"table/{settings.source_database}/{settings.source_table}",
        facets={
            **_about(settings, settings.source_database, settings.source_table, settings.source_location, "iceberg"),
            "schema": _schema(read.columns),
            "storage": storage_dataset.StorageDatasetFacet(storageLayer="iceberg", producer=PRODUCER),
            "version": _version(read.snapshot_id),
        },
        inputFacets={
            "inputStatistics": input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
                rowCount=read.rows, size=read.bytes, fileCount=read.files, producer=PRODUCER
            )
        },
    )


def output_dataset(settings: Settings, written: Written) -> OutputDataset:
    layer = "iceberg" if settings.format == "iceberg" else "hive"
    facets: dict[str, Any] = {
        **_about(settings, settings.target_database, settings.target_table, settings.location, layer),
        "schema": _schema(written.columns),
        "storage": storage_dataset.StorageDatasetFacet(storageLayer=layer, fileFormat="parquet", producer=PRODUCER),
        "columnLineage": _column_lineage(settings),
        "cordata_column_origins": own_facet(
            "ColumnOriginsDatasetFacet",
            complete=True,
            constants=_CONSTANTS,
            unknown=[],
            limits=[],
            undeclared_inputs=[],
        ),
        "tags": tags_dataset.TagsDatasetFacet(
            tags=[
                tags_dataset.TagsDatasetFacetFields(key=key, value=value, source="LAKE_FORMATION")
                for key, value in TAGS.items()
            ],
            producer=PRODUCER,
        ),
    }
    if written.snapshot_id is not None:
        facets["version"] = _version(written.snapshot_id)
    amounts: dict[str, Any] = {
        "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rowCount=written.rows, size=written.bytes, producer=PRODUCER
        ),
        "cordata_publish": own_facet(
            "PublishOutputDatasetFacet",
            rows=written.rows,
            partitions=written.partitions,
            replaced=True,
            snapshot_id=written.snapshot_id,
        ),
    }
    return OutputDataset(
        namespace=_glue(settings),
        name=f"table/{settings.target_database}/{settings.target_table}",
        facets=facets,
        outputFacets=amounts,
    )


def own_facet(schema: str, **values: Any) -> dict[str, Any]:
    """One of the company's own facets; what is None is left out."""
    return {"_producer": PRODUCER, "_schemaURL": f"{_FACETS}/{schema}.json#/$defs/{schema}", **values}


def _glue(settings: Settings) -> str:
    return f"arn:aws:glue:{settings.region}:{settings.account}"


def _about(settings: Settings, database: str, table: str, location: str, framework: str) -> dict[str, Any]:
    bucket, _, prefix = location.removeprefix("s3://").partition("/")
    pairs = (
        (_glue(settings), f"table/{database}/{table}", "TABLE"),
        ("cordata.fraud", f"{database}.{table}", "LOGICAL"),
        (f"s3://{bucket}", prefix, "LOCATION"),
    )
    return {
        "symlinks": symlinks_dataset.SymlinksDatasetFacet(
            identifiers=[symlinks_dataset.Identifier(namespace=ns, name=name, type=type_) for ns, name, type_ in pairs],
            producer=PRODUCER,
        ),
        "catalog": catalog_dataset.CatalogDatasetFacet(
            framework=framework,
            type="glue",
            name=settings.account,
            metadataUri=f"{_glue(settings)}:catalog",
            warehouseUri=location,
            source="spark",
            catalogProperties=None,
            producer=PRODUCER,
        ),
        "dataSource": datasource_dataset.DatasourceDatasetFacet(name=f"s3://{bucket}", uri=location, producer=PRODUCER),
    }


def _schema(columns: StructType) -> schema_dataset.SchemaDatasetFacet:
    return schema_dataset.SchemaDatasetFacet(
        fields=[
            schema_dataset.SchemaDatasetFacetFields(
                name=field.name, type=field.dataType.simpleString(), ordinal_position=position, fields=None
            )
            for position, field in enumerate(columns, start=1)
        ],
        producer=PRODUCER,
    )


def _version(snapshot_id: int) -> dataset_version_dataset.DatasetVersionDatasetFacet:
    return dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=str(snapshot_id), producer=PRODUCER)


def _column_lineage(settings: Settings) -> column_lineage_dataset.ColumnLineageDatasetFacet:
    def edge(column: str, how: tuple[tuple[str, str, bool | None], ...]) -> column_lineage_dataset.InputField:
        return column_lineage_dataset.InputField(
            namespace=_glue(settings),
            name=f"table/{settings.source_database}/{settings.source_table}",
            field=column,
            transformations=[
                column_lineage_dataset.Transformation(type=type_, subtype=subtype, masking=masking)
                for type_, subtype, masking in how
            ],
        )

    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            column: column_lineage_dataset.Fields(inputFields=[edge(*each) for each in inputs.items()])
            for column, inputs in _EDGES.items()
        },
        dataset=[edge("status", _KEPT)],
        producer=PRODUCER,
    )
