"""A pipeline in the side-car: calls, memory of its batches, and the data that it is fed.

An interrupt loses no batch. A call that takes a batch goes on when its wait is interrupted, and the
next one takes what it brings. The stream moves behind a batch when a later call says that the
program has it. So a batch is either in the program or still in the stream.

When a batch is returned, the next one is asked for. It comes while the program works. A program
that feeds batches itself, by `feed_input` or in `iter_setup`, does it first.

The data of a source is announced before it is copied, so that the answer comes during the copy. The
side-car reads it when its batch begins, and no batch begins before its data was copied.
"""

from __future__ import annotations

import base64
import collections
import functools
import mmap
import os
import warnings
import weakref
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from bivouac import _client, _dtypes, errors
from bivouac._arena import Copy, Layout, copy_all
from bivouac._call import Call, Hook
from bivouac._failures import ask, of_call
from bivouac._pipeline.callbacks import Callback, Calls, frames_within
from bivouac._pipeline.refusals import MixedTypes, Unfed
from bivouac._pipeline.tensors import TensorCPU, TensorListCPU, as_numpy
from bivouac._slots import Slots

__all__ = ["Remote"]

_MOST = 16  # small batches that come with one answer


class Remote:
    """A Remote is an open pipeline of the side-car. It belongs to the process that opened it."""

    def __init__(
        self,
        graph: bytes | None = None,
        callbacks: Sequence[Callback] = (),
        callback_timeout: float | None = None,
        ahead: bool = False,
        sources: Collection[str] = (),
        **options: Any,
    ) -> None:
        """Open a serialized graph, or a `definition`.

        With `ahead`, batches are asked for ahead, unless there is an external source that is not
        one of `sources`, which feed each batch that begins.
        """
        self._calls: Calls | None = None
        # A call for a batch ahead does not keep a pipeline that nothing else refers to.
        self._weak_hook: Hook = functools.partial(_tell, weakref.ref(self))
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
        self.blocks: bool = value.get("blocking", False)  # a batch that is not fed is waited for
        self._ahead = ahead and not self.blocks and all([name in sources for name in self.inputs])
        self.readers: dict[str, dict[str, int]] = value["readers"]
        self.warnings: list[str] = value["warnings"]
        self._said: collections.deque[str] = collections.deque()  # warnings that came with batches
        self.batches: int | None = value.get("length", {}).get("batches")  # of a definition
        self.consumer: str = value["consumer"]  # data of an iterator in the state
        self._slots = Slots()
        self._taken: dict[int, Any] = {}  # the memory of the batch that is being taken
        self._ended: collections.deque[Call] = collections.deque()  # calls of pipeline.run
        self._seen = 0  # the newest of them that was looked at
        self._asked_ahead = False  # the newest of them asks for a batch ahead
        self._beginning = 0  # how many batches it begins
        self._ready: collections.deque[_Taken] = collections.deque()
        self._newest = 0  # number of the batch that came last
        self._error: BaseException | None = None  # of a call that nobody has waited for
        self._failed = False
        self._feeding: _Feed | None = None  # the newest one
        self._sourced: _Feed | None = None  # the newest one of a source
        # The slots for the next data of external sources, or the calls that have brought them.
        self._rooms: dict[str, int | Call | None] = {}
        # Batches of one answer.
        self._most = _MOST if self._ahead and not callbacks and not self.inputs else 1
        self._together = 1  # how many come with the next answer, as the last one says
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
        """Make a call about this pipeline. It does not wait for a batch that is asked for ahead."""
        self._check()
        name, taken = f"pipeline.{op}", self._got()
        value = ask(self._link, name, pipeline=self._number, taken=taken, **args)
        self._look()
        return value

    # Batches.

    def schedule(self, batches: int) -> None:
        """Begin batches. Without external sources it does not wait, and the oldest one is taken."""
        self.settle()
        if self._ahead and not self._ready:
            self._run(batches, take=True, ahead=True)
        else:
            self._run(batches, take=False)
            self.settle()

    def take(self, schedule: int = 0, depth: int = 1) -> tuple[TensorListCPU, ...] | None:
        """Begin batches, and return the oldest one; None if none was begun.

        What an interrupted call has taken is returned first, also the end. Nothing is begun then.

        Args:
          schedule: how many batches begin. Without external sources none does if one was asked for
            ahead. Those that do not begin are left to a later call.
          depth: how many are to be in the making while the program works. From 2 on, the next one
            is asked for if that can be.
        """
        self.settle()
        interrupted = bool(self._ready) and not self._ready[0].ahead
        most = self._most if depth > 1 else 1
        if not self._ready and not self._over:
            self._run(schedule, take=True, most=most)
            schedule = 0
            self.settle()
        self._over = False
        if not self._ready:
            return None
        # After an interrupt right here, two are ready: then none is asked for.
        if self._ahead and depth > 1 and not interrupted and len(self._ready) == 1:
            if not self.inputs:
                schedule = max(0, depth + self._together - 1 - self.flight)
            self._run(schedule, take=True, ahead=True, most=most)
        self._warn()
        return self._ready.popleft().batch

    def _warn(self) -> None:
        """Give the warnings that have come."""
        while self._said:
            level = frames_within() + 1
            warnings.warn(self._said.popleft(), RuntimeWarning, stacklevel=level)

    def take_ready(self) -> tuple[TensorListCPU, ...] | None:
        """Return a batch that is here, or None. The last one that is here is for `take`."""
        if len(self._ready) > 1 and self._ahead and self._pid == os.getpid():
            return self._ready.popleft().batch
        return None

    def left(self) -> int:
        """Return how many batches were begun and not returned."""
        self._check()
        if self.flight == 0 and not self._ready:
            self.settle()
        return self.flight + len(self._ready)

    def _got(self) -> int:
        """Return the number of the batch that the program got last."""
        return self._ready[0].number - 1 if self._ready else self._newest

    def begun_by_now(self) -> int:
        """Return how many batches of the epoch were begun, without a wait for one asked ahead.

        Raises the error of a call that nobody has waited for.
        """
        self._check()
        under_way = self._link.call_with(self._weak_hook)
        if under_way is not None and self._asked_ahead and not self._failed:
            return self.begun + self._beginning  # what it brings is not noted before `_look`
        self.settle()
        return self.begun

    def settle(self) -> None:
        """Wait for a call that is under way, and keep what it has taken.

        Raises the error of a call that nobody has waited for.
        """
        self._check()
        under_way = self._link.call_with(self._weak_hook)
        if under_way is not None:
            under_way.wait()
        self._settle_feed()
        self._look()
        if self._failed:
            number, taken = self._number, self._got()
            self._note(self._link.call("pipeline.progress", pipeline=number, taken=taken))
            self._failed = False
        if self._error is not None:
            failure = self._error
            self._error = None
            raise failure

    def _settle_feed(self) -> None:
        """Wait for a feed that is under way."""
        if self._feeding is not None:
            under_way = self._link.call_with(self._feeding.hook)
            if under_way is not None:
                under_way.wait()

    def _run(self, batches: int, take: bool, ahead: bool = False, most: int = 1) -> None:
        """Make a call of pipeline.run, which takes up to `most` batches. `settle` waits for it."""
        self._close_dropped()
        self._taken, self._asked_ahead, self._beginning = {}, ahead, batches
        freed = self._slots.freed()
        try:
            self._link.start(
                "pipeline.run",
                hook=self._weak_hook,
                opens_nothing=True,
                pipeline=self._number,
                schedule=batches,
                take=take,
                ahead=ahead or None,
                most=most if most > 1 else None,
                taken=self._got(),
                freed=freed,
            )
        except BaseException:
            if self._link.call_with(self._weak_hook) is None and not self._ended:
                self._slots.unsent(freed)
            raise

    def _hook(self, call: Call, event: str) -> None:
        """Keep a call of pipeline.run that has ended. It is its hook, and may be called twice."""
        if event == "end":
            self._ended.append(call)

    def _look(self) -> None:
        """Take what calls have brought that have ended."""
        while self._ended:
            call = self._ended[0]
            if call.number > self._seen:
                self._take(call)
            if self._ended and self._ended[0] is call:
                self._ended.popleft()

    def _take(self, call: Call) -> None:
        """Take what a call of pipeline.run has brought. After an interrupt it is called again."""
        failure = call.failure()
        if failure is not None:
            if type(failure) is not errors.Canceled:
                own = failure if self._calls is None else self._calls.error(failure)
                self._error = _of_batch(own)
            # An interrupt that came before all of the call was sent has cancelled it: it has taken
            # nothing.
            self._failed = True
            self._seen = call.number
            return
        value = call.value()
        self._note(value)
        if "slots" in value:
            self._said.extend(value.get("warnings", ()))
            memory = self._taken
            self._slots.take(call, value, memory)
            batches = [value, *value.get("more", ())]
            for number, told in enumerate(batches, value["number"]):
                batch = tuple([TensorListCPU._of(memory[o["slot"]], o) for o in told["outputs"]])
                self._keep(_Taken(number, batch, self._asked_ahead))
            self._together = value["together"]
            self._seen = call.number
        elif "number" in value:
            self._keep(_Taken(value["number"], None, False))
            self._seen = call.number
        else:
            self._over = self._over or bool(value.get("end"))
            self._seen = call.number
        self._taken = {}

    def _keep(self, taken: _Taken) -> None:
        """Keep what the side-car has handed out. After an interrupt it is called again."""
        if not self._ready or self._ready[-1].number < taken.number:
            self._ready.append(taken)
        self._newest = taken.number

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
        self._error = None
        self.consumer = value["consumer"]
        self._note(value)

    def reset(self) -> None:
        """Begin the next epoch."""
        self._note(self.call("reset"))
        self._over = False

    def leave(self) -> None:
        """Leave out the rest of an epoch of a definition, and what an interrupted call took."""
        self.reset()
        self._ready.clear()

    def close(self) -> None:
        """End the pipeline. Batches that the program has stay readable."""
        if self._pid == os.getpid() and self._link.alive():
            self._link.call("pipeline.close", pipeline=self._number)
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
        output, laid = _fed(data)
        if isinstance(data, (list, tuple)) and data and isinstance(data[0], TensorCPU):
            layout = layout or data[0].layout() or None
        self._settle_feed()
        room = memory = None
        if laid.size:
            room, memory = self._room(name, laid.size)
        feed = _Feed(entry, name, self._rooms)
        if entry is not None:
            self._sourced = feed
        if memory is not None and entry is not None:
            feed.copies = memory, laid.copies
            call = self._send("pipeline.feed", feed, room, layout=layout, data=[output])
            self._copy(feed)
            self._wait(call)
            return
        if memory is not None:
            copy_all(memory, laid.copies)
        self._bring("pipeline.feed", feed, room, layout=layout, data=[output])

    def _copy(self, feed: _Feed) -> None:
        """Copy the data of a feed that was announced, unless that was done."""
        if feed.copies is not None:
            copy_all(*feed.copies)
            feed.copies = None

    def was_fed(self, entry: Any) -> bool:
        """Report whether a feed with this entry has succeeded. It waits for one that goes on.

        What an interrupted feed has announced is copied.
        """
        feed = self._sourced
        if feed is None or feed.entry is not entry:
            return False
        self._settle_feed()
        if feed.succeeded:
            self._copy(feed)
        return feed.succeeded

    def holds(self, entry: Any) -> bool:
        """Report whether the side-car has taken a feed with this entry. It may wait."""
        self._settle_feed()
        feed = self._sourced
        return feed is not None and feed.entry is entry and feed.succeeded

    def forget_feed(self) -> None:
        """Let go of the newest feed of a source."""
        self._sourced = None

    def _room(self, name: str, size: int) -> tuple[int, mmap.mmap]:
        """Return a slot for data of an external source, and its memory of at least size bytes."""
        room = self._mapped(name)
        if room is None or len(self._slots.memory(room)) < size:
            self._bring("pipeline.room", _Feed(None, name, self._rooms), room, bytes=size)
            room = self._mapped(name)
            assert room is not None
        return room, self._slots.memory(room)

    def _mapped(self, name: str) -> int | None:
        """Return the slot for the next data of an external source, which is mapped, or None."""
        room = self._rooms.get(name)
        if isinstance(room, Call):
            room = self._rooms[name] = self._slots.room(room, room.value())
        return room

    def _bring(self, op: str, feed: _Feed, room: int | None, **args: Any) -> None:
        """Make a call that takes a room, if there is one, and may bring another."""
        self._wait(self._send(op, feed, room, **args))

    def _send(self, op: str, feed: _Feed, room: int | None, **args: Any) -> Call:
        """Begin such a call."""
        self._feeding = feed
        args |= {"pipeline": self._number, "taken": self._got(), "name": feed.name, "room": room}
        return self._link.start(op, hook=feed.hook, opens_nothing=True, **args)

    def _wait(self, call: Call) -> None:
        """Wait for such a call, or raise its error."""
        call.wait()
        try:
            call.result()
        except errors.BivouacError as err:
            raise of_call(err) from None


def _tell(remote: weakref.ref[Remote], call: Call, event: str) -> None:
    """Tell a Remote about a call, if there is still one."""
    one = remote()
    if one is not None:
        one._hook(call, event)


class _Taken(NamedTuple):
    """What the side-car has handed out, and the program does not have."""

    number: int
    batch: tuple[TensorListCPU, ...] | None  # None: the end of an epoch of a definition
    ahead: bool  # it was asked for ahead


class _Feed:
    """A _Feed is a call that takes a room of an external source and may bring another.

    Its hook tells it how the call ended. After a failure the source has its room yet.

    Attributes:
      copies: the memory and the data that is not copied yet, of a feed that was announced.
    """

    __slots__ = ("_rooms", "copies", "entry", "name", "succeeded")

    def __init__(self, entry: Any, name: str, rooms: dict[str, Any]) -> None:
        self.entry = entry
        self.name = name
        self.succeeded = False
        self.copies: tuple[mmap.mmap, Sequence[Copy]] | None = None
        self._rooms = rooms

    def hook(self, call: Call, event: str) -> None:
        """Note the end of the call, and what has brought the next room. It is the call's hook."""
        if event == "end" and call.succeeded():
            self._rooms[self.name] = call if "room" in call.value() else None
            self.succeeded = True


def _of_batch(failure: BaseException) -> BaseException:
    """Return the error of a batch that failed as the errors that it is in DALI too."""
    if not isinstance(failure, errors.BivouacError):
        return failure
    if failure.want == "a batch that was fed":
        return Unfed(failure.text, **failure._fields())
    return of_call(failure)


def _array(sample: Any) -> Any:
    """Return a sample as an array. Bytes are one of uint8, such as an encoded video."""
    if isinstance(sample, (bytes, bytearray)):
        return np.frombuffer(sample, np.uint8)
    return as_numpy(sample)


def _fed(data: Any) -> tuple[dict[str, Any], Layout]:
    """Return the description of a fed batch, and where its arrays go in a room."""
    data = [data] if isinstance(data, (bytes, bytearray)) else data
    samples = isinstance(data, (list, tuple))
    if samples and all([type(sample) is np.ndarray for sample in data]):
        arrays = data
    else:
        arrays = [_array(sample) for sample in data] if samples else [as_numpy(data)]
    if not arrays:
        raise ValueError("feed_input: want at least one sample, got an empty list")
    dtype, shape = arrays[0].dtype, arrays[0].shape
    name = _dtypes.name_of(dtype)
    if name is None:
        raise TypeError(f"feed_input: want numbers or booleans, got {dtype}")
    if not samples and not shape:
        raise ValueError("feed_input: want samples along a first axis, got a scalar")
    for i, array in enumerate(arrays):
        if array.dtype != dtype:
            raise MixedTypes(
                op="feed_input",
                subject=f"sample {i}",
                want=f"samples of one type, {dtype}",
                got=str(array.dtype),
            )
    laid = Layout(align=1)
    if not samples:
        return {"dtype": name, **laid.place(arrays[0])}, laid
    if all([array.shape == shape for array in arrays]):
        return {"dtype": name, **laid.stack(arrays)}, laid
    return {"dtype": name, "samples": [laid.place(array) for array in arrays]}, laid
