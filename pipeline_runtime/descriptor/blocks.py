"""What every `apiVersion` has in common: names, text and the blocks of a descriptor whose shape no version changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from pipeline_runtime.descriptor.duration import DURATION_PATTERN, freshness_sla
from pipeline_runtime.descriptor.location import LOCATION_PATTERN, checked_location

__all__ = [
    "COLUMN_NAME",
    "PATTERN_WORDS",
    "RESERVED_PARAMS",
    "CatalogName",
    "Duration",
    "Expectations",
    "Kind",
    "Location",
    "Metadata",
    "OnFailure",
    "PartitionColumns",
    "Places",
    "Processing",
    "Step",
    "Strict",
    "TableRef",
    "Tags",
    "Target",
    "Text",
    "Version",
    "across_blocks",
    "repeated",
    "step_body_problem",
]

_PIPELINE_NAME = r"^[a-z][a-z0-9-]{2,63}$"
_DOMAIN_NAME = r"^[a-z][a-z0-9_-]{0,62}$"
_CATALOG_NAME = r"^[A-Za-z0-9_-]{1,255}$"
COLUMN_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,254}$"
_STEP_ID = r"^[A-Za-z][A-Za-z0-9_-]*$"
_PARAM_NAME = r"^[a-z_][a-z0-9_]*$"

#: Each pattern in words, for messages.
PATTERN_WORDS = {
    _PIPELINE_NAME: "3 to 64 lower-case letters, digits and hyphens, a letter first",
    _DOMAIN_NAME: "up to 63 lower-case letters, digits, hyphens and underscores, a letter first",
    _CATALOG_NAME: "up to 255 letters, digits, underscores and hyphens",
    COLUMN_NAME: "up to 255 letters, digits and underscores, no digit first",
    _STEP_ID: "letters, digits, underscores and hyphens, a letter first",
    _PARAM_NAME: "lower-case letters, digits and underscores, no digit first",
}

#: Bound by the executor from `--nominal-time`; a step may read them and may not declare them.
RESERVED_PARAMS = frozenset({"nominal_time", "nominal_date"})


def _not_reserved(name: str) -> str:
    if name in RESERVED_PARAMS:
        raise ValueError(f"{name} is bound by the executor; rename the param")
    return name


def _each_column_once(columns: list[str]) -> list[str]:
    if twice := repeated(columns):
        raise ValueError(f"names {', '.join(twice)} twice")
    return columns


def _each_key_once(mapping: object) -> object:
    """Before keys are stripped, or the last of two would win unseen."""
    if isinstance(mapping, dict) and (twice := repeated(str(key).strip().casefold() for key in mapping)):
        raise ValueError(f"{', '.join(twice)} is given twice (case and spaces around a key do not count)")
    return mapping


def repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


#: Glue folds names to lower case and so do we, or one table would have two names.
CatalogName = Annotated[str, StringConstraints(pattern=_CATALOG_NAME, to_lower=True)]
Text = Annotated[str, StringConstraints(min_length=1)]
Duration = Annotated[
    str, AfterValidator(freshness_sla), WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN})
]
Location = Annotated[
    str, AfterValidator(checked_location), WithJsonSchema({"type": "string", "pattern": LOCATION_PATTERN})
]
#: The pin: the catalog counts versions from 0.
Version = Annotated[int, Field(ge=0, strict=True)]
Kind = Literal["TransformPipeline", "IngestionPipeline"]
PartitionColumns = Annotated[list[CatalogName], AfterValidator(_each_column_once)]
#: Lake Formation ignores the case of a tag's key, so a key has one value.
Tags = Annotated[dict[Text, Text], BeforeValidator(_each_key_once)]
ParamName = Annotated[str, StringConstraints(pattern=_PARAM_NAME), AfterValidator(_not_reserved)]
Params = Annotated[dict[ParamName, str], BeforeValidator(_each_key_once)]


class Strict(BaseModel):
    """No unknown key, no change after loading, no stray spaces around a name."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True, defer_build=True)


class OnFailure(str, Enum):
    """What a failing suite means for the batch."""

    BLOCK_PUBLISH = "block_publish"
    QUARANTINE = "quarantine"
    WARN = "warn"


class Metadata(Strict):
    """What the pipeline is called, and whose it is."""

    name: str = Field(pattern=_PIPELINE_NAME, description="The pipeline's name; its job name in lineage.")
    domain: str = Field(pattern=_DOMAIN_NAME, description="The domain that owns the product.")
    owner: Text = Field(description="Whom failures, quarantines and deprecations are addressed to.")


class TableRef(Strict):
    """A catalog address. Source and target are each one, plus their own extras."""

    database: CatalogName = Field(description="The Glue database.")
    table: CatalogName = Field(description="The table in it.")

    @property
    def fqn(self) -> str:
        """`<database>.<table>`, as the trace and the messages name it."""
        return f"{self.database}.{self.table}"


def step_body_problem(kind: object, has_query_file: bool, has_module: bool) -> str | None:
    """Why a step of that kind cannot have that body; None where it can."""
    if has_query_file == has_module:
        return "set exactly one of query_file / module"
    body = {"sql": "query_file", "python": "module"}.get(kind) if isinstance(kind, str) else None
    if body is not None and body != ("query_file" if has_query_file else "module"):
        return f"a step of kind {kind} has a {body}"
    return None


class Step(Strict):
    """One thing done to the rows; its result is what the next step sees."""

    id: str = Field(pattern=_STEP_ID, description="The step's name in the trace; unique.")
    kind: Text = Field(description="`sql`, or `python` for what SQL cannot say.")
    query_file: Text | None = Field(default=None, description="The SQL file, from the domain root.")
    module: Text | None = Field(default=None, description="The module in the domain's own package.")
    params: Params = Field(default_factory=dict, description="Text values bound into the step.")

    @model_validator(mode="after")
    def exactly_one_body(self) -> Self:
        if problem := step_body_problem(self.kind, self.query_file is not None, self.module is not None):
            raise ValueError(f"step {self.id}: {problem}")
        return self


class Target(TableRef):
    """Where the product is published."""

    kind: Text = Field(description="Which writer writes it.")
    partition_by: PartitionColumns = Field(
        default_factory=list, description="Partition columns; a run replaces the partitions its output touches."
    )
    location: Location = Field(description="The s3:// prefix that holds the table, and nothing else.")


class Expectations(Strict):
    """The rules that every batch must pass before it is published, and what becomes of one that does not."""

    suite: Text = Field(description="The expectation suite, from the domain root.")
    on_failure: OnFailure = Field(description="block_publish, quarantine or warn.")


class Processing(Strict):
    """What Art. 30 GDPR asks of the record of processing; it travels out on every event."""

    purpose: Text = Field(description="What the data is processed for.")
    legal_basis: Literal[
        "consent", "contract", "legal-obligation", "vital-interests", "public-task", "legitimate-interest"
    ] = Field(description="Which of the six bases of Art. 6 GDPR it rests on.")


@dataclass(frozen=True)
class Places:
    """Where one `apiVersion` keeps what others keep elsewhere: the paths of the pin and of the target's contract."""

    pin: tuple[str, ...]
    contract: tuple[str, ...]


def across_blocks(steps: list[Step], source: TableRef, target: TableRef) -> None:
    """The rules that hold between blocks. Raises ValueError for a step id used twice, a source that is the target."""
    if twice := repeated(step.id for step in steps):
        raise ValueError(f"steps: id {', '.join(twice)} is used twice; each step needs its own")
    if source.fqn == target.fqn:
        raise ValueError(f"source and target are the same table, {source.fqn}")
