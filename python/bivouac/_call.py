"""Call, a request to the side-car, and what waits for it."""

from __future__ import annotations

import collections
import os
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bivouac import _exit, _wire

if TYPE_CHECKING:
    from bivouac._client import Connection
    from bivouac._rooms import Rooms

__all__ = ["Call", "Failure", "Hook", "Waiter", "guard"]

Failure = Callable[[], BaseException]
Hook = Callable[["Call", str], None]


class Waiter:
    """A thread that waits."""

    __slots__ = ("lock", "thread")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lock.acquire()
        self.thread = threading.get_ident()

    def wake(self) -> None:
        """End the thread's sleep, or its next one."""
        try:
            self.lock.release()
        except RuntimeError:  # it was awake
            pass


class Call:
    """A Call is a request to the side-car that may be under way.

    Attributes:
      op: the operation.
      number: of the call. Calls count from 1.
      accepted: the side-car has accepted the save.
      released: the save no longer needs its arena.
      fds: descriptors that came with the result. Whoever takes one closes it.
      cancel_on_interrupt: an interrupted wait cancels the call.
      origin: returns the exception of this process for which the call has failed, or None.
      rooms: the memory that the side-car writes into; None before the first room.
    """

    __slots__ = (
        "__weakref__",
        "_callbacks",
        "_hook",
        "_on_event",
        "_outcome",
        "_owner",
        "_waiters",
        "accepted",
        "cancel_on_interrupt",
        "fds",
        "number",
        "op",
        "origin",
        "released",
        "rooms",
    )

    def __init__(
        self,
        owner: Connection,
        number: int,
        op: str,
        on_event: Callable[[dict[str, Any]], None] | None,
        hook: Hook | None,
    ) -> None:
        self.op = op
        self.accepted = False
        self.released = False
        self.fds: list[int] = []
        self.rooms: Rooms | None = None
        self.cancel_on_interrupt = False
        self.origin: Callable[[], BaseException | None] | None = None
        self._owner = owner
        self.number = number
        self._on_event = on_event
        self._hook = hook
        self._outcome: tuple[dict[str, Any], Failure | None] | None = None
        self._callbacks: collections.deque[Callable[[Call], None]] = collections.deque()
        self._waiters: dict[Waiter, None] = {}

    def done(self) -> bool:
        """Report whether the call has ended. It does not wait."""
        if self._outcome is None:
            self._owner._look()
        return self._outcome is not None

    def succeeded(self) -> bool:
        """Report whether the call has ended without an error."""
        return self._outcome is not None and self._outcome[1] is None

    def value(self) -> dict[str, Any]:
        """Return the value of a call that has ended."""
        return {} if self._outcome is None else self._outcome[0]

    def failure(self) -> BaseException | None:
        """Return the error that the call ended with, or None. It does not wait."""
        if self._outcome is None or self._outcome[1] is None:
            return None
        return self._outcome[1]()

    def result(self, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the last word of the call. Return its value or raise its error.

        TimeoutError is raised after `timeout` seconds. The call goes on then, and also if the wait
        is interrupted, unless `cancel_on_interrupt` is set.
        """
        if self._outcome is None:
            self._until(lambda: self._outcome is not None, timeout)
        if self._outcome is None:
            raise TimeoutError(f"{self.op}: the call did not end within {timeout} s; it goes on")
        value, failure = self._outcome
        _exit.forget(self)
        if failure is not None:
            own = None if self.origin is None else self.origin()
            raise failure() if own is None else own
        return value

    def wait(self) -> None:
        """Wait for the last word of the call, and until its hook has it.

        An interrupted wait leaves the call alone. An interrupt can come before the hook has the
        word. Then the next wait brings it.
        """
        if not self._told():
            self._owner._wait(self._told, None, self._waiters)

    def _told(self) -> bool:
        """Report whether the call has ended and its hook knows."""
        return self._outcome is not None and self._hook is None

    def wait_accepted(self) -> None:
        """Wait until the side-car has accepted the save, or raise the error that it ended with."""
        self._until(lambda: self.accepted or self._outcome is not None, None)
        if self._outcome is not None and not self.accepted:
            self.result()

    def _until(self, ready: Callable[[], bool], timeout: float | None) -> None:
        """Wait. Cancel the call if the wait is interrupted and the call asks for that."""
        try:
            self._owner._wait(ready, timeout, self._waiters)
        except BaseException:
            if self.cancel_on_interrupt:
                self.cancel()
            raise

    def cancel(self) -> None:
        """Ask the side-car to end the call as soon as it can. The call still has a last word."""
        if self._outcome is None:
            self._owner._send(_wire.CANCEL, {"id": self.number})

    def add_done_callback(self, function: Callable[[Call], None]) -> None:
        """Call `function(call)` after the call has ended.

        It runs in a thread of the client, or at once in this one if the call has ended already.
        """
        if self.done():
            function(self)
            return
        self._callbacks.append(function)
        self._owner._ensure_pump()
        if self._outcome is not None:
            self._owner._give(self)

    def _finish(self, value: dict[str, Any], failure: Failure | None, fds: list[int]) -> None:
        """Take the last word. Taking it twice does no harm."""
        if self._outcome is None:
            if fds:
                self.fds = Descriptors(fds)
            self._outcome = (value, failure)
        hook = self._hook
        if hook is not None:
            hook(self, "end")
            self._hook = None
            self._owner._wake(self._owner._waiters)  # another save may wait for the arena
        if failure is None:
            _exit.forget(self)
        if self._callbacks:
            self._owner._give(self)
        self._owner._wake(self._waiters)

    def _run_callbacks(self) -> None:
        """Run the callbacks that did not run."""
        while self._callbacks:
            try:
                function = self._callbacks.popleft()
            except IndexError:
                return
            guard(function, self)


class Descriptors(list[int]):
    """Descriptors that came with a result. Those that nobody has taken are closed with it."""

    __slots__ = ()

    def __del__(self) -> None:
        while self:
            try:
                os.close(self.pop())
            except OSError:
                pass


def guard(function: Callable[..., Any], *args: Any) -> None:
    """Call a function of the user. Print an exception of it instead of raising it."""
    try:
        function(*args)
    except Exception:
        traceback.print_exc()
