"""The authorizer of the keyed route: keys from Secrets Manager, rotated without a gap, revoked without a delay."""

from __future__ import annotations

import json
import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from adapter_samples import ACCOUNT

from lineage_adapter import authorizer, keys
from lineage_adapter.authorizer import KeysUnreadable
from lineage_adapter.errors import ConfigurationError
from lineage_adapter.keys import KeyRing, holders_from

OLD, NEW, OTHER = (f"{name}-{'k' * 40}" for name in ("old", "new", "other"))


class Vault:
    """The secret in Secrets Manager, and the authorizer that reads it, at a time of the test's own."""

    def __init__(self, client: Any, name: str) -> None:
        self._client, self.name = client, name
        self.now = 1000.0

    def holds(self, **entries: Any) -> None:
        self.write(json.dumps({"keys": {name.replace("_", "-"): entry for name, entry in entries.items()}}))

    def write(self, text: str) -> None:
        self._client.put_secret_value(SecretId=self.name, SecretString=text)

    def vanish(self) -> None:
        self._client.delete_secret(SecretId=self.name, ForceDeleteWithoutRecovery=True)

    def ask(self, authorization: str | None, **request: Any) -> dict[str, Any]:
        headers = {} if authorization is None else {"authorization": authorization}
        event = {"version": "2.0", "type": "REQUEST", "routeArn": "arn:aws:execute-api:…", "headers": headers}
        return authorizer.handler({**event, **request}, SimpleNamespace(aws_request_id="r-1"))

    def passes(self, key: str) -> bool:
        return bool(self.ask(f"Bearer {key}")["isAuthorized"])


@pytest.fixture
def vault(aws, monkeypatch) -> Vault:
    client = aws.client("secretsmanager", ACCOUNT)
    name = f"lineage-keys-{uuid.uuid4().hex[:8]}"
    client.create_secret(Name=name, SecretString="{}")
    vault = Vault(client, name)
    for variable, value in {
        "LINEAGE_KEYS_SECRET": name,
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_ENDPOINT_URL": aws.endpoint,
    }.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(keys, "time", SimpleNamespace(monotonic=lambda: vault.now))
    authorizer.forget()
    yield vault
    authorizer.forget()


def test_a_key_opens_the_route_for_its_holders_domains(vault):
    vault.holds(dbt_fraud={"domains": ["fraud", "transform"], "current": OLD})

    assert vault.ask(f"Bearer {OLD}") == {
        "isAuthorized": True,
        "context": {"caller": "dbt-fraud", "domains": "fraud transform"},
    }


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", f"Bearer {OTHER}", f"Bearer {OLD[:-1]}", f"Bearer {OLD}x", OLD, f"Basic {OLD}"],
)
def test_anything_else_is_not_let_in(vault, authorization):
    vault.holds(dbt_fraud={"domains": ["fraud"], "current": OLD})

    assert vault.ask(authorization) == {"isAuthorized": False, "context": {}}


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case_and_the_key_in_its_own(vault, scheme):
    vault.holds(dbt_fraud={"domains": ["fraud"], "current": OLD})

    assert vault.ask(f"{scheme} {OLD}")["isAuthorized"]
    assert not vault.ask(f"{scheme} {OLD.upper()}")["isAuthorized"]


def test_while_a_key_is_rotated_both_are_good(vault):
    vault.holds(dbt_fraud={"domains": ["fraud"], "current": NEW, "previous": OLD})

    assert vault.passes(OLD)
    assert vault.passes(NEW)


def test_a_new_key_is_good_at_once_and_a_revoked_one_bad_after_the_time_to_live(vault):
    vault.holds(dbt_fraud={"domains": ["fraud"], "current": OLD})
    assert vault.passes(OLD)

    vault.holds(dbt_fraud={"domains": ["fraud"], "current": NEW})
    vault.now += 11  # an unknown key makes it look again, but not at every guess
    assert vault.passes(NEW)
    assert not vault.passes(OLD)


def test_a_revoked_key_that_nobody_replaced_is_bad_after_the_time_to_live(vault):
    vault.holds(dbt_fraud={"domains": ["fraud"], "current": OLD})
    assert vault.passes(OLD)
    vault.holds(dbt_fraud={"domains": ["fraud"], "current": NEW})

    vault.now += 299
    assert vault.passes(OLD)
    vault.now += 2
    assert not vault.passes(OLD)


def test_guesses_do_not_reach_secrets_manager_one_by_one():
    read = []
    ring = KeyRing(lambda: read.append(1) or json.dumps({"keys": {"a": {"domains": ["a"], "current": OLD}}}), 300)

    for number in range(50):
        assert ring.holder(f"guess-{number}") is None

    assert len(read) == 1


def test_an_outage_of_secrets_manager_is_survived_for_an_hour_and_no_longer(vault):
    vault.holds(dbt_fraud={"domains": ["fraud"], "current": OLD})
    assert vault.passes(OLD)
    vault.vanish()

    vault.now += 3000
    assert vault.passes(OLD)
    vault.now += 700
    with pytest.raises(KeysUnreadable, match="ResourceNotFoundException"):
        vault.passes(OLD)


def test_keys_that_were_never_read_are_an_error_not_a_no(vault, capsys):
    vault.write('{"keys": {"dbt": {"domains": ["fraud"], "current": "s3cret"}}}')

    with pytest.raises(KeysUnreadable, match="at least 32 printable characters"):
        vault.passes(OLD)
    line = json.loads(capsys.readouterr().out)
    assert (line["level"], line["status"]) == ("ERROR", "failed")
    assert "s3cret" not in json.dumps(line)


def test_a_rest_apis_authorizer_answers_with_a_policy(vault):
    vault.holds(dbt_fraud={"domains": ["fraud"], "current": OLD})
    method = "arn:aws:execute-api:eu-central-1:444455556666:a1b2c3/prod/POST/api/v1/lineage"

    def effect(authorization: str) -> tuple[str, dict[str, str]]:
        answer = vault.ask(None, methodArn=method, headers={"Authorization": authorization})
        (statement,) = answer["policyDocument"]["Statement"]
        assert statement["Resource"] == method
        return statement["Effect"], answer["context"]

    assert effect(f"Bearer {OLD}") == ("Allow", {"caller": "dbt-fraud", "domains": "fraud"})
    assert effect(f"Bearer {NEW}") == ("Deny", {})


def test_the_log_names_holders_and_never_a_key(vault, capsys):
    vault.holds(dbt_fraud={"domains": ["fraud"], "current": OLD})
    vault.passes(OLD)
    vault.passes(OTHER)
    vault.ask("Basic abc")

    out = capsys.readouterr().out
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["status"] for line in lines] == ["known", "unknown", "no bearer key"]
    assert lines[0]["caller"] == "dbt-fraud"
    assert OLD not in out
    assert OTHER not in out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must be JSON"),
        ("[]", "must be JSON"),
        ('{"dbt": "k"}', "must be JSON"),
        ('{"keys": {"dbt": "k"}}', "'dbt' needs domains and current"),
        ('{"keys": {"dbt": {"domains": ["fraud"]}}}', "'dbt' needs domains and current"),
        (json.dumps({"keys": {"dbt": {"domains": [], "current": OLD}}}), "a list of domains"),
        (json.dumps({"keys": {"dbt": {"domains": ["fraud"], "current": "short"}}}), "at least 32"),
        (json.dumps({"keys": {"dbt": {"domains": ["fraud"], "current": OLD, "previous": ""}}}), "previous needs"),
        (json.dumps({"keys": {"dbt": {"domains": ["fraud"], "current": f"{OLD} x"}}}), "at least 32"),
        (json.dumps({"keys": {n: {"domains": [n], "current": OLD} for n in ("a", "b")}}), "one key twice"),
    ],
)
def test_a_secret_in_another_form_is_named_without_quoting_it(text, said):
    with pytest.raises(ConfigurationError) as caught:
        holders_from(text)

    assert said in str(caught.value)
    assert OLD not in str(caught.value)
