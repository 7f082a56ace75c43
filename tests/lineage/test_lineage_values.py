"""Python values in events."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline_runtime.descriptor.duration import parse_duration
from pipeline_runtime.lineage.values import json_value, utc_text

BERLIN = timezone(timedelta(hours=2))


class Colour(str, Enum):
    RED = "red"


def test_reported_ol_5_values_become_json_and_nothing_is_dropped() -> None:
    facet = {"sla": timedelta(days=1), "threshold": Decimal("0.95"), "when": datetime(2026, 8, 4, 11, tzinfo=BERLIN)}
    assert json_value({**facet, "list": [None, 1]}) == {
        "sla": "P1D",
        "threshold": "0.95",
        "when": "2026-08-04T09:00:00Z",
        "list": [None, 1],
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (date(2026, 8, 4), "2026-08-04"),
        (timedelta(hours=4), "PT4H"),
        (timedelta(days=1, minutes=30, microseconds=500_000), "P1DT30M0.5S"),
        (timedelta(0), "PT0S"),
        (-timedelta(seconds=90), "-PT1M30S"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (Colour.RED, "red"),
        ((1, "a"), [1, "a"]),
        ({"b", "a"}, ["a", "b"]),
        (True, True),
        (2**70, 2**70),
        (0.1, 0.1),
    ],
)
def test_each_type_has_one_spelling(value: Any, expected: Any) -> None:
    assert json_value(value) == expected


@pytest.mark.parametrize("value", [object(), b"bytes", float("nan"), float("inf"), {1: "x"}, [object()]])
def test_what_has_no_form_is_refused_instead_of_becoming_placeholder_text(value: Any) -> None:
    with pytest.raises(TypeError):
        json_value(value)


def test_reported_ol_5_a_naive_time_is_refused_and_others_end_in_z() -> None:
    assert utc_text(datetime(2026, 8, 4, 11, 14, 22, 123_456, tzinfo=BERLIN)) == "2026-08-04T09:14:22.123Z"
    assert utc_text(datetime(2026, 8, 4, 9, tzinfo=UTC), milliseconds=False) == "2026-08-04T09:00:00Z"
    with pytest.raises(ValueError, match="no time zone"):
        utc_text(datetime(2026, 8, 4, 9))  # noqa: DTZ001


@settings(deadline=None)
@given(st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=400)))
def test_a_duration_is_spelled_so_that_a_contract_could_read_it(length: timedelta) -> None:
    whole = timedelta(seconds=int(length.total_seconds()))
    assert parse_duration(json_value(whole)) == whole


@settings(deadline=None, max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_json_passes_through_unchanged(value: Any) -> None:
    assert json.loads(json.dumps(json_value(value))) == value
