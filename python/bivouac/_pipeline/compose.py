"""Compose: operators that follow each other, as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bivouac._pipeline.node import DataNode
from bivouac._pipeline.refusals import WrongType
from bivouac.errors import Invalid

__all__ = ["Compose", "Composed"]


class Composed:
    """A Composed calls operators in turn: each takes the outputs of the one before."""

    def __init__(self, ops: Sequence[Callable[..., Any]]) -> None:
        self._ops: list[Callable[..., Any]] = []
        for op in ops:
            self._ops += op._ops if isinstance(op, Composed) else [op]

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the operators. The first one gets the arguments."""
        nodes = list(inputs)
        for op in self._ops:
            if getattr(op, "device", "cpu") == "gpu":
                nodes = [node.gpu() if isinstance(node, DataNode) else node for node in nodes]
            made = op(*nodes, **kwargs)
            nodes = list(made) if isinstance(made, (list, tuple)) else [made]
            kwargs = {}
        return nodes[0] if len(nodes) == 1 else nodes


def Compose(op_list: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Return an operator that calls the operators of a list in turn.

        decode_and_resize = ops.Compose([ops.decoders.Image(), ops.Resize(size=224)])
        images = decode_and_resize(files)

    The outputs of an operator are the inputs of the next one.
    """
    ops = list(op_list)
    if not ops:
        raise Invalid(subject="op_list of ops.Compose", want="at least one operator", got="none")
    for op in ops:
        if not callable(op):
            raise WrongType(
                subject="op_list of ops.Compose", want="operators", got=type(op).__name__
            )
    return ops[0] if len(ops) == 1 else Composed(ops)
