"""Which Glue version's engine this Python environment is, and where that engine's things lie on this machine.

The environment's pyspark decides: nothing has to be told, and a command cannot mix one engine's Python with another's
JARs.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pipeline_runtime.glue.engines import DEFAULT, ENGINES, GlueEngine

__all__ = ["LISTS", "engine_here", "engine_name", "jars_folder", "jars_list", "settings_folder"]

ROOT = Path(__file__).resolve().parents[1]
LISTS = ROOT / "sandbox" / "jars"


def engine_here() -> GlueEngine:
    """The Glue version that has this environment's Spark; the default one where none has, or there is no Spark."""
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        return ENGINES[DEFAULT]
    return next((engine for engine in ENGINES.values() if engine.spark == spark), ENGINES[DEFAULT])


def engine_name(engine: GlueEngine) -> str:
    """How folders, lists and `make ENGINE=…` call it: `glue-5.1`."""
    return f"glue-{engine.glue}"


def jars_folder(engine: GlueEngine, root: Path = ROOT) -> Path:
    """Where `make setup` puts the engine's JARs; PIPELINE_RUNTIME_JARS names another place."""
    return Path(os.environ.get("PIPELINE_RUNTIME_JARS", root / ".cache" / "jars" / engine_name(engine)))


def jars_list(engine: GlueEngine) -> Path:
    """The list that the folder is filled from."""
    return LISTS / f"ivy-{engine_name(engine)}.xml"


def settings_folder(sandbox: Path, engine: GlueEngine) -> Path:
    """Where a sandbox keeps the settings of the engine's runs: both engines share its lake, but not their JARs."""
    return sandbox if engine.glue == DEFAULT else sandbox / engine_name(engine)
