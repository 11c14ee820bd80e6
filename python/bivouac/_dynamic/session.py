"""Dynamic mode in the side-car: calls go there in groups, and values stay there under numbers.

A call is only noted. The notes are sent when a value is needed, when there are many, and when some
time has passed. So a program makes calls faster than messages could carry them one by one, and the
side-car computes while the program goes on.

A group has a number. One that an interrupt may have stopped on its way is sent again, and the
side-car makes a group only once. So an interrupt loses no call.
"""

from __future__ import annotations

import base64
import collections
import itertools
import os
import threading
import time
from typing import Any, NamedTuple

import numpy as np

from bivouac import _client, _dtypes, errors
from bivouac._arena import Layout
from bivouac._call import Call
from bivouac._pipeline.tensors import TensorListCPU
from bivouac._slots import Slots

__all__ = ["Fetched", "Handle", "Session", "current"]

_MOST = 32  # calls that are noted: the side-car computes them while the program makes others
_PAUSE = 2e-3  # seconds after which noted calls are sent with the next call
_UNREAD = 256  # groups after which the program waits for the side-car
_INLINE = 2048  # bytes of an array that travel within a group
_OPERATORS = 4096  # operators with their constants that are remembered


class Handle:
    """A Handle is a value of the side-car. The value is dropped with the last reference to it."""

    __slots__ = ("__weakref__", "number", "session")

    def __init__(self, session: Session, number: int) -> None:
        self.session = session
        self.number = number

    def __del__(self) -> None:
        # It only appends, so that it never blocks in a collection.
        self.session.dropped.append(self.number)


class Scope(NamedTuple):
    """A Scope says how calls of a group are computed: mode, number of the context, threads."""

    mode: str
    context: int
    threads: int


class Fetched(NamedTuple):
    """A Fetched is a description of a value, and its elements unless they were left out."""

    batch: bool
    dtype: str
    layout: str
    ndim: int
    shapes: list[tuple[int, ...]]
    elements: TensorListCPU | None


class _Group:
    """A _Group is what is sent at once."""

    def __init__(self, number: int, calls: list[Any], scope: Scope) -> None:
        self.number = number
        self.calls = calls
        self.scope = scope
        self.operators: list[dict[str, Any]] = []
        self.sites: list[str] = []
        self.freed: list[int] = []
        self.slots: list[int] = []
        self.closed: list[int] = []
        self.forget: int | None = None
        self.complete = False  # it may have been sent


class Session:
    """A Session is the dynamic mode of one connection."""

    def __init__(self, link: _client.Connection) -> None:
        self.link = link
        self.pid = os.getpid()
        self.lock = threading.RLock()
        self.dropped: collections.deque[int] = collections.deque()  # values
        self.dropped_contexts: collections.deque[int] = collections.deque()
        self.dropped_readers: collections.deque[int] = collections.deque()
        self._numbers = itertools.count(1)
        self._calls: list[Any] = []
        self._scope = Scope("eager", 0, 0)
        self._operators: dict[Any, tuple[int, int]] = {}
        self._next_operator = 0
        self._new_operators: list[dict[str, Any]] = []
        self._forget: int | None = None
        self._sites: dict[tuple[str, int], int] = {}
        self._new_sites: list[str] = []
        self._groups = 0
        self._unsent: _Group | None = None
        self._unread = 0
        self._sent_at = 0.0
        self._slots = Slots()
        self._ended: dict[int, Call] = {}  # fetches that have ended
        self._waiting: set[int] = set()

    # Notes.

    def number(self, count: int = 1) -> int:
        """Return the first of several numbers for values."""
        first = next(self._numbers)
        while count > 1:
            next(self._numbers)
            count -= 1
        return first

    def operator(self, key: Any) -> tuple[int, int] | None:
        """Return the number and the outputs of an operator with its constants, or None."""
        return self._operators.get(key)

    def add_operator(self, key: Any, graph: str, outputs: int) -> tuple[int, int]:
        """Note an operator with its constants. `key` tells it from others; None is never found."""
        with self.lock:
            if len(self._operators) >= _OPERATORS:
                self._forget = self._next_operator
                self._operators.clear()
            number = self._next_operator
            self._next_operator += 1
            self._new_operators.append({"operator": number, "outputs": outputs, "graph": graph})
            if key is not None:
                self._operators[key] = (number, outputs)
            return number, outputs

    def site(self, place: tuple[str, int]) -> int:
        """Return the number of a file and line."""
        found = self._sites.get(place)
        if found is None:
            with self.lock:
                found = self._sites.setdefault(place, len(self._sites))
                if found == len(self._sites) - 1:
                    self._new_sites.append(f"{place[0]}:{place[1]}")
        return found

    def note(self, call: list[Any], scope: Scope) -> None:
        """Note a call. It may be sent."""
        with self.lock:
            if scope is not self._scope and scope != self._scope:
                if self._calls:
                    self.flush()
                self._scope = scope
            self._calls.append(call)
            if len(self._calls) >= _MOST or (
                scope.mode == "eager" and time.monotonic() - self._sent_at > _PAUSE
            ):
                self.flush()

    # Groups.

    def _check(self) -> None:
        """Raise an error in a forked child."""
        if self.pid != os.getpid():
            raise errors.Closed(
                op="dynamic",
                subject="value of the parent process",
                remedy="make values after the fork, or evaluate them before it",
            )

    def _cut(self) -> _Group:
        """Return the group that is sent next."""
        group = self._unsent
        if group is None:
            # An interrupt between two of these lines leaves a group that the next one takes up.
            self._unsent = group = _Group(self._groups + 1, self._calls, self._scope)
        if self._calls is group.calls:
            self._calls = []
        if group.complete:
            return group
        if self._new_operators:
            group.operators.extend(self._new_operators)
            self._new_operators = []
        if self._new_sites:
            group.sites.extend(self._new_sites)
            self._new_sites = []
        if self._forget is not None:
            group.forget, self._forget = self._forget, None
        while self.dropped:
            group.freed.append(self.dropped.popleft())
        while self.dropped_contexts:
            group.closed.append(self.dropped_contexts.popleft())
        self._claim_orphans()
        group.slots.extend(self._slots.freed())
        group.complete = True
        return group

    def flush(self, **more: Any) -> Call:
        """Send what is noted.

        Args:
          more: further arguments of the call, such as `fetch`.
        """
        self._check()
        with self.lock:
            again = self._unsent is not None
            call = self._send(self._cut(), more if not again else {})
            if again and (self._calls or more):
                call = self._send(self._cut(), more)
            return call

    def sent(self) -> int:
        """Send what is noted, and return the number of the last group."""
        with self.lock:
            self.flush()
            return self._groups

    def _send(self, group: _Group, more: dict[str, Any]) -> Call:
        while self.dropped_readers:
            self.link.start("dynamic.close", reader=self.dropped_readers.popleft())
        call = self.link.start(
            "dynamic.run",
            hook=self._hook if "fetch" in more else None,
            group=group.number,
            mode=group.scope.mode,
            context=group.scope.context,
            threads=group.scope.threads,
            operators=group.operators or None,
            sites=group.sites or None,
            calls=group.calls or None,
            freed=group.freed or None,
            slots=group.slots or None,
            closed=group.closed or None,
            forget=group.forget,
            **more,
        )
        self._groups = group.number
        self._unsent = None
        self._sent_at = time.monotonic()
        self._unread += 1
        if more:
            self._unread = 0
        elif self._unread >= _UNREAD:
            self._unread = 0
            call.result()
        return call

    # Values.

    def _hook(self, call: Call, event: str) -> None:
        """Keep a fetch that has ended. It is its hook."""
        if event == "end":
            self._ended[id(call)] = call

    def _claim_orphans(self) -> None:
        """Give back the memory of fetches whose waits were interrupted."""
        for key, call in list(self._ended.items()):
            if key not in self._waiting:
                self._ended.pop(key, None)
                if call.succeeded() and "slots" in call.value():
                    self._slots.take(call, call.value(), {})

    def fetch(self, handle: Handle, describe: bool = False) -> Fetched:
        """Wait for a value. Return its description, and its elements unless `describe` is set.

        A value of few bytes has its elements in any case.
        """
        with self.lock:
            call = self.flush(fetch=handle.number, describe=describe or None)
            self._waiting.add(id(call))
        try:
            call.cancel_on_interrupt = True
            value = call.result()
            with self.lock:
                memory: Any = None
                if "slots" in value:
                    taken: dict[int, Any] = {}
                    self._slots.take(call, value, taken)
                    memory = taken[value["slot"]]
                elif "data" in value or value["size"] == 0:
                    memory = bytearray(base64.b64decode(value.get("data", "")))
                self._ended.pop(id(call), None)
        finally:
            self._waiting.discard(id(call))
        elements = None if memory is None else TensorListCPU._of(memory, value)
        shapes = _shapes(value) if elements is None else elements.shape()
        return Fetched(
            value.get("batch", False),
            value["dtype"],
            value.get("layout", ""),
            value["ndim"],
            shapes,
            elements,
        )

    def evaluate_all(self, scope: Scope) -> None:
        """Compute all calls of a context. Raise the error of the first one that failed."""
        with self.lock:
            if scope != self._scope:
                if self._calls:
                    self.flush()
                self._scope = scope
            call = self.flush(all=True)
        call.cancel_on_interrupt = True
        call.result()

    def put(
        self, arrays: list[np.ndarray[Any, Any]], batch: bool, layout: str, scope: Scope
    ) -> Handle:
        """Copy arrays to the side-car, as a Batch or as a Tensor. Return the value."""
        self._check()
        dtype = arrays[0].dtype
        name = _dtypes.name_of(dtype)
        if name is None:
            raise TypeError(f"want numbers or booleans, got {dtype}")
        number = self.number()
        target = dtype.newbyteorder("<")
        if sum([array.nbytes for array in arrays]) <= _INLINE:
            data = b"".join([np.ascontiguousarray(a, target).tobytes() for a in arrays])
            shapes = [list(array.shape) for array in arrays]
            call = [6, number, int(batch), name, layout, shapes, base64.b64encode(data).decode()]
            self.note(call, scope)
            return Handle(self, number)
        from bivouac.checkpoint import _engine

        laid = Layout()
        samples = [laid.place(array) for array in arrays]
        lease = _engine.arenas(self.link).filled(laid.size, laid.copies, [])
        one: dict[str, Any] = {"samples": samples} if batch else samples[0]
        value = {"number": number, "batch": batch, "dtype": name, "layout": layout, **one}
        try:
            sent = self.link.start(
                "dynamic.put", hook=lease.hook, arena=lease.number, values=[value]
            )
        except BaseException:
            if self.link.call_with(lease.hook) is None:
                lease.release()
            raise
        made = Handle(self, number)
        sent.result()
        return made


def _shapes(value: dict[str, Any]) -> list[tuple[int, ...]]:
    """Return the shapes of the samples of a value."""
    if "offsets" not in value:
        return [tuple(value.get("shape") or ())] * value["samples"]
    dims, n = value.get("dims") or [], value["ndim"]
    return [tuple(dims[i * n : i * n + n]) for i in range(value["samples"])]


_session: Session | None = None
_beginning = threading.Lock()


def current() -> Session:
    """Return the dynamic mode of the connection of this process."""
    global _session
    session = _session
    if session is not None and session.link._failure is None:
        return session
    link = _client.connection()
    with _beginning:
        session = _session
        if session is None or session.link is not link:
            session = _session = Session(link)
        return session


def _after_fork() -> None:
    """Forget the parent's dynamic mode in a forked child."""
    global _session, _beginning
    _session, _beginning = None, threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
