"""The descriptor of `apiVersion: cordata.tech/v1`: shape and meaning, nothing of files or engines."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from pipeline_runtime.descriptor.duration import freshness_sla, parse_duration

__all__ = [
    "Contract",
    "Descriptor",
    "Expectations",
    "Metadata",
    "OnFailure",
    "Processing",
    "Source",
    "Step",
    "TableRef",
    "Target",
]

#: Glue folds names to lower case and so do we, or one table would have two names.
CatalogName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,255}$", to_lower=True)]
Text = Annotated[str, StringConstraints(min_length=1)]
ParamName = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_]*$")]

#: Bound by the executor from `--nominal-time`; a step may read them and may not declare them.
RESERVED_PARAMS = frozenset({"nominal_time", "nominal_date"})


class Strict(BaseModel):
    """No unknown key, no change after loading, no stray spaces around a name."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class OnFailure(str, Enum):
    """What a failing suite means for the batch."""

    BLOCK_PUBLISH = "block_publish"
    QUARANTINE = "quarantine"
    WARN = "warn"


class Metadata(Strict):
    name: str = Field(pattern=r"^[a-z][a-z0-9-]{2,63}$", description="The pipeline's name; its job name in lineage.")
    domain: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$", description="The domain that owns the product.")
    owner: Text = Field(description="Whom failures, quarantines and deprecations are addressed to.")


class TableRef(Strict):
    """A catalog address. Source and target are each one, plus their own extras."""

    database: CatalogName = Field(description="The Glue database.")
    table: CatalogName = Field(description="The table in it.")

    @property
    def fqn(self) -> str:
        """`<database>.<table>`, as the trace and the messages name it."""
        return f"{self.database}.{self.table}"


class Source(TableRef):
    kind: Text = Field(description="Which reader reads it.")
    schema_version: int = Field(
        ge=0, strict=True, description="The pin: the catalog version whose columns this pipeline was written against."
    )


class Step(Strict):
    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", description="The step's name in the trace; unique.")
    kind: Text = Field(description="`sql`, or `python` for what SQL cannot say.")
    query_file: Text | None = Field(default=None, description="The SQL file, from the domain root.")
    module: Text | None = Field(default=None, description="The module in the domain's own package.")
    params: dict[ParamName, str] = Field(default_factory=dict, description="Text values bound into the step.")

    @model_validator(mode="after")
    def exactly_one_body(self) -> Self:
        if (self.query_file is None) == (self.module is None):
            raise ValueError(f"step {self.id}: set exactly one of query_file / module")
        body = {"sql": "query_file", "python": "module"}.get(self.kind)
        if body is not None and getattr(self, body) is None:
            raise ValueError(f"step {self.id}: a step of kind {self.kind} has a {body}")
        if reserved := RESERVED_PARAMS & self.params.keys():
            raise ValueError(
                f"step {self.id}: {', '.join(sorted(reserved))} is bound by the executor; rename the param"
            )
        return self


class Target(TableRef):
    kind: Text = Field(description="Which writer writes it.")
    partition_by: list[CatalogName] = Field(
        default_factory=list, description="Partition columns; a run replaces the partitions its output touches."
    )
    location: Text = Field(description="The s3:// prefix that holds the table, and nothing else.")

    @model_validator(mode="after")
    def each_partition_column_once(self) -> Self:
        if len(set(self.partition_by)) != len(self.partition_by):
            raise ValueError("partition_by names a column twice")
        return self


class Contract(Strict):
    freshness_sla: Annotated[str, AfterValidator(freshness_sla)] = Field(
        description="How old the product may get: an ISO 8601 duration such as PT4H."
    )
    lf_tags: dict[Text, Text] = Field(description="LF-tags of the product, out of the governance ontology.")

    @property
    def freshness(self) -> timedelta:
        """The SLA as a length of time."""
        return parse_duration(self.freshness_sla)

    @model_validator(mode="after")
    def one_value_a_key(self) -> Self:
        keys = [key.casefold() for key in self.lf_tags]
        if twice := sorted({key for key in keys if keys.count(key) > 1}):
            raise ValueError(f"lf_tags: {', '.join(twice)} is given twice (Lake Formation ignores case)")
        return self


class Expectations(Strict):
    suite: Text = Field(description="The expectation suite, from the domain root.")
    on_failure: OnFailure = Field(description="block_publish, quarantine or warn.")


class Processing(Strict):
    """What Art. 30 GDPR asks of the record of processing; it travels out on every event."""

    purpose: Text = Field(description="What the data is processed for.")
    legal_basis: Literal[
        "consent", "contract", "legal-obligation", "vital-interests", "public-task", "legitimate-interest"
    ] = Field(description="Which of the six bases of Art. 6 GDPR it rests on.")


class Descriptor(Strict):
    """One pipeline, declared."""

    apiVersion: Literal["cordata.tech/v1"] = Field(description="Chooses this model.")
    kind: Literal["TransformPipeline", "IngestionPipeline"] = Field(description="What the pipeline is for.")
    metadata: Metadata
    source: Source
    steps: list[Step] = Field(min_length=1)
    target: Target
    contract: Contract
    expectations: Expectations
    processing: Processing

    @model_validator(mode="after")
    def each_step_id_once(self) -> Self:
        ids = [step.id for step in self.steps]
        if twice := sorted({step_id for step_id in ids if ids.count(step_id) > 1}):
            raise ValueError(f"steps: id {', '.join(twice)} is used twice; each step needs its own")
        return self

    @model_validator(mode="after")
    def source_is_not_target(self) -> Self:
        if self.source.fqn == self.target.fqn:
            raise ValueError(f"source and target are the same table, {self.source.fqn}")
        return self
