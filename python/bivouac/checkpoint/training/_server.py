"""The server's side of a Checkpointer, which is opened again if the server was replaced."""

from __future__ import annotations

import collections
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from bivouac import _client, _processes
from bivouac._url import Location, located
from bivouac.checkpoint.training._metadata import CheckpointMetadata
from bivouac.errors import BivouacError, Closed

Steps = list[CheckpointMetadata[None]]
Preserve = Callable[[Steps], list[bool]]
Listener = Callable[[dict[str, Any]], None]

_asked: weakref.WeakKeyDictionary[Any, dict[int, weakref.ref[Server]]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()
_left: collections.deque[tuple[Any, int]] = collections.deque()
"""Checkpointers that were dropped without being closed: connection and number."""


class Server:
    """A checkpointer in the server.

    Args:
      directory: directory of the run.
      arguments: arguments of training.open.
      preserve: decides what is kept, if the policy is asked in this process.
      listener: called with each event of the checkpointer.
    """

    def __init__(
        self,
        directory: Location,
        arguments: Mapping[str, Any],
        preserve: Preserve | None,
        listener: Listener | None,
    ) -> None:
        self._directory = directory
        self._arguments = dict(arguments)
        self._preserve = preserve
        self._listener = listener
        self._guard = threading.RLock()
        self._link: Any = None
        self._number = 0
        self._closed = False
        self.link()

    def __del__(self) -> None:
        # A finalizer must not wait: the next Checkpointer closes this one.
        link = self.__dict__.get("_link")
        if link is not None and not self._closed:
            _left.append((link, self._number))

    def link(self) -> tuple[Any, int]:
        """Return the connection and the number of the checkpointer. Open it if it is not open."""
        with self._guard:
            if self._closed:
                raise Closed(
                    op="Checkpointer",
                    subject=str(self._directory),
                    got="it is closed",
                    remedy="make a new Checkpointer",
                )
            if self._link is None or not self._link.alive():
                link = _client.connection()
                arguments = dict(self._arguments)
                if link is not self._link and self._link is not None:
                    arguments.pop("start_fresh", None)
                _close_left(link)
                if arguments.get("processes") is not None:
                    _processes.attend(link)
                value = link.call("training.open", **arguments)
                self._link, self._number = link, int(value["checkpointer"])
                self._register(link)
            return self._link, self._number

    def _register(self, link: Any) -> None:
        with _lock:
            table = _asked.get(link)
            if table is None:
                table = _asked[link] = {}
                link.on_ask("preserve", _answer(weakref.ref(link)))
                link.on_event(_tell(weakref.ref(link)))
            table[self._number] = weakref.ref(self)

    def call(self, op: str, **arguments: Any) -> dict[str, Any]:
        """Call an operation of the checkpointer and return its value."""
        link, number = self.link()
        call = link.start(op, checkpointer=number, **arguments)
        call.cancel_on_interrupt = True
        return dict(call.result())

    def start(self, op: str, **arguments: Any) -> Any:
        """Start an operation of the checkpointer."""
        link, number = self.link()
        return link.start(op, checkpointer=number, **arguments)

    def close(self) -> None:
        """Close the checkpointer. Closing twice does nothing."""
        with self._guard:
            if self._closed:
                return
            try:
                if self._link is not None and self._link.alive():
                    self.call("training.close")
            finally:
                self._closed = True

    def steps(self, value: Mapping[str, Any]) -> Steps:
        """Return the descriptions of steps that the server sent."""
        return [self.step(entry) for entry in value["checkpoints"]]

    def _place(self, entry: Mapping[str, Any]) -> Location:
        """Return where a step is. It has a path if only a further tier has it."""
        if "path" in entry:
            return located(str(entry["path"]))
        return self._directory / str(entry["directory"])

    def step(self, entry: Mapping[str, Any]) -> CheckpointMetadata[None]:
        """Return the description of one step."""
        return CheckpointMetadata(
            int(entry["step"]),
            self._place(entry),
            metadata=None,
            commit_timestamp_nsecs=entry.get("time_ns"),
            custom_metadata=entry.get("custom"),
            metrics=_metrics(entry.get("metrics")),
        )


def _close_left(link: Any) -> None:
    """Close the checkpointers of a connection that were dropped without being closed."""
    while _left:
        owner, number = _left.popleft()
        if owner is link and link.pid == os.getpid():
            try:
                link.call("training.close", checkpointer=number)
            except BivouacError:
                continue


def _metrics(metrics: Any) -> Any:
    if not isinstance(metrics, dict):
        return metrics
    return {k: float(v[1]) if isinstance(v, list) else v for k, v in metrics.items()}


def _find(link: Any, number: Any) -> Server | None:
    with _lock:
        table = _asked.get(link) or {}
        found = table.get(int(number))
    return None if found is None else found()


def _answer(ref: Any) -> Callable[[dict[str, Any]], Any]:
    def answer(question: dict[str, Any]) -> Any:
        server = _find(ref(), question["checkpointer"])
        steps = [] if server is None else server.steps(question)
        if server is None or server._preserve is None:
            return {"keep": [True] * len(question["checkpoints"])}
        keep = [bool(k) for k in server._preserve(steps)]
        if len(keep) != len(steps):
            raise ValueError(f"should_preserve: want {len(steps)} answers, got {len(keep)}")
        return {"keep": keep}

    return answer


def _tell(ref: Any) -> Callable[[dict[str, Any]], None]:
    def tell(event: dict[str, Any]) -> None:
        server = _find(ref(), event.get("checkpointer", 0))
        if server is not None and server._listener is not None:
            server._listener(event)

    return tell
