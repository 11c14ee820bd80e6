"""Pipelines: the class, functions that define graphs, and nodes."""

from __future__ import annotations

from bivouac._pipeline.definition import do_not_convert, pipeline_def
from bivouac._pipeline.enums import OperatorConcurrency, StreamPolicy
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.pipeline import Pipeline
from bivouac.pipeline import experimental

__all__ = [
    "DataNode",
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "do_not_convert",
    "experimental",
    "pipeline_def",
]
