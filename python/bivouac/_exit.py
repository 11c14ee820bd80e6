"""The end of the interpreter: saves under way are waited for, and failures are not lost."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bivouac._client import Call

__all__ = ["forget", "register", "track"]

_saves: dict[Call, str] = {}
_registered = 0  # the process that has registered
_closers: list[Callable[[], None]] = []


def track(call: Call, what: str) -> None:
    """Wait for a save at the end of the interpreter, and report its error if nobody has seen it."""
    _saves[call] = what
    if call.succeeded():
        forget(call)


def forget(call: Call) -> None:
    """Forget a save that has succeeded, or whose error somebody has seen."""
    _saves.pop(call, None)


def register(close: Callable[[], None]) -> None:
    """Run `close` at the end of the interpreter, after the saves."""
    global _registered
    if _registered == os.getpid():
        return
    if _registered == 0:
        atexit.register(_run)
    _registered = os.getpid()
    _closers[:] = [close]
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util is not None and process is not None and process.parent_process() is not None:
        # Children of multiprocessing end without atexit.
        util.Finalize(None, _run, exitpriority=100)


def _after_fork() -> None:
    """Forget the parent's saves in a forked child."""
    _saves.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _say(text: str) -> None:
    """Write a line to stderr."""
    try:
        print(f"bivouac: {text}", file=sys.stderr, flush=True)
    except (AttributeError, OSError, ValueError):
        pass  # stderr is closed


def _run() -> None:
    """Wait for the saves, report errors, close the connection."""
    if _registered != os.getpid():
        return
    failed = False
    waiting = [call for call in list(_saves) if not call.done()]
    if waiting:
        names = ", ".join(_saves.get(call, call.op) for call in waiting[:3])
        more = f" and {len(waiting) - 3} more" if len(waiting) > 3 else ""
        _say(f"waiting for {len(waiting)} save(s) before exit: {names}{more}")
    for call, what in list(_saves.items()):
        try:
            call.result()
        except KeyboardInterrupt:
            _say("stopped waiting; saves under way go on in the side-car")
            break
        except Exception as err:
            failed = True
            _say(f"save failed: {what}: {err}")
    for close in _closers:
        try:
            close()
        except Exception as err:
            _say(f"exit: {err}")
    if failed:
        _fail()


class _Failing:
    """A stderr whose flush fails after it has flushed.

    It is the only way to set the exit status from here without skipping other exit handlers: the
    interpreter ends with status 120 when it cannot flush a standard stream.
    """

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def flush(self) -> None:
        """Flush the stream, and fail."""
        if self._stream is not None:
            self._stream.flush()
        raise OSError("bivouac: a save failed")


def _fail() -> None:
    """Make the exit status of the interpreter non-zero."""
    sys.stderr = _Failing(sys.stderr)
