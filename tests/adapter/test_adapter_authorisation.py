"""A caller posts for its own domains and for no other, whatever the event says besides its job's namespace."""

from __future__ import annotations

import json
from typing import Any

import pytest
from adapter_samples import as_bytes, http_api, keyed, run_event, signed_by
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_adapter.callers import Caller, check_domain, domain_of, principal
from lineage_adapter.errors import DomainForeign

POLICY_ROLE = signed_by("arn:aws:sts::444455556666:assumed-role/lineage-invoker-policy/run")
POLICY_KEY = keyed("dbt-policy", "policy")


def job(namespace: str, name: str = "transactions-scored-daily") -> dict[str, Any]:
    return {"namespace": namespace, "name": name}


def parent(namespace: str) -> dict[str, Any]:
    facet = {"run": {"runId": "0b8c1c9e-5a1e-4c0f-9a1a-2c9f8b1a5e12"}, "job": job(namespace, "dag")}
    return {"runId": "r", "facets": {"parent": facet}}


@pytest.mark.parametrize("caller", [POLICY_ROLE, POLICY_KEY], ids=["role", "key"])
def test_a_domains_role_or_key_cannot_post_for_another_domain(post, datazone, caller):
    answer = post(run_event(), authorizer=caller)

    assert (answer.code, answer.status) == (403, "refused")
    assert "'cordata.fraud' belongs to domain fraud, the caller belongs to policy" in answer.reason
    assert datazone.bodies == []


@pytest.mark.parametrize("caller", [signed_by(), keyed("dbt-fraud", "fraud policy")], ids=["role", "key"])
def test_a_domains_own_role_and_key_are_let_in(post, caller):
    assert post(run_event(), authorizer=caller).status == "accepted"


@pytest.mark.parametrize("namespace", ["cordata.policy", "cordata.policy.listener"])
def test_a_listeners_child_job_is_its_domains_too(post, namespace):
    event = run_event(job=job(namespace, "claims_ingest.append_data_exec"), run=parent("cordata.fraud"))

    assert post(event).code == 403
    assert post(event, authorizer=POLICY_ROLE).code == 200


def test_a_parent_of_the_callers_own_domain_opens_nothing(post, datazone):
    answer = post(run_event(job=job("cordata.fraud"), run=parent("cordata.policy")), authorizer=POLICY_ROLE)

    assert answer.code == 403
    assert datazone.bodies == []


def test_a_parent_of_another_domain_closes_nothing(post):
    """The scheduler's DAG is the parent of every domain's runs."""
    assert post(run_event(run=parent("cordata.orchestration"))).status == "accepted"


@pytest.mark.parametrize(
    "namespace",
    [
        *(
            "default",
            "fraud",
            "cordata",
            "cordata.",
            "cordata.Fraud",
            "Cordata.fraud",
            "cordata.fraud ",
            " cordata.fraud",
        ),
        *("cordata://fraud", "cordata..fraud", "cordata.*", "cordata.fräud", "cordata.fraud\n", "xcordata.fraud"),
    ],
)
def test_a_namespace_in_another_spelling_belongs_to_nobody(post, datazone, namespace):
    answer = post(run_event(job=job(namespace)), authorizer=keyed("all", "*"))

    assert answer.code == 403
    assert "it must be cordata.<domain>" in answer.reason
    assert datazone.bodies == []


def test_a_job_named_twice_is_refused_rather_than_read_one_way(invoke, datazone):
    body = as_bytes(run_event(job=job("cordata.policy"))).decode()
    twice = body.replace('"job":', f'"job":{json.dumps(job("cordata.fraud"))},"job":', 1)

    for caller in (signed_by(), POLICY_ROLE):
        assert invoke(http_api(twice, authorizer=caller)).code == 400
    assert datazone.bodies == []


@pytest.mark.parametrize("context", [{}, {"iam": {}}, {"lambda": {}}, {"iam": None, "lambda": None}])
def test_a_request_that_nobody_vouches_for_is_not_let_in_and_not_kept(invoke, datazone, letters, context):
    answer = invoke(http_api(as_bytes(run_event()).decode(), authorizer=context))

    assert (answer.code, answer.status) == (401, "refused")
    assert "sign the request, or send a Bearer key" in answer.reason
    assert (datazone.bodies, letters.all()) == ([], [])


def test_headers_make_no_caller(invoke):
    """Whatever a client writes: who it is, API Gateway says."""
    spoofed = {"caller": "dbt-fraud", "x_amzn_iam_user_arn": "arn:aws:iam::444455556666:role/lineage-invoker-fraud"}

    assert invoke(http_api(as_bytes(run_event()).decode(), authorizer={}, **spoofed)).code == 401


def test_an_identity_that_is_not_listed_is_told_where_to_be_listed(post):
    answer = post(run_event(), authorizer=signed_by("arn:aws:sts::111122223333:assumed-role/etl/run"))

    assert answer.code == 403
    assert "arn:aws:iam::111122223333:role/etl belongs to no domain" in answer.reason
    assert "LINEAGE_CALLERS" in answer.reason


def test_a_role_of_the_same_name_in_another_account_is_another_role(post):
    stranger = signed_by("arn:aws:sts::111122223333:assumed-role/lineage-invoker-fraud/run")

    assert post(run_event(), authorizer=stranger).code == 403


def test_a_private_rest_apis_requests_are_read_too(invoke):
    def rest_api(**context: Any) -> dict[str, Any]:
        request = http_api(as_bytes(run_event()).decode())
        return {
            "resource": "/lineage",
            "path": "/lineage",
            "httpMethod": "POST",
            "headers": {"Content-Type": "application/json"},
            "requestContext": {"resourcePath": "/lineage", "identity": {"userArn": None}, **context},
            "body": request["body"],
            "isBase64Encoded": False,
        }

    role = "arn:aws:sts::444455556666:assumed-role/lineage-invoker-fraud/run"
    key = {"principalId": "dbt-fraud", "caller": "dbt-fraud", "domains": "fraud", "integrationLatency": 12}

    assert invoke(rest_api(identity={"userArn": role})).code == 200
    assert invoke(rest_api(authorizer=key)).code == 200
    assert invoke(rest_api(identity={"userArn": role.replace("fraud", "policy")})).code == 403
    assert invoke(rest_api(authorizer={**key, "domains": "policy"})).code == 403
    assert invoke(rest_api()).code == 401


@pytest.mark.parametrize(
    ("arn", "named"),
    [
        ("arn:aws:sts::444455556666:assumed-role/x/session", "arn:aws:iam::444455556666:role/x"),
        ("arn:aws-us-gov:sts::444455556666:assumed-role/x/s", "arn:aws-us-gov:iam::444455556666:role/x"),
        ("arn:aws:iam::444455556666:role/team/platform/x", "arn:aws:iam::444455556666:role/x"),
        ("arn:aws:iam::444455556666:user/team/ci", "arn:aws:iam::444455556666:user/team/ci"),
        ("arn:aws:kinesis:eu-central-1:444455556666:stream/s", "arn:aws:kinesis:eu-central-1:444455556666:stream/s"),
    ],
)
def test_a_session_is_named_by_its_role_and_a_role_without_its_path(arn, named):
    assert principal(arn) == named


domains = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,12}", fullmatch=True)


@settings(deadline=None)
@given(
    namespace=st.one_of(st.text(), domains.map("cordata.{}".format), st.from_regex(r"cordata\.[a-z.]+")), own=domains
)
def test_nobody_posts_for_a_namespace_that_does_not_begin_with_his_domain(namespace, own):
    try:
        check_domain(namespace, Caller("c", frozenset({own}), "iam"))
    except DomainForeign:
        assert domain_of(namespace) != own
    else:
        assert namespace == f"cordata.{own}" or namespace.startswith(f"cordata.{own}.")
