"""From a catalogued JDBC table to the database behind it: before an engine starts, and without telling a secret."""

from __future__ import annotations

import json
import socket
import traceback
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from uuid import uuid4

import pytest
from botocore.stub import Stubber

from pipeline_runtime.catalog.connections import JdbcEndpoint, jdbc_endpoint
from pipeline_runtime.catalog.table import CatalogTable, PinnedSource, TableIdentity
from pipeline_runtime.errors import CatalogError
from pipeline_runtime.lineage.identity import jdbc_dataset
from pipeline_runtime.readers.jdbc import with_endpoint
from pipeline_runtime.schema.columns import Column, Schema
from sandbox.fakes.datazone_nodes import Caller, source_identifier

SECRET = "s3cret"
LOCATION = "ledger.public.payments"
IDENTITY = TableIdentity("eu-central-1", "111122223333", "raw", "payments")
COLUMNS = Schema((Column("id", "bigint"), Column("note", "string")))


def table(location: str = LOCATION, **parameters: str) -> CatalogTable:
    return CatalogTable(IDENTITY, 3, COLUMNS, location, is_iceberg=False, parameters=parameters)


@pytest.fixture
def glue(aws: Any) -> Any:
    return aws.client("glue")


@pytest.fixture
def connect(glue: Any) -> Callable[..., CatalogTable]:
    """Makes a Glue connection of these properties, and a table that names it."""

    def make(url: str, **properties: str) -> CatalogTable:
        name = f"ledger-{uuid4().hex[:8]}"
        properties["JDBC_CONNECTION_URL"] = url
        glue.create_connection(
            ConnectionInput={"Name": name, "ConnectionType": "JDBC", "ConnectionProperties": properties}
        )
        return table(classification="postgresql", connectionName=name)

    return make


@pytest.fixture
def keep(aws: Any) -> Callable[[Any], str]:
    """Puts a secret into Secrets Manager and returns its name."""

    def make(content: Any) -> str:
        name = f"rds/{uuid4().hex[:8]}"
        text = content if isinstance(content, str) else json.dumps(content)
        aws.client("secretsmanager").create_secret(Name=name, SecretString=text)
        return name

    return make


@pytest.fixture
def endpoint(aws: Any, glue: Any) -> Callable[[CatalogTable], JdbcEndpoint]:
    return lambda found: jdbc_endpoint(found, glue, lambda: aws.client("secretsmanager"))


def credentials(found: JdbcEndpoint) -> tuple[str, str]:
    return found.user, found.password.get_secret_value()


def test_a_connection_with_user_and_password_is_an_endpoint(connect: Any, endpoint: Any) -> None:
    found = endpoint(connect("jdbc:postgresql://DB.internal:5433/ledger", USERNAME="app", PASSWORD=SECRET))
    assert (found.host, found.port, found.database) == ("db.internal", 5433, "ledger")
    assert (found.schema, found.table) == ("public", "payments")
    assert found.url == "jdbc:postgresql://db.internal:5433/ledger"
    assert credentials(found) == ("app", SECRET)


def test_its_dataset_is_the_databases_own_and_links_to_the_catalogs_entry(connect: Any, endpoint: Any) -> None:
    found = endpoint(connect("jdbc:postgresql://db.internal/ledger", USERNAME="app", PASSWORD=SECRET))
    dataset = jdbc_dataset(found, IDENTITY, domain="fraud")
    assert (dataset.namespace, dataset.name) == ("postgres://db.internal:5432", LOCATION)
    first, *_ = dataset.symlinks
    assert (first.type, first.namespace, first.name) == (
        "CATALOG",
        "arn:aws:glue:eu-central-1:111122223333",
        "table/raw/payments",
    )


def test_in_datazone_its_node_is_the_one_that_other_tools_name(connect: Any, endpoint: Any) -> None:
    found = endpoint(connect("jdbc:postgresql://db.internal/ledger", USERNAME="app", PASSWORD=SECRET))
    ours = jdbc_dataset(found, IDENTITY, domain="fraud")
    links = [{"namespace": each.namespace, "name": each.name, "type": each.type} for each in ours.symlinks]
    told = {"namespace": ours.namespace, "name": ours.name, "facets": {"symlinks": {"identifiers": links}}}
    by_dbt = {"namespace": "postgres://db.internal:5432", "name": LOCATION}
    on_glue = {"environment-properties": {"environment-properties": {"GLUE_VERSION": "5.1"}}}
    caller = Caller("111122223333", "eu-central-1")
    assert source_identifier(told, on_glue, caller) == source_identifier(by_dbt, {}, caller)


def test_the_credentials_come_from_the_connections_secret(connect: Any, endpoint: Any, keep: Any) -> None:
    name = keep({"username": "rotated", "password": SECRET})
    found = endpoint(connect("jdbc:postgresql://db/ledger", SECRET_ID=name, USERNAME="old", PASSWORD="old"))
    assert credentials(found) == ("rotated", SECRET)


def test_the_tables_own_secret_comes_before_the_connections(connect: Any, endpoint: Any, keep: Any) -> None:
    connected = connect("jdbc:postgresql://db/ledger", USERNAME="app", PASSWORD="app")
    own = table(**connected.parameters, **{"cordata.jdbc_secret": keep({"username": "reader", "password": SECRET})})
    assert credentials(endpoint(own)) == ("reader", SECRET)


def test_a_secret_of_rds_is_an_endpoint_without_any_connection(endpoint: Any, keep: Any) -> None:
    secret = {"engine": "postgres", "host": "db", "port": 5440, "dbname": "ledger", "username": "u", "password": SECRET}
    found = endpoint(table(**{"cordata.jdbc_secret": keep(secret)}))
    assert found.url == "jdbc:postgresql://db:5440/ledger"
    assert credentials(found) == ("u", SECRET)


def answering(glue: Any, type_: str, **connection: Any) -> Stubber:
    """A client that answers as AWS does for the newer kinds of connection, which the stand-in does not know."""
    stub = Stubber(glue)
    place = {"HOST": "db", "PORT": "5433", "DATABASE": "ledger"}
    described = {"Name": "ledger", "ConnectionType": type_, "ConnectionProperties": place, **connection}
    stub.add_response("get_connection", {"Connection": described}, {"Name": "ledger"})
    return stub


def test_a_connection_of_the_type_postgresql_is_an_endpoint(glue: Any, endpoint: Any, keep: Any) -> None:
    secret = keep({"username": "app", "password": SECRET})
    with answering(glue, "POSTGRESQL", AuthenticationConfiguration={"SecretArn": secret}):
        found = endpoint(table(connectionName="ledger"))
    assert found.url == "jdbc:postgresql://db:5433/ledger"
    assert credentials(found) == ("app", SECRET)


def test_a_connection_of_another_type_is_refused(glue: Any, endpoint: Any) -> None:
    with answering(glue, "MYSQL"):
        said = refusal(lambda: endpoint(table(connectionName="ledger")))
    assert "cannot be used: it is of the type MYSQL and has no JDBC_CONNECTION_URL" in said


def test_reported_ol_10_credentials_in_the_url_go_to_the_driver_and_nowhere_else(connect: Any, endpoint: Any) -> None:
    found = endpoint(
        connect(f"jdbc:postgresql://app:{SECRET}@h:5432/ledger?password={SECRET}&sslmode=require&sslpassword={SECRET}")
    )
    assert found.url == "jdbc:postgresql://h:5432/ledger?sslmode=require"
    assert found.credentials() == {"user": "app", "password": SECRET, "sslpassword": SECRET}
    assert (found.namespace, found.name) == ("postgres://h:5432", LOCATION)
    for text in (repr(found), str(found), f"{asdict(found)}", json.dumps(asdict(found), default=str)):
        assert SECRET not in text
    assert SECRET not in found.without_secrets(f"cannot log in with {SECRET}")


@pytest.mark.parametrize(
    ("url", "user", "password"),
    [
        ("jdbc:postgresql://app:p%40ss@h/ledger", "app", "p@ss"),
        ("jdbc:postgresql://app:s3/c@ret@h/ledger", "app", "s3/c@ret"),
        ("jdbc:postgresql://h/ledger?user=app&password=a%26b", "app", "a&b"),
    ],
)
def test_credentials_are_found_however_the_url_spells_them(
    connect: Any, endpoint: Any, url: str, user: str, password: str
) -> None:
    found = endpoint(connect(url))
    assert credentials(found) == (user, password)
    assert found.url == "jdbc:postgresql://h:5432/ledger"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", "?sslmode=require"),
        ("?sslmode=disable", "?sslmode=require"),
        ("?sslmode=verify-full", "?sslmode=verify-full"),
        ("?connectTimeout=5", "?connectTimeout=5&sslmode=require"),
    ],
)
def test_a_connection_that_enforces_ssl_is_encrypted(connect: Any, endpoint: Any, options: str, expected: str) -> None:
    found = endpoint(
        connect(f"jdbc:postgresql://h/ledger{options}", JDBC_ENFORCE_SSL="true", USERNAME="app", PASSWORD=SECRET)
    )
    assert found.url == f"jdbc:postgresql://h:5432/ledger{expected}"


def refusal(act: Callable[[], Any]) -> str:
    with pytest.raises(CatalogError) as caught:
        act()
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown.replace("SECRET", "")
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"jdbc:mysql://app:{SECRET}@h/ledger", "its URL is one of jdbc:mysql; the jdbc reader reads PostgreSQL"),
        (f"jdbc:oracle:thin:app/{SECRET}@h:1521/x", "its URL is one of jdbc:oracle"),
        (f"{SECRET}", "its URL is no JDBC URL"),
        ("jdbc:postgresql:ledger", "names no host"),
        (f"jdbc:postgresql://app:{SECRET}@h:port/ledger", "no valid host and port"),
        (f"jdbc:postgresql://app:{SECRET}?x@h/ledger", "no valid host and port"),
        ("jdbc:postgresql://h:70000/ledger", "port is not one of 1 to 65535"),
        ("jdbc:postgresql://h1:5432,h2:5432/ledger", "several hosts; name one"),
    ],
)
def test_a_url_that_cannot_be_used_is_an_error_that_does_not_repeat_it(
    connect: Any, endpoint: Any, url: str, message: str
) -> None:
    found = connect(url, USERNAME="app", PASSWORD=SECRET)
    said = refusal(lambda: endpoint(found))
    assert said.startswith(f"raw.payments: the Glue connection {found.parameters['connectionName']} cannot be used: ")
    assert message in said


def test_a_connection_that_is_missing_is_named_with_the_closest(connect: Any, endpoint: Any) -> None:
    name = connect("jdbc:postgresql://h/ledger").parameters["connectionName"]
    said = refusal(lambda: endpoint(table(connectionName=name + "x")))
    assert said == (
        f"raw.payments names the Glue connection {name}x, which is not in the job's own account. Did you mean {name}?"
    )


def test_a_table_that_names_neither_connection_nor_secret_is_an_error(endpoint: Any) -> None:
    said = refusal(lambda: endpoint(table(classification="postgresql")))
    assert "neither connectionName (a Glue connection) nor cordata.jdbc_secret" in said


def test_a_secret_that_is_missing_is_an_error_that_names_it(connect: Any, endpoint: Any) -> None:
    said = refusal(lambda: endpoint(connect("jdbc:postgresql://h/ledger", SECRET_ID="rds/none")))
    assert said.startswith("raw.payments: there is no secret rds/none in Secrets Manager, in the job's account and")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SECRET, "is not a JSON object; it needs username and password"),
        (f'["{SECRET}"]', "is not a JSON object"),
        ({"user": "app", "password": SECRET}, "has no username"),
        ({"username": "", "password": 1}, "has no username and no password"),
    ],
)
def test_a_secret_of_another_shape_is_an_error_that_does_not_tell_it(
    connect: Any, endpoint: Any, keep: Any, content: Any, message: str
) -> None:
    name = keep(content)
    said = refusal(lambda: endpoint(connect("jdbc:postgresql://h/ledger", SECRET_ID=name)))
    assert said.startswith(f"raw.payments: the secret {name} {message}")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({}, "has no username and password"),
        ({"USERNAME": "app"}, "has no username and password"),
        ({"USERNAME": "app", "ENCRYPTED_PASSWORD": "AQIC"}, "gives its password encrypted only"),
    ],
)
def test_a_connection_without_credentials_is_an_error_with_the_remedy(
    connect: Any, endpoint: Any, properties: dict[str, str], message: str
) -> None:
    said = refusal(lambda: endpoint(connect("jdbc:postgresql://h/ledger", **properties)))
    assert f"{message}. Put them in a secret in Secrets Manager" in said


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (table(classification="mysql", connectionName="c"), "is classified as mysql; the jdbc reader reads postgresql"),
        (table("public.payments", connectionName="c"), "its location is public.payments; a JDBC table's is"),
        (table("", connectionName="c"), "its location is empty"),
    ],
)
def test_a_table_that_is_no_postgresql_table_is_refused(endpoint: Any, found: CatalogTable, message: str) -> None:
    assert message in refusal(lambda: endpoint(found))


def test_a_connection_to_another_database_than_the_tables_is_refused(connect: Any, endpoint: Any) -> None:
    said = refusal(lambda: endpoint(connect("jdbc:postgresql://h/crm", USERNAME="app", PASSWORD=SECRET)))
    assert "its location is ledger.public.payments and its connection leads to the database crm" in said


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("cordata.jdbc_partitions", "many", "is many; it must be a whole number from 1 to 200"),
        ("cordata.jdbc_partitions", "0", "is 0; it must be a whole number from 1 to 200"),
        ("cordata.jdbc_partition_column", "idd", "is idd, which is no column of the table. Did you mean id?"),
        ("cordata.jdbc_partition_column", "note", "is note, a string; ranges need an integer, decimal, date or"),
    ],
)
def test_a_wrong_parameter_is_an_error_before_anything_is_looked_up(
    aws: Any, glue: Any, parameter: str, value: str, message: str
) -> None:
    source = PinnedSource(table(**{parameter: value}), COLUMNS, 3)
    said = refusal(lambda: with_endpoint(source, glue, lambda: aws.client("secretsmanager")))
    assert said.startswith(f"raw.payments: {parameter} {message}")


def test_a_database_that_does_not_answer_is_an_error_before_an_engine_starts(aws: Any, glue: Any, connect: Any) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        found = connect(f"jdbc:postgresql://127.0.0.1:{port}/ledger", USERNAME="app", PASSWORD=SECRET)
        source = PinnedSource(found, COLUMNS, 3)
        said = refusal(lambda: with_endpoint(source, glue, lambda: aws.client("secretsmanager")))
    assert said.startswith(f"raw.payments: nothing answers at 127.0.0.1:{port} (Connection refused)")


def test_a_database_that_answers_is_part_of_the_source(aws: Any, glue: Any, connect: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        found = connect(f"jdbc:postgresql://127.0.0.1:{port}/ledger", USERNAME="app", PASSWORD=SECRET)
        source = with_endpoint(PinnedSource(found, COLUMNS, 3), glue, lambda: aws.client("secretsmanager"))
    assert source.jdbc is not None
    assert source.jdbc.port == port
