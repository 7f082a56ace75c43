"""The events and requests that the adapter's tests start from."""

from __future__ import annotations

import json
from typing import Any

RUN_ID = "b8c1c9e3-5a1e-4c0f-9a1a-2c9f8b1a5e12"
PRODUCER = "https://github.com/cordata-tech/pipeline-runtime/tree/2.4.1"
SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
ROLE = "lineage-invoker-fraud"
SCORED = "arn:aws:glue:eu-central-1:111122223333:table/fraud_curated/transactions_scored"

#: The account that the adapter runs in.
ACCOUNT = "999999999999"
STREAM = "arn:aws:kinesis:eu-central-1:444455556666:stream/lineage"
CALLERS = {
    f"arn:aws:iam::444455556666:role/platform/{ROLE}": ["fraud"],
    "arn:aws:iam::444455556666:role/lineage-invoker-policy": ["policy"],
    STREAM: ["fraud", "policy"],
}


def run_event(**changes: Any) -> dict[str, Any]:
    """A COMPLETE event of the fraud pipeline with some members changed; None leaves a member out."""
    event = {
        "eventType": "COMPLETE",
        "eventTime": "2026-08-04T09:14:22.123Z",
        "producer": PRODUCER,
        "schemaURL": SCHEMA + "RunEvent",
        "run": {"runId": RUN_ID},
        "job": {"namespace": "cordata.fraud", "name": "transactions-scored-daily"},
        "inputs": [],
        "outputs": [],
    }
    return {key: value for key, value in {**event, **changes}.items() if value is not None}


def as_bytes(event: dict[str, Any]) -> bytes:
    """The event as an emitter may write it: compact, and in UTF-8 rather than escapes."""
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def signed_by(arn: str = f"arn:aws:sts::444455556666:assumed-role/{ROLE}/pipeline-runtime-lineage") -> dict[str, Any]:
    """What API Gateway says of a caller on the route with IAM authorisation."""
    iam = {
        "accessKey": "ASIAXXXXXXXXXXXXXXXX",
        "accountId": arn.split(":")[4],
        "callerId": "AROAXXXXXXXXXXXXXXXXX:pipeline-runtime-lineage",
        "cognitoIdentity": None,
        "principalOrgId": "o-sample",
        "userArn": arn,
        "userId": "AROAXXXXXXXXXXXXXXXXX:pipeline-runtime-lineage",
    }
    return {"iam": iam}


def keyed(name: str = "dbt-fraud", domains: str = "fraud") -> dict[str, Any]:
    """What API Gateway says of a caller on the route with the Lambda authorizer."""
    return {"lambda": {"caller": name, "domains": domains}}


def http_api(
    body: str | None, *, base64: bool = False, authorizer: dict[str, Any] | None = None, **headers: str
) -> dict[str, Any]:
    """A request as API Gateway's HTTP API hands it to a Lambda, payload format 2.0; signed by fraud's role."""
    return {
        "version": "2.0",
        "routeKey": "POST /lineage",
        "rawPath": "/lineage",
        "rawQueryString": "",
        "headers": {"content-type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()},
        "requestContext": {
            "accountId": "111122223333",
            "apiId": "a1b2c3d4e5",
            "authorizer": signed_by() if authorizer is None else authorizer,
            "http": {"method": "POST", "path": "/lineage", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"},
            "requestId": "JKJaXmPLvHcESHA=",
            "routeKey": "POST /lineage",
            "stage": "$default",
            "time": "04/Aug/2026:09:14:22 +0000",
        },
        "body": body,
        "isBase64Encoded": base64,
    }


def glue_run(run_id: str = RUN_ID) -> dict[str, Any]:
    """A run of a Glue job, as DataZone recognises it."""
    properties = {"GLUE_VERSION": "5.1", "GLUE_COMMAND_CRITERIA": "glueetl", "GLUE_PYTHON_VERSION": "3"}
    facet = {"_producer": PRODUCER, "_schemaURL": SCHEMA + "RunFacet", "environment-properties": properties}
    return {"runId": run_id, "facets": {"environment-properties": facet}}


def glue_dataset(account: str, table: str, *further: dict[str, str]) -> dict[str, Any]:
    """A Glue table under its own identity, the first symlink repeating it, then `further` symlinks."""
    namespace, name = f"arn:aws:glue:eu-central-1:{account}", f"table/{table}"
    links = [{"namespace": namespace, "name": name, "type": "TABLE"}, *further]
    facet = {"_producer": PRODUCER, "_schemaURL": "https://openlineage.io/spec/facets/1-0-1/SymlinksDatasetFacet.json"}
    return {"namespace": namespace, "name": name, "facets": {"symlinks": {**facet, "identifiers": links}}}
