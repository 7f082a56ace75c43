"""The domain's suite through Great Expectations, the way its own documentation shows it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["failures_of"]

_SUITE = "expectations/transactions_scored.yml"


def failures_of(frame: DataFrame, domain: Path) -> list[str]:
    """The expectations that the frame does not meet, each in words; empty where it meets all."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    # Without the bar: it redraws itself, which a job's log shows as a flood.
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    # The frame is persisted already.
    source = context.data_sources.add_spark("fraud", persist=False)
    batch = source.add_dataframe_asset("transactions_scored").add_batch_definition_whole_dataframe("all")
    suite = context.suites.add(gx.ExpectationSuite(name="transactions_scored", expectations=_expectations(domain)))
    definition = gx.ValidationDefinition(name="transactions_scored", data=batch, suite=suite)
    result = context.validation_definitions.add(definition).run(batch_parameters={"dataframe": frame})
    return [_in_words(each) for each in result.results if not each.success]


def _expectations(domain: Path) -> list[Any]:
    import yaml
    from great_expectations.expectations.registry import get_expectation_impl

    declared = yaml.safe_load((domain / _SUITE).read_text("utf-8"))["expectations"]
    built = []
    for each in declared:
        kwargs = dict(each["kwargs"])
        baseline = kwargs.get("partition_object")
        if baseline is not None:
            kwargs["partition_object"] = yaml.safe_load((domain / "baselines" / f"{baseline}.yml").read_text("utf-8"))
        built.append(get_expectation_impl(each["type"])(**kwargs))
    return built


def _in_words(result: Any) -> str:
    config = result.expectation_config
    return f"{config.type}({config.kwargs.get('column', 'the table')}): {result.result}"
