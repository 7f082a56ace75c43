"""A proposal: the version of a table that an application intends to publish, as a file its release carries.

    producer: card-ledger
    release: v5.0.0
    database: fraud_raw
    table: transactions
    schema_version: 8
    columns:
      - {name: tx_id, type: string, nullable: false}
      - {name: amount, type: "decimal(12,2)", nullable: false, unit: EUR, definition: gross of fees}

All columns are listed, not only the changed ones. What a column means may be declared beside its shape.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError

from pipeline_runtime.descriptor.explain import explain, path_of
from pipeline_runtime.descriptor.v1 import CatalogName, Strict, Text
from pipeline_runtime.descriptor.yaml_source import YamlDocument, YamlPath, dotted, read_yaml
from pipeline_runtime.errors import DescriptorError, Problem, ProposalError
from pipeline_runtime.schema.columns import Column, Schema
from pipeline_runtime.schema.types import canonical

__all__ = ["LoadedProposal", "Proposal", "ProposedColumn", "load_proposal"]


def _known_type(text: str) -> str:
    return canonical(text)


class ProposedColumn(Strict):
    """One column of the proposed version. `nullable` is asked for: without it a loosened promise could not be seen."""

    name: Text = Field(description="The column's name; names differ in more than their case.")
    type: Annotated[Text, AfterValidator(_known_type)] = Field(
        description="The column's type as the catalog spells it, such as bigint or decimal(12,2)."
    )
    nullable: bool = Field(strict=True, description="Whether the column may hold NULL.")
    description: Text | None = Field(default=None, description="What the column holds, in a sentence.")
    unit: Text | None = Field(default=None, description="The unit of its values, such as EUR or seconds.")
    definition: Text | None = Field(default=None, description="How its values come about: what counts, what does not.")
    classification: Text | None = Field(default=None, description="How sensitive it is, in governance's own words.")

    @property
    def column(self) -> Column:
        """Its shape."""
        return Column(self.name, self.type, self.nullable)


def _each_column_once(columns: list[ProposedColumn]) -> list[ProposedColumn]:
    counted = Counter(column.name.casefold() for column in columns)
    if twice := sorted(name for name, count in counted.items() if count > 1):
        raise ValueError(f"names {', '.join(twice)} twice (case does not count)")
    return columns


class Proposal(Strict):
    """The version of a table that a release of its producer intends to publish."""

    producer: Text = Field(description="The application that publishes the table, such as card-ledger.")
    release: Text = Field(description="The release that would publish this version, such as v5.0.0.")
    database: CatalogName = Field(description="The Glue database.")
    table: CatalogName = Field(description="The table in it.")
    schema_version: int = Field(ge=0, strict=True, description="The version that the release intends to publish.")
    columns: Annotated[list[ProposedColumn], AfterValidator(_each_column_once)] = Field(
        min_length=1, description="All columns of that version, partition columns included."
    )

    @property
    def fqn(self) -> str:
        """`<database>.<table>`, in the catalog's lower case."""
        return f"{self.database}.{self.table}"

    @property
    def schema(self) -> Schema:  # type: ignore[override]  # pydantic's own `schema` went with its version 1
        """The proposed columns in canonical types."""
        return Schema(tuple(column.column for column in self.columns))


@dataclass(frozen=True)
class LoadedProposal:
    """A proposal and the file it came from; `document` knows the line of every key."""

    proposal: Proposal
    document: YamlDocument

    def line_of(self, column: str) -> int:
        """The line where the file lists that column; where it lists the columns, if it does not."""
        names = [proposed.name.casefold() for proposed in self.proposal.columns]
        at: YamlPath = ("columns",)
        return self.document.line((*at, names.index(column.casefold())) if column.casefold() in names else at)


def load_proposal(path: Path, shown_as: str | None = None) -> LoadedProposal:
    """The proposal in the file at `path`; `shown_as` is how messages name the file.

    Raises ProposalError with all problems of the file.
    """
    try:
        document, problems, doubts = read_yaml(path, shown_as)
    except DescriptorError as error:
        raise ProposalError(error.problems) from None
    found: dict[YamlPath, str] = {}
    proposal: Proposal | None = None
    try:
        proposal = Proposal.model_validate(document.data)
    except ValidationError as error:
        found = {path_of(refusal): explain(refusal, document, Proposal) for refusal in error.errors(include_url=False)}
    for doubt in doubts:
        found.setdefault(doubt.path, doubt.message)
    problems += [
        Problem(document.shown_as, document.line(at), f"{dotted(at)}: {message}" if at else message)
        for at, message in found.items()
    ]
    if problems or proposal is None:
        raise ProposalError(problems)
    return LoadedProposal(proposal, document)
