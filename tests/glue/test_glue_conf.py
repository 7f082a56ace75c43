"""The one `--conf` argument: built, and read back as Glue reads it."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.errors import ConfigurationError
from pipeline_runtime.glue.conf import merged, parse_conf, render_conf

KEYS = st.from_regex(r"spark\.[A-Za-z0-9_-]{1,8}(\.[A-Za-z0-9_-]{1,8}){0,3}", fullmatch=True)
VALUES = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="\"'\\`$"), min_size=1, max_size=40
)


def test_reported_one_argument_carries_all_settings_without_a_leading_conf_or_quotes() -> None:
    value = render_conf({"spark.b": "2", "spark.a": "1", "spark.c": "x=y"})
    assert value == "spark.a=1 --conf spark.b=2 --conf spark.c=x=y"


def test_reported_the_order_does_not_depend_on_how_the_settings_were_given() -> None:
    assert render_conf({"spark.b": "2", "spark.a": "1"}) == render_conf({"spark.a": "1", "spark.b": "2"})


@given(st.dictionaries(KEYS, VALUES, max_size=8))
def test_reported_whatever_can_be_sent_is_read_back_as_it_was(settings: dict[str, str]) -> None:
    value = render_conf(settings)
    assert parse_conf(value) == settings
    assert "  " not in value
    assert not value.startswith("--conf")


@given(st.text(max_size=30))
def test_reported_a_value_is_sent_whole_or_refused(value: str) -> None:
    settings = {"spark.a": value, "spark.b": "2"}
    with contextlib.suppress(ConfigurationError):
        assert parse_conf(render_conf(settings)) == settings


@pytest.mark.parametrize(
    "value",
    ["two words", "x --conf spark.evil=1", "'quoted'", '"quoted"', "a\nb", "$HOME", "`id`", "back\\slash", "", "é"],
)
def test_reported_an_unsafe_value_is_refused_by_its_key(value: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^--conf: spark\.a (holds|is empty)"):
        render_conf({"spark.a": value})


def test_all_unsafe_settings_are_named_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"'a' is no Spark setting.*; spark\.b holds ' '"):
        render_conf({"a": "1", "spark.b": "two words"})


def test_a_setting_that_is_no_text_is_refused_with_the_remedy() -> None:
    with pytest.raises(ConfigurationError, match=r"spark\.a is True, which is no text; put it in quotes"):
        render_conf({"spark.a": True})  # type: ignore[dict-item]


def test_reported_extensions_and_listeners_are_joined_ours_first_each_once() -> None:
    ours = {"spark.sql.extensions": "a.X,b.Y", "spark.extraListeners": "l.Ours"}
    theirs = {"spark.sql.extensions": "b.Y, c.Z", "spark.extraListeners": "l.Theirs", "spark.d": "1"}
    assert merged(ours, theirs) == {
        "spark.sql.extensions": "a.X,b.Y,c.Z",
        "spark.extraListeners": "l.Ours,l.Theirs",
        "spark.d": "1",
    }


def test_reported_of_a_key_given_twice_the_users_value_counts() -> None:
    assert merged({"spark.a": "1"}, {"spark.a": "2"}) == {"spark.a": "2"}


def test_reported_a_key_of_the_executors_own_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"spark\.openlineage\.namespace, spark\.x: set by the executor"):
        merged(
            {},
            {"spark.openlineage.namespace": "other", "spark.x": "1", "spark.xy": "fine"},
            reserved=("spark.openlineage.", "spark.x"),
        )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("--conf spark.a=1", "is no Spark setting"),
        ("spark.a=1  --conf spark.b=2", r"spark\.a holds ' '"),
        ("spark.a=1 --conf spark.a=2", r"spark\.a is given twice"),
        ("spark.a=1 --conf spark.b", "is no key=value"),
        ('"spark.a=1"', "is no Spark setting"),
        ("spark.a=1 --conf", r"spark\.a holds ' '"),
    ],
)
def test_reported_an_argument_that_glue_would_misread_is_refused(value: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        parse_conf(value)
