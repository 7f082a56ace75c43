"""The shipped table of expectation types against the Great Expectations that is installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from pipeline_runtime.quality import expectation_types, kinds
from pipeline_runtime.quality.expectation_types import TABLE, generate, render, type_table


@pytest.mark.skipif(find_spec("great_expectations") is None, reason="needs the run extra")
def test_the_shipped_table_is_what_the_installed_wheel_says():
    assert TABLE.read_text("utf-8") == render(generate()), (
        "regenerate it: python -m pipeline_runtime.quality.expectation_types"
    )


def test_every_type_is_either_usable_or_refused_with_a_reason():
    table = type_table()
    assert "expect_column_values_to_be_between" in table.types
    assert not table.types.keys() & table.refused.keys()
    assert all(reason for reason in table.refused.values())


def test_the_types_that_the_executor_judges_itself_exist():
    named = {kinds.KL_DIVERGENCE, kinds.NOT_NULL, kinds.UNIQUE}.union(
        kinds.COMPARES_VALUES,
        kinds.USES_VALUE_SET,
        kinds.NEEDS_NUMBERS,
        kinds.NEEDS_TEXT,
        kinds.COUNTS_NULLS,
        kinds.SHAPE,
    )
    assert named <= type_table().types.keys()


def test_no_run_time_parameters_in_place_of_values():
    bounds = type_table().types["expect_column_values_to_be_between"].kwargs["min_value"]
    assert bounds.types == ("number", "date")


def test_without_great_expectations_the_generator_says_so(monkeypatch):
    monkeypatch.setattr(expectation_types, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="great_expectations is not installed"):
        generate()
