"""Undeclared readers: whoever AWS's access logs show, minus the job roles of the table's declared consumers.

The records have the shape that AWS documents (Lake Formation's and S3's CloudTrail events, S3's server access log).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli import main
from pipeline_runtime.contracts.access_logs import normal_principal

LOCATION = "s3://shop-lake/sales/orders"
OWNER = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"


def lent(role: str, *, table: str = "sales/orders", at: str = "2026-09-01T10:00:00Z", **changes: Any) -> dict[str, Any]:
    """GetDataAccess, as EMR's full-table access and Athena log it."""
    return {
        "eventVersion": "1.11",
        "userIdentity": {
            "type": "AssumedRole",
            "principalId": f"AROA{role.upper()}:session-1",
            "arn": f"arn:aws:sts::111122223333:assumed-role/{role}/session-1",
            "accountId": "111122223333",
        },
        "eventTime": at,
        "eventSource": "lakeformation.amazonaws.com",
        "eventName": "GetDataAccess",
        "requestParameters": {"tableArn": f"arn:aws:glue:eu-central-1:111122223333:table/{table}"},
        "additionalEventData": {
            "requesterService": "ATHENA",
            "lakeFormationPrincipal": f"arn:aws:iam::111122223333:role/{role}",
            "lakeFormationRoleSessionName": f"AWSLF-00-AT-111122223333-{role}",
        },
        "eventCategory": "Management",
        **changes,
    }


def fetched(
    role: str, *, key: str = "sales/orders/data/a.parquet", at: str = "2026-09-02T10:00:00Z", **changes: Any
) -> Any:
    """GetObject, as a role's own credentials log it."""
    return {
        "userIdentity": {
            "type": "AssumedRole",
            "principalId": f"AROA{role.upper()}:i-1",
            "arn": f"arn:aws:sts::111122223333:assumed-role/{role}/i-1",
            "sessionContext": {"sessionIssuer": {"type": "Role", "arn": f"arn:aws:iam::111122223333:role/team/{role}"}},
        },
        "eventTime": at,
        "eventSource": "s3.amazonaws.com",
        "eventName": "GetObject",
        "requestParameters": {"bucketName": "shop-lake", "key": key},
        "eventCategory": "Data",
        **changes,
    }


def logged(
    requester: str, *, key: str = "sales/orders/data/a.parquet", operation: str = "REST.GET.OBJECT", status: str = "200"
) -> str:
    """One line of a server access log."""
    return (
        f"{OWNER} shop-lake [06/Sep/2026:00:00:38 +0000] 192.0.2.3 {requester} 3E57427F3EXAMPLE {operation} {key} "
        f'"GET /shop-lake/{key}?x="quoted" HTTP/1.1" {status} - 2662992 3462992 70 10 "-" "aws-sdk-java/2.20.0" - '
        "s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3 SigV4 ECDHE AuthHeader host TLSV1.2 - - eu-central-1"
    )


@pytest.fixture
def readers(consumers: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`readers(*records, arguments…)`: events go to one CloudTrail file, lines to one server access log."""
    (tmp_path / "logs").mkdir()

    def run(*records: Any, arguments: tuple[str, ...] = ()) -> tuple[int, str, str]:
        events = [record for record in records if isinstance(record, dict)]
        lines = [record for record in records if isinstance(record, str)]
        if events:
            (tmp_path / "logs" / "trail.json.gz").write_bytes(gzip.compress(json.dumps({"Records": events}).encode()))
        if lines:
            (tmp_path / "logs" / "2026-09-06-00-00-38-ABC").write_text("\n".join(lines) + "\n", encoding="utf-8")
        code = main(["readers", "sales.orders", "--location", LOCATION, "--access-log", "logs", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.mark.parametrize("record", [lent("bi"), fetched("bi"), logged("arn:aws:sts::111122223333:assumed-role/bi/i-1")])
def test_each_kind_of_log_names_the_reader_by_its_role(readers, record):
    code, out, _ = readers(record)
    assert code == 1
    assert "1 undeclared reader of sales.orders" in out
    assert "UNDECLARED  arn:aws:iam::111122223333:role/bi  team unknown\n            last read 2026-09-" in out


def test_one_role_is_one_reader_however_it_reads_and_its_last_read_is_said(readers):
    code, out, _ = readers(
        lent("bi"),
        fetched("bi", at="2026-09-04T08:30:00Z"),
        logged("arn:aws:sts::111122223333:assumed-role/bi/x"),
        logged("arn:aws:sts::111122223333:assumed-role/bi/y"),
    )
    assert code == 1
    assert out.count("UNDECLARED") == 1
    assert "last read 2026-09-06 00:00Z, 4 reads" in out
    assert "seen in Lake Formation data access (CloudTrail), S3 data events (CloudTrail), S3 server access logs" in out


@pytest.mark.parametrize(
    "record",
    [
        lent("bi", table="sales/order_lines"),
        lent("bi", errorCode="AccessDenied"),
        fetched("bi", key="sales/orders_archive/a.parquet"),
        fetched("bi", eventName="PutObject"),
        fetched("bi", errorCode="AccessDenied"),
        fetched("bi", requestParameters={"bucketName": "other", "key": "sales/orders/a"}),
        fetched("bi", eventSource="kms.amazonaws.com"),
        logged("x", key="sales/orders_archive/a"),
        logged("x", operation="REST.PUT.OBJECT"),
        logged("x", status="403"),
    ],
)
def test_what_is_no_read_of_the_table_counts_for_nobody(readers, record):
    code, out, _ = readers(record)
    assert code == 0
    assert out.startswith("0 undeclared readers of sales.orders\n")


def test_declared_consumers_are_subtracted_by_their_job_roles(readers, consumers):
    consumers.descriptor("daily-orders")
    events = [lent("cordata-finance-daily-orders"), lent("glue-x"), lent("bi")]
    code, out, _ = readers(*events, arguments=("--job-role", "glue-x", "domains"))
    assert code == 1
    assert "declared    arn:aws:iam::111122223333:role/glue-x  finance@example.org" in out

    _, out, _ = readers(*events, arguments=("domains",))

    assert "declared    arn:aws:iam::111122223333:role/cordata-finance-daily-orders  finance@example.org\n" in out
    assert "declared by daily-orders (finance)" in out
    assert "2 undeclared readers" in out
    assert "1 descriptor pins it" in out


def test_principals_become_teams_and_only_pipelines_that_pin_the_table_excuse_a_role(readers, consumers, tmp_path):
    consumers.descriptor("daily-orders")
    (tmp_path / "principals.yml").write_text(
        """
principals:
  - {principal: "arn:aws:iam::111122223333:role/bi-*", team: bi@example.org}
  - {principal: "arn:aws:iam::111122223333:role/nightly", team: finance@example.org, pipelines: [daily-orders]}
  - {principal: "*role/other", team: risk@example.org, pipelines: [risk-model]}
  - {principal: "*role/shop", team: shop@example.org, producer: true}
""",
        encoding="utf-8",
    )
    code, out, _ = readers(
        *(lent(role) for role in ("bi-looker", "nightly", "other", "shop", "nobody")),
        arguments=("--principals", "principals.yml", "domains"),
    )
    assert code == 1
    assert "UNDECLARED  arn:aws:iam::111122223333:role/bi-looker  bi@example.org" in out
    assert "UNDECLARED  arn:aws:iam::111122223333:role/other  risk@example.org" in out
    assert "risk-model read it and do not pin it" in out
    assert "declared    arn:aws:iam::111122223333:role/nightly  finance@example.org" in out
    assert "the producer itself" in out
    assert "to talk to: bi@example.org, risk@example.org; 1 of no known team" in out


def test_whoever_reads_with_lent_credentials_is_named_by_lake_formations_own_record(readers):
    session = "AWSLF-00-AT-111122223333-bi"
    registered = {
        "arn": f"arn:aws:sts::111122223333:assumed-role/LFRegistrationRole/{session}",
        "sessionContext": {"sessionIssuer": {"arn": "arn:aws:iam::111122223333:role/LFRegistrationRole"}},
    }
    code, out, _ = readers(fetched("x", userIdentity=registered), lent("bi"))
    assert code == 1
    assert "role/bi  team unknown" in out
    assert "2 reads" in out
    assert "LFRegistrationRole" not in out


def test_lent_credentials_are_traced_by_the_source_identity_where_sessions_do_not_match(readers):
    registered = {
        "arn": "arn:aws:sts::111122223333:assumed-role/LFRegistrationRole/AWSLF-00-GL-111122223333-other",
        "sessionContext": {"sourceIdentity": "V2.111122223333.AROABI"},
    }
    assert "role/bi  team" in readers(fetched("x", userIdentity=registered), lent("bi"))[1]
    assert "somebody behind Lake Formation (AROABI)" in readers(fetched("x", userIdentity=registered))[1]


def test_another_accounts_reader_is_shown_by_what_the_log_has(readers):
    event = lent("bi", userIdentity={"type": "AWSAccount", "principalId": "AROAX:job", "accountId": "777788889999"})
    del event["additionalEventData"]["lakeFormationPrincipal"]
    assert "UNDECLARED  777788889999 AROAX:job  team unknown" in readers(event)[1]
    assert "UNDECLARED  anonymous" in readers(logged("-"))[1]


def test_a_key_is_found_however_often_the_log_encoded_it(readers):
    assert readers(logged("x", key="sales/orders/dt%253D2026-09-01/a.parquet"))[0] == 1
    assert readers(logged("x", key="sales/orders/dt%3D2026-09-01/a.parquet"))[0] == 1


def test_what_the_logs_cannot_show_is_said(readers):
    _, out, _ = readers(lent("bi"), lent("bi", at="2026-10-03T10:00:00Z", table="x/y"))
    assert (
        "Lake Formation data access (CloudTrail): 2026-09-01 10:00Z to 2026-10-03 10:00Z, nothing before or after"
        in out
    )
    assert "S3 server access logs: no record at all; whoever reads that way only is not seen" in out
    assert "less often than their retention reaches back" in out


def test_a_resource_links_name_counts_where_it_is_said(readers):
    assert readers(lent("bi", table="shared/shop_orders"))[0] == 0
    assert readers(lent("bi", table="shared/shop_orders"), arguments=("--alias", "shared.Shop_Orders"))[0] == 1


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", b"{", "logs/a.json: "),
        ("a.json", b'{"Records": [{"a": 1}]}', "is no CloudTrail log: an event has no eventSource"),
        ("a.txt", b"hello", "a CloudTrail log or an S3 server access log is expected"),
        ("a.gz", b"\x1f\x8b\x08broken", "logs/a.gz: is no text, plain or gzipped"),
        ("b", (logged("x") + "\nhalf a line").encode(), "logs/b: line 2 is no line of an S3 server access log"),
    ],
)
def test_a_log_that_cannot_be_read_is_no_answer(readers, tmp_path, name, content, reason):
    (tmp_path / "logs" / name).write_bytes(content)
    code, out, err = readers(lent("bi"))
    assert (code, out) == (2, "")
    assert reason in err


def test_no_log_at_all_is_no_answer(readers, tmp_path):
    assert "logs: holds no log file" in readers()[2]
    code, _, err = readers(lent("bi"), arguments=("--access-log", "gone"))
    assert code == 2
    assert "gone: does not exist" in err


def test_a_mapping_with_a_mistake_is_told_by_line(readers, tmp_path):
    (tmp_path / "principals.yml").write_text("principals:\n  - {principal: x, teem: y}\n")
    code, _, err = readers(lent("bi"), arguments=("--principals", "principals.yml"))
    assert code == 2
    assert "principals.yml:2: principals[0].teem: unknown key; did you mean team?" in err


def test_logs_in_a_bucket_and_the_tables_own_location(consumers, table, capsys):
    table.hive({"tx_id": "string"})
    key = f"{table.database}/orders/data/a.parquet"
    event = fetched("bi", requestParameters={"bucketName": table.bucket, "key": key})
    body = gzip.compress(json.dumps({"Records": [event]}).encode())
    prefix = f"{table.database}/AWSLogs/111122223333"
    table.s3.put_object(Bucket=table.bucket, Key=f"{prefix}/CloudTrail/eu-central-1/1.json.gz", Body=body)
    table.s3.put_object(Bucket=table.bucket, Key=f"{prefix}/CloudTrail-Digest/eu-central-1/1.json.gz", Body=b"{}")

    code = main(["readers", f"{table.database}.orders", "--access-log", f"s3://{table.bucket}/{prefix}"])

    out = capsys.readouterr().out
    assert code == 1
    assert "UNDECLARED  arn:aws:iam::111122223333:role/bi" in out
    assert f"outside s3://{table.bucket}/{table.database}/orders/" in out


def test_roles_are_named_alike_in_every_log():
    for arn in (
        "arn:aws:sts::111122223333:assumed-role/r/session",
        "arn:aws:iam::111122223333:role/path/to/r",
        "arn:aws:iam::111122223333:role/r",
    ):
        assert normal_principal(arn) == "arn:aws:iam::111122223333:role/r"
    assert normal_principal("arn:aws:iam::111122223333:user/ann") == "arn:aws:iam::111122223333:user/ann"
