"""How old a product may get."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.descriptor.duration import freshness_sla, parse_duration


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("PT4H", timedelta(hours=4)),
        ("P1D", timedelta(days=1)),
        ("P2W", timedelta(weeks=2)),
        ("PT90M", timedelta(minutes=90)),
        ("P1DT12H30M5S", timedelta(days=1, hours=12, minutes=30, seconds=5)),
    ],
)
def test_a_duration_of_fixed_length_is_read(text, length):
    assert parse_duration(text) == length
    assert freshness_sla(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "P", "PT", "P1DT", "P1M", "P1Y", "-PT4H", "PT1.5H", "4h", "pt4h", "PT4H ", "P1W2D", "P1H", "PT-4H", "PT4H\n"],
)
def test_anything_else_is_no_duration(text):
    with pytest.raises(ValueError, match="write for example PT4H or P1D"):
        parse_duration(text)


def test_a_promise_of_no_time_at_all_is_refused():
    with pytest.raises(ValueError, match="is no time at all"):
        freshness_sla("PT0S")


@pytest.mark.parametrize("text", ["P99999999999W", "PT" + "9" * 500 + "H", "PT" + "9" * 5000 + "S"])
def test_a_promise_beyond_all_time_is_refused_in_words(text):
    with pytest.raises(ValueError, match="too long"):
        freshness_sla(text)


@given(days=st.integers(0, 400), hours=st.integers(0, 99), minutes=st.integers(0, 99), seconds=st.integers(0, 99))
def test_the_parts_of_a_duration_add_up(days, hours, minutes, seconds):
    length = parse_duration(f"P{days}DT{hours}H{minutes}M{seconds}S")
    assert length == timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


@given(text=st.text(alphabet="PT0123456789WDHMSY-. ", max_size=12))
def test_whatever_the_text_it_is_a_duration_or_a_value_error(text):
    try:
        length = parse_duration(text)
    except ValueError:
        return
    assert length >= timedelta(0)
