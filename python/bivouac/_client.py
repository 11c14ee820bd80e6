"""The client of the side-car: one connection of a process, and the calls on it.

    connection() -> Connection                   the connection of this process
    Connection.call(op, /, **args) -> dict       call and wait
    Connection.start(op, /, …) -> Call           call and go on
    Connection.on_ask(op, function)              answer questions of the side-car

Threads that wait read the socket themselves. The first of them reads for all and wakes the others;
when it leaves, the next one reads. A daemon thread, the pump, reads and runs callbacks while a call
with callbacks, or a question, can come. Otherwise there is no thread.

An interrupt (KeyboardInterrupt, or any exception of a signal handler) at any instant loses nothing:
see _wire. A signal handler may itself use the connection.
"""

from __future__ import annotations

import collections
import functools
import itertools
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bivouac import _environment, _exit, _process, _wire, errors
from bivouac._call import Call, Failure, Hook, Waiter
from bivouac._pump import Pump

if TYPE_CHECKING:
    from bivouac._arena import Arenas
    from bivouac._rooms import Rooms, Token

__all__ = ["Call", "Connection", "connection"]

_SLICE = 0.1  # seconds after which a waiting thread looks whether it must read itself
_HELLO = 60.0  # seconds that a side-car may take to start


class Connection(Pump):
    """A Connection is a connection to a side-car. It belongs to the process that made it."""

    variables: dict[str, str] | None  # of buckets, as the side-car has them; None if it is shared
    directory: str | None = None  # the working directory of a side-car that is not shared

    def __init__(self) -> None:
        before, directory = _environment.now(), _environment.directory()
        sock, self._process = _process.start()
        self._setup(sock)
        if self._process is not None:
            self.variables, self.directory = before, directory
        try:
            self._hello()
        except BaseException:
            self.close()
            raise

    def _setup(self, sock: socket.socket) -> None:
        """Begin with a connected socket."""
        self.pid = os.getpid()
        self.variables = None
        self.server: dict[str, Any] = {}
        self.arenas: Arenas | None = None
        self.token: Token | None = None
        self.dropped: collections.deque[int] = collections.deque()  # pipelines to be closed
        self._socket = sock
        self._socket_fd = sock.fileno()
        self._poller = self._new_poller()
        self._reader = _wire.Reader(sock)
        self._writer = _wire.Writer(sock)
        self._numbers = itertools.count(1)
        self._calls: dict[int, Call] = {}
        self._failure: Failure | None = None
        self._waiters: dict[Waiter, None] = {}
        self._ending = threading.RLock()
        self._listener: Callable[[dict[str, Any]], None] | None = None
        self._pipelines: dict[int, Callable[[Any], None]] = {}  # that ask for calls of functions
        self._setup_pump()

    def _hello(self) -> None:
        """Exchange the first frames."""
        from bivouac import __version__

        self._send(_wire.HELLO, {"protocol": 1, "version": __version__, "pid": self.pid})
        self._wait(lambda: bool(self.server), _HELLO, {})
        if not self.server:
            raise errors.IOError_(
                op="serve", want=f"an answer of the side-car within {_HELLO:.0f} s", got="none"
            )

    # The interface.

    def call(self, op: str, /, **args: Any) -> dict[str, Any]:
        """Call an operation, wait, and return its value or raise its error.

        If the wait is interrupted, the call is cancelled.
        """
        call = self.start(op, **args)
        call.cancel_on_interrupt = True
        return call.result()

    def start(
        self,
        op: str,
        /,
        *,
        on_event: Callable[[dict[str, Any]], None] | None = None,
        hook: Hook | None = None,
        opens_nothing: bool = False,
        **args: Any,
    ) -> Call:
        """Call an operation and return its Call.

        Args:
          op: an operation of docs/format/serve.md.
          on_event: is called with each event of the call in a thread of the client.
          hook: is called as `hook(call, event)` with "accepted", "released" and "end" by
            whichever thread reads. It must not wait, and may be called twice for one event.
          opens_nothing: no argument can be a URL.
          args: arguments of the operation. Arguments that are None are left out.
        """
        if self._failure is not None:
            raise self._failure()
        args = {key: value for key, value in args.items() if value is not None}
        if not opens_nothing and self.variables is not None and _environment.opens_url(args):
            self._send_variables(self.variables)
        if self.variables is not None and op in _environment.RELATIVE:
            self._send_directory()
        number = next(self._numbers)
        try:
            data = _wire.encode(_wire.CALL, {"id": number, "op": op, "args": args})
        except (ValueError, TypeError, RecursionError) as err:
            raise errors.Invalid(
                f"{op}: an argument cannot be written as JSON: {err}", op=op, got=str(err)
            ) from err
        call = Call(self, number, op, on_event, hook)
        frame = _wire.Frame(data)
        try:
            self._calls[number] = call
            if on_event is not None or self._asks or self._listener is not None:
                self._ensure_pump()
            self._writer.post(frame)
        except BaseException:
            # The call is registered, so it must have a last word: it is sent, and cancelled.
            if number in self._calls:
                self._writer.post(frame)
                call.cancel()
            raise
        if self._failure is not None and call._outcome is None:
            call._finish({}, self._failure, [])
        return call

    def _send_variables(self, before: dict[str, str]) -> None:
        """Tell the side-car which variables of buckets have changed."""
        after = _environment.now()
        if after != before:
            self.call("environment", variables=_environment.changes(before, after))
            self.variables = after

    def _send_directory(self) -> None:
        """Tell the side-car that the working directory has changed."""
        after = _environment.directory()
        if after != self.directory and after is not None:
            self.call("directory", path=after)
            self.directory = after

    def call_with(self, hook: Hook) -> Call | None:
        """Return the call with a hook, unless it has ended."""
        for call in list(self._calls.values()):
            if call._hook == hook:
                return call
        return None

    def on_ask(
        self, op: str, function: Callable[[dict[str, Any]], Any], *, apart: bool = False
    ) -> None:
        """Answer the side-car's questions `op` with `function(question)`.

        The function runs in a thread of the client. Its value is the answer's "value"; if it
        raises, the answer is an error and the side-car decides as if nobody had answered.

        Args:
          op: the operation of the question.
          function: makes the answer.
          apart: True runs each question in a thread of its own, because the function waits. Its
            errors are not printed.
        """
        self._asks[op] = function
        if apart:
            self._apart.add(op)

    def listen(self, pipeline: int, put: Callable[[Any], None]) -> None:
        """Have questions of a pipeline taken by `put((question, descriptors, time))`.

        `put(None)` says that the connection has ended.

        Whichever thread reads calls it, so it must not wait. It may be called twice for a question.
        The pump reads until `unlisten`.
        """
        self._pipelines[pipeline] = put
        self._ensure_pump()

    def unlisten(self, pipeline: int) -> None:
        """Take no further questions of a pipeline."""
        self._pipelines.pop(pipeline, None)

    def on_event(self, function: Callable[[dict[str, Any]], None]) -> None:
        """Call `function(event)` with events that belong to no call, in a thread of the client."""
        self._listener = function

    def alive(self) -> bool:
        """Report whether the connection can be used. A side-car that has ended is noticed."""
        if self._failure is None and not self._waiters:
            try:
                events = self._poller.poll(0)
            except RuntimeError:  # another thread waits
                events = []
            if events:
                self._look()
        return self._failure is None

    def close(self) -> None:
        """End the connection. The side-car finishes the saves that it has accepted, and ends."""
        if self._failure is None and self.pid == os.getpid():
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self._wait(lambda: self._failure is not None, 5.0, {})
        if self._process is not None:
            self._process.reap(1.0)

    # Waiting and reading.

    def _wait(
        self,
        ready: Callable[[], bool],
        timeout: float | None,
        others: dict[Waiter, None],
    ) -> bool:
        """Wait until ready() or the end of the time, and return ready().

        If the connection has ended and ready() is false, its error is raised. `others` is where
        those who make ready() true find whom to wake.
        """
        if ready():
            return True
        deadline = None if timeout is None else time.monotonic() + timeout
        waiter = Waiter()
        # Leaving twice is for an interrupt within the first `finally`.
        try:
            try:
                others[waiter] = None
                self._waiters[waiter] = None
                while not ready():
                    if self._failure is not None:
                        raise self._failure()
                    # A signal handler may take what this thread waits for, and the system call goes
                    # on afterwards: so all of them are short.
                    left = _SLICE
                    if deadline is not None:
                        left = min(left, deadline - time.monotonic())
                        if left <= 0:
                            break
                    if self._first_thread() == waiter.thread:
                        self._step(left)
                    else:
                        waiter.lock.acquire(True, left)
            finally:
                self._leave(waiter, others)
        finally:
            if waiter in self._waiters or waiter in others:
                self._leave(waiter, others)
        return ready()

    def _leave(self, waiter: Waiter, others: dict[Waiter, None]) -> None:
        """Take a waiter out, and wake the one that has to read now."""
        self._waiters.pop(waiter, None)
        others.pop(waiter, None)
        if self._waiters:
            for first in list(self._waiters):
                first.wake()
                break

    def _first_thread(self) -> int | None:
        """Return the thread that has to read: the first that waits."""
        while True:
            try:
                for waiter in self._waiters:
                    return waiter.thread
                return None
            except RuntimeError:  # the dictionary changed
                continue

    def _new_poller(self) -> select.poll:
        """Return a poll object of the socket and the side-car's log."""
        poller = select.poll()
        poller.register(self._socket_fd, select.POLLIN)
        if self._process is not None and self._process.log_fd >= 0:
            poller.register(self._process.log_fd, select.POLLIN)
        return poller

    def _step(self, left: float) -> None:
        """Wait for the socket, not longer than `left` seconds, and handle what comes."""
        if self._writer.pending():
            self._writer.flush()
        if self._dispatch():
            return  # an interrupt came between receiving and handling
        milliseconds = max(1, int(left * 1000))
        try:
            events = self._poller.poll(milliseconds)
        except RuntimeError:  # a signal handler runs in the middle of a poll
            events = self._new_poller().poll(milliseconds)
        for fd, _ in events:
            if fd == self._socket_fd:
                self._reader.receive(wait=False)
                self._dispatch()
            elif self._process is not None and not self._process.read_log():
                self._poller = self._new_poller()

    def _look(self) -> None:
        """Handle what has come, without waiting, unless another thread reads."""
        if self._failure is not None or self.pid != os.getpid():
            return
        waiter = Waiter()
        try:
            try:
                self._waiters[waiter] = None
                if self._first_thread() == waiter.thread:
                    if self._writer.pending():
                        self._writer.flush()
                    if self._process is not None:
                        self._process.read_log()
                    self._dispatch()  # what an interrupt left
                    while self._failure is None and self._reader.receive(wait=False):
                        self._dispatch()
            finally:
                self._leave(waiter, {})
        finally:
            if waiter in self._waiters:
                self._leave(waiter, {})

    def _wake(self, waiters: dict[Waiter, None]) -> None:
        """Wake threads."""
        for waiter in list(waiters):
            waiter.wake()

    def _dispatch(self) -> bool:
        """Handle the frames that were received. Report whether there was something to handle."""
        reader = self._reader
        any_frame = False
        try:
            while (frame := reader.peek()) is not None:
                kind, body, fds, token = frame
                any_frame = True
                try:
                    last = self._handle(kind, body, fds)
                except KeyError:
                    if reader.fresh(token):
                        raise
                    continue  # a signal handler has read it, and ended the call
                reader.done(token)
                if last is not None:
                    self._calls.pop(last, None)
        except (_wire.ProtocolError, ValueError, KeyError, TypeError) as err:
            text = f"serve: the side-car sent what the protocol does not have: {err!r}"
            self._end(functools.partial(errors.Corrupt, text, op="serve"))
            return True
        if reader.ended:
            self._end(None)
            return True
        return any_frame

    def _handle(self, kind: int, body: bytes, fds: list[int]) -> int | None:
        """Handle a frame, maybe for the second time. Return the call that it ends."""
        frame = _wire.decode(body)
        if kind == _wire.RESULT:
            self._calls[frame["id"]]._finish(frame.get("value") or {}, None, fds)
            return int(frame["id"])
        if kind == _wire.ERROR:
            failure = functools.partial(errors._from_wire, frame["error"])
            if frame["id"] == 0:
                self._end(failure)
                return None
            self._calls[frame["id"]]._finish({}, failure, fds)
            return int(frame["id"])
        if kind == _wire.EVENT:
            self._event(frame)
        elif kind == _wire.ASK and frame.get("op") == "function":
            put = self._pipelines.get(frame["pipeline"])
            if put is not None:
                put((frame, fds, time.monotonic()))
            while put is None and fds:
                os.close(fds.pop())
        elif kind == _wire.ASK:
            self._ensure_pump()
            self._give(frame)
        elif kind == _wire.HELLO:
            self.server = frame
        else:
            raise ValueError(f"frame of kind {kind}")
        return None

    def _event(self, frame: dict[str, Any]) -> None:
        """Handle an event."""
        if "id" not in frame:
            if self._listener is not None:
                self._give(functools.partial(self._listener, frame))
            return
        call = self._calls[frame["id"]]
        if frame["event"] == "accepted":
            call.accepted = True
        elif frame["event"] == "released":
            call.released = True
        hook = call._hook
        if hook is not None:
            hook(call, frame["event"])
        if call._on_event is not None:
            self._give(functools.partial(call._on_event, frame))
        self._wake(self._waiters)

    def _end(self, failure: Failure | None) -> None:
        """End the connection: every call ends with an error."""
        with self._ending:
            if self._failure is None:
                if failure is None:
                    failure = self._died()
                for fd in self._reader.abandoned():
                    os.close(fd)
                self._failure = failure
                self._socket.close()
            for call in list(self._calls.values()):
                if call.rooms is not None and not self._reader.ended:
                    _written.append(call.rooms)
                call._finish({}, self._failure, [])
            self._calls.clear()
            for put in list(self._pipelines.values()):
                put(None)  # there are no further questions
            self._pipelines.clear()
            self.arenas = None
        self._wake(self._waiters)

    def _died(self) -> Failure:
        """Return the error of a side-car that has ended."""
        if self._process is None:
            path = os.environ.get(_process.SHARED, "")
            text = f"serve: {path}: the shared side-car ended the connection"
            return functools.partial(errors.Died, text, op="serve", subject=path)
        code = self._process.reap(0.5)
        log = self._process.log()
        how = "ended"
        if code is not None:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit status {code}"
        text = f"serve: the side-car {how}; the next use starts a new one"
        if log:
            text += "; its last lines: " + " | ".join(log.splitlines()[-5:])
        return functools.partial(errors.Died, text, op="serve", exit_code=code, log=log)

    # Sending.

    def _send(self, kind: int, body: dict[str, Any]) -> None:
        """Send a frame. A peer that has gone is noticed by whoever reads."""
        if self._failure is None and self.pid == os.getpid():
            self._writer.send(_wire.encode(kind, body))

    # Fork.

    def _forget(self) -> None:
        """Let go of the parent's connection in a forked child.

        The socket is closed, so that the side-car sees the end of the parent.
        """
        text = "serve: the connection belongs to the parent process; use a new one after a fork"
        self._failure = functools.partial(errors.Closed, text, op="serve")
        self.arenas = None
        self._waiters.clear()
        self._pipelines.clear()
        self._socket.close()
        if self._process is not None:
            self._process.forget()


_written: list[Rooms] = []
"""Rooms of connections that this side has ended. A side-car may still write into them."""

_current: Connection | None = None
_starting = threading.RLock()


def connection() -> Connection:
    """Return the connection of this process. It is made at the first use, and after an end.

    The connection goes to the shared side-car of the environment variable BIVOUAC_SERVE, or else
    to a side-car that is started for this process.
    """
    global _current
    held = _current
    if held is not None and held.alive():
        return held
    with _starting:
        held = _current
        if held is None or not held.alive():
            _exit.register(_close)
            held = _current = Connection()
        return held


def _close() -> None:
    """End the connection of this process, if there is one."""
    global _current
    held, _current = _current, None
    if held is not None and held.pid == os.getpid():
        held.close()


def _after_fork() -> None:
    """Forget the parent's connection and locks in a forked child."""
    global _current, _starting
    held, _current = _current, None
    _starting = threading.RLock()
    if held is not None:
        held._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

if sys.platform != "linux":  # pragma: no cover
    raise ImportError("bivouac: the Python client needs Linux")
