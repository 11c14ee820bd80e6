"""The tree that a load asks for, as a node of the protocol."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from bivouac import _dtypes, _shards, _stage, errors
from bivouac._mesh import Part
from bivouac._tree import (
    PLACEHOLDER,
    Convert,
    Path,
    Walker,
    is_described,
    is_jax_array,
    is_jax_key,
    is_torch_tensor,
    path_text,
    type_text,
)

__all__ = ["Abstract"]


class Abstract(Walker):
    """An Abstract turns the tree that a load asks for into a node."""

    op = "load"

    def __init__(self, handled: Callable[[tuple[str, ...], Any], bool] | None = None) -> None:
        """Make the walk.

        Args:
          handled: says of a path and a value whether it asks for a leaf of a leaf handler.
        """
        super().__init__()
        self._handled = handled
        self.devices = False  # a tensor on a device was asked for
        self._item: Path = ()

    def flatten(self, value: Any, name: str = "") -> Any:
        """Return the node of a tree. `name` is the item's name, which begins the paths."""
        self._item = ((), name) if name else ()
        return super().flatten(value, name)

    def _node(self, value: Any, path: Path) -> Any:
        """Return the node of a value. The server loads a leaf of a leaf handler as saved."""
        if self._handled is not None:
            keys: list[str] = []
            rest = path
            while rest != self._item:
                rest, key = rest
                keys.append(str(key))
            if self._handled(tuple(reversed(keys)), value):
                return None
        return super()._node(value, path)

    def _converter(self, value: Any) -> Convert | None:
        if value is None:
            return lambda value, path: None
        if value is PLACEHOLDER:
            return lambda value, path: ["x"]
        if isinstance(value, type):
            return self._type
        if isinstance(value, np.ndarray):
            return self._array
        if isinstance(value, str):
            return lambda value, path: ["y", "str"]
        if isinstance(value, bytes):
            return lambda value, path: None
        if isinstance(value, Part):
            return self._part
        if isinstance(value, np.generic):
            return self._array
        if isinstance(value, bool):
            return lambda value, path: ["y", "bool"]
        if isinstance(value, int):
            return lambda value, path: ["y", "int"]
        if isinstance(value, float):
            return lambda value, path: ["y", "float"]
        if is_torch_tensor(value):
            return self._tensor
        if is_jax_array(value):
            return self._jax_array
        if is_described(value):
            return self._described
        return None

    def _part(self, value: Part, path: Path) -> Any:
        """Ask for the part of an array."""
        node = self._node(value.data, path)
        if type(node) is not list or node[0] != "s" or len(node) > 3:
            want = "a Part of an array in one piece"
            raise self._error(errors.Invalid, path, want, type_text(value.data))
        boxes = [] if 0 in node[2] else [[list(value.origin), node[2]]]
        return ["s", node[1], list(value.shape), boxes]

    def _unknown(self, value: Any, path: Path) -> Any:
        want = "arrays, tensors, descriptions with shape and dtype, types, None or PLACEHOLDER"
        raise _AbstractError(
            op="load", subject=path_text(path), want=want, got=f"type {type_text(value)}"
        )

    def _type(self, value: Any, path: Path) -> Any:
        for cls, name in ((bool, "bool"), (int, "int"), (float, "float"), (str, "str")):
            if issubclass(value, cls) and not issubclass(value, np.generic):
                return ["y", name]
        if value is np.ndarray or value in _array_types():
            return ["s", None, None]
        if issubclass(value, np.generic):
            return ["s", self._dtype_name(value, path), []]
        return self._unknown(value, path)

    def _array(self, value: Any, path: Path) -> Any:
        return ["s", self._dtype_name(value.dtype, path), list(value.shape)]

    def _tensor(self, value: Any, path: Path) -> Any:
        self.devices = self.devices or _stage.cuda_of(value) is not None
        name = _dtypes.torch_name(value.dtype)
        if name is None:
            raise self._error(errors.Unsupported, path, "plain elements", str(value.dtype))
        if _shards.is_dtensor(value):
            box = None if _shards.partial_of(value) else _shards.dtensor_box(value)
            if box is None and _shards.partial_of(value):
                got = str(_shards.partial_of(value))
                want = "placements that shard or replicate"
                raise self._error(errors.Unsupported, path, want, got)
            return ["s", name, list(value.shape), [] if box is None else [box]]
        return ["s", name, list(value.shape)]

    def _jax_array(self, value: Any, path: Path) -> Any:
        if is_jax_key(value):
            return None
        if _spread(value.sharding):
            return self._boxes(value, path)
        return self._array(value, path)

    def _described(self, value: Any, path: Path) -> Any:
        dtype = value.dtype
        if dtype is not None and is_jax_key(value):
            return None
        sharding = getattr(value, "sharding", None)
        if sharding is not None and dtype is not None and _spread(sharding):
            return self._boxes(value, path)
        name: str | None = None
        if dtype is not None:
            is_torch = str(dtype).startswith("torch.")
            name = _dtypes.torch_name(dtype) if is_torch else self._dtype_name(dtype, path)
        shape = value.shape
        return ["s", name, None if shape is None else [int(n) for n in shape]]

    def _boxes(self, value: Any, path: Path) -> Any:
        """Ask for the boxes of an array that the devices of this process hold."""
        shape = tuple(value.shape)
        boxes = _shards.boxes_of_sharding(value.sharding, shape)
        return ["s", self._dtype_name(value.dtype, path), list(shape), boxes]


class _AbstractError(errors.Invalid, TypeError):
    """An abstract leaf that no load understands. Orbax raises TypeError."""


def _spread(sharding: Any) -> bool:
    """Report whether a sharding puts an array on several devices."""
    return len(getattr(sharding, "device_set", ())) > 1


def _array_types() -> set[Any]:
    """Return the array types of the libraries that are imported."""
    found = (
        getattr(sys.modules.get("jax"), "Array", None),
        getattr(sys.modules.get("torch"), "Tensor", None),
    )
    return {cls for cls in found if cls is not None}
