"""Reads events back the way a consumer does: with openlineage-python's classes, and with the published schemas."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    catalog_dataset,
    column_lineage_dataset,
    data_quality_assertions_dataset,
    dataset_version_dataset,
    datasource_dataset,
    error_message_run,
    input_statistics_input_dataset,
    nominal_time_run,
    output_statistics_output_dataset,
    ownership_job,
    parent_run,
    processing_engine_run,
    schema_dataset,
    source_code_location_job,
    storage_dataset,
    symlinks_dataset,
    tags_dataset,
)
from referencing import Registry, Resource

from pipeline_runtime.lineage import own_facets

SCHEMAS = Path(own_facets.__file__).parent / "schemas"

OWN = {
    "processing": own_facets.ProcessingJobFacet,
    "cordata_provenance": own_facets.ProvenanceRunFacet,
    "cordata_publish": own_facets.PublishOutputDatasetFacet,
    "cordata_release": own_facets.ReleaseRunFacet,
    "cordata_column_origins": own_facets.ColumnOriginsDatasetFacet,
    "cordata_columns": own_facets.ColumnsDatasetFacet,
    "cordata_slimmed": own_facets.SlimmedRunFacet,
    "cordata_replication": own_facets.ReplicationRunFacet,
    "cordata_landed": own_facets.LandedOutputDatasetFacet,
}


def _symlinks(data: dict[str, Any]) -> Any:
    links = [symlinks_dataset.Identifier(**link) for link in data["identifiers"]]
    return symlinks_dataset.SymlinksDatasetFacet(identifiers=links)


def _schema(data: dict[str, Any]) -> Any:
    columns = [schema_dataset.SchemaDatasetFacetFields(**column) for column in data["fields"]]
    return schema_dataset.SchemaDatasetFacet(fields=columns)


def _edge(data: dict[str, Any]) -> Any:
    module = column_lineage_dataset
    steps = [module.Transformation(**step) for step in data.pop("transformations", ())]
    return module.InputField(**data, transformations=steps)


def _column_lineage(data: dict[str, Any]) -> Any:
    module = column_lineage_dataset
    fields = {name: module.Fields([_edge(edge) for edge in of["inputFields"]]) for name, of in data["fields"].items()}
    return module.ColumnLineageDatasetFacet(fields=fields, dataset=[_edge(edge) for edge in data.get("dataset", ())])


def _tags(data: dict[str, Any]) -> Any:
    return tags_dataset.TagsDatasetFacet(tags=[tags_dataset.TagsDatasetFacetFields(**tag) for tag in data["tags"]])


def _assertions(data: dict[str, Any]) -> Any:
    module = data_quality_assertions_dataset
    return module.DataQualityAssertionsDatasetFacet(
        assertions=[module.Assertion(**assertion) for assertion in data["assertions"]]
    )


def _parent(data: dict[str, Any]) -> Any:
    return parent_run.ParentRunFacet(run=parent_run.Run(**data["run"]), job=parent_run.Job(**data["job"]))


def _owners(data: dict[str, Any]) -> Any:
    return ownership_job.OwnershipJobFacet(owners=[ownership_job.Owner(**owner) for owner in data["owners"]])


#: Which class reads a facet; every facet of our events must be here.
READERS: Mapping[str, Any] = {
    **{name: lambda data, facet=facet: facet(**data) for name, facet in OWN.items()},
    "processing_engine": lambda data: processing_engine_run.ProcessingEngineRunFacet(**data),
    "nominalTime": lambda data: nominal_time_run.NominalTimeRunFacet(**data),
    "errorMessage": lambda data: error_message_run.ErrorMessageRunFacet(**data),
    "parent": _parent,
    "ownership": _owners,
    "sourceCodeLocation": lambda data: source_code_location_job.SourceCodeLocationJobFacet(**data),
    "schema": _schema,
    "symlinks": _symlinks,
    "catalog": lambda data: catalog_dataset.CatalogDatasetFacet(**data),
    "tags": _tags,
    "dataQualityAssertions": _assertions,
    "columnLineage": _column_lineage,
    "version": lambda data: dataset_version_dataset.DatasetVersionDatasetFacet(**data),
    "storage": lambda data: storage_dataset.StorageDatasetFacet(**data),
    "dataSource": lambda data: datasource_dataset.DatasourceDatasetFacet(**data),
    "inputStatistics": lambda data: input_statistics_input_dataset.InputStatisticsInputDatasetFacet(**data),
    "outputStatistics": lambda data: output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(**data),
}


def read_back(body: bytes) -> RunEvent:
    """The event in openlineage-python's classes; raises where they do not know a field."""
    data = json.loads(body)
    return RunEvent(
        eventType=RunState(data["eventType"]),
        eventTime=data["eventTime"],
        producer=data["producer"],
        run=Run(runId=data["run"]["runId"], facets=_facets(data["run"])),
        job=Job(namespace=data["job"]["namespace"], name=data["job"]["name"], facets=_facets(data["job"])),
        inputs=[
            InputDataset(
                namespace=each["namespace"],
                name=each["name"],
                facets=_facets(each),
                inputFacets=_facets(each, "inputFacets"),
            )
            for each in data["inputs"]
        ],
        outputs=[
            OutputDataset(
                namespace=each["namespace"],
                name=each["name"],
                facets=_facets(each),
                outputFacets=_facets(each, "outputFacets"),
            )
            for each in data["outputs"]
        ],
    )


def _facets(holder: dict[str, Any], where: str = "facets") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, facet in holder[where].items():
        if name == "environment-properties":
            found[name] = facet
            continue
        own = {key: value for key, value in facet.items() if not key.startswith("_")}
        found[name] = READERS[name](own)
        found[name]._producer = facet["_producer"]
    return found


def facets_of(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every facet of an event, by `<holder>.<facet>`."""
    holders = {"run": data["run"], "job": data["job"]}
    holders |= {f"input{n}": each for n, each in enumerate(data["inputs"])}
    holders |= {f"output{n}": each for n, each in enumerate(data["outputs"])}
    return {
        f"{holder}.{name}": facet
        for holder, about in holders.items()
        for where in ("facets", "inputFacets", "outputFacets")
        for name, facet in about.get(where, {}).items()
    }


def own_schema_problems(name: str, facet: dict[str, Any]) -> list[str]:
    """What the schema that the facet itself names says against it."""
    file, _, pointer = facet["_schemaURL"].rpartition("/schemas/")[2].partition("#")
    schema = json.loads((SCHEMAS / file).read_text(encoding="utf-8"))
    assert pointer == f"/$defs/{OWN[name].__name__}"
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    return [error.message for error in validator.iter_errors(facet)]


def specification() -> Registry[Any] | None:
    """OpenLineage's own JSON Schemas, from a checkout's `spec` folder named by OPENLINEAGE_SPEC."""
    folder = os.environ.get("OPENLINEAGE_SPEC")
    if folder is None:
        return None
    registry: Registry[Any] = Registry()
    for file in [Path(folder) / "OpenLineage.json", *sorted((Path(folder) / "facets").glob("*.json"))]:
        schema = json.loads(file.read_text(encoding="utf-8"))
        registry = registry.with_resource(schema["$id"], Resource.from_contents(schema))
    return registry
