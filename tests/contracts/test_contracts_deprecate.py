"""A version of a table stays readable until a day: consumers are warned with it, and fail after it."""

from __future__ import annotations

import io
import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from contract_samples import COLUMNS
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.catalog.deprecation import deprecation_of, with_deprecation
from pipeline_runtime.catalog.parameters import DEPRECATED_AFTER, SUCCESSOR
from pipeline_runtime.catalog.pins import resolve_pin
from pipeline_runtime.cli import main
from pipeline_runtime.contracts.declared import declared_in
from pipeline_runtime.descriptor.load import load
from pipeline_runtime.errors import CatalogError, VersionDeprecated

ROOT = Path(__file__).resolve().parents[2]
NEXT_YEAR = datetime.now(UTC).date() + timedelta(days=365)


@pytest.fixture
def deprecated(table, capsys):
    """`deprecated(*arguments)` → exit code, standard output, standard error, on a table at v3."""
    table.iceberg(**{"cordata.published_by": "shop"})
    table.append(3)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["deprecate", f"{table.database}.orders", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def pinned(table: Any, consumers: Any, pin: int, today: date) -> Any:
    path = consumers.descriptor(f"pins-{pin}", database=table.database, pin=pin)
    loaded = load(path)
    return resolve_pin(
        loaded.descriptor.source, loaded.domain_root, table.glue, table.s3, "eu-central-1", today=today
    ).deprecation


def test_a_deprecation_is_one_parameter_more_and_everything_else_stays(deprecated, table):
    before = table.get()
    code, out, _ = deprecated("--version", "2", "--after", str(NEXT_YEAR))
    after = table.get()

    assert code == 0
    assert f"pins up to v2 hold until {NEXT_YEAR}, from now on" in out
    assert after["Parameters"].pop(DEPRECATED_AFTER) == f"2={NEXT_YEAR}"
    moved = ("VersionId", "UpdateTime")
    assert {key: value for key, value in after.items() if key not in moved} == {
        key: value for key, value in before.items() if key not in moved
    }
    assert "as before" in deprecated("--version", "2", "--after", str(NEXT_YEAR))[1]


def test_pins_up_to_the_version_are_warned_until_the_day_and_fail_after_it(deprecated, table, consumers):
    deprecated("--version", "2", "--after", str(NEXT_YEAR))

    for pin in (1, 2):
        assert pinned(table, consumers, pin, NEXT_YEAR).after == NEXT_YEAR
        with pytest.raises(VersionDeprecated, match=rf"orders v{pin} was readable until {NEXT_YEAR}, and that day"):
            pinned(table, consumers, pin, NEXT_YEAR + timedelta(days=1))
    assert pinned(table, consumers, 3, NEXT_YEAR + timedelta(days=1)) is None


def test_several_versions_have_days_of_their_own_and_each_can_be_taken_back(deprecated, table, consumers):
    sooner = NEXT_YEAR - timedelta(days=30)
    deprecated("--version", "2", "--after", str(NEXT_YEAR))
    deprecated("--version", "1", "--after", str(sooner))
    assert table.get()["Parameters"][DEPRECATED_AFTER] == f"1={sooner},2={NEXT_YEAR}"
    assert pinned(table, consumers, 1, sooner).after == sooner
    assert pinned(table, consumers, 2, sooner).after == NEXT_YEAR

    assert "no longer deprecated" in deprecated("--version", "1", "--lift")[1]
    deprecated("--version", "2", "--lift")

    assert DEPRECATED_AFTER not in table.get()["Parameters"]
    assert "were not deprecated" in deprecated("--version", "2", "--lift")[1]


def test_the_consumers_to_tell_are_listed_with_their_owners(deprecated, table, consumers):
    consumers.descriptor("old", database=table.database, pin=1)
    consumers.descriptor("new", database=table.database, pin=3)
    _, out, _ = deprecated("--version", "2", "--after", str(NEXT_YEAR), "domains")
    assert "  tell old (finance)  pins v1  owner finance@example.org\n" in out
    assert "tell new" not in out


def test_the_successor_must_be_readable_beside_the_old_version(deprecated, table, consumers):
    code, _, err = deprecated("--version", "2", "--after", str(NEXT_YEAR), "--successor", f"{table.database}.orders_v4")
    assert code == 1
    assert "is not in the catalog: publish it first" in err
    assert DEPRECATED_AFTER not in table.get()["Parameters"]

    table.glue.create_table(DatabaseName=table.database, TableInput={"Name": "orders_v4"})
    deprecated("--version", "2", "--after", str(NEXT_YEAR), "--successor", f"{table.database}.Orders_V4")

    assert pinned(table, consumers, 2, NEXT_YEAR).successor == f"{table.database}.orders_v4"
    deprecated("--version", "2", "--lift")
    assert SUCCESSOR not in table.get()["Parameters"]


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("--version", "9", "--after", "2999-01-01"), 1, "is at v3; there is no v9 to deprecate"),
        (("--version", "2", "--after", "2020-01-01"), 2, "is over: every consumer would fail at once"),
        (("nowhere", "--version", "2", "--after", "2999-01-01"), 2, "nowhere: does not exist"),
        (("--version", "2", "--after", "2999-01-01", "--successor", "x"), 2, "'x' is not <database>.<table>"),
    ],
)
def test_what_cannot_be_deprecated_is_refused_and_nothing_is_set(deprecated, table, consumers, arguments, code, reason):
    found, _, err = deprecated(*arguments)
    assert (found, DEPRECATED_AFTER in table.get()["Parameters"]) == (code, False)
    assert reason in err


def test_a_day_that_is_none_is_refused(deprecated, capsys):
    with pytest.raises(SystemExit) as stop:
        deprecated("--version", "2", "--after", "next year")
    assert stop.value.code == 2
    assert "is not a day; write it like 2026-12-31" in capsys.readouterr().err


def test_a_parameter_that_somebody_broke_is_an_error_with_its_remedy():
    for text in ("soon", "7=2026-02-30", "7=", "7:2026-01-01"):
        with pytest.raises(CatalogError, match=r"entries such as 7=2026-12-31.*deprecate"):
            deprecation_of({DEPRECATED_AFTER: text}, 7, "a.b")


def test_a_date_alone_counts_for_every_version():
    found = deprecation_of({DEPRECATED_AFTER: "2026-12-31"}, 70, "a.b")
    assert found is not None
    assert found.after == date(2026, 12, 31)


@given(
    st.dictionaries(st.integers(0, 99), st.dates(date(2020, 1, 1), date(2200, 1, 1)), min_size=1), st.integers(0, 99)
)
def test_what_was_set_is_what_is_read_and_the_earliest_day_counts(days, pin):
    parameters: dict[str, str] = {}
    for version, day in days.items():
        parameters[DEPRECATED_AFTER] = with_deprecation(parameters, version, day, "a.b") or ""
    right = [day for version, day in days.items() if pin <= version]
    found = deprecation_of(parameters, pin, "a.b")
    assert (found.after if found else None) == (min(right) if right else None)


def test_a_run_on_a_deprecated_version_says_so_in_its_trace(aws, monkeypatch, tmp_path):
    from pipeline_runtime.deployment import connect
    from pipeline_runtime.descriptor.files import named_files
    from pipeline_runtime.preflight import preflight
    from pipeline_runtime.trace import Trace
    from sandbox.lake.bare import lay_out

    account = "999900002222"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account)
    monkeypatch.chdir(ROOT)
    lay_out(*(aws.client(service, account) for service in ("glue", "s3", "lakeformation")))
    assert main(["deprecate", "fraud_raw.transactions", "--version", "7", "--after", str(NEXT_YEAR)]) == 0
    loaded = load(Path("domains/finance/pipelines/merchant_settlement_daily.yml"))
    environ = {**os.environ, "CORDATA_LINEAGE": "off", "CORDATA_EVIDENCE": str(tmp_path)}
    out = io.StringIO()

    preflight(loaded, named_files(loaded), connect(environ), Trace("a1b2c3d4", out=out))

    said = f"fraud_raw.transactions v7 is deprecated: readable until {NEXT_YEAR}, a failure after it."
    assert f"[a1b2] schema WARNING {said}" in out.getvalue()


def test_validate_with_the_catalog_warns_until_the_day_and_fails_after_it(aws, monkeypatch, capsys):
    from sandbox.lake.bare import lay_out

    account, table = "999900003333", "fraud_raw.transactions"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account)
    monkeypatch.chdir(ROOT)
    lay_out(*(aws.client(service, account) for service in ("glue", "s3", "lakeformation")))
    assert main(["deprecate", table, "--version", "7", "--after", str(NEXT_YEAR)]) == 0
    capsys.readouterr()
    assert main(["validate", "--catalog", "domains/finance"]) == 0
    assert f"WARNING {table} v7 is deprecated: readable until {NEXT_YEAR}" in capsys.readouterr().out

    glue = aws.client("glue", account)
    held = glue.get_table(DatabaseName="fraud_raw", Name="transactions")["Table"]
    parameters = {**held["Parameters"], DEPRECATED_AFTER: "7=2020-01-01"}
    definition = {key: held[key] for key in ("Name", "TableType", "StorageDescriptor")}
    glue.update_table(DatabaseName="fraud_raw", TableInput={**definition, "Parameters": parameters})

    assert main(["validate", "--catalog", "domains/finance"]) == 2
    assert f"{table} v7 was readable until 2020-01-01, and that day is over." in capsys.readouterr().out


def test_declared_reads_the_pin_of_either_api_version(consumers):
    one = declared_in(consumers.descriptor("one", pin=4), "one.yml")
    two = declared_in(consumers.descriptor("two", pin=4, version=2, recorded=COLUMNS), "two.yml")
    assert (one.pin, one.fqn) == (two.pin, two.fqn) == (4, "sales.orders")
