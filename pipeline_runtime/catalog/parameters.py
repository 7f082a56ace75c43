"""The Glue table Parameters that carry what no descriptor declares (design decision D11).

They are Parameters of the *table*: an Iceberg commit erases those of columns and the owner, and keeps these.
All are text. Whoever publishes a table sets them; `pipeline_runtime.catalog.update.set_parameters` is the way,
since Glue replaces the whole map with every update.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = [
    "CDC_BEFORE_PREFIX",
    "CDC_SEQUENCE",
    "CDC_STRICT",
    "CDC_TIMESTAMP",
    "COLUMNS",
    "DEPRECATED_AFTER",
    "DOMAIN",
    "FIRST_RUN",
    "FRESHNESS_SLA",
    "JDBC_PARTITIONS",
    "JDBC_PARTITION_COLUMN",
    "JDBC_SECRET",
    "MEANINGS",
    "OWNER",
    "PIPELINE",
    "PREFIX",
    "PRIMARY_KEYS",
    "PUBLISHED_BY",
    "PUBLISHED_RELEASE",
    "REPLICATION_RUN",
    "RUN_ID",
    "SUCCESSOR",
]

PREFIX: Final = "cordata."

PRIMARY_KEYS: Final = "cordata.primary_keys"
PUBLISHED_BY: Final = "cordata.published_by"
PUBLISHED_RELEASE: Final = "cordata.published_release"
REPLICATION_RUN: Final = "cordata.replication_run"
CDC_SEQUENCE: Final = "cordata.cdc_sequence"
CDC_TIMESTAMP: Final = "cordata.cdc_timestamp"
CDC_BEFORE_PREFIX: Final = "cordata.cdc_before_prefix"
CDC_STRICT: Final = "cordata.cdc_strict"
COLUMNS: Final = "cordata.columns"
DEPRECATED_AFTER: Final = "cordata.deprecated_after"
SUCCESSOR: Final = "cordata.successor"
FRESHNESS_SLA: Final = "cordata.freshness_sla"
JDBC_SECRET: Final = "cordata.jdbc_secret"  # noqa: S105 - a name
JDBC_PARTITION_COLUMN: Final = "cordata.jdbc_partition_column"
JDBC_PARTITIONS: Final = "cordata.jdbc_partitions"
DOMAIN: Final = "cordata.domain"
PIPELINE: Final = "cordata.pipeline"
OWNER: Final = "cordata.owner"
RUN_ID: Final = "cordata.run_id"
FIRST_RUN: Final = "cordata.first_run"

#: Every key and what its value means; the documentation's table is made of this.
MEANINGS: Final[Mapping[str, str]] = {
    PRIMARY_KEYS: "The columns that identify a row, comma-separated; Iceberg's identifier fields count as well.",
    PUBLISHED_BY: "Who published the table's current schema: an application, e.g. card-ledger, or a pipeline.",
    PUBLISHED_RELEASE: "The release of that application, e.g. v4.12.0; of a pipeline, the commit of its descriptor.",
    REPLICATION_RUN: "The run of `ingest` that told of the last batch landed here: a UUID. `ingest` sets it.",
    CDC_SEQUENCE: "The column that orders changes of one key within one commit timestamp.",
    CDC_TIMESTAMP: "The column that holds a change's commit timestamp.",
    CDC_BEFORE_PREFIX: "What the names of before-image columns start with, e.g. BI_; a changed key needs them.",
    CDC_STRICT: "true: a change log that updates a row which never came fails the run; else it is a warning.",
    COLUMNS: "What a contract declares about the columns: a JSON list of name, type, nullable, and what is given of "
    "description, unit, definition, classification. At most 100,000 bytes.",
    DEPRECATED_AFTER: "The last day (ISO 8601) on which a version may be read: 7=2026-12-31 for pins up to v7, a date "
    "alone for all; several separated by commas.",
    SUCCESSOR: "The table that consumers of a deprecated version go to, e.g. fraud_raw.transactions_v8.",
    FRESHNESS_SLA: "How old the product may get: an ISO 8601 duration in its author's spelling, e.g. PT4H.",
    JDBC_SECRET: "The secret in Secrets Manager with the username and password of a JDBC table's database.",
    JDBC_PARTITION_COLUMN: "The column by whose ranges a JDBC table is read in parallel; else its first primary key.",
    JDBC_PARTITIONS: "How many queries read a JDBC table at a time; 8 where it is not set, 1 for a single query.",
    DOMAIN: "The domain that owns the product.",
    PIPELINE: "The pipeline that publishes the product: its descriptor's name.",
    OWNER: "Whom to address about the product; Glue's own Owner does not survive an Iceberg commit.",
    RUN_ID: "The run that published last: a UUID.",
    FIRST_RUN: "Until anything is published: the run that created the table. An Iceberg table keeps it as a property.",
}
