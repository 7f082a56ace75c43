"""Every kind of schema change, on descriptors and SQL that do and do not read the column: what the check says of each.

`pytest -s tests/contracts/test_contracts_mutations.py` prints the figures.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from contract_samples import Consumers, proposal_text

from pipeline_runtime.cli import main
from pipeline_runtime.contracts.sql_reads import columns_read

pytestmark = pytest.mark.lengthy

Columns = Mapping[str, tuple[str, bool]]

#: The pinned columns; `c` is the one that changes.
PINNED: Columns = {
    "k": ("string", False),
    "v": ("decimal(10,2)", False),
    "c": ("int", False),
    "s": ("struct<x:int,y:string>", True),
    "a": ("array<int>", True),
    "d": ("date", False),
}

#: SQL over frame → whether it reads `c`. Spark itself says so: see the last test.
READS = (
    "SELECT k, c FROM frame",
    "SELECT k, C FROM Frame",
    "SELECT k, `c` FROM frame",
    "SELECT f.c FROM frame f",
    "SELECT frame.c FROM frame",
    "SELECT k FROM frame WHERE c > 1",
    "SELECT k, max(c) AS m FROM frame GROUP BY k",
    "SELECT count(1) AS n FROM frame GROUP BY c",
    "SELECT k FROM frame GROUP BY k HAVING max(c) > 1",
    "SELECT k FROM frame ORDER BY c",
    "SELECT k, row_number() OVER (PARTITION BY k ORDER BY c) AS n FROM frame",
    "SELECT k, sum(v) OVER w AS n FROM frame WINDOW w AS (PARTITION BY c)",
    "WITH t AS (SELECT k, c AS renamed FROM frame) SELECT renamed FROM t",
    "WITH t AS (SELECT k, c FROM frame), u AS (SELECT * FROM t) SELECT k FROM u",
    "SELECT k FROM (SELECT k, c + 1 AS n FROM frame) t WHERE n > 1",
    "SELECT x.k FROM frame x JOIN frame y ON x.k = y.k AND y.c = 1",
    "SELECT x.k FROM frame x JOIN frame y USING (c)",
    "SELECT k FROM frame WHERE k IN (SELECT k FROM frame WHERE c = 2)",
    "SELECT k FROM frame o WHERE EXISTS (SELECT 1 FROM frame i WHERE i.k = o.k AND o.c > 0)",
    "SELECT (SELECT max(c) FROM frame) AS m FROM frame",
    "SELECT k FROM frame UNION ALL SELECT CAST(c AS STRING) FROM frame",
    "SELECT CASE WHEN c = 1 THEN k END AS n FROM frame",
    "SELECT transform(a, x -> x + c) AS n FROM frame",
    "SELECT exploded FROM frame LATERAL VIEW explode(array(c)) t AS exploded",
    "SELECT named_struct('c', c).c AS n FROM frame",
    "SELECT coalesce(CAST(c AS STRING), k) AS n FROM frame",
    "SELECT k FROM frame SORT BY c",
    "SELECT k FROM frame DISTRIBUTE BY c",
    "SELECT k, sum(v) FILTER (WHERE c > 0) AS n FROM frame GROUP BY k",
    "SELECT k, v FROM frame GROUP BY GROUPING SETS ((k, v, c), (k, v))",
    "SELECT *\nFROM frame",
    "SELECT f.* FROM frame f",
    "SELECT t.k FROM (SELECT * FROM frame) t",
    "SELECT hash(*) AS h FROM frame",
    "SELECT count(DISTINCT *) AS n FROM frame",
    "SELECT struct(*) AS n FROM frame",
    "SELECT x.k FROM frame x NATURAL JOIN frame y",
    "SELECT * FROM (SELECT k, c FROM frame)",
)
READS_NOT = (
    "SELECT k, v FROM frame",
    "SELECT count(*) AS n FROM frame",
    "SELECT k AS c FROM frame",
    "SELECT k AS c FROM frame ORDER BY c",
    "SELECT 'c' AS letter, k FROM frame -- c and nothing else",
    "SELECT k FROM frame /* where c > 1 */ WHERE v > 0",
    "SELECT k FROM frame WHERE k = 'c'",
    "WITH t AS (SELECT k, v AS c FROM frame) SELECT c FROM t",
    "WITH t AS (SELECT k, v AS c FROM frame) SELECT * FROM t WHERE c > 1",
    "WITH t(c) AS (SELECT k FROM frame) SELECT c FROM t",
    "SELECT t.c FROM (SELECT k AS c FROM frame) t",
    "SELECT t.c FROM (SELECT k AS c FROM frame) t JOIN frame f ON f.k = t.c",
    "SELECT s.y AS c FROM frame",
    "SELECT transform(a, c -> c + 1) AS n FROM frame",
    "SELECT named_struct('c', k).c AS n FROM frame",
    "SELECT t.* FROM (SELECT k, v FROM frame) t JOIN frame f ON t.k = f.k",
    "SELECT k, count(*) OVER (PARTITION BY k) AS c FROM frame",
    "SELECT k FROM frame UNION ALL SELECT k AS c FROM frame",
    "SELECT t.c FROM frame f JOIN (VALUES ('1')) AS t(c) ON f.k = t.c",
    "SELECT k FROM frame WHERE k IN (SELECT k AS c FROM frame)",
)


@dataclass(frozen=True)
class Mutation:
    """A change of `c`, and whether it breaks whoever reads `c`."""

    name: str
    breaks: bool
    apply: Callable[[Columns], Columns]


def _to(type_: str, nullable: bool = False) -> Callable[[Columns], Columns]:
    return lambda columns: {**columns, "c": (type_, nullable)}


def _without(name: str) -> Callable[[Columns], Columns]:
    return lambda columns: {key: column for key, column in columns.items() if key != name}


def _renamed(name: str) -> Callable[[Columns], Columns]:
    return lambda columns: {name if key == "c" else key: column for key, column in columns.items()}


MUTATIONS = (
    Mutation("removed", True, _without("c")),
    Mutation("renamed", True, _renamed("c2")),
    Mutation("widened", True, _to("bigint")),
    Mutation("narrowed", True, _to("smallint")),
    Mutation("retyped", True, _to("string")),
    Mutation("made a timestamp", True, _to("timestamp")),
    Mutation("nested", True, _to("struct<c:int>")),
    Mutation("loosened", True, _to("int", nullable=True)),
    Mutation("retyped and loosened", True, _to("string", nullable=True)),
    Mutation("unchanged", False, dict),
    Mutation("spelled otherwise", False, _to("INTEGER")),
    Mutation("in other case", False, _renamed("C")),
    Mutation("reordered", False, lambda columns: dict(reversed(columns.items()))),
    Mutation("added nullable", False, lambda columns: {**columns, "extra": ("string", True)}),
    Mutation("added not null", False, lambda columns: {"extra": ("string", False), **columns}),
    Mutation("another tightened", False, lambda columns: {**columns, "s": (columns["s"][0], False)}),
)

#: How a consumer is declared: recorded types may be spelled as anyone spells them.
DECLARATIONS: Mapping[str, Mapping[str, Any]] = {
    "v1": {},
    "other case": {"database": "SALES", "table": "Orders"},
    "s3_parquet": {"kind": "s3_parquet"},
    "v2": {"version": 2},
}


@dataclass(frozen=True)
class Case:
    name: str
    sql: str | None
    reads: bool


def cases() -> Iterator[Case]:
    texts = [*((sql, True) for sql in READS), (None, True), *((sql, False) for sql in READS_NOT)]
    for (number, (sql, reads)), declared in itertools.product(enumerate(texts), DECLARATIONS):
        yield Case(f"{declared.replace(' ', '-').replace('_', '-')}-{number:02}", sql, reads)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Case]]:
    """A descriptor for each case, and the cases by the descriptor's name."""
    root = tmp_path_factory.mktemp("corpus")
    (root / "domains").mkdir()
    consumers, known = Consumers(root / "domains"), {}
    for case in cases():
        declared = next(key for key in DECLARATIONS if case.name.startswith(key.replace(" ", "-").replace("_", "-")))
        consumers.descriptor(case.name, sql=case.sql, recorded=PINNED, **DECLARATIONS[declared])
        known[case.name] = case
    return root, known


def test_every_break_is_found_and_with_only_used_nothing_else(corpus, monkeypatch, capsys):
    root, known = corpus
    monkeypatch.chdir(root)
    found = {True: [0, 0, 0, 0], False: [0, 0, 0, 0]}  # hits, breaks, false alarms, harmless
    for mutation, only_used in itertools.product(MUTATIONS, (True, False)):
        (root / "proposal.yml").write_text(proposal_text(mutation.apply(PINNED)), encoding="utf-8")
        flags = ["--only-used"] if only_used else []
        main(["consumers", "proposal.yml", "domains", "--no-catalog", "--format", "json", *flags])
        judged = json.loads(capsys.readouterr().out)["consumers"]
        assert {each["name"] for each in judged} == set(known)
        for each in judged:
            case = known[each["name"]]
            right = mutation.breaks and (case.reads or not only_used)
            alarmed = each["verdict"] == "BREAKS"
            assert alarmed == right, f"{mutation.name}: {case.sql}"
            counted = found[only_used]
            counted[0] += alarmed and right
            counted[1] += right
            counted[2] += alarmed and not right
            counted[3] += not right
    with capsys.disabled():
        for only_used, (hits, breaks, alarms, harmless) in found.items():
            print(  # noqa: T201
                f"\nmutation corpus{' with --only-used' if only_used else ''}: "
                f"recall {100 * hits / breaks:.1f} % ({hits} of {breaks} breaks), "
                f"false alarms {alarms} of {harmless} harmless",
                end="",
            )


@pytest.mark.parametrize("sql", READS)
def test_what_reads_the_column_says_a_line_of_the_file(sql):
    found = columns_read(sql, PINNED)
    lines = found.lines.get("c") or (found.whole_line,)
    assert all(1 <= line <= sql.count("\n") + 1 for line in lines)


@pytest.mark.spark
def test_spark_agrees_on_which_sql_reads_the_column(spark: Any):
    """Without the column Spark refuses what names it, and answers with fewer columns what takes all there are."""
    from pyspark.errors import AnalysisException

    ddl = {name: (type_, nullable) for name, (type_, nullable) in PINNED.items()}
    whole = spark.createDataFrame([], ", ".join(f"{name} {type_}" for name, (type_, _) in ddl.items()))

    def plan(sql: str, frame: Any) -> str | None:
        frame.createOrReplaceTempView("frame")
        try:
            return str(spark.sql(sql)._jdf.queryExecution().optimizedPlan().canonicalized().toString())
        except AnalysisException:
            return None
        finally:
            spark.catalog.dropTempView("frame")

    without = whole.drop("c")
    for sql in READS:
        assert plan(sql, whole) is not None, sql
        named = "*" not in sql and "NATURAL" not in sql
        assert plan(sql, without) is None if named else True, sql
    for sql in READS_NOT:
        assert plan(sql, without) is not None, sql
        assert plan(sql, whole) is not None, sql
