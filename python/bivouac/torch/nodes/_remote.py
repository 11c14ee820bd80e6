"""Calls in worker processes: an item goes there, and the result comes back.

Arrays and tensors pass in slots of shared memory, both ways. A worker that dies is replaced, and
gets the item again.
"""

from __future__ import annotations

import array
import collections
import multiprocessing
import os
import pickle
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

from bivouac import errors
from bivouac.torch import _start
from bivouac.torch._failure import Failure
from bivouac.torch._slots import Reader, Writer
from bivouac.torch._worker import HEAD
from bivouac.torch.nodes._ahead import Caller

__all__ = ["Remote"]

_TRIES = 3  # workers that may die of one item
_WAIT = 5.0  # seconds until a worker that does not end is killed
_CHECK = 500  # milliseconds after which a worker looks whether its parent is alive
_RIGHTS = socket.CMSG_SPACE(8 * 4)


_WORKERS = 8  # a channel has the slots of a worker that is one of so many


class _Gone(Exception):
    """The other end of the socket has ended."""


class Channel:
    """A Channel is one end of a socket. Values pass one at a time, to and fro.

    Args:
      sock: the socket.
      wait: is called before the channel waits for a message.
    """

    def __init__(self, sock: socket.socket, wait: Callable[[], None] | None = None) -> None:
        self.sock = sock
        self._wait = wait
        self._writer, self._reader = Writer(_WORKERS), Reader(_WORKERS)
        self._buffer = bytearray()
        self._fds: collections.deque[int] = collections.deque()

    def send(self, value: Any) -> None:
        """Send a value. What pickle raises comes before anything is sent."""
        try:
            packed = self._writer.pack(value)
        except BaseException:
            self._writer.drop()
            raise
        fds = self._writer.made
        body = pickle.dumps((packed, self._reader.freed(), len(fds)), pickle.HIGHEST_PROTOCOL)
        data = HEAD.pack(len(body)) + body
        try:
            sent = 0
            if fds:
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))
                sent = self.sock.sendmsg([data], [rights])
            if sent < len(data):
                self.sock.sendall(memoryview(data)[sent:])
        except OSError as err:
            raise _Gone from err
        finally:
            self._writer.close()

    def receive(self) -> Callable[[], Any]:
        """Return what makes the next value. It waits for the value."""
        self._fill(HEAD.size)
        (size,) = HEAD.unpack_from(self._buffer)
        self._fill(HEAD.size + size)
        end = HEAD.size + size
        packed, freed, made = pickle.loads(memoryview(self._buffer)[HEAD.size : end])
        self._buffer = self._buffer[end:]
        for _ in range(made):
            self._reader.add(self._fds.popleft())
        self._writer.release(freed)
        return lambda: self._reader.unpack(packed)

    def _fill(self, n: int) -> None:
        """Read until there are n bytes."""
        while len(self._buffer) < n:
            if self._wait is not None:
                self._wait()
            try:
                data, rights, _, _ = self.sock.recvmsg(1 << 18, _RIGHTS)
            except OSError as err:
                raise _Gone from err
            for level, kind, payload in rights:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds = array.array("i")
                    fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
                    self._fds.extend(fds)
            if not data:
                raise _Gone
            self._buffer += data

    def close(self) -> None:
        """Close the socket. Values that came over it stay readable."""
        self.sock.close()
        while self._fds:
            os.close(self._fds.popleft())


def _serve(sock: socket.socket, function: Callable[[Any], Any], where: str) -> None:
    """Run a worker until the trainer closes the socket."""
    _start.begin(sock)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    channel = Channel(sock, _parent_watch(sock))
    try:
        while True:
            make = channel.receive()
            answer: Any
            try:
                answer = function(make())
            except BaseException as err:
                answer = Failure(err, where)
            del make
            try:
                channel.send(answer)
            except _Gone:
                return
            except Exception as err:  # pickle refuses the result
                channel.send(Failure(err, where))
            del answer
    except _Gone:
        return


def _parent_watch(sock: socket.socket) -> Callable[[], None]:
    """Return a function that waits for a message, and raises _Gone if the trainer is dead.

    A process that the trainer has forked may hold the trainer's end of the socket open.
    """
    begun, poll, fd = os.getppid(), select.poll(), sock.fileno()
    poll.register(fd, select.POLLIN)
    parent = multiprocessing.parent_process()
    if parent is not None and parent.sentinel is not None:
        poll.register(parent.sentinel, select.POLLIN)

    def wait() -> None:
        while True:
            ready = poll.poll(_CHECK)
            if any(found == fd for found, _ in ready):
                return
            if ready or os.getppid() != begun:
                raise _Gone

    return wait


def _process_watch(sock: socket.socket, process: Any) -> Callable[[], None]:
    """Return a function that waits for a message, and raises _Gone if the worker is dead.

    A process that the program forked while the worker was started may hold the worker's end open.
    """
    poll = select.poll()
    poll.register(sock, select.POLLIN)

    def wait() -> None:
        while not poll.poll(_CHECK):
            if process.exitcode is not None:
                raise _Gone

    return wait


class Remote(Caller):
    """A Remote calls a function in a worker process of its own.

    One thread calls it. `interrupt` may be called in any thread.

    Args:
      context: the context of multiprocessing.
      function: the function.
      where: where its exceptions are caught, as their text says it.
    """

    def __init__(self, context: Any, function: Callable[[Any], Any], where: str) -> None:
        self._context, self._function, self._where = context, function, where
        self._channel: Channel | None = None
        self._process: Any = None
        self._interrupted = False
        self._ending = threading.Lock()
        self._start()

    @property
    def pid(self) -> int:
        """The process id of the worker."""
        return int(self._process.pid)

    def _start(self) -> None:
        """Start the worker."""
        self._process, sock = _start.start(
            self._context, _serve, self._function, self._where
        )
        self._channel = Channel(sock, _process_watch(sock, self._process))

    def __call__(self, item: Any) -> Any:
        """Return what the function makes of an item, or the Failure of what it raises."""
        deaths: list[str] = []
        while len(deaths) < _TRIES and not self._interrupted:
            if self._channel is None:
                self._start()
            assert self._channel is not None
            try:
                self._channel.send(item)
                make = self._channel.receive()
            except _Gone:
                pid = self.pid
                deaths.append(f"process {pid}: {_ending(self._end())}")
                continue
            return make()
        raise errors.Died(
            op="ParallelMapper",
            subject="worker",
            want="a result of map_fn",
            got=f"the end of {len(deaths)} workers with the same item: " + ", ".join(deaths),
            remedy="look for a signal, a lack of memory, or a crash in map_fn",
        )

    def _end(self) -> int | None:
        """Close the socket, and wait for the process. Return its exit code."""
        with self._ending:
            channel, self._channel = self._channel, None
            process, self._process = self._process, None
        if channel is not None:
            channel.close()
        return None if process is None else _start.end(process, _WAIT)

    def interrupt(self) -> None:
        """Make the call that is under way end, and all later ones fail. It never waits."""
        self._interrupted = True
        channel = self._channel
        if channel is not None:
            try:
                channel.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        """End the worker, and wait for it."""
        self._interrupted = True
        self._end()


def _ending(code: int | None) -> str:
    """Return what an exit code says."""
    if code is not None and code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"
