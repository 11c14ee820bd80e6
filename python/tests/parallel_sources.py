"""Pipelines with one parallel source."""

from __future__ import annotations

from typing import Any

import numpy as np

import bivouac
from bivouac import fn


def pipeline(source: Any, batch_size: int = 4, **options: Any) -> Any:
    """Return a pipeline with one parallel source."""
    names = ("batch", "batch_info", "cycle", "prefetch_queue_depth", "num_outputs", "layout")
    of_source = {name: options.pop(name) for name in names if name in options}
    options.setdefault("device_id", None)

    @bivouac.pipeline_def(batch_size=batch_size, num_threads=1, **options)
    def graph() -> Any:
        made = fn.external_source(source=source, parallel=True, **of_source)
        return tuple(made) if isinstance(made, (list, tuple)) else made

    return graph()


def first(outputs: Any) -> int:
    """Return the first element of a batch."""
    return int(np.asarray(outputs[0].at(0)).flat[0])


def number(i: int) -> Any:
    return np.full((4, 3), i, np.int32)
