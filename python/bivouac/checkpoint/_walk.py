"""The leaves of a tree with their paths."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bivouac._tree import children
from bivouac.checkpoint.tree import DictKey, GetAttrKey, SequenceKey


Takes = Callable[[Any], bool]


def key_types() -> tuple[Any, Any, Any, Any]:
    """Return the classes of keys of dictionaries, lists, tuples and structs.

    If JAX is imported, they are those of `jax.tree_util`.
    """
    util = sys.modules.get("jax.tree_util")
    if util is not None:
        return util.DictKey, util.SequenceKey, util.SequenceKey, util.GetAttrKey
    return DictKey, SequenceKey, SequenceKey, GetAttrKey


def leaves(tree: Any, takes: Takes | None = None) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the path and the value of each leaf, dictionaries by their keys; None is no leaf.

    Args:
      tree: the tree.
      takes: says which other values are leaves, though they may look like containers.
    """
    yield from _leaves(tree, (), key_types(), takes)


def _leaves(
    node: Any, at: tuple[Any, ...], make: Any, takes: Takes | None
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if node is None:
        return
    leaf = is_leaf_value(node) or is_array(node) or (takes is not None and takes(node))
    found = None if leaf else children(node)
    if found is None:
        yield at, node
        return
    kind, names, values = found
    to_key = make["dltn".index(kind)]
    pairs = list(zip(names or range(len(values)), values))
    if kind == "d":
        pairs.sort(key=lambda pair: str(pair[0]))
    for name, child in pairs:
        yield from _leaves(child, (*at, to_key(name)), make, takes)


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
