"""The pump of a connection: a daemon thread that reads, runs callbacks and answers questions.

It runs while a call with callbacks, or a question, can come.
"""

from __future__ import annotations

import collections
import threading
import traceback
from collections.abc import Callable
from typing import Any

from bivouac import _wire, errors
from bivouac._call import Call, Failure, Waiter, guard

__all__ = ["Pump"]


class Pump:
    """The half of a Connection that works in the background."""

    # What the connection has.
    _calls: dict[int, Call]
    _failure: Failure | None
    _listener: Callable[[dict[str, Any]], None] | None
    _pipelines: dict[int, Callable[[Any], None]]
    _writer: _wire.Writer

    def _setup_pump(self) -> None:
        """Begin without a thread."""
        self._asks: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self._apart: set[str] = set()  # questions that are answered in threads of their own
        self._pump: threading.Thread | None = None
        self._pump_lock = threading.RLock()
        self._pump_waiters: dict[Waiter, None] = {}
        self._work: collections.deque[Any] = collections.deque()

    def _wait(
        self, ready: Callable[[], bool], timeout: float | None, others: dict[Waiter, None]
    ) -> bool:
        """Wait until ready(), or the end of the time."""
        raise NotImplementedError

    def _wake(self, waiters: dict[Waiter, None]) -> None:
        """Wake threads."""
        raise NotImplementedError

    def _give(self, work: Any) -> None:
        """Have the pump do work."""
        self._work.append(work)
        self._ensure_pump()
        self._wake(self._pump_waiters)

    def _needs_pump(self) -> bool:
        """Report whether something in the background can come."""
        if self._work or self._pipelines:
            return True
        calls = list(self._calls.values())
        if calls and (self._asks or self._listener is not None):
            return True
        return any(call._callbacks or call._on_event is not None for call in calls)

    def _ensure_pump(self) -> None:
        """Start the pump if it does not run."""
        with self._pump_lock:
            if self._pump is None or not self._pump.is_alive():
                self._pump = threading.Thread(
                    target=self._run_pump, name="bivouac-client", daemon=True
                )
                self._pump.start()

    def _run_pump(self) -> None:
        """Read, and run callbacks, while something can come."""
        ready = lambda: bool(self._work) or self._idle()  # noqa: E731
        while True:
            while self._work:
                self._do(self._work.popleft())
            with self._pump_lock:
                if self._idle():
                    self._pump = None
                    return
            try:
                self._wait(ready, None, self._pump_waiters)
            except errors.BivouacError:
                if not self._work:
                    with self._pump_lock:
                        self._pump = None
                    return

    def _idle(self) -> bool:
        """Report whether the pump may end."""
        return not self._needs_pump()

    def _do(self, work: Any) -> None:
        """Do a piece of work."""
        if isinstance(work, Call):
            work._run_callbacks()
        elif isinstance(work, dict) and work.get("op") in self._apart:
            name = f"bivouac-{work['op']}"
            threading.Thread(target=self._answer, args=(work,), name=name, daemon=True).start()
        elif isinstance(work, dict):
            self._answer(work)
        else:
            guard(work)

    def _answer(self, question: dict[str, Any]) -> None:
        """Answer a question of the side-car."""
        answer: dict[str, Any] = {"ask": question["ask"]}
        function = self._asks.get(str(question.get("op")))
        if question.get("op") == "room":
            function = self._make_room
        try:
            if function is None:
                answer["error"] = f"nobody answers {question.get('op')!r}"
            else:
                answer["value"] = function(question)
            data = _wire.encode(_wire.ANSWER, answer)
        except Exception as err:
            text = f"{type(err).__name__}: {err}"
            if question.get("op") in self._apart and isinstance(err, errors.BivouacError):
                text = str(err)
            else:
                traceback.print_exc()
            answer = {"ask": question["ask"], "error": text}
            data = _wire.encode(_wire.ANSWER, answer)
        if self._failure is None:
            self._writer.send(data)

    def _make_room(self, question: dict[str, Any]) -> dict[str, Any]:
        """Make memory for a load that has not ended."""
        from bivouac._rooms import Rooms

        call = self._calls[question["id"]]
        if call.rooms is None:
            call.rooms = Rooms()
        return {"address": call.rooms.make(question["offset"], question["bytes"])}
