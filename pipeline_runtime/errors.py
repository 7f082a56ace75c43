"""Every failure the executor raises, in one rooted tree, so that one boundary catches all.

PipelineError
├── UsageError                 the command line, the configuration or the file: exit 2, nothing emitted
│   ├── DescriptorError        every problem of a descriptor file at once
│   │   └── UnknownApiVersion
│   ├── ProposalError          every problem of a producer's proposal at once
│   ├── ConfigurationError     a setting of the deployment is missing or wrong
│   └── SyncRefused            a domain's repository cannot be synced as it is
├── FileProblem                a file the descriptor names is missing, unreadable or outside its domain
├── SuiteError                 the expectation suite or a baseline is wrong
├── SqlRefused                 a step's SQL is not one plain SELECT over `frame`, or its parameters do not fit
├── ModuleRefused              a step's module is no Python, or has no `transform(frame, params)`
├── CatalogError               the catalog does not hold what the descriptor names
│   ├── TableNotFound
│   ├── PinNotRetrievable      nothing records what the pinned version looked like
│   ├── PinAhead               the pin is newer than the catalog
│   ├── SchemaDrift            the columns are not those of the pin
│   ├── VersionDeprecated      the pinned version's last day is over
│   ├── ForeignTarget          the target lives in another account's catalog
│   └── CatalogConflict        others kept changing the table while we tried to
├── PolicyError                LF-tags
│   ├── UnknownTagKey
│   ├── UnknownTagValue
│   └── TagsRefused            Lake Formation answered, and the answer holds failures
├── LocationRefused            a target location that could destroy something
├── ChangeLogRefused           a change log that nothing orders, or that lacks what its Parameters name
├── ReaderUnusable             a domain's own reader cannot be loaded, or failed
├── SchemaMismatch             rows that cannot be held in the pinned or declared types without loss
├── OutputRefused              the steps' output does not fit the target
├── ContractBroken             the output is not what the target's contract declares
├── StepFailed                 a step failed while Spark analysed or ran it
├── PublishBlocked             the suite failed and the descriptor says block_publish
├── Quarantined                the suite failed and the batch went to quarantine: exit 3
├── WriteFailed                the write failed; nothing was published
├── RegistrationFailed         the data is published, its registration is not
├── VersionRefused             a proposed version cannot be published on the table as it is
├── ReleaseRefused             there is nothing to release, or someone else is releasing it
├── IngestionFailed            a replication task failed, or gave a table up
├── IngestionStopped           somebody stopped a replication task before its batch had ended
├── SyncFailed                 the synced copy could not be written; the one before it still counts
├── SyncedFileChanged          a file of the synced copy is not what its manifest says
├── EvidenceFailed             the evidence prefix cannot be read or written
├── RunInterrupted             SIGTERM or an interrupt from the keyboard
└── EngineFailed               anything else: Spark, Python, the network
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline_runtime.quality.result import ValidationResult
    from pipeline_runtime.schema.diff import SchemaDiff

__all__ = [
    "CatalogConflict",
    "CatalogError",
    "ChangeLogRefused",
    "ConfigurationError",
    "ContractBroken",
    "DescriptorError",
    "EngineFailed",
    "EvidenceFailed",
    "FileProblem",
    "ForeignTarget",
    "IngestionFailed",
    "IngestionStopped",
    "LocationRefused",
    "ModuleRefused",
    "OutputRefused",
    "PinAhead",
    "PinNotRetrievable",
    "PipelineError",
    "PolicyError",
    "Problem",
    "ProposalError",
    "PublishBlocked",
    "Quarantined",
    "ReaderUnusable",
    "RegistrationFailed",
    "ReleaseRefused",
    "RunInterrupted",
    "SchemaDrift",
    "SchemaMismatch",
    "SqlRefused",
    "StepFailed",
    "SuiteError",
    "SyncFailed",
    "SyncRefused",
    "SyncedFileChanged",
    "TableNotFound",
    "TagsRefused",
    "UnknownApiVersion",
    "UnknownTagKey",
    "UnknownTagValue",
    "UsageError",
    "VersionDeprecated",
    "VersionRefused",
    "WriteFailed",
]


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong with one file. `line` counts from 1; 0 means the file as a whole."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.message}"


class PipelineError(Exception):
    """Base of every failure the executor raises. `exit_code` is what the process ends with."""

    exit_code = 1
    #: What the suite found, where the run got as far as asking it.
    result: ValidationResult | None = None


class _ManyProblems(PipelineError):
    """An error that reports all problems of its files at once, one a line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageError(PipelineError):
    """The command line, the configuration or the descriptor cannot be used: exit 2, nothing emitted."""

    exit_code = 2


class DescriptorError(_ManyProblems, UsageError):
    """A descriptor file is wrong; every problem with its file and line."""


class UnknownApiVersion(DescriptorError):
    """The file's `apiVersion` names no model this executor has."""


class ProposalError(_ManyProblems, UsageError):
    """A producer's proposal is wrong; every problem with its file and line."""


class ConfigurationError(UsageError):
    """A setting of the deployment is missing or wrong."""


class SyncRefused(UsageError):
    """The repository is invalid, not a commit, or not covered by what is deployed. Nothing was synced."""


class FileProblem(_ManyProblems):
    """Files that the descriptor names are missing, unreadable or outside the domain root."""


class SuiteError(_ManyProblems):
    """The expectation suite, or a baseline it names, is wrong."""


class SqlRefused(_ManyProblems):
    """A step's SQL is not one plain SELECT over `frame`, or its parameters do not fit."""


class ModuleRefused(_ManyProblems):
    """A step's module is no Python, or has no `transform(frame, params)`. Nothing of it was run."""


class CatalogError(PipelineError):
    """The catalog does not hold what the descriptor names."""


class TableNotFound(CatalogError, LookupError):
    """No such database or table in the catalog that was searched."""


class PinNotRetrievable(CatalogError):
    """Neither a recorded schema file nor an archived table version says what the pin means."""


class PinAhead(CatalogError):
    """The descriptor pins a version that the catalog has not reached."""


class SchemaDrift(CatalogError):
    """The source's columns are no longer those of the pin. Nothing was read.

    `diff` is the change of columns since the pin, for the trace's own line.
    """

    def __init__(self, message: str, *, diff: SchemaDiff, pinned_version: int, current_version: int) -> None:
        super().__init__(message)
        self.diff = diff
        self.pinned_version = pinned_version
        self.current_version = current_version


class VersionDeprecated(CatalogError):
    """The producer keeps the pinned version readable until a day that is over. Nothing was read."""


class ForeignTarget(CatalogError):
    """The target resolves to another account's table; writing would change a link's target."""


class CatalogConflict(CatalogError):
    """The table kept changing under us; no attempt went through."""


class PolicyError(PipelineError):
    """A declared LF-tag does not hold against the ontology, or was not set."""


class UnknownTagKey(PolicyError, LookupError):
    """The ontology has no such tag key."""


class UnknownTagValue(PolicyError, ValueError):
    """The ontology has the key, but not this value."""


class TagsRefused(PolicyError):
    """Lake Formation answered 200 with failures inside."""


class LocationRefused(PipelineError, ValueError):
    """The target's location is empty, a bucket's root, climbs, or overlaps another table's."""


class ChangeLogRefused(PipelineError):
    """A change log has no order, or lacks a column that its table's Parameters name. Nothing was read."""


class ReaderUnusable(PipelineError):
    """A domain's own reader (an entry point) is not there, cannot be loaded, or failed."""


class SchemaMismatch(PipelineError):
    """Values that the pinned or declared type cannot hold without loss, or a column that is not there."""


class OutputRefused(PipelineError):
    """The columns that the steps produce do not fit the target. Nothing was written."""


class ContractBroken(PipelineError):
    """The output's columns, or NULLs in them, are not what the target's contract declares. Nothing was published."""


class StepFailed(PipelineError):
    """A step failed while Spark analysed it, or while its Python ran."""


class PublishBlocked(PipelineError):
    """The suite failed and the descriptor says block_publish: nothing is published."""

    def __init__(self, name: str, result: ValidationResult) -> None:
        super().__init__(f"{name}: expectations failed before publish: {result.failing_summary}")
        self.result = result


class Quarantined(PipelineError):
    """The suite failed and the batch was written to the quarantine table instead."""

    exit_code = 3

    def __init__(self, name: str, table: str, result: ValidationResult) -> None:
        super().__init__(f"{name}: expectations failed, batch quarantined in {table}: {result.failing_summary}")
        self.table = table
        self.result = result


class WriteFailed(PipelineError):
    """The write failed. Nothing was published."""


class RegistrationFailed(PipelineError):
    """The data is published; registering its contract with the catalog failed."""


class VersionRefused(PipelineError):
    """A proposed version that the table's format cannot become, or that breaks a consumer. Nothing was published."""


class ReleaseRefused(PipelineError):
    """There is no quarantined batch to release, or someone else is releasing it. Nothing was published."""


class SyncFailed(PipelineError):
    """The synced copy could not be written, or what is deployed could not be read. The release before still counts."""


class SyncedFileChanged(PipelineError):
    """A file of the synced copy is not what its manifest says. Nothing was read."""


class EvidenceFailed(PipelineError, OSError):
    """The evidence prefix, a folder or an S3 prefix, cannot be read or written."""


class IngestionFailed(PipelineError):
    """A replication task failed, gave a table up, or could not be started or asked. Its batch is not counted."""


class IngestionStopped(PipelineError):
    """Somebody stopped a replication task before its batch had ended."""


class RunInterrupted(PipelineError):
    """The process was told to stop."""


class EngineFailed(PipelineError):
    """Anything that no other class names: Spark, Python, the network."""
