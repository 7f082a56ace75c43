"""Every error that a run, or a command beside it, can end with: its cause, who acts, and what to do.

Keyed by the class itself, so that an entry cannot outlive its error; a test asks for an entry of each class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pipeline_runtime import errors
from pipeline_runtime.catalog.iceberg import MetadataGone
from pipeline_runtime.writers.parquet_switch import TakenOver

__all__ = ["GUIDE", "Actor", "Advice", "advice_of"]


class Actor(str, Enum):
    """Who acts on an error, as the manual calls them."""

    OWNER = "the pipeline's owner"
    PRODUCER = "the source's producer, with the pipeline's owner"
    PLATFORM = "the platform team"
    GOVERNANCE = "governance"
    DUTY = "whoever is on duty"


@dataclass(frozen=True)
class Advice:
    """One entry. `runbook` is the heading of the manual's runbook for it, None where `remedy` is all there is."""

    cause: str
    actor: Actor
    remedy: str
    runbook: str | None = None


GUIDE: Final[Mapping[type[errors.PipelineError], Advice]] = {
    errors.PipelineError: Advice(
        "The root of the tree. No run ends with it; every error below is one.",
        Actor.PLATFORM,
        "A run that shows it by name has met a fault of the executor: report it with the run id.",
    ),
    # ---- exit 2
    errors.UsageError: Advice(
        "A command got words, a file or an event that it cannot work with; the message names them and what is allowed.",
        Actor.DUTY,
        "Correct what the message names and call again. Nothing was changed.",
    ),
    errors.DescriptorError: Advice(
        "The descriptor does not parse, or its fields contradict each other: each problem with file and line.",
        Actor.OWNER,
        "Correct the lines, run `validate`, merge. In production it means that something was synced around CI, or that "
        "the job's executor is older than the one that CI used.",
    ),
    errors.UnknownApiVersion: Advice(
        "The descriptor's `apiVersion` names no model of this executor.",
        Actor.OWNER,
        "Write one of the versions that the message lists. If CI accepted it, the job runs an older executor: raise "
        "`executor_version`.",
    ),
    errors.ProposalError: Advice(
        "A producer's proposal cannot be read: each problem with file and line. Only `consumers` and `publish-schema` "
        "say it.",
        Actor.PRODUCER,
        "Correct the file; no verdict counts until then.",
    ),
    errors.ConfigurationError: Advice(
        "A setting of the deployment is missing or wrong: evidence prefix, lineage address, owner topic, account, "
        "region, run id, `--conf`, the synced copy.",
        Actor.PLATFORM,
        "Correct the job's argument or the variable that the message names, by Terraform. A run id that has its "
        "terminal event already means that the scheduler reused it: start a run with an id of its own.",
    ),
    errors.SyncRefused: Advice(
        "`sync` was asked for something that is no commit, does not pass `validate`, or is not covered by what is "
        "deployed.",
        Actor.OWNER,
        "Merge first and sync the commit; where the message names what to apply, apply it, then sync. The release "
        "before still counts.",
    ),
    # ---- the files of a domain
    errors.FileProblem: Advice(
        "A file that the descriptor names is missing, unreadable, or outside the domain root.",
        Actor.OWNER,
        "Add or correct the file, run `validate`, merge and sync.",
    ),
    errors.SuiteError: Advice(
        "The expectation suite or a baseline is wrong, or it asks for a column that the steps do not produce.",
        Actor.OWNER,
        "Correct the lines that the message names, run `validate`, merge and sync. A column is named where its step "
        "does not select it.",
    ),
    errors.SqlRefused: Advice(
        "A step's SQL is not one SELECT over `frame`, its parameters do not fit, or Spark's parser refuses it.",
        Actor.OWNER,
        "Rewrite the step as the message says; tables other than `frame` are not read in a step.",
    ),
    errors.ModuleRefused: Advice(
        "A step's module is no Python, or has no `transform(frame, params)`.",
        Actor.OWNER,
        "Correct the module; nothing of it was run.",
    ),
    # ---- the catalog
    errors.CatalogError: Advice(
        "The catalog does not answer, refuses the job's role, or holds something that cannot be worked with: a "
        "Parameter that means nothing, a partition without a location, a connection without a secret.",
        Actor.DUTY,
        "Read the message to its end: it says what to set and where. Throttling and 5xx pass: run again. A refusal "
        "(AccessDenied) is the role's: apply the domain's `transform_jobs`. A wrong table Parameter is the "
        "producer's.",
    ),
    errors.TableNotFound: Advice(
        "The catalog that was searched has no such database or table; the message names the catalog and what comes "
        "closest.",
        Actor.OWNER,
        "Correct the name, or create the database. A table of another account must be shared, and be reached through "
        "a resource link or `catalog_id`.",
    ),
    errors.PinNotRetrievable: Advice(
        "Nothing records what the pinned version looked like: no file in `schemas/`, and no archived version.",
        Actor.OWNER,
        "Check the recorded file in as it was. Where it never existed, review the current columns and pin them.",
        "Drift",
    ),
    errors.PinAhead: Advice(
        "The descriptor pins a version that the catalog has not reached, or the table was created anew.",
        Actor.OWNER,
        "Pin a version that is published. Where the table was created anew, ask its producer why, then pin the current "
        "one.",
        "Drift",
    ),
    errors.SchemaDrift: Advice(
        "The source's columns are no longer those of the pin. Nothing was read.",
        Actor.PRODUCER,
        "Decide whether the change is wanted. If so, bump the pin and adapt the steps; if not, the producer takes it "
        "back.",
        "Drift",
    ),
    errors.VersionDeprecated: Advice(
        "The producer kept the pinned version readable until a day that is over.",
        Actor.OWNER,
        "Move to the successor that the message names, and pin it. `deprecate --lift` or a later day is the producer's "
        "to give.",
    ),
    errors.ForeignTarget: Advice(
        "The target resolves to another account's table, through a resource link.",
        Actor.OWNER,
        "Name a target in the job's own account; the other account's pipeline reads it from there.",
    ),
    errors.CatalogConflict: Advice(
        "Other writers changed the table in each of our attempts to change it.",
        Actor.DUTY,
        "Run again. If it comes back, find the other writer: a crawler, a compaction, a second job with the same "
        "target.",
    ),
    MetadataGone: Advice(
        "The catalog names a metadata file of the Iceberg table that does not exist any more: something removed files "
        "below the table's location.",
        Actor.PLATFORM,
        "Stop whatever removes files there (a lifecycle rule, orphan removal). Restore the file by its S3 version, or "
        "register the newest metadata file that is left.",
        "Rollback of data",
    ),
    # ---- governance
    errors.PolicyError: Advice(
        "The LF-tags of the contract cannot be compared with the ontology: Lake Formation does not answer or refuses.",
        Actor.PLATFORM,
        "Throttling passes: run again. A refusal is a grant that the job's role lacks in the governance account.",
    ),
    errors.UnknownTagKey: Advice(
        "The contract names an LF-tag key that the ontology does not have.",
        Actor.OWNER,
        "Write one of the keys that the message lists, or ask governance for a new one before you use it.",
    ),
    errors.UnknownTagValue: Advice(
        "The ontology has the key and not the value.",
        Actor.OWNER,
        "Write one of the values that the message lists, or ask governance for a new one before you use it.",
    ),
    errors.TagsRefused: Advice(
        "Lake Formation answered, and its answer holds failures. Nothing was published; tags that were set are taken "
        "back, and the message says where that failed too.",
        Actor.GOVERNANCE,
        "Grant the job's role ASSOCIATE on the tag, then run again. Where tags could not be taken back, compare the "
        "table's tags with its contract.",
    ),
    # ---- what is refused before it can destroy or lose anything
    errors.LocationRefused: Advice(
        "The target's location is empty, a bucket's root, or in or around another table's.",
        Actor.OWNER,
        "Give the target a prefix of its own. The quarantine beside it needs one too.",
    ),
    errors.ChangeLogRefused: Advice(
        "Nothing orders the changes of a change log, or it lacks a column that the table's Parameters name.",
        Actor.PRODUCER,
        "Set `cordata.cdc_timestamp` or `cordata.cdc_sequence` on the table to a column that the files have.",
    ),
    errors.ReaderUnusable: Advice(
        "The domain's own reader is not installed, is there twice, cannot be loaded, or failed.",
        Actor.OWNER,
        "Correct the package and its entry point, and its place in the job's Python modules.",
    ),
    errors.SchemaMismatch: Advice(
        "Files or columns hold what the pinned or declared type cannot hold without loss; the message names file, "
        "column and both types.",
        Actor.PRODUCER,
        "Have the files written in the pinned type, or pin the type that they have. Nothing was read past the "
        "comparison.",
    ),
    errors.OutputRefused: Advice(
        "The columns that the steps produce do not fit the target, or the target is of a kind that cannot be replaced "
        "by partition.",
        Actor.OWNER,
        "Correct the last step's SELECT, or declare the new column in the target's contract. Nothing was written.",
    ),
    errors.ContractBroken: Advice(
        "The output's columns are not those that the target's contract declares, or a column holds NULLs that it "
        "excludes. Nothing was published.",
        Actor.OWNER,
        "Correct the steps. Changing the declaration changes what consumers rely on: ask them first.",
    ),
    # ---- the work
    errors.StepFailed: Advice(
        "Spark could not analyse or run a step, or its Python raised; the message names file, line and Spark's reason.",
        Actor.OWNER,
        "Correct the step. A division by zero or a failed cast is data: look at the values that the message names.",
    ),
    errors.PublishBlocked: Advice(
        "The suite failed and the descriptor says `block_publish`. Consumers see what they saw before.",
        Actor.OWNER,
        "Look at the failed expectations. Correct the source or the steps and run again, or, where the rule is out of "
        "date, change the rule in a reviewed commit.",
        "Quarantine",
    ),
    errors.Quarantined: Advice(
        "The suite failed and the descriptor says `quarantine`: the batch is in `<table>__quarantine`, with the rules "
        "that each row broke. Consumers see what they saw before.",
        Actor.OWNER,
        "Review the rows, then release the batch, or correct the source and run again.",
        "Quarantine",
    ),
    errors.WriteFailed: Advice(
        "Writing or committing failed: S3, Iceberg, another writer, or somebody closed the run from outside. Nothing "
        "was published, unless the message says that the commit's answer was lost.",
        Actor.DUTY,
        "Run again: the next run removes what this one left. Where the answer was lost, ask the table's history as the "
        "message says before you do.",
        "A killed run",
    ),
    TakenOver: Advice(
        "Another run of the pipeline took this one for dead and settled its half-done switch of partitions.",
        Actor.DUTY,
        "Let one run at a time have a target. Look which of the two published (`cordata.run_id` on the table), and run "
        "again if it was not the newer one.",
        "A killed run",
    ),
    errors.RegistrationFailed: Advice(
        "The data is published; writing its contract to the table's Parameters failed. The run's event is COMPLETE and "
        "names the error; the exit code is 1.",
        Actor.DUTY,
        "Run again to register: the rows are the same. For a release, call `release` once more.",
    ),
    errors.VersionRefused: Advice(
        "`publish-schema` was asked for a change that the table's format cannot make, or that breaks a consumer.",
        Actor.PRODUCER,
        "Publish the columns as a table of their own beside it, and deprecate the old one.",
    ),
    errors.ReleaseRefused: Advice(
        "`release` found no batch, somebody else at work, or something newer that it would replace.",
        Actor.OWNER,
        "The message says which, and which option to pass where that is what you want.",
        "Quarantine",
    ),
    errors.IngestionFailed: Advice(
        "A replication task failed, gave a table up, or could not be started or asked; the message repeats DMS's "
        "reason. What it has landed stays, and is counted by the next batch that ends.",
        Actor.PLATFORM,
        "Cure what DMS names (its task log says more), reload the tables that it gave up, and call `ingest` again.",
    ),
    errors.IngestionStopped: Advice(
        "Somebody stopped the replication task before its batch had ended; the run ends with ABORT.",
        Actor.DUTY,
        "Call `ingest` again: it resumes a task that follows changes, and loads anew with one that does not.",
    ),
    errors.SyncFailed: Advice(
        "The synced copy could not be written, or what is deployed could not be read.",
        Actor.DUTY,
        "Sync again. The release before still counts for every job.",
    ),
    errors.SyncedFileChanged: Advice(
        "A file of the synced copy is not what its manifest says: somebody edited it in the bucket. Nothing was read.",
        Actor.DUTY,
        "Sync the commit again, which repairs it, and find out who wrote there: nobody but CI should be able to.",
    ),
    errors.EvidenceFailed: Advice(
        "The evidence prefix cannot be read or written, or a record in it is not ours.",
        Actor.PLATFORM,
        "Give the role its rights on the prefix back, or restore the object that the message names. A run never "
        "publishes what it cannot leave evidence of.",
        "A killed run",
    ),
    errors.RunInterrupted: Advice(
        "The process was told to stop (SIGTERM, or an interrupt from the keyboard) before it had published.",
        Actor.DUTY,
        "Run again when whoever stopped it is done. What it left is removed by the next run.",
        "A killed run",
    ),
    errors.EngineFailed: Advice(
        "What no other class names: Spark failed, its JVM is gone (out of memory, stopped, crashed), the network, or a "
        "fault of the executor.",
        Actor.DUTY,
        "Run again once. If the JVM is gone again, give the job more workers or a larger worker type; a message that "
        "begins with a Python class is the platform team's to look at.",
        "A killed run",
    ),
}


def advice_of(error: type[errors.PipelineError]) -> Advice:
    """The entry of that class, else that of the nearest class above it which has one."""
    return next(GUIDE[each] for each in error.__mro__ if each in GUIDE)
