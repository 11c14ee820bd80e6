"""Copies of arrays to memory that the side-car sees, by this thread and one that helps.

numpy lets other Python threads run during a copy. One thread does not use up the speed of the
memory. So where there is a second core, a second thread copies as well.
"""

from __future__ import annotations

import collections
import mmap
import os
import threading
import time
from collections.abc import Sequence

from bivouac._arena import Copy, cores, copy_all, copy_rows

__all__ = ["copy_together"]

_LARGE = 2 << 20  # bytes from which a second thread helps
_PIECE = 1 << 20  # about how many bytes a thread copies before it looks for more
_TURNS = 100  # how often a thread looks whether the other one is done, before it sleeps
_SLEEP = 1e-4  # seconds


class _Job:
    """A _Job is a list of copies. Two threads take pieces of it until there are none."""

    __slots__ = ("_failures", "_hand", "_pieces", "memory")

    def __init__(self, memory: mmap.mmap, copies: Sequence[Copy]) -> None:
        self.memory = memory
        self._pieces = _cut(copies)
        self._hand = threading.Lock()  # held while the helper copies
        self._failures: list[BaseException] = []

    def work(self) -> None:
        """Copy pieces, the first ones first, until all are copied or in the helper's hand."""
        while self._pieces:
            try:
                piece = self._pieces.popleft()
            except IndexError:
                return  # the helper has taken the last one
            copy_rows(self.memory, piece)

    def help(self) -> None:
        """Copy pieces, the last ones first. The helper calls it."""
        try:
            while self._pieces:
                with self._hand:
                    copy_rows(self.memory, self._pieces.pop())
        except IndexError:
            pass  # the other thread has taken the last one
        except BaseException as err:
            self._failures.append(err)

    def end(self) -> None:
        """Leave out what nobody copies yet, and wait until the helper copies nothing.

        It does not take the lock, which an interrupt could leave locked.
        """
        self._pieces.clear()
        turns = 0
        while self._hand.locked():
            time.sleep(0.0 if turns < _TURNS else _SLEEP)
            turns += 1

    def check(self) -> None:
        """Raise the error of the helper, if it has failed."""
        if self._failures:
            raise self._failures[0]


class _Helper:
    """The _Helper is the thread that helps with jobs. It is started at the first one."""

    def __init__(self) -> None:
        self.jobs: list[_Job] = []  # those under way, and those that an interrupt has left
        self._given = threading.Semaphore(0)
        self._thread: threading.Thread | None = None

    def add(self, job: _Job) -> None:
        """Let the thread help with a job. Without one the job is done by its owner alone."""
        self.jobs.append(job)
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="bivouac-copy", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return  # the process may have no further thread
            self._thread = thread
        self._given.release()

    def over(self, job: _Job) -> None:
        """End a job and forget it."""
        job.end()
        if job in self.jobs:
            self.jobs.remove(job)

    def _run(self) -> None:
        job: _Job | None
        while True:
            self._given.acquire()
            for job in self.jobs[:]:
                job.help()
            job = None  # its memory is free with the end of its batch


_helper = _Helper()


def _after_fork() -> None:
    """Forget the thread of the parent in a forked child."""
    global _helper
    _helper = _Helper()


os.register_at_fork(after_in_child=_after_fork)


def copy_together(memory: mmap.mmap, copies: Sequence[Copy]) -> None:
    """Copy arrays to their places in memory, with two threads if they are large.

    An interrupt ends it. Nobody writes to the memory then before it is copied to again.
    """
    helper = _helper
    for left in helper.jobs[:]:
        if left.memory is memory:
            helper.over(left)  # an interrupt came before its end
    if sum([source.nbytes for _, source, _, _ in copies]) < _LARGE or cores() < 2:
        copy_all(memory, copies)
        return
    job = _Job(memory, copies)
    # Ending twice is for an interrupt within the first `finally`.
    try:
        try:
            helper.add(job)
            job.work()
        finally:
            helper.over(job)
    finally:
        if job in helper.jobs:
            helper.over(job)
    job.check()


def _cut(copies: Sequence[Copy]) -> collections.deque[list[Copy]]:
    """Divide copies into pieces. Large arrays are cut along their first axis."""
    pieces: collections.deque[list[Copy]] = collections.deque()
    piece: list[Copy] = []
    filled = 0
    for copy in copies:
        offset, source, dtype, shape = copy
        size = source.nbytes
        if size > 2 * _PIECE and shape and shape[0] > 1 and source.shape == shape:
            row, rows = size // shape[0], max(1, _PIECE * shape[0] // size)
            for at in range(0, shape[0], rows):
                part = source[at : at + rows]
                pieces.append([(offset + at * row, part, dtype, part.shape)])
            continue
        piece.append(copy)
        filled += size
        if filled >= _PIECE:
            pieces.append(piece)
            piece, filled = [], 0
    if piece:
        pieces.append(piece)
    return pieces
