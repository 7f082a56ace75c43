"""The kinds that descriptors may name: what is registered, and nothing else."""

from __future__ import annotations

from pipeline_runtime.descriptor.load import KnownKinds
from pipeline_runtime.readers import source_kinds
from pipeline_runtime.steps import STEPS
from pipeline_runtime.writers import WRITERS

__all__ = ["KINDS", "KnownKinds"]

KINDS = KnownKinds(source_kinds(), frozenset(STEPS), frozenset(WRITERS))
