"""Devices and streams. Everything is computed on the CPU."""

from __future__ import annotations

import threading
from typing import Any, ClassVar, Union

from bivouac import errors
from bivouac._pipeline import devices
from bivouac._pipeline.refusals import WrongType

__all__ = [
    "Device", "DeviceLike", "Stream", "device", "get_current_stream", "get_default_stream",
    "set_current_stream", "set_default_stream", "stream",
]  # fmt: skip

_local = threading.local()


class Device:
    """A Device is where elements are: the CPU.

    A GPU is an error, unless the environment variable BIVOUAC_ON_GPU is "cpu": then everything that
    asks for a GPU is computed on the CPU.
    """

    CPU: ClassVar[Device]

    def __init__(self, name: str, device_id: int | None = None) -> None:
        kind, *rest = name.split(":")
        if len(rest) > 1 or rest and device_id is not None:
            raise errors.Invalid(subject="device", want="cpu, gpu or gpu:N", got=repr(name))
        if rest:
            device_id = int(rest[0])
        if kind == "cuda":
            kind = "gpu"
        if kind not in ("cpu", "gpu"):
            raise errors.Invalid(subject="device", want="cpu or gpu", got=repr(name))
        if device_id is not None and (kind == "cpu" or device_id < 0):
            raise errors.Invalid(
                subject="device", want="no number for a CPU, or one from 0 on", got=str(device_id)
            )
        if kind == "gpu":
            devices.check("device")
        self.device_type = "cpu"
        self.device_id: int | None = None

    @staticmethod
    def default_device_id(device_type: str) -> int | None:
        """Return None: there is no GPU."""
        if device_type not in ("cpu", "gpu"):
            raise errors.Invalid(subject="device", want="cpu or gpu", got=repr(device_type))
        return None

    @staticmethod
    def type_from_dlpack(dev_type: Any) -> str:
        """Return the name of a type of device of DLPack."""
        if int(dev_type) != 1:
            raise errors.Invalid(subject="device of DLPack", want="1, the CPU", got=str(dev_type))
        return "cpu"

    @staticmethod
    def from_dlpack(dlpack_device: Any) -> Device:
        """Return the device of an object with DLPack."""
        return Device(Device.type_from_dlpack(dlpack_device.__dlpack_device__()[0]))

    @staticmethod
    def current() -> Device:
        """Return the device of the innermost `with`."""
        stack = getattr(_local, "devices", None)
        found: Device = stack[-1] if stack else Device.CPU
        return found

    def __enter__(self) -> None:
        if not hasattr(_local, "devices"):
            _local.devices = []
        _local.devices.append(self)

    def __exit__(self, *_: Any) -> None:
        _local.devices.pop()

    def __str__(self) -> str:
        return self.device_type

    def __repr__(self) -> str:
        return f"Device(device_type={self.device_type!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    def __hash__(self) -> int:
        return hash(self.device_type)


Device.CPU = Device("cpu")

DeviceLike = Union[Device, str, Any]


def device(obj: Any, id: int | None = None) -> Any:
    """Return the Device of a name, a device of torch, or a Device. None stays None."""
    if obj is None:
        return None
    if isinstance(obj, str):
        return Device(obj, id)
    if id is not None:
        raise errors.Invalid(subject="device", want="a number with a name alone", got=repr(obj))
    if isinstance(obj, Device):
        return obj
    if type(obj).__module__ == "torch" and hasattr(obj, "type"):
        return Device("gpu" if obj.type == "cuda" else obj.type, obj.index)
    raise WrongType(subject="device", want="a Device, a str or a torch.device", got=repr(obj))


class Stream:
    """A Stream stands for a stream of a GPU. Bivouac uses none, so that it is an error."""

    def __init__(self, *, stream: Any = None, device_id: int | None = None) -> None:
        del stream, device_id
        raise errors.Unsupported(
            subject="Stream", want="none", got="a stream of a GPU", remedy="leave streams out"
        )


def stream(stream: Any = None, device_id: int | None = None) -> Any:
    """Return None for None. Anything else is a stream of a GPU, which is an error."""
    return None if stream is None and device_id is None else Stream(stream=stream)


def get_current_stream(device_id: int | None = None) -> None:
    """Return None: there is no stream."""


def get_default_stream(device_id: int | None = None) -> None:
    """Return None: there is no stream."""


def set_current_stream(stream: Any, device_id: int | None = None) -> None:
    """Take None. A stream is an error."""
    if stream is not None:
        Stream(stream=stream)


def set_default_stream(stream: Any, device_id: int | None = None) -> None:
    """Take None. A stream is an error."""
    if stream is not None:
        Stream(stream=stream)
