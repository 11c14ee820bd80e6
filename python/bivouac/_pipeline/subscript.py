"""Indices of nodes: numbers, slices, nodes, and new axes."""

from __future__ import annotations

from typing import Any

from bivouac._pipeline import operators
from bivouac._pipeline.node import DataNode, NewAxis
from bivouac._pipeline.refusals import WrongType
from bivouac.errors import Invalid, Unsupported

__all__ = ["apply"]


def apply(node: DataNode, index: Any) -> DataNode:
    """Return the node that `node[index]` stands for."""
    given: dict[str, Any] = {}
    axes: list[int] = []
    axis_names: list[str] = []
    entries = index if isinstance(index, tuple) else (index,)
    used = 0  # axes of the input
    made = 0  # axes of the result
    for entry in entries:
        if isinstance(entry, NewAxis):
            axes.append(made)
            if entry.name is not None:
                axis_names.append(entry.name)
            made += 1
            continue
        if entry is None or isinstance(entry, slice):
            if entry is not None:
                ends = (("lo", entry.start), ("hi", entry.stop), ("step", entry.step))
                given.update({f"{k}_{used}": v for k, v in ends if v is not None})
            made += 1
        else:
            _check(entry)
            given[f"at_{used}"] = entry
        used += 1
    if axis_names and len(axis_names) != len(axes):
        raise Invalid(
            subject="index", want="a name for all new axes, or for none", got="names for some"
        )
    if given:
        node = _one("_tensor_subscript", node, **given, num_subscripts=used)
    elif not axes or not isinstance(entries[-1], NewAxis):
        node = _one("_subscript_dim_check", node, num_subscripts=used)
    if axes:
        names = "".join(axis_names) or None
        node = _one("expand_dims", node, axes=axes, new_axis_names=names)
    return node


def _check(entry: Any) -> None:
    """Raise an error if an entry is not an index of one axis."""
    if entry is Ellipsis:
        raise Unsupported(
            subject="index", got="an ellipsis", remedy="write a `:` for each axis it stands for"
        )
    if isinstance(entry, (float, str, bytes)):
        raise WrongType(
            subject="index", want="integers, slices or nodes", got=type(entry).__name__
        )


def _one(name: str, node: DataNode, **kwargs: Any) -> DataNode:
    made: DataNode = operators.function(name, (node,), kwargs)
    return made
