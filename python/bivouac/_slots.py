"""The memory in which the side-car hands out batches and values."""

from __future__ import annotations

import collections
import ctypes
import functools
import mmap
import os
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

    def memory(self, slot: int) -> mmap.mmap:
        """Return the memory of a slot that this process has mapped."""
        return self._maps[slot]

    def room(self, call: Call, value: dict[str, Any]) -> int:
        """Map the room that a call has brought, and return its slot.

        After an interrupt the method is called again.
        """
        for number in value.get("gone", []):
            self._maps.pop(number, None)
        use = value["room"]
        slot: int = use["slot"]
        if use.get("new") and slot not in self._maps:
            self._maps[slot] = map_memory(call.fds, use["bytes"])
        while call.fds:
            os.close(call.fds.pop())
        return slot

    def take(self, call: Call, value: dict[str, Any], taken: dict[int, Any]) -> None:
        """Put the memory of the slots of a batch into `taken`, by their numbers.

        A slot is held until the last view of its memory is gone. After an interrupt the method is
        called again, with the same `taken`.
        """
        for number in value.get("gone", []):
            self._maps.pop(number, None)
        new = 0
        for use in value["slots"]:
            slot, size = use["slot"], use["bytes"]
            if use.get("new"):
                if slot not in self._maps:
                    self._maps[slot] = mmap.mmap(call.fds[new], size)
                new += 1
            if slot not in taken:
                taken[slot] = (ctypes.c_ubyte * size).from_buffer(self._maps[slot])
            # The callback only appends, so that it never blocks in a collection.
            note = functools.partial(_note_freed, self._freed, slot)
            self._held[slot] = weakref.ref(taken[slot], note)
        while call.fds:
            os.close(call.fds.pop())


def _note_freed(freed: collections.deque[int], slot: int, _: Any) -> None:
    """Note that the last view of a slot is gone."""
    freed.append(slot)
