"""default_collate and default_convert: torch's rules, in shared memory where there is some.

Where torch is imported, numbers and arrays become tensors, as in torch. Without torch they become
arrays. A worker of the loader sets `place` while it collates a batch. It gives memory of the
worker's slot, and samples are stacked straight into it.
"""

from __future__ import annotations

import collections.abc
import copy
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["default_collate", "default_convert"]

Place = Callable[[int], Any]
"""Returns a writable buffer of at least n bytes, or None if there is no room."""

place: Place | None = None

_SMALL = 512  # bytes of a result that is not worth a place
_text = re.compile("[SaUO]")


def default_collate(batch: Any) -> Any:
    """Return a list of samples as a batch, by the rules of `torch.utils.data.default_collate`."""
    torch = sys.modules.get("torch")
    first = batch[0]
    kind = type(first)
    if kind is int or kind is float or kind is bool:
        return _numbers(batch, kind, torch)
    if kind is str or kind is bytes:
        return batch
    extra = _registered(kind)
    if extra is not None:
        function, table = extra
        return function(batch, collate_fn_map=table)
    if torch is not None and isinstance(first, torch.Tensor):
        return _stack_tensors(batch, torch)
    if isinstance(first, np.ndarray):
        return _stack_arrays(batch, torch)
    if isinstance(first, np.bool_ | np.number | np.object_):
        return np.array(batch) if torch is None else torch.as_tensor(batch)
    if isinstance(first, float):
        return _numbers(batch, float, torch)
    if isinstance(first, int):
        return _numbers(batch, int, torch)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, collections.abc.Mapping):
        return _mapping(batch, first)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(default_collate(samples) for samples in zip(*batch, strict=False)))
    if isinstance(first, collections.abc.Sequence):
        return _sequence(batch, first)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {kind}"
    )


def _registered(kind: type) -> tuple[Any, Any] | None:
    """Return the function that the user has added to torch's table for a type, if any."""
    module = sys.modules.get("torch.utils.data._utils.collate")
    if module is None or kind.__module__ in ("builtins", "torch", "numpy"):
        return None
    table = module.default_collate_fn_map
    function = table.get(kind)
    return None if function is None else (function, table)


def _numbers(batch: Any, kind: type, torch: Any) -> Any:
    """Collate numbers of Python."""
    if torch is None:
        return np.array(batch, np.float64 if kind is float else None)
    if kind is float:
        return torch.tensor(batch, dtype=torch.float64)
    return torch.tensor(batch)


def _stack_tensors(batch: Any, torch: Any) -> Any:
    """Stack tensors, in the slot if they are plain ones."""
    first = batch[0]
    if first.is_nested:
        raise RuntimeError(
            "Batches of nested tensors are not currently supported by the default collate_fn"
        )
    if first.layout is not torch.strided:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn"
        )
    out = None
    if place is not None and type(first) is torch.Tensor:
        if first.device.type == "cpu" and not first.requires_grad:
            out = _tensor_place((len(batch), *first.shape), first.dtype, torch)
    return torch.stack(batch, 0, out=out)


def _tensor_place(shape: tuple[int, ...], dtype: Any, torch: Any) -> Any:
    """Return a tensor in the slot, or None."""
    count = 1
    for n in shape:
        count *= n
    size = count * dtype.itemsize
    memory = None if place is None or size < _SMALL else place(size)
    if memory is None:
        return None
    return torch.frombuffer(memory, dtype=dtype, count=count).reshape(shape)


def _stack_arrays(batch: Any, torch: Any) -> Any:
    """Stack arrays of numpy."""
    first = batch[0]
    if _text.search(first.dtype.str) is not None:
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
            f"found {first.dtype}"
        )
    if torch is not None:
        return default_collate([torch.as_tensor(item) for item in batch])
    out = None
    size = first.nbytes * len(batch)
    memory = None if place is None or size < _SMALL else place(size)
    if memory is not None and all(item.dtype == first.dtype for item in batch):
        out = np.frombuffer(memory, first.dtype, first.size * len(batch))
        out = out.reshape((len(batch), *first.shape))
    return np.stack(batch, out=out)


def _mapping(batch: Any, first: Any) -> Any:
    """Collate mappings key by key."""
    kind = type(first)
    values = {key: default_collate([sample[key] for sample in batch]) for key in first}
    if kind is dict:
        return values
    try:
        if isinstance(first, collections.abc.MutableMapping):
            # The mapping may have more than its items.
            clone = copy.copy(first)
            clone.update(values)
            return clone
        return kind(values)
    except TypeError:
        return values


def _sequence(batch: Any, first: Any) -> Any:
    """Collate sequences place by place."""
    size = len(first)
    if not all(len(sample) == size for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    values = [default_collate(samples) for samples in zip(*batch, strict=True)]
    if isinstance(first, tuple) or type(first) is list:
        return values
    try:
        if isinstance(first, collections.abc.MutableSequence):
            clone = copy.copy(first)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(first)(values)
    except TypeError:
        return values


def default_convert(data: Any) -> Any:
    """Return a sample with its arrays as tensors, by the rules of torch's `default_convert`."""
    torch = sys.modules.get("torch")
    kind = type(data)
    if torch is None or isinstance(data, torch.Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_", "bytes_"):
        if kind.__name__ == "ndarray" and _text.search(data.dtype.str) is not None:
            return data
        return torch.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        values = {key: default_convert(value) for key, value in data.items()}
        try:
            if isinstance(data, collections.abc.MutableMapping):
                clone = copy.copy(data)
                clone.update(values)
                return clone
            return kind(values)
        except TypeError:
            return values
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, str | bytes):
        return _converted_sequence(data)
    return data


def _converted_sequence(data: Any) -> Any:
    """Convert the elements of a sequence."""
    values = [default_convert(value) for value in data]
    try:
        if isinstance(data, collections.abc.MutableSequence):
            clone = copy.copy(data)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(data)(values)
    except TypeError:
        return values
