"""Great Expectations, imported late and quietly.

Importing it takes seconds, so a run starts that in the background while the engine starts. It is told to
report nothing home before it is imported; no context is made, so there is nothing that it could store or send.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

__all__ = ["Gx", "load_gx", "start_import"]

_MODULES = (
    "great_expectations",
    "great_expectations.expectations.registry",
    "great_expectations.execution_engine",
    "great_expectations.execution_engine.sparkdf_batch_data",
    "great_expectations.validator.metrics_calculator",
    "great_expectations.validator.metric_configuration",
    "great_expectations.exceptions",
    "pyspark.ml.feature",
)

_lock = threading.Lock()
_background: list[threading.Thread] = []


@dataclass(frozen=True)
class Gx:
    """The parts of Great Expectations that the executor uses."""

    get_expectation_impl: Any
    get_metric_provider: Any
    SparkDFExecutionEngine: Any
    SparkDFBatchData: Any
    MetricsCalculator: Any
    MetricConfiguration: Any
    MetricResolutionError: Any


def start_import() -> None:
    """Begin to import Great Expectations in the background. Safe to call twice; never raises.

    What goes wrong there is raised by `load_gx`, which imports again.
    """
    with _lock:
        if not _background:
            _background.append(threading.Thread(target=_import_quietly, name="import-great-expectations", daemon=True))
            _background[0].start()


def _import_quietly() -> None:
    with contextlib.suppress(Exception):
        _import()


def _import() -> None:
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    for module in _MODULES:
        importlib.import_module(module)
    # Its import sends every Python warning of the process to the log; and what it logs comes back in its results.
    logging.captureWarnings(False)
    logging.getLogger("great_expectations").setLevel(logging.CRITICAL)


@cache
def load_gx() -> Gx:
    """Great Expectations' parts, once the import in the background, if there is one, has ended.

    Raises ImportError where it is not installed.
    """
    for thread in _background:
        thread.join()
    _import()
    return Gx(
        importlib.import_module("great_expectations.expectations.registry").get_expectation_impl,
        importlib.import_module("great_expectations.expectations.registry").get_metric_provider,
        importlib.import_module("great_expectations.execution_engine").SparkDFExecutionEngine,
        importlib.import_module("great_expectations.execution_engine.sparkdf_batch_data").SparkDFBatchData,
        importlib.import_module("great_expectations.validator.metrics_calculator").MetricsCalculator,
        importlib.import_module("great_expectations.validator.metric_configuration").MetricConfiguration,
        importlib.import_module("great_expectations.exceptions").MetricResolutionError,
    )
