"""One augmentation for each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bivouac._pipeline import rewrite
from bivouac._pipeline.node import DataNode
from bivouac.auto_aug.core._augmentation import Augmentation
from bivouac.errors import Invalid

__all__ = ["select"]


@rewrite.always
def select(
    ops: Sequence[Augmentation], selected_op_idx: DataNode, *op_args: Any, **op_kwargs: Any
) -> Any:
    """Apply one of several augmentations to each sample: that of the sample's index.

    The pipeline needs `enable_conditionals=True`.

    Args:
      ops: the augmentations.
      selected_op_idx: a node of numbers from 0 to len(ops) - 1.
      op_args: arguments of the augmentation. Nodes are split between the augmentations.
      op_kwargs: arguments by name, likewise.
    """
    if len(ops) == 0:
        raise Invalid(op="select", subject="ops", want="at least one augmentation", got="none")
    return _among(0, len(ops) - 1, ops, selected_op_idx, op_args, op_kwargs)


def _among(
    first: int,
    last: int,
    ops: Sequence[Augmentation],
    chosen: DataNode,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Halve the augmentations until one is left."""
    if first == last:
        return ops[first](*args, **kwargs)
    middle = (first + last) // 2
    if chosen <= middle:
        return _among(first, middle, ops, chosen, args, kwargs)
    else:
        return _among(middle + 1, last, ops, chosen, args, kwargs)
