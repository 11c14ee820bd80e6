"""The settings of a pipeline: checks, and the numbers that a message has for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bivouac._pipeline.enums import DALIDataType
from bivouac._pipeline.refusals import BrokenGraph, WrongType, WrongValue
from bivouac.errors import Invalid

if TYPE_CHECKING:
    from bivouac._pipeline.sources import Group

__all__ = [
    "Queues",
    "check_outputs",
    "check_workers",
    "declared",
    "executor_type",
    "number",
    "queues",
]

PIPELINED, ASYNC, SEPARATED, DYNAMIC = 1, 2, 4, 8
AFFINITY = 1
CONCURRENCY, BACKEND = 0xE, 4
STREAMS = 0x70

Queues = tuple[int, int, bool]
"""Depths of the queues of both devices, and whether they are separate."""


def queues(depth: Any, exec_async: bool) -> Queues:
    """Return the queues of `prefetch_queue_depth`."""
    if isinstance(depth, dict):
        if not exec_async:
            raise Invalid(
                subject="exec_async", want="True with a depth for each queue", got=repr(exec_async)
            )
        for key in ("cpu_size", "gpu_size"):
            if key not in depth:
                raise _MissingSize(
                    subject="prefetch_queue_depth", want=f"the key {key!r}", got=repr(depth)
                )
        return depth["cpu_size"], depth["gpu_size"], True
    if isinstance(depth, bool) or not isinstance(depth, int):
        raise WrongType(
            subject="prefetch_queue_depth",
            want='an int, or {"cpu_size": int, "gpu_size": int}',
            got=repr(depth),
        )
    return depth, depth, False


class _MissingSize(WrongType, KeyError):
    """A dictionary lacks a key."""


def executor_type(pipelined: bool, asynchronous: bool, separated: bool, dynamic: bool) -> int:
    """Return the number of an executor. One with a property has what the property needs."""
    found = SEPARATED if separated else 0
    if dynamic:
        return found | DYNAMIC | ASYNC | PIPELINED
    if asynchronous:
        return found | ASYNC | PIPELINED
    return found | (PIPELINED if pipelined else 0)


def number(subject: str, value: Any, default: int | None = None, least: int | None = None) -> int:
    """Return an integer setting."""
    if value is None and default is not None:
        return default
    if value is None:
        raise WrongValue(subject=subject, want="a value", got="none")
    try:
        found = value.__index__()
    except AttributeError:
        raise WrongType(subject=subject, want="an int", got=repr(value)) from None
    if least is not None and found < least:
        raise Invalid(subject=subject, want=f"at least {least}", got=str(found))
    return int(found)


def check_outputs(dtype: Any, ndim: Any, layout: Any) -> None:
    """Raise an error unless the declarations of outputs are values of the right type."""
    for value in _each(dtype):
        _check("output_dtype", value, DALIDataType)
        if value is DALIDataType.NO_TYPE:
            raise Invalid(subject="output_dtype", want="a type, or None", got="NO_TYPE")
    for value in _each(ndim):
        _check("output_ndim", value, int)
        if value is not None and value < 0:
            raise Invalid(subject="output_ndim", want="at least 0, or None", got=str(value))
    for value in _each(layout):
        _check("output_layout", value, str)


def _each(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _check(subject: str, value: Any, kind: type) -> None:
    if value is not None and not isinstance(value, kind):
        raise WrongType(
            subject=subject, want=f"{kind.__name__}, a list of it, or None", got=repr(value)
        )


def check_workers(groups: Sequence[Group], number: Any) -> None:
    """Raise an error unless there is a worker for the sources with `parallel=True`."""
    if any(group.parallel for group in groups) and not (isinstance(number, int) and number > 0):
        raise BrokenGraph(
            subject="py_num_workers",
            want="at least 1 for an external source with parallel=True",
            got=repr(number),
        )


def declared(subject: str, value: Any, outputs: int) -> list[Any]:
    """Return the declaration of each output."""
    if not isinstance(value, (list, tuple)):
        return [value] * outputs
    if len(value) != outputs:
        raise BrokenGraph(
            subject=subject, want=f"a value for each of {outputs} outputs", got=str(len(value))
        )
    return list(value)
