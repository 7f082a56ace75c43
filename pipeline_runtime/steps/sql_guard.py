"""Judges a step's SQL without an engine: one plain SELECT over `frame` and its own CTEs, its parameters all given.

sqlglot advises, so that a pull request hears in half a second what a run would refuse. Before anything is
read Spark's own parser decides (design decision D8).
"""

from __future__ import annotations

import difflib
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from sqlglot import Dialect, ParseError, Token, TokenError, TokenType, exp

from pipeline_runtime.descriptor.blocks import RESERVED_PARAMS
from pipeline_runtime.errors import Problem
from pipeline_runtime.steps.sql_lines import line_near

__all__ = ["check_sql", "output_columns", "used_parameters"]

FRAME = "frame"

#: A plain SELECT may call these, and they run any Java method (it was tried: out comes the environment) or
#: open files.
_REFUSED_FUNCTIONS = frozenset({"reflect", "java_method", "try_reflect", "from_protobuf", "to_protobuf"})
#: Spark's own pattern for what it replaces before it parses, even inside text.
_SUBSTITUTION = re.compile(r"\$\{.*?\}", re.DOTALL)
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)
_RELATIONS = (exp.Table, exp.Subquery, exp.Values, exp.Lateral)

Finding = tuple[int, str]


class _Unparsable(Exception):
    """The text is not SQL, as far as sqlglot can tell."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


def check_sql(text: str, shown_as: str, params: Mapping[str, str]) -> list[Problem]:
    """What is wrong with a step's SQL, by line; `params` are those that the descriptor gives the step. Never raises."""
    findings = list(_substitutions(text))
    try:
        statement = _Statement.of(text)
        findings += statement.findings(params)
    except _Unparsable as error:
        findings.append((error.line, error.message))
    return [Problem(shown_as, line, message) for line, message in sorted(set(findings))]


def used_parameters(text: str) -> set[str]:
    """The names that the SQL takes as `:name`; none where the text is no SQL. Never raises."""
    try:
        return set(_Statement.of(text).parameters)
    except _Unparsable:
        return set()


def output_columns(text: str) -> list[str] | None:
    """The names of the SELECT's columns in order; None where the text alone does not tell them. Never raises.

    A star and a computed column without an alias do not.
    """
    try:
        names = _Statement.of(text).column_names
    except _Unparsable:
        return None
    return None if None in names else [name for name in names if name is not None]


def _substitutions(text: str) -> Iterator[Finding]:
    for found in _SUBSTITUTION.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield line, f"{found.group()} is refused: Spark would fill it from its environment; use a param, :name"


@dataclass(frozen=True)
class _Statement:
    """The tokens and the tree of one statement."""

    tokens: tuple[Token, ...]
    tree: exp.Expr | None
    refused: tuple[Finding, ...]

    @classmethod
    def of(cls, text: str) -> _Statement:
        """Raises _Unparsable where there is no single statement that sqlglot understands."""
        with _quiet():
            tokens = _tokens(text)
            _check_that_there_is_one(tokens)
            refused = tuple(_refused_tokens(tokens))
            # What sqlglot makes of refused syntax is its own invention, or an error that only repeats it.
            return cls(tuple(tokens), None if refused else _tree(text, tokens), refused)

    def findings(self, params: Mapping[str, str]) -> Iterator[Finding]:
        if self.tree is None:
            yield from self.refused
            return
        if not isinstance(self.tree, _QUERIES):
            yield self.tokens[0].line, "is not a SELECT; a step is one plain SELECT over frame"
            return
        yield from _refused_nodes(self.tree)
        yield from self._parameter_findings(params)
        known = Counter(name.lower() for name in self.column_names if name)
        for name in (name for name, count in known.items() if count > 1):
            yield self.tokens[0].line, f"selects the column {name} twice; drop one, or give it another name"

    @cached_property
    def parameters(self) -> dict[str, int]:
        """Name → line of its first use."""
        nodes = self.tree.find_all(exp.Placeholder) if self.tree else ()
        names = {str(node.this) for node in nodes if isinstance(node.this, str) and node.this}
        return {name: self._line_of_parameter(name) for name in sorted(names)}

    @property
    def column_names(self) -> list[str | None]:
        query = self.tree
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        return list(_names(query.expressions)) if isinstance(query, exp.Select) else [None]

    def _line_of_parameter(self, name: str) -> int:
        for colon, word in zip(self.tokens, self.tokens[1:], strict=False):
            if colon.token_type is TokenType.COLON and word.text == name:
                return word.line
        return self.tokens[0].line

    def _parameter_findings(self, params: Mapping[str, str]) -> Iterator[Finding]:
        available = sorted(params.keys() | RESERVED_PARAMS)
        for name, line in self.parameters.items():
            if name not in available:
                near = _closest(name, available)
                yield (
                    line,
                    f"takes :{name}, which the step's params do not give (there are {', '.join(available)}){near}",
                )
        for name in params.keys() - self.parameters.keys() - RESERVED_PARAMS:
            yield 0, f"never takes :{name}, which the step's params give; use it, or drop the param"


@contextmanager
def _quiet() -> Iterator[None]:
    """sqlglot logs what it does not understand; here that is a finding, or none of the author's business."""
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _dialect() -> Dialect:
    return Dialect.get_or_raise("spark")


def _tokens(text: str) -> list[Token]:
    try:
        return list(_dialect().tokenize(text))
    except TokenError as error:
        found = re.search(r" from (\d+):\d+$", str(error.__cause__))
        raise _Unparsable(int(found[1]) if found else 0, "is not SQL: a quote or a comment is never closed") from None
    except Exception as error:
        raise _Unparsable(0, f"is not SQL that can be judged ({type(error).__name__})") from None


def _tree(text: str, tokens: list[Token]) -> exp.Expr:
    try:
        trees = _dialect().parser().parse(tokens, text)
    except ParseError as error:
        raise _parse_refusal(error) from None
    except RecursionError:
        raise _Unparsable(0, "is nested too deeply") from None
    except Exception as error:
        # sqlglot's own defects on odd text: a refusal like any other, not a crash of `validate`.
        raise _Unparsable(0, f"is not SQL that can be judged ({type(error).__name__})") from None
    tree = next((tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)), None)
    if tree is None:
        raise _Unparsable(0, "holds no statement")
    return tree


def _parse_refusal(error: ParseError) -> _Unparsable:
    first = error.errors[0] if error.errors else {}
    line, near = int(first.get("line") or 0), str(first.get("highlight") or "").strip()
    described = str(first.get("description") or "")
    if described.startswith("Expecting "):
        reason = f"{described.removeprefix('Expecting ')} is expected"
    else:
        reason = "something is missing" if "missing" in described else "unexpected"
    return _Unparsable(line, f"is not SQL that Spark reads: {reason}" + (f" at {near!r}" if near else ""))


def _check_that_there_is_one(tokens: list[Token]) -> None:
    """One statement; a semicolon may end it."""
    starts: list[Token] = []
    after_semicolon = True
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            after_semicolon = True
        elif after_semicolon:
            starts.append(token)
            after_semicolon = False
    if not starts:
        raise _Unparsable(0, "holds no statement; a step is one plain SELECT over frame")
    if len(starts) > 1:
        raise _Unparsable(
            starts[1].line, f"a second statement starts at {starts[1].text!r}; a step is one plain SELECT"
        )
    if not any(token.token_type is TokenType.SELECT for token in tokens):
        raise _Unparsable(starts[0].line, f"is not a SELECT but {starts[0].text.upper()}; a step is one plain SELECT")


def _refused_tokens(tokens: list[Token]) -> Iterator[Finding]:
    """What is refused wherever it stands, told from the tokens: no reading of the tree can hide it."""
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        name, opens = token.text.lower(), following is not None and following.token_type is TokenType.L_PAREN
        if token.token_type is TokenType.PIPE_GT:
            yield token.line, "the pipe |> is refused: Spark 3.5 does not read it; write one SELECT"
        elif token.token_type is TokenType.STRING:
            continue
        elif opens and name in _REFUSED_FUNCTIONS:
            yield token.line, f"{name}() is refused: it runs code or opens files"
        elif opens and name == "identifier":
            yield token.line, "IDENTIFIER() is refused: it names tables, columns or functions that no reviewer sees"
        elif token.token_type is TokenType.USING and following and following.token_type is TokenType.STRING:
            yield token.line, "USING with a script is refused: it runs a program"


def _refused_nodes(tree: exp.Expr) -> Iterator[Finding]:
    reads_frame = refused = False
    # Hints name tables too, by alias; they read nothing.
    for node in tree.walk(prune=lambda node: isinstance(node, exp.Hint)):
        if isinstance(node, exp.Table):
            problem = _table_problem(node)
            reads_frame = reads_frame or _is_frame(node)
        else:
            problem = _node_problem(node)
        if problem:
            refused = True
            yield line_near(node), problem
    if not reads_frame and not refused:
        yield line_near(tree), "never reads frame, the previous step's result"


def _node_problem(node: exp.Expr) -> str | None:
    match node:
        case exp.CTE() if node.alias.lower() == FRAME:
            return "a CTE called frame would hide the previous step's frame; give it another name"
        case exp.CTE() if not isinstance(node.this, (*_QUERIES, exp.Values)):
            return f"the CTE {node.alias} is not a SELECT"
        case exp.Into() | exp.Lock():
            return f"{type(node).__name__.upper()} is refused; a step is one plain SELECT"
        case exp.QueryTransform():
            return "TRANSFORM with a script is refused: it runs a program"
        case exp.Lateral() if not node.args.get("view") and not isinstance(node.this, exp.Subquery):
            return "a table function is refused; write LATERAL VIEW for a column's own elements"
        case exp.From() | exp.Join() if not isinstance(node.this, _RELATIONS):
            return "only frame, CTEs and sub-queries can be read from"
        case exp.Dot() if isinstance(node.expression, exp.Func):
            name = node.expression.name if isinstance(node.expression, exp.Anonymous) else node.expression.key
            return f"{name}() is called out of a catalog, which is refused: no reviewer sees its code"
        case exp.Parameter():
            return "$ and @ make no parameters in Spark; write :name"
        case exp.Placeholder() if not isinstance(node.this, str) or not node.this:
            return "a parameter without a name is refused; write :name"
        case exp.DDL() | exp.DML() | exp.Command() if not isinstance(node, _QUERIES):
            return f"{type(node).__name__.upper()} is refused; a step is one plain SELECT"
    return None


def _table_problem(table: exp.Table) -> str | None:
    if isinstance(table.this, exp.Func):
        return (
            f"the table function {table.this.name or table.this.key}() is refused; a step reads frame and its own CTEs"
        )
    if table.args.get("version") or table.args.get("when") or list(table.find_all(exp.Parameter)):
        return "time travel is refused; frame is the previous step's result, as it is"
    in_scope = _ctes_in_scope(table)
    if not table.args.get("db") and (_is_frame(table) or table.name.lower() in in_scope):
        return None
    readable = [FRAME, *sorted(in_scope)]
    shown = ".".join(part.name for part in table.parts)
    return f"reads {shown}; a step reads {', '.join(readable)} and nothing else{_closest(shown, readable)}"


def _is_frame(table: exp.Table) -> bool:
    return not table.args.get("db") and table.name.lower() == FRAME


def _ctes_in_scope(node: exp.Expr) -> set[str]:
    """The CTEs that `node` may name: those of every enclosing query; among its own WITH, the ones before it."""
    names: set[str] = set()
    child, parent = node, node.parent
    while parent is not None:
        if isinstance(parent, exp.With):
            siblings = parent.expressions
            before = next((at for at, cte in enumerate(siblings) if cte is child), 0)
            names |= _cte_names(siblings[: before + 1 if parent.recursive else before])
            owner = parent.parent
            if owner is None:
                break
            child, parent = owner, owner.parent
            continue
        if (enclosing := parent.args.get("with_")) is not None:
            names |= _cte_names(enclosing.expressions)
        child, parent = parent, parent.parent
    return names


def _cte_names(ctes: Iterable[exp.Expr]) -> set[str]:
    return {cte.alias.lower() for cte in ctes}


def _names(projections: Iterable[exp.Expr]) -> Iterator[str | None]:
    for projection in projections:
        if isinstance(projection, exp.Aliases):
            yield from (alias.name for alias in projection.expressions)
        elif projection.is_star or not isinstance(projection, exp.Alias | exp.Column | exp.Dot):
            yield None
        else:
            yield projection.alias_or_name or None


def _closest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
