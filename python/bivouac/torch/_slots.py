"""Slots: shared memory that a worker writes batches into and the trainer reads them from.

A slot is a memfd that the worker and the trainer map. A batch is a pickle of its structure, the
skeleton, and the bytes of its arrays and tensors in a slot. The trainer's arrays and tensors are
views of the slot. When the last of them is gone, the slot is free, and the worker may use it again.
A batch with few bytes travels in the message instead.

A program may hold as many batches as it has memory for. When it holds half of the slots that a
worker may have, the trainer copies further batches out of their slots. A batch for which the worker
finds no slot at all travels in the message.
"""

from __future__ import annotations

import collections
import copyreg
import ctypes
import io
import mmap
import os
import pickle
import sys
import threading
import weakref
from typing import Any

import numpy as np

__all__ = ["Packed", "Reader", "Writer"]

_RESERVE = 1 << 36  # bytes of address space of a slot; only what is written takes memory
_LEAST = 1 << 26
_ALIGN = 64
_WARM = 8  # free slots of a worker that keep their memory
_SLOTS = 256  # of all workers; each takes a descriptor and address space from the trainer
_LEAST_SLOTS = 4  # of a worker
_INLINE = 16 << 10  # bytes up to which a batch travels in the message
_LARGE = 32 << 10  # bytes of a skeleton from which it travels in the slot

Packed = tuple[int, int, int, Any, Any]
"""A packed batch: slot or -1, bytes used, offset of the skeleton or -1, skeleton, inline bytes."""


def _most(workers: int) -> int:
    """Return how many slots a worker may have."""
    return max(_LEAST_SLOTS, _SLOTS // workers)


class Writer:
    """A Writer is the worker's side: it has the slots, and writes batches into them."""

    def __init__(self, workers: int) -> None:
        self._most = _most(workers)
        self._maps: list[mmap.mmap] = []
        self._free: list[int] = []
        self._current = -1
        self._at = 0
        self._size = 0
        self._base = 0
        self._views: list[Any] = []
        self.made: list[int] = []  # descriptors that the trainer does not have yet
        self._broken = False
        self._reduce: dict[type, Any] = {}

    def release(self, slots: list[int]) -> None:
        """Take back slots that the trainer needs no more. Only some of them keep their memory."""
        for slot in slots:
            if len(self._free) >= _WARM:
                try:
                    self._maps[slot].madvise(mmap.MADV_REMOVE)
                except (OSError, AttributeError):
                    pass
                self._free.insert(0, slot)  # it is the last that is used again
            else:
                self._free.append(slot)

    def place(self, size: int) -> Any:
        """Return memory of the current slot as a buffer, or None if there is none."""
        if self._current < 0 and not self._open():
            return None
        at = self._at
        if at + size > self._size:
            return None
        self._at = (at + size + _ALIGN - 1) & -_ALIGN
        return memoryview(self._maps[self._current])[at : at + size]

    def _open(self) -> bool:
        """Choose a free slot, or make one."""
        if self._free:
            self._current = self._free.pop()
        elif not self._make():
            return False
        memory = self._maps[self._current]
        self._size = len(memory)
        self._base = np.frombuffer(memory, np.uint8, 1).ctypes.data
        self._at = 0
        return True

    def _make(self) -> bool:
        """Make a slot. Without room for it, batches travel in messages."""
        size = _RESERVE
        while not self._broken and len(self._maps) < self._most:
            fd = -1
            try:
                fd = os.memfd_create("bivouac-slot", os.MFD_CLOEXEC)
                os.ftruncate(fd, size)
                self._maps.append(mmap.mmap(fd, size))
            except (OSError, AttributeError):
                if fd >= 0:
                    os.close(fd)
                size >>= 2
                self._broken = size < _LEAST
                continue
            self._current = len(self._maps) - 1
            self.made.append(fd)
            return True
        return False

    def pack(self, batch: Any) -> Packed:
        """Return a batch in its packed form. What lies in the slot already is not copied."""
        file = io.BytesIO()
        pickler = pickle.Pickler(file, pickle.HIGHEST_PROTOCOL)
        pickler.dispatch_table = self._table()
        pickler.dump(batch)
        skeleton: Any = file.getbuffer()
        at = -1
        if len(skeleton) > _LARGE:
            room = self.place(len(skeleton))
            if room is not None:
                at = self._offset(room)
                room[:] = skeleton
                skeleton = len(skeleton)
        if at < 0:
            skeleton = bytes(skeleton)
        slot, used = self._current, self._at
        if slot < 0:
            return -1, 0, -1, skeleton, None
        self._current = -1
        if used <= _INLINE:
            self._free.append(slot)
            return -1, used, -1, skeleton, bytes(memoryview(self._maps[slot])[:used])
        return slot, used, at, skeleton, None

    def drop(self) -> None:
        """Give up what was written of a batch."""
        if self._current >= 0:
            self._free.append(self._current)
            self._current = -1

    def _offset(self, room: memoryview) -> int:
        return int(np.frombuffer(room, np.uint8, 1).ctypes.data) - self._base

    def _table(self) -> dict[type, Any]:
        """Return the reducers of pickle, with those of arrays and tensors."""
        torch = sys.modules.get("torch")
        if not self._reduce or (torch is not None and torch.Tensor not in self._reduce):
            self._reduce = dict(copyreg.dispatch_table)
            self._reduce[np.ndarray] = self._reduce_array
            if torch is not None:
                self._reduce[torch.Tensor] = self._reduce_tensor
        return self._reduce

    def _reduce_array(self, array: Any) -> Any:
        dtype = array.dtype
        if dtype.hasobject or dtype.names is not None or dtype.kind in "Mm" or not array.size:
            return array.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        order = "C"
        if not array.flags.c_contiguous:
            if not array.flags.f_contiguous:
                array = np.ascontiguousarray(array)
            else:
                array, order = array.T, "F"
        offset = self._hold(array.__array_interface__["data"][0], array.nbytes)
        if offset < 0:
            room = self.place(array.nbytes)
            if room is None:
                return (array if order == "C" else array.T).__reduce_ex__(pickle.HIGHEST_PROTOCOL)
            offset = self._offset(room)
            np.copyto(np.frombuffer(room, dtype).reshape(array.shape), array)
        return _array, (dtype.str, array.shape, offset, order)

    def _reduce_tensor(self, tensor: Any) -> Any:
        torch = sys.modules["torch"]
        plain = tensor.layout is torch.strided and tensor.device.type == "cpu"
        if not plain or tensor.requires_grad or not tensor.numel() or tensor.is_quantized:
            return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        if tensor.is_conj() or tensor.is_neg() or tensor.__dict__:
            return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        size = tensor.numel() * tensor.element_size()
        offset = -1
        if tensor.is_contiguous():
            offset = self._hold(tensor.data_ptr(), size)
        if offset < 0:
            room = self.place(size)
            if room is None:
                return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
            offset = self._offset(room)
            torch.frombuffer(room, dtype=tensor.dtype).reshape(tensor.shape).copy_(tensor)
        return _tensor, (str(tensor.dtype)[6:], tuple(tensor.shape), offset)

    def _hold(self, address: int, size: int) -> int:
        """Return where memory lies in the current slot, or -1."""
        at = address - self._base
        if self._current >= 0 and 0 <= at and at + size <= self._at and at % _ALIGN == 0:
            return at
        return -1

    def close(self) -> None:
        """Close the descriptors that were not sent."""
        while self.made:
            os.close(self.made.pop())


_current = threading.local()  # the memory of the batch that is unpickled


def _array(dtype: str, shape: tuple[int, ...], offset: int, order: str) -> Any:
    """Return an array of the batch. It is called by the skeleton's pickle."""
    kind = np.dtype(dtype)
    count = 1
    for n in shape:
        count *= n
    array = np.frombuffer(_current.memory, kind, count, offset).reshape(shape)
    return array if order == "C" else array.T


def _tensor(dtype: str, shape: tuple[int, ...], offset: int) -> Any:
    """Return a tensor of the batch. It is called by the skeleton's pickle."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        torch = __import__("torch")
    count = 1
    for n in shape:
        count *= n
    kind = getattr(torch, dtype)
    flat = torch.frombuffer(_current.memory, dtype=kind, count=count, offset=offset)
    return flat.reshape(shape)


class Reader:
    """A Reader is the trainer's side of the slots of one worker."""

    def __init__(self, workers: int) -> None:
        self._most = _most(workers) // 2
        self._maps: list[mmap.mmap] = []
        self._held: dict[int, Any] = {}
        self._freed: collections.deque[int] = collections.deque()

    def add(self, fd: int) -> None:
        """Map a slot, and close its descriptor."""
        try:
            self._maps.append(mmap.mmap(fd, os.fstat(fd).st_size))
        finally:
            os.close(fd)

    def freed(self) -> list[int]:
        """Return the slots whose last view is gone since the last call."""
        freed = []
        while self._freed:
            slot = self._freed.popleft()
            self._held.pop(slot, None)
            freed.append(slot)
        return freed

    def drop(self, packed: Packed) -> None:
        """Free the slot of a batch that is not unpacked."""
        if packed[0] >= 0:
            self._freed.append(packed[0])

    def unpack(self, packed: Packed) -> Any:
        """Return the batch. Its arrays and tensors are views of the slot, or of a copy."""
        slot, used, at, skeleton, inline = packed
        if slot < 0:
            return _load(skeleton, bytearray(inline) if inline else None)
        if len(self._held) - len(self._freed) >= self._most:
            copy: Any = np.array(np.frombuffer(self._maps[slot], np.uint8, used))
            self._freed.append(slot)
            return _load(memoryview(copy)[at : at + skeleton] if at >= 0 else skeleton, copy)
        memory = (ctypes.c_ubyte * used).from_buffer(self._maps[slot])
        # The callback only appends, so that it never blocks in a collection.
        append = self._freed.append
        self._held[slot] = weakref.ref(memory, lambda _: append(slot))
        if at >= 0:
            skeleton = memoryview(memory)[at : at + skeleton]
        try:
            return _load(skeleton, memory)
        finally:
            del skeleton, memory


def _load(skeleton: Any, memory: Any) -> Any:
    """Unpickle a skeleton."""
    before = getattr(_current, "memory", None)
    _current.memory = memory
    try:
        return pickle.loads(skeleton)
    finally:
        _current.memory = before
