"""Indices of values: numbers, slices, and values that differ per sample."""

from __future__ import annotations

import operator
from typing import Any

from bivouac import errors
from bivouac._dynamic.batches import Batch
from bivouac._dynamic.values import Tensor
from bivouac._pipeline.refusals import WrongType

__all__ = ["apply"]


def apply(value: Any, index: Any) -> Any:
    """Return the part of a value that an index names.

    The index of a Batch applies to each of its samples.
    """
    from bivouac._dynamic import calls

    ranges = index if isinstance(index, tuple) else (index,)
    if sum(r is Ellipsis for r in ranges) > 1:
        raise errors.Invalid(subject="index", want="at most one ellipsis", got="several")
    if all(r is Ellipsis or isinstance(r, slice) and _is_full(r) for r in ranges):
        return value
    shape = value._shape if isinstance(value, Tensor) else None
    if shape is not None and len(ranges) - (Ellipsis in _plain(ranges)) > len(shape):
        raise errors.Invalid(
            subject="index", want=f"at most {len(shape)} dimensions", got=str(len(ranges))
        )
    given: dict[str, Any] = {}
    axis = 0
    for i, r in enumerate(ranges):
        if r is Ellipsis:
            if i < len(ranges) - 1:
                axis = value.ndim - len(ranges) + i + 1
            continue
        if isinstance(r, slice):
            for name, end in (("lo", r.start), ("hi", r.stop), ("step", r.step)):
                if end is not None:
                    given[f"{name}_{axis}"] = _number(end)
        else:
            given[f"at_{axis}"] = _number(r)
        axis += 1
    return calls.call("_tensor_subscript", value, **given)


def _is_full(r: slice) -> bool:
    """Report whether a slice takes everything."""
    begins = r.start is None or type(r.start) is int and r.start == 0
    return begins and r.stop is None and (r.step is None or type(r.step) is int and r.step == 1)


def _plain(ranges: tuple[Any, ...]) -> list[Any]:
    """Return the ranges without values, which cannot be compared."""
    return [r for r in ranges if not isinstance(r, (Tensor, Batch, slice))]


def _number(value: Any) -> Any:
    """Return a number or a value of an index."""
    if isinstance(value, (Tensor, Batch)):
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise WrongType(
            subject="index",
            want="integers, slices, an ellipsis or values",
            got=type(value).__name__,
        ) from None
