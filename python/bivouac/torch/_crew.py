"""The trainer's side of the workers: it starts them, talks to them, and replaces those that die."""

from __future__ import annotations

import array
import collections
import os
import pickle
import select
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bivouac.torch import _start, _worker
from bivouac.torch._slots import Reader
from bivouac.torch._worker import DATA, END, HEAD, MAP, READY, STATEFUL, STREAMS, WorkerSpec

__all__ = ["Crew", "Result"]

_TRIES = 3  # workers that may die of one task
_WAIT = 5.0  # seconds until a worker that does not end is killed
_RIGHTS = socket.CMSG_SPACE(8 * 4)


class Result:
    """A Result is what a worker made of a task.

    Attributes:
      worker: the worker.
      seq: the number of the task.
      kind: DATA, END or FAILURE.
      raw: the pickled state of the worker after the task, or None.
      body: the packed batch, or the Failure.
    """

    __slots__ = ("_reader", "body", "kind", "raw", "seq", "worker")

    def __init__(self, worker: int, reader: Reader, message: Any) -> None:
        self.worker = worker
        self._reader = reader
        self.kind, self.seq, self.raw, self.body = message

    def batch(self) -> Any:
        """Return the batch."""
        return self._reader.unpack(self.body)

    def drop(self) -> None:
        """Give the memory of a batch back that nobody wants."""
        if self.kind == DATA:
            self._reader.drop(self.body)


class _Member:
    """A _Member is one worker as the trainer sees it."""

    def __init__(self, spec: WorkerSpec) -> None:
        self.spec = spec
        self.process: Any = None
        self.pid = 0
        self.sock: Any = None
        self.kind = MAP
        self.lane = spec.lane  # the state that a replacement begins with
        self.items = 0  # of an iterable without a state, that were delivered
        # Tasks since that state. The first `done` of them were answered.
        self.tasks: collections.deque[tuple[int, Any, bool]] = collections.deque()
        self.done = 0
        self.deaths = 0
        self.ready = False  # it has begun the epoch
        self.again = False  # it begins an epoch after another one
        self.begun: Any = None  # its READY message
        self.passed = 0  # READY messages of a replacement that nobody waits for
        self.inbox: collections.deque[Result] = collections.deque()
        self.clear()

    def has_begun(self) -> bool:
        """Report whether the worker has begun."""
        return self.begun is not None

    def clear(self) -> None:
        """Forget what the process has sent."""
        self.reader = Reader(self.spec.num_workers)
        self.incoming = bytearray()
        self.outgoing = bytearray()
        self.fds: collections.deque[int] = collections.deque()


class Crew:
    """A Crew is the workers of an iterator."""

    def __init__(self, context: Any, specs: list[WorkerSpec], timeout: float) -> None:
        self._context = context
        self._timeout = timeout
        self._members = [_Member(spec) for spec in specs]
        self._dead: RuntimeError | None = None
        self._closed = False
        self._pid = os.getpid()
        for member in self._members:
            self._start(member, member.spec)

    def pids(self) -> list[int]:
        """Return the process ids of the workers."""
        return [member.pid for member in self._members]

    def _start(self, member: _Member, spec: WorkerSpec) -> None:
        """Start the process of a worker."""
        process, ours = _start.start(self._context, _worker.run, spec)
        ours.setblocking(False)
        member.process, member.sock, member.pid = process, ours, process.pid

    def begin(self) -> list[bytes]:
        """Wait until all workers have begun. Return their states, or raise the first failure."""
        states, failure = [], None
        for member in self._members:
            self._pump(member, member.has_begun, None)
            _, member.kind, raw, failed = member.begun
            member.begun, member.ready = None, True
            failure = failure or failed
            states.append(raw)
            if member.again and raw is not None and member.kind == STATEFUL:
                member.lane = pickle.loads(raw)
        if failure is not None:
            failure.reraise()
        return states

    def restart(self) -> list[bytes]:
        """Begin the next epoch with the same processes. Return the states.

        The workers first do the tasks that they have.
        """
        self._check_process()
        for member in self._members:
            while member.done < len(member.tasks):
                result = self.receive(member.spec.worker)
                result.drop()
            member.tasks.clear()
            member.done = member.items = 0
        for member in self._members:
            member.ready, member.again = False, True
            member.spec = replace(member.spec, lane=None, skip_items=0)
            self._send(member, None)
        return self.begin()

    def send(self, worker: int, seq: int, index: Any, want: bool) -> None:
        """Give a task to a worker."""
        member = self._members[worker]
        member.tasks.append((seq, index, want))
        self._send(member, (seq, index, want, False, member.reader.freed()))

    def receive(self, worker: int) -> Result:
        """Return the next result of a worker. It waits."""
        self._check_process()
        member = self._members[worker]
        if not member.inbox:
            self._pump(member, lambda: bool(member.inbox), self._timeout or None)
        return self._take(member)

    def receive_any(self) -> Result:
        """Return the next result of any worker that has a task under way. It waits."""
        self._check_process()
        ready = [m for m in self._members if m.inbox]
        if not ready:
            self._pump(None, lambda: any(m.inbox for m in self._members), self._timeout or None)
            ready = [m for m in self._members if m.inbox]
        return self._take(ready[0])

    def _check_process(self) -> None:
        """Raise an error in a process that was forked from the trainer."""
        if os.getpid() != self._pid:
            raise RuntimeError("the workers of the loader belong to another process")

    def _take(self, member: _Member) -> Result:
        """Take a message, and remember what a replacement of the worker would have to do."""
        result = member.inbox.popleft()
        member.deaths = 0
        member.done += 1
        if member.kind == MAP:
            self._forget(member)
        elif result.raw is not None:
            if member.kind == STREAMS:
                member.lane = {**member.lane, **pickle.loads(result.raw)}
            elif member.kind == STATEFUL:
                member.lane = pickle.loads(result.raw)
            else:
                member.items = pickle.loads(result.raw)[3]
            self._forget(member)
        if result.kind == END:
            member.tasks.clear()  # it passes over them
            member.done = 0
        return result

    def _forget(self, member: _Member) -> None:
        """Forget the tasks that were answered."""
        while member.done:
            member.tasks.popleft()
            member.done -= 1

    def since(self, worker: int) -> int:
        """Return how many tasks a replacement of the worker would have to do."""
        return len(self._members[worker].tasks)

    def _send(self, member: _Member, message: Any) -> None:
        """Send a message. What the socket does not take is sent while waiting."""
        if self._dead is not None:
            return
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        data = HEAD.pack(len(body)) + body
        if member.outgoing:
            member.outgoing += data
            return
        try:
            sent = member.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            return  # it has died, which the next read finds
        if sent < len(data):
            member.outgoing += memoryview(data)[sent:]

    def _pump(
        self, wanted: _Member | None, ready: Callable[[], bool], timeout: float | None
    ) -> None:
        """Read and write until something is ready."""
        if self._dead is not None:
            raise self._dead
        if wanted is not None:
            self._read(wanted)
        deadline = None if timeout is None else time.monotonic() + timeout
        while not ready():
            if self._dead is not None:
                raise self._dead
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._turn(left) and deadline is not None and time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")

    def _turn(self, seconds: float | None, bell: int | None = None) -> bool:
        """Read and write what can be read and written. Return False if nothing came in time.

        Args:
          seconds: how long to wait. None waits until something comes.
          bell: a descriptor that ends the wait when it can be read.
        """
        poll = select.poll()
        if bell is not None:
            poll.register(bell, select.POLLIN)
        by_fd = {}
        for member in self._members:
            if member.sock is None:
                continue
            by_fd[member.sock.fileno()] = member
            out = select.POLLOUT if member.outgoing else 0
            poll.register(member.sock, select.POLLIN | out)
        events = poll.poll(None if seconds is None else seconds * 1000)
        for fd, event in events:
            if fd not in by_fd:
                continue
            if event & select.POLLOUT:
                self._flush(by_fd[fd])
            if event & ~select.POLLOUT:
                self._read(by_fd[fd])
        return bool(events)

    def _flush(self, member: _Member) -> None:
        """Send what waits."""
        try:
            sent = member.sock.send(member.outgoing)
        except (BlockingIOError, OSError):
            return
        member.outgoing = member.outgoing[sent:]

    def _read(self, member: _Member) -> None:
        """Read what a worker has sent."""
        try:
            data, rights, _, _ = member.sock.recvmsg(1 << 18, _RIGHTS)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data, rights = b"", []
        for level, kind, payload in rights:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
                member.fds.extend(fds)
        if not data:
            self._revive(member)
            return
        member.incoming += data
        at, size = 0, 0
        buffer = member.incoming
        while len(buffer) - at >= 8:
            (size,) = HEAD.unpack_from(buffer, at)
            if len(buffer) - at - 8 < size:
                break
            message = pickle.loads(memoryview(buffer)[at + 8 : at + 8 + size])
            at += 8 + size
            self._accept(member, message)
        if at:
            member.incoming = buffer[at:]

    def _accept(self, member: _Member, message: Any) -> None:
        """Take a message in."""
        if message[0] == READY:
            if not member.passed:
                member.begun = message
                return
            member.passed -= 1
            if message[3] is not None:
                self._fail(member, f"its replacement failed: {message[3].text}")
            return
        *result, made = message
        for _ in range(made):
            member.reader.add(member.fds.popleft())
        member.inbox.append(Result(member.spec.worker, member.reader, result))

    def _revive(self, member: _Member) -> None:
        """Replace a worker that has died. Its tasks are given again."""
        self._stop(member)
        member.deaths += 1
        if member.deaths >= _TRIES:
            self._fail(member, "")
            return
        member.clear()  # what is in the inbox has the slots of the process that died
        skip = member.items or member.spec.skip_items
        self._start(member, replace(member.spec, lane=member.lane, skip_items=skip))
        member.passed = int(member.ready or member.again)
        if not member.ready and member.again:
            self._send(member, None)
        answered = member.done + len(member.inbox)
        for i, (seq, index, want) in enumerate(member.tasks):
            self._send(member, (seq, index, want, i < answered, []))

    def _fail(self, member: _Member, why: str) -> None:
        """Give up: every later call raises the error."""
        text = f"DataLoader worker (pid(s) {member.pid}) exited unexpectedly"
        self._dead = RuntimeError(f"{text}: {why}" if why else text)

    def _stop(self, member: _Member) -> None:
        """Close the socket of a worker, and wait for its process."""
        if member.sock is not None:
            try:
                member.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            member.sock.close()
            member.sock = None
        while member.fds:
            os.close(member.fds.popleft())
        process, member.process = member.process, None
        if process is not None:
            _start.end(process, _WAIT)

    def close(self) -> None:
        """End the workers. Batches in hand stay readable."""
        if self._closed or os.getpid() != self._pid or sys.is_finalizing():
            return
        self._closed = True
        self._dead = self._dead or RuntimeError("the workers of the loader were closed")
        for member in self._members:  # all of them end at once
            if member.sock is not None:
                try:
                    member.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        for member in self._members:
            self._stop(member)
