"""Pinned memory: batches are copied into it in the trainer, by torch."""

from __future__ import annotations

import collections.abc
import copy
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bivouac.torch._loader import StatefulDataLoader

__all__ = ["pin", "pins"]


def pins(loader: StatefulDataLoader) -> bool:
    """Report whether the batches of a loader are pinned: if it asks for it and torch can."""
    torch = sys.modules.get("torch")
    if not loader.pin_memory or torch is None:
        return False
    if loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=4,
        )
    if torch.accelerator.is_available():
        return bool(torch.accelerator.current_accelerator().type != "mps")
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
        "memory won't be used.",
        stacklevel=4,
    )
    return False


def pin(data: Any) -> Any:
    """Return a batch with its tensors in pinned memory."""
    torch: Any = sys.modules["torch"]
    if isinstance(data, torch.Tensor):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, collections.abc.Mapping):
        values: Any = {key: pin(value) for key, value in data.items()}
        if type(data) is dict:
            return values
        try:
            if isinstance(data, collections.abc.MutableMapping):
                clone = copy.copy(data)
                clone.update(values)
                return clone
            return type(data)(values)  # type: ignore[call-arg]
        except TypeError:
            return values
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin(value) for value in data))
    if isinstance(data, tuple):
        return type(data)(pin(value) for value in data)
    if isinstance(data, collections.abc.Sequence):
        values = [pin(value) for value in data]
        if type(data) is list:
            return values
        try:
            if isinstance(data, collections.abc.MutableSequence):
                copied: Any = copy.copy(data)  # it may have more than its items
                for i, value in enumerate(values):
                    copied[i] = value
                return copied
            return type(data)(values)  # type: ignore[call-arg]
        except TypeError:
            return values
    return data
