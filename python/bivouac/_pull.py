"""Pulls: the side-car copies arrays of a save out of the memory of this process.

A pull copies as fast as numpy, with several threads, and into memory that may have huge pages: the
first save takes hardly longer than the next ones. Arrays that are small, or whose elements are not
in the order and form of the file, are first put together in a buffer here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bivouac import errors

if TYPE_CHECKING:
    from bivouac._call import Hook
    from bivouac._client import Connection

__all__ = ["pull", "rounds"]

Copy = tuple[int, Any, Any, tuple[int, ...]]

_DIRECT = 16 << 10  # bytes from which an array is read where it lies
_BUFFER = 64 << 20  # bytes that are put together for one call
_PIECES = 20_000  # of one call


def pull(connection: Connection, arena: int, copies: Sequence[Copy], hook: Hook) -> bool:
    """Have the side-car copy arrays into a private arena, and wait for it.

    Return False if the side-car cannot read them: memory of a device, for example. An interrupt
    cancels the call, or comes too early for that. `hook` is of the calls: who has the arena must
    keep it until they have ended.
    """
    for pieces, _ in rounds(copies):
        call = connection.start("arena.pull", hook=hook, arena=arena, pieces=pieces)
        call.cancel_on_interrupt = True
        try:
            call.result()
        except errors.IOError_:
            return False
    return True


Round = tuple[list[list[int]], list[Any]]
"""Pieces for one call, as address, offset and size of each, and the buffers that some lie in."""


def rounds(copies: Sequence[Copy]) -> Iterator[Round]:
    """Divide the copies into calls."""
    pieces: list[list[int]] = []
    buffers: list[Any] = []
    near: list[tuple[int, Any, Any]] = []  # offset, source and target type, for one buffer
    held = 0

    def flush() -> None:
        """Put together what is near."""
        if not near:
            return
        first = near[0][0]
        end = near[-1][0] + near[-1][1].nbytes
        buffer = np.empty(end - first, np.uint8)
        for offset, source, dtype in near:
            target = np.ndarray(source.shape, dtype, buffer.data, offset - first)
            np.copyto(target, source, casting="equiv")
        pieces.append([_address(buffer), first, end - first])
        buffers.append(buffer)
        near.clear()

    for offset, source, dtype, shape in copies:
        if source.nbytes >= _DIRECT and source.flags.c_contiguous and source.dtype == dtype:
            flush()
            pieces.append([_address(source), offset, source.nbytes])
            if len(pieces) >= _PIECES:
                yield pieces, buffers
                pieces, buffers, held = [], [], 0
            continue
        if source.shape != shape:
            source = np.broadcast_to(source, shape)
        for at, part in _parts(source):
            near.append((offset + at, part, dtype))
            held += part.nbytes
            if held >= _BUFFER:
                flush()
                yield pieces, buffers
                pieces, buffers, held = [], [], 0
    flush()
    if pieces:
        yield pieces, buffers


def _parts(source: Any) -> Iterator[tuple[int, Any]]:
    """Cut an array along its first axes into parts of at most about half a buffer."""
    if source.nbytes <= _BUFFER // 2 or source.ndim == 0 or source.shape[0] == 0:
        yield 0, source
        return
    row = source.nbytes // source.shape[0]
    if row > _BUFFER // 2:
        for i in range(source.shape[0]):
            for at, part in _parts(source[i]):
                yield i * row + at, part
        return
    step = max(1, _BUFFER // 2 // row)
    for i in range(0, source.shape[0], step):
        yield i * row, source[i : i + step]


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])
