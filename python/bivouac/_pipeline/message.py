"""Serialized pipelines: DALI's message, encoded by hand.

The message is protobuf (proto2). docs/compat/dali.md has the meaning of its fields.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence
from typing import Union

__all__ = ["Argument", "Edge", "Operator", "Pipeline", "Value", "argument", "number"]

Value = Union[bool, int, float, str]

CPU_ONLY = -99999
"""The number of a device that says that there is none."""


@dataclasses.dataclass
class Argument:
    """An Argument is a named value, or a list of arguments.

    Attributes:
      type: "int64", "float", "string", "bool", the name of a structure, or "" for no values.
      values: the value, or several of them.
      elements: the elements of a list, or the fields of a structure.
    """

    name: str
    type: str
    values: Sequence[Value] = ()
    elements: Sequence[Argument] = ()
    several: bool = False

    def encode(self) -> bytes:
        """Return the message."""
        parts = [_text(1, self.name)]
        if self.type:
            parts.append(_text(2, self.type))
        for value in self.values:
            if isinstance(value, str):
                parts.append(_text(5, value))
            elif isinstance(value, bool):
                parts.append(number(6, value))
            elif isinstance(value, int):
                parts.append(number(4, value))
            else:
                parts.append(b"\x1d" + _float32(value))
        parts += [_nested(7, element.encode()) for element in self.elements]
        parts.append(number(8, self.several))
        return b"".join(parts)


def argument(name: str, kind: str, value: Value | Sequence[Value]) -> Argument:
    """Return the argument of a value, or of a list of values, of the same type."""
    if isinstance(value, (list, tuple)):
        elements = [Argument(f"element {i}", kind, (v,)) for i, v in enumerate(value)]
        return Argument(name, kind, elements=elements, several=True)
    return Argument(name, kind, (value,))  # type: ignore[arg-type]


@dataclasses.dataclass
class Edge:
    """An Edge is an input or output of an operator, or an output of the pipeline."""

    name: str
    device: str
    argument: str = ""
    dtype: int | None = None
    ndim: int | None = None
    layout: str | None = None

    def encode(self) -> bytes:
        """Return the message."""
        parts = [_text(1, self.name), _text(2, self.device), number(3, bool(self.argument))]
        if self.argument:
            parts.append(_text(4, self.argument))
        if self.dtype is not None:
            parts.append(number(5, self.dtype))
        if self.ndim is not None:
            parts.append(number(6, self.ndim))
        if self.layout is not None:
            parts.append(_text(7, self.layout))
        return b"".join(parts)


@dataclasses.dataclass
class Operator:
    """An Operator is an operator with its arguments and edges.

    Attributes:
      name: DALI's name of the schema.
      instance: the name of the instance, unique in a pipeline.
      logical_id: a number that operators share if they draw the same random numbers.
    """

    name: str
    inputs: list[Edge] = dataclasses.field(default_factory=list)
    outputs: list[Edge] = dataclasses.field(default_factory=list)
    args: list[Argument] = dataclasses.field(default_factory=list)
    instance: str = ""
    logical_id: int = 0

    def encode(self) -> bytes:
        """Return the message."""
        parts = [_text(1, self.name)]
        parts += [_nested(2, edge.encode()) for edge in self.inputs]
        parts += [_nested(3, edge.encode()) for edge in self.outputs]
        parts += [_nested(4, arg.encode()) for arg in self.args]
        parts += [_text(5, self.instance), number(6, self.logical_id)]
        return b"".join(parts)


@dataclasses.dataclass
class Pipeline:
    """A Pipeline is a whole graph with the settings of its run."""

    num_threads: int
    batch_size: int
    ops: list[Operator]
    outputs: list[Edge]
    device_id: int
    seed: int | None
    enable_checkpointing: bool
    executor_type: int
    executor_flags: int
    cpu_queue_size: int
    gpu_queue_size: int
    bytes_per_sample: int

    def encode(self) -> bytes:
        """Return the message."""
        parts = [number(1, self.num_threads), number(2, self.batch_size)]
        parts += [_nested(5, operator.encode()) for operator in self.ops]
        parts += [_nested(7, edge.encode()) for edge in self.outputs]
        parts.append(number(8, self.device_id))
        if self.seed is not None:
            parts.append(number(9, self.seed))
        parts += [
            number(10, self.enable_checkpointing),
            number(11, self.executor_type),
            number(12, self.executor_flags),
            number(13, self.cpu_queue_size),
            number(14, self.gpu_queue_size),
            number(15, self.bytes_per_sample),
        ]
        return b"".join(parts)


def _varint(value: int) -> bytes:
    """Encode an integer. A negative one is a 64-bit number in two's complement."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Return a field that is a number."""
    return _varint(field << 3) + _varint(int(value))


def _nested(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(body)) + body


def _text(field: int, value: str) -> bytes:
    return _nested(field, value.encode("utf-8", "surrogateescape"))


def _float32(value: float) -> bytes:
    """Encode a float32. A number beyond its range is infinite, as in C."""
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))
