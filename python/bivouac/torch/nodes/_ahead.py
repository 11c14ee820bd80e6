"""Reading ahead: a thread reads a source, others call a function, and the consumer takes results.

The state is a snapshot of the source, and how many of its items count since then. A snapshot is
taken behind an item and travels with it. It counts when the item is delivered.

Threads refer to the source and to a Line, but not to the iterator of the consumer. So they end when
the program drops the iterator.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import multiprocessing.util  # noqa: F401  # its exit handler must run after the one of this module
import os
import queue
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from bivouac import errors
from bivouac.torch._failure import Failure
from bivouac.torch._state import AHEAD, OUT_OF_ORDER
from bivouac.torch.nodes._document import member, too_short
from bivouac.torch.nodes.base_node import BaseNode, T

__all__ = ["SINCE", "SNAPSHOT", "Ahead", "Call", "Caller", "Plan"]

SNAPSHOT = "snapshot"
SINCE = "steps_since_snapshot"

_VALUE, _PASSED, _FAILED, _END = range(4)
_EXIT = 1.0  # seconds that the threads have to end when the program ends

Call = Callable[[Any], Any]
"""A function over items: of the user, or a Caller."""


class Caller:
    """A Caller is a function that has something to end. It may return a Failure."""

    def __call__(self, item: Any) -> Any:
        """Return the result, or the Failure of what raised an exception elsewhere."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """Make calls end. It never waits."""

    def close(self) -> None:
        """End what belongs to the function, and wait for it."""


@dataclass(frozen=True)
class Plan:
    """A Plan is how a source is read ahead.

    Attributes:
      name: the name of the node that reads ahead, for texts. The threads must not refer to the
        node itself.
      limit: most items that are read and not delivered.
      every: items from snapshot to snapshot. 0 takes one at the beginning only.
      reading: where a failure of the source is caught, as its text says it.
      starting: where a failure of the first snapshot is caught.
      calling: where a failure of a call is caught.
      calls: a function for each thread that calls it. Without any, the reader delivers the items.
      in_order: deliver items in the order of the source.
      prepare: is called in the reader at its beginning.
      change: is called in the reader for each item.
    """

    name: str
    limit: int
    every: int
    reading: str
    starting: str
    calling: str = ""
    calls: Sequence[Call] = ()
    in_order: bool = True
    prepare: Callable[[], None] | None = None
    change: Call | None = None


class Line:
    """A Line is what the threads and the consumer share."""

    def __init__(self, plan: Plan) -> None:
        self.calls = plan.calls
        self.permits: queue.SimpleQueue[bool] = queue.SimpleQueue()
        for _ in range(plan.limit):
            self.permits.put(True)
        self.tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.done: dict[int, tuple[int, Any, Any]] = {}
        self.arrived: collections.deque[int] | None = None if plan.in_order else collections.deque()
        self.bell = threading.Event()
        self.stopped = False
        self.threads: list[threading.Thread] = []
        self.pid = os.getpid()

    def start(self, name: str, function: Callable[..., None], *args: Any) -> None:
        """Start a thread."""
        thread = threading.Thread(target=function, args=(self, *args), name=name, daemon=True)
        thread.start()
        self.threads.append(thread)

    def put(self, at: int, kind: int, item: Any = None, snapshot: Any = None) -> None:
        """Hand a result to the consumer."""
        if self.stopped:
            return
        self.done[at] = (kind, item, snapshot)
        if self.arrived is not None:
            self.arrived.append(at)
        self.bell.set()

    def stop(self) -> None:
        """Tell the threads to end. It never waits, because the garbage collector may call it."""
        if self.stopped or self.pid != os.getpid():
            return
        self.stopped = True
        self.permits.put(False)
        for call in self.calls:
            self.tasks.put(None)
            if isinstance(call, Caller):
                call.interrupt()
        self.done.clear()


_lines: weakref.WeakSet[Line] = weakref.WeakSet()


@atexit.register
def _finish() -> None:
    """End all threads before the interpreter does."""
    lines = [line for line in list(_lines) if line.pid == os.getpid()]
    for line in lines:
        line.stop()
    deadline = time.monotonic() + _EXIT
    for line in lines:
        for thread in line.threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _read(line: Line, source: BaseNode[Any], plan: Plan, at: int, passed: frozenset[int]) -> None:
    """Read the source: the thread of the reader. Items in `passed` were delivered before."""
    if plan.prepare is not None:
        try:
            plan.prepare()
            line.put(-1, _VALUE)
        except BaseException as err:
            line.put(-1, _FAILED, Failure(err, plan.starting, travels=False))
            return
    try:
        while line.permits.get() and not line.stopped:
            item = next(source)
            if plan.change is not None:
                item = plan.change(item)
            due = plan.every > 0 and (at + 1) % plan.every == 0
            snapshot = source.state_dict() if due else None
            if at in passed:
                line.put(at, _PASSED, None, snapshot)
            elif plan.calls:
                line.tasks.put((at, item, snapshot))
            else:
                line.put(at, _VALUE, item, snapshot)
            del item, snapshot
            at += 1
    except StopIteration:
        line.put(at, _END)
    except BaseException as err:
        line.put(at, _END, Failure(err, plan.reading, travels=False))


def _work(line: Line, call: Call, where: str) -> None:
    """Call a function over items: the thread of a worker."""
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)  # of this thread, as in torchdata
    try:
        while not line.stopped and (task := line.tasks.get()) is not None:
            at, item, snapshot = task
            try:
                item = call(item)
            except BaseException as err:
                item = Failure(err, where, travels=False)
            line.put(at, _FAILED if isinstance(item, Failure) else _VALUE, item, snapshot)
            del task, item, snapshot
    finally:
        if isinstance(call, Caller):
            call.close()


class Ahead(Iterator[T]):
    """An Ahead is the consumer of a source that is read ahead.

    Args:
      source: the source. The Ahead resets it.
      plan: how it is read.
      initial_state: a state to go on from.
    """

    def __init__(
        self, source: BaseNode[Any], plan: Plan, initial_state: dict[str, Any] | None
    ) -> None:
        self._plan = plan
        self._line: Line | None = None
        snapshot, steps = None, 0
        if initial_state is not None:
            snapshot = member(initial_state, SNAPSHOT, plan.name)
            steps = member(initial_state, SINCE, plan.name)
        ahead = _ahead_of(initial_state, steps, plan)
        source.reset(snapshot)
        self._next = 0  # the item that is awaited; out of order: the first that is not settled
        self._counted = 0  # items up to the last one that was delivered
        self._end = -1  # the end of the source, out of order
        self._settled: set[int] = set()  # items from _next on, out of order
        self._shots: dict[int, Any] = {}  # snapshots behind some of them
        self._shot: tuple[Any, int] = (self._first_snapshot(source), 0)
        self._pass(source, steps - len(ahead), steps)
        passed = frozenset(self._next + offset for offset in ahead)
        line = self._line = Line(plan)
        _lines.add(line)
        try:
            line.start(f"{plan.name}-reader", _read, source, plan, self._next, passed)
            for i, call in enumerate(plan.calls):
                line.start(f"{plan.name}-{i}", _work, call, plan.calling)
            if plan.prepare is not None:
                self._await_start(line)
        except BaseException:
            line.stop()
            raise

    def _first_snapshot(self, source: BaseNode[Any]) -> Any:
        """Return the state of the source at the beginning."""
        every = self._plan.every
        try:
            if not (isinstance(every, int) and every >= 0):
                raise AssertionError(
                    f"snapshot_frequency must be non-negative integer! Got {every}"
                )
            return source.state_dict()
        except Exception as err:
            Failure(err, self._plan.starting, travels=False).reraise()

    def _pass(self, source: BaseNode[Any], n: int, steps: int) -> None:
        """Read n items that count, and leave them out."""
        for _ in range(n):
            try:
                next(source)
                self._next = self._counted = self._next + 1
                if self._plan.every > 0 and self._next % self._plan.every == 0:
                    self._keep(source.state_dict(), self._next)
            except StopIteration:
                raise too_short(steps, self._next) from None
            except Exception as err:
                Failure(err, self._plan.reading, travels=False).reraise()

    def _await_start(self, line: Line) -> None:
        """Wait until the reader has begun."""
        while -1 not in line.done:
            line.bell.clear()
            if -1 not in line.done:
                line.bell.wait()
        kind, failure, _ = line.done.pop(-1)
        if kind == _FAILED:
            failure.reraise()

    def _keep(self, snapshot: Any, at: int) -> None:
        """Take a snapshot behind an item over. An empty one does not count, as in torchdata."""
        if snapshot:
            self._shot = (snapshot, at)

    def __iter__(self) -> Ahead[T]:
        return self

    def __next__(self) -> T:
        line = self._line
        assert line is not None
        if line.pid != os.getpid():
            raise errors.Closed(
                op=self._plan.name,
                subject="threads",
                want="the process that has begun the epoch",
                got="a process that was forked from it",
                remedy="make the node, or begin the epoch, in the process that reads it",
            )
        return self._in_order(line) if line.arrived is None else self._any(line)

    # A KeyboardInterrupt may come between any two lines of the following. So a result stays in the
    # line until everything is noted, and what is noted does not depend on what was noted before.

    def _in_order(self, line: Line) -> T:
        """Return the next item of the source."""
        while not line.stopped:
            at = self._next
            entry = line.done.get(at)
            if entry is None:
                line.bell.clear()
                if at not in line.done:
                    line.bell.wait()
                continue
            kind, item, snapshot = entry
            if kind == _END:
                _end(line, item)
            line.permits.put(True)
            if kind != _FAILED:
                self._counted = at + 1
                self._keep(snapshot, at + 1)
            self._next = at + 1
            line.done.pop(at, None)
            if kind == _FAILED:
                item.reraise()
            if kind == _VALUE:
                value: T = item
                return value
        raise StopIteration

    def _any(self, line: Line) -> T:
        """Return an item that has come."""
        assert line.arrived is not None
        while not line.stopped:
            if self._next == self._end:
                _end(line, line.done[self._end][1])
            if not line.arrived:
                line.bell.clear()
                if not line.arrived:
                    line.bell.wait()
                continue
            at = line.arrived[0]
            entry = line.done.get(at)
            if entry is None or at in self._settled or at < self._next:
                line.arrived.popleft()  # it was noted before an interrupt
                continue
            kind, item, snapshot = entry
            if kind == _END:
                self._end = at
                line.arrived.popleft()
                continue
            line.permits.put(True)
            if snapshot:
                self._shots[at + 1] = snapshot
            self._settled.add(at)
            self._advance()
            line.done.pop(at, None)
            line.arrived.popleft()
            if kind == _FAILED:
                item.reraise()
            if kind == _VALUE:
                value: T = item
                return value
        raise StopIteration

    def _advance(self) -> None:
        """Move on over items that are settled."""
        while self._next in self._settled:
            at = self._next + 1
            if at in self._shots:
                self._shot = (self._shots[at], at)
                del self._shots[at]
            self._counted = self._next = at
            self._settled.discard(at - 1)

    def get_state(self) -> dict[str, Any]:
        """Return the state. It covers the items that were delivered.

        Items that were delivered before their turn are in a member that torchdata ignores.
        """
        snapshot, at = self._shot
        ahead = sorted(i - self._next for i in self._settled)
        state = {SNAPSHOT: snapshot, SINCE: self._counted - at + len(ahead)}
        if ahead:
            state[OUT_OF_ORDER] = {AHEAD: ahead}
        return state

    def close(self) -> None:
        """End the threads, and wait for the one that reads the source."""
        line = self._line
        if line is None:
            return
        line.stop()
        if line.pid == os.getpid():
            for thread in line.threads[:1]:
                thread.join()  # Ctrl-C may end it: the next call waits again
        self._line = None

    def __del__(self) -> None:
        line = getattr(self, "_line", None)
        if line is not None:
            with contextlib.suppress(Exception):
                line.stop()


def _end(line: Line, failure: Failure | None) -> NoReturn:
    """End the epoch, because the source has ended or failed."""
    line.stop()
    if failure is not None:
        failure.reraise()
    raise StopIteration


def _ahead_of(state: dict[str, Any] | None, steps: int, plan: Plan) -> list[int]:
    """Return which items of a state were delivered before their turn."""
    extra = None if state is None else state.get(OUT_OF_ORDER)
    if extra is None:
        return []
    ahead: list[int] = list(member(extra, AHEAD, plan.name))
    if len(ahead) > steps or any(not isinstance(i, int) or i < 1 for i in ahead):
        raise errors.Corrupt(
            op=f"{plan.name}.reset",
            subject=f"state: {OUT_OF_ORDER}",
            want=f"at most {steps} numbers from 1",
            got=str(ahead),
        )
    return ahead
