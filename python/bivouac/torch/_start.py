"""Starting worker processes, each with a socket to the trainer."""

from __future__ import annotations

import multiprocessing.connection
import os
import signal
import socket
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["begin", "end", "start"]

_ends: weakref.WeakSet[socket.socket] = weakref.WeakSet()
"""Ends of the sockets of all workers. A forked worker inherits those that are open."""

_lock = threading.Lock()


def _renew() -> None:
    """Give a forked process a lock that no thread holds."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew)


def start(context: Any, target: Callable[..., None], *args: Any) -> tuple[Any, socket.socket]:
    """Start a process that calls target(socket, *args). Return it, and our end of the socket.

    Threads start one process at a time. Else one process would inherit the socket of another one,
    and keep it open after the other's death.
    """
    with _lock:
        ours, theirs = socket.socketpair()
        _ends.add(ours)
        _ends.add(theirs)
        try:
            process = context.Process(target=target, args=(theirs, *args), daemon=True)
            process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
    return process, ours


def begin(sock: socket.socket) -> None:
    """Prepare a worker: close the sockets of the others, and leave Ctrl-C to the trainer.

    SIGTERM ends the worker. A handler of the trainer, such as that of a Job, is not for it.
    """
    for end in list(_ends):
        if end is not sock:
            end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def end(process: Any, seconds: float) -> int | None:
    """Wait for the end of a process, and kill it after some seconds. Return its exit code."""
    code = _exit_code(process, seconds)
    if code is None:
        process.kill()
        code = _exit_code(process, seconds)
    if code is not None:
        process.join(0)  # not close(), which other threads that start processes do not expect
    return code


def _exit_code(process: Any, seconds: float) -> int | None:
    """Return the exit code of a process, or None if it does not end within some seconds.

    Neither join() nor the sentinel will do. A thread that starts another process may collect the
    exit code, and that process may inherit what tells of the end.
    """
    deadline, pause = time.monotonic() + seconds, 0.0005
    while True:
        code: int | None = process.exitcode
        if code is not None or time.monotonic() > deadline:
            return code
        if multiprocessing.connection.wait([process.sentinel], pause):
            time.sleep(pause)
        pause = min(0.05, 2 * pause)
