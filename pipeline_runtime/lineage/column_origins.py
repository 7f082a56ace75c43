"""What Spark's own plan says a column is made of, for the columns of which the listener names no input. Pure.

The listener leaves out constants, counts, user-defined functions, subqueries and grouping sets alike. This tells
them apart, so that an event says why a column has no inputs. It adds no edges: those are the listener's to name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

__all__ = ["Origin", "OriginKind", "column_origins"]


class OriginKind(str, Enum):
    """What a column is made of, as far as its plan tells."""

    CONSTANT = "constant"  #: literals alone
    COLUMNS = "columns"  #: columns of what was read
    ROWS = "rows"  #: the number or the order of rows, and no column
    MOMENT = "moment"  #: the clock or chance, and no column
    CODE = "code"  #: a user-defined function, inside which a plan does not show
    INLINE = "inline"  #: rows that stand in the query itself, such as VALUES
    DATA = "data"  #: rows that were no table's: made in code, or cut off from their plan
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Origin:
    """`columns` are those of the tables that were read, by name, sorted; also where the kind is CODE."""

    kind: OriginKind
    columns: tuple[str, ...] = ()


_RELATIONS = frozenset({"LogicalRelation", "DataSourceV2Relation", "DataSourceV2ScanRelation", "HiveTableRelation"})
_CODE = ("PythonUDF", "PythonUDAF", "ScalaUDF", "ScalaUDAF", "ScalaAggregator", "HiveSimpleUDF", "HiveGenericUDF")
_MOMENT = ("CurrentTimestamp", "CurrentDate", "Now", "LocalTimestamp", "Rand", "Randn", "Uuid", "Shuffle")
_ROWS = (
    "Count",
    "CountStar",
    "RowNumber",
    "Rank",
    "DenseRank",
    "PercentRank",
    "CumeDist",
    "NTile",
    "MonotonicallyIncreasingID",
    "SparkPartitionID",
    "InputFileName",
    "Exists",
)
_KIND_OF_CLASS = {
    **dict.fromkeys(_CODE, OriginKind.CODE),
    **dict.fromkeys(_MOMENT, OriginKind.MOMENT),
    **dict.fromkeys(_ROWS, OriginKind.ROWS),
}
_KIND_OF_LEAF = {"Range": OriginKind.ROWS, "LocalRelation": OriginKind.INLINE}
#: Which kind a column is where several were met on the way: the one that says least about it.
_WEIGHT = (
    OriginKind.UNKNOWN,
    OriginKind.DATA,
    OriginKind.CODE,
    OriginKind.COLUMNS,
    OriginKind.ROWS,
    OriginKind.MOMENT,
    OriginKind.INLINE,
    OriginKind.CONSTANT,
)


@dataclass
class _Node:
    """A node of a plan or of an expression."""

    name: str
    raw: Mapping[str, Any]
    children: list[_Node]

    def trees(self, key: str) -> list[_Node]:
        """A field that holds one tree or a list of them."""
        value = self.raw.get(key)
        if not isinstance(value, list) or not value:
            return []
        return [_tree(value)] if isinstance(value[0], dict) else [_tree(each) for each in value if each]

    @property
    def id(self) -> int | None:
        """The id of a named expression; it is the same wherever the column is spoken of."""
        expression = self.raw.get("exprId")
        return expression.get("id") if isinstance(expression, dict) else None


@dataclass
class _Plan:
    """Which expressions make which column, and what the relations' own columns are called."""

    made_of: dict[int, list[_Node]] = field(default_factory=dict)
    read: dict[int, str] = field(default_factory=dict)
    kinds: dict[int, OriginKind] = field(default_factory=dict)
    common: dict[int, _Node] = field(default_factory=dict)  #: the WITH clause's queries, by Spark's number
    references: list[_Node] = field(default_factory=list)  #: where they are used

    def define(self, column: _Node, *expressions: _Node) -> None:
        if column.id is not None:
            self.made_of.setdefault(column.id, []).extend(expressions)


def column_origins(plan_json: str) -> dict[str, Origin]:
    """Each output column of an analysed plan, by its name in lower case, and what it is made of.

    `plan_json` is Spark's `LogicalPlan.toJSON`. What this does not know is UNKNOWN, never a constant. Raises
    ValueError where the text is no such plan.
    """
    try:
        root = _tree(json.loads(plan_json))
        plan = _Plan()
        _collect(root, plan)
        return {
            str(each.raw["name"]).casefold(): _origin(each.id, plan) for each in _output(root) if each.id is not None
        }
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"no plan of Spark's: {type(error).__name__}: {error}") from error


def _tree(items: list[Mapping[str, Any]]) -> _Node:
    """A tree out of its nodes in pre-order."""
    stack: list[_Node] = []
    for raw in reversed(items):
        children = [stack.pop() for _ in range(raw["num-children"])]
        stack.append(_Node(str(raw["class"]).rpartition(".")[2].rpartition("$")[2], raw, children))
    return stack.pop()


def _collect(root: _Node, plan: _Plan) -> None:
    """Walks the plan, and every expression and subquery in it."""
    pending = [root]
    while pending:
        node = pending.pop()
        pending += node.children
        for key, value in node.raw.items():
            if _holds_trees(value) and not (key == "output" and node.name != "Expand"):
                pending += node.trees(key) if key != "projections" else [t for row in value for t in map(_tree, row)]
        _define(node, plan)
    for reference in plan.references:
        query = plan.common[reference.raw["cteId"]]
        for column, made_of in zip(reference.trees("output"), _output(query), strict=True):
            plan.define(column, made_of)


def _holds_trees(value: Any) -> bool:
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, dict) and "num-children" in value


def _define(node: _Node, plan: _Plan) -> None:
    if node.name == "Alias":
        plan.define(node, node.children[0])
    elif node.name == "Generate":
        for column in node.trees("generatorOutput"):
            plan.define(column, *node.trees("generator"))
    elif node.name == "Union":
        first, *others = (_output(child) for child in node.children)
        for position, column in enumerate(first):
            plan.define(column, *(other[position] for other in others))
    elif node.name == "Expand":
        rows = [[_tree(expression) for expression in row] for row in node.raw["projections"]]
        for position, column in enumerate(node.trees("output")):
            plan.define(column, *(row[position] for row in rows))
            if column.id is not None:
                plan.kinds[column.id] = OriginKind.ROWS  # Which grouping set a row is of.
    elif node.name == "CTERelationDef":
        plan.common[node.raw["id"]] = node
    elif node.name == "CTERelationRef":
        plan.references.append(node)
    elif not node.children or "output" in node.raw:
        for column in node.trees("output"):
            if column.id is None:
                continue
            if node.name in _RELATIONS:
                plan.read[column.id] = str(column.raw["name"])
            else:
                plan.kinds[column.id] = _KIND_OF_LEAF.get(node.name, OriginKind.DATA)


def _output(plan: _Node) -> list[_Node]:
    """The columns of a plan, as named expressions; none where that is not known."""
    for key in ("projectList", "aggregateExpressions", "output"):
        if key in plan.raw:
            return plan.trees(key)
    if plan.name == "Generate":
        # Also those that the generator alone needs; nobody asks for what is not among the output.
        return [*_output(plan.children[0]), *plan.trees("generatorOutput")]
    if plan.name == "Window":
        return [*_output(plan.children[0]), *plan.trees("windowExpressions")]
    if plan.name == "Join":
        left, right = plan.children
        one_sided = any(kind in str(plan.raw.get("joinType")) for kind in ("LeftSemi", "LeftAnti"))
        return _output(left) if one_sided else [*_output(left), *_output(right)]
    if plan.name == "WithCTE":
        return _output(plan.children[-1])
    return _output(plan.children[0]) if plan.children else []


def _origin(column: int | None, plan: _Plan) -> Origin:
    kinds: set[OriginKind] = {OriginKind.CONSTANT}
    columns: set[str] = set()
    seen: set[int] = set()
    pending = [column]
    while pending:
        current = pending.pop()
        if current is None or current in seen:
            continue
        seen.add(current)
        if current in plan.read:
            columns.add(plan.read[current])
            kinds.add(OriginKind.COLUMNS)
        elif current in plan.kinds:
            kinds.add(plan.kinds[current])
        elif current not in plan.made_of:
            kinds.add(OriginKind.UNKNOWN)
        for expression in plan.made_of.get(current, ()):
            kinds |= {_KIND_OF_CLASS[node.name] for node in _nodes(expression) if node.name in _KIND_OF_CLASS}
            pending += _referenced(_nodes(expression))
    return Origin(next(kind for kind in _WEIGHT if kind in kinds), tuple(sorted(columns)))


def _nodes(expression: _Node) -> Iterator[_Node]:
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        pending += node.children


def _referenced(nodes: Iterable[_Node]) -> Iterator[int | None]:
    """The columns that an expression speaks of; of a subquery, those that it answers with."""
    for node in nodes:
        if node.name == "AttributeReference":
            yield node.id
        elif node.name != "Exists":
            for subquery in node.trees("plan") if "plan" in node.raw else ():
                yield from (each.id for each in _output(subquery))
