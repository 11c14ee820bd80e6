"""The worker processes of a pipeline, which call its sources with `parallel=True`.

    pipeline ─ batches that are wanted ─▶ thread of the pool ─ tasks ─▶ workers ─▶ sources
             ◀─ arrays: views of the shared memory that the workers have filled ─

Functions take the position of what they are asked for, so any worker may call them. An iterable
belongs to one worker. The thread sends tasks and takes results. So an interrupt of the program
never comes between a result and its place.
"""

from __future__ import annotations

import collections
import multiprocessing
import os
import select
import socket
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from bivouac import errors
from bivouac._pipeline import pickling, worker
from bivouac._pipeline.sources import CALLABLE, Group
from bivouac._pipeline.worker import CALL, Raised, Sent, Spec, Task
from bivouac.torch import _start
from bivouac.torch._crew import _TRIES, Crew, _Member
from bivouac.torch._worker import DATA, END, READY

__all__ = ["Pool", "SourceError", "WorkerDied"]

_PAGE = 4096
_GRACE = 1.0  # seconds that calls of sources have when the pipeline ends


class SourceError(errors.BivouacError):
    """A source raised an exception in a worker process: its cause.

    The text has the traceback of the worker.
    """


class WorkerDied(errors.BivouacError, RuntimeError):
    """A worker process ended while it called a source."""

    kind = "died"


class _Entry:
    """An _Entry is a batch of a source that is wanted.

    Attributes:
      call: the number of the call of an iterable. For functions it is 0.
      epoch, iteration: the batch.
      tasks: what workers do for it.
      parts: what they have made, or None.
      left: how many parts are not there.
      sent: the thread has given the tasks to workers.
    """

    __slots__ = ("call", "epoch", "iteration", "left", "parts", "sent", "tasks")

    def __init__(self, call: int, epoch: int, iteration: int, tasks: list[Task]) -> None:
        self.call, self.epoch, self.iteration = call, epoch, iteration
        self.tasks = tasks
        self.parts: list[Any] = [None] * len(tasks)
        self.left = len(tasks)
        self.sent = False

    def set(self, part: int, value: Any) -> bool:
        """Set a part. Report whether it is the last one."""
        if self.parts[part] is None:
            self.parts[part] = value
            self.left -= 1
        return self.left == 0


class _Stop:
    """The end of a source, as a part."""


class _Source:
    """A _Source is a source with the batches of it that are wanted.

    Only the program changes the queue, by single steps after each of which it is right.
    """

    def __init__(self, number: int, group: Group, bound: int | None, parts: int, size: int) -> None:
        self.number, self.group, self.bound = number, group, bound
        self.parts, self.size = parts, size
        self.depth = group.prefetch_queue_depth or 1
        self.entries: collections.deque[_Entry] = collections.deque()
        # The batch that was asked for last, and the number of its call.
        self._at: tuple[tuple[int, int] | None, int] = (None, -1)

    def wanted(self, epoch: int, iteration: int) -> _Entry:
        """Return the entry of a batch. A batch that is asked for twice is the same one."""
        key, entries = (epoch, iteration), self.entries
        if self.bound is None:
            while entries and (entries[0].epoch, entries[0].iteration) != key:
                entries.popleft()
        else:
            if self._at[0] != key:
                self._at = (key, self._at[1] + 1)
            while entries and entries[0].call < self._at[1]:
                entries.popleft()
        if not entries:
            entries.append(self._entry(self._at[1], epoch, iteration))
        return entries[0]

    def fill(self, number: int) -> None:
        """Want as many batches."""
        entries = self.entries
        while len(entries) < number:
            last = entries[-1]
            entries.append(self._entry(last.call + 1, last.epoch, last.iteration + 1))

    def _entry(self, call: int, epoch: int, iteration: int) -> _Entry:
        if self.group.batch:
            at = 0 if self.bound is None else call
            tasks = [Task(self.number, at, epoch, iteration, 0, None, self.size)]
        else:
            share, rest = divmod(self.size, self.parts)
            tasks, first = [], 0
            for i in range(min(self.parts, self.size)):
                samples = share + (i < rest)
                tasks.append(Task(self.number, 0, epoch, iteration, first, samples, self.size))
                first += samples
        return _Entry(call, epoch, iteration, tasks)

    def again(self, repeats: bool = False) -> None:
        """Forget the batches of a function. An iterable goes on behind its last call.

        Args:
          repeats: the last call was not made, so that it is to be made.
        """
        if self.bound is None:
            self.entries.clear()
        elif self._at[1] >= 0 or repeats:
            self._at = (None, self._at[1] - repeats)
            if repeats:
                self.entries.clear()


class _Bell:
    """A _Bell wakes a thread that waits for its descriptor."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def ring(self) -> None:
        """Wake the thread."""
        os.eventfd_write(self.fd, 1)

    def clear(self) -> None:
        """Let the next wait last until the next ring."""
        try:
            os.eventfd_read(self.fd)
        except BlockingIOError:
            pass

    def __del__(self) -> None:
        fd = getattr(self, "fd", None)
        if fd is not None:
            os.close(fd)


class _Team(Crew):
    """A _Team is the workers of a pool, as the thread sees them."""

    def __init__(
        self,
        context: Any,
        specs: list[Spec],
        failed: Callable[[list[int], str | None], set[int]],
    ) -> None:
        self.called: dict[int, tuple[int, float]] = {}  # worker: task, beginning of its call
        self.late: dict[int, int] = {}  # workers that were killed: the task
        self._failed = failed
        super().__init__(context, specs, 0.0)  # type: ignore[arg-type]

    def _start(self, member: _Member, spec: Any) -> None:
        process, ours = _start.start(self._context, worker.run, spec)
        ours.setblocking(False)
        member.process, member.sock, member.pid = process, ours, process.pid

    def begin(self) -> list[bytes]:
        """Wait until all workers have begun, or raise the first failure."""
        failure: Raised | None = None
        for member in self._members:
            self._pump(member, member.has_begun, None)
            failure = failure or member.begun[3]
            member.begun, member.ready = None, True
        if failure is not None:
            raise failed(failure, "a worker process that begins")
        return []

    def _accept(self, member: _Member, message: Any) -> None:
        if message[0] == CALL:
            self.called[member.spec.worker] = message[1], time.monotonic()
            return
        if message[0] != READY:
            self.called.pop(member.spec.worker, None)
        super()._accept(member, message)

    def results(self) -> list[Any]:
        """Return the results that have come."""
        found = []
        for member in self._members:
            while member.inbox:
                found.append(member.inbox.popleft())
                member.tasks.popleft()
                member.deaths = 0
        return found

    def least_busy(self) -> int:
        """Return the worker with the fewest tasks."""
        return min(self._members, key=lambda member: len(member.tasks)).spec.worker

    def until(self, limit: float | None) -> float | None:
        """Return the seconds until a call has lasted too long. Kill the workers with such calls."""
        if limit is None or not self.called:
            return None
        now, left = time.monotonic(), limit
        for number, (seq, began) in list(self.called.items()):
            if now - began < limit:
                left = min(left, limit - (now - began))
                continue
            del self.called[number]
            self.late[number] = seq
            self._members[number].process.kill()
        return left

    def _revive(self, member: _Member) -> None:
        """Replace a worker that has died. Its tasks are given again, but one that killed three."""
        number = member.spec.worker
        pid, process = member.pid, member.process
        self._stop(member)
        member.deaths += 1
        self.called.pop(number, None)
        late = self.late.pop(number, None)
        answered = len(member.inbox)
        tasks = list(member.tasks)[answered:]
        if not member.ready or (not tasks and member.deaths >= _TRIES):
            self._dead = WorkerDied(
                op="Pipeline.start_py_workers",
                subject=f"worker process {pid}",
                got=f"it {_end_of(process)} before a call of a source",
                remedy="look at what it has written to the standard error",
            )
            return
        timed_out = late is not None and bool(tasks) and tasks[0][0] == late
        if tasks and (timed_out or member.deaths >= _TRIES):
            member.deaths = 0
            why = None if timed_out else f"worker process {pid} {_end_of(process)}"
            gone = self._failed([seq for seq, _, _ in tasks], why)
            tasks = [task for task in tasks if task[0] not in gone]
            member.tasks = collections.deque([*list(member.tasks)[:answered], *tasks])
        member.clear()  # what is in the inbox has the slots of the process that died
        self._start(member, member.spec)
        member.passed = 1
        for seq, index, want in tasks:
            self._send(member, (seq, index, want, False, []))

    def close(self) -> None:
        """End the workers. Those that are in a call for more than a second are killed."""
        if os.getpid() == self._pid and not self._closed and not sys.is_finalizing():
            deadline = time.monotonic() + _GRACE
            for member in self._members:
                if member.sock is not None:
                    try:
                        member.sock.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
            for member in self._members:
                if member.process is not None:
                    _start.end(member.process, max(0.0, deadline - time.monotonic()))
        super().close()

    def _fail(self, member: _Member, why: str) -> None:
        self._dead = WorkerDied(subject=f"worker process {member.pid}", got=why or "it has ended")

    def broken(self) -> BaseException | None:
        """Return why the workers do nothing any more, or None."""
        return self._dead


def _end_of(process: Any) -> str:
    """Return how a process has ended."""
    code = process.exitcode if process is not None else None
    if code is None:
        return "has ended"
    return f"was ended by signal {-code}" if code < 0 else f"has ended with status {code}"


def failed(raised: Raised, subject: str) -> SourceError:
    """Return the error of an exception of a source."""
    text = (
        f"{subject}: {raised.name}: {raised.said or '<EMPTY MESSAGE>'}\n\n"
        f"Traceback of the worker process:\n\n{raised.text}"
    )
    made = SourceError(text, subject=subject, got=f"{raised.name}: {raised.said}")
    made.__cause__ = raised.cause()
    return made


class _Engine:
    """An _Engine is what the thread and the pool share. The thread does not refer to the pool.

    Attributes:
      ended: why there are no more results, or None.
    """

    def __init__(self, sources: list[_Source], limit: float | None) -> None:
        self.sources = sources
        self.limit = limit
        self.bell, self.done = _Bell(), _Bell()  # for the thread; for the program
        self.closing = False
        self.ended: BaseException | None = None
        self.used: dict[tuple[int, int], int] = {}  # worker and slot: bytes
        self.team: _Team | None = None
        self._under_way: dict[int, tuple[_Source, _Entry, int]] = {}  # by number of the task
        self._seq = 0

    def ask(self) -> None:
        """Wake the thread if it has not seen all that is wanted."""
        if any(not entry.sent for source in self.sources for entry in source.entries):
            self.bell.ring()

    def serve(self) -> None:
        """Send tasks and take results until the pool is closed. It is the thread."""
        team = self.team
        assert team is not None
        try:
            while not self.closing and team.broken() is None:
                self.bell.clear()
                self._send(team)
                team._turn(team.until(self.limit), self.bell.fd)
                self._take(team)
            self.ended = team.broken()
        except BaseException as err:  # whatever it is, the program must hear of it
            self.ended = err
        self.ended = self.ended or errors.Closed(op="Pipeline", subject="worker processes")
        self.done.ring()
        team.close()

    def _send(self, team: _Team) -> None:
        """Give workers the tasks of batches that are newly wanted."""
        for source in self.sources:
            for entry in tuple(source.entries):
                if entry.sent:
                    continue
                entry.sent = True
                for part, task in enumerate(entry.tasks):
                    to = team.least_busy() if source.bound is None else source.bound
                    self._under_way[self._seq] = source, entry, part
                    team.send(to, self._seq, task, False)
                    self._seq += 1

    def _take(self, team: _Team) -> None:
        """Put results in their places."""
        for result in team.results():
            _, entry, part = self._under_way.pop(result.seq)
            value: Any = result.body
            if result.kind == DATA:
                if result.body[0] >= 0:
                    slot = result.worker, result.body[0]
                    self.used[slot] = max(self.used.get(slot, 0), result.body[1])
                value = result.batch()
            elif result.kind == END:
                value = _Stop
            if entry.set(part, value):
                self.done.ring()

    def fail(self, tasks: list[int], why: str | None) -> set[int]:
        """Fail the first of the tasks of a worker that was lost. Return those not to do again.

        The later calls of an iterable are not to be made before that one.
        """
        source, entry, part = self._under_way[tasks[0]]
        gone = set()
        for seq in tasks:
            other, _, _ = self._under_way[seq]
            if seq == tasks[0] or (other is source and source.bound is not None):
                gone.add(seq)
                del self._under_way[seq]
        if entry.set(part, _Lost(why)):
            self.done.ring()
        return gone


class _Lost:
    """A part that no worker has made: why, or None if its call has lasted too long."""

    def __init__(self, why: str | None) -> None:
        self.why = why


class Pool:
    """A Pool is the workers of a pipeline. It belongs to the process that made it."""

    def __init__(
        self,
        groups: Sequence[Group],
        *,
        workers: int,
        method: str,
        pickler: Any,
        batch_size: int,
        limit: float | None,
    ) -> None:
        """Start the workers.

        Args:
          groups: the sources.
          workers: how many processes.
          method: how they start: "fork", "spawn" or "forkserver".
          pickler: what pickles sources for workers that do not inherit them.
          batch_size: how many samples a batch has.
          limit: how many seconds a call of a source may take, or None.
        """
        context = multiprocessing.get_context(method)
        bound = sum(group.source.kind != CALLABLE for group in groups)
        if bound == len(groups) < workers:
            warnings.warn(
                f"{bound} of {workers} worker processes are started: each iterable belongs to one "
                "worker, and there are no functions",
                stacklevel=4,
            )
            workers = bound
        self._sources: dict[int, _Source] = {}
        order = sorted(groups, key=lambda group: group.source.kind == CALLABLE)
        for number, group in enumerate(order):
            to = number % workers if group.source.kind != CALLABLE else None
            self._sources[id(group)] = _Source(number, group, to, workers, batch_size)
        self._pid = os.getpid()
        self._limit = limit
        self._batch_size = batch_size
        engine = self._engine = _Engine(list(self._sources.values()), limit)
        sent = [_sent(source.group, method, pickler) for source in engine.sources]
        specs = [Spec(i, workers, sent, limit is not None) for i in range(workers)]
        team = engine.team = _Team(context, specs, engine.fail)
        try:
            team.begin()
            threading.Thread(target=engine.serve, name="bivouac-workers", daemon=True).start()
        except BaseException:
            team.close()
            raise
        self.close = weakref.finalize(self, _close, engine, self._pid)

    def pids(self) -> list[int]:
        """Return the process ids of the workers."""
        assert self._engine.team is not None
        return self._engine.team.pids()

    def prefetch(self, epoch: int, iteration: int) -> None:
        """Want a batch of all sources, and those that they make ahead."""
        self._check()
        for source in self._sources.values():
            source.wanted(epoch, iteration)
            source.fill(source.depth)
        self._engine.ask()

    def call(self, group: Group, epoch: int, iteration: int) -> list[Any]:
        """Return the data of a batch for each output that the graph needs, like `Group.call`."""
        self._check()
        source = self._sources[id(group)]
        entry = source.wanted(epoch, iteration)
        source.fill(source.depth)
        self._wait(entry)
        for part in entry.parts:
            if part is _Stop:
                raise StopIteration  # as long as this batch is asked for
            if isinstance(part, Raised):
                source.again()
                raise failed(part, f"source of {group.instances[0].name}")
            if isinstance(part, _Lost):
                source.again(repeats=True)
                raise self._lost(group, part)
        source.fill(source.depth + 1)
        self._engine.ask()
        if group.batch:
            return group.arranged(entry.parts[0])
        return group.arranged([sample for part in entry.parts for sample in part])

    def _lost(self, group: Group, part: _Lost) -> BaseException:
        """Return the error of a batch whose worker was lost."""
        subject = f"source of {group.instances[0].name}"
        if part.why is None:
            return errors.DeadlineExceeded(
                op="Pipeline.run",
                subject=subject,
                want=f"a call of at most {self._limit} s",
                got="one that lasts longer",
                remedy="its worker process was ended; the next run calls it again",
            )
        return WorkerDied(
            op="Pipeline.run",
            subject=subject,
            want="a source that leaves its process alone",
            got=f"{part.why}, as the {_TRIES - 1} before it",
        )

    def _wait(self, entry: _Entry) -> None:
        """Wait until an entry is complete."""
        engine = self._engine
        engine.ask()
        poll = select.poll()
        poll.register(engine.done.fd, select.POLLIN)
        while entry.left:
            if engine.ended is not None:
                engine.done.ring()
                raise engine.ended
            poll.poll()
            engine.done.clear()

    def again(self, group: Group | None = None) -> None:
        """Forget what a source has made, or all: the next call asks for it anew."""
        for source in self._sources.values():
            if group is None or source.group is group:
                source.again()

    def statistics(self) -> dict[str, list[int]]:
        """Return the memory that slots of the workers have, and what that is for a sample."""
        sizes = [-(-size // _PAGE) * _PAGE for size in list(self._engine.used.values())]
        samples = max(1, -(-self._batch_size // len(self.pids())))
        return {"capacities": sizes, "per_sample_capacities": [n // samples for n in sizes]}

    def _check(self) -> None:
        """Raise an error in a forked child."""
        if os.getpid() != self._pid:
            raise errors.Closed(
                op="Pipeline",
                subject="pipeline of the parent process",
                remedy="make a pipeline after the fork",
            )


def _close(engine: _Engine, pid: int) -> None:
    """Have the thread end the workers. It does not wait: a collection must not block."""
    if os.getpid() == pid:
        engine.closing = True
        engine.bell.ring()


def _sent(group: Group, method: str, pickler: Any) -> Sent:
    """Return a source as it goes to workers."""
    source = group.source
    sent = Sent(source.given, source.kind, source.cycle, group.batch_info)
    if method != "fork":
        dumps, options, loads, loading = pickling.pickler_of(pickler)
        sent.given = dumps(source.given, **options)
        sent.loads = loads, loading
    return sent
