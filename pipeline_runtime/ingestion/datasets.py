"""What a batch's datasets are called: the source system's tables, and where their rows land (design decision D3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pipeline_runtime.catalog.answers import refusals_as
from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.ingestion.statistics import TableCounts
from pipeline_runtime.ingestion.task import Endpoint, Task
from pipeline_runtime.lineage.identity import DatasetIdentity

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

__all__ = ["LandingPlace", "SourceSystem", "landing_place", "source_system"]


@dataclass(frozen=True)
class _Engine:
    """How OpenLineage names an engine's tables; `has_schemas` is False where DMS's schema is the database."""

    scheme: str
    port: int
    has_schemas: bool = True


#: DMS's engine names; https://openlineage.io/docs/spec/naming/ has the names of datasets.
_ENGINES: Final = {
    "postgres": _Engine("postgres", 5432),
    "aurora-postgresql": _Engine("postgres", 5432),
    "mysql": _Engine("mysql", 3306, has_schemas=False),
    "mariadb": _Engine("mysql", 3306, has_schemas=False),
    "aurora": _Engine("mysql", 3306, has_schemas=False),
    "oracle": _Engine("oracle", 1521),
    "sqlserver": _Engine("mssql", 1433),
}


@dataclass(frozen=True)
class SourceSystem:
    """The database that is replicated. `database` is empty where the engine's schemas are its databases."""

    namespace: str
    database: str

    def dataset(self, table: TableCounts) -> DatasetIdentity:
        return DatasetIdentity(self.namespace, ".".join(filter(None, (self.database, table.schema, table.table))))


@dataclass(frozen=True)
class LandingPlace:
    """The folder, as s3:// without a slash at its end, below which DMS makes a folder a schema and a table."""

    root: str

    def location(self, table: TableCounts) -> str:
        return f"{self.root}/{table.schema}/{table.table}"

    def dataset(self, table: TableCounts) -> DatasetIdentity:
        """The landed files of a table that is in no catalog."""
        place = urlsplit(self.location(table))
        return DatasetIdentity(f"s3://{place.netloc}", place.path.strip("/"))


def source_system(endpoint: Endpoint, secrets: Callable[[], SecretsManagerClient]) -> SourceSystem:
    """Where the rows come from; of a secret only host and port are taken. Raises ConfigurationError."""
    engine = _ENGINES.get(endpoint.engine)
    if engine is None:
        raise ConfigurationError(
            f"endpoint {endpoint.name} is of engine {endpoint.engine}, whose tables have no agreed name in lineage; "
            f"known are {', '.join(_ENGINES)}"
        )
    host, port = endpoint.server, endpoint.port
    if not host:
        host, port = _place_in_secret(endpoint, secrets)
    if engine.has_schemas and not endpoint.database:
        raise ConfigurationError(f"endpoint {endpoint.name} names no database; its tables would be nobody's")
    database = endpoint.database if engine.has_schemas else ""
    return SourceSystem(f"{engine.scheme}://{host.lower()}:{port or engine.port}", database)


def landing_place(endpoint: Endpoint, task: Task) -> LandingPlace:
    """Where the rows go. Raises ConfigurationError where a table's files lie in no folder of their own."""
    bucket = endpoint.settings.get("BucketName")
    if endpoint.engine != "s3" or not bucket:
        raise ConfigurationError(f"task {task.name} writes to {endpoint.engine}; a batch is told of what lands in S3")
    if endpoint.settings.get("PreserveTransactions"):
        raise ConfigurationError(
            f"endpoint {endpoint.name} keeps transactions together (PreserveTransactions), so the files of all tables "
            "lie in one folder; turn it off, as the module terraform/modules/ingestion does"
        )
    _check_names(task)
    folder = str(endpoint.settings.get("BucketFolder") or "").strip("/")
    return LandingPlace("/".join(filter(None, (f"s3://{bucket}", folder))))


def _check_names(task: Task) -> None:
    """DMS counts by the source's names: what lands under others could not be told from them."""
    rules = json.loads(task.mappings or "{}").get("rules", [])
    for rule in rules:
        if rule.get("rule-type") == "transformation" and rule.get("rule-target") in ("schema", "table"):
            raise ConfigurationError(
                f"task {task.name}: the rule {rule.get('rule-name', rule.get('rule-id'))} of its mappings changes the "
                f"name of a {rule['rule-target']}; land tables under their own names"
            )


def _place_in_secret(endpoint: Endpoint, secrets: Callable[[], SecretsManagerClient]) -> tuple[str, int | None]:
    secret = endpoint.settings.get("SecretsManagerSecretId")
    if not secret:
        raise ConfigurationError(f"endpoint {endpoint.name} names neither a server nor a secret that does")
    with refusals_as(ConfigurationError, f"read host and port of endpoint {endpoint.name} from {secret}"):
        text = secrets().get_secret_value(SecretId=secret).get("SecretString", "")
    try:
        held: Any = json.loads(text)
        return str(held["host"]), int(held["port"]) if held.get("port") else None
    except (ValueError, KeyError, TypeError):
        # `from None`: the parser's own message would repeat what the secret holds.
        raise ConfigurationError(f"the secret {secret} of endpoint {endpoint.name} has no host and port") from None
