"""A domain's own reader: known by its name alone, imported when it is named, and held to every reader's promise."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pipeline_runtime.catalog.table import CatalogTable, PinnedSource, TableIdentity
from pipeline_runtime.errors import CatalogError, ReaderUnusable, SchemaMismatch
from pipeline_runtime.readers import READERS, reader_for, source_kinds
from pipeline_runtime.schema.columns import Column, Schema

PINNED = Schema((Column("id", "bigint"), Column("note", "string")))
SOURCE = PinnedSource(
    CatalogTable(
        TableIdentity("eu-central-1", "111122223333", "raw", "tape"), 1, PINNED, "s3://tape/raw", is_iceberg=False
    ),
    PINNED,
    1,
)

READER = """\
def read(spark, source, spark_catalog):
    return spark.createDataFrame([("a", 1, True)], "note string, id int, extra boolean")
"""

Install = Callable[..., tuple[str, str]]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a distribution that brings one reader, as pip would lay it out; returns its kind and its module."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(body: str = READER, *, kind: str | None = None, attribute: str = "read") -> tuple[str, str]:
        tail = uuid4().hex[:8]
        module, kind = f"cordata_{tail}", kind or f"tape_{tail}"
        info = tmp_path / f"cordata_tape_{tail}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: cordata-tape-{tail}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[pipeline_runtime.readers]\n{kind} = {module}.tape:{attribute}\n")
        (tmp_path / module).mkdir()
        (tmp_path / module / "__init__.py").write_text("")
        (tmp_path / module / "tape.py").write_text(body)
        return kind, module

    return put


def refusal(act: Callable[[], Any]) -> str:
    with pytest.raises(ReaderUnusable) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_kind_is_known_by_its_name_and_nothing_is_imported(install: Install) -> None:
    kind, module = install("raise RuntimeError('imported')")
    assert source_kinds() == {*READERS, kind}
    assert not [name for name in sys.modules if name.startswith(module)]


def test_a_descriptor_may_name_the_kind_where_the_distribution_is_installed(install: Install, tmp_path: Path) -> None:
    kind, _ = install("raise RuntimeError('imported')")
    script = "from pipeline_runtime.kinds import KINDS; print(*sorted(KINDS.sources))"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path.cwd())])}
    said = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert kind in said.stdout.split()


def test_a_broken_plugin_costs_nothing_until_a_descriptor_names_it(install: Install) -> None:
    broken, _ = install("import no_such_module")
    working, _ = install()
    assert callable(reader_for(working))
    assert callable(reader_for("glue_table"))
    with pytest.raises(ReaderUnusable):
        reader_for(broken)


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module' (tape.py, line 1)"),
        ("\nraise RuntimeError('no licence')", "RuntimeError: no licence (tape.py, line 2)"),
        ("def read(:", "SyntaxError: invalid syntax (tape.py, line 1)"),
        ("import sys; sys.exit(3)", "SystemExit: 3 (tape.py, line 1)"),
        ("", "has no attribute 'read'"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_one_clear_error(install: Install, body: str, cause: str) -> None:
    kind, module = install(body)
    said = refusal(lambda: reader_for(kind))
    distribution = f"cordata-tape-{kind.removeprefix('tape_')} 1.2"
    assert said.startswith(
        f"source kind {kind}: entry point {kind} = {module}.tape:read of {distribution} cannot be loaded: "
    )
    assert cause in said


def test_a_plugin_that_is_no_function_is_refused(install: Install) -> None:
    kind, _ = install("read = 'cordata_fraud.tape'")
    assert "is a str; it must be a function (spark, source, spark_catalog)" in refusal(lambda: reader_for(kind))


@pytest.mark.parametrize("kind", sorted(READERS))
def test_a_plugin_does_not_shadow_a_built_in_kind(install: Install, kind: str) -> None:
    _, module = install("raise RuntimeError('imported')", kind=kind)
    said = refusal(lambda: reader_for(kind))
    assert said.startswith(
        f"source kind {kind} is built in, and entry point {kind} = {module}.tape:read of cordata-tape-"
    )


def test_two_distributions_that_claim_one_kind_are_both_named(install: Install) -> None:
    kind, first = install(kind="tape")
    _, second = install(kind="tape")
    said = refusal(lambda: reader_for(kind))
    assert said.startswith("source kind tape is claimed 2 times: ")
    assert first in said
    assert second in said


def test_a_kind_that_nobody_brings_is_an_error_that_lists_those_there_are() -> None:
    assert (
        refusal(lambda: reader_for("tape")) == f"no reader for source kind tape; there is: {', '.join(sorted(READERS))}"
    )


@pytest.mark.spark
def test_what_a_plugin_reads_has_the_pinned_columns(install: Install, spark: Any) -> None:
    kind, _ = install()
    frame = reader_for(kind)(spark, SOURCE, "glue_catalog")
    assert frame.dtypes == [("id", "bigint"), ("note", "string")]
    assert [tuple(row) for row in frame.collect()] == [(1, "a")]


@pytest.mark.spark
def test_what_a_plugin_reads_must_fit_the_pin(install: Install, spark: Any) -> None:
    kind, _ = install("def read(spark, source, spark_catalog):\n    return spark.range(1)\n")
    with pytest.raises(SchemaMismatch, match=r"raw\.tape: column note is pinned and was not there"):
        reader_for(kind)(spark, SOURCE, "glue_catalog")


@pytest.mark.spark
def test_a_plugin_that_fails_while_it_reads_is_named_with_its_line(install: Install, spark: Any) -> None:
    kind, _ = install("def read(spark, source, spark_catalog):\n    raise OSError('tape 7 is not mounted')\n")
    said = refusal(lambda: reader_for(kind)(spark, SOURCE, "glue_catalog"))
    assert said.endswith(" 1.2 failed: OSError: tape 7 is not mounted (tape.py, line 2)")


@pytest.mark.spark
def test_a_plugin_that_returns_no_frame_is_refused(install: Install, spark: Any) -> None:
    kind, _ = install("def read(spark, source, spark_catalog):\n    return [1]\n")
    assert "returned list; it must return a Spark DataFrame" in refusal(
        lambda: reader_for(kind)(spark, SOURCE, "glue_catalog")
    )


@pytest.mark.spark
def test_an_error_of_ours_that_a_plugin_raises_stays_what_it_is(install: Install, spark: Any) -> None:
    kind, _ = install(
        "from pipeline_runtime.errors import CatalogError\n"
        "def read(spark, source, spark_catalog):\n    raise CatalogError('no tape')\n"
    )
    with pytest.raises(CatalogError, match=r"^no tape$"):
        reader_for(kind)(spark, SOURCE, "glue_catalog")
