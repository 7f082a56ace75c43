"""The stand-in holds a role's session to the role's policies as IAM does, and asks for what each service asks for."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.conftest import REGION, ROOT, Aws
from tests.servers import free_port, wait_until_up

ACCOUNT, OTHER = "444455556666", "666677778888"
GLUE = f"arn:aws:glue:{REGION}:{ACCOUNT}"
DENIED = pytest.raises(ClientError, match=r"AccessDenied|403")


@pytest.fixture(scope="module")
def enforcing() -> Iterator[Aws]:
    port = free_port()
    command = [sys.executable, "-m", "sandbox.fakes.authorisation.enforcing", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        wait_until_up(f"http://127.0.0.1:{port}/moto-api/data.json", process)
        yield Aws(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def session(enforcing: Aws) -> Callable[..., Callable[[str], Any]]:
    """Makes a role with these statements, in the account, and gives clients of a session of it."""

    def of(*statements: dict[str, Any], trust: dict[str, Any] | None = None) -> Callable[[str], Any]:
        import boto3

        iam, name = enforcing.client("iam", ACCOUNT), f"role-{uuid.uuid4().hex[:8]}"
        trusted = trust or {
            "Effect": "Allow",
            "Action": "sts:AssumeRole",
            "Principal": {"Service": "glue.amazonaws.com"},
        }
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=document(trusted))
        allowed = [{"Effect": "Allow", **statement} for statement in statements]
        if allowed:
            iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=document(*allowed))
        lent = enforcing.client("sts", ACCOUNT).assume_role(
            RoleArn=f"arn:aws:iam::{ACCOUNT}:role/{name}", RoleSessionName="session"
        )["Credentials"]
        made = boto3.Session(lent["AccessKeyId"], lent["SecretAccessKey"], lent["SessionToken"], REGION)
        return lambda service: made.client(service, endpoint_url=enforcing.endpoint)

    return of


def document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


@pytest.fixture
def bucket(enforcing: Aws) -> str:
    name = f"bucket-{uuid.uuid4().hex[:8]}"
    s3 = enforcing.client("s3", ACCOUNT)
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_object(Bucket=name, Key="a/1", Body=b"x")
    return name


def test_a_table_is_asked_for_with_its_database_and_its_catalog(enforcing: Aws, session: Any) -> None:
    glue = enforcing.client("glue", ACCOUNT)
    database = f"db_{uuid.uuid4().hex[:8]}"
    glue.create_database(DatabaseInput={"Name": database})
    glue.create_table(DatabaseName=database, TableInput={"Name": "t"})
    needed = [f"{GLUE}:catalog", f"{GLUE}:database/{database}", f"{GLUE}:table/{database}/t"]

    session({"Action": "glue:GetTable", "Resource": needed})("glue").get_table(DatabaseName=database, Name="T")

    for missing in needed:
        rest = [each for each in needed if each != missing]
        with pytest.raises(ClientError, match=f"AccessDeniedException.*on resource: {missing}"):
            session({"Action": "glue:GetTable", "Resource": rest})("glue").get_table(DatabaseName=database, Name="t")


def test_a_catalog_of_another_account_is_asked_for_by_that_accounts_name(session: Any) -> None:
    mine = session({"Action": "glue:GetDatabase", "Resource": f"{GLUE}:*"})("glue")
    with pytest.raises(ClientError, match=f"AccessDeniedException.*{OTHER}:catalog"):
        mine.get_database(CatalogId=OTHER, Name="d")


def test_that_an_object_is_missing_is_told_to_whoever_may_list_it(session: Any, bucket: str) -> None:
    reading = {"Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}
    listing = {
        "Action": "s3:ListBucket",
        "Resource": f"arn:aws:s3:::{bucket}",
        "Condition": {"StringLike": {"s3:prefix": "a/*"}},
    }
    reader, lister = session(reading)("s3"), session(reading, listing)("s3")

    assert reader.get_object(Bucket=bucket, Key="a/1")["Body"].read() == b"x"
    with DENIED:
        reader.get_object(Bucket=bucket, Key="a/2")
    with pytest.raises(lister.exceptions.NoSuchKey):
        lister.get_object(Bucket=bucket, Key="a/2")
    with DENIED:
        lister.head_object(Bucket=bucket, Key="b/2")
    with DENIED:
        lister.list_objects_v2(Bucket=bucket)


def test_many_keys_are_deleted_by_whoever_may_delete_each(session: Any, bucket: str) -> None:
    s3 = session({"Action": "s3:DeleteObject", "Resource": f"arn:aws:s3:::{bucket}/a/*"})("s3")
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "a/1"}, {"Key": "a/ü&2"}]})
    with DENIED:
        s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "a/1"}, {"Key": "b/1"}]})


def test_an_object_with_tags_asks_for_tagging_as_well(session: Any, bucket: str) -> None:
    put = {"Action": "s3:PutObject", "Resource": f"arn:aws:s3:::{bucket}/*"}
    session(put)("s3").put_object(Bucket=bucket, Key="b", Body=b"")
    with DENIED:
        session(put)("s3").put_object(Bucket=bucket, Key="b", Body=b"", Tagging="k=v")
    both = {**put, "Action": ["s3:PutObject", "s3:PutObjectTagging"]}
    session(both)("s3").put_object(Bucket=bucket, Key="b", Body=b"", Tagging="k=v")


def test_a_role_is_assumed_where_both_its_trust_and_the_callers_policy_say_so(enforcing: Aws, session: Any) -> None:
    iam = enforcing.client("iam", OTHER)
    names = {kind: f"{kind}-{uuid.uuid4().hex[:8]}" for kind in ("trusting", "closed")}
    account = {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}
    named = {"ArnLike": {"aws:PrincipalArn": [f"arn:aws:iam::{ACCOUNT}:role/role-*"]}}
    nobody = {"ArnLike": {"aws:PrincipalArn": [f"arn:aws:iam::{ACCOUNT}:role/else-*"]}}
    for kind, condition in (("trusting", named), ("closed", nobody)):
        trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": account, "Condition": condition}
        iam.create_role(RoleName=names[kind], AssumeRolePolicyDocument=document(trust))
    arns = {kind: f"arn:aws:iam::{OTHER}:role/{name}" for kind, name in names.items()}
    sts = session({"Action": "sts:AssumeRole", "Resource": list(arns.values())})("sts")

    sts.assume_role(RoleArn=arns["trusting"], RoleSessionName="session")
    with DENIED:
        sts.assume_role(RoleArn=arns["closed"], RoleSessionName="session")
    with DENIED:
        session()("sts").assume_role(RoleArn=arns["trusting"], RoleSessionName="session")
    assert session()("sts").get_caller_identity()["Account"] == ACCOUNT


def test_what_was_asked_is_told_each_once(enforcing: Aws, session: Any, bucket: str) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{enforcing.endpoint}/fake/authorisation", method="DELETE")).close()
    s3 = session()("s3")
    for _ in range(2):
        with DENIED:
            s3.list_objects_v2(Bucket=bucket, Prefix="a/")

    with urllib.request.urlopen(f"{enforcing.endpoint}/fake/authorisation") as answer:
        [told] = json.load(answer)

    assert (told["action"], told["allowed"]) == ("s3:ListBucket", False)
    assert told["resource"] == f"arn:aws:s3:::{bucket}?prefix=a/"


def test_a_tags_value_is_seen_and_attached_by_whoever_is_granted_it(enforcing: Aws, session: Any) -> None:
    name = f"d{uuid.uuid4().hex[:8]}"
    governance, domain = enforcing.client("lakeformation", OTHER), enforcing.client("lakeformation", ACCOUNT)
    governance.create_lf_tag(TagKey=name, TagValues=["low", "high"])
    enforcing.client("glue", ACCOUNT).create_database(DatabaseInput={"Name": name})
    mine = session({"Action": "lakeformation:*", "Resource": "*"})
    role = mine("sts").get_caller_identity()["Arn"].split("/")[1]

    def attach(value: str) -> None:
        tag = {"CatalogId": OTHER, "TagKey": name, "TagValues": [value]}
        mine("lakeformation").add_lf_tags_to_resource(Resource={"Database": {"Name": name}}, LFTags=[tag])

    with pytest.raises(ClientError, match=r"AccessDeniedException.*Required ASSOCIATE"):
        attach("high")
    domain.grant_permissions(
        Principal={"DataLakePrincipalIdentifier": f"arn:aws:iam::{ACCOUNT}:role/{role}"},
        Resource={"LFTag": {"CatalogId": OTHER, "TagKey": name, "TagValues": ["high"]}},
        Permissions=["ASSOCIATE", "DESCRIBE"],
    )

    attach("high")
    with pytest.raises(ClientError, match="AccessDeniedException"):
        attach("low")
    [seen] = mine("lakeformation").list_lf_tags(CatalogId=OTHER)["LFTags"]
    assert (seen["TagKey"], seen["TagValues"]) == (name, ["high"])


def test_a_secret_is_asked_for_by_the_arn_that_is_named(enforcing: Aws, session: Any) -> None:
    secrets = enforcing.client("secretsmanager", ACCOUNT)
    mine, other = (
        secrets.create_secret(Name=f"{name}-{uuid.uuid4().hex[:8]}", SecretString=name)["ARN"] for name in ("a", "b")
    )
    reader = session({"Action": "secretsmanager:GetSecretValue", "Resource": mine})("secretsmanager")

    assert reader.get_secret_value(SecretId=mine)["SecretString"] == "a"
    with pytest.raises(ClientError, match=f"AccessDeniedException.*on resource: {other}"):
        reader.get_secret_value(SecretId=other)


def test_a_replication_is_started_by_its_arn_and_found_among_all(session: Any) -> None:
    mine, other = (f"arn:aws:dms:{REGION}:{ACCOUNT}:task:{name}" for name in ("MINE", "OTHER"))
    started = {"Action": "dms:StartReplicationTask", "Resource": mine}
    starter, finder = session(started)("dms"), session({"Action": "dms:Describe*", "Resource": "*"})("dms")

    with pytest.raises(starter.exceptions.ResourceNotFoundFault):  # Asked, allowed, and not there.
        starter.start_replication_task(ReplicationTaskArn=mine, StartReplicationTaskType="start-replication")
    with pytest.raises(ClientError, match=f"AccessDeniedException.*on resource: {other}"):
        starter.start_replication_task(ReplicationTaskArn=other, StartReplicationTaskType="start-replication")
    with pytest.raises(ClientError, match=r"AccessDeniedException.*on resource: \*"):
        starter.describe_replication_tasks()
    assert finder.describe_replication_tasks()["ReplicationTasks"] == []
