"""A Python step: a module of the domain's own package, judged before it runs and confined while it does."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline_runtime.cli.validate import main as validate
from pipeline_runtime.descriptor.blocks import Step
from pipeline_runtime.descriptor.files import shown
from pipeline_runtime.errors import OutputRefused, StepFailed, WriteFailed
from pipeline_runtime.steps.body import StepBody
from pipeline_runtime.steps.python import params_for, run_python
from pipeline_runtime.steps.python_module import check_module
from pipeline_runtime.writers.failing import failing_as_write_failed

spark_test = pytest.mark.spark

TRANSFORM = "def transform(frame, params):\n    return {}\n"
DESCRIPTOR = """\
apiVersion: cordata.tech/v1
kind: TransformPipeline
metadata: {name: settlements, domain: fraud, owner: fraud@example.com}
source: {kind: glue_table, database: fraud_raw, table: settlements, schema_version: 3}
steps:
  - id: reconcile
    kind: python
    module: domains.fraud.transforms.reconcile
    params: {lookback_days: "30"}
target: {kind: iceberg, database: fraud_curated, table: settled, location: s3://fraud/settled/}
contract: {freshness_sla: PT4H, lf_tags: {sensitivity: high}}
expectations: {suite: expectations/settled.yml, on_failure: warn}
processing: {purpose: fraud-detection, legal_basis: contract}
"""


class Domain:
    """A domain root with a package of its own; the current folder is its Git checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("reconcile", TRANSFORM.format("frame"))

    def write(self, name: str, text: str) -> Path:
        file = self.root / "transforms" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def run(self, frame: Any, text: str, module: str = "domains.fraud.transforms.reconcile", **params: str) -> Any:
        file = self.write("reconcile", text)
        step = Step(id="reconcile", kind="python", module=module, params=params)
        return run_python(frame, step, StepBody(text, shown(file), self.root), params_for(step, None))


@pytest.fixture
def domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Domain:
    monkeypatch.chdir(tmp_path)
    return Domain(tmp_path / "domains" / "fraud")


@pytest.fixture
def frame(spark: Any) -> Any:
    return spark.createDataFrame([(1, "a"), (2, "b")], "id int, name string")


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


# --- judged without running it


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def transform(frame, params)\n    return frame\n", "m.py:1: is no Python 3.11: expected ':'"),
        ("x = 1\ntype Id = int\n", "m.py:2: is no Python 3.11: "),
        (
            "def transfrom(frame, params): ...\n",
            "m.py: defines no transform; a step's module has def transform\\(frame: ",
        ),
        ("def transfrom(frame, params): ...\n", "m.py: defines no transform; .* Is transfrom meant\\?"),
        ("class transform: ...\n", "m.py: defines no transform"),
        ("\ndef transform(frame):\n    return frame\n", "m.py:2: transform takes \\(frame\\); write def transform"),
        ("def transform(frame, params, *, day): ...\n", "m.py:1: transform takes \\(frame, params, day\\)"),
        ("def transform(*args): ...\n", "m.py:1: transform takes \\(\\*args\\)"),
        ("async def transform(frame, params): ...\n", "m.py:1: transform is async"),
        ("a\0b", "m.py: is no Python 3.11: "),
    ],
)
def test_a_module_without_the_documented_transform_is_refused_at_its_line(text, problem):
    (found,) = check_module(text, "m.py")
    assert re.match(problem, str(found))


@pytest.mark.parametrize(
    "text",
    [
        "raise RuntimeError('imported')\n" + TRANSFORM.format("frame"),
        "def transform(frame, params=None): ...\n",
        "def transform(frame, params, *, day=None): ...\n",
        "def transform(frame): ...\ndef transform(frame, params): ...\n",
        "x = '\\d'\n" + TRANSFORM.format("frame"),
    ],
)
def test_a_module_with_it_is_accepted_and_not_imported(text):
    assert check_module(text, "m.py") == []


def test_validate_tells_a_pull_request_what_is_wrong_with_a_module(domain, capsys):
    (domain.root / "pipelines").mkdir()
    (domain.root / "expectations").mkdir()
    (domain.root / "pipelines" / "settlements.yml").write_text(DESCRIPTOR)
    (domain.root / "expectations" / "settled.yml").write_text(
        "suite_name: settled\nexpectations:\n  - type: expect_column_to_exist\n    kwargs: {column: id}\n"
    )
    assert validate(["domains"]) == 0
    domain.write("reconcile", "\n\ndef transform(frame):\n    return frame\n")

    assert validate(["domains"]) == 2

    out = capsys.readouterr().out
    assert "domains/fraud/transforms/reconcile.py:3: transform takes (frame); write def transform(frame: Data" in out


def test_params_are_text_and_know_the_nominal_time_where_the_run_has_one():
    step = Step(id="r", kind="python", module="transforms.r", params={"lookback_days": "30"})
    assert params_for(step, None) == {"lookback_days": "30"}
    assert params_for(step, datetime(2026, 8, 4, 9, tzinfo=UTC)) == {
        "lookback_days": "30",
        "nominal_time": "2026-08-04T09:00:00Z",
        "nominal_date": "2026-08-04",
    }


# --- run


@spark_test
def test_transform_gets_the_previous_frame_and_the_params(domain, frame):
    answer = domain.run(frame, TRANSFORM.format("frame.filter(frame.id >= int(params['least']))"), least="2")
    assert rows(answer) == [(2, "b")]


@spark_test
@pytest.mark.parametrize("spelling", ["domains.fraud.transforms", "transforms"])
def test_a_module_runs_alike_from_a_checkout_and_from_a_copy_under_another_name(domain, frame, spelling, monkeypatch):
    """Its neighbours come along, by relative and by absolute imports, and reach Spark's workers."""
    text = (
        f"from {spelling}.calendar import DAYS\nfrom .rates import rate\nfrom pyspark.sql import functions as F\n"
        "def transform(frame, params):\n"
        f"    from {spelling} import late\n"
        "    priced = F.udf(lambda i: rate(i) + DAYS, 'int')\n"
        "    return frame.select(late.shift(priced('id')).alias('n'))\n"
    )

    def neighbours() -> None:
        domain.write("calendar", "DAYS = 100\n")
        domain.write("rates", "FACTOR = 10\ndef rate(i):\n    return i * FACTOR\n")
        domain.write("late", "def shift(c):\n    return c + 1\n")

    neighbours()
    assert rows(domain.run(frame, text, f"{spelling}.reconcile")) == [(111,), (121,)]
    monkeypatch.chdir("/")
    domain.root = domain.root.rename(domain.root.parents[1] / "fraud-config-7d1")
    (domain.root / "transforms" / "calendar.py").write_text("DAYS = 200\n")
    assert rows(domain.run(frame, text, f"{spelling}.reconcile")) == [(211,), (221,)]


@spark_test
def test_the_process_knows_nothing_of_the_domains_modules_afterwards(domain, frame):
    domain.write("__init__", "")
    path, modules, finders = list(sys.path), set(sys.modules), list(sys.meta_path)

    domain.run(frame, "from . import *\n" + TRANSFORM.format("frame"))
    with pytest.raises(StepFailed):
        domain.run(frame, "raise ValueError('no')\n" + TRANSFORM.format("frame"))

    assert (sys.path, sys.meta_path) == (path, finders)
    assert not [name for name in set(sys.modules) - modules if name.startswith(("domains", "transforms"))]
    assert not list(domain.root.rglob("__pycache__"))


@spark_test
def test_nothing_beside_the_domains_package_can_be_imported_through_it(domain, frame):
    (domain.root / "secrets.py").write_text("KEY = 1\n")
    (domain.root.parent / "policy" / "transforms").mkdir(parents=True)
    (domain.root.parent / "policy" / "transforms" / "x.py").write_text("")
    outside = domain.root.parent / "outside.py"
    outside.write_text("KEY = 1\n")
    (domain.root / "transforms" / "linked.py").symlink_to(outside)

    for statement in (
        "from domains.fraud import secrets",
        "from domains.fraud.secrets import KEY",
        "import domains.policy.transforms.x",
        "from .linked import KEY",
        "from .. import secrets",
    ):
        with pytest.raises(StepFailed, match=r"reconcile\.py:1\): (ImportError|ModuleNotFoundError)"):
            domain.run(frame, f"{statement}\n{TRANSFORM.format('frame')}")


@spark_test
def test_a_module_never_hides_an_installed_package(domain, frame, tmp_path, monkeypatch):
    installed = tmp_path / "site" / "transforms"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(installed.parent))

    with pytest.raises(StepFailed, match=r"hide the installed package transforms .* spell it domains\.<domain>\.trans"):
        domain.run(frame, TRANSFORM.format("frame"), "transforms.reconcile")
    assert rows(domain.run(frame, TRANSFORM.format("frame"))) == [(1, "a"), (2, "b")]


@spark_test
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TRANSFORM.format("frame.filter(params['days'])"),
            r"domains/fraud/transforms/reconcile\.py:2\): KeyError: 'days'",
        ),
        (
            TRANSFORM.format("frame.select('iban')"),
            r"domains/fraud/transforms/reconcile\.py:2\): .*`iban` cannot be res",
        ),
        (TRANSFORM.format("exit(3)"), r"reconcile\.py:2\): the module ended the process"),
        (
            "import nowhere\n" + TRANSFORM.format("frame"),
            r"reconcile\.py:1\): ModuleNotFoundError: No module named 'now",
        ),
        ("from .broken import x\n" + TRANSFORM.format("frame"), r"transforms/broken\.py:2\): SyntaxError: "),
        ("from .deep import f\n" + TRANSFORM.format("f(frame)"), r"transforms/deep\.py:2\): ZeroDivisionError: "),
        (
            TRANSFORM.format("None"),
            r"reconcile\.py\): transform returned nothing, not the next frame\. Write def trans",
        ),
        (TRANSFORM.format("frame.toPandas()"), r"returned a pandas\.core\.frame\.DataFrame, not .* createDataFrame"),
        (TRANSFORM.format("frame.sparkSession.newSession().range(1)"), r"returned a frame of another Spark session"),
    ],
)
def test_what_goes_wrong_in_a_module_is_told_with_the_domains_file_and_line(domain, frame, text, message):
    domain.write("broken", "x = 1\ny = (\n")
    domain.write("deep", "def f(frame):\n    return 1 / 0\n")

    with pytest.raises(StepFailed, match=rf"^step reconcile \({'.*' + message}") as caught:
        domain.run(frame, text)

    assert "Traceback" not in str(caught.value)


@spark_test
def test_what_goes_wrong_on_a_worker_later_is_told_with_them_too(domain, frame):
    text = (
        "from pyspark.sql import functions as F\n"
        "def parse(name):\n    return int(name)\n"
        "def transform(frame, params):\n    return frame.select(F.udf(parse, 'int')('name'))\n"
    )
    answer = domain.run(frame, text)

    place = r"domains/fraud/transforms/reconcile\.py:3: ValueError: invalid literal for int"
    with pytest.raises(WriteFailed, match=place), failing_as_write_failed("t"):
        answer.collect()


@spark_test
def test_a_column_that_is_returned_twice_is_refused(domain, frame):
    with pytest.raises(
        OutputRefused, match=r"step reconcile \(domains/fraud/transforms/reconcile\.py\).*id \(id, ID\)"
    ):
        domain.run(frame, TRANSFORM.format("frame.selectExpr('id', 'name AS ID')"))
