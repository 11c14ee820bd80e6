"""Bivouac: training data that resumes exactly, and checkpoints compatible with Orbax.

The work is done by a side-car process, `bivouac serve`, which starts at the first use. Importing
this package starts nothing and imports neither numpy nor any module of the package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bivouac import auto_aug as auto_aug
    from bivouac import checkpoint as checkpoint
    from bivouac import dynamic as dynamic
    from bivouac import errors as errors
    from bivouac import fn as fn
    from bivouac import grain as grain
    from bivouac import math as math
    from bivouac import ops as ops
    from bivouac import pipeline as pipeline
    from bivouac import tfrecord as tfrecord
    from bivouac import torch as torch
    from bivouac import types as types
    from bivouac._job import EXIT_PREEMPTED as EXIT_PREEMPTED
    from bivouac._job import Job as Job
    from bivouac._job import Preempted as Preempted
    from bivouac._loader.loader import Batch as Batch
    from bivouac._loader.loader import Loader as Loader
    from bivouac._mesh import Layout as Layout
    from bivouac._mesh import Mesh as Mesh
    from bivouac._mesh import Part as Part
    from bivouac._pipeline.definition import pipeline_def as pipeline_def
    from bivouac._pipeline.enums import OperatorConcurrency as OperatorConcurrency
    from bivouac._pipeline.enums import StreamPolicy as StreamPolicy
    from bivouac._pipeline.node import newaxis as newaxis
    from bivouac._pipeline.pipeline import Pipeline as Pipeline
    from bivouac._record import record as record
    from bivouac.checkpoint import load as load
    from bivouac.checkpoint import save as save

__version__ = "0.6.0.dev0"

__all__ = [
    "Batch",
    "EXIT_PREEMPTED",
    "Job",
    "Layout",
    "Loader",
    "Mesh",
    "OperatorConcurrency",
    "Part",
    "Pipeline",
    "Preempted",
    "StreamPolicy",
    "__version__",
    "auto_aug",
    "checkpoint",
    "dynamic",
    "errors",
    "fn",
    "grain",
    "load",
    "math",
    "newaxis",
    "ops",
    "pipeline",
    "pipeline_def",
    "record",
    "save",
    "tfrecord",
    "torch",
    "types",
]

_modules = {
    "auto_aug",
    "checkpoint",
    "dynamic",
    "errors",
    "fn",
    "grain",
    "math",
    "ops",
    "pipeline",
    "tfrecord",
    "torch",
    "types",
}
_names = {
    "Batch": "_loader.loader",
    "EXIT_PREEMPTED": "_job",
    "Job": "_job",
    "Layout": "_mesh",
    "Loader": "_loader.loader",
    "Mesh": "_mesh",
    "OperatorConcurrency": "_pipeline.enums",
    "Part": "_mesh",
    "Pipeline": "_pipeline.pipeline",
    "Preempted": "_job",
    "StreamPolicy": "_pipeline.enums",
    "load": "checkpoint",
    "newaxis": "_pipeline.node",
    "pipeline_def": "_pipeline.definition",
    "record": "_record",
    "save": "checkpoint",
}


def __getattr__(name: str) -> Any:
    """Import a module of the package, or take a name of one of them, at its first use."""
    if name in _modules:
        return importlib.import_module(f"bivouac.{name}")
    if name in _names:
        value = getattr(importlib.import_module(f"bivouac.{_names[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bivouac' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
