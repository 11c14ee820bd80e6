"""Copies between CUDA devices and the shared memory of saves and loads.

The memory is registered with CUDA, so that the device copies by itself. The copies of a save or a
load run on one side stream for each device, and are waited for once, at the end. The side stream
waits for what the current stream had to do before; the current stream never waits.

    stage = Stage()
    with stage:                        # waits at its end, also after an error
        stage.out(tensor, place)       # device to host
        stage.into(tensor, source)     # host to device
"""

from __future__ import annotations

import mmap
import os
import sys
import warnings
from types import TracebackType
from typing import Any

import numpy as np

__all__ = ["Moves", "Pinned", "Stage", "cuda_of"]

Moves = list[tuple[int, Any]]
"""Tensors on devices, and the offsets of their elements in an arena."""

_PORTABLE = 1  # cudaHostRegisterPortable: the memory is pinned for all devices

_sides: dict[Any, Any] = {}
"""The side streams of this process, by module and device."""


def namespace(kind: str) -> Any:
    """Return the module of torch for a type of devices, or None if this module does not know it."""
    return sys.modules["torch"].cuda if kind == "cuda" else None


def cuda_of(tensor: Any) -> Any:
    """Return the module of the device that a tensor is on, or None: torch copies it in one go."""
    kind = tensor.device.type
    return None if kind == "cpu" else namespace(kind)


class Pinned:
    """Memory that is registered with CUDA until `release`.

    The memory cannot be unmapped before, because this object has it. If CUDA does not register it,
    copies work all the same, but each is waited for.
    """

    def __init__(self, memory: mmap.mmap, cuda: Any) -> None:
        """Register memory.

        Args:
          memory: the memory, all of it.
          cuda: the module of the devices.
        """
        self._memory: mmap.mmap | None = memory
        self._cuda = cuda
        self._process = os.getpid()
        self._address = np.frombuffer(memory, np.uint8).ctypes.data
        self.registered = False
        try:
            runtime = cuda.cudart()
            cuda.check_error(runtime.cudaHostRegister(self._address, len(memory), _PORTABLE))
            self.registered = True
        except (RuntimeError, AttributeError, TypeError) as err:
            _forget_error(cuda)
            warnings.warn(
                f"bivouac: CUDA does not register shared memory, so copies are slower: {err}",
                RuntimeWarning,
                stacklevel=2,
            )

    def release(self) -> None:
        """Take the registration back. No copy may be under way. A second call does nothing."""
        memory, self._memory = self._memory, None
        if memory is None or not self.registered or self._process != os.getpid():
            return
        self.registered = False
        self._cuda.check_error(self._cuda.cudart().cudaHostUnregister(self._address))

    def __del__(self) -> None:
        try:
            self.release()
        except Exception:
            pass  # CUDA has ended before


def _forget_error(cuda: Any) -> None:
    """Take the error of a call that failed from CUDA, which reports it again at the next kernel."""
    try:
        sys.modules["torch"].zeros((), device=cuda.current_stream().device)
    except (RuntimeError, AttributeError, KeyError, AssertionError):
        pass


class Stage:
    """A Stage is the copies of one save or load."""

    def __init__(self) -> None:
        self._streams: dict[Any, tuple[Any, Any]] = {}
        self._pinned: list[Pinned] = []
        self._kept: list[Any] = []

    def __enter__(self) -> Stage:
        """Begin to copy."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for the copies."""
        self.finish()

    def pin(self, memory: mmap.mmap, cuda: Any) -> None:
        """Register memory until the copies have ended."""
        self._pinned.append(Pinned(memory, cuda))

    def out(self, tensor: Any, place: np.ndarray[Any, Any]) -> None:
        """Begin to copy the elements of a tensor on a device to host memory.

        Args:
          tensor: the tensor. What the current stream of its device does later does not count.
          place: bytes that take the elements, in C order.
        """
        if not place.size:
            return
        torch = sys.modules["torch"]
        cuda, stream = self._stream(tensor)
        with cuda.stream(stream):
            tensor.record_stream(stream)
            source = flat(tensor)
            torch.from_numpy(place).copy_(source, non_blocking=True)

    def into(self, tensor: Any, source: Any) -> None:
        """Begin to copy a tensor in host memory into one on a device.

        Args:
          tensor: the tensor that is filled. What its current stream had to do comes before.
          source: the elements.
        """
        cuda, stream = self._stream(tensor)
        with cuda.stream(stream):
            tensor.record_stream(stream)
            tensor.copy_(source, non_blocking=True)
        self._kept.append(source)

    def finish(self) -> None:
        """Wait for all copies. Raise the first error of a device, after all devices have ended."""
        failure: BaseException | None = None
        while self._streams:
            _, (_, stream) = self._streams.popitem()
            try:
                stream.synchronize()
            except BaseException as err:
                failure = failure or err
        self._kept.clear()
        while self._pinned:
            try:
                self._pinned.pop().release()
            except BaseException as err:
                failure = failure or err
        if failure is not None:
            raise failure

    def _stream(self, tensor: Any) -> tuple[Any, Any]:
        """Return module and side stream for the device of a tensor.

        The first copy makes the stream wait for the work that the current stream has.
        """
        device = tensor.device
        found = self._streams.get(device)
        if found is None:
            cuda = namespace(device.type)
            side = _sides.get((cuda, device))
            if side is None:
                side = _sides[cuda, device] = cuda.Stream(device=device)
            found = self._streams[device] = (cuda, side)
            side.wait_stream(cuda.current_stream(device))
        return found


def flat(tensor: Any) -> Any:
    """Return the elements of a tensor as bytes, in C order, on its device."""
    torch = sys.modules["torch"]
    tensor = tensor.resolve_conj().resolve_neg()
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def _after_fork() -> None:
    """Forget the parent's streams in a forked child."""
    _sides.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
