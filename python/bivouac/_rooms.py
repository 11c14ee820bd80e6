"""Rooms: memory of this process that the side-car writes the arrays of a load into.

Shared memory comes in small pages, and the first use of each costs more than reading its bytes. So,
where the system permits it, the side-car writes to private memory, which may have huge pages. It
asks for each room, and says where in the load the room begins. Nobody else may use a room before
the last word of its call: the Call keeps it until then.

Linux permits this to processes of one user, unless a policy says otherwise. The side-car tries it
with a token for each load. Where it is refused, the load comes in shared memory as ever.
"""

from __future__ import annotations

import bisect
import ctypes
import mmap
import os
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from bivouac._client import Connection

__all__ = ["Rooms", "Token", "argument"]

_HUGE = 2 << 20
_NORESERVE = 0x4000
_PR_SET_PTRACER = 0x59616D61
_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")

enabled = True
"""False has all saves and loads use shared memory."""


class Rooms:
    """The rooms of one load, by where they begin."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._rooms: list[tuple[mmap.mmap, int]] = []

    def __bool__(self) -> bool:
        return bool(self._begins)

    def make(self, begin: int, size: int) -> int:
        """Make a room and return its address."""
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        memory = mmap.mmap(-1, size + _HUGE, flags=flags)
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except (AttributeError, OSError):
            pass
        base = int(np.frombuffer(memory, np.uint8, 1).ctypes.data)
        at = -base % _HUGE
        self._begins.append(begin)
        self._rooms.append((memory, at - begin))
        return base + at

    def find(self, offset: int) -> tuple[mmap.mmap, int]:
        """Return the memory of an offset of the load, and where in it the offset lies."""
        memory, shift = self._rooms[bisect.bisect_right(self._begins, offset) - 1]
        return memory, offset + shift


class Token:
    """Bytes of this process by which the side-car knows that it reaches the right process."""

    def __init__(self, link: Connection) -> None:
        self._bytes = np.frombuffer(bytearray(os.urandom(16)), np.uint8)
        self._text = self._bytes.tobytes().hex()
        _permit(link)

    def argument(self) -> dict[str, Any]:
        """Return the argument of a load."""
        return {"address": int(self._bytes.ctypes.data), "token": self._text}


def argument(link: Connection) -> dict[str, Any] | None:
    """Return the argument of a call that offers the memory of this process, or None."""
    if not enabled:
        return None
    if link.token is None:
        link.token = Token(link)
    return link.token.argument()


def _permit(link: Connection) -> None:
    """Permit the side-car to write here where Yama permits it to ancestors alone."""
    try:
        if _SCOPE.read_text().strip() != "1":
            return
        sock = link._socket
        size = struct.calcsize("3i")
        peer = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[0]
        if peer == os.getpid():  # of a pair of sockets: the process that made it
            peer = int(link.server["pid"])
        number = ctypes.c_ulong(peer)
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, number, ctypes.c_ulong(0), 0, 0)
    except (OSError, AttributeError, KeyError, ValueError):
        pass
