"""Settings of a pipeline that is serialized already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bivouac._failures import of_call
from bivouac._pipeline import message, settings
from bivouac._pipeline.refusals import UnknownArgument, nearest
from bivouac.errors import BivouacError, Corrupt, Invalid

__all__ = ["outputs", "override", "read"]

_fields = {
    1: ("num_threads", 4),
    2: ("batch_size", 0),
    8: ("device_id", 0),
    9: ("seed", -1),
    10: ("enable_checkpointing", 0),
    11: ("executor_type", settings.DYNAMIC | settings.ASYNC | settings.PIPELINED),
    12: ("executor_flags", settings.BACKEND),
    13: ("cpu_queue_size", 2),
    14: ("gpu_queue_size", 2),
    15: ("bytes_per_sample", 0),
}
"""The settings by the numbers of their fields, with the values of those that are not written."""

_OUTPUTS = 7

_numbers = {name: number for number, (name, _) in _fields.items()}

_plain = {"num_threads", "batch_size", "device_id", "enable_checkpointing", "bytes_per_sample"}
_executor = {"exec_pipelined", "exec_async", "exec_dynamic"}
_flags = {"set_affinity", "stream_policy", "concurrency"}
_elsewhere = {"enable_memory_stats", "checkpoint", "prefetch_queue_depth", "seed"}


def read(data: bytes) -> dict[str, int]:
    """Return the settings of a serialized pipeline. The side-car checks the rest."""
    found = {name: default for name, default in _fields.values()}
    for field, value in _values(data):
        if field in _fields and isinstance(value, int):
            found[_fields[field][0]] = value
    return found


def outputs(data: bytes) -> list[tuple[int, int]]:
    """Return dtype and number of dimensions of each output, or -1 for what is not declared."""
    found = []
    for field, value in _values(data):
        if field == _OUTPUTS and isinstance(value, bytes):
            edge = dict(_values(value))
            dtype, ndim = edge.get(5, -1), edge.get(6, -1)
            if not isinstance(dtype, int) or not isinstance(ndim, int):
                raise _corrupt()
            found.append((dtype, ndim))
    return found


def _values(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Return the fields of a message: numbers, and bytes of texts and messages in it."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value - (1 << 64) if value >> 63 else value
            continue
        if kind == 2:
            size, at = _varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise _corrupt()
        if at + size > len(data):
            raise _corrupt()
        if kind == 2:
            yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
    raise _corrupt()


def _corrupt() -> BivouacError:
    return of_call(
        Corrupt(
            op="deserialize", subject="the serialized pipeline", got="bytes that are not a pipeline"
        )
    )


def override(data: bytes, changes: Mapping[str, Any]) -> bytes:
    """Return a serialized pipeline with other settings. Values that are None change nothing.

    The last value of a field counts, so the new ones are added at the end.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise Invalid(
            op="deserialize", subject="serialized_pipeline", want="bytes", got=type(data).__name__
        )
    data = bytes(data)
    held = read(data)
    known = _plain | _executor | _flags | _elsewhere
    changed: dict[str, int] = {}
    for name, value in changes.items():
        if name not in known:
            raise UnknownArgument(
                op="deserialize",
                subject=f"argument {name!r}",
                want="a setting that a serialized pipeline has",
                got="another",
                remedy=nearest(name, known),
            )
        if value is None:
            continue
        if name in _plain:
            changed[name] = settings.number(name, value)
    if changes.get("seed") is not None:
        changed["seed"] = max(-1, settings.number("seed", changes["seed"]))
    _change_executor(held, changes, changed)
    return data + b"".join(message.number(_numbers[k], v) for k, v in changed.items())


def _change_executor(held: dict[str, int], changes: Mapping[str, Any], out: dict[str, int]) -> None:
    """Add the changes of the executor: its queues, its kind and its flags."""
    kind = held["executor_type"]
    depth = changes.get("prefetch_queue_depth")
    if isinstance(depth, dict):
        sizes = {key.removesuffix("_size"): value for key, value in depth.items()}
        depth = {f"{k}_size": sizes[k] for k in ("cpu", "gpu") if k in sizes}
    if depth is not None:
        cpu, gpu, separated = settings.queues(depth, True)
        out["cpu_queue_size"] = settings.number("prefetch_queue_depth", cpu, least=1)
        out["gpu_queue_size"] = settings.number("prefetch_queue_depth", gpu, least=1)
        kind = kind | settings.SEPARATED if separated else kind & ~settings.SEPARATED
    bits = {
        "exec_pipelined": settings.PIPELINED,
        "exec_async": settings.ASYNC,
        "exec_dynamic": settings.DYNAMIC,
    }
    for name, bit in bits.items():
        if changes.get(name) is not None:
            kind = kind | bit if changes[name] else kind & ~bit
    if kind != held["executor_type"]:
        out["executor_type"] = settings.executor_type(
            bool(kind & settings.PIPELINED),
            bool(kind & settings.ASYNC),
            bool(kind & settings.SEPARATED),
            bool(kind & settings.DYNAMIC),
        )
    flags = held["executor_flags"]
    if changes.get("set_affinity") is not None:
        flags = flags & ~settings.AFFINITY | bool(changes["set_affinity"])
    if changes.get("stream_policy") is not None:
        flags = flags & ~settings.STREAMS | changes["stream_policy"].value
    if changes.get("concurrency") is not None:
        flags = flags & ~settings.CONCURRENCY | changes["concurrency"].value
    if flags != held["executor_flags"]:
        out["executor_flags"] = flags
