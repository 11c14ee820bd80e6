"""The leaves of a tree with their paths."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from bivouac._tree import children
from bivouac.checkpoint.tree import DictKey, GetAttrKey, SequenceKey


def leaves(tree: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the path and the value of each leaf; None is no leaf.

    If JAX is imported, the keys of the path are those of `jax.tree_util`.
    """
    util = sys.modules.get("jax.tree_util")
    keys = (DictKey, SequenceKey, GetAttrKey)
    if util is not None:
        keys = (util.DictKey, util.SequenceKey, util.GetAttrKey)
    yield from _leaves(tree, (), keys)


def _leaves(node: Any, at: tuple[Any, ...], make: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if node is None:
        return
    found = None if is_leaf_value(node) or is_array(node) else children(node)
    if found is None:
        yield at, node
        return
    kind, names, values = found
    to_key = make["dlt".find(kind) > 0] if kind != "n" else make[2]
    for name, child in zip(names or range(len(values)), values):
        yield from _leaves(child, (*at, to_key(name)), make)


def key_text(key: Any) -> str:
    """Return a key of a path as the text that the checkpoint records."""
    for name in ("key", "idx", "name"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)


def is_array(value: Any) -> bool:
    """Return True for NumPy and JAX arrays, Torch tensors and descriptions of arrays."""
    return isinstance(value, np.ndarray) or (
        not isinstance(value, type) and hasattr(value, "shape") and hasattr(value, "dtype")
    )


def is_leaf_value(value: Any) -> bool:
    """Return True for a value that can be saved as a leaf."""
    if isinstance(value, (bool, int, float, str, bytes, np.number, np.bool_, np.ndarray)):
        return True
    for module, name in (("jax", "Array"), ("torch", "Tensor")):
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(value, getattr(loaded, name, ())):
            return True
    return value is Ellipsis


def is_abstract_leaf(value: Any) -> bool:
    """Return True for a value that can describe a leaf of a load."""
    if is_leaf_value(value) or is_array(value):
        return True
    if isinstance(value, type):
        names = {c.__name__ for c in value.__mro__}
        return issubclass(value, (int, float, str, bytes, np.number, np.ndarray)) or bool(
            names & {"Array", "Tensor", "ShapeDtypeStruct"}
        )
    return False
