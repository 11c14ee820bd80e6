"""The memory in which the side-car hands out batches and values."""

from __future__ import annotations

import collections
import ctypes
import mmap
import weakref
from typing import Any

from bivouac._arena import map_memory
from bivouac._call import Call

__all__ = ["Slots"]


class Slots:
    """The memory of batches, as the side-car numbers it."""

    def __init__(self) -> None:
        self._maps: dict[int, mmap.mmap] = {}
        self._held: dict[int, Any] = {}
        self._freed: collections.deque[int] = collections.deque()

    def freed(self) -> list[int]:
        """Return the slots that no view has any more. They are the side-car's again."""
        freed: list[int] = []
        while self._freed:
            slot = self._freed.popleft()
            self._held.pop(slot, None)
            freed.append(slot)
        return freed

    def unsent(self, freed: list[int]) -> None:
        """Take back slots of a call that was not sent."""
        self._freed.extend(freed)

    def memory(self, call: Call, value: dict[str, Any]) -> Any:
        """Return the memory of a batch. It is held until the last view of it is gone."""
        slot, size = value["slot"], value["bytes"]
        for number in value.get("gone", []):
            self._maps.pop(number, None)
        if call.fds:
            self._maps[slot] = map_memory(call.fds, size)
        memory = (ctypes.c_ubyte * size).from_buffer(self._maps[slot])
        # The callback only appends, so that it never blocks in a collection.
        append = self._freed.append
        self._held[slot] = weakref.ref(memory, lambda _: append(slot))
        return memory
