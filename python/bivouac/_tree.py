"""Trees of Python objects as nodes of the protocol.

A Flattener turns the tree of a save into a node, and lists the copies that put its arrays into an
arena. Module _abstract has the same for the tree that a load asks for. Containers are dictionaries,
lists, tuples, named tuples, dataclasses, mappings and the types that are registered with jax.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from bivouac import _dtypes, _shards, _stage, errors
from bivouac._arena import Copy
from bivouac._mesh import Part

__all__ = ["PLACEHOLDER", "Flattener", "Walker", "children", "path_text"]

PLACEHOLDER = ...
"""A leaf of an abstract tree that is not loaded."""

Path = tuple[Any, ...]  # (path of the parent, key), or ()
Convert = Callable[[Any, Path], Any]

_MOST_INT = 2**63
_FREE = "save it as a JSON item, as an array, or with a leaf handler"


def path_text(path: Path) -> str:
    """Return a path as errors name it: keys with dots between."""
    keys = []
    while path:
        path, key = path
        keys.append(str(key))
    return ".".join(reversed(keys)) or "the tree"


def type_text(value: Any) -> str:
    """Return the full name of the type of a value."""
    cls = type(value)
    return f"{cls.__module__}.{cls.__qualname__}" if cls.__module__ != "builtins" else cls.__name__


def children(value: Any) -> tuple[str, list[Any], list[Any]] | None:
    """Return kind, keys and children of a container, or None if the value is a leaf.

    The kind is the tag of the node: "d", "l", "t" or "n". Lists and tuples have no keys.
    """
    cls = type(value)
    if issubclass(cls, dict):
        return "d", list(value), list(value.values())
    if issubclass(cls, list):
        return "l", [], list(value)
    if issubclass(cls, tuple):
        fields = getattr(value, "_fields", None)
        if isinstance(fields, tuple):
            return "n", list(fields), list(value)
        return "t", [], list(value)
    found = _jax_children(value)
    if found is not None:
        return found
    if issubclass(cls, collections.abc.Mapping):
        return "d", list(value), [value[key] for key in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return "n", names, [getattr(value, name) for name in names]
    return None


def _jax_children(value: Any) -> tuple[str, list[Any], list[Any]] | None:
    """Return what children returns for a type that is registered with jax."""
    util = sys.modules.get("jax.tree_util")
    if util is None or is_jax_array(value):
        return None
    try:
        pairs = util.tree_flatten_with_path(value, is_leaf=lambda other: other is not value)[0]
    except (ValueError, TypeError):
        return None
    if len(pairs) == 1 and (pairs[0][1] is value or not pairs[0][0]):
        return None
    keys: list[Any] = []
    named = False
    for keypath, _ in pairs:
        entry = keypath[0]
        for attribute in ("name", "key", "idx"):
            if hasattr(entry, attribute):
                keys.append(getattr(entry, attribute))
                named = named or attribute == "name"
                break
        else:
            keys.append(str(entry))
    if not pairs:
        named = True
    return "n" if named else "d", keys, [child for _, child in pairs]


def is_container(value: Any) -> bool:
    """Report whether a value is a container of jax: its own, or of a type that is registered."""
    return isinstance(value, dict | list | tuple) or _jax_children(value) is not None


def is_jax_array(value: Any) -> bool:
    """Report whether a value is an array of jax."""
    array = getattr(sys.modules.get("jax"), "Array", None)
    return array is not None and isinstance(value, array)


def is_jax_key(value: Any) -> bool:
    """Report whether an array of jax, or a description of one, has typed PRNG keys."""
    dtypes = getattr(sys.modules.get("jax"), "dtypes", None)
    return dtypes is not None and bool(dtypes.issubdtype(value.dtype, dtypes.prng_key))


def is_torch_tensor(value: Any) -> bool:
    """Report whether a value is a tensor of torch."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(value, tensor)


def is_described(value: Any) -> bool:
    """Report whether a value describes an array by shape and dtype.

    Containers do not, although those of flax.nnx have the shape of the array that they hold.
    """
    return hasattr(value, "shape") and hasattr(value, "dtype") and _jax_children(value) is None


class Walker:
    """The walk that Flattener and Abstract share."""

    op = "save"

    def __init__(self) -> None:
        self._converters: dict[type, Convert | None] = {}
        self._open: set[int] = set()  # the containers around the value, by id
        self._names: dict[Any, str] = {}

    def flatten(self, value: Any, name: str = "") -> Any:
        """Return the node of a tree. `name` is the item's name, which begins the paths."""
        try:
            return self._node(value, ((), name) if name else ())
        except RecursionError:
            raise self._error(errors.Invalid, (), "a tree of fewer levels", "too many") from None

    def _error(
        self, kind: type[errors.BivouacError], path: Path, want: str, got: str, remedy: str = ""
    ) -> errors.BivouacError:
        return kind(op=self.op, subject=path_text(path), want=want, got=got, remedy=remedy)

    def _node(self, value: Any, path: Path) -> Any:
        cls = type(value)
        try:
            convert = self._converters[cls]
        except KeyError:
            convert = self._converters[cls] = self._converter(value)
        if convert is not None:
            return convert(value, path)
        found = children(value)
        if found is None:
            return self._unknown(value, path)
        mark = id(value)
        if mark in self._open:
            raise self._error(
                errors.Invalid, path, "a tree", "a container that contains itself"
            )
        self._open.add(mark)
        kind, keys, values = found
        node = self._node
        if kind == "d":
            names = self._keys(keys, path)
            result = ["d", names, [node(v, (path, k)) for k, v in zip(names, values)]]
        elif kind == "n":
            names = [str(key) for key in keys]
            nodes = [node(v, (path, k)) for k, v in zip(names, values)]
            result = ["n", type_text(value), names, nodes]
        else:
            result = [kind, [node(v, (path, i)) for i, v in enumerate(values)]]
        self._open.discard(mark)
        return result

    def _keys(self, keys: list[Any], path: Path) -> list[str]:
        """Return the keys of a dictionary as strings."""
        names = []
        plain = True
        for key in keys:
            if type(key) is not str:
                plain = False
                if isinstance(key, bool) or not isinstance(key, str | int | np.integer):
                    raise self._error(
                        errors.Invalid,
                        path,
                        "keys that are strings or integers",
                        f"{key!r} of type {type_text(key)}",
                    )
                key = str(int(key)) if not isinstance(key, str) else str.__str__(key)
            names.append(key)
        if not plain and len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise self._error(
                errors.Invalid, path, "keys that differ as strings", f"{twice!r} twice"
            )
        return names

    def _converter(self, value: Any) -> Convert | None:
        """Return the method for values of the type of `value`, or None if they are containers."""
        raise NotImplementedError

    def _unknown(self, value: Any, path: Path) -> Any:
        raise NotImplementedError

    def _dtype_name(self, dtype: Any, path: Path) -> str:
        """Return the name of a numpy type, or raise an error."""
        found = self._names.get(dtype)
        if found is not None:
            return found
        name = _dtypes.name_of(np.dtype(dtype))
        if name is None:
            raise self._error(
                errors.Invalid,
                path,
                "an array of booleans, integers, floats or complex numbers",
                f"dtype {np.dtype(dtype)}",
            )
        self._names[dtype] = name
        return name


class Flattener(Walker):
    """A Flattener turns the tree of a save into a node.

    Attributes:
      size: the bytes of an arena that holds the arrays.
      copies: where each array goes in it.
      moves: where each tensor on a device goes in it, if the flattener stages them.
    """

    def __init__(
        self,
        *,
        follows: bool = False,
        leaf_type: Callable[[Any], str | None] | None = None,
        stages: bool = False,
        replicas: bool = False,
    ) -> None:
        """Make a flattener.

        Args:
          follows: another process saves the leaves that are given whole, so that only their dtypes
            and shapes count. They share the first bytes of the arena, and are not copied.
          leaf_type: returns the type string of a leaf that a leaf handler saves, or None.
          stages: the caller copies tensors on CUDA devices. False copies them to the host now.
          replicas: each process hands over all parts of an array that it has, and the side-cars
            share the work. False leaves a part to the process that has the first replica of it.
        """
        super().__init__()
        self._leaf_type = leaf_type
        self.size = 0
        self._follows = follows
        self._shardings: dict[Any, str | None] = {}
        self._spare = 0  # bytes of the largest array that another process saves
        self.copies: list[Copy] = []
        self.moves: _stage.Moves = []
        self._stages = stages
        self._replicas = replicas
        self._dtypes: dict[np.dtype[Any], tuple[str, np.dtype[Any], bool]] = {}

    def flatten(self, value: Any, name: str = "") -> Any:
        """Return the node of a tree. `name` is the item's name, which begins the paths."""
        node = super().flatten(value, name)
        self.size = max(self.size, (self._spare + 63) & ~63)
        return node

    def _converter(self, value: Any) -> Convert | None:
        if value is None:
            return lambda value, path: None
        handled = None if self._leaf_type is None else self._leaf_type(value)
        if handled is not None:
            return lambda value, path: ["h", handled]
        if isinstance(value, np.ndarray):
            # Asking for np.ma would import it.
            masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
            return self._masked if masked and isinstance(value, masked) else self._array
        if isinstance(value, str):
            return self._string
        if isinstance(value, np.generic) and not isinstance(value, np.flexible):
            return lambda value, path: self._array(np.asarray(value), path)
        if isinstance(value, Part):
            return self._part
        if isinstance(value, enum.Enum):
            return self._unknown
        if isinstance(value, bool):
            return lambda value, path: value
        if isinstance(value, int):
            return self._integer
        if isinstance(value, float):
            return self._float
        if is_torch_tensor(value):
            return self._tensor
        if is_jax_array(value):
            return self._jax_array
        return None

    def _unknown(self, value: Any, path: Path) -> Any:
        want = "arrays, tensors, numbers, booleans, strings, None and containers of them"
        raise self._error(errors.Invalid, path, want, f"type {type_text(value)}", _FREE)

    def _part(self, value: Part, path: Path) -> Any:
        """Add the part of an array that this process saves."""
        follows, self._follows = self._follows, False
        node = self._node(value.data, path)
        self._follows = follows
        tag = node[0] if type(node) is list else None
        if tag == "m" and node[2] == node[3][0][1]:  # an array of jax on one device
            node = ["a", node[1], *node[3][0][1:]]
        elif tag != "a":
            raise self._error(
                errors.Invalid, path, "a Part of an array in one piece", type_text(value.data)
            )
        _, name, shape, offset = node
        parts = [] if 0 in shape else [[list(value.origin), shape, offset]]
        return ["m", name, list(value.shape), parts]

    def _masked(self, value: Any, path: Path) -> Any:
        raise self._error(
            errors.Invalid, path, "an array", "a masked array", "save its data and mask"
        )

    def _string(self, value: str, path: Path) -> str:
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as err:
                raise self._error(errors.Invalid, path, "a string of Unicode", str(err)) from err
        return str.__str__(value)

    def _integer(self, value: int, path: Path) -> Any:
        value = int(value)
        if -_MOST_INT <= value < _MOST_INT:
            return value
        if 0 <= value < 2 * _MOST_INT:
            return ["u", str(value)]
        raise self._error(errors.Invalid, path, "an integer of 64 bits", str(value), _FREE)

    def _float(self, value: float, path: Path) -> Any:
        if value - value == 0:
            return float(value)
        return ["f", "nan" if value != value else "inf" if value > 0 else "-inf"]

    def _reserve(self, size: int) -> int:
        """Return the offset of the next array."""
        offset = self.size
        self.size = (offset + size + 63) & ~63
        return offset

    def _described(self, array: Any, path: Path) -> tuple[str, np.dtype[Any], bool]:
        """Return name, type in the arena, and whether the array is viewed as that type."""
        found = self._dtypes.get(array.dtype)
        if found is None:
            name = self._dtype_name(array.dtype, path)
            target = _dtypes.carrier(name)
            found = self._dtypes[array.dtype] = (name, target, name not in _plain)
        return found

    def _unread(self, name: str, shape: tuple[int, ...]) -> Any:
        """Return the node of an array that another process saves."""
        size = _dtypes.carrier(name).itemsize * math.prod(shape)
        self._spare = max(self._spare, size)
        return ["a", name, list(shape), 0]

    def _array(self, array: Any, path: Path) -> Any:
        name, target, viewed = self._described(array, path)
        if self._follows:
            return self._unread(name, array.shape)
        offset = self._reserve(array.nbytes)
        if viewed:
            array = array.view(target)
        shape = array.shape
        self.copies.append((offset, array, target, shape))
        return ["a", name, list(shape), offset]

    def _tensor(self, tensor: Any, path: Path) -> Any:
        torch = sys.modules["torch"]
        name = _dtypes.torch_name(tensor.dtype)
        if name is None:
            raise self._error(
                errors.Unsupported, path, "a tensor of plain elements", str(tensor.dtype)
            )
        if tensor.layout is not torch.strided:
            got = str(tensor.layout)
            raise self._error(errors.Unsupported, path, "a dense tensor", got)
        if _shards.is_sharded_tensor(tensor):
            remedy = "use DTensor (FSDP2), or a full state dict"
            got = "a ShardedTensor"
            raise self._error(errors.Unsupported, path, "a tensor or a DTensor", got, remedy)
        if tensor.device.type == "meta":
            raise self._error(errors.Invalid, path, "a tensor with data", "device meta")
        if _shards.is_dtensor(tensor):
            return self._dtensor(tensor, name, path)
        if self._follows:
            return self._unread(name, tuple(tensor.shape))
        offset, shape = self._dense(tensor, name)
        return ["a", name, shape, offset]

    def _dtensor(self, tensor: Any, name: str, path: Path) -> Any:
        """Add the part of a DTensor that this process saves."""
        placement = _shards.partial_of(tensor)
        if placement is not None:
            remedy = "redistribute it to Replicate() or Shard() first"
            want = "placements that shard or replicate"
            raise self._error(errors.Unsupported, path, want, placement, remedy)
        parts = []
        hands_over = self._replicas or _shards.owns(tensor)
        box = _shards.dtensor_box(tensor) if hands_over else None
        if box is not None:
            offset, shape = self._dense(_shards.dtensor_local(tensor), name)
            parts.append([box[0], shape, offset])
        return ["m", name, list(tensor.shape), parts]

    def _dense(self, tensor: Any, name: str) -> tuple[int, list[int]]:
        """Add a dense tensor. Return its offset and its shape."""
        torch = sys.modules["torch"]
        tensor = tensor.detach()
        if self._stages and _stage.cuda_of(tensor) is not None:
            offset = self._reserve(tensor.nbytes)
            self.moves.append((offset, tensor))
            return offset, list(tensor.shape)
        if tensor.device.type != "cpu":
            tensor = tensor.to("cpu")
        if tensor.is_conj():
            tensor = tensor.resolve_conj()
        if tensor.is_neg():
            tensor = tensor.resolve_neg()
        target = _dtypes.carrier(name)
        if name not in _plain:
            tensor = tensor.view(torch.int16 if target.itemsize == 2 else torch.uint8)
        array = tensor.numpy().view(target)
        offset = self._reserve(array.nbytes)
        self.copies.append((offset, array, target, array.shape))
        return offset, list(array.shape)

    def _jax_array(self, array: Any, path: Path) -> Any:
        jax = sys.modules["jax"]
        if isinstance(array, jax.core.Tracer):
            raise self._error(
                errors.Invalid, path, "an array with data", "a traced array", "save outside of jit"
            )
        try:
            if is_jax_key(array):
                if not array.is_fully_addressable:
                    want = "PRNG keys that this process holds all of"
                    raise self._error(errors.Unsupported, path, want, "a part of them")
                data = jax.random.key_data(array)
                _, _, shape, offset = self._array(np.asarray(data), path)
                text = self._sharding(data)
                impl = str(jax.random.key_impl(array))
                return ["k", impl, shape, offset, *([text] if text else [])]
            return self._whole(array, path)
        except RuntimeError as err:
            raise self._error(errors.Invalid, path, "an array with data", str(err)) from err

    def _sharding(self, array: Any) -> str | None:
        """Return the text of the sharding of an array of jax, or None if it has none."""
        sharding = array.sharding
        if sharding not in self._shardings:
            self._shardings[sharding] = _shards.sharding_text(sharding)
        return self._shardings[sharding]

    def _whole(self, array: Any, path: Path) -> Any:
        """Add an array of jax. The parts of it that other processes have are theirs to save."""
        text = self._sharding(array)
        addressable = array.is_fully_addressable
        if self._replicas and not addressable:
            shards = _shards.distinct(array)
        else:
            shards = [shard for shard in array.addressable_shards if shard.replica_id == 0]
        if text is None and addressable and len(shards) == 1:
            return self._array(np.asarray(shards[0].data), path)
        name, target, viewed = self._described(array, path)
        parts = []
        for shard in [] if addressable and self._follows else shards:
            data = np.asarray(shard.data)
            offset = self._reserve(data.nbytes)
            self.copies.append(
                (offset, data.view(target) if viewed else data, target, data.shape)
            )
            origin = [index.start or 0 for index in shard.index]
            parts.append([origin, list(data.shape), offset])
        return ["m", name, list(array.shape), parts, *([text] if text else [])]


_plain = frozenset(_dtypes._plain)
