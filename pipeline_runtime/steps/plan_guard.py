"""Whether a step's SQL is one SELECT over `frame` and its own CTEs: Spark's own parser decides (decision D8).

Nothing is resolved and nothing is read here: the parser's tree is judged, node by node. What Spark may do with
a tree that this module does not know is unknown, so the list of operators is one of what is allowed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline_runtime.engine.spark_error import failures, short_message
from pipeline_runtime.errors import Problem, SqlRefused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_plan"]

_FRAME = "frame"
_CATALYST = "org.apache.spark.sql.catalyst"

#: Spark replaces these from its settings, the JVM's properties and the environment, before it parses.
_SUBSTITUTION = re.compile(r"\$\{.*?\}", re.DOTALL)
_POSITION = re.compile(r"\s*[;(]?\s*\(?line (\d+),? pos \d+\)?")

#: The operators that a query's tree is made of, in Spark 3.5 and 4.1.
_OPERATORS = frozenset[str]().union(
    ("Project", "Filter", "Distinct", "Sort", "GlobalLimit", "LocalLimit", "Offset", "Sample"),
    ("Aggregate", "UnresolvedHaving", "WithWindowDefinition", "Pivot", "UnresolvedPivot", "Unpivot", "Generate"),
    ("Join", "LateralJoin", "Union", "Except", "Intersect"),
    ("UnresolvedRelation", "UnresolvedWith", "SubqueryAlias", "UnresolvedSubqueryColumnAliases"),
    ("OneRowRelation", "UnresolvedInlineTable", "ResolvedInlineTable", "LocalRelation"),
    ("UnresolvedHint", "RepartitionByExpression"),
)

#: Functions that run code or open files: reflection in the driver's JVM, and descriptor files by path.
_REFUSED_FUNCTIONS = frozenset({"java_method", "reflect", "try_reflect", "from_protobuf", "to_protobuf"})

_WHAT_IT_IS = {
    "RelationTimeTravel": "travels in time (AS OF); a step reads the frame it is given",
    "UnresolvedTableValuedFunction": "calls a table function in FROM; for arrays and maps use LATERAL VIEW",
    "ScriptTransformation": "starts a program (TRANSFORM … USING)",
    "PlanWithUnresolvedIdentifier": "names a table through IDENTIFIER()",
    "ExpressionWithUnresolvedIdentifier": "names something through IDENTIFIER()",
}


@dataclass(frozen=True)
class _Trail:
    """The tree nodes above a value, the nearest first: they know the lines of the text."""

    node: Any
    above: _Trail | None

    def line(self) -> int:
        trail: _Trail | None = self
        while trail is not None:
            line = trail.node.origin().line()
            if line.isDefined():
                return int(line.get())
            trail = trail.above
        return 0


def check_plan(spark: SparkSession, text: str, shown_as: str) -> None:
    """Returns where `text`, the SQL of a file shown as `shown_as`, may run as a step.

    Raises SqlRefused with every reason and its line: it does not parse, is a command or more than one
    statement, reads anything but `frame` and its own CTEs, calls a function that is not Spark's own or that
    runs code, has `?` parameters or `${…}`.
    """
    problems = [
        Problem(
            shown_as,
            text.count("\n", 0, found.start()) + 1,
            f"{found.group()} would be replaced from Spark's settings or the environment; bind a param: :name",
        )
        for found in _SUBSTITUTION.finditer(text)
    ]
    if not problems:
        judge = _Judge(spark)
        problems = [Problem(shown_as, line, reason) for line, reason in judge.reasons(_parsed(spark, text, shown_as))]
    if problems:
        raise SqlRefused(problems)


def _parsed(spark: SparkSession, text: str, shown_as: str) -> Any:
    try:
        return spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    except failures() as error:
        message = short_message(error)
        found = _POSITION.search(message)
        line = int(found.group(1)) if found else 0
        reason = f"Spark cannot parse it as one statement: {_POSITION.sub('', message)}"
        raise SqlRefused([Problem(shown_as, line, reason)]) from error


class _Judge:
    """Walks one parsed plan through everything that it is made of, CTEs and subqueries included."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.gateway = spark.sparkContext._gateway
        self.kinds: dict[str, str] = {}
        self.reads_frame = False
        folds = spark.conf.get("spark.sql.caseSensitive") != "true"
        self.fold = str.lower if folds else str

    def reasons(self, plan: Any) -> Iterator[tuple[int, str]]:
        """Each reason to refuse the plan, with its line."""
        refused = False
        open_: list[tuple[Any, frozenset[str], _Trail | None]] = [(plan, frozenset(), None)]
        while open_:
            value, ctes, above = open_.pop()
            name, kind = self._classified(value)
            trail = _Trail(value, above) if kind in ("plan", "expression") else above
            reason = self._reason(value, name, kind, ctes)
            if reason is not None:
                refused = True
                yield (trail.line() if trail else 0), reason
            else:
                open_.extend((part, scope, trail) for part, scope in self._parts(value, name, kind, ctes))
        if not self.reads_frame and not refused:
            yield 0, f"never reads `{_FRAME}`, which holds the rows of the step before"

    def _classified(self, value: Any) -> tuple[str, str]:
        """A value's class name without its package, and what it is to the walk."""
        from py4j.java_collections import JavaArray
        from py4j.java_gateway import JavaObject

        if not isinstance(value, JavaObject) or isinstance(value, JavaArray):
            return "", "leaf"
        full = value.getClass().getName()
        if full not in self.kinds:
            self.kinds[full] = self._kind(value, full)
        return re.split(r"[.$]", full.rstrip("$"))[-1], self.kinds[full]

    def _kind(self, value: Any, full: str) -> str:
        from py4j.java_gateway import is_instance_of

        for kind, class_name in (
            ("plan", f"{_CATALYST}.plans.logical.LogicalPlan"),
            ("expression", f"{_CATALYST}.expressions.Expression"),
            ("map", "scala.collection.Map"),
            ("many", "scala.collection.Iterable"),
            ("product", "scala.Product"),
        ):
            if is_instance_of(self.gateway, value, class_name):
                foreign = kind == "expression" and not full.startswith(_CATALYST)
                return "foreign" if foreign else kind
        return "leaf"

    def _reason(self, value: Any, name: str, kind: str, ctes: frozenset[str]) -> str | None:
        if kind == "foreign" or name in _WHAT_IT_IS or (kind == "plan" and name not in _OPERATORS):
            return _WHAT_IT_IS.get(name, f"is not one plain SELECT: Spark reads {name} in it")
        match name:
            case "UnresolvedRelation":
                return self._relation(value, ctes)
            case "UnresolvedFunction":
                return self._function(list(_items(value.nameParts())))
            case "UnresolvedGenerator":
                return self._function(value.name().unquotedString().split("."))
            case "PosParameter":
                return "has a ? parameter; params are bound by name: :name"
        return None

    def _relation(self, relation: Any, ctes: frozenset[str]) -> str | None:
        parts = list(_items(relation.multipartIdentifier()))
        name = self.fold(parts[0])
        if relation.isStreaming() or not relation.options().isEmpty():
            return f"reads {'.'.join(parts)} as a stream or with options; name it, and nothing else"
        plain = len(parts) == 1
        if plain and name in ctes:
            return None
        if plain and name == _FRAME:
            self.reads_frame = True
            return None
        near = difflib.get_close_matches(name, [_FRAME, *sorted(ctes)], n=1) if len(parts) == 1 else []
        hint = f" (did you mean {near[0]}?)" if near and near[0] != name else ""
        return f"reads {'.'.join(parts)}{hint}; a step reads only `{_FRAME}` and the CTEs that are in scope there"

    def _function(self, parts: list[str]) -> str | None:
        name = parts[-1].lower()
        if len(parts) > 1:
            return f"calls {'.'.join(parts)}, a function of a catalog; a step calls only Spark's own functions"
        if name in _REFUSED_FUNCTIONS:
            return f"calls {name}, which runs code or opens files; a step only computes"
        state = self.spark._jsparkSession.sessionState()
        identifier = self.spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier  # type: ignore[union-attr]
        if state.catalog().isBuiltinFunction(identifier(name)):
            return None
        known = [function.funcName() for function in _items(state.functionRegistry().listFunction())]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"calls {name}, which is not one of Spark {self.spark.version}'s own functions{hint}"

    def _parts(self, value: Any, name: str, kind: str, ctes: frozenset[str]) -> Iterator[tuple[Any, frozenset[str]]]:
        """What a value is made of, each part with the CTEs that can be read there."""
        if name == "UnresolvedWith":
            yield from self._with(value, ctes)
        elif kind == "map":
            # A WINDOW clause. Spark does not look for CTEs in there: their names would be real tables.
            yield from ((part, frozenset[str]()) for part in _items(value))
        elif kind == "many":
            yield from ((part, ctes) for part in _items(value))
        elif kind in ("plan", "expression", "product"):
            yield from ((part, ctes) for part in _iterated(value.productIterator()))

    def _with(self, value: Any, ctes: frozenset[str]) -> Iterator[tuple[Any, frozenset[str]]]:
        """A CTE sees those before it, and itself only where Spark allows recursion (4.1: WITH RECURSIVE)."""
        fields = [value.productElement(position) for position in range(value.productArity())]
        recursive = any(field is True for field in fields)
        for relation in _items(value.cteRelations()):
            own = frozenset({self.fold(relation.productElement(0))})
            yield relation.productElement(1), (ctes | own if recursive else ctes)
            ctes |= own
        yield value.child(), ctes


def _items(collection: Any) -> Iterator[Any]:
    return _iterated(collection.iterator())


def _iterated(iterator: Any) -> Iterator[Any]:
    while iterator.hasNext():
        yield iterator.next()
