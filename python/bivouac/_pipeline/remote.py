"""A pipeline in the side-car: calls, memory of its batches, and the data that it is fed.

An interrupt loses no batch. A call that takes a batch goes on when its wait is interrupted, and the
next one takes what it brings. So a batch is either in the program or still in the stream.
"""

from __future__ import annotations

import base64
import collections
import ctypes
import functools
import mmap
import os
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from bivouac import _client, _dtypes, errors
from bivouac._arena import Copy, map_memory
from bivouac._call import Call
from bivouac._pipeline.callbacks import Callback, Calls
from bivouac._pipeline.tensors import TensorCPU, TensorListCPU, as_numpy

__all__ = ["Remote"]

_ALIGN = 64


class _Slots:
    """The memory of batches, as the side-car numbers it."""

    def __init__(self) -> None:
        self._maps: dict[int, mmap.mmap] = {}
        self._held: dict[int, Any] = {}
        self._freed: collections.deque[int] = collections.deque()

    def freed(self) -> list[int]:
        """Return the slots that no view has any more. They are the side-car's again."""
        freed: list[int] = []
        while self._freed:
            slot = self._freed.popleft()
            self._held.pop(slot, None)
            freed.append(slot)
        return freed

    def unsent(self, freed: list[int]) -> None:
        """Take back slots of a call that was not sent."""
        self._freed.extend(freed)

    def memory(self, call: Call, value: dict[str, Any]) -> Any:
        """Return the memory of a batch. It is held until the last view of it is gone."""
        slot, size = value["slot"], value["bytes"]
        for number in value.get("gone", []):
            self._maps.pop(number, None)
        if call.fds:
            self._maps[slot] = map_memory(call.fds, size)
        memory = (ctypes.c_ubyte * size).from_buffer(self._maps[slot])
        # The callback only appends, so that it never blocks in a collection.
        append = self._freed.append
        self._held[slot] = weakref.ref(memory, lambda _: append(slot))
        return memory


class Remote:
    """A Remote is an open pipeline of the side-car. It belongs to the process that opened it."""

    def __init__(
        self,
        graph: bytes,
        callbacks: Sequence[Callback] = (),
        callback_timeout: float | None = None,
        **options: Any,
    ) -> None:
        self._calls: Calls | None = None
        self._link = _client.connection()
        self._pid = os.getpid()
        self._close_dropped()
        state = options.pop("state", None)
        value = self._link.call(
            "pipeline.open",
            graph=base64.b64encode(graph).decode(),
            state=None if state is None else base64.b64encode(state).decode(),
            functions=[callback.name for callback in callbacks] or None,
            callback_timeout=callback_timeout,
            **options,
        )
        self._number: int = value["pipeline"]
        if callbacks:
            self._calls = Calls(self._link, callbacks, callback_timeout)
            self._calls.begin(self._number)
        self.inputs: dict[str, int] = value["inputs"]
        self.readers: dict[str, dict[str, int]] = value["readers"]
        self.warnings: list[str] = value["warnings"]
        self.consumer: str = value["consumer"]  # data of an iterator in the state
        self._slots = _Slots()
        self._ended: Call | None = None  # of pipeline.run, which was not looked at yet
        self._ready: collections.deque[tuple[TensorListCPU, ...]] = collections.deque()
        self._failed = False
        self.begun: int = value["begun"]  # batches of the epoch that were begun
        self.resets: int = value["resets"]  # how often the next epoch was begun
        self.flight = 0  # batches that were begun and not taken

    def __del__(self) -> None:
        """Have the pipeline closed by the next one that is opened, or run."""
        number = getattr(self, "_number", None)
        if number is not None and self._calls is not None:
            self._calls.close()
        if number is not None:  # it only appends, so that it never blocks in a collection
            self._link.dropped.append(number)

    def _close_dropped(self) -> None:
        """Close the pipelines that nothing refers to any more."""
        while self._link.dropped:
            self._link.start("pipeline.close", pipeline=self._link.dropped.popleft())

    def _check(self) -> None:
        """Raise an error in a forked child."""
        if self._pid != os.getpid():
            raise errors.Closed(
                op="Pipeline",
                subject="pipeline of the parent process",
                remedy="make a pipeline after the fork",
            )

    def call(self, op: str, **args: Any) -> dict[str, Any]:
        """Make a call about this pipeline."""
        self._check()
        self._settle()
        return self._link.call(f"pipeline.{op}", pipeline=self._number, **args)

    # Batches.

    def schedule(self, batches: int) -> None:
        """Begin batches."""
        self._run(batches, False)

    def take(self, schedule: int = 0) -> tuple[TensorListCPU, ...] | None:
        """Begin batches, and return the oldest one; None if none was begun.

        A batch that an interrupted call has taken is returned first. Nothing is begun then.
        """
        self._check()
        self._settle()
        if not self._ready:
            self._run(schedule, True)
        return self._ready.popleft() if self._ready else None

    def left(self) -> int:
        """Return how many batches were begun and not returned."""
        self._settle()
        return self.flight + len(self._ready)

    def _run(self, batches: int, take: bool) -> None:
        """Make a call of pipeline.run, and keep what it takes."""
        self._check()
        self._settle()
        self._close_dropped()
        freed = self._slots.freed()
        try:
            self._link.start(
                "pipeline.run",
                hook=self._hook,
                pipeline=self._number,
                schedule=batches,
                take=take,
                freed=freed,
            )
        except BaseException:
            if not self._link.has_hook(self._hook) and self._ended is None:
                self._slots.unsent(freed)
            raise
        self._settle()

    def _hook(self, call: Call, event: str) -> None:
        """Keep a call of pipeline.run that has ended. It is its hook."""
        if event == "end":
            self._ended = call

    def _settle(self) -> None:
        """Wait for the call of pipeline.run that is under way, and keep what it has taken."""
        for under_way in list(self._link._calls.values()):
            if under_way._hook == self._hook:
                under_way._until(functools.partial(_is_over, under_way), None)
        call = self._ended
        if call is None:
            if self._failed:
                self._note(self._link.call("pipeline.progress", pipeline=self._number))
                self._failed = False
            return
        failure = call.failure()
        if failure is not None:
            # No signal handler can run between these two lines.
            self._failed = True
            self._ended = None
            if type(failure) is errors.Canceled:
                # An interrupt came before all of the call was sent, so it was cancelled: it has
                # taken nothing.
                self._settle()
                return
            raise failure if self._calls is None else self._calls.error(failure)
        value = call.value()
        self._note(value)
        if "slot" in value:
            memory = self._slots.memory(call, value)
            batch = tuple([TensorListCPU._of(memory, output) for output in value["outputs"]])
            self._ready.append(batch)
        self._ended = None  # nor between the line before and this one

    def _note(self, value: dict[str, Any]) -> None:
        """Note how far the side-car is."""
        self.begun, self.flight, self.resets = value["begun"], value["flight"], value["resets"]

    # States.

    def state(self, consumer: str = "") -> bytes:
        """Return the state after the batch that was taken last, with the data of an iterator."""
        return base64.b64decode(self.call("state", consumer=consumer)["state"])

    def restore(self, state: bytes) -> None:
        """Move the pipeline to a state."""
        self._note(self.call("restore", state=base64.b64encode(state).decode()))
        self._ready.clear()

    def reset(self) -> None:
        """Begin the next epoch."""
        self._note(self.call("reset"))

    def close(self) -> None:
        """End the pipeline. Batches that the program has stay readable."""
        if self._pid == os.getpid() and self._link.alive():
            self.call("close")
            if self._calls is not None:
                self._calls.close()
            del self._number

    # Data.

    def feed(self, name: str, data: Any, layout: str | None) -> None:
        """Give the external source called name a batch.

        `data` is an array with the samples along its first axis, a list of arrays, a
        TensorListCPU, or the same of another library.
        """
        self._check()
        from bivouac.checkpoint import _engine

        if isinstance(data, TensorListCPU):
            layout = layout or data.layout() or None
            data = data.views() if data._dense is None else data._dense
        output, copies, size = _fed(data)
        if isinstance(data, (list, tuple)) and data and isinstance(data[0], TensorCPU):
            layout = layout or data[0].layout() or None
        arenas = _engine.arenas(self._link)
        lease = arenas.filled(size, copies, []) if size else None
        self._settle()
        try:
            call = self._link.start(
                "pipeline.feed",
                hook=None if lease is None else lease.hook,
                pipeline=self._number,
                name=name,
                layout=layout,
                arena=None if lease is None else lease.number,
                data=[output],
            )
        except BaseException:
            if lease is not None and not self._link.has_hook(lease.hook):
                lease.release()
            raise
        call.result()


def _is_over(call: Call) -> bool:
    return call._outcome is not None


def _fed(data: Any) -> tuple[dict[str, Any], list[Copy], int]:
    """Return the description of a fed batch, the copies to an arena, and the size of the arena."""
    samples = isinstance(data, (list, tuple))
    arrays = [as_numpy(sample) for sample in data] if samples else [as_numpy(data)]
    if not arrays:
        raise ValueError("feed_input: want at least one sample, got an empty list")
    dtype = arrays[0].dtype
    name = _dtypes.name_of(dtype)
    if name is None:
        raise TypeError(f"feed_input: want numbers or booleans, got {dtype}")
    if not samples and arrays[0].ndim == 0:
        raise ValueError("feed_input: want samples along a first axis, got a scalar")
    target = dtype.newbyteorder("<")
    copies: list[Copy] = []
    places: list[dict[str, Any]] = []
    at = 0
    for i, array in enumerate(arrays):
        if array.dtype != dtype:
            raise TypeError(
                f"feed_input: want samples of one type, {dtype}; sample {i} has {array.dtype}"
            )
        places.append({"offset": at, "shape": list(array.shape)})
        if array.size:
            copies.append((at, np.asarray(array), target, array.shape))
            at = (at + array.nbytes + _ALIGN - 1) & -_ALIGN
    if samples:
        return {"dtype": name, "samples": places}, copies, at
    return {"dtype": name, **places[0]}, copies, at
