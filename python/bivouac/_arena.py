"""Shared memory: arenas that saves are copied into, and the memory of loads."""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bivouac import errors

if TYPE_CHECKING:
    from bivouac._client import Connection

__all__ = ["Arena", "Arenas", "Copy", "copy_all", "map_memory"]

_MOST = 2  # arenas that saves may hold at a time; a third save waits for one of them
_LARGE = 32 << 20  # bytes from which several threads copy

Copy = tuple[int, "np.ndarray[Any, Any]", "np.dtype[Any]", "tuple[int, ...]"]
"""A copy to be made: offset, source, type in the arena, shape."""


def map_memory(fd: int, size: int) -> mmap.mmap:
    """Map a memfd that the side-car made, and close the descriptor. All its pages are mapped."""
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
    try:
        return mmap.mmap(fd, size, flags=flags)
    finally:
        os.close(fd)


class Arena:
    """An Arena is memory that a save is copied into."""

    __slots__ = ("busy", "memory", "number", "size")

    def __init__(self, number: int, memory: mmap.mmap, size: int) -> None:
        self.number = number
        self.memory = memory
        self.size = size
        self.busy = True

    def hook(self, event: str) -> None:
        """Note that the save no longer needs the arena. It is the hook of the save's Call."""
        if event in ("released", "end"):
            self.busy = False

    def fill(self, copies: Sequence[Copy]) -> None:
        """Copy arrays into the arena."""
        copy_all(self.memory, copies)


class Arenas:
    """Arenas are the arenas of a connection. They are kept from save to save."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._arenas: list[Arena] = []
        self._lock = threading.RLock()

    def acquire(self, size: int) -> Arena:
        """Return an arena of at least `size` bytes for one save, which frees it with its hook.

        It waits while other saves hold all the arenas that there may be.
        """
        while True:
            arena = self._take(size)
            if arena is not None:
                return arena
            if self._held() < _MOST:
                try:
                    return self._make(size)
                except errors.Exhausted:
                    if not self._held():
                        raise
            self._await_fewer(self._held())

    def _await_fewer(self, held: int) -> None:
        """Wait until saves hold fewer arenas."""
        self._connection._wait(lambda: self._held() < held, None, {})

    def _held(self) -> int:
        """Return how many arenas are held by saves."""
        return sum([arena.busy for arena in self._arenas])

    def _take(self, size: int) -> Arena | None:
        """Take a free arena that is large enough, and give the other free ones back."""
        self._connection._look()
        with self._lock:
            found: Arena | None = None
            for arena in sorted(self._arenas, key=lambda a: a.size):
                if arena.size >= size and not arena.busy:
                    arena.busy = True
                    found = arena
                    break
            for arena in list(self._arenas):
                if not arena.busy:
                    self._give_back(arena)
        return found

    def _make(self, size: int) -> Arena:
        """Return a new arena."""
        call = self._connection.start("arena.new", bytes=size)
        call.cancel_on_interrupt = True
        value = call.result()
        memory = map_memory(call.fds.pop(), value["bytes"])
        arena = Arena(value["arena"], memory, value["bytes"])
        self._arenas.append(arena)
        return arena

    def _give_back(self, arena: Arena) -> None:
        """Give the memory of a free arena back."""
        self._arenas.remove(arena)
        self._connection.start("arena.free", arena=arena.number)
        try:
            arena.memory.close()
        except BufferError:
            pass  # a traceback still has a view; the memory goes with it


def copy_all(memory: mmap.mmap, copies: Sequence[Copy]) -> None:
    """Copy arrays to their places. numpy lets other Python threads run during large copies."""
    size = sum([source.nbytes for _, source, _, _ in copies])
    threads = min(4, _cores() // 4)
    if size >= _LARGE and threads > 1:
        _copy_in_threads(memory, copies, threads, size)
        return
    ndarray, copyto = np.ndarray, np.copyto
    for offset, source, dtype, shape in copies:
        copyto(ndarray(shape, dtype, memory, offset), source, casting="equiv")


def _copy_in_threads(
    memory: mmap.mmap, copies: Sequence[Copy], threads: int, size: int
) -> None:
    """Copy with several threads. Large arrays are cut along their first axis."""
    piece = max(size // (threads * 4), 4 << 20)
    tasks: list[list[tuple[Any, Any]]] = [[]]
    filled = 0
    for offset, source, dtype, shape in copies:
        if source.size == 0:
            continue
        target = np.ndarray(shape, dtype, memory, offset)
        rows = shape[0] if shape and source.shape == shape else 1
        step = rows
        if source.nbytes > piece and rows > 1:
            step = max(1, rows * piece // source.nbytes)
        for row in range(0, rows, step):
            if step < rows:
                part = slice(row, row + step)
                tasks[-1].append((target[part], source[part]))
            else:
                tasks[-1].append((target, source))
            filled += source.nbytes * step // rows
            if filled >= piece:
                tasks.append([])
                filled = 0
    failures: list[BaseException] = []

    def work() -> None:
        try:
            while tasks and not failures:
                for target, source in tasks.pop():
                    np.copyto(target, source, casting="equiv")
        except IndexError:
            pass  # another thread took the last task
        except BaseException as err:
            failures.append(err)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads - 1)]
    try:
        for worker in workers:
            worker.start()
        work()
    finally:
        # After an interrupt, nobody may write to the arena any more.
        tasks.clear()
        for worker in workers:
            if worker.ident is not None:
                worker.join()
    if failures:
        raise failures[0]


def _cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # pragma: no cover
        return os.cpu_count() or 1
