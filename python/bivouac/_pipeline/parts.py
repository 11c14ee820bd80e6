"""Parts of batches: what `_conditional.split` and `_conditional.merge` do with data in debug mode.

A part may have no samples. Operators do not compute for it: it stays an empty part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bivouac._pipeline.refusals import BrokenGraph
from bivouac._pipeline.tensors import TensorListCPU
from bivouac.errors import Mismatch

__all__ = ["merge", "split"]


def split(data: TensorListCPU, predicate: TensorListCPU) -> tuple[TensorListCPU, TensorListCPU]:
    """Return the samples for which the predicate holds, and the other ones."""
    holds = _truth(predicate, len(data), "_conditional.split")
    places = np.arange(len(data))
    return _chosen(data, places[holds]), _chosen(data, places[~holds])


def merge(
    where: TensorListCPU, others: TensorListCPU, predicate: TensorListCPU
) -> TensorListCPU:
    """Return the samples of both parts in the order of the batch that the predicate divided."""
    holds = _truth(predicate, len(where) + len(others), "_conditional.merge")
    if holds.sum() != len(where):
        raise Mismatch(
            subject="_conditional.merge: where",
            want=f"{holds.sum()} samples, for which the predicate holds",
            got=str(len(where)),
            remedy="merge the parts that the same predicate divided",
        )
    if len(where) == 0 or len(others) == 0:
        return where if len(others) == 0 else others
    for what, a, b in (
        ("dtype", where.dtype.name, others.dtype.name),
        ("number of dimensions", where._ndim, others._ndim),
        ("layout", repr(where.layout()), repr(others.layout())),
    ):
        if a != b:
            raise Mismatch(
                subject="_conditional.merge: the branches",
                want=f"the same {what} in both",
                got=f"{a} and {b}",
            )
    left, right = iter(where.views()), iter(others.views())
    return TensorListCPU([next(left if hold else right) for hold in holds], where.layout())


def _truth(predicate: TensorListCPU, size: int, subject: str) -> np.ndarray[Any, Any]:
    """Return the values of a predicate."""
    if predicate._ndim != 0:
        raise Mismatch(
            subject=f"{subject}: predicate",
            want="a scalar for each sample, without dimensions",
            got=f"{predicate.dtype.name} with {predicate._ndim} dimensions",
            remedy="use &, | or comparisons, which work element by element",
        )
    if len(predicate) != size:
        raise BrokenGraph(
            subject=f"{subject}: predicate", want=f"{size} samples", got=str(len(predicate))
        )
    return np.array([bool(value) for value in predicate.views()], dtype=np.bool_)


def _chosen(data: TensorListCPU, places: np.ndarray[Any, Any]) -> TensorListCPU:
    if len(places) == len(data):
        return data
    if len(places) == 0:
        return data._first(0)
    views = data.views()
    return TensorListCPU([views[i] for i in places], data.layout())
