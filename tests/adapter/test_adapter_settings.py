"""A wrong setting is found before any event is lost to it; the package stays as light as a Lambda's zip must be."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from adapter_samples import run_event

from lineage_adapter import errors
from lineage_adapter.errors import AdapterError, ConfigurationError
from lineage_adapter.settings import settings_from

ROOT = Path(__file__).resolve().parents[2]
ROLE = "arn:aws:iam::444455556666:role/lineage-invoker"
COMPLETE = {
    "DATAZONE_DOMAIN_ID": "dzd_4x1abc",
    "LINEAGE_DEAD_LETTER_QUEUE": "https://sqs.eu-central-1.amazonaws.com/444455556666/lineage-dead-letters",
    "LINEAGE_DEAD_LETTER_PAYLOADS": "s3://cordata-lineage/dead-letters/",
}


@pytest.mark.parametrize("domain_id", ["dzd_4x1abc", "dzd-4x1abc", "dzd_A-b_9", "dzd_" + "x" * 36])
def test_datazones_own_ids_are_taken(domain_id):
    assert settings_from({**COMPLETE, "DATAZONE_DOMAIN_ID": domain_id}).domain_id == domain_id


@pytest.mark.parametrize(
    "domain_id", ["my-domain", "dzd", "dzd_", "dzd_" + "x" * 37, "DZD_4x1abc", "dzd_4x1abc ", "dzd_ä"]
)
def test_reported_what_is_no_domain_id_is_named_with_the_pattern(domain_id):
    with pytest.raises(ConfigurationError) as caught:
        settings_from({"DATAZONE_DOMAIN_ID": domain_id})

    assert f"DATAZONE_DOMAIN_ID is {domain_id!r}" in str(caught.value)
    assert "dzd[-_][a-zA-Z0-9_-]{1,36}" in str(caught.value)


@pytest.mark.parametrize("environ", [{}, {"DATAZONE_DOMAIN_ID": ""}])
def test_a_missing_domain_id_is_said_to_be_missing(environ):
    with pytest.raises(ConfigurationError, match="DATAZONE_DOMAIN_ID is not set"):
        settings_from(environ)


def test_the_dead_letters_places_and_the_callers_are_read():
    settings = settings_from({**COMPLETE, "LINEAGE_CALLERS": f'{{"{ROLE}": ["fraud", "policy"]}}'})

    assert (settings.bucket, settings.prefix) == ("cordata-lineage", "dead-letters/")
    assert settings.principals == {ROLE: {"fraud", "policy"}}
    assert settings.give_up_seconds == 6 * 3600


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LINEAGE_DEAD_LETTER_QUEUE", "", "or what is refused is lost"),
        ("LINEAGE_DEAD_LETTER_QUEUE", "lineage-dead-letters", "the URL of an SQS queue"),
        ("LINEAGE_DEAD_LETTER_PAYLOADS", "", "s3://bucket/prefix"),
        ("LINEAGE_DEAD_LETTER_PAYLOADS", "cordata-lineage/x", "s3://bucket/prefix"),
        ("LINEAGE_GIVE_UP_SECONDS", "6 hours", "whole number of seconds"),
        ("LINEAGE_GIVE_UP_SECONDS", "0", "whole number of seconds"),
        ("LINEAGE_CALLERS", "{", "not JSON"),
        ("LINEAGE_CALLERS", "[]", "one JSON object"),
        ("LINEAGE_CALLERS", '{"lineage-invoker": ["fraud"]}', "'lineage-invoker' is no ARN"),
        ("LINEAGE_CALLERS", f'{{"{ROLE}": "fraud"}}', "a list of domains"),
        ("LINEAGE_CALLERS", f'{{"{ROLE}": []}}', "a list of domains"),
        ("LINEAGE_CALLERS", f'{{"{ROLE}": ["fraud.scores"]}}', "a list of domains"),
        ("LINEAGE_CALLERS", f'{{"{ROLE}": ["a"], "{ROLE.replace("role/", "role/team/")}": ["b"]}}', "named twice"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(name, value, said):
    with pytest.raises(ConfigurationError, match=name) as caught:
        settings_from({**COMPLETE, name: value})

    assert said in str(caught.value)


def test_without_dead_letters_nothing_is_taken(adapter_environment, post, datazone):
    adapter_environment.delenv("LINEAGE_DEAD_LETTER_QUEUE")

    answer = post(run_event())

    assert (answer.code, answer.status) == (500, "misconfigured")
    assert datazone.bodies == []


def test_a_wrong_domain_id_is_answered_to_every_emitter(adapter_environment, post, datazone):
    adapter_environment.setenv("DATAZONE_DOMAIN_ID", "my-domain")

    for _ in range(2):
        answer = post(run_event())
        assert (answer.code, answer.status) == (500, "misconfigured")
        assert "'my-domain'" in answer.reason
    assert datazone.bodies == []


def test_a_domain_that_does_not_exist_is_a_matter_of_the_deployment(adapter_environment, post, datazone):
    adapter_environment.setenv("DATAZONE_DOMAIN_ID", "dzd_elsewhere")

    answer = post(run_event())

    assert (answer.code, answer.status) == (500, "misconfigured")
    assert "dzd_elsewhere does not exist" in answer.reason
    assert "check the domain id" in answer.reason


def test_an_event_goes_to_the_configured_domain(adapter_environment, post, datazone):
    datazone.set("/fake/domains", ids=["dzd_second"])
    adapter_environment.setenv("DATAZONE_DOMAIN_ID", "dzd_second")

    post(run_event())

    assert [event["domainId"] for event in datazone.get("/fake/events")] == ["dzd_second"]


def test_a_missing_region_is_answered_not_raised(adapter_environment, post):
    adapter_environment.delenv("AWS_REGION")
    adapter_environment.delenv("AWS_DEFAULT_REGION")
    adapter_environment.setenv("AWS_CONFIG_FILE", "/nowhere")

    answer = post(run_event())

    assert (answer.code, answer.status) == (500, "misconfigured")
    assert "region" in answer.reason


def test_importing_the_handler_loads_the_standard_library_only():
    program = (
        "import sys; before = set(sys.modules); import lineage_adapter.handler;"
        "new = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(*sorted(new - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["lineage_adapter"]


def test_the_package_uses_nothing_but_itself_and_boto3():
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "lineage_adapter").glob("*.py")]
    imported = {name for source in sources for name in re.findall(r"^\s*(?:from|import) (\w+)", source, re.MULTILINE)}

    assert imported - set(sys.stdlib_module_names) == {"lineage_adapter", "boto3", "botocore"}


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes():
    def drawn(kind: type, depth: int = 0) -> list[tuple[int, str]]:
        below = [pair for each in kind.__subclasses__() for pair in drawn(each, depth + 1)]
        return [(depth, kind.__name__), *below]

    lines = re.findall(r"^([│├└─ ]*)(\w+)(?:  .*)?$", inspect.getdoc(errors).split("\n\n")[1], re.MULTILINE)

    assert [(len(marks) // 4, name) for marks, name in lines] == drawn(AdapterError)
