"""Expressions: operators of Python and functions of `bivouac.dynamic.math`."""

from __future__ import annotations

from typing import Any

from bivouac import errors
from bivouac._dynamic import calls, context
from bivouac._dynamic import operands as _operands
from bivouac._dynamic import session as _session
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
    described: list[Any] = [name]  # tells the expression from others
    inputs: list[Any] = []
    size: int | None = None
    for operand in operands:
        kind = type(operand)
        if kind is Tensor:
            described.append(None)
            inputs.append(operand)
        elif kind is float:
            described.append(kind)  # 1.0 is equal to 1
            described.append(operand if operand and operand == operand else repr(operand))
        elif kind in _CONSTANTS:
            described.append(kind)
            described.append(operand)
        elif kind is Batch:
            described.append(None)
            inputs.append(operand)
            if size is not None and size != operand._n:
                raise errors.Invalid(
                    subject=f"batches of {name}", want=f"{size} samples each", got=str(operand._n)
                )
            size = operand._n
        else:
            return _mixed(name, operands)
    if not inputs:
        return _mixed(name, operands)
    session, scope = _session.current(), context.scope()
    key = tuple(described)
    found = session.operator(key)
    if found is None:
        constants = [None if isinstance(x, (Tensor, Batch)) else x for x in operands]
        found = _operator(session, key, name, constants)
    given = []
    for value in inputs:
        held = value._handle
        if held is None or held.session is not session:
            held = value._in(session, scope)
        given.append(held)
    return calls.invoke(session, scope, found, given, size)


def _operator(session: Any, key: Any, name: str, operands: list[Any]) -> tuple[int, int]:
    """Return the number and the outputs of an expression. An operand that is None is an input."""
    described = []
    inputs = 0
    integers: list[int] = []
    reals: list[float] = []
    for operand in operands:
        kind = type(operand)
        if operand is None:
            described.append(f"&{inputs}")
            inputs += 1
            continue
        if kind is int and operand >> 31 not in (0, -1):
            raise OverflowError(f"{name}: want an integer of 32 bits, got {operand}")
        many: list[Any] = reals if kind is float else integers
        described.append(f"${len(many)}:{_CONSTANTS[kind]}")
        many.append(operand if kind is float else int(operand))
    fixed = {
        "expression_desc": f"{name}({' '.join(described)})",
        "integer_constants": integers,
        "real_constants": reals,
    }
    given = {k: v for k, v in fixed.items() if v}
    return calls.operator("_arithmetic_generic_op")._add(session, key, given, inputs, ())


def _mixed(name: str, operands: tuple[Any, ...]) -> Any:
    """Return the value of an operation whose operands are arrays, or numbers alone."""
    values = list(operands)
    if not any(isinstance(x, (Tensor, Batch)) for x in values):
        values[0] = as_tensor(values[0])
    for i, value in enumerate(values):
        if type(value) not in _CONSTANTS and not isinstance(value, (Tensor, Batch)):
            values[i] = as_tensor(value)
    return apply(name, *values)


_operands._apply = apply
