"""Values in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bivouac._dynamic.dtypes import DType

__all__ = ["of_batch", "of_tensor"]


def of_tensor(array: np.ndarray[Any, Any], dtype: DType, layout: str | None) -> str:
    """Return a Tensor in words."""
    return _listed("Tensor", [_elements(array)], dtype, layout, [f"shape={array.shape}"])


def of_batch(samples: Sequence[np.ndarray[Any, Any]], dtype: DType, layout: str | None) -> str:
    """Return a Batch in words."""
    shapes = [sample.shape for sample in samples]
    elements = ",\n    ".join(_elements(sample) for sample in samples)
    more = [f"num_samples={len(samples)}", f"shape={shapes}"]
    return _listed("Batch", [f"[{elements}]"], dtype, layout, more)


def _elements(array: np.ndarray[Any, Any]) -> str:
    text = np.array2string(array).replace("\n", "\n    ")
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _listed(kind: str, lines: list[str], dtype: DType, layout: str | None, more: list[str]) -> str:
    lines = [*lines, f"dtype={dtype}"]
    if layout:
        lines.append(f'layout="{layout}"')
    lines += ['device="cpu"', *more]
    return f"{kind}(\n    " + ",\n    ".join(lines) + ")"
