"""What is registered with a product: whose it is, and which release published its columns. Pure."""

from __future__ import annotations

import pytest

from pipeline_runtime.descriptor import v2
from pipeline_runtime.lineage.provenance import GitFacts, Provenance
from pipeline_runtime.publish import contract_parameters, release_of


def descriptor(**column: object):
    return v2.Descriptor.model_validate(
        {
            "apiVersion": "cordata.tech/v2",
            "kind": "TransformPipeline",
            "metadata": {"name": "orders-daily", "domain": "shop", "owner": "shop@example.com"},
            "source": {"kind": "glue_table", "database": "raw", "table": "t", "contract": {"schema_version": 1}},
            "steps": [{"id": "a", "kind": "sql", "query_file": "sql/a.sql"}],
            "target": {
                "kind": "iceberg",
                "database": "curated",
                "table": "t",
                "location": "s3://curated/t/",
                "contract": {
                    "freshness_sla": "PT4H",
                    "lf_tags": {"a": "b"},
                    **({"columns": [{"name": "amount", "type": "bigint", **column}]} if column else {}),
                },
            },
            "expectations": {"suite": "expectations/t.yml", "on_failure": "warn"},
            "processing": {"purpose": "orders", "legal_basis": "contract"},
        }
    ).lifted()


def kept(pipeline, release, held):
    """The Parameters after a registration."""
    changed = contract_parameters(pipeline, release, held)
    return {key: value for key, value in {**held, **changed}.items() if value is not None}


def test_the_pipeline_is_the_producer_and_its_commit_the_release():
    first = kept(descriptor(unit="EUR"), "c1", {"other": "stays"})
    assert first["other"] == "stays"
    assert (first["cordata.published_by"], first["cordata.published_release"]) == ("orders-daily", "c1")


def test_a_release_that_changes_no_column_is_not_the_one_that_published_them():
    first = kept(descriptor(unit="EUR"), "c1", {})
    assert kept(descriptor(unit="EUR"), "c2", first)["cordata.published_release"] == "c1"


@pytest.mark.parametrize("changed", [{"unit": "cents"}, {"unit": "EUR", "definition": "Without tax."}, {"type": "int"}])
def test_another_shape_or_meaning_is_a_new_release(changed):
    first = kept(descriptor(unit="EUR"), "c1", {})
    assert kept(descriptor(**changed), "c2", first)["cordata.published_release"] == "c2"


def test_a_table_that_another_pipeline_published_before_changes_its_producer():
    held = {"cordata.published_by": "orders-hourly", "cordata.published_release": "c0"}
    assert kept(descriptor(), "c1", held)["cordata.published_release"] == "c1"


def test_without_git_there_is_a_producer_and_no_release_of_somebody_else():
    held = {"cordata.published_by": "orders-hourly", "cordata.published_release": "c0"}
    now = kept(descriptor(), None, held)
    assert now["cordata.published_by"] == "orders-daily"
    assert "cordata.published_release" not in now


@pytest.mark.parametrize(
    ("git", "release"),
    [
        (GitFacts("c1", dirty=False), "c1"),
        (GitFacts("c1", dirty=True), "c1-dirty"),
        (GitFacts(reason="the descriptor lies in no git repository"), None),
    ],
)
def test_the_release_is_the_commit_and_says_when_files_differ_from_it(git, release):
    assert release_of(Provenance("a.yml", "00", "", {}, git)) == release
    assert release_of(None) is None
