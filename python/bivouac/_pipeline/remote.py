"""A pipeline in the side-car: calls, memory of its batches, and the data that it is fed.

An interrupt loses no batch. A call that takes a batch goes on when its wait is interrupted, and the
next one takes what it brings. So a batch is either in the program or still in the stream.
"""

from __future__ import annotations

import base64
import collections
import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from bivouac import _client, _dtypes, _pull, _rooms, errors
from bivouac._arena import Copy, Lease
from bivouac._call import Call
from bivouac._failures import ask, of_call
from bivouac._pipeline.callbacks import Callback, Calls
from bivouac._pipeline.refusals import MixedTypes, Unfed
from bivouac._pipeline.tensors import TensorCPU, TensorListCPU, as_numpy
from bivouac._slots import Slots

__all__ = ["Remote"]

_ALIGN = 64


class Remote:
    """A Remote is an open pipeline of the side-car. It belongs to the process that opened it."""

    def __init__(
        self,
        graph: bytes | None = None,
        callbacks: Sequence[Callback] = (),
        callback_timeout: float | None = None,
        **options: Any,
    ) -> None:
        """Open a serialized graph, or a `definition`."""
        self._calls: Calls | None = None
        self._link = _client.connection()
        self._pid = os.getpid()
        self._close_dropped()
        state = options.pop("state", None)
        value = ask(
            self._link,
            "pipeline.open",
            graph=None if graph is None else base64.b64encode(graph).decode(),
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
        self.batches: int | None = value.get("length", {}).get("batches")  # of a definition
        self.consumer: str = value["consumer"]  # data of an iterator in the state
        self._slots = Slots()
        self._taken: dict[int, Any] = {}  # the memory of the batch that is being taken
        self._ended: Call | None = None  # of pipeline.run, which was not looked at yet
        self._ready: collections.deque[tuple[TensorListCPU, ...]] = collections.deque()
        self._failed = False
        self._reads = True  # the side-car can read the memory of this process, as far as is known
        self._feeding: _Feed | None = None  # the newest one
        self._over = False  # the last call that took a batch found the end
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
        return ask(self._link, f"pipeline.{op}", pipeline=self._number, **args)

    # Batches.

    def schedule(self, batches: int) -> None:
        """Begin batches."""
        self._run(batches, False)

    def take(self, schedule: int = 0) -> tuple[TensorListCPU, ...] | None:
        """Begin batches, and return the oldest one; None if none was begun.

        What an interrupted call has taken is returned first, also the end. Nothing is begun then.
        """
        self._check()
        self._settle()
        if not self._ready and not self._over:
            self._run(schedule, True)
        self._over = False
        return self._ready.popleft() if self._ready else None

    def left(self) -> int:
        """Return how many batches were begun and not returned."""
        self._check()
        self._settle()
        return self.flight + len(self._ready)

    def _run(self, batches: int, take: bool) -> None:
        """Make a call of pipeline.run, and keep what it takes."""
        self._check()
        self._settle()
        self._close_dropped()
        self._taken = {}
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
            if self._link.call_with(self._hook) is None and self._ended is None:
                self._slots.unsent(freed)
            raise
        self._settle()

    def _hook(self, call: Call, event: str) -> None:
        """Keep a call of pipeline.run that has ended. It is its hook."""
        if event == "end":
            self._ended = call

    def _settle(self) -> None:
        """Wait for a call that an interrupt has left under way, and keep what it has taken."""
        for hook in (self._hook, None if self._feeding is None else self._feeding.hook):
            under_way = None if hook is None else self._link.call_with(hook)
            if under_way is not None:
                under_way.wait()
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
            raise _of_batch(failure if self._calls is None else self._calls.error(failure))
        value = call.value()
        self._note(value)
        if "slots" in value:
            memory = self._taken
            self._slots.take(call, value, memory)
            batch = tuple([TensorListCPU._of(memory[o["slot"]], o) for o in value["outputs"]])
            self._ready.append(batch)
        elif value.get("end"):
            self._over = True
        self._ended = None  # nor between the line before and this one
        self._taken = {}

    def _note(self, value: dict[str, Any]) -> None:
        """Note how far the side-car is."""
        self.begun, self.flight, self.resets = value["begun"], value["flight"], value["resets"]

    # States.

    def state(self, consumer: str = "") -> bytes:
        """Return the state after the batch that was taken last, with the data of an iterator."""
        return base64.b64decode(self.call("state", consumer=consumer)["state"])

    def restore(self, state: bytes) -> None:
        """Move the pipeline to a state."""
        value = self.call("restore", state=base64.b64encode(state).decode())
        self._ready.clear()
        self._over = False
        self.consumer = value["consumer"]
        self._note(value)

    def reset(self) -> None:
        """Begin the next epoch."""
        self._note(self.call("reset"))
        self._over = False

    def close(self) -> None:
        """End the pipeline. Batches that the program has stay readable."""
        if self._pid == os.getpid() and self._link.alive():
            self.call("close")
            if self._calls is not None:
                self._calls.close()
            del self._number

    # Data.

    def feed(self, name: str, data: Any, layout: str | None, entry: Any = None) -> None:
        """Give the external source called name a batch.

        Args:
          name: of the external source.
          data: an array with the samples along its first axis, a list of arrays, a TensorListCPU,
            or the same of another library.
          layout: of a sample.
          entry: what `was_fed` knows the feed by.
        """
        self._check()
        if isinstance(data, TensorListCPU):
            layout = layout or data.layout() or None
            data = data.views() if data._dense is None else data._dense
        output, copies, size = _fed(data)
        if isinstance(data, (list, tuple)) and data and isinstance(data[0], TensorCPU):
            layout = layout or data[0].layout() or None
        self._settle()
        if not self._feed_directly(name, output, copies, size, layout, entry):
            self._feed_arena(name, output, copies, size, layout, entry)

    def was_fed(self, entry: Any) -> bool:
        """Report whether a feed with this entry has succeeded. It waits for one that goes on."""
        feed = self._feeding
        if feed is None or feed.entry is not entry:
            return False
        self._settle()
        return feed.succeeded

    def forget_feed(self) -> None:
        """Let go of the newest feed."""
        self._feeding = None

    def _feed_directly(
        self,
        name: str,
        output: dict[str, Any],
        copies: list[Copy],
        size: int,
        layout: str | None,
        entry: Any,
    ) -> bool:
        """Have the side-car read the arrays where they lie. Return False if it cannot."""
        memory = _rooms.argument(self._link) if size and self._reads else None
        if memory is None:
            return False
        rounds = _pull.rounds(copies)
        pieces, buffers = next(rounds)
        if next(rounds, None) is not None:
            return False  # too much for one call
        self._feeding = feed = _Feed(entry, (copies, buffers), None)
        call = self._link.start(
            "pipeline.feed",
            hook=feed.hook,
            pipeline=self._number,
            name=name,
            layout=layout,
            memory=memory,
            data=[{**output, "bytes": size, "pieces": pieces}],
        )
        call.cancel_on_interrupt = True
        try:
            call.result()
        except errors.IOError_:
            self._reads = False
            return False
        except errors.BivouacError as err:
            raise of_call(err) from None
        return True

    def _feed_arena(
        self,
        name: str,
        output: dict[str, Any],
        copies: list[Copy],
        size: int,
        layout: str | None,
        entry: Any,
    ) -> None:
        """Copy the arrays to memory that the side-car shares."""
        from bivouac.checkpoint import _engine

        arenas = _engine.arenas(self._link)
        lease = arenas.filled(size, copies, []) if size else None
        self._feeding = feed = _Feed(entry, None, lease)
        try:
            call = self._link.start(
                "pipeline.feed",
                hook=feed.hook,
                pipeline=self._number,
                name=name,
                layout=layout,
                arena=None if lease is None else lease.number,
                data=[output],
            )
        except BaseException:
            if lease is not None and self._link.call_with(feed.hook) is None:
                lease.release()
            raise
        try:
            call.result()
        except errors.BivouacError as err:
            raise of_call(err) from None


class _Feed:
    """A _Feed is a call of pipeline.feed. Its hook tells it how the call ended.

    It keeps the arrays that the side-car reads, or the arena, until then.
    """

    __slots__ = ("_kept", "_lease", "entry", "succeeded")

    def __init__(self, entry: Any, kept: Any, lease: Lease | None) -> None:
        self.entry = entry
        self._kept = kept
        self._lease = lease
        self.succeeded = False

    def hook(self, call: Call, event: str) -> None:
        """Note the end of the call. It is its hook."""
        if self._lease is not None:
            self._lease.hook(call, event)
        if event == "end":
            self.succeeded = call.succeeded()
            self._kept = None


def _of_batch(failure: BaseException) -> BaseException:
    """Return the error of a batch that failed as the errors that it is in DALI too."""
    if not isinstance(failure, errors.BivouacError):
        return failure
    if failure.want == "a batch that was fed":
        return Unfed(failure.text, **failure._fields())
    return of_call(failure)


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
            raise MixedTypes(
                op="feed_input",
                subject=f"sample {i}",
                want=f"samples of one type, {dtype}",
                got=str(array.dtype),
            )
        places.append({"offset": at, "shape": list(array.shape)})
        if array.size:
            copies.append((at, np.asarray(array), target, array.shape))
            at = (at + array.nbytes + _ALIGN - 1) & -_ALIGN
    if samples:
        return {"dtype": name, "samples": places}, copies, at
    return {"dtype": name, **places[0]}, copies, at
