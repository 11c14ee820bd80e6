"""Shared memory: arenas that saves are copied into, and the memory of loads."""

from __future__ import annotations

import math
import mmap
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bivouac import _pull, _rooms, _stage, errors

if TYPE_CHECKING:
    from bivouac._call import Call
    from bivouac._client import Connection

__all__ = ["Arena", "Arenas", "Copy", "Lease", "Layout", "copy_all", "map_memory"]

_MOST = 2  # arenas that saves may hold at a time; a third save waits for one of them
_LARGE = 32 << 20  # bytes from which several threads copy
_ALIGN = 64  # of arrays in an arena

Copy = tuple[int, "np.ndarray[Any, Any]", "np.dtype[Any]", "tuple[int, ...]"]
"""A copy to be made: offset, source, type in the arena, shape."""


def map_memory(fds: list[int], size: int) -> mmap.mmap:
    """Map the memfd that came with a call, and close the descriptor. All its pages are mapped."""
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
    memory = mmap.mmap(fds[0], size, flags=flags)
    os.close(fds.pop())
    return memory


class Layout:
    """A Layout is where arrays go in an arena, one behind the other.

    Attributes:
      copies: what is copied.
      size: bytes of the arena.

    Args:
      align: a power of two that the offsets are multiples of.
    """

    def __init__(self, align: int = _ALIGN) -> None:
        self.copies: list[Copy] = []
        self.size = 0
        self._align = align

    def place(self, array: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Find a place for an array. Return its offset and shape, as calls have them."""
        found = {"offset": self.size, "shape": list(array.shape)}
        if array.size:
            target = array.dtype.newbyteorder("<")
            self.copies.append((self.size, array, target, array.shape))
            self.size = (self.size + array.nbytes + self._align - 1) & -self._align
        return found


    def stack(self, arrays: Sequence[np.ndarray[Any, Any]]) -> dict[str, Any]:
        """Find a place for arrays of one shape and type, as one array with a new first axis."""
        first, size = arrays[0], arrays[0].nbytes
        found = {"offset": self.size, "shape": [len(arrays), *first.shape]}
        if size:
            target, shape = first.dtype.newbyteorder("<"), first.shape
            ends = range(self.size, self.size + size * len(arrays), size)
            self.copies += [(at, array, target, shape) for at, array in zip(ends, arrays)]
            self.size = (self.size + size * len(arrays) + self._align - 1) & -self._align
        return found


class Lease:
    """A Lease is the use of an arena by one save.

    It ends with `release`, or when nobody has it any more: an interrupt may have come before its
    owner knew of it. The hook of the save's Call has it until the save needs the arena no more.
    The hook of a pull has it until the side-car writes to the arena no more. The last lease of an
    arena is of the call that gives its memory back.
    """

    __slots__ = ("__weakref__", "arena", "released")

    def __init__(self) -> None:
        self.arena: Arena | None = None
        self.released = False

    @property
    def number(self) -> int:
        """The side-car's number of the arena."""
        assert self.arena is not None
        return self.arena.number

    def hook(self, _: Call, event: str) -> None:
        """Release the arena when the save needs it no more. It is the hook of the save's Call."""
        if event in ("released", "end"):
            self.released = True

    def hold(self, _: Call, event: str) -> None:
        """Do nothing. As the hook of a pull it keeps the lease until the pull has ended.

        An interrupt can come before anything can cancel the pull, and the side-car may carry it
        out after the next one. So no other save may have the arena before that.
        """

    def release(self) -> None:
        """Release the arena. The call that has the hook must not have been sent."""
        self.released = True

    def fill(
        self,
        connection: Connection,
        copies: Sequence[Copy],
        moves: _stage.Moves | None = None,
    ) -> bool:
        """Copy arrays, and tensors on devices, into the arena.

        Return False if the arena is private and the side-car cannot read the arrays.
        """
        assert self.arena is not None
        if self.arena.private:
            return _pull.pull(connection, self.arena.number, copies, self.hold)
        memory = self.arena.map()
        if not moves:
            copy_all(memory, copies)
            return True
        with _stage.Stage() as stage:
            for offset, tensor in moves:
                self.arena.pin(_stage.cuda_of(tensor))
                stage.out(tensor, np.ndarray((tensor.nbytes,), np.uint8, memory, offset))
            copy_all(memory, copies)
        return True


class Arena:
    """An Arena is memory that saves are copied into, one at a time.

    A private arena is memory of the side-car, which reads the arrays itself.
    """

    __slots__ = ("call", "holder", "memory", "number", "pinned", "private", "size", "used")

    def __init__(self, number: int, size: int, private: bool, call: Call) -> None:
        self.number = number
        self.size = size
        self.private = private
        self.call: Call | None = call  # has the descriptor until the arena is mapped
        self.memory: mmap.mmap | None = None
        self.pinned: _stage.Pinned | None = None
        self.holder: Callable[[], Lease | None] | None = None
        self.used = False

    def map(self) -> mmap.mmap:
        """Return the memory, which is mapped at the first use."""
        if self.memory is None:
            assert self.call is not None
            self.memory = map_memory(self.call.fds, self.size)
            self.call = None
        return self.memory

    def pin(self, cuda: Any) -> None:
        """Register the memory with CUDA once, until the arena is given back."""
        if self.pinned is None:
            self.pinned = _stage.Pinned(self.map(), cuda)

    def close(self) -> None:
        """Let go of the memory. No save may use the arena."""
        if self.pinned is not None:
            self.pinned.release()
        try:
            if self.memory is not None:
                self.memory.close()
        except BufferError:
            pass  # a traceback still has a view; the memory goes with it

    def take(self, holder: Callable[[], Lease | None]) -> bool:
        """Give the arena to a lease. Return False if another lease has it."""
        before = self.holder
        lease = None if before is None else before()
        if lease is not None and not lease.released:
            return False
        # No signal handler can run between the comparison and the assignment.
        if self.holder is before:
            self.holder = holder
            return True
        return False

    def busy(self) -> bool:
        """Report whether a lease has the arena."""
        lease = None if self.holder is None else self.holder()
        return lease is not None and not lease.released


class Arenas:
    """Arenas are the arenas of a connection. They are kept from save to save."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._arenas: dict[int, Arena] = {}
        self._lock = threading.RLock()

    def filled(self, size: int, copies: Sequence[Copy], moves: _stage.Moves) -> Lease:
        """Return the lease of an arena of at least `size` bytes, with arrays copied into it.

        Devices copy to an arena that is not private: it is registered with them.
        """
        lease = self.acquire(size, private=not moves)
        if not lease.fill(self._connection, copies, moves):
            lease.release()
            lease = self.acquire(size, private=False)
            lease.fill(self._connection, copies, moves)
        return lease

    def acquire(self, size: int, private: bool = True) -> Lease:
        """Return the lease of an arena of at least `size` bytes.

        It waits while other saves hold all the arenas that there may be. Where the side-car cannot
        read memory of this process, the arena is not private.
        """
        memory = _rooms.argument(self._connection) if private else None
        while True:
            lease = self._take(size, private)
            if lease is not None:
                return lease
            held = self.held()
            if held < _MOST:
                call = self._connection.start(
                    "arena.new", hook=self._made, bytes=size, memory=memory
                )
                call.cancel_on_interrupt = True
                try:
                    call.result()
                    continue
                except errors.Exhausted:
                    held = self.held()
                    if not held:
                        raise
            self._await_fewer(held)

    def held(self) -> int:
        """Return how many arenas are held by saves."""
        return sum([arena.busy() for arena in list(self._arenas.values())])

    def _await_fewer(self, held: int) -> None:
        """Wait until saves hold fewer arenas."""
        self._connection._wait(lambda: self.held() < held, None, {})

    def _made(self, call: Call, event: str) -> None:
        """Take a new arena. It is the hook of arena.new, so an interrupted call leaks nothing."""
        if event == "end" and call.succeeded():
            value = call.value()
            made = Arena(value["arena"], value["bytes"], bool(value.get("private")), call)
            self._arenas.setdefault(made.number, made)

    def _take(self, size: int, private: bool) -> Lease | None:
        """Take a free arena that is large enough, and give the other free ones back."""
        self._connection._look()
        lease = Lease()
        holder = weakref.ref(lease)
        with self._lock:
            for arena in sorted(self._arenas.values(), key=lambda a: a.size):
                fits = arena.size >= size and (private or not arena.private)
                if fits and arena.take(holder):
                    arena.used = True
                    lease.arena = arena
                    break
            for arena in list(self._arenas.values()):
                # An arena that was not used yet is for the thread that asked for it, or was left
                # by an interrupt.
                if arena.used or len(self._arenas) > _MOST:
                    last = Lease()
                    if arena.take(weakref.ref(last)):
                        self._give_back(arena, last)
        return None if lease.arena is None else lease

    def _give_back(self, arena: Arena, last: Lease) -> None:
        """Give the memory of an arena back, which a lease has taken for that.

        The hook of the call has the lease too. So if an interrupt comes before the call is sent,
        the arena is free again; if it comes later, nobody takes the arena, which goes with the end
        of the call.
        """
        last.arena = arena
        self._connection.start(
            "arena.free", hook=lambda _, event: self._freed(last, event), arena=arena.number
        )
        self._arenas.pop(arena.number, None)
        arena.close()

    def _freed(self, last: Lease, event: str) -> None:
        """Forget an arena whose memory was given back."""
        if event == "end":
            self._arenas.pop(last.number, None)


def copy_all(memory: mmap.mmap, copies: Sequence[Copy]) -> None:
    """Copy arrays to their places. numpy lets other Python threads run during large copies."""
    size = sum([source.nbytes for _, source, _, _ in copies])
    threads = min(4, _cores() // 4)
    if size >= _LARGE and threads > 1:
        _copy_in_threads(memory, copies, threads, size)
        return
    rows: Any = None  # places for arrays of one form, back to back
    begin, row, nbytes, form = 0, 0, 0, None
    for offset, source, dtype, shape in copies:
        if not nbytes or (dtype, shape) != form or offset != begin + row * nbytes:
            begin, row, form = offset, 0, (dtype, shape)
            nbytes = math.prod(shape) * dtype.itemsize
            count = (len(memory) - offset) // nbytes if nbytes else 1
            rows = np.ndarray((count, *shape), dtype, memory, offset)
        rows[row] = source
        row += 1


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
        target: Any = np.ndarray(shape, dtype, memory, offset)
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
