"""Types of trees, and `merge`.

A tree is a nest of dictionaries, lists, tuples, named tuples and dataclasses. If JAX is imported,
its registered node types count too. Everything else is a leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from bivouac.checkpoint.arrays import AbstractArray, AbstractShardedArray

__all__ = [
    "AbstractLeaf",
    "JsonType",
    "Leaf",
    "PyTree",
    "PyTreeKey",
    "PyTreeKeyPath",
    "PyTreeOf",
    "merge",
]

T = TypeVar("T")

JsonValue: TypeAlias = "str | int | float | bool | None | list[Any] | dict[str, Any]"
JsonType: TypeAlias = "list[Any] | dict[str, Any]"
Leaf: TypeAlias = "Any"  # jax.Array, numpy.ndarray, int, float, numpy.number, bytes, bool or str
AbstractLeaf: TypeAlias = (
    "AbstractArray | AbstractShardedArray | int | float | np.number[Any] | bytes | bool | str"
)
PyTreeKey: TypeAlias = "Any"  # a key of jax.tree_util, or DictKey, SequenceKey, GetAttrKey below
PyTreeKeyPath: TypeAlias = "tuple[Any, ...]"


class PyTree:
    """A tree of any leaves. The class is only an annotation."""


class PyTreeOf(Generic[T]):
    """A tree whose leaves are of type T. The class is only an annotation."""


class DictKey:
    """A key of a dictionary in a path, as `jax.tree_util.DictKey`.

    Attributes:
      key: the key.
    """

    def __init__(self, key: Any) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.key == self.key

    def __hash__(self) -> int:
        return hash((type(self), self.key))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key!r})"

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class SequenceKey(DictKey):
    """An index of a list or tuple in a path, as `jax.tree_util.SequenceKey`.

    Attributes:
      idx: the index.
    """

    @property
    def idx(self) -> int:
        """The index."""
        return int(self.key)


class GetAttrKey(DictKey):
    """A field of a struct in a path, as `jax.tree_util.GetAttrKey`.

    Attributes:
      name: the name of the field.
    """

    @property
    def name(self) -> str:
        """The name of the field."""
        return str(self.key)

    def __str__(self) -> str:
        return f".{self.key}"


def merge(
    *trees: Any, overwrite: bool = False, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Join trees and return the result. The trees are not changed.

    Dictionaries and named tuples are joined key by key, lists and tuples of one length element by
    element. With `overwrite`, of two leaves the later one counts unless it is None; a leaf replaces
    a container and the reverse; if the kinds of two containers differ, the later kind counts, and a
    named tuple whose fields change becomes a dictionary.

    Args:
      *trees: the trees; none give an empty dictionary.
      overwrite: True lets a later tree replace leaves of an earlier one.
      is_leaf: says which containers are taken as a whole.

    Raises:
      ValueError: a leaf is in two trees, nodes at one path are of different kinds (both only
        without overwrite), or two sequences have different lengths.
      TypeError: a dictionary comes over a list that is not a list of pairs.
    """
    if not trees:
        return {}
    leaf = is_leaf or (lambda _: False)
    if not overwrite:
        seen: set[tuple[str, ...]] = set()
        both: list[tuple[str, ...]] = []
        for t in trees:
            paths = {p for p, _ in _leaves(t, leaf, ())}
            both += sorted(seen & paths)
            seen |= paths
        if both:
            raise ValueError(
                f"tree.merge: want each leaf in one tree, got {both} in several"
                " (set overwrite=True to take the later one)"
            )
    result = trees[0]
    for t in trees[1:]:
        result = _join(result, t, overwrite, leaf, ())
    return result


def _is_namedtuple(x: Any) -> bool:
    return isinstance(x, tuple) and hasattr(x, "_fields")


def _container(x: Any, leaf: Callable[[Any], bool]) -> bool:
    return isinstance(x, (Mapping, list, tuple)) and not leaf(x)


def _children(x: Any) -> dict[Any, Any]:
    if isinstance(x, Mapping):
        return dict(x)
    if _is_namedtuple(x):
        return dict(zip(x._fields, x))
    return dict(enumerate(x))


def _leaves(
    x: Any, leaf: Callable[[Any], bool], at: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not _container(x, leaf):
        yield at, x
        return
    for key, child in _children(x).items():
        yield from _leaves(child, leaf, (*at, str(key)))


def _family(x: Any) -> str:
    if isinstance(x, Mapping):
        return "dict"
    return "namedtuple" if _is_namedtuple(x) else type(x).__name__


def _join(a: Any, b: Any, overwrite: bool, leaf: Callable[[Any], bool], at: tuple[str, ...]) -> Any:
    """Return a with b over it."""
    if not overwrite and (
        _container(a, leaf) != _container(b, leaf)
        or (_container(a, leaf) and _family(a) != _family(b))
    ):
        raise ValueError(
            f"tree.merge: {'.'.join(at) or 'root'}: want nodes of one kind,"
            f" got {_family(a)} and {_family(b)}"
        )
    if not _container(b, leaf):
        return a if b is None else b
    if not _container(a, leaf):
        return b
    if isinstance(b, (list, tuple)) and not _is_namedtuple(b):
        return _join_sequences(a, b, overwrite, leaf, at)
    base = _children(a) if isinstance(a, Mapping) or _is_namedtuple(a) else dict(a)
    joined = dict(base)
    for key, child in _children(b).items():
        there = key in base
        joined[key] = _join(base[key], child, overwrite, leaf, (*at, str(key))) if there else child
    if _is_namedtuple(b) and set(joined) == set(b._fields):
        return type(b)(**joined)
    if _is_namedtuple(a) and set(joined) == set(a._fields):
        return type(a)(**joined)
    return joined


def _join_sequences(
    a: Any, b: Any, overwrite: bool, leaf: Callable[[Any], bool], at: tuple[str, ...]
) -> Any:
    if len(a) != len(b):
        raise ValueError(
            f"tree.merge: {'.'.join(at) or 'root'}: want sequences of one length,"
            f" got {len(a)} and {len(b)}"
        )
    if isinstance(a, Mapping):
        return b
    joined = [_join(x, y, overwrite, leaf, (*at, str(i))) for i, (x, y) in enumerate(zip(a, b))]
    return type(b)(joined)
