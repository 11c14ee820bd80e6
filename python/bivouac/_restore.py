"""Nodes of the protocol as trees of Python objects, for loads.

Arrays are views of the memory of the load: shared memory that came with it, or rooms of this
process. The memory is given back after the last of them. Without an abstract tree, the result is
what Orbax gives: dictionaries, lists, numpy arrays, numbers, strings and None. A checkpoint that
torch wrote gives what torch gives: also tuples and bytes, and tensors if the program has imported
torch. With an abstract tree, containers and leaves have the types of the abstract tree.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import mmap
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from bivouac import _dtypes, _shards, _stage, errors
from bivouac._mesh import Part
from bivouac._tree import (
    PLACEHOLDER,
    children,
    is_described,
    is_jax_array,
    is_torch_tensor,
    path_text,
    type_text,
)

__all__ = ["Mapped", "Memory", "Restorer", "check_targets"]

_specials = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
Path = tuple[Any, ...]


class Memory(Protocol):
    """The memory of a load."""

    def find(self, offset: int) -> tuple[mmap.mmap, int]:
        """Return the memory of an offset of the load, and where in it the offset lies."""


class Mapped:
    """Shared memory, which has the whole load."""

    def __init__(self, memory: mmap.mmap) -> None:
        self.memory = memory

    def find(self, offset: int) -> tuple[mmap.mmap, int]:
        """Return the memory and the offset."""
        return self.memory, offset


class Restorer:
    """A Restorer makes trees of the nodes of one load."""

    def __init__(
        self,
        memory: Memory | None,
        describes: Callable[[Any], bool] | None = None,
        layout: str = "",
    ) -> None:
        """Make a restorer.

        Args:
          memory: the memory of the load; None if it has no arrays.
          describes: says which values of an abstract tree ask for a leaf of a leaf handler.
          layout: of the checkpoint, as the side-car names it.
        """
        self._memory = memory
        self._describes = describes
        self._stage: _stage.Stage | None = None  # of loads to devices
        self._of_torch = layout in ("dcp", "pt", "pt ranks")
        self._tensors = self._of_torch and "torch" in sys.modules
        self._dtypes: dict[str, np.dtype[Any]] = {}

    def __enter__(self) -> Restorer:
        """Begin. The copies to devices have ended when the with statement ends."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for the copies to devices."""
        if self._stage is not None:
            self._stage.finish()

    def _copy(self, target: Any, source: Any) -> None:
        """Copy a tensor of the host into a tensor, which may be on a device."""
        cuda = _stage.cuda_of(target)
        if cuda is None:
            target.copy_(source)
            return
        if self._stage is None:
            self._stage = _stage.Stage()
            if isinstance(self._memory, Mapped):
                self._stage.pin(self._memory.memory, cuda)
        self._stage.into(target, source)

    # Without an abstract tree.

    def plain(self, node: Any) -> Any:
        """Return the tree that Orbax, or torch, gives without an abstract tree."""
        if type(node) is not list:
            return node
        tag = node[0]
        plain = self.plain
        if tag == "a":
            if self._tensors:
                return self._torch_view(node)
            return self._array(node[1], node[2], node[3])
        if tag == "d":
            return dict(zip(node[1], map(plain, node[2])))
        if tag == "t" and self._of_torch:
            return tuple(plain(child) for child in node[1])
        if tag in ("l", "t"):
            return [plain(child) for child in node[1]]
        if tag == "n":
            return dict(zip(node[2], map(plain, node[3])))
        return self._leaf(node)

    def _leaf(self, node: list[Any]) -> Any:
        """Return the value of a leaf that is neither plain JSON nor a container."""
        tag = node[0]
        if tag == "a":
            return self._array(node[1], node[2], node[3])
        if tag == "f":
            return _specials[node[1]]
        if tag == "u":
            return int(node[1])
        if tag == "x":
            return PLACEHOLDER
        if tag == "v":  # from a leaf handler
            return node[1]
        if tag == "b":
            return self._raw("uint8", [node[1]], node[2]).tobytes()
        if tag == "k":
            data = self._array("uint32", node[2], node[3])
            jax = sys.modules.get("jax")
            return data if jax is None else jax.random.wrap_key_data(data, impl=node[1])
        if tag == "m":
            return self._joined(node)
        raise errors.Corrupt(op="load", want="a node of the protocol", got=repr(tag))

    def _array(self, name: str, shape: list[int], offset: int) -> np.ndarray[Any, Any]:
        """Return a view of the memory of the load."""
        dtype = self._dtypes.get(name)
        if dtype is None:
            dtype = self._dtypes[name] = _dtypes.numpy_dtype(name)
        if self._memory is None or 0 in shape:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, *self._memory.find(offset))

    def _raw(self, name: str, shape: list[int], offset: int) -> np.ndarray[Any, Any]:
        """Return a view of elements as the unsigned integers that they are moved as."""
        dtype = _dtypes.carrier(name)
        if self._memory is None or 0 in shape:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, *self._memory.find(offset))

    def _joined(self, node: list[Any]) -> np.ndarray[Any, Any]:
        """Return an array that came in parts."""
        _, name, shape, parts = node
        array = np.zeros(shape, _dtypes.numpy_dtype(name))
        for origin, extent, offset in parts:
            place = tuple([slice(at, at + n) for at, n in zip(origin, extent)])
            array[place] = self._array(name, extent, offset)
        return array

    # With an abstract tree.

    def like(self, node: Any, abstract: Any, path: Path = ()) -> Any:
        """Return the tree with the containers and the types of leaves of an abstract tree."""
        if abstract is None or abstract is PLACEHOLDER or _of_handler(node):
            return self.plain(node)
        found = None if self._is_leaf(abstract, path) else children(abstract)
        if found is None:
            return self._as_leaf(node, abstract, path)
        kind, keys, values = found
        tag = node[0] if type(node) is list else None
        like = self.like
        if kind in ("l", "t"):
            if tag not in ("l", "t") or len(node[1]) != len(values):
                raise _disagree(path, abstract, node)
            items = [like(n, v, (path, i)) for i, (n, v) in enumerate(zip(node[1], values))]
            return rebuild(abstract, kind, keys, items)
        nodes = _keyed(node)
        if nodes is None:
            raise _disagree(path, abstract, node)
        names = [str(key) for key in keys]
        items = []
        for name, value in zip(names, values):
            if name not in nodes:
                raise _disagree((path, name), abstract, node)
            items.append(like(nodes[name], value, (path, name)))
        return rebuild(abstract, kind, keys, items)

    def _is_leaf(self, abstract: Any, path: Path) -> bool:
        """Report whether a value of an abstract tree is a leaf that is not of a leaf handler."""
        if _is_leaf(abstract):
            return True
        if self._describes is not None and self._describes(abstract):
            raise errors.Mismatch(
                op="load",
                subject=path_text(path),
                want=f"a leaf that {type_text(abstract)} describes",
                got="an array, a number, a string or a container",
                remedy="ask for it as it was saved: None",
            )
        return False

    def _as_leaf(self, node: Any, abstract: Any, path: Path) -> Any:
        """Return a leaf as the type of an abstract leaf."""
        if isinstance(abstract, Part):
            data = self._as_leaf(self._only(node, abstract), abstract.data, path)
            return Part(abstract.shape, abstract.origin, data)
        if type(node) is not list:
            return node
        if node[0] == "k" and getattr(abstract, "sharding", None) is not None:
            return self._keys(node, abstract.sharding)
        if node[0] not in ("a", "m"):
            return self.plain(node)
        if is_torch_tensor(abstract) or _is_torch_type(abstract):
            return self._tensor(node, abstract)
        sharding = getattr(abstract, "sharding", None)
        if node[0] == "m" and sharding is not None:
            return self._sharded(node, sharding)
        array = self._leaf(node)
        if is_jax_array(abstract) or _is_jax_type(abstract) or sharding is not None:
            jax = sys.modules.get("jax")
            return array if jax is None else jax.device_put(array, sharding)
        cls = abstract if isinstance(abstract, type) else type(abstract)
        return array[()] if issubclass(cls, np.generic) else array

    def _only(self, node: Any, part: Part) -> Any:
        """Return the node of the data of a part, which may be empty."""
        _, name, _, parts = node
        return ["a", name, *(parts[0][1:] if parts else (list(part.data.shape), 0))]

    def _keys(self, node: list[Any], sharding: Any) -> Any:
        """Return typed PRNG keys on the devices of a sharding that this process holds all of."""
        keys = self.plain(node)
        jax = sys.modules["jax"]
        return jax.device_put(keys, sharding) if sharding.is_fully_addressable else keys

    def _tensor(self, node: list[Any], abstract: Any) -> Any:
        """Return a tensor of torch like an abstract one."""
        torch = sys.modules["torch"]
        if node[0] == "m" and _shards.is_dtensor(abstract):
            local = self._local(node)
            if local is not None:
                local = self._on_device(local, _shards.dtensor_local(abstract))
            return _shards.dtensor_like(abstract, local)
        tensor = self._torch_view(node)
        if isinstance(abstract, type):
            return tensor
        tensor = self._on_device(tensor, abstract)
        if isinstance(abstract, torch.nn.Parameter):
            return torch.nn.Parameter(tensor, requires_grad=abstract.requires_grad)
        return tensor.requires_grad_(abstract.requires_grad) if abstract.requires_grad else tensor

    def _on_device(self, tensor: Any, like: Any) -> Any:
        """Return a tensor of the host on the device of another one, if that has a device."""
        if like.device.type in ("cpu", "meta"):
            return tensor
        made = like.detach().new_empty(tensor.shape, dtype=tensor.dtype)
        self._copy(made, tensor)
        return made

    def _torch_view(self, node: list[Any]) -> Any:
        """Return a tensor of torch that shares the memory of the load."""
        torch = sys.modules["torch"]
        if node[0] == "m":
            return torch.from_numpy(self._joined(node))
        _, name, shape, offset = node
        dtype = _dtypes.torch_dtype(name)
        raw = self._raw(name, shape, offset)
        if name in _dtypes._extended:
            signed = raw.view(np.int16) if raw.dtype.itemsize == 2 else raw
            return torch.from_numpy(signed).view(dtype)
        return torch.from_numpy(raw)

    def _sharded(self, node: list[Any], sharding: Any) -> Any:
        """Return an array of jax whose parts are on the devices of this process."""
        jax = sys.modules["jax"]
        _, name, extents, parts = node
        shape = tuple(extents)
        held = {
            (tuple(origin), tuple(extent)): self._array(name, extent, offset)
            for origin, extent, offset in parts
        }
        arrays = []
        for device, index in sharding.addressable_devices_indices_map(shape).items():
            origin, extent = _shards.box_of(index, shape)
            arrays.append(jax.device_put(held[tuple(origin), tuple(extent)], device))
        dtype = {} if arrays else {"dtype": _dtypes.numpy_dtype(name)}
        return jax.make_array_from_single_device_arrays(shape, sharding, arrays, **dtype)

    def _local(self, node: list[Any]) -> Any:
        """Return the tensor of the only part of a DTensor, or None if there is no part."""
        _, name, _, parts = node
        return self._torch_view(["a", name, *parts[0][1:]]) if parts else None

    # Into a tree.

    def into(self, node: Any, target: Any, path: Path = ()) -> Any:
        """Fill the arrays of a tree and return it. Other leaves are replaced where they stand."""
        if target is None or target is PLACEHOLDER or _of_handler(node):
            return target if target is PLACEHOLDER else self.plain(node)
        found = None if self._is_leaf(target, path) else children(target)
        if found is None:
            return self._fill(node, target, path)
        kind, keys, values = found
        if kind in ("l", "t"):
            if type(node) is not list or node[0] not in ("l", "t") or len(node[1]) != len(values):
                raise _disagree(path, target, node)
            nodes = node[1]
        else:
            named = _keyed(node)
            if named is None or any(str(key) not in named for key in keys):
                raise _disagree(path, target, node)
            nodes = [named[str(key)] for key in keys]
        items = [
            self.into(n, v, (path, keys[i] if keys else i))
            for i, (n, v) in enumerate(zip(nodes, values))
        ]
        if all(new is old for new, old in zip(items, values)):
            return target
        if isinstance(target, list):
            target[:] = items
            return target
        if isinstance(target, dict):
            target.update(zip(keys, items))
            return target
        return rebuild(target, kind, keys, items)

    def _fill(self, node: Any, target: Any, path: Path) -> Any:
        """Fill an array or a tensor, or return the value of another leaf."""
        if isinstance(target, Part):
            target.data = self._fill(self._only(node, target), target.data, path)
            return target
        if _shards.is_dtensor(target):
            local = self._local(node)
            if local is not None:
                self._copy(_shards.dtensor_local(target), local)
            return target
        if is_torch_tensor(target):
            self._copy(target.detach(), self._torch_view(node))
            return target
        if isinstance(target, np.ndarray):
            np.copyto(target, self._leaf(node), casting="equiv")
            return target
        return self._as_leaf(node, target, path)


def check_targets(
    tree: Any, path: Path = (), *, describes: Callable[[Any], bool] | None = None
) -> None:
    """Raise an error unless all arrays of a tree can be filled. Leaves of handlers are replaced."""
    if describes is not None and describes(tree):
        return
    tree = tree.data if isinstance(tree, Part) else tree
    if is_jax_array(tree):
        raise _no_target(path, tree, "arrays of jax cannot be changed", "use abstract=")
    if isinstance(tree, np.ndarray):
        if not tree.flags.writeable:
            raise _no_target(path, tree, "a read-only array", "give a writable one")
        return
    if is_torch_tensor(tree):
        if tree.device.type == "meta":
            raise _no_target(path, tree, "a tensor without memory", "use abstract=")
        return
    found = None if _is_leaf(tree) else children(tree)
    if found is not None:
        _, keys, values = found
        for i, value in enumerate(values):
            check_targets(value, (path, keys[i] if keys else i), describes=describes)


def _no_target(path: Path, value: Any, got: str, remedy: str) -> errors.BivouacError:
    return errors.Invalid(
        op="load",
        subject=path_text(path),
        want="arrays that can be filled",
        got=f"{got}: {type_text(value)}",
        remedy=remedy,
    )


def rebuild(like: Any, kind: str, keys: list[Any], items: list[Any]) -> Any:
    """Return a container of the type of `like`, with other children."""
    cls: Any = type(like)
    made: Any
    if cls is dict:
        return dict(zip(keys, items))
    if cls is list:
        return items
    if cls is tuple:
        return tuple(items)
    if isinstance(like, dict):
        made = copy.copy(like)
        for key, item in zip(keys, items):
            dict.__setitem__(made, key, item)
        for name, value in getattr(like, "__dict__", {}).items():
            setattr(made, name, value)
        return made
    if isinstance(like, tuple):
        return cls._make(items) if hasattr(like, "_fields") else cls(items)
    if isinstance(like, list):
        made = copy.copy(like)
        made[:] = items
        return made
    util = sys.modules.get("jax.tree_util")
    if util is not None:
        structure = util.tree_structure(like, is_leaf=lambda other: other is not like)
        if structure.num_leaves == len(items) and not util.treedef_is_leaf(structure):
            return util.tree_unflatten(structure, items)
        if not items:
            return like
    if dataclasses.is_dataclass(like):
        made = copy.copy(like)
        for key, item in zip(keys, items):
            object.__setattr__(made, key, item)
        return made
    return cls(dict(zip(keys, items)))


def _is_leaf(value: Any) -> bool:
    """Report whether a value of an abstract tree is a leaf, though it may look like a container."""
    if isinstance(value, type | np.ndarray | np.generic | str | bytes | int | float | Part):
        return True
    if is_jax_array(value) or is_torch_tensor(value):
        return True
    container = isinstance(value, dict | list | tuple)
    return not container and is_described(value)


def _of_handler(node: Any) -> bool:
    """Report whether a node is a value that a leaf handler has loaded."""
    return type(node) is list and node[0] == "v"


def _is_torch_type(value: Any) -> bool:
    """Report whether a value is the class of torch's tensors."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(value, type) and issubclass(value, tensor)


def _is_jax_type(value: Any) -> bool:
    """Report whether a value is the class of jax's arrays."""
    return isinstance(value, type) and value is getattr(sys.modules.get("jax"), "Array", None)


def _keyed(node: Any) -> dict[str, Any] | None:
    """Return the children of a dictionary or struct by name."""
    if type(node) is list and node[0] == "d":
        return dict(zip(node[1], node[2]))
    if type(node) is list and node[0] == "n":
        return dict(zip(node[2], node[3]))
    return None


_words: dict[str, Callable[[list[Any]], str]] = {
    "d": lambda node: f"a dictionary of {len(node[1])} keys",
    "n": lambda node: f"a struct of {len(node[2])} fields",
    "l": lambda node: f"a list of {len(node[1])}",
    "t": lambda node: f"a tuple of {len(node[1])}",
}


def _disagree(path: Path, abstract: Any, node: Any) -> errors.BivouacError:
    """Return the error of an abstract tree whose structure is not that of the result."""
    got = "a leaf"
    if type(node) is list and node[0] in _words:
        got = _words[node[0]](node)
    return errors.Mismatch(
        op="load", subject=path_text(path), want=f"the structure of {type_text(abstract)}", got=got
    )
