"""How DataZone turns run events into lineage nodes, as its user guide describes it.

Source identifiers (user guide, "The importance of the sourceIdentifier attribute to lineage nodes")
    A job is `<namespace>.<name>`, a run of it `<job namespace>.<job name>/<run id>`.
    A dataset is `<namespace>/<name>`, unless the run comes from Glue: its run facet `environment-properties` holds
    a map of the same name, and that holds GLUE_VERSION, GLUE_COMMAND_CRITERIA or GLUE_PYTHON_VERSION. Then the
    dataset's first symlink of type TABLE is taken:
    - namespace `arn:aws:glue:<region>:<account>`, name `table/<database>/<table>`: joined by a colon, the table's ARN;
    - name `<database>.<table>` (the guide's older form): the ARN in the region of the run's AWS_DEFAULT_REGION,
      else the caller's, and in the *caller's* account, so that a table of another account links nothing.
    Redshift's rule is left out: nothing here writes to Redshift.
Nodes
    One per source identifier; every event that names it adds to it. A run's upstream nodes are its inputs, its
    downstream nodes its outputs. An asset is a node of its own (`amazon.datazone.asset/<id>`), downstream of the
    dataset whose source identifier equals the asset's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Caller", "LineageGraph", "Node", "source_identifier"]

GLUE_KEYS = ("GLUE_VERSION", "GLUE_COMMAND_CRITERIA", "GLUE_PYTHON_VERSION")
DATASET = "amazon.datazone.DatasetLineageNodeType"
JOB = "amazon.datazone.JobLineageNodeType"
JOB_RUN = "amazon.datazone.JobRunLineageNodeType"

_GLUE_NAMESPACE = re.compile(r"arn:aws[a-z-]*:glue:[a-z0-9-]+:\d{12}")


@dataclass(frozen=True)
class Caller:
    """Whose credentials signed a request, and for which region."""

    account: str
    region: str


@dataclass
class Node:
    """One lineage node; edges are source identifiers with the time of the event that drew them."""

    type_name: str
    name: str
    source_identifier: str
    first_time: float
    last_time: float
    upstream: dict[str, float] = field(default_factory=dict)
    downstream: dict[str, float] = field(default_factory=dict)
    #: The `<namespace>/<name>` pairs under which events named this node.
    known_as: set[str] = field(default_factory=set)

    @property
    def id(self) -> str:
        return hashlib.sha256(f"{self.type_name} {self.source_identifier}".encode()).hexdigest()[:14]


def source_identifier(dataset: Mapping[str, Any], run_facets: Mapping[str, Any], caller: Caller) -> str:
    """The source identifier of one input or output of a run."""
    properties = _map(_map(run_facets.get("environment-properties")).get("environment-properties"))
    if any(key in properties for key in GLUE_KEYS):
        links = _map(_map(dataset.get("facets")).get("symlinks")).get("identifiers") or []
        table = next((link for link in links if link.get("type") == "TABLE"), None)
        arn = _table_arn(table, properties, caller) if table else None
        if arn:
            return arn
    return f"{dataset['namespace']}/{dataset['name']}"


def _table_arn(link: Mapping[str, str], properties: Mapping[str, Any], caller: Caller) -> str | None:
    namespace, name = link["namespace"], link["name"]
    if _GLUE_NAMESPACE.fullmatch(namespace) and re.fullmatch(r"table/.+/[^/]+", name):
        return f"{namespace}:{name}"
    if re.fullmatch(r"[^./]+\.[^./]+", name):
        region = properties.get("AWS_DEFAULT_REGION") or caller.region
        return f"arn:aws:glue:{region}:{caller.account}:table/{name.replace('.', '/')}"
    return None


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


class LineageGraph:
    """The nodes of one domain, and the assets they may link to."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        #: Asset id by the asset's source identifier.
        self.assets: dict[str, str] = {}

    def register_asset(self, identifier: str) -> str:
        """Puts an asset into the domain's catalog and returns its id."""
        return self.assets.setdefault(identifier, hashlib.sha256(identifier.encode()).hexdigest()[:14])

    def asset_of(self, node: Node) -> str | None:
        """The id of the asset that this dataset node links to, if there is one."""
        return self.assets.get(node.source_identifier) if node.type_name == DATASET else None

    def add(self, event: Mapping[str, Any], time: float, caller: Caller) -> None:
        """Adds what one processed run event says."""
        job, run = event["job"], event["run"]
        job_identifier = f"{job['namespace']}.{job['name']}"
        self._node(JOB, job["name"], job_identifier, time)
        run_node = self._node(JOB_RUN, job["name"], f"{job_identifier}/{run['runId']}", time)
        for side in ("inputs", "outputs"):
            for dataset in event.get(side) or []:
                identifier = source_identifier(dataset, _map(run.get("facets")), caller)
                node = self._node(DATASET, dataset["name"], identifier, time)
                node.known_as.add(f"{dataset['namespace']}/{dataset['name']}")
                before, after = (node, run_node) if side == "inputs" else (run_node, node)
                before.downstream[after.source_identifier] = time
                after.upstream[before.source_identifier] = time

    def find(self, identifier: str) -> Node | None:
        """The node of this source identifier or node id; an asset's node too."""
        known = self.nodes.get(identifier)
        if known is not None:
            return known
        return next((node for node in (*self.nodes.values(), *self._asset_nodes()) if identifier in _names(node)), None)

    def edges(self, node: Node) -> tuple[dict[str, float], dict[str, float]]:
        """Upstream and downstream nodes of a node: node id to the time of the event, the asset included."""
        downstream = {self.nodes[each].id: time for each, time in node.downstream.items()}
        downstream |= {
            each.id: each.last_time for each in self._asset_nodes() if node.source_identifier in each.upstream
        }
        upstream = {self.nodes[each].id: time for each, time in node.upstream.items()}
        return upstream, downstream

    def _node(self, type_name: str, name: str, identifier: str, time: float) -> Node:
        node = self.nodes.setdefault(identifier, Node(type_name, name, identifier, time, time))
        node.first_time, node.last_time = min(node.first_time, time), max(node.last_time, time)
        return node

    def _asset_nodes(self) -> list[Node]:
        found = []
        for identifier, asset in self.assets.items():
            dataset = self.nodes.get(identifier)
            if dataset is not None:
                time = dataset.last_time
                found.append(
                    Node(DATASET, dataset.name, f"amazon.datazone.asset/{asset}", time, time, {identifier: time})
                )
        return found


def _names(node: Node) -> tuple[str, str]:
    return node.id, node.source_identifier
