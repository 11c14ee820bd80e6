"""Expressions of nodes and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bivouac._pipeline import constants, operators
from bivouac._pipeline.enums import DALIDataType
from bivouac._pipeline.node import DataNode
from bivouac._pipeline.refusals import WrongType

__all__ = ["apply"]

_signs = {
    "add": "+",
    "sub": "-",
    "minus": "(unary) -",
    "mul": "*",
    "pow": "**",
    "div": "//",
    "fdiv": "/",
    "mod": "%",
    "bitand": "&",
    "bitor": "|",
    "bitxor": "^",
    "bitnot": "~",
    "lshift": "<<",
    "rshift": ">>",
    "eq": "==",
    "neq": "!=",
    "lt": "<",
    "leq": "<=",
    "gt": ">",
    "geq": ">=",
}


def apply(name: str, *operands: Any) -> DataNode:
    """Return the node of an operation. At least one operand is a node or an array.

    Args:
      name: the operation as the engine writes it: "add", "sqrt".
      operands: nodes, numbers and constants. Arrays become constant nodes.
    """
    nodes: list[DataNode] = []
    integers: list[Any] = []
    reals: list[Any] = []
    described = []
    for i, operand in enumerate(operands):
        if isinstance(operand, (list, tuple)) and _has_node(operand):
            raise WrongType(
                subject=f"operand {i} of {_signs.get(name, name)}",
                want="a DataNode or a constant",
                got=f"a {type(operand).__name__} with a DataNode in it",
                remedy="unpack the outputs of operators that have several",
            )
        if not isinstance(operand, (DataNode, constants.ScalarConstant, int, float)):
            operand = constants.Constant(operand)
        if isinstance(operand, DataNode):
            described.append(f"&{len(nodes)}")
            nodes.append(operand)
            continue
        if not isinstance(operand, constants.ScalarConstant):
            operand = constants.ScalarConstant(operand)
        group = integers if operand.dtype in constants.INTEGER_LIKE else reals
        described.append(f"${len(group)}:{_type_name(operand.dtype)}")
        group.append(operand.value)
    device = "gpu" if any(node.device == "gpu" for node in nodes) else "cpu"
    if device == "gpu":
        nodes = [node.gpu() for node in nodes]
    made: DataNode = operators.function(
        "_arithmetic_generic_op",
        tuple(nodes),
        dict(
            device=device,
            expression_desc=f"{name}({' '.join(described)})",
            integer_constants=integers or None,
            real_constants=reals or None,
        ),
        module="math",
        display=name,
    )
    return made


def _type_name(dtype: DALIDataType) -> str:
    return "float32" if dtype is DALIDataType.FLOAT else dtype.name.lower()


def _has_node(values: Sequence[Any]) -> bool:
    """Report whether a list has a node in it, at any depth."""
    pending, seen = [values], set()
    while pending:
        values = pending.pop()
        if id(values) in seen:
            continue
        seen.add(id(values))
        for value in values:
            if isinstance(value, DataNode):
                return True
            if isinstance(value, (list, tuple)):
                pending.append(value)
    return False
