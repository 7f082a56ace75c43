"""The database behind a JDBC source: its place and its credentials, found without asking the database.

The Glue table, as a JDBC crawler makes it, says `classification` = `postgresql`, `connectionName` and, as its
location, `<database>.<schema>.<table>`. The Glue connection of that name, in the job's own account, has the URL
and either USERNAME and PASSWORD, or SECRET_ID. The Parameter `cordata.jdbc_secret` names a secret in Secrets
Manager that takes precedence, and that may stand alone where it holds `host` and `dbname` too, as RDS's do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr

from pipeline_runtime.catalog.answers import closest, code_of, refused
from pipeline_runtime.catalog.jdbc_url import DEFAULT_PORT, PostgresUrl, parse_url, to_url
from pipeline_runtime.catalog.parameters import JDBC_SECRET
from pipeline_runtime.errors import CatalogError

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_glue.type_defs import ConnectionTypeDef
    from mypy_boto3_secretsmanager import SecretsManagerClient

    from pipeline_runtime.catalog.table import CatalogTable

__all__ = ["JdbcEndpoint", "jdbc_endpoint"]

_CLASSIFICATIONS: Final = frozenset({"postgresql", "postgres", "aurora-postgresql"})
#: sslmode values that let the connection go unencrypted.
_UNSAFE_SSL: Final = frozenset({"disable", "allow", "prefer"})


@dataclass(frozen=True)
class JdbcEndpoint:
    """A table in a PostgreSQL database, and what it takes to read it.

    `url` holds no credentials; `user`, `password` and `hidden` (the driver's other secret properties) go to the
    driver as properties and nowhere else. The password shows in no text form of this value.
    """

    host: str
    port: int
    database: str
    schema: str
    table: str
    url: str
    user: str
    password: SecretStr
    hidden: tuple[tuple[str, SecretStr], ...] = field(default=(), repr=False)

    @property
    def namespace(self) -> str:
        """The database server in lineage (https://openlineage.io/docs/spec/naming/)."""
        return f"postgres://{self.host}:{self.port}"

    @property
    def name(self) -> str:
        """The table in lineage."""
        return f"{self.database}.{self.schema}.{self.table}"

    def credentials(self) -> dict[str, str]:
        """The driver's secret properties, in clear: for the driver only."""
        hidden = {key: value.get_secret_value() for key, value in self.hidden}
        return {**hidden, "user": self.user, "password": self.password.get_secret_value()}

    def without_secrets(self, text: str) -> str:
        """A text of somebody else's, the driver's say, with every secret of ours taken out."""
        for secret in (self.password, *(value for _, value in self.hidden)):
            if secret.get_secret_value():
                text = text.replace(secret.get_secret_value(), "***")
        return text


def jdbc_endpoint(table: CatalogTable, glue: GlueClient, secrets: Callable[[], SecretsManagerClient]) -> JdbcEndpoint:
    """The endpoint that a JDBC table's definition leads to; `secrets` makes a client where one is needed.

    Raises CatalogError, with what to do, for whatever is missing or does not fit. No error holds a credential.
    """
    fqn = table.identity.fqn
    database, schema, name = _address(table)
    connection = _connection(table, glue)
    secret_id = table.parameters.get(JDBC_SECRET) or _secret_id(connection)
    secret = _secret(secret_id, fqn, secrets()) if secret_id else {}
    try:
        url = _url(connection) if connection is not None else _url_of_secret(secret)
    except ValueError as problem:
        source = f"the Glue connection {connection['Name']}" if connection is not None else f"the secret {secret_id}"
        raise CatalogError(f"{fqn}: {source} cannot be used: {problem}.") from None
    if url.database is not None and url.database != database:
        raise CatalogError(
            f"{fqn}: its location is {table.location} and its connection leads to the database {url.database}; "
            "PostgreSQL reads one database a connection. Name the connection of that database, or correct the location."
        )
    user, password = _credentials(fqn, connection, secret_id, secret, url)
    options = _with_ssl(url.options, connection)
    return JdbcEndpoint(
        host=url.host,
        port=url.port,
        database=database,
        schema=schema,
        table=name,
        url=to_url(url.host, url.port, database, options),
        user=user,
        password=password,
        hidden=url.hidden,
    )


def _address(table: CatalogTable) -> tuple[str, str, str]:
    fqn = table.identity.fqn
    kind = table.parameters.get("classification", "postgresql").strip().lower()
    if kind not in _CLASSIFICATIONS:
        raise CatalogError(
            f"{fqn} is classified as {kind}; the jdbc reader reads postgresql. Read it through its own kind, or with "
            "a reader of the domain's own (entry point group pipeline_runtime.readers)."
        )
    parts = table.location.split(".", 2)
    if len(parts) != 3 or not all(parts):
        raise CatalogError(
            f"{fqn}: its location is {table.location or 'empty'}; a JDBC table's is <database>.<schema>.<table>, as a "
            "JDBC crawler writes it"
        )
    return parts[0], parts[1], parts[2]


def _connection(table: CatalogTable, glue: GlueClient) -> ConnectionTypeDef | None:
    from botocore.exceptions import ClientError

    fqn, name = table.identity.fqn, table.parameters.get("connectionName", "").strip()
    if not name:
        if JDBC_SECRET in table.parameters:
            return None
        raise CatalogError(
            f"{fqn} names no database: its Parameters have neither connectionName (a Glue connection) nor "
            f"{JDBC_SECRET} (a secret in Secrets Manager). Set one of them on the table."
        )
    try:
        # Connections are not shared between accounts: a table of another account needs one of ours.
        return glue.get_connection(Name=name)["Connection"]
    except ClientError as error:
        if code_of(error) == "EntityNotFoundException":
            raise CatalogError(
                f"{fqn} names the Glue connection {name}, which is not in the job's own account."
                f"{closest(name, _connection_names(glue))}"
            ) from None
        raise CatalogError(refused(error, f"read the Glue connection {name} of {fqn}")) from None


def _connection_names(glue: GlueClient) -> list[str]:
    """For a suggestion only: none where the role may not list them."""
    from botocore.exceptions import ClientError

    try:
        pages = glue.get_paginator("get_connections").paginate(HidePassword=True)
        return [connection["Name"] for page in pages for connection in page["ConnectionList"]]
    except ClientError:
        return []


def _properties(connection: ConnectionTypeDef | None) -> Mapping[str, str]:
    # boto3 types the keys as an enumeration.
    return {str(key): value for key, value in (connection or {}).get("ConnectionProperties", {}).items()}


def _secret_id(connection: ConnectionTypeDef | None) -> str | None:
    named = _properties(connection).get("SECRET_ID")
    # Connections of the type POSTGRESQL have it here.
    return named or (connection or {}).get("AuthenticationConfiguration", {}).get("SecretArn")


def _secret(secret_id: str, fqn: str, secrets: SecretsManagerClient) -> dict[str, Any]:
    from botocore.exceptions import ClientError

    try:
        text = secrets.get_secret_value(SecretId=secret_id).get("SecretString")
    except ClientError as error:
        if code_of(error) == "ResourceNotFoundException":
            raise CatalogError(
                f"{fqn}: there is no secret {secret_id} in Secrets Manager, in the job's account and region. "
                "Create it as JSON with username and password, or correct its name."
            ) from None
        raise CatalogError(refused(error, f"read the secret {secret_id} of {fqn}")) from None
    try:
        found = json.loads(text or "")
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise CatalogError(f"{fqn}: the secret {secret_id} is not a JSON object; it needs username and password")
    return found


def _url(connection: ConnectionTypeDef) -> PostgresUrl:
    properties = _properties(connection)
    if (text := properties.get("JDBC_CONNECTION_URL")) is not None:
        return parse_url(text)
    kind = connection.get("ConnectionType", "JDBC")
    if kind == "POSTGRESQL" and properties.get("HOST"):
        return _place(properties["HOST"], properties.get("PORT"), properties.get("DATABASE"))
    raise ValueError(f"it is of the type {kind} and has no JDBC_CONNECTION_URL")


def _url_of_secret(secret: Mapping[str, Any]) -> PostgresUrl:
    engine = str(secret.get("engine", "postgres")).lower()
    if engine not in _CLASSIFICATIONS:
        raise ValueError(f"its engine is {engine}; the jdbc reader reads postgres")
    if not secret.get("host"):
        raise ValueError(
            "it has no host (with username, password, port and dbname), and no connectionName stands beside it"
        )
    return _place(str(secret["host"]), secret.get("port"), secret.get("dbname"))


def _place(host: str, port: object, database: object) -> PostgresUrl:
    return parse_url(f"jdbc:postgresql://{host}:{port or DEFAULT_PORT}/{database or ''}")


def _credentials(
    fqn: str, connection: ConnectionTypeDef | None, secret_id: str | None, secret: Mapping[str, Any], url: PostgresUrl
) -> tuple[str, SecretStr]:
    if secret_id:
        missing = [key for key in ("username", "password") if not isinstance(secret.get(key), str) or not secret[key]]
        if missing:
            raise CatalogError(f"{fqn}: the secret {secret_id} has no {' and no '.join(missing)}")
        return secret["username"], SecretStr(secret["password"])
    properties = _properties(connection)
    user = properties.get("USERNAME") or url.user
    password = SecretStr(properties["PASSWORD"]) if properties.get("PASSWORD") else url.password
    if user and password:
        return user, password
    name = connection["Name"] if connection is not None else ""
    why = "gives its password encrypted only" if "ENCRYPTED_PASSWORD" in properties else "has no username and password"
    raise CatalogError(
        f"{fqn}: the Glue connection {name} {why}. Put them in a secret in Secrets Manager (JSON: username, password) "
        f"and name it as the connection's SECRET_ID, or as the table's {JDBC_SECRET}."
    )


def _with_ssl(
    options: tuple[tuple[str, str], ...], connection: ConnectionTypeDef | None
) -> tuple[tuple[str, str], ...]:
    """Glue's own switch for encryption, which the driver knows as a parameter."""
    if _properties(connection).get("JDBC_ENFORCE_SSL", "false").lower() != "true":
        return options
    if dict(options).get("sslmode", "prefer").lower() not in _UNSAFE_SSL:
        return options
    return (*((key, value) for key, value in options if key != "sslmode"), ("sslmode", "require"))
