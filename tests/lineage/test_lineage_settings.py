"""Where lineage goes, and what is refused instead of guessed."""

from __future__ import annotations

import pytest

from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.lineage.settings import Destination, LineageSettings

API = "https://abc123.execute-api.eu-central-1.amazonaws.com/lineage"
ROLE = "arn:aws:iam::111122223333:role/lineage-invoker"


def settings(**environ: str) -> LineageSettings:
    named = {"EVIDENCE": "s3://evidence/prefix", **environ}
    return LineageSettings.from_environ(
        {name if name.startswith("AWS_") else f"CORDATA_{name}": value for name, value in named.items()}
    )


@pytest.mark.parametrize(
    ("environ", "destination"),
    [
        ({"LINEAGE_URL": API}, Destination(API, "iam", "eu-central-1")),
        ({"LINEAGE_URL": API, "AWS_REGION": "us-east-1"}, Destination(API, "iam", "eu-central-1")),
        ({"LINEAGE_URL": API, "LINEAGE_ROLE_ARN": ROLE}, Destination(API, "iam", "eu-central-1", ROLE)),
        (
            {"LINEAGE_URL": "https://lineage.example.org/lineage", "AWS_REGION": "eu-west-1"},
            Destination("https://lineage.example.org/lineage", "iam", "eu-west-1"),
        ),
        ({"LINEAGE_URL": API, "LINEAGE_AUTH": "none"}, Destination(API, "none")),
        ({"LINEAGE_URL": "http://127.0.0.1:8080/lineage"}, Destination("http://127.0.0.1:8080/lineage", "none")),
        (
            {"LINEAGE_URL": "http://localhost/lineage", "LINEAGE_ROLE_ARN": ROLE, "AWS_REGION": "eu-west-1"},
            Destination("http://localhost/lineage", "iam", "eu-west-1", ROLE),
        ),
        ({"LINEAGE_URL": "http://[::1]:8080/lineage"}, Destination("http://[::1]:8080/lineage", "none")),
        ({"LINEAGE_URL": "http://localhost/lineage"}, Destination("http://localhost/lineage", "none")),
        (
            {"LINEAGE_URL": "http://marquez:5000/api/v1/lineage", "LINEAGE_AUTH": "none"},
            Destination("http://marquez:5000/api/v1/lineage", "none"),
        ),
        (
            {"LINEAGE_URL": "http://localhost/lineage", "LINEAGE_AUTH": "iam", "AWS_DEFAULT_REGION": "eu-west-1"},
            Destination("http://localhost/lineage", "iam", "eu-west-1"),
        ),
    ],
)
def test_a_destination_is_signed_unless_it_is_this_machine_or_said_otherwise(
    environ: dict[str, str], destination: Destination
) -> None:
    assert settings(**environ) == LineageSettings("s3://evidence/prefix", destination)


def test_lineage_is_off_only_in_so_many_words() -> None:
    assert settings(LINEAGE="off").destination is None
    assert settings(LINEAGE="OFF", LINEAGE_URL=API).destination is None
    assert settings(LINEAGE="on", LINEAGE_URL=API).destination is not None


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "CORDATA_LINEAGE=off"),
        ({"LINEAGE_URL": "  "}, "CORDATA_LINEAGE=off"),
        ({"LINEAGE": "no"}, "allowed are on and off"),
        ({"EVIDENCE": "", "LINEAGE": "off"}, "CORDATA_EVIDENCE"),
        ({"LINEAGE_URL": "lineage-adapter"}, "http:// or https://"),
        ({"LINEAGE_URL": "https://"}, "http:// or https://"),
        ({"LINEAGE_URL": "https://h:port/x"}, "http:// or https://"),
        ({"LINEAGE_URL": "https://app:s3cret@host/lineage"}, "holds credentials"),
        ({"LINEAGE_URL": "https://host/lineage?key=s3cret"}, "holds credentials"),
        ({"LINEAGE_URL": API, "LINEAGE_AUTH": "basic"}, "allowed are iam and none"),
        ({"LINEAGE_URL": "http://10.0.0.1/lineage"}, "use https"),
        ({"LINEAGE_URL": "http://10.0.0.1/lineage", "LINEAGE_AUTH": "iam", "AWS_REGION": "eu-west-1"}, "use https"),
        ({"LINEAGE_URL": "https://lineage.example.org"}, "AWS_REGION"),
        ({"LINEAGE_URL": API, "LINEAGE_ROLE_ARN": "lineage-invoker"}, "no role's ARN"),
    ],
)
def test_reported_ol_2_what_is_missing_or_wrong_is_an_error_with_its_remedy(
    environ: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        settings(**environ)
    assert caught.value.exit_code == 2
    assert "s3cret" not in str(caught.value)
