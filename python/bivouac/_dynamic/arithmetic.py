"""Expressions: operators of Python and functions of `bivouac.dynamic.math`."""

from __future__ import annotations

from typing import Any

from bivouac._dynamic import calls
from bivouac._dynamic.batches import Batch
from bivouac._dynamic.values import Tensor, as_tensor

__all__ = ["apply"]

_CONSTANTS = {bool: "bool", int: "int32", float: "float32"}


def apply(name: str, *operands: Any) -> Any:
    """Return the value of an operation.

    Args:
      name: the operation as the engine writes it: "add", "sqrt".
      operands: values, numbers, and arrays. At least one of them becomes an input.
    """
    alone = not any(isinstance(x, (Tensor, Batch)) for x in operands)
    described = []
    inputs: list[Any] = []
    integers: list[int] = []
    reals: list[float] = []
    for operand in operands:
        kind = type(operand)
        if kind is int and operand >> 31 not in (0, -1):
            raise OverflowError(f"{name}: want an integer of 32 bits, got {operand}")
        word = _CONSTANTS.get(kind)
        if word is None or alone and not inputs:
            described.append(f"&{len(inputs)}")
            if not isinstance(operand, (Tensor, Batch)):
                operand = as_tensor(operand)
            inputs.append(operand)
        elif kind is float:
            described.append(f"${len(reals)}:{word}")
            reals.append(operand)
        else:
            described.append(f"${len(integers)}:{word}")
            integers.append(int(operand))
    return calls.call(
        "_arithmetic_generic_op",
        *inputs,
        expression_desc=f"{name}({' '.join(described)})",
        integer_constants=integers or None,
        real_constants=reals or None,
    )
