"""Which dataset node an event reaches, and whether the catalog's asset hangs on it."""

from __future__ import annotations

import pytest
from adapter_samples import SCORED, glue_dataset, glue_run, keyed, run_event

from sandbox.fakes.datazone import DOMAIN_ID

LOGICAL = {"namespace": "cordata.fraud", "name": "fraud_curated.transactions_scored", "type": "TABLE"}
LOCATION = {"namespace": "s3://cordata-fraud", "name": "curated/transactions_scored", "type": "LOCATION"}
PLAIN = glue_dataset("111122223333", "fraud_curated/transactions_scored")


def datasets(datazone):
    return {node["sourceIdentifier"]: node for node in datazone.get("/fake/nodes") if "Dataset" in node["type"]}


def test_two_accounts_meet_in_one_node_that_is_the_registered_asset(post, datazone):
    (asset,) = datazone.set("/fake/assets", arns=[SCORED])
    scored = glue_dataset("111122223333", "fraud_curated/transactions_scored", LOGICAL, LOCATION)
    reporting = {"namespace": "cordata.finance", "name": "fraud-losses-monthly"}

    post(run_event(run=glue_run("11111111-1111-4111-8111-111111111111"), outputs=[scored]))
    other_run = run_event(run=glue_run("22222222-2222-4222-8222-222222222222"), job=reporting, inputs=[scored])
    post(other_run, authorizer=keyed("reporting", "finance"))

    (node,) = datasets(datazone).values()
    assert (node["sourceIdentifier"], node["asset"]) == (SCORED, asset["id"])
    assert node["upstream"] == ["cordata.fraud.transactions-scored-daily/11111111-1111-4111-8111-111111111111"]
    assert node["downstream"] == ["cordata.finance.fraud-losses-monthly/22222222-2222-4222-8222-222222222222"]


def test_the_graph_is_walked_from_the_run_to_the_asset(post, datazone):
    datazone.set("/fake/processing", polls=0)
    (asset,) = datazone.set("/fake/assets", arns=[SCORED])
    raw = glue_dataset("111122223333", "fraud_raw/transactions")
    answer = post(run_event(run=glue_run(), inputs=[raw], outputs=[PLAIN]))
    client = datazone.client()

    def node(identifier):
        return client.get_lineage_node(domainIdentifier=DOMAIN_ID, identifier=identifier)

    run = node("cordata.fraud.transactions-scored-daily/b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12")
    (upstream,), (downstream,) = run["upstreamNodes"], run["downstreamNodes"]
    written = node(downstream["id"])
    (linked,) = written["downstreamNodes"]

    assert answer.status == "accepted"
    assert node(upstream["id"])["sourceIdentifier"].endswith(":table/fraud_raw/transactions")
    assert (written["sourceIdentifier"], written["typeName"]) == (SCORED, "amazon.datazone.DatasetLineageNodeType")
    assert node(SCORED)["id"] == written["id"]
    assert node(linked["id"])["sourceIdentifier"] == f"amazon.datazone.asset/{asset['id']}"


def test_without_glues_facet_the_same_dataset_links_nothing(post, datazone):
    datazone.set("/fake/assets", arns=[SCORED])

    post(run_event(outputs=[PLAIN]))

    ((identifier, node),) = datasets(datazone).items()
    assert identifier == "arn:aws:glue:eu-central-1:111122223333/table/fraud_curated/transactions_scored"
    assert node["asset"] is None


@pytest.mark.parametrize("key", ["GLUE_VERSION", "GLUE_COMMAND_CRITERIA", "GLUE_PYTHON_VERSION"])
def test_any_of_glues_three_keys_makes_it_a_glue_run(post, datazone, key):
    run = {"runId": "r", "facets": {"environment-properties": {"environment-properties": {key: "x"}}}}

    post(run_event(run=run, outputs=[PLAIN]))

    assert list(datasets(datazone)) == [SCORED]


@pytest.mark.parametrize(
    "facets",
    [
        {"environment-properties": {"GLUE_VERSION": "5.1"}},
        {"environment-properties": {"environment-properties": {"AWS_REGION": "eu-central-1"}}},
        {"environmentProperties": {"environment-properties": {"GLUE_VERSION": "5.1"}}},
    ],
    ids=["not nested", "no key of Glue's", "another facet"],
)
def test_the_facet_counts_in_its_exact_form_only(post, datazone, facets):
    post(run_event(run={"runId": "r", "facets": facets}, outputs=[PLAIN]))

    assert SCORED not in datasets(datazone)


def test_the_first_symlink_of_type_table_decides(post, datazone):
    scored = glue_dataset("111122223333", "fraud_curated/transactions_scored")
    links = scored["facets"]["symlinks"]["identifiers"]
    links.insert(0, LOCATION)
    links.append(glue_dataset("444455556666", "other/table")["facets"]["symlinks"]["identifiers"][0])

    post(run_event(run=glue_run(), outputs=[{**scored, "namespace": "s3://cordata-fraud", "name": "curated/t"}]))

    ((identifier, node),) = datasets(datazone).items()
    assert identifier == SCORED
    assert node["knownAs"] == ["s3://cordata-fraud/curated/t"]


def test_a_symlink_by_database_and_table_lands_in_the_callers_account(post, datazone):
    datazone.set("/fake/assets", arns=[SCORED])
    dataset = {"namespace": "cordata.fraud", "name": "x", "facets": {"symlinks": {"identifiers": [LOGICAL]}}}

    post(run_event(run=glue_run(), outputs=[dataset]))

    ((identifier, node),) = datasets(datazone).items()
    assert identifier == "arn:aws:glue:eu-central-1:999999999999:table/fraud_curated/transactions_scored"
    assert node["asset"] is None


@pytest.mark.parametrize(
    "dataset",
    [
        {"namespace": "postgres://claims.internal:5432", "name": "claims.public.claim"},
        {"namespace": "s3://cordata-fraud", "name": "raw/transactions"},
    ],
)
def test_other_stores_keep_namespace_and_name_joined_by_a_slash(post, datazone, dataset):
    datazone.set("/fake/processing", polls=0)
    post(run_event(run=glue_run(), inputs=[dataset]))

    identifier = f"{dataset['namespace']}/{dataset['name']}"
    assert list(datasets(datazone)) == [identifier]
    node = datazone.client().get_lineage_node(domainIdentifier=DOMAIN_ID, identifier=identifier)
    assert node["sourceIdentifier"] == identifier
