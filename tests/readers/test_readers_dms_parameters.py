"""What a landing table's Parameters must say, told without an engine."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline_runtime.catalog.parameters import MEANINGS
from pipeline_runtime.catalog.table import CatalogTable, TableIdentity
from pipeline_runtime.errors import CatalogError
from pipeline_runtime.readers.dms_parameters import DmsLanding, check_dms
from pipeline_runtime.schema.columns import Column, Schema


def table(parameters: dict[str, str], **changed: Any) -> CatalogTable:
    columns = (
        Column("claim_id", "bigint"),
        Column("line", "int"),
        Column("amount", "decimal(10,2)"),
        Column("op", "string"),
        Column("tags", "map<string,string>"),
        Column("landed", "string"),
    )
    return CatalogTable(
        **{
            "identity": TableIdentity("eu-central-1", "111122223333", "policy_raw", "claims"),
            "version": 3,
            "schema": Schema(columns),
            "location": "s3://lake/policy_raw/claims",
            "is_iceberg": False,
            "partition_columns": ("landed",),
            "parameters": parameters,
            **changed,
        }
    )


def test_keys_order_and_strictness_come_from_the_tables_parameters() -> None:
    parameters = {
        "cordata.primary_keys": " CLAIM_ID, line ",
        "cordata.cdc_sequence": "seq",
        "cordata.cdc_timestamp": "ts",
        "cordata.cdc_before_prefix": "BI_",
        "cordata.cdc_strict": "True",
        "classification": "parquet",
        "cordata.pipeline": "claims-landing",
    }
    assert check_dms(table(parameters)) == DmsLanding(
        keys=("claim_id", "line"),
        sequence="seq",
        timestamp="ts",
        before_prefix="BI_",
        strict=True,
        dated_by=("landed",),
    )


def test_keys_alone_are_enough_because_files_have_an_order() -> None:
    assert check_dms(table({"cordata.primary_keys": "claim_id"})) == DmsLanding(("claim_id",), dated_by=("landed",))


def test_technical_columns_and_landing_folders_are_no_business_of_the_target() -> None:
    landing = DmsLanding(("claim_id",), timestamp="TS", sequence="seq", before_prefix="BI_", dated_by=("landed",))
    names = ("Op", "ts", "SEQ", "claim_id", "bi_claim_id", "BI_rate", "landed", "amount")
    assert [column.name for column in landing.business(Schema(tuple(Column(name, "string") for name in names)))] == [
        "claim_id",
        "BI_rate",
        "amount",
    ]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, r"policy_raw\.claims has no Parameter cordata\.primary_keys, .* e\.g\. cordata\.primary_keys=claim_id\."),
        ({"cordata.primary_keys": " , "}, r"has no Parameter cordata\.primary_keys"),
        ({"cordata.primary_keys": "claimid"}, r"names claimid, which is no column .* Did you mean claim_id\?"),
        ({"cordata.primary_keys": "line,LINE"}, "names a column twice: line, LINE"),
        ({"cordata.primary_keys": "op"}, "names op, which tells of the change or of its file, not of the row"),
        ({"cordata.primary_keys": "landed"}, "names landed, which tells of the change or of its file"),
        ({"cordata.primary_keys": "tags"}, r"names tags, a map<string,string>; a map identifies no row"),
        ({"cordata.primary_keys": "line", "cordata.cdc_timestamp": " "}, r"cordata\.cdc_timestamp is empty"),
        ({"cordata.primary_keys": "line", "cordata.cdc_strict": "yes"}, "cdc_strict is yes; it is true or false"),
        ({"cordata.primary_key": "line"}, r"cordata\.primary_key means nothing\. Did you mean cordata\.primary_keys\?"),
        ({"cordata.primary_keys": "line", "cordata.cdc_sequenz": "s"}, r"Did you mean cordata\.cdc_sequence\?"),
    ],
)
def test_what_is_missing_or_wrong_is_named_with_its_parameter(parameters: dict[str, str], message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        check_dms(table(parameters))


def test_parameters_that_resemble_none_of_ours_are_others_business() -> None:
    assert check_dms(table({"cordata.primary_keys": "line", "cordata.team": "a", "cdc_sequence": "b"})).sequence is None


def test_an_iceberg_table_is_no_landing_zone() -> None:
    with pytest.raises(CatalogError, match=r"policy_raw\.claims is an Iceberg table; .* Read it with kind glue_table"):
        check_dms(table({"cordata.primary_keys": "line"}, is_iceberg=True))


def test_every_parameter_that_is_read_is_documented() -> None:
    for parameter in ("primary_keys", "cdc_sequence", "cdc_timestamp", "cdc_before_prefix", "cdc_strict"):
        assert MEANINGS[f"cordata.{parameter}"]
